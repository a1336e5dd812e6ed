/* SPDX-License-Identifier: MIT */
/*
 * The table of keys: a hash table that is read without a lock, also while it grows.
 *
 *     registry ─▶ buckets, growth 3 ─▶ [0] ─▶ shelf ══next[1]══▶ shelf
 *                                      [1]
 *     (readers of) buckets, growth 2 ─▶ the same shelves, by next[0]
 *
 * A shelf has two links. Buckets of an even growth chain the shelves by one of them, buckets of an odd growth by the
 * other. To grow, a larger array and its chains are built with the links that no reader uses, and then published by one
 * store. A reader that has found the older array goes on in it: nothing there is changed. It does not see later
 * changes of keys, as if it had read before them.
 *
 * The naive way, with one link, moves a shelf to another chain under a reader that stands at it. That reader misses the
 * rest of its own chain.
 *
 * Invariants
 *  K1 All shelves that are not empty are reached from `buckets`, by the links of its parity.
 *  K2 The links of the other parity are written only if `settled` has the growth of the present buckets. Then a grace
 *     period has passed since the buckets before were replaced, so that no reader uses those links.
 *  K3 A shelf that was taken out keeps its links until a grace period has passed.
 *  K4 A later shelf of a chain was put in earlier, or was there when the buckets were published. So a reader that has
 *     acquired the first of a chain, or the buckets, has the whole chain, and a link carries nothing more.
 *
 * Growth never fails a register: without memory, or before a grace period has passed, the chains are longer. If they
 * are much longer (CROWDED), a register waits for the grace period, unless it is in a read section itself.
 *
 * Order table
 * [K1] grow | store of buckets | release | K2 | the array and all chains from it | a reader follows links that are not there yet
 * [K2] find, each | load of buckets | acquire | K1 | the same | the same
 * [K3] put, take | store of first (in take, perhaps of a link) | release | K4 | the shelf, its link, its key, its first entry
 *      | a reader compares a key that is not there yet, or the chain ends too early
 * [K4] find, each | load of first | acquire | K3 | the same | the same
 *
 * Tested by tests/unit/registry/keys_test.c, tests/explore/registry_test.c (planted: registry_reuses_links_early).
 */
#include "base/alloc.h"
#include "base/plant.h"
#include "registry/internal.h"

enum { FIRST_BUCKETS = 4, CROWDED = 4 };

static size_t bytes_of(size_t count)
{
    return sizeof(ceni_buckets) + count * sizeof(_Atomic(ceni_shelf *));
}

static ceni_buckets *make_buckets(cen_registry *registry, size_t count)
{
    ceni_buckets *buckets = ceni_alloc(registry->allocator, bytes_of(count), _Alignof(ceni_buckets));
    if (!buckets) return NULL;
    buckets->registry = registry;
    buckets->mask = count - 1;
    return buckets;
}

static void free_buckets(ceni_buckets *buckets)
{
    ceni_free(buckets->registry->allocator, buckets, bytes_of(buckets->mask + 1), _Alignof(ceni_buckets));
}

static ceni_buckets *own_locked(cen_registry *registry)
{
    return ceni_load_relaxed(&registry->buckets); /* written under the lock, which is held; carries nothing */
}

cen_status ceni_keys_start(cen_registry *registry)
{
    ceni_buckets *buckets = make_buckets(registry, FIRST_BUCKETS);
    if (!buckets) return CEN_NO_MEMORY;
    ceni_store_relaxed(&registry->buckets, buckets); /* no other thread knows the registry yet; carries nothing */
    ceni_index_init(&registry->by_number);
    ceni_index_init(&registry->by_owner);
    return CEN_OK;
}

static void free_index(cen_registry *registry, ceni_index *index)
{
    if (index->buckets == &index->only) return;
    ceni_free(registry->allocator, index->buckets, (index->mask + 1) * sizeof *index->buckets,
              _Alignof(ceni_index_node *));
}

void ceni_keys_fini(cen_registry *registry)
{
    free_buckets(own_locked(registry));
    free_index(registry, &registry->by_number);
    free_index(registry, &registry->by_owner);
}

/* ---- Reading ---------------------------------------------------------------------------------------- */

ceni_shelf *ceni_keys_find(cen_registry *registry, cen_key key, uint64_t hash)
{
    ceni_buckets *buckets = ceni_load_acquire(&registry->buckets);                /* [K2] */
    ceni_shelf *shelf = ceni_load_acquire(&buckets->first[hash & buckets->mask]); /* [K4] */
    while (shelf && (shelf->hash != hash || !cen_key_same(shelf->key, key))) {
        ceni_registry_step();
        shelf = ceni_load_relaxed(&shelf->next[buckets->parity]); /* K4; carries nothing */
    }
    return shelf;
}

void ceni_keys_each(cen_registry *registry, bool (*visit)(void *argument, ceni_shelf *shelf), void *argument)
{
    ceni_buckets *buckets = ceni_load_acquire(&registry->buckets); /* [K2] */
    for (size_t i = 0; i <= buckets->mask; i++) {
        ceni_shelf *shelf = ceni_load_acquire(&buckets->first[i]); /* [K4] */
        while (shelf) {
            if (!visit(argument, shelf)) return;
            shelf = ceni_load_relaxed(&shelf->next[buckets->parity]); /* K4; carries nothing */
        }
    }
}

/* ---- Changing ---------------------------------------------------------------------------------------- */

