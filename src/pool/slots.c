/* SPDX-License-Identifier: MIT */
/*
 * Chunks of slots: allocated with the pool or when it grows, and never moved until the pool is freed.
 *
 *     chunks[0]  the slots the pool was made with: nearly always all
 *     chunks[1]  more, after a resize ...
 *
 * A slot is initialised when it is first claimed: until then its memory is zero, which reads as EMPTY, and need not
 * be resident. `reach` is the end of the slots in use. It goes up before a slot leaves EMPTY, and down after the
 * highest one has become EMPTY, under the lock. A search over all slots ends there: a slot beyond is claimed after
 * the search began. A search that must not miss such a slot uses a mark in the wait queue that the claiming thread
 * has seen (CLOSED), or the count of shifts (stats.c).
 *
 * The generations of the slots in use count their leases. `rest` has the leases of all other slots, so that EMPTY
 * slots need not be read:
 *
 *     leases = rest + the generations of all slots that are not EMPTY
 *     claim: rest -= generation        empty: rest += generation
 *
 * Order table
 * [P1] readers | load of chunk_count, places  | acquire | P2 | the chunk's fields and zeroed slots | a reader follows a pointer before it is written
 * [P2] publish | store of chunk_count, places | release | P1 | the same | the same
 * [P3] publish | add to shifts | seq_cst | V5 in stats.c | that there are more slots than were read | a snapshot has the new max and the old places
 */
#include "base/alloc.h"
#include "base/plant.h"
#include "pool/internal.h"

enum { PAGE = 4096, LARGE = 512 };

static size_t rounded(size_t bytes, size_t align)
{
    return (bytes + align - 1) / align * align;
}

/* The offsets of the parts of a chunk. The slots are first. In a large chunk each part has pages of its own. */
typedef struct layout {
    size_t align, seen, traces, identities, chunk, maps, words, bytes;
} layout;

static layout lay_out(uint32_t count, ceni_chunk_extras with)
{
    layout l = {.align = count > LARGE ? PAGE : CENI_CACHE_LINE, .words = ceni_map_words(count)};
    size_t blocks = (count + CENI_BLOCK - 1) / CENI_BLOCK;
    l.seen = rounded(count * sizeof(ceni_slot), l.align);
    l.traces = l.seen + rounded(count * sizeof(uint64_t), l.align);
    l.identities = l.traces + (with.traces ? rounded((size_t)count * CENI_TRACE_ROOM * sizeof(uint64_t), l.align) : 0);
    l.chunk = l.identities + (with.identities ? rounded(count * sizeof(uint64_t), l.align) : 0);
    l.maps = rounded(l.chunk + sizeof(ceni_chunk), sizeof(uint64_t));
    l.bytes = l.maps + (4 * l.words + (blocks + 63) / 64) * sizeof(uint64_t);
    return l;
}

ceni_chunk *ceni_chunk_make(const cen_allocator *allocator, uint32_t first, uint32_t count, ceni_chunk_extras with,
                            uint64_t generation)
{
    layout l = lay_out(count, with);
    char *memory = ceni_alloc_sparse(allocator, l.bytes, l.align);
    if (!memory) return NULL;
    ceni_chunk *chunk = (ceni_chunk *)(void *)(memory + l.chunk);
    *chunk = (ceni_chunk){.first = first,
                          .count = count,
                          .slots = (ceni_slot *)(void *)memory,
                          .bytes = l.bytes,
                          .align = l.align,
                          .floor = generation,
                          .gives_back = !allocator};
    _Atomic uint64_t *maps = (_Atomic uint64_t *)(void *)(memory + l.maps);
    ceni_map_init(&chunk->listed, count, maps);
    ceni_map_init(&chunk->vacant, count, maps + l.words);
    ceni_map_init(&chunk->filled, count, maps + 2 * l.words);
    chunk->seen_filled = (uint64_t *)(void *)(maps + 3 * l.words);
    chunk->used = chunk->seen_filled + l.words;
    chunk->seen = (uint64_t *)(void *)(memory + l.seen);
    chunk->traces = with.traces ? (_Atomic uint64_t *)(void *)(memory + l.traces) : NULL;
    chunk->identities = with.identities ? (_Atomic uint64_t *)(void *)(memory + l.identities) : NULL;
    ceni_map_fill(&chunk->vacant);
    return chunk;
}

