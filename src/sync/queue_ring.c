/* SPDX-License-Identifier: MIT */
/*
 * The bounded queue: a ring of slots. Each slot has a stamp that shows which operation may use it next.
 *
 *     position  = number of the lap * ring->lap + index
 *     ring->lap = the first power of two above the capacity, so that
 *                 position + 1 is never another slot's position, and no
 *                 program makes enough pushes to reach bit 63
 *     stamp     = position        the slot is free for the push at `position`
 *               = position + 1    it holds the element pushed at `position`
 *               = position + lap  popped; free for the push one lap later
 *
 *        head ─▶ oldest element          tail ─▶ next to be filled
 *     ┌────┬────┬────┬────┬────┬────┐
 *     │ .. │ 7+1│ 8+1│ 9+1│ 10 │ .. │    7, 8, 9 hold elements; 10 is free
 *     └────┴────┴────┴────┴────┴────┘
 *
 * Push: if the slot at tail is free, claim it by advancing tail, write the
 * element, stamp it. Pop: the mirror image at head. Bit 63 of tail is CLOSED.
 *
 * Invariants
 *  I1 head <= tail <= head + lap (positions compared without CLOSED).
 *  I2 Between claiming a slot and stamping it, no other thread touches its bytes:
 *     a claim needs the stamp that only the last owner writes.
 *  I3 CLOSED never goes away, and tail does not move once it is set: the
 *     claim compares the whole word.
 *
 * Linearisation: a push at its claim, a pop at its claim, FULL at the load of
 * head, EMPTY at the load of tail, close at its or.
 *
 * A push that has claimed but not stamped hides the elements behind it. A pop then returns IN_BETWEEN. try_pop
 * reports that as EMPTY; the blocking form tries again until it is over. It never parks in that state, because
 * between the stamp and the load of the wait list there is no barrier. The claim itself makes parking safe. The
 * waiter joins the list and then compares head and tail; the pusher advances tail and then loads the list; all four
 * are in one total order.
 *
 * Order table
 * [R1] push         | cas of tail          | seq_cst | R3 R5, W1 in waitlist.c | the claim, before the load of the wait list | a waiter parks although there is an element
 * [R2] push         | store of stamp       | release | R4 | the element's bytes | a pop copies bytes that are not written yet
 * [R3] pop          | cas of head          | seq_cst | R6, W1 in waitlist.c | the claim, before the load of the wait list | a pusher parks although there is a free slot
 * [R4] pop, push    | load of stamp        | acquire | R2 R7 | the element's bytes; that the last owner is done with them | as R2 and R7
 * [R5] empty?       | load of tail         | seq_cst | R1 R8, W1 in waitlist.c | that nothing was claimed before the list was joined | a waiter parks although there is an element
 * [R6] full?        | load of head         | seq_cst | R3, W1 in waitlist.c | that nothing was popped before the list was joined | a pusher parks although there is a free slot
 * [R7] pop          | store of stamp       | release | R4 | that the bytes have been read | a push overwrites bytes that are being read
 * [R8] close        | or on tail           | seq_cst | R5 | the mark, before all waiters are called | nothing alone: the list's lock orders close and join; kept so that all changes of tail are in one order
 * [R9] first loads  | load of head or tail | acquire | R1 R3 | order of the two loads of a check | a check that wrongly returns false
 * [R10] length      | load of head or tail | seq_cst | R1 R3 R8 | one order of all claims, for every thread that computes the length | two lengths that disagree which of a push and a pop came first
 *
 * Tested by tests/unit/sync/queue_test.c, tests/explore/queue_test.c,
 * tests/stress/queue_stress.c (ThreadSanitizer for R2 and R7), tests/planted.
 */
#include "base/alloc.h"
#include "base/plant.h"
#include "sync/backoff.h"
#include "sync/queue_internal.h"

#define CLOSED ((uint64_t)1 << 63)

typedef struct ring_slot {
    _Atomic uint64_t stamp;
    char element[];
} ring_slot;