void ceni_keys_put_locked(cen_registry *registry, ceni_shelf *shelf)
{
    ceni_buckets *buckets = own_locked(registry);
    _Atomic(ceni_shelf *) *first = &buckets->first[shelf->hash & buckets->mask];
    ceni_shelf *next = ceni_load_relaxed(first); /* written under the lock, which is held; carries nothing */
    ceni_store_relaxed(&shelf->next[buckets->parity], next); /* published by [K3]; carries nothing */
    ceni_store_release(first, shelf);                        /* [K3] */
    registry->stats.keys++;
}

void ceni_keys_take_locked(cen_registry *registry, ceni_shelf *shelf)
{
    ceni_buckets *buckets = own_locked(registry);
    _Atomic(ceni_shelf *) *at = &buckets->first[shelf->hash & buckets->mask];
    /* as above; carries nothing */
    for (ceni_shelf *one; (one = ceni_load_relaxed(at)) != shelf; at = &one->next[buckets->parity])
        ceni_registry_step();
    ceni_shelf *next = ceni_load_relaxed(&shelf->next[buckets->parity]); /* as above; carries nothing */
    ceni_store_release(at, next);                                        /* [K3] */
    registry->stats.keys--;
}

/* ---- Growing ------------------------------------------------------------------------------------------- */

size_t ceni_keys_buckets_locked(cen_registry *registry)
{
    return own_locked(registry)->mask + 1;
}

static size_t wants_locked(cen_registry *registry)
{
    size_t has = ceni_keys_buckets_locked(registry), wants = has;
    while (wants < registry->stats.keys) wants *= 2;
    return wants > has ? wants : 0;
}

/* K2 */
static bool is_settled_locked(cen_registry *registry)
{
    return registry->settled >= own_locked(registry)->growth || ceni_planted(registry_reuses_links_early);
}

static bool is_crowded_locked(cen_registry *registry)
{
    return registry->stats.keys > CROWDED * ceni_keys_buckets_locked(registry) && !ceni_read_is_open();
}

bool ceni_keys_want_growth_locked(cen_registry *registry)
{
    if (wants_locked(registry) && (is_settled_locked(registry) || is_crowded_locked(registry))) return true;
    return ceni_index_wants(&registry->by_number) || ceni_index_wants(&registry->by_owner);
}

static void settle_locked(cen_registry *registry, uint64_t growth)
{
    if (registry->settled < growth) registry->settled = growth;
}

static void release_buckets(ceni_retired *retired)
{
    ceni_buckets *buckets = CENI_LIST_ENTRY(retired, ceni_buckets, retired);
    ceni_registry_lock(buckets->registry);
    settle_locked(buckets->registry, buckets->growth + 1);
    ceni_registry_unlock(buckets->registry);
    free_buckets(buckets);
}

/* Build the chains of the larger array with the unused links, and publish it. */
static void move_locked(cen_registry *registry, ceni_buckets *before, ceni_buckets *larger)
{
    larger->growth = before->growth + 1;
    larger->parity = 1 - before->parity;
    for (size_t i = 0; i <= before->mask; i++) {
        /* written under the lock, which is held; carries nothing */
        ceni_shelf *shelf = ceni_load_relaxed(&before->first[i]);
        while (shelf) {
            _Atomic(ceni_shelf *) *first = &larger->first[shelf->hash & larger->mask];
            ceni_shelf *next = ceni_load_relaxed(first);             /* published by [K1]; carries nothing */
            ceni_store_relaxed(&shelf->next[larger->parity], next);  /* likewise; carries nothing */
            ceni_store_relaxed(first, shelf);                        /* likewise; carries nothing */
            shelf = ceni_load_relaxed(&shelf->next[before->parity]); /* as the first; carries nothing */
        }
    }
    ceni_store_release(&registry->buckets, larger); /* [K1] */
}

/* True: the unused links may be written. False: not yet. The lock is held before and afterwards. */
static bool wait_until_settled_locked(cen_registry *registry)
{
    if (is_settled_locked(registry)) return true;
    if (!is_crowded_locked(registry)) return false;
    uint64_t growth = own_locked(registry)->growth;
    ceni_registry_unlock(registry);
    ceni_rcu_wait();
    ceni_registry_lock(registry);
    settle_locked(registry, growth);
    return is_settled_locked(registry);
}

static void grow_buckets(cen_registry *registry)
{
    ceni_registry_lock(registry);
    size_t wants = wait_until_settled_locked(registry) ? wants_locked(registry) : 0;
    ceni_registry_unlock(registry);
    ceni_buckets *larger = wants ? make_buckets(registry, wants) : NULL;
    if (!larger) return;
    ceni_registry_lock(registry);
    ceni_buckets *before = own_locked(registry);
    bool moves = before->mask < larger->mask && is_settled_locked(registry); /* another thread may have been first */
    if (moves) move_locked(registry, before, larger);
    ceni_registry_unlock(registry);
    if (moves) ceni_bin_put(&registry->bin, &before->retired, release_buckets, bytes_of(before->mask + 1), true);
    else free_buckets(larger);
}

static void grow_index(cen_registry *registry, ceni_index *index)
{
    ceni_registry_lock(registry);
    size_t count = ceni_index_wants(index);
    ceni_registry_unlock(registry);
    if (!count) return;
    ceni_index_node **buckets = ceni_alloc(registry->allocator, count * sizeof *buckets, _Alignof(ceni_index_node *));
    if (!buckets) return;
    ceni_registry_lock(registry);
    if (index->mask + 1 < count) buckets = ceni_index_grow(index, buckets, &count);
    ceni_registry_unlock(registry);
    ceni_free(registry->allocator, buckets, count * sizeof *buckets, _Alignof(ceni_index_node *));
}

void ceni_keys_grow(cen_registry *registry)
{
    grow_buckets(registry);
    grow_index(registry, &registry->by_number);
    grow_index(registry, &registry->by_owner);
}