void ceni_chunk_free(ceni_chunk *chunk, const cen_allocator *allocator)
{
    ceni_free_sparse(allocator, chunk->slots, chunk->bytes, chunk->align);
}

uint32_t ceni_chunk_count(cen_pool *pool)
{
    return ceni_load_acquire(&pool->chunk_count); /* [P1] */
}

uint32_t ceni_place_count(cen_pool *pool)
{
    return ceni_load_acquire(&pool->places); /* [P1] */
}

void ceni_chunk_publish_locked(cen_pool *pool, ceni_chunk *chunk)
{
    uint32_t chunks = ceni_load_relaxed(&pool->chunk_count); /* written under this lock; carries nothing */
    pool->chunks[chunks] = chunk;
    ceni_store_release(&pool->chunk_count, chunks + 1);             /* [P2] */
    ceni_store_release(&pool->places, chunk->first + chunk->count); /* [P2] */
    ceni_add_seq_cst(&pool->shifts, 1);                             /* [P3] */
}

ceni_chunk *ceni_chunk_of(cen_pool *pool, uint32_t index)
{
    uint32_t chunks = ceni_chunk_count(pool);
    for (uint32_t i = 0; i < chunks; i++) {
        ceni_chunk *chunk = pool->chunks[i];
        if (index - chunk->first < chunk->count) return chunk;
    }
    return NULL;
}

ceni_slot *ceni_slot_beyond_base(cen_pool *pool, uint32_t index)
{
    ceni_chunk *chunk = ceni_chunk_of(pool, index);
    return chunk ? &chunk->slots[index - chunk->first] : NULL;
}

uint32_t ceni_slot_index(cen_pool *pool, const void *slot)
{
    uint32_t chunks = ceni_chunk_count(pool);
    for (uint32_t i = 0; i < chunks; i++) {
        ceni_chunk *chunk = pool->chunks[i];
        uintptr_t offset = (uintptr_t)slot - (uintptr_t)chunk->slots;
        if (offset / sizeof(ceni_slot) >= chunk->count) continue;
        return offset % sizeof(ceni_slot) ? CENI_NO_INDEX : chunk->first + (uint32_t)(offset / sizeof(ceni_slot));
    }
    return CENI_NO_INDEX;
}

/* ---- Slots in use ------------------------------------------------------------------------ */

uint32_t ceni_place_reach(cen_pool *pool)
{
    return ceni_planted(every_slot_is_looked_at) ? ceni_place_count(pool) : ceni_setting(&pool->reach);
}

void ceni_slot_begins_locked(cen_pool *pool, ceni_chunk *chunk, uint32_t at)
{
    ceni_slot *slot = &chunk->slots[at];
    uint64_t none = 0;
    chunk->used[at / CENI_BLOCK / 64] |= UINT64_C(1) << (at / CENI_BLOCK % 64);
    /* the claim follows; carries nothing */
    if (ceni_cas_relaxed(&slot->word, &none, ceni_word(chunk->floor, CENI_SLOT_EMPTY))) ceni_list_init(&slot->link);
    pool->rest -= ceni_word_generation(ceni_load_relaxed(&slot->word)); /* under the lock; carries nothing */
    if (chunk->first + at >= ceni_setting(&pool->reach)) ceni_setting_put(&pool->reach, chunk->first + at + 1);
}

static uint32_t find_reach_locked(cen_pool *pool)
{
    for (uint32_t i = ceni_chunk_count(pool); i-- > 0;) {
        ceni_chunk *chunk = pool->chunks[i];
        uint32_t reach = ceni_map_reach(&chunk->filled, chunk->count);
        if (reach > 0) return chunk->first + reach;
    }
    return 0;
}

void ceni_slot_ended_locked(cen_pool *pool, ceni_chunk *chunk, uint32_t at)
{
    /* under the lock; carries nothing */
    uint64_t generation = ceni_word_generation(ceni_load_relaxed(&chunk->slots[at].word));
    pool->rest += generation;
    if (generation > pool->highest) pool->highest = generation;
    if (chunk->first + at + 1 == ceni_setting(&pool->reach)) ceni_setting_put(&pool->reach, find_reach_locked(pool));
}
