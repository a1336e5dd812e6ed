/* SPDX-License-Identifier: MIT */
/*
 * The unbounded queue: blocks of up to 255 slots in a chain.
 *
 *     position = block number * (slots + 1) + offset; offset `slots`: used up,
 *                                             and the next is being linked
 *     head_block ─▶ [s s s s ... s] ─▶ [s s s . . .] ◀─ tail_block
 *                        ▲ head              ▲ tail
 *
 * Push: claim a position by advancing tail, write the element, mark the slot WRITTEN. The push that claims the last
 * slot of a block links the next block, which it has allocated before the claim. Pop: claim a position by advancing
 * head, take the element, count the slot as finished. The pop that claims the last slot moves head_block on. Bit 63
 * of tail is CLOSED.
 *
 * If a pop has claimed a slot whose push is stuck between claim and write, the pop does not wait for it. It marks the
 * slot ABANDONED and goes on. The push finds the mark when it writes WRITTEN, finishes the slot on behalf of the pop,
 * and pushes again. It has not returned yet, so its place in the order was still open. (A queue that waits here can
 * hang forever if the waiting thread has the higher priority.)
 *
 * Invariants
 *  I1 A block is touched only by a thread that has claimed one of its slots
 *     and not finished it. A pointer to a block is used only after the claim
 *     succeeded, and the claim compares the position, which never repeats.
 *  I2 Every slot is finished exactly once: by the pop that took the element,
 *     or by the push whose slot was abandoned.
 *  I3 The thread that counts the last slot of a block as finished frees the
 *     block. The count is in the block but away from its slots, so that a
 *     pop only reads the lines that the pushes have written.
 *  I4 tail leaves the offset `slots` after tail_block and next are set; head
 *     leaves it after head_block is set. So a position and a block pointer read after it
 *     belong together if the position is still the same at the claim.
 *  I5 A pop claims the last slot of a block only when tail is past the offset
 *     `slots`: then next is set. Before that, the push of the last slot has not
 *     returned, and the pop may treat the queue as if that push had not begun.
 *
 * The naive version's race: free a block when the pop of its last slot is
 * done. Another pop may still be copying from an earlier slot. Hence I3.
 *
 * Order table
 * [B1] push            | cas of tail         | seq_cst | B6, W1 in waitlist.c | the claim, before the load of the wait list | a waiter parks although there is an element
 * [B2] ends            | load of position    | acquire | B5 B7 | the block pointer that belongs to it | a stale block is written to
 * [B3] ends            | load of block       | acquire | B4 | the contents of a new block | nothing alone: B2 after B5 or B7 carries it too; kept so that the pointer by itself may be followed
 * [B4] link, move on   | store of block      | release | B3 | the new block's zeroed slots | as B3
 * [B5] link            | add to tail         | seq_cst | B2 B6 | next and tail_block; a close may set its bit at the same time | as B2
 * [B6] empty?          | load of tail        | seq_cst | B1 B5 B8, W1 in waitlist.c | that nothing was claimed before the list was joined; next of a full block | a waiter parks although there is an element
 * [B7] move on         | store of head       | seq_cst | B2 B16 | head_block; the claim, as B9 | as B2; as B16
 * [B8] close           | or on tail          | seq_cst | B6 | the mark, before all waiters are called | nothing alone: the list's lock orders close and join; kept so that all changes of tail are in one order
 * [B9] pop             | cas of head         | seq_cst | B7 B16 | the claim | two pops of one slot; as B16
 * [B10] push           | add to state        | acq_rel | B11 B12 | the element's bytes; whether it was abandoned | bytes are read before they are written
 * [B11] pop            | load of state       | acquire | B10 | the element's bytes | as B10
 * [B12] abandon        | add to state        | acq_rel | B10 | which of the two finishes the slot | a slot finished twice, or never
 * [B13] finish         | add to finished     | acq_rel | B13 | that the slot's bytes have been read | a block is reused while a pop reads from it
 * [B14] spare          | exchange, cas       | acq_rel | B14 | the block's zeroed slots | as B3
 * [B15] known tail     | load, store         | acquire, release | B15 | what B6 carried to the pop that stored it | next of a full block is read too early
 * [B16] length         | load of position    | seq_cst | B1 B5 B7 B8 B9 | one order of all claims, for every thread that computes the length | two lengths that disagree which of a push and a pop came first
 *
 * Tested by tests/unit/sync/queue_test.c, tests/explore/queue_blocks_test.c,
 * tests/stress/queue_stress.c, tests/planted.
 */
