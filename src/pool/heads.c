/* SPDX-License-Identifier: MIT */
/*
 * The memory of pool structs: it is lent to pools and never freed, like that of wait queues (waiters_memory.c).
 *
 * A lease that was reclaimed, or whose holder has ended, is not held: cen_pool_free does not wait for it, and frees
 * all memory of the pool. Its holder does not know that, and gives it some time later. The late give must detect that
 * without touching freed memory. So the struct that a lease points to stays mapped for the rest of the process's
 * life:
 *
 *     free ──▶ the quick path is off, base is NULL, first_generation is above every generation ever lent ──▶ lent again
 *     a late give ──▶ the quick path is off, or its slot's word has another generation ──▶ first_generation: STALE
 *
 * The next pool in the same struct begins its generations above first_generation. So no lease of a former pool is
 * mistaken for one of the new pool, even if its slots are at the same addresses.
 *
 * The naive version compares the pool's number, which a lease does not contain; adding it would cost every take and
 * give some instructions.
 *
 * Invariants
 *  G1 A generation is used by only one pool of a struct: those of the next pool are above first_generation, and those
 *     of all former ones are not.
 *  G2 A give of an ended lease that begins after cen_pool_free has returned reads only this struct of the pool's
 *     memory. During cen_pool_free only a lease that is still held keeps the slots in memory.
 *
 * `base` is not atomic, because that would cost a take and a give one instruction each. A late give may read it while
 * the next pool is being made. NULL and the new slots are both correct: NULL is outside the quick path's range, and
 * no word of the new slots has the generation of an old lease.
 *
 * first_generation goes up in steps of 2^24, so that the bits which decide the timed leases (slot.h) are the same in
 * every pool.
 *
 * Order table
 * [D1] claim      | cas of lent   | acq_rel | D2 | the struct as its last pool left it | two pools in one struct
 * [D2] return     | store of lent | release | D1 | the same | the same
 * [D3] next block | load of more  | acquire | D4 | the zeroed structs of the block | a struct is lent before it is zeroed
 * [D4] add block  | cas of more   | acq_rel | D3 D4 | the same | the same
 *
 * Tested by tests/unit/pool/heads_test.c.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/plant.h"
#include "base/statics.h"
#include "pool/internal.h"

#if defined(__SANITIZE_ADDRESS__)
#define SEES_FREED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SEES_FREED 1
#endif
#endif
#if defined(SEES_FREED) && !defined(CENI_WATCHED) /* a world copies all statics */
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

/* The watched build saves the static structs and restores them after every schedule. */
#ifdef CENI_WATCHED
enum { BLOCK = 4 }; /* one more than there are wait queues, so that a test can have a pool struct without one */
#else
enum { BLOCK = 8 };
#endif

#define STEP (UINT64_C(1) << 24)
#define LAST_GENERATION (UINT64_C(1) << 55) /* a struct that has reached it is not lent again */

typedef struct block {
    cen_pool heads[BLOCK];
    _Atomic(struct block *) more;
} block;

static CENI_STATIC block first_block;

static bool claim(cen_pool *head)
{
    bool lent = ceni_load_relaxed(&head->lent);                 /* a hint for the cas; carries nothing */
    return !lent && ceni_cas_acq_rel(&head->lent, &lent, true); /* [D1] */
}

static cen_pool *claim_any(block *from)
{
    for (int i = 0; i < BLOCK; i++)
        if (claim(&from->heads[i])) return &from->heads[i];
    return NULL;
}

/* The block after `from`, allocated if there is none; NULL if there is no memory. */
static block *next_block(block *from)
{
    block *next = ceni_load_acquire(&from->more); /* [D3] */
    if (next) return next;
    block *made = ceni_alloc(NULL, sizeof *made, CENI_CACHE_LINE);
    if (!made) return NULL;
    if (ceni_cas_acq_rel(&from->more, &next, made)) return made; /* [D4] */
    ceni_free(NULL, made, sizeof *made, CENI_CACHE_LINE);
    return next;
}

/* The part of the struct that a late give does not read. */
static size_t rest_of(cen_pool *head, char **out)
{
    *out = (char *)head + offsetof(cen_pool, base_count);
    return sizeof *head - offsetof(cen_pool, base_count);
}

cen_pool *ceni_head_lend(void)
{
    cen_pool *head = NULL;
    char *rest;
    for (block *from = &first_block; from && !head; from = head ? from : next_block(from)) head = claim_any(from);
    if (!head) return NULL;
    size_t size = rest_of(head, &rest);
    ASAN_UNPOISON_MEMORY_REGION(rest, size);
    memset(rest, 0, size);
    return head;
}

/* The next step above all generations that the pool has used. */
static uint64_t above_all(cen_pool *pool)
{
    uint64_t highest = ceni_setting(&pool->first_generation);
    uint32_t reach = ceni_place_reach(pool);
    if (pool->highest > highest) highest = pool->highest; /* of slots that are EMPTY by now */
    for (uint32_t index = 0; index < reach; index++) {
        uint64_t generation = ceni_word_generation(ceni_setting(&ceni_slot_at(pool, index)->word));
        if (generation > highest) highest = generation;
    }
    return (highest / STEP + 1) * STEP;
}

void ceni_head_end(cen_pool *pool)
{
    if (ceni_planted(head_keeps_its_slots)) return;
    uint64_t above = ceni_planted(generations_begin_again) ? 0 : above_all(pool);
    ceni_setting_put(&pool->first_generation, above);
    ceni_setting_put(&pool->quick_give, 0);
    ceni_setting_put(&pool->quick_take, 0);
    ceni_setting_put(&pool->quick_check, 0);
    pool->base = NULL;
}

void ceni_head_return(cen_pool *pool)
{
    char *rest;
    bool used_up = ceni_setting(&pool->first_generation) >= LAST_GENERATION;
    size_t size = rest_of(pool, &rest);
    ASAN_POISON_MEMORY_REGION(rest, size);
    if (!used_up) ceni_store_release(&pool->lent, false); /* [D2] */
}