static ring_slot *slot_at(const ceni_queue_ring *ring, uint64_t position)
{
    return (ring_slot *)(void *)(ring->slots + (position & (ring->lap - 1)) * ring->slot_size);
}

static uint64_t following(const ceni_queue_ring *ring, uint64_t position)
{
    size_t last = ring->capacity - (ceni_planted(ring_one_slot_short) && ring->capacity > 1 ? 2 : 1);
    return (position & (ring->lap - 1)) < last ? position + 1 : (position & ~(ring->lap - 1)) + ring->lap;
}

cen_status ceni_queue_ring_init(ceni_queue_ring *ring, const cen_allocator *allocator, size_t element_size,
                                size_t capacity)
{
    ring->capacity = capacity;
    ring->lap = 2;
    while (ring->lap <= capacity) ring->lap *= 2;
    ring->element_size = element_size;
    ring->slot_size = sizeof(ring_slot) + ((element_size + 7) & ~(size_t)7);
    ring->slots = ceni_alloc(allocator, capacity * ring->slot_size, CENI_CACHE_LINE);
    if (!ring->slots) return CEN_NO_MEMORY;
    for (size_t i = 0; i < capacity; i++) ceni_store_relaxed(&slot_at(ring, i)->stamp, i); /* not published yet */
    return CEN_OK;
}

void ceni_queue_ring_fini(ceni_queue_ring *ring, const cen_allocator *allocator)
{
    ceni_free(allocator, ring->slots, ring->capacity * ring->slot_size, CENI_CACHE_LINE);
}

static void publish(ring_slot *slot, uint64_t stamp)
{
    if (ceni_planted(publish_relaxed)) ceni_store_relaxed(&slot->stamp, stamp);
    else ceni_store_release(&slot->stamp, stamp); /* [R2] */
}

ceni_attempt ceni_queue_ring_push(ceni_queue_ring *ring, const void *element)
{
    unsigned losses = 0;
    uint64_t tail = ceni_load_relaxed(&ring->tail); /* carries nothing: the cas compares it */
    for (;;) {
        if (tail & CLOSED) return CENI_SHUT;
        ring_slot *slot = slot_at(ring, tail);
        if (ceni_load_acquire(&slot->stamp) == tail) {                          /* [R4] */
            if (!ceni_cas_seq_cst(&ring->tail, &tail, following(ring, tail))) { /* [R1] */
                ceni_backoff_contend(&losses);
                continue;
            }
            ceni_copy_element(slot->element, element, ring->element_size);
            publish(slot, tail + 1);
            return CENI_DONE;
        }
        uint64_t head = ceni_load_seq_cst(&ring->head); /* [R6] */
        if (head + ring->lap == tail) return CENI_BLOCKED;
        uint64_t now = ceni_load_relaxed(&ring->tail); /* carries nothing: has it moved on? */
        if (now == tail) return CENI_IN_BETWEEN;
        tail = now;
    }
}

ceni_attempt ceni_queue_ring_pop(ceni_queue_ring *ring, void *element)
{
    unsigned losses = 0;
    uint64_t head = ceni_load_relaxed(&ring->head); /* carries nothing: the cas compares it */
    for (;;) {
        ring_slot *slot = slot_at(ring, head);
        if (ceni_load_acquire(&slot->stamp) == head + 1) {                      /* [R4] */
            if (!ceni_cas_seq_cst(&ring->head, &head, following(ring, head))) { /* [R3] */
                ceni_backoff_contend(&losses);
                continue;
            }
            ceni_copy_element(element, slot->element, ring->element_size);
            ceni_store_release(&slot->stamp, head + ring->lap); /* [R7] */
            return CENI_DONE;
        }
        uint64_t tail = ceni_load_seq_cst(&ring->tail); /* [R5] */
        if ((tail & ~CLOSED) == head) return tail & CLOSED ? CENI_SHUT : CENI_BLOCKED;
        uint64_t now = ceni_load_relaxed(&ring->head); /* carries nothing: has it moved on? */
        if (now == head) return CENI_IN_BETWEEN;
        head = now;
    }
}