#include "base/alloc.h"
#include "base/plant.h"
#include "sync/backoff.h"
#include "sync/queue_internal.h"

/* Bits of a slot's state. Each is set once in the life of a block, so an add sets it, in one instruction. An "or"
 * that returns the old value would be a loop. */
enum { WRITTEN = 1, ABANDONED = 2 };

/* How often a pop checks a slot that is being written before it abandons the slot: more often for a larger element;
 * otherwise a polling consumer would make the push start again before it has copied the element. Under the controlled
 * scheduler it checks once, because more checks would only make abandoned slots rarer. */
static size_t patience(const ceni_queue_blocks *blocks)
{
#ifdef CENI_WATCHED
    (void)blocks;
    return 1;
#else
    return 128 + blocks->element_size / 64;
#endif
}

#define CLOSED ((uint64_t)1 << 63)

typedef struct block_slot {
    _Atomic uint32_t state;
    uint32_t unused;
    char element[];
} block_slot;

struct ceni_block {
    _Atomic(ceni_block *) next;
    char apart[56];            /* separates the count, which pops write, from the rest, which pushes write */
    _Atomic uint32_t finished; /* slots */
    char apart_too[60];
    char slots[];
};

static uint64_t offset_of(const ceni_queue_blocks *blocks, uint64_t position)
{
    return position & blocks->slots;
}

static uint64_t last_of(const ceni_queue_blocks *blocks)
{
    return blocks->slots - 1;
}

static block_slot *slot_of(const ceni_queue_blocks *blocks, ceni_block *block, uint64_t offset)
{
    return (block_slot *)(void *)(block->slots + offset * blocks->slot_size);
}

/* ---- Allocating and freeing blocks -------------------------------------------------- */

/* malloc's own alignment; aligning to a cache line would cost more than it saves. */
enum { BLOCK_ALIGN = 16 };

static size_t block_size(const ceni_queue_blocks *blocks)
{
    return sizeof(ceni_block) + blocks->slots * blocks->slot_size;
}

static ceni_block *get_block(ceni_queue_blocks *blocks)
{
    ceni_block *block = ceni_exchange_acq_rel(&blocks->spare, NULL); /* [B14] */
    return block ? block : ceni_alloc(blocks->allocator, block_size(blocks), BLOCK_ALIGN);
}

static void free_block(ceni_queue_blocks *blocks, ceni_block *block)
{
    ceni_free(blocks->allocator, block, block_size(blocks), BLOCK_ALIGN);
}

/* Keep an unused block for the next link, or free it. */
static void put_block(ceni_queue_blocks *blocks, ceni_block *block)
{
    ceni_block *none = NULL;
    if (!block) return;
    if (!ceni_cas_acq_rel(&blocks->spare, &none, block)) free_block(blocks, block); /* [B14] */
}

/* No claim in the block is left. It is reset only if it will be kept. */
static void recycle(ceni_queue_blocks *blocks, ceni_block *block)
{
    if (ceni_load_relaxed(&blocks->spare)) { /* a hint whether it will be kept; carries nothing */
        free_block(blocks, block);
        return;
    }
    ceni_store_relaxed(&block->next, NULL);  /* carries nothing: B14, and B2 after B5, carry the block */
    ceni_store_relaxed(&block->finished, 0); /* the same */
    for (uint64_t i = 0; i < blocks->slots; i++)
        ceni_store_relaxed(&slot_of(blocks, block, i)->state, 0); /* the same */
    put_block(blocks, block);
}

static void finish(ceni_queue_blocks *blocks, ceni_block *block)
{
    uint64_t all = blocks->slots - (ceni_planted(block_freed_early) ? 1 : 0);
    if (ceni_add_acq_rel(&block->finished, 1) + 1 == all) recycle(blocks, block); /* [B13] */
}

