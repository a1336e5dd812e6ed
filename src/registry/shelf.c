/* SPDX-License-Identifier: MIT */
/*
 * The shelf of a key: its entries in the order of registration (chain.h), and by index, so that any of them is picked
 * in constant time.
 *
 *     near   [A][B][C][D]
 *     far ─▶ chunk 0 [E][F][ ][ ]    chunk 1: 8 slots, chunk 2: 16, ...
 *                         count = 6
 *
 * An entry that is taken out leaves a hole. The last entry is moved into the hole, and then the count goes down. Chunks
 * never move and are freed with the shelf.
 *
 * A slot at or beyond the count is not cleared. A reader that has read the count before it went down may still look
 * there, and finds the entry that was the last one. That entry was registered when the count was read. It is in memory:
 * the reader's section is older than its removal, if it was removed at all.
 *
 * Invariants
 *  S1 Each slot below the count has one entry of the shelf, and each entry is in one slot: its index.
 *  S2 `far` and a chunk are written before a count that reaches there, and never again.
 *  S3 A shelf is in the table if and only if it has entries. It is freed with the last of its entries in memory, so
 *     after the grace period of that entry.
 *
 * Order table
 * [S1] put, take | store of count | release | S2 | the slots below it, far and the chunks
 *      | a pick finds no chunk, or an empty slot
 * [S2] at, any, count | load of count | acquire | S1 | the same | the same
 * [S3] put, take | store of a slot | release | S4 | the entry | a reader with an older count sees an entry before its value
 * [S4] at, any | load of a slot | acquire | S3 | the same | the same
 * [S5] let go | add to kept | acq_rel | S5 | the end of all use of the shelf by other threads that let go | it is freed under one of them
 *
 * Tested by tests/unit/registry/pick_test.c, tests/explore/registry_test.c (planted: registry_picks_beyond,
 * registry_leaves_a_hole).
 */
#include "base/alloc.h"
#include "base/plant.h"
#include "registry/internal.h"

/* ---- The place of a slot ----------------------------------------------------------------------------------- */

/* The chunk of an index that is not in `near`. */
static unsigned chunk_of(size_t index)
{
    return (unsigned)(63 - __builtin_clzll((unsigned long long)index)) - 2;
}
_Static_assert(CENI_SHELF_NEAR == 4, "the chunks begin at 1 << 2");

static size_t chunk_size(unsigned which)
{
    return (size_t)CENI_SHELF_NEAR << which;
}

static ceni_place *place(ceni_shelf *shelf, size_t index)
{
    if (index < CENI_SHELF_NEAR) return &shelf->near[index];
    unsigned which = chunk_of(index);
    return &shelf->far->chunks[which][index - chunk_size(which)];
}

/* ---- Memory, with no lock held ---------------------------------------------------------------------------- */

static void note_chunk(ceni_supply *supply, const ceni_shelf *shelf, unsigned which)
{
    supply->wanted = which;
    supply->needs_far = !shelf->far && !supply->far;
    bool there = shelf->far && shelf->far->chunks[which];
    supply->needs_chunk = !there && (!supply->chunk || supply->which != which);
}

bool ceni_supply_covers(ceni_supply *supply, const ceni_shelf *shelf)
{
    size_t count = shelf ? ceni_shelf_count(shelf) : 0;
    supply->needs_shelf = !shelf && !supply->shelf;
    supply->needs_far = supply->needs_chunk = false;
    if (count >= CENI_SHELF_NEAR) note_chunk(supply, shelf, chunk_of(count));
    return supply->entry && !supply->needs_shelf && !supply->needs_far && !supply->needs_chunk;
}

static void *get(cen_registry *registry, size_t size)
{
    return ceni_alloc(registry->allocator, size, _Alignof(max_align_t));
}

static void put_back(cen_registry *registry, void *memory, size_t size)
{
    ceni_free(registry->allocator, memory, size, _Alignof(max_align_t));
}

static size_t shelf_bytes(cen_key key)
{
    return sizeof(ceni_shelf) + ceni_key_room(key);
}

static ceni_shelf *make_shelf(cen_registry *registry, cen_key key)
{
    ceni_shelf *shelf = get(registry, shelf_bytes(key));
    if (!shelf) return NULL;
    shelf->key = ceni_key_copy(key, shelf->bytes);
    shelf->hash = ceni_key_hash(registry->seed, key);
    return shelf;
}

static void free_chunk(cen_registry *registry, ceni_place *chunk, unsigned which)
{
    put_back(registry, chunk, chunk_size(which) * sizeof(ceni_place));
}