/* Claim the oldest element as a pop does. The ring is full, so its slot is also the slot for the new element. Until
 * it is stamped again, only a close can change tail, and then the close wins. */
static ceni_attempt replace_oldest(ceni_queue_ring *ring, uint64_t tail, const void *element, void *evicted, bool *out)
{
    uint64_t head = tail - ring->lap;
    ring_slot *slot = slot_at(ring, tail);
    if (!ceni_cas_seq_cst(&ring->head, &head, following(ring, head))) return CENI_IN_BETWEEN; /* [R3] */
    ceni_copy_element(evicted, slot->element, ring->element_size);
    *out = true;
    uint64_t expected = tail;
    if (!ceni_cas_seq_cst(&ring->tail, &expected, following(ring, tail))) { /* [R1] */
        ceni_store_release(&slot->stamp, tail);                             /* [R7] */
        return CENI_SHUT;
    }
    ceni_copy_element(slot->element, element, ring->element_size);
    publish(slot, tail + 1);
    return CENI_DONE;
}

ceni_attempt ceni_queue_ring_force(ceni_queue_ring *ring, const void *element, void *evicted, bool *out)
{
    ceni_attempt pushed = ceni_queue_ring_push(ring, element);
    if (pushed != CENI_BLOCKED) return pushed;
    uint64_t tail = ceni_load_relaxed(&ring->tail); /* carries nothing: checked below */
    if (tail & CLOSED) return CENI_SHUT;
    if (ceni_load_acquire(&slot_at(ring, tail)->stamp) != tail - ring->lap + 1) return CENI_IN_BETWEEN; /* [R4] */
    return replace_oldest(ring, tail, element, evicted, out);
}

bool ceni_queue_ring_close(ceni_queue_ring *ring)
{
    return !(ceni_or_seq_cst(&ring->tail, CLOSED) & CLOSED); /* [R8] */
}

/* ---- Queries --------------------------------------------------------------------- */

static _Atomic uint64_t *head_of(const ceni_queue_ring *ring)
{
    return &((ceni_queue_ring *)(uintptr_t)ring)->head;
}

static _Atomic uint64_t *tail_of(const ceni_queue_ring *ring)
{
    return &((ceni_queue_ring *)(uintptr_t)ring)->tail;
}

bool ceni_queue_ring_closed(const ceni_queue_ring *ring)
{
    return ceni_load_seq_cst(tail_of(ring)) & CLOSED; /* [R5] */
}

/* The end whose movement can only turn "no" into "yes" is read last, so that "no" is exact (I1). */
bool ceni_queue_ring_may_push(const ceni_queue_ring *ring)
{
    uint64_t tail = ceni_load_acquire(tail_of(ring)); /* [R9] */
    uint64_t head = ceni_load_seq_cst(head_of(ring)); /* [R6] */
    return (tail & CLOSED) || ceni_queue_ring_closed(ring) || head + ring->lap != tail;
}

bool ceni_queue_ring_may_pop(const ceni_queue_ring *ring)
{
    uint64_t head = ceni_load_acquire(head_of(ring)); /* [R9] */
    return ceni_load_seq_cst(tail_of(ring)) != head;  /* [R5] */
}

size_t ceni_queue_ring_length(const ceni_queue_ring *ring)
{
    for (;;) {
        uint64_t tail = ceni_load_seq_cst(tail_of(ring));       /* [R10] */
        uint64_t head = ceni_load_seq_cst(head_of(ring));       /* [R10] */
        if (ceni_load_seq_cst(tail_of(ring)) != tail) continue; /* [R10] */
        tail &= ~CLOSED;
        uint64_t index = ring->lap - 1;
        return (tail - head - (tail & index) + (head & index)) / ring->lap * ring->capacity + (tail & index) -
               (head & index);
    }
}
