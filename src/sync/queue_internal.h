/* SPDX-License-Identifier: MIT */
/*
 * The queue's internal header: its structs, and the functions of each form.
 *
 *     queue.c           the public functions; each chooses the form that does the work
 *     queue_ring.c      bounded
 *     queue_blocks.c    unbounded
 *     queue_meet.c      rendezvous
 *     queue_source.c    after, tick, never
 *     select.c          waiting, for one operation or for any of several
 */
#ifndef CENI_SYNC_QUEUE_INTERNAL_H
#define CENI_SYNC_QUEUE_INTERNAL_H

#include <string.h>

#include <cenote/queue.h>

#include "base/atomic.h"
#include "record/directory.h"
#include "sync/stop.h"
#include "sync/waitlist.h"

/* The result of an attempt that does not wait. */
typedef enum ceni_attempt {
    CENI_DONE,
    CENI_SHUT,       /* closed; for a pop: closed and empty */
    CENI_BLOCKED,    /* full or empty: wait in the list */
    CENI_IN_BETWEEN, /* another thread is in the middle of the same slot: try again soon */
    CENI_STARVED,    /* no memory */
} ceni_attempt;

/* ---- Bounded: a ring of slots ------------------------------------------------- */

typedef struct ceni_queue_ring {
    /* fixed before use */
    char *slots;
    size_t capacity, slot_size, element_size;
    uint64_t lap; /* distance from a position to the same slot's next position */
    /* any thread, atomically; each on a line of its own */
    _Alignas(CENI_CACHE_LINE) _Atomic uint64_t head;
    _Alignas(CENI_CACHE_LINE) _Atomic uint64_t tail;
} ceni_queue_ring;

cen_status ceni_queue_ring_init(ceni_queue_ring *ring, const cen_allocator *allocator, size_t element_size,
                                size_t capacity);
void ceni_queue_ring_fini(ceni_queue_ring *ring, const cen_allocator *allocator);
ceni_attempt ceni_queue_ring_push(ceni_queue_ring *ring, const void *element);
ceni_attempt ceni_queue_ring_pop(ceni_queue_ring *ring, void *element);
ceni_attempt ceni_queue_ring_force(ceni_queue_ring *ring, const void *element, void *evicted, bool *out);
bool ceni_queue_ring_close(ceni_queue_ring *ring);
bool ceni_queue_ring_closed(const ceni_queue_ring *ring);
bool ceni_queue_ring_may_push(const ceni_queue_ring *ring);
bool ceni_queue_ring_may_pop(const ceni_queue_ring *ring);
size_t ceni_queue_ring_length(const ceni_queue_ring *ring);

/* ---- Unbounded: linked blocks ----------------------------------------------------- */

/* Slots per block: one less than a power of two, because the last position of each block means that it is used up.
 * Blocks of large elements have fewer slots. Under the controlled scheduler all blocks are tiny, so that schedules
 * reach their ends often. */
#ifdef CENI_WATCHED
enum { CENI_BLOCK_SLOTS = 3 };
#else
enum { CENI_BLOCK_SLOTS = 255 };
#endif
enum { CENI_BLOCK_SLOTS_LEAST = 3, CENI_BLOCK_BYTES = 1 << 16 };

typedef struct ceni_block ceni_block;

typedef struct ceni_queue_blocks {
    /* fixed before use */
    const cen_allocator *allocator;
    size_t slot_size, element_size;
    uint64_t slots; /* per block; also the mask of a position's offset, and the offset that means "used up" */
    /* any thread, atomically; each end on a line of its own */
    _Alignas(CENI_CACHE_LINE) _Atomic uint64_t head;
    _Atomic(ceni_block *) head_block;
    _Atomic uint64_t known_tail; /* the tail as pops last saw it: never ahead of the tail */
    _Alignas(CENI_CACHE_LINE) _Atomic uint64_t tail;
    _Atomic(ceni_block *) tail_block;
    _Alignas(CENI_CACHE_LINE) _Atomic(ceni_block *) spare; /* one block kept for the next link */
} ceni_queue_blocks;

