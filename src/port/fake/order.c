/* SPDX-License-Identifier: MIT */
/*
 * C11's memory orders, checked along every schedule.
 *
 * Each thread has a vector clock. A release stores its clock with the value it writes. An acquire that reads that
 * value joins the clock. A read-modify-write carries the stored clock on (the release sequence). Starting and joining
 * threads order too. A futex does not, because no code may rely on it. Three checks follow.
 *
 * Copies. Bytes that are copied, such as an element in or out, must have been written before, and must not be
 * overwritten before they were read: by happens-before, and not only by the order of this schedule.
 *
 * Frees. Memory may be freed only if every atomic operation and every copy in it by another thread happened before
 * the free.
 *
 * Stale values (only with CENI_MEMORY_WEAK). Every object keeps its last values. A load may return an older one if no
 * newer one happened before the load, the thread has not read a newer one, and, for a seq_cst load, no newer one was
 * written by a seq_cst operation. Which value it returns is a choice; an older one costs a preemption. A
 * read-modify-write and a futex read the newest value.
 *
 * Where C11 and C++20 differ the model follows C11, with two exceptions that follow C++20: a store ends the release
 * sequence of its own thread too, and a seq_cst load does not read past a seq_cst store. Not modelled: a store that
 * is placed before newer stores in the modification order, and a compare and swap that fails on a stale value.
 *
 * The table has room for the objects of one explored schedule. A long single run may touch more objects; then all
 * checks are off until the next run begins.
 */
#include <string.h>

#include "port/fake/internal.h"

enum { OBJECTS = 1 << 11, CROWDED = OBJECTS / 2 };

typedef uint32_t clock_of_all[WORLD_THREADS];

enum { VALUES = 4 }; /* kept of each object: the newest, and older ones for stale loads */

typedef struct written_value {
    uint64_t value;
    clock_of_all released; /* the clock that an acquire of this value joins */
    clock_of_all known;    /* when each thread first read or wrote it or a newer one; 0: never */
    bool seq_cst;
} written_value;

/* One atomic object, or the first byte of a range that is copied. */
typedef struct ordered {
    uintptr_t address;
    uint64_t era;
    clock_of_all touched; /* when each thread touched it last: reads, and writes of atomics */
    /* atomics */
    written_value values[VALUES]; /* value number n is at n % VALUES */
    uint32_t newest;              /* number of the newest value; 0 is the initial value */
    /* copies */
    uint32_t written; /* when the bytes were written last ... */
    uint8_t writer;   /* ... and the thread that wrote them */
    bool copied;
} ordered;

static ordered objects[OBJECTS];
static uint16_t used[CROWDED];
static unsigned used_count;
static uint64_t era;
static bool off;
static clock_of_all clocks[WORLD_THREADS];

void order_begin(void)
{
    era++;
    used_count = 0;
    off = false;
    memset(clocks, 0, sizeof clocks);
}

static ordered *object_at(const volatile void *address)
{
    uintptr_t name = (uintptr_t)address;
    for (uint64_t i = memory_mix(name, 3);; i++) {
        ordered *object = &objects[i % OBJECTS];
        if (object->era == era && object->address == name) return object;
        if (object->era == era) continue;
        if (used_count == CROWDED) {
            off = true;
            return NULL;
        }
        memset(object, 0, sizeof *object);
        object->address = name;
        object->era = era;
        used[used_count++] = (uint16_t)(i % OBJECTS);
        return object;
    }
}

static void join_clock(uint32_t *to, const uint32_t *from)
{
    for (unsigned i = 0; i < the_world.count; i++)
        if (to[i] < from[i]) to[i] = from[i];
}

static uint32_t tick(unsigned thread)
{
    return ++clocks[thread][thread];
}

static bool has_seen(unsigned thread, unsigned other, uint32_t when)
{
    return when <= clocks[thread][other];
}

static bool acquires(ceni_watch_order order)
{
    return order == CENI_ACQUIRE || order == CENI_ACQ_REL || order == CENI_SEQ_CST;
}

static bool releases(ceni_watch_order order)
{
    return order == CENI_RELEASE || order == CENI_ACQ_REL || order == CENI_SEQ_CST;
}

/* ---- Threads ------------------------------------------------------------------- */

void order_started(unsigned child, unsigned parent)
{
    tick(parent);
    join_clock(clocks[child], clocks[parent]);
    tick(child);
}

void order_joined(unsigned joiner, unsigned ended)
{
    join_clock(clocks[joiner], clocks[ended]);
}

void order_stamp(unsigned thread, uint32_t *out)
{
    tick(thread);
    memcpy(out, clocks[thread], sizeof(clock_of_all));
}

/* ---- Atomics --------------------------------------------------------------------- */

static written_value *newest_of(ordered *object)
{
    return &object->values[object->newest % VALUES];
}

/* The record of an atomic that has `value` and is touched at `when` on the thread's clock. A value that no recorded
 * operation wrote comes from an initialisation, which starts a new history. */
static ordered *atomic_when(unsigned thread, const volatile void *address, uint64_t value, uint32_t when)
{
    ordered *object = off ? NULL : object_at(address);
    if (!object) return NULL;
    if (newest_of(object)->value != value) {
        memset(object->values, 0, sizeof object->values);
        object->newest = 0;
        object->values[0].value = value;
    }
    if (object->touched[thread] < when) object->touched[thread] = when;
    return object;
}

static ordered *atomic_at(unsigned thread, const volatile void *address, uint64_t value)
{
    return atomic_when(thread, address, value, tick(thread));
}

