/* SPDX-License-Identifier: MIT */
/*
 * Sets: the members that may be picked, as one array that never changes.
 *
 * A change copies the array and publishes the copy. The old array is freed when no section can see it. A change costs
 * the length of the array, and a pick costs nothing. Members that come up together are gathered in one copy, which is
 * published once, and members that leave together leave by one copy. The lock is held all the while, so no thread sees
 * half of it.
 *
 * Only a joining member may be refused for lack of memory. A leaving member cannot be refused: without memory for a new
 * array another member takes its place in the old one, and is in it twice until the next change. The last one to leave
 * leaves the empty set, which is part of the router.
 *
 * The allocator is the program's and is called with no lock held. So a change reserves the memory first. A member that
 * leaves because of its last use does so under a lock that was taken for something else. It is replaced in place, and
 * the set is replaced after the lock is dropped (ceni_set_tidy).
 *
 * A set is published twice: for the library's functions, and, if its members can be picked inline (I8), at the router's
 * door. A thread that still finds the older one there is in the position of one that came a moment earlier.
 *
 * Order table
 * [S1] publish, store  | store | release | O1 in route.c, load | the array, its table, and the members' fields | a pick reads an array that is not filled in
 * [S2] replace, store  | store | release | ceni_set_at, a setting | the fields of the member that takes the place | a pick has a half-initialised member
 * [S3] publish, door   | store | release | cen_set_at_door_, load | the same as S1 | the same, inline
 */
#include "base/alloc.h"
#include "base/plant.h"
#include "router/set.h"

enum { TABLE_ALIGN = 16 };

static size_t table_at(uint32_t count)
{
    size_t bytes = offsetof(ceni_set, seen.at_) + count * sizeof(_Atomic(cen_member *));
    return (bytes + TABLE_ALIGN - 1) & ~(size_t)(TABLE_ALIGN - 1);
}

static size_t bytes_of(const cen_router *router, uint32_t count)
{
    const cen_strategy_type *type = router->type;
    return table_at(count) + (type->table_size ? type->table_size(router->state, count) : 0);
}

static void free_set(ceni_set *set)
{
    if (set) ceni_free(set->allocator, set, set->bytes, CENI_CACHE_LINE);
}

/* A set in the reserved memory; NULL: that is not enough. */
static ceni_set *make(cen_router *router, uint32_t count)
{
    ceni_set *set = router->spare;
    if (!set || set->bytes < bytes_of(router, count)) return NULL;
    router->spare = NULL;
    set->seen.count = count;
    set->seen.quick_ = ceni_setting(&router->quick);
    set->seen.table = (const char *)set + table_at(count);
    return set;
}

/* Clear an unused set, and make it the reserve again. */
static void unmake(cen_router *router, ceni_set *set)
{
    memset(&set->seen, 0, set->bytes - offsetof(ceni_set, seen));
    router->spare = set;
}

void ceni_set_reserve_locked(cen_router *router, int64_t more)
{
    for (;;) {
        int64_t count = (int64_t)router->in_set + more;
        if (count <= 0 || count > UINT32_MAX) return;
        size_t bytes = bytes_of(router, (uint32_t)count);
        ceni_set *made = router->spare;
        if (made && made->bytes >= bytes) return;
        router->spare = NULL;
        ceni_router_unlock(router);
        free_set(made);
        made = ceni_alloc(router->allocator, bytes, CENI_CACHE_LINE);
        if (made) made->allocator = router->allocator, made->bytes = bytes;
        ceni_router_lock(router);
        router->spare = made;
        if (!made) return;
    }
}

void ceni_router_unlock_reserved(cen_router *router)
{
    ceni_set *unused = router->spare;
    router->spare = NULL;
    ceni_router_unlock(router);
    free_set(unused);
}

static void release(ceni_retired *retired)
{
    ceni_set *set = CENI_LIST_ENTRY(retired, ceni_set, retired);
    free_set(set);
}

static void put(ceni_set *set, uint32_t index, ceni_member *member)
{
    /* published with the set, and read by arrange as a setting */
    ceni_setting_put(&set->seen.at_[index], member->cell);
    member->index = index;
}

static ceni_member *get(const ceni_set *set, uint32_t index)
{
    /* under the lock; carries nothing */
    return ceni_member_of(ceni_load_relaxed(&((ceni_set *)(uintptr_t)set)->seen.at_[index]));
}

void ceni_set_publish_locked(cen_router *router, ceni_set *set)
{
    ceni_set *old = ceni_set_locked(router);
    if (set != &router->none && router->type->arrange)
        router->type->arrange(router->state, &set->seen, (char *)set + table_at(set->seen.count));
    ceni_store_release(&router->set, &set->seen); /* [S1] */
    uint64_t at_door = set->seen.quick_ != CEN_QUICK_NONE_ ? (uint64_t)(uintptr_t)&set->seen : 0;
    if (router->door != &router->shut) ceni_store_release(router->door, at_door); /* [S3] */
    router->changes++;
    if (old == &router->none) return;
    if (ceni_planted(set_freed_at_once)) release(&old->retired);
    else ceni_bin_put(&router->bin, &old->retired, release, old->bytes, false);
}