cen_status ceni_queue_blocks_init(ceni_queue_blocks *blocks, const cen_allocator *allocator, size_t element_size);
void ceni_queue_blocks_fini(ceni_queue_blocks *blocks);
ceni_attempt ceni_queue_blocks_push(ceni_queue_blocks *blocks, const void *element);
ceni_attempt ceni_queue_blocks_pop(ceni_queue_blocks *blocks, void *element);
bool ceni_queue_blocks_close(ceni_queue_blocks *blocks);
bool ceni_queue_blocks_closed(const ceni_queue_blocks *blocks);
bool ceni_queue_blocks_may_pop(const ceni_queue_blocks *blocks);
size_t ceni_queue_blocks_length(const ceni_queue_blocks *blocks);

/* ---- Sources --------------------------------------------------------------------------- */

typedef struct ceni_source {
    int64_t period;       /* fixed; 0: once */
    _Atomic int64_t next; /* any thread, atomically: when the next element is due; CENI_FOREVER: never */
} ceni_source;

ceni_attempt ceni_source_pop(ceni_source *source, int64_t now, void *element);
int64_t ceni_source_next(const ceni_source *source);

/* ---- The queue ---------------------------------------------------------------------------- */

typedef enum ceni_queue_form { CENI_FORM_RING, CENI_FORM_BLOCKS, CENI_FORM_MEET, CENI_FORM_SOURCE } ceni_queue_form;

struct cen_queue {
    /* fixed before use */
    ceni_queue_form form;
    size_t element_size;
    cen_deadline default_deadline;
    const cen_allocator *allocator;
    void (*drop)(void *argument, void *element);
    void *drop_argument;
    void *drop_room; /* for the element that is passed to drop */
    char name[32];
    ceni_directory_entry entry; /* the directory's */
    /* any thread, atomically: read at every push and pop, written only when a thread waits */
    _Alignas(CENI_CACHE_LINE) ceni_waitlist pushes; /* waiters for room */
    ceni_waitlist pops;                             /* waiters for an element */
    _Atomic uint32_t shut;                          /* rendezvous and sources: closed */
    union {
        ceni_queue_ring ring;
        ceni_queue_blocks blocks;
        ceni_source source;
    };
};

/* Try to push or pop once, without waiting. On success wake the first waiter of the other side. */
ceni_attempt ceni_queue_attempt(cen_queue *queue, cen_direction direction, void *element);

/* Return true if the operation may succeed or the queue is closed, so that waiting is pointless. */
bool ceni_queue_may(const cen_queue *queue, cen_direction direction);

static inline ceni_waitlist *ceni_queue_list(cen_queue *queue, cen_direction direction)
{
    return direction == CEN_PUSH ? &queue->pushes : &queue->pops;
}

/* ---- Rendezvous: no buffer, the two sides meet ------------------------------------------------ */

/* Pass the element to or from a waiter of the other side, if there is one. */
ceni_attempt ceni_meet_attempt(cen_queue *queue, cen_direction direction, void *element);

/* Return true if there seems to be a partner, or the queue is closed. Only a hint for fairness. */
bool ceni_meet_may(const cen_queue *queue, cen_direction direction);

/* Join the list, unless there is a partner or the queue is closed. DONE: the element was passed; `self` was settled
 * before, so that no other thread can call it. IN_BETWEEN: try again from the start. BLOCKED: it has joined and may
 * park. */
ceni_attempt ceni_meet_join(cen_queue *queue, cen_direction direction, ceni_place *place, ceni_waiter *self,
                            uint32_t number, void *element);

/* ---- Waiting ------------------------------------------------------------------------------------ */

cen_status ceni_wait_for_any(cen_case *cases, size_t count, cen_deadline deadline, bool fair, cen_stop_token *stop,
                             size_t *out);

/* Copy one element. Most elements are a pointer or a number, for which calling memcpy would cost more than the copy. */
static inline void ceni_copy_element(void *to, const void *from, size_t size)
{
#ifdef CENI_WATCHED
    ceni_watch_copy(to, from, size);
#else
    if (size == 8) memcpy(to, from, 8);
    else memcpy(to, from, size);
#endif
}

#endif