/* The thread has read or written value number n: it knows this value and the older ones. */
static void know(ordered *object, unsigned thread, uint32_t n, uint32_t when)
{
    for (uint32_t age = 0; age < VALUES && age <= n; age++) {
        if (n - age + VALUES <= object->newest) break; /* overwritten in the record */
        uint32_t *known = &object->values[(n - age) % VALUES].known[thread];
        if (*known == 0 || *known > when) *known = when;
    }
}

/* Whether a load by the thread may return a value older than number n: not if any thread knew n before the load, by
 * happens-before. */
static bool may_miss(unsigned thread, const ordered *object, uint32_t n, ceni_watch_order order)
{
    const written_value *value = &object->values[n % VALUES];
    for (unsigned other = 0; other < the_world.count; other++)
        if (value->known[other] && has_seen(thread, other, value->known[other])) return false;
    return !(order == CENI_SEQ_CST && value->seq_cst);
}

/* The number of values older than the newest that the load may return. */
static unsigned stale_choices(unsigned thread, const ordered *object, ceni_watch_order order)
{
    unsigned older = 0;
    while (older < VALUES - 1 && older < object->newest && may_miss(thread, object, object->newest - older, order))
        older++;
    return older;
}

static unsigned choose_age(unsigned choices)
{
    world_step options[VALUES];
    for (unsigned age = 0; age <= choices; age++)
        options[age] = (world_step){age ? STEP_STALE : STEP_NEWEST, (uint8_t)age, age > 0};
    return choices ? world_decide(options, choices + 1) : 0;
}

/* Return the value of the load: `newest`, or an older one, and then its number plus one in *stale. */
uint64_t order_load(unsigned thread, const volatile void *address, ceni_watch_order order, uint64_t newest,
                    uint32_t *stale)
{
    ordered *object = atomic_at(thread, address, newest);
    if (!object) return newest;
    unsigned age = the_world.weak ? choose_age(stale_choices(thread, object, order)) : 0;
    uint32_t number = object->newest - age;
    if (age) *stale = number + 1;
    const written_value *value = &object->values[number % VALUES];
    know(object, thread, number, clocks[thread][thread]);
    if (acquires(order)) join_clock(clocks[thread], value->released);
    return value->value;
}

/* A load of the newest value, for a failed compare and swap. */
void order_peek(unsigned thread, const volatile void *address, ceni_watch_order order, uint64_t newest)
{
    ordered *object = atomic_at(thread, address, newest);
    if (!object) return;
    know(object, thread, object->newest, clocks[thread][thread]);
    if (acquires(order)) join_clock(clocks[thread], newest_of(object)->released);
}

static void append(ordered *object, unsigned thread, ceni_watch_order order, uint64_t value, const uint32_t *released,
                   uint32_t when)
{
    written_value *next = &object->values[++object->newest % VALUES];
    *next = (written_value){.value = value, .seq_cst = order == CENI_SEQ_CST};
    memcpy(next->released, released, sizeof next->released);
    know(object, thread, object->newest, when);
}

/* `stamp` is the thread's clock when the store was issued. The store counts as done at that time, although it may
 * reach memory later. */
void order_store(unsigned thread, const volatile void *address, ceni_watch_order order, const uint32_t *stamp,
                 uint64_t before, uint64_t value)
{
    static const clock_of_all nothing;
    ordered *object = atomic_when(thread, address, before, stamp[thread]);
    if (object) append(object, thread, order, value, releases(order) ? stamp : nothing, stamp[thread]);
}

void order_rmw(unsigned thread, const volatile void *address, ceni_watch_order order, uint64_t before, uint64_t value)
{
    ordered *object = atomic_at(thread, address, before);
    if (!object) return;
    clock_of_all released;
    memcpy(released, newest_of(object)->released, sizeof released);
    if (acquires(order)) join_clock(clocks[thread], released);
    if (releases(order)) join_clock(released, clocks[thread]);
    append(object, thread, order, value, released, clocks[thread][thread]);
}

/* ---- Copies and frees ------------------------------------------------------------- */

static void check_written(unsigned thread, const ordered *object, const char *doing)
{
    if (object->copied && !has_seen(thread, object->writer, object->written))
        ceni_world_fail("data race: %s %s, which %s wrote; nothing orders the two", the_world.threads[thread].name,
                        doing, the_world.threads[object->writer].name);
}

static void check_touched(unsigned thread, const ordered *object, const char *doing)
{
    for (unsigned other = 0; other < the_world.count; other++)
        if (!has_seen(thread, other, object->touched[other]))
            ceni_world_fail("data race: %s %s, which %s touches; nothing orders the two",
                            the_world.threads[thread].name, doing, the_world.threads[other].name);
}

void order_copy(unsigned thread, const void *to, const void *from)
{
    uint32_t now = tick(thread);
    ordered *source = off ? NULL : object_at(from);
    if (source) {
        check_written(thread, source, "reads bytes");
        source->touched[thread] = now;
    }
    ordered *target = off ? NULL : object_at(to);
    if (target) {
        check_written(thread, target, "overwrites bytes");
        check_touched(thread, target, "overwrites bytes");
        target->copied = true;
        target->written = now;
        target->writer = (uint8_t)thread;
    }
}

void order_free(unsigned thread, const void *memory, size_t size)
{
    uintptr_t start = (uintptr_t)memory;
    for (unsigned i = 0; i < used_count && !off; i++) {
        const ordered *object = &objects[used[i]];
        if (object->address < start || object->address >= start + size) continue;
        check_written(thread, object, "frees bytes");
        check_touched(thread, object, "frees memory");
    }
}