cen_status ceni_queue_blocks_init(ceni_queue_blocks *blocks, const cen_allocator *allocator, size_t element_size)
{
    blocks->allocator = allocator;
    blocks->element_size = element_size;
    blocks->slot_size = sizeof(block_slot) + ((element_size + 7) & ~(size_t)7);
    blocks->slots = CENI_BLOCK_SLOTS;
    while (blocks->slots > CENI_BLOCK_SLOTS_LEAST && block_size(blocks) > CENI_BLOCK_BYTES) blocks->slots /= 2;
    ceni_block *first = get_block(blocks);
    if (!first) return CEN_NO_MEMORY;
    ceni_store_release(&blocks->head_block, first); /* [B4] */
    ceni_store_release(&blocks->tail_block, first); /* [B4] */
    return CEN_OK;
}

void ceni_queue_blocks_fini(ceni_queue_blocks *blocks)
{
    ceni_block *block = ceni_load_acquire(&blocks->head_block); /* [B3] */
    while (block) {
        ceni_block *next = ceni_load_acquire(&block->next); /* [B3] */
        free_block(blocks, block);
        block = next;
    }
    ceni_block *spare = ceni_exchange_acq_rel(&blocks->spare, NULL); /* [B14] */
    if (spare) free_block(blocks, spare);
}

/* ---- Push -------------------------------------------------------------------------- */

typedef struct slot_claim {
    ceni_block *block;
    uint64_t offset;
} slot_claim;

static void link_next(ceni_queue_blocks *blocks, ceni_block *block, ceni_block *next)
{
    ceni_store_release(&block->next, next);        /* [B4] */
    ceni_store_release(&blocks->tail_block, next); /* [B4] */
    ceni_add_seq_cst(&blocks->tail, 1);            /* [B5] */
}

static ceni_attempt claim_push(ceni_queue_blocks *blocks, slot_claim *out)
{
    ceni_attempt result = CENI_DONE;
    ceni_block *next = NULL;
    ceni_backoff backoff = {0};
    unsigned losses = 0;
    uint64_t tail = ceni_load_acquire(&blocks->tail); /* [B2] */
    for (;;) {
        ceni_block *block = ceni_load_acquire(&blocks->tail_block); /* [B3] */
        uint64_t offset = offset_of(blocks, tail);
        if (tail & CLOSED) {
            result = CENI_SHUT;
            break;
        }
        if (offset == blocks->slots) { /* another push is linking the next block */
            ceni_backoff_wait(&backoff);
            tail = ceni_load_acquire(&blocks->tail); /* [B2] */
            continue;
        }
        if (offset == last_of(blocks) && !next && !(next = get_block(blocks))) {
            result = CENI_STARVED;
            break;
        }
        if (!ceni_cas_seq_cst(&blocks->tail, &tail, tail + 1)) { /* [B1] */
            ceni_backoff_contend(&losses);
            continue;
        }
        *out = (slot_claim){block, offset};
        if (offset == last_of(blocks)) {
            link_next(blocks, block, next);
            next = NULL;
        }
        break;
    }
    put_block(blocks, next);
    return result;
}

ceni_attempt ceni_queue_blocks_push(ceni_queue_blocks *blocks, const void *element)
{
    for (;;) {
        slot_claim claim;
        ceni_attempt claimed = claim_push(blocks, &claim);
        if (claimed != CENI_DONE) return claimed;
        block_slot *slot = slot_of(blocks, claim.block, claim.offset);
        ceni_copy_element(slot->element, element, blocks->element_size);
        if (!(ceni_add_acq_rel(&slot->state, WRITTEN) & ABANDONED)) return CENI_DONE; /* [B10] */
        finish(blocks, claim.block);
        if (ceni_planted(abandoned_push_forgets)) return CENI_DONE;
    }
}

/* ---- Pop ----------------------------------------------------------------------------- */

static ceni_attempt nothing_there(uint64_t tail)
{
    return tail & CLOSED ? CENI_SHUT : CENI_BLOCKED;
}

/* Returns DONE if the slot at `head` may be claimed. */
static ceni_attempt claimable(ceni_queue_blocks *blocks, uint64_t head)
{
    uint64_t needed = head + 1 + (offset_of(blocks, head) == last_of(blocks)); /* past the link, for a last slot (I5) */
    if (ceni_load_acquire(&blocks->known_tail) >= needed) return CENI_DONE;    /* [B15] */
    uint64_t tail = ceni_load_seq_cst(&blocks->tail);                          /* [B6] */
    uint64_t position = tail & ~CLOSED;
    if (position == head) return nothing_there(tail);
    if (position < needed) return CENI_IN_BETWEEN;
    ceni_store_release(&blocks->known_tail, position); /* [B15] */
    return CENI_DONE;
}

