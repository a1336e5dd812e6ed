/* SPDX-License-Identifier: MIT */
/*
 * Chunks of slots: memory that comes with the pool or when it grows, and stays
 * where it is until the pool is freed.
 *
 *     chunks[0]  the slots the pool was made with: nearly always all
 *     chunks[1]  more, after a resize ...
 *
 * Order table
 * [P1] readers | load of chunk_count, places  | acquire | P2 | the chunk's fields and zeroed slots | a reader follows a pointer that is not there yet
 * [P2] publish | store of chunk_count, places | release | P1 | the same | the same
 * [P3] publish | add to shifts | seq_cst | V5 in look.c | that there are more slots than were read | a snapshot has the new max and the old places
 */
#include "base/alloc.h"
#include "pool/inside.h"

/* In the order of alignment: slots, this struct, maps, readings. */
ceni_chunk *ceni_chunk_make(const cen_allocator *allocator, uint32_t first, uint32_t count, bool traces, uint64_t generation)
{
    size_t words = ceni_map_words(count);
    size_t slot_bytes = count * sizeof(ceni_slot);
    size_t trace_bytes = traces ? (size_t)count * CENI_TRACE_ROOM * sizeof(uint64_t) : 0;
    size_t bytes = slot_bytes + sizeof(ceni_chunk) + (3 * words + count) * sizeof(uint64_t) + trace_bytes;
    char *memory = ceni_alloc(allocator, bytes, CENI_LINE);
    if (!memory) return NULL;
    ceni_chunk *chunk = (ceni_chunk *)(void *)(memory + slot_bytes);
    *chunk = (ceni_chunk){.first = first, .count = count, .slots = (ceni_slot *)(void *)memory, .bytes = bytes};
    _Atomic uint64_t *maps = (_Atomic uint64_t *)(void *)(chunk + 1);
    ceni_map_init(&chunk->listed, count, maps);
    ceni_map_init(&chunk->vacant, count, maps + words);
    ceni_map_init(&chunk->filled, count, maps + 2 * words);
    chunk->seen = (uint64_t *)(void *)(maps + 3 * words);
    chunk->traces = traces ? (_Atomic uint64_t *)(void *)(chunk->seen + count) : NULL;
    for (uint32_t i = 0; i < count; i++) {
        ceni_list_init(&chunk->slots[i].link);
        ceni_store_relaxed(&chunk->slots[i].word, ceni_word(generation, CENI_EMPTY)); /* nobody reads it yet; carries nothing */
        ceni_map_set(&chunk->vacant, i);
    }
    return chunk;
}

void ceni_chunk_free(ceni_chunk *chunk, const cen_allocator *allocator)
{
    ceni_free(allocator, chunk->slots, chunk->bytes, CENI_LINE);
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