void ceni_set_limits_locked(cen_router *router)
{
    ceni_setting_put(&router->limits, 1u);
    if (!ceni_planted(door_stays_open)) ceni_setting_put(&router->quick, (uint32_t)CEN_QUICK_NONE_);
}

/* Copy the members of the old set when all of them stay. Each has its index already, so no member's fields are touched:
 * with many members that would be most of the cost of adding one. */
static uint32_t copy(ceni_set *set, const ceni_set *old)
{
    cen_member_set *from = (cen_member_set *)(uintptr_t)&old->seen;
    for (uint32_t i = 0; i < old->seen.count; i++)
        ceni_setting_put(&set->seen.at_[i], ceni_load_relaxed(&from->at_[i])); /* under the lock; carries nothing */
    return old->seen.count;
}

/* Copy the members that are in the set into one that has room for them; all of the old one if `all_stay`. A member that
 * is in the old array twice, having replaced another, counts at its own index. */
static uint32_t fill(cen_router *router, ceni_set *set, bool all_stay)
{
    const ceni_set *old = ceni_set_locked(router);
    uint32_t count = 0;
    if (!ceni_setting(&router->patched) && all_stay) return copy(set, old);
    for (uint32_t i = 0; i < old->seen.count; i++) {
        ceni_member *member = get(old, i);
        if (member->in_set && member->index == i) put(set, count++, member);
    }
    ceni_setting_put(&router->patched, 0u);
    return count;
}

bool ceni_set_gather_locked(cen_router *router, uint32_t most)
{
    if (most > UINT32_MAX - router->in_set) return false;
    router->gathering = make(router, router->in_set + most);
    if (router->gathering) fill(router, router->gathering, true);
    return router->gathering != NULL;
}

void ceni_set_gathered_locked(cen_router *router)
{
    ceni_set *set = router->gathering;
    router->gathering = NULL;
    /* Fewer may have joined than there is room for. Then the table begins earlier, where nothing has been written. */
    set->seen.count = router->in_set;
    set->seen.table = (const char *)set + table_at(router->in_set);
    if (router->in_set > 0) ceni_set_publish_locked(router, set);
    else unmake(router, set);
}

cen_status ceni_set_join_locked(cen_router *router, ceni_member *member)
{
    bool alone = !router->gathering;
    if (alone && !ceni_set_gather_locked(router, 1)) return CEN_NO_MEMORY;
    put(router->gathering, router->in_set++, member);
    member->in_set = true;
    if (router->type->joined) router->type->joined(router->state, member->cell);
    if (alone) {
        ceni_set_gathered_locked(router);
    } else if (ceni_planted(gathered_seen_by_halves)) {
        router->gathering->seen.count = router->in_set;
        ceni_store_release(&router->set, &router->gathering->seen); /* [S1] */
    }
    return CEN_OK;
}

/* Without memory for another array: a member that stays takes each place of members that have left. */
static void replace(cen_router *router)
{
    ceni_set *set = ceni_set_locked(router);
    cen_member *other = NULL;
    for (uint32_t i = 0; i < set->seen.count && !other; i++)
        if (get(set, i)->in_set || ceni_planted(left_replaced_by_the_next)) other = get(set, i)->cell;
    for (uint32_t i = 0; i < set->seen.count; i++)
        if (!get(set, i)->in_set) ceni_store_release(&set->seen.at_[i], other); /* [S2] */
    ceni_setting_put(&router->patched, 1u);
}

/* False: it was not in the set. */
static bool take_out(cen_router *router, ceni_member *member)
{
    if (!member->in_set) return false;
    member->in_set = false;
    router->in_set--;
    if (router->type->left) router->type->left(router->state, member->cell);
    return true;
}

/* Publish a set without the members that were taken out. */
static void shrink(cen_router *router)
{
    if (ceni_planted(down_stays_in_set)) return;
    if (router->in_set == 0) {
        ceni_setting_put(&router->patched, 0u);
        ceni_set_publish_locked(router, &router->none);
        return;
    }
    ceni_set *set = make(router, router->in_set);
    if (!set) {
        replace(router);
        return;
    }
    /* The others keep their order, so that a round robin goes on where it was. */
    fill(router, set, false);
    ceni_set_publish_locked(router, set);
}

void ceni_set_leave_locked(cen_router *router, ceni_member *member)
{
    if (take_out(router, member)) shrink(router);
}

void ceni_set_leave_together_locked(cen_router *router, cen_member *const *members, size_t count)
{
    size_t left = 0;
    for (size_t i = 0; i < count; i++) left += take_out(router, ceni_member_of(members[i]));
    if (left > 0) shrink(router);
}

void ceni_set_tidy(cen_router *router)
{
    if (!ceni_setting(&router->patched)) return;
    ceni_router_lock(router);
    ceni_set_reserve_locked(router, 0);
    bool is_wanted = ceni_setting(&router->patched) && router->in_set > 0;
    ceni_set *set = is_wanted ? make(router, router->in_set) : NULL;
    if (set) {
        fill(router, set, false);
        ceni_set_publish_locked(router, set);
    }
    ceni_router_unlock_reserved(router);
}

cen_member *cen_member_set_at(const cen_member_set *set, uint32_t index)
{
    return ceni_set_at(set, index);
}