bool ceni_supply_fill(cen_registry *registry, ceni_supply *supply, cen_key key)
{
    bool filled = true;
    if (!supply->entry)
        filled &= !!(supply->entry = ceni_alloc(registry->allocator, sizeof(cen_entry), _Alignof(cen_entry)));
    if (supply->needs_shelf) filled &= !!(supply->shelf = make_shelf(registry, key));
    if (supply->needs_far) filled &= !!(supply->far = get(registry, sizeof(ceni_far)));
    if (!supply->needs_chunk) return filled;
    if (supply->chunk) free_chunk(registry, supply->chunk, supply->which);
    supply->which = supply->wanted;
    supply->chunk = get(registry, chunk_size(supply->which) * sizeof(ceni_place));
    return filled && supply->chunk;
}

void ceni_supply_free(cen_registry *registry, ceni_supply *supply)
{
    ceni_free(registry->allocator, supply->entry, sizeof(cen_entry), _Alignof(cen_entry));
    if (supply->shelf) put_back(registry, supply->shelf, shelf_bytes(supply->shelf->key));
    put_back(registry, supply->far, sizeof(ceni_far));
    if (supply->chunk) free_chunk(registry, supply->chunk, supply->which);
}

void ceni_shelf_let_go(cen_registry *registry, ceni_shelf *shelf)
{
    if (ceni_add_acq_rel(&shelf->kept, (uint32_t)-1) != 1) return; /* [S5] */
    for (unsigned which = 0; shelf->far && which < CENI_SHELF_CHUNKS && shelf->far->chunks[which]; which++)
        free_chunk(registry, shelf->far->chunks[which], which);
    put_back(registry, shelf->far, sizeof(ceni_far));
    put_back(registry, shelf, shelf_bytes(shelf->key));
}

/* ---- Putting and taking ----------------------------------------------------------------------------------- */

static size_t own_count(ceni_shelf *shelf)
{
    return ceni_load_relaxed(&shelf->count); /* written under the lock, which is held; carries nothing */
}

/* S2 */
static void reach(ceni_shelf *shelf, size_t index, ceni_supply *supply)
{
    if (index < CENI_SHELF_NEAR) return;
    unsigned which = chunk_of(index);
    if (!shelf->far) {
        shelf->far = supply->far;
        supply->far = NULL;
    }
    if (shelf->far->chunks[which]) return;
    shelf->far->chunks[which] = supply->chunk;
    supply->chunk = NULL;
}

void ceni_shelf_put_locked(ceni_shelf *shelf, cen_entry *entry, ceni_supply *supply)
{
    size_t count = own_count(shelf);
    reach(shelf, count, supply);
    entry->shelf = shelf;
    entry->index = count;
    ceni_add_relaxed(&shelf->kept, 1);              /* a number, written under the lock; carries nothing */
    ceni_store_release(place(shelf, count), entry); /* [S3] */
    ceni_chain_append_locked(&shelf->entries, &entry->in_shelf);
    ceni_store_release(&shelf->count, count + 1); /* [S1] */
}

bool ceni_shelf_take_locked(ceni_shelf *shelf, cen_entry *entry)
{
    size_t last = own_count(shelf) - 1;
    /* written under the lock, which is held; carries nothing */
    cen_entry *moved = ceni_load_relaxed(place(shelf, last));
    if (!ceni_planted(registry_leaves_a_hole)) ceni_store_release(place(shelf, entry->index), moved); /* [S3] */
    moved->index = entry->index;
    ceni_store_release(&shelf->count, last); /* [S1] */
    ceni_chain_remove_locked(&shelf->entries, &entry->in_shelf);
    return last == 0;
}

/* ---- Picking ------------------------------------------------------------------------------------------------ */

size_t ceni_shelf_count(const ceni_shelf *shelf)
{
    return ceni_load_acquire(&((ceni_shelf *)(uintptr_t)shelf)->count); /* [S2] */
}

cen_entry *ceni_shelf_at(ceni_shelf *shelf, size_t index)
{
    size_t count = ceni_load_acquire(&shelf->count); /* [S2] */
    if (ceni_planted(registry_picks_beyond)) count = CENI_SHELF_NEAR;
    return index < count ? ceni_load_acquire(place(shelf, index)) : NULL; /* [S4] */
}

cen_entry *ceni_shelf_any(ceni_shelf *shelf, uint64_t random)
{
    size_t count = ceni_load_acquire(&shelf->count); /* [S2] */
    if (count == 0) return NULL;
    /* The upper half of a product: uniform to one part in 2^32 divided by the count, without a division. */
    size_t index = (size_t)(((random >> 32) * (uint64_t)count) >> 32);
    return ceni_load_acquire(place(shelf, index)); /* [S4] */
}
