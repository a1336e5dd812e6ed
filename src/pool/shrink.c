/* SPDX-License-Identifier: MIT */
/*
 * Giving back the memory of slots that a smaller max has left unused.
 *
 * Slots are in blocks of CENI_BLOCK. A block beyond max whose slots are all EMPTY is given back: by the resize if it
 * is empty then, otherwise when its last slot becomes EMPTY. The address range stays mapped, because ended leases,
 * hints of threads and running searches point into it, and it is not known when the last of them is gone:
 *
 *     word EMPTY, g ──▶ 0, which reads as EMPTY ──▶ the system may take the pages
 *                                                ──▶ claimed again: EMPTY, floor ──▶ OPENING
 *
 * The word is 0 before the pages are given back, and after. So whatever the system does with the pages, no reader
 * sees a wrong state. The rest of a slot is not read before the slot is claimed again, except by readers that check
 * its word before and after.
 *
 * Invariants
 *  B1 Only EMPTY slots are given back, under the lock. No other thread changes their
 *     words, except searchers, which clear LISTED.
 *  B2 A slot that was given back begins again above every generation that any slot
 *     of the pool has reached. So an older lease, hint or note, which contains
 *     a generation, matches no word: a late give is STALE.
 *  B3 A slot whose word is 0 is not in the map `listed`, or a searcher is about to
 *     remove it: it has cleared LISTED before.
 *
 * The naive version frees the chunk: the give of a reclaimed lease then writes to memory that another part of the
 * program uses. A version that keeps the generations in the slots keeps the pages. A version that restarts at the
 * first generation lets a late give end a lease of the slot's next holder.
 *
 * A program's own allocator may have its memory from anywhere. Memory from it stays as it is until the pool is freed.
 *
 * Order table
 * [K1] give back | cas of the word | seq_cst | I1 I2 in idle.c, T3 in give.c, V1 in stats.c | only that it is EMPTY as before; one order for all changes of a word is easier to argue | nothing alone
 *
 * Tested by tests/unit/pool/shrink_test.c, shrink_real_test.c, tests/explore/pool_resize_test.c.
 */
#include "base/plant.h"
#include "pool/internal.h"
#include "port/port.h"

static bool is_used(const ceni_chunk *chunk, uint32_t block)
{
    return chunk->used[block / 64] >> (block % 64) & 1;
}

/* Returns true if a search may have missed an idle slot meanwhile: then the queue must be tended. */
static bool empty_words_locked(ceni_chunk *chunk, uint32_t from, uint32_t end)
{
    bool restored = false;
    for (uint32_t at = from; at < end; at++) {
        uint64_t word = ceni_load_relaxed(&chunk->slots[at].word); /* a hint for the cas; carries nothing */
        while (word != 0 && !ceni_cas_seq_cst(&chunk->slots[at].word, &word, 0)) continue; /* [K1] */
        if (word & CENI_LISTED) restored |= ceni_map_clear(&chunk->listed, at);
    }
    return restored;
}

static void forget_pages(const ceni_chunk *chunk, uint32_t from, uint32_t end)
{
    size_t count = end - from;
    if (!chunk->gives_back) return;
    ceni_pages_forget(&chunk->slots[from], count * sizeof(ceni_slot));
    ceni_pages_forget(&chunk->seen[from], count * sizeof chunk->seen[0]);
    if (chunk->traces)
        ceni_pages_forget(&chunk->traces[(size_t)from * CENI_TRACE_ROOM],
                          count * CENI_TRACE_ROOM * sizeof chunk->traces[0]);
}

static bool give_back_locked(cen_pool *pool, ceni_chunk *chunk, uint32_t block)
{
    uint32_t from = block * CENI_BLOCK, end = chunk->count - from < CENI_BLOCK ? chunk->count : from + CENI_BLOCK;
    uint32_t max = ceni_load_relaxed(&pool->max); /* written under this lock; carries nothing */
    if (!is_used(chunk, block) || chunk->first + from < max) return false;
    if (ceni_map_next(&chunk->filled, from, end) < end && !ceni_planted(given_back_in_use)) return false;
    if (!ceni_planted(given_back_begins_again) && chunk->floor < pool->highest) chunk->floor = pool->highest;
    chunk->used[block / 64] &= ~(UINT64_C(1) << (block % 64));
    ceni_setting_put(&pool->given_back, ceni_setting(&pool->given_back) + 1);
    bool restored = empty_words_locked(chunk, from, end);
    forget_pages(chunk, from, end);
    return restored;
}

void ceni_shrink_at_locked(cen_pool *pool, ceni_chunk *chunk, uint32_t at)
{
    if (!ceni_planted(shrink_waits_for_a_resize)) give_back_locked(pool, chunk, at / CENI_BLOCK); /* the caller pumps */
}

/* The next block to check, from the top of all chunks: the blocks of chunk i - 1 below `block`. */
typedef struct cursor {
    uint32_t i, block;
    bool restored;
} cursor;

/* Give back at most one block. Returns false if there are no more. */
static bool shrink_on_locked(cen_pool *pool, cursor *at)
{
    for (; at->i > 0; at->i--) {
        ceni_chunk *chunk = pool->chunks[at->i - 1];
        uint32_t blocks = (chunk->count + CENI_BLOCK - 1) / CENI_BLOCK;
        if (at->block > blocks) at->block = blocks;
        while (at->block > 0)
            if (is_used(chunk, --at->block)) {
                at->restored |= give_back_locked(pool, chunk, at->block);
                return true;
            }
        at->block = UINT32_MAX;
    }
    return false;
}

void ceni_shrink(cen_pool *pool)
{
    cursor at = {.i = ceni_chunk_count(pool), .block = UINT32_MAX};
    bool more = true;
    while (more) {
        ceni_waiters_lock(pool->waiters);
        more = shrink_on_locked(pool, &at);
        ceni_waiters_unlock(pool->waiters);
    }
    if (at.restored) ceni_waiters_tend(pool->waiters, pool->id, CENI_NO_INDEX);
}
