/* SPDX-License-Identifier: MIT */
/*
 * Happens-before, in C11's terms, along every schedule.
 *
 * Store buffers show a barrier that x86 needs. They do not show a release or
 * acquire that only weaker machines need. So each thread has a vector clock;
 * a release operation leaves its clock with the object, an acquire operation
 * that reads from it joins that clock, and a read-modify-write carries on what
 * was left there (the release sequence). Starting and joining threads order
 * too; a futex does not, for nothing may rely on it.
 *
 * Two things are then checked. Bytes that are copied (an element, in or out)
 * must have been written before, and must not be overwritten before they were
 * read, by happens-before and not only by the luck of this schedule. And
 * memory may be freed only after every atomic operation and every copy in it
 * by another thread has happened before the free.
 *
 * The clocks are kept for what one explored schedule touches. A long single
 * run may touch more; then the check is off until the next run begins.
 */
#include <string.h>

#include "port/fake/inside.h"

enum { OBJECTS = 1 << 11, CROWDED = OBJECTS / 2 };

typedef uint32_t clock_of_all[WORLD_THREADS];

/* One atomic object, or the first of some bytes that are copied. */
typedef struct ordered {
    uintptr_t address;
    uint64_t era;
    clock_of_all released; /* what an acquire that reads from it gets to know */
    clock_of_all touched;  /* when each thread touched it last: reads and, of atomics, writes */
    uint32_t written;      /* copies: when it was written last ... */
    uint8_t writer;        /* ... and by whom */
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
    memcpy(out, clocks[thread], sizeof(clock_of_all));
}

/* ---- Atomics --------------------------------------------------------------------- */

void order_load(unsigned thread, const volatile void *address, ceni_watch_order order)
{
    ordered *object = off ? NULL : object_at(address);
    if (!object) return;
    object->touched[thread] = tick(thread);
    if (acquires(order)) join_clock(clocks[thread], object->released);
}

/* `stamp` is the thread's clock when the store was issued; it may reach memory later. */
void order_store(unsigned thread, const volatile void *address, ceni_watch_order order, const uint32_t *stamp)
{
    ordered *object = off ? NULL : object_at(address);
    if (!object) return;
    object->touched[thread] = tick(thread);
    memset(object->released, 0, sizeof object->released);
    if (releases(order)) join_clock(object->released, stamp);
}

void order_rmw(unsigned thread, const volatile void *address, ceni_watch_order order)
{
    ordered *object = off ? NULL : object_at(address);
    if (!object) return;
    object->touched[thread] = tick(thread);
    if (acquires(order)) join_clock(clocks[thread], object->released);
    if (releases(order)) join_clock(object->released, clocks[thread]);
}

/* ---- Copies and frees ------------------------------------------------------------- */

static bool has_seen(unsigned thread, unsigned other, uint32_t when)
{
    return when <= clocks[thread][other];
}

static void check_written(unsigned thread, const ordered *object, const char *doing)
{
    if (object->copied && !has_seen(thread, object->writer, object->written))
        ceni_world_fail("data race: %s %s, which %s wrote; nothing orders the two", the_world.threads[thread].name, doing,
                        the_world.threads[object->writer].name);
}

static void check_touched(unsigned thread, const ordered *object, const char *doing)
{
    for (unsigned other = 0; other < the_world.count; other++)
        if (!has_seen(thread, other, object->touched[other]))
            ceni_world_fail("data race: %s %s, which %s touches; nothing orders the two", the_world.threads[thread].name,
                            doing, the_world.threads[other].name);
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