static ceni_attempt claim_pop(ceni_queue_blocks *blocks, slot_claim *out)
{
    unsigned losses = 0;
    ceni_backoff backoff = {0};
    uint64_t head = ceni_load_acquire(&blocks->head); /* [B2] */
    for (;;) {
        ceni_block *block = ceni_load_acquire(&blocks->head_block); /* [B3] */
        uint64_t offset = offset_of(blocks, head);
        if (offset == blocks->slots) { /* another pop is moving on to the next block: three steps */
            if (backoff.step == CENI_BACKOFF_PAUSES) return CENI_IN_BETWEEN;
            ceni_backoff_wait(&backoff);
            head = ceni_load_acquire(&blocks->head); /* [B2] */
            continue;
        }
        ceni_attempt there = claimable(blocks, head);
        if (there != CENI_DONE) {
            uint64_t now = ceni_load_acquire(&blocks->head); /* [B2] */
            if (now == head) return there;
            head = now;
            continue;
        }
        if (!ceni_cas_seq_cst(&blocks->head, &head, head + 1)) { /* [B9] */
            ceni_backoff_contend(&losses);
            continue;
        }
        if (offset == last_of(blocks)) {
            ceni_block *next = ceni_load_acquire(&block->next); /* [B3] */
            ceni_store_release(&blocks->head_block, next);      /* [B4] */
            ceni_store_seq_cst(&blocks->head, head + 2);        /* [B7] */
        }
        *out = (slot_claim){block, offset};
        return CENI_DONE;
    }
}

/* Returns true if the element is written; false if the slot was abandoned to its push. */
static bool await_written(const ceni_queue_blocks *blocks, block_slot *slot)
{
    for (size_t looks = 0; looks < patience(blocks); looks++) {
        if (looks > 0) ceni_pause();
        if (ceni_load_acquire(&slot->state) & WRITTEN) return true; /* [B11] */
    }
    return ceni_add_acq_rel(&slot->state, ABANDONED) & WRITTEN; /* [B12] */
}

ceni_attempt ceni_queue_blocks_pop(ceni_queue_blocks *blocks, void *element)
{
    for (;;) {
        slot_claim claim;
        ceni_attempt claimed = claim_pop(blocks, &claim);
        if (claimed != CENI_DONE) return claimed;
        block_slot *slot = slot_of(blocks, claim.block, claim.offset);
        if (!await_written(blocks, slot)) continue;
        ceni_copy_element(element, slot->element, blocks->element_size);
        finish(blocks, claim.block);
        return CENI_DONE;
    }
}

/* ---- Close and queries ----------------------------------------------------------------- */

bool ceni_queue_blocks_close(ceni_queue_blocks *blocks)
{
    return !(ceni_or_seq_cst(&blocks->tail, CLOSED) & CLOSED); /* [B8] */
}

static ceni_queue_blocks *changeable(const ceni_queue_blocks *blocks)
{
    return (ceni_queue_blocks *)(uintptr_t)blocks;
}

bool ceni_queue_blocks_closed(const ceni_queue_blocks *blocks)
{
    return ceni_load_seq_cst(&changeable(blocks)->tail) & CLOSED; /* [B6] */
}

/* Head first: then "equal" means that the queue was empty when tail was read. */
bool ceni_queue_blocks_may_pop(const ceni_queue_blocks *blocks)
{
    uint64_t head = ceni_load_acquire(&changeable(blocks)->head); /* [B2] */
    return ceni_load_seq_cst(&changeable(blocks)->tail) != head;  /* [B6] */
}

static uint64_t count_to(const ceni_queue_blocks *blocks, uint64_t position)
{
    return position / (blocks->slots + 1) * blocks->slots + offset_of(blocks, position);
}

size_t ceni_queue_blocks_length(const ceni_queue_blocks *blocks)
{
    for (;;) {
        uint64_t tail = ceni_load_seq_cst(&changeable(blocks)->tail);       /* [B16] */
        uint64_t head = ceni_load_seq_cst(&changeable(blocks)->head);       /* [B16] */
        if (ceni_load_seq_cst(&changeable(blocks)->tail) != tail) continue; /* [B16] */
        return count_to(blocks, tail & ~CLOSED) - count_to(blocks, head);
    }
}
