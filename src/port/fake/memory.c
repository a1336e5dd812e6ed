/* SPDX-License-Identifier: MIT */
/*
 * The watched atomics: each is a scheduling point, and then happens in the world's memory.
 *
 * With store buffers a relaxed or release store may be held back in its thread's buffer, in order, while the thread
 * goes on. The thread's own loads see it, other threads do not. A read-modify-write and a seq_cst store empty the
 * buffer first, as a locked instruction does; so do sleeping and ending.
 *
 * order.c models C11's memory orders on machines weaker than x86.
 *
 * For pruning, each event is hashed together with the thread's past and with the last events on the same object that
 * it depends on: a read depends on the last write, a write on the last write and on the reads since. If the threads
 * of two schedules have equal pasts, the schedules differ only in the order of independent steps and have reached the
 * same state.
 */
#include <string.h>

#include "port/fake/internal.h"

/* ---- Pasts ------------------------------------------------------------------- */

typedef struct object_past {
    uintptr_t object;
    uint64_t written, read, era;
} object_past;

enum { OBJECTS = 1 << 14 };
static object_past objects[OBJECTS];
static uint64_t era; /* entries of an earlier schedule are empty */
static unsigned objects_used;

uint64_t memory_mix(uint64_t a, uint64_t b)
{
    uint64_t z = a * 0x9E3779B97F4A7C15u ^ (b + 0x632BE59BD9B4E019u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

void memory_begin(void)
{
    era++;
    objects_used = 0;
}

static object_past *past_of(const volatile void *object)
{
    uintptr_t name = (uintptr_t)object;
    for (uint64_t i = memory_mix(name, 0);; i++) {
        object_past *entry = &objects[i % OBJECTS];
        if (entry->era == era && entry->object == name) return entry;
        if (entry->era == era) continue;
        *entry = (object_past){name, 0, 0, era};
        /* A full table forgets pasts. That matters only for pruning, and a long single run is not pruned. */
        if (++objects_used > OBJECTS / 2) memory_begin();
        return entry;
    }
}

static void event_of(world_thread *thread, const volatile void *object, uint64_t what, bool writes)
{
    object_past *past = past_of(object);
    uint64_t depends = writes ? memory_mix(past->written, past->read) : past->written;
    uint64_t event = memory_mix(memory_mix(thread->past, (uint64_t)(uintptr_t)object + what), depends);
    thread->past = event;
    if (writes) {
        world_wrote(thread);
        past->written = event;
        past->read = 0;
    } else {
        past->read += event; /* reads commute with one another */
    }
}

void memory_event(const volatile void *object, uint64_t what, bool writes)
{
    event_of(the_world.current, object, what, writes);
}

/* ---- Memory itself ------------------------------------------------------------- */

static uint64_t fetch(const volatile void *object, size_t size)
{
    uint64_t value = 0;
    memcpy(&value, (const void *)(uintptr_t)object, size);
    return value;
}

static void put(volatile void *object, size_t size, uint64_t value)
{
    memcpy((void *)(uintptr_t)object, &value, size);
}

void memory_drain_one(world_thread *thread)
{
    world_store oldest = thread->buffer[0];
    thread->buffered--;
    memmove(thread->buffer, thread->buffer + 1, thread->buffered * sizeof oldest);
    arena_check(oldest.object, "a late store reaches memory");
    uint64_t before = fetch(oldest.object, oldest.size);
    put(oldest.object, oldest.size, oldest.value);
    order_store(world_index(thread), oldest.object, oldest.site->order, oldest.stamp, before,
                fetch(oldest.object, oldest.size));
    event_of(thread, oldest.object, 'D', true);
    story_note(oldest.site, "reaches memory", oldest.value, 0);
}

void memory_drain_all(world_thread *thread)
{
    while (thread->buffered) memory_drain_one(thread);
}

/* The thread's newest store to the object that is still held back. */
static const world_store *held_store(const world_thread *thread, const volatile void *object)
{
    for (unsigned i = thread->buffered; i > 0; i--)
        if (thread->buffer[i - 1].object == object) return &thread->buffer[i - 1];
    return NULL;
}

/* ---- The operations --------------------------------------------------------------- */

uint64_t ceni_watch_load(const ceni_site *site, const volatile void *object, size_t size)
{
    if (!the_world.running) return fetch(object, size);
    world_point();
    arena_check(object, "load");
    const world_store *mine = held_store(the_world.current, object);
    uint64_t value = mine ? mine->value : fetch(object, size);
    uint32_t stale = 0;
    if (!mine) value = order_load(world_index(the_world.current), object, site->order, value, &stale);
    /* A forwarded or stale value does not depend on newer writes. */
    if (mine || stale) memory_step(memory_mix((uint64_t)(uintptr_t)object + 'F', stale));
    else memory_event(object, 'L', false);
    story_note(site, stale ? "is still" : "is", value, 0);
    return value;
}

static bool hold_back(const world_thread *self)
{
    if (!the_world.tso || self->buffered == WORLD_BUFFER) return false;
    if (self->buffered) return true; /* stores keep their order */
    uint8_t thread = (uint8_t)world_index(self);
    const world_step options[2] = {{STEP_COMMIT, thread, 0}, {STEP_HOLD, thread, 1}};
    return world_decide(options, 2) == 1;
}

void ceni_watch_store(const ceni_site *site, volatile void *object, size_t size, uint64_t value)
{
    if (!the_world.running) {
        put(object, size, value);
        return;
    }
    world_point();
    arena_check(object, "store");
    world_thread *self = the_world.current;
    if (site->order != CENI_SEQ_CST && hold_back(self)) {
        world_store *held = &self->buffer[self->buffered++];
        *held = (world_store){.object = object, .value = value, .size = (uint8_t)size, .site = site};
        order_stamp(world_index(self), held->stamp);
        memory_step((uint64_t)(uintptr_t)object + 'H');
        story_note(site, "held back:", value, 0);
        return;
    }
    memory_drain_all(self);
    uint32_t stamp[WORLD_THREADS];
    order_stamp(world_index(self), stamp);
    uint64_t before = fetch(object, size);
    put(object, size, value);
    order_store(world_index(self), object, site->order, stamp, before, fetch(object, size));
    memory_event(object, 'S', true);
    story_note(site, "becomes", value, 0);
}

static uint64_t apply(ceni_watch_op op, uint64_t old, uint64_t operand)
{
    switch (op) {
    case CENI_OP_ADD: return old + operand;
    case CENI_OP_SUB: return old - operand;
    case CENI_OP_OR: return old | operand;
    case CENI_OP_AND: return old & operand;
    default: return operand;
    }
}

uint64_t ceni_watch_rmw(const ceni_site *site, volatile void *object, size_t size, uint64_t operand)
{
    if (the_world.running) {
        world_point();
        arena_check(object, "read-modify-write");
        memory_drain_all(the_world.current);
    }
    uint64_t old = fetch(object, size);
    put(object, size, apply(site->op, old, operand));
    if (the_world.running) {
        memory_event(object, 'M', true);
        order_rmw(world_index(the_world.current), object, site->order, old, fetch(object, size));
        story_note(site, "was, becomes", old, fetch(object, size));
    }
    return old;
}

/* A compare and swap that fails is treated as a load of the newest value. */
static void note_cas(const ceni_site *site, volatile void *object, bool swapped, uint64_t found, size_t size)
{
    unsigned self = world_index(the_world.current);
    if (swapped) order_rmw(self, object, site->order, found, fetch(object, size));
    else order_peek(self, object, site->order == CENI_RELEASE ? CENI_RELAXED : site->order, found);
}

bool ceni_watch_cas(const ceni_site *site, volatile void *object, size_t size, uint64_t *expected, uint64_t value)
{
    if (the_world.running) {
        world_point();
        arena_check(object, "compare and swap");
        memory_drain_all(the_world.current);
    }
    uint64_t found = fetch(object, size), wanted = fetch(expected, size);
    bool swapped = found == wanted;
    if (swapped) put(object, size, value);
    else *expected = found;
    if (the_world.running) {
        memory_event(object, 'C', swapped);
        note_cas(site, object, swapped, found, size);
        story_note(site, swapped ? "was, becomes" : "refused, is", found, value);
    }
    return swapped;
}

void ceni_watch_copy(void *to, const void *from, size_t size)
{
    if (the_world.running) {
        world_point();
        arena_check(from, "copy from");
        arena_check(to, "copy to");
        memory_event(from, 'R', false);
        memory_event(to, 'B', true);
        order_copy(world_index(the_world.current), to, from);
        story_note(NULL, "copies bytes", size, 0);
    }
    memcpy(to, from, size);
}

void memory_step(uint64_t what)
{
    the_world.current->past = memory_mix(the_world.current->past, what);
}

void ceni_watch_pause(const char *file, int line)
{
    (void)file;
    (void)line;
    if (!the_world.running) return;
    memory_step('p'); /* a thread at a pause is in another state than before it */
    the_world.current->stepped_aside = true;
    world_point();
    memory_step('P');
}
