/* SPDX-License-Identifier: MIT */
/* Sets of members; set.c publishes them. All under the router's lock, except ceni_set_at. */
#ifndef CENI_ROUTER_SET_H
#define CENI_ROUTER_SET_H

#include "base/plant.h"
#include "router/internal.h"

/* Members that join from here to ceni_set_gathered_locked, at most `most`, are published together then, and joining
 * does not fail. The lock must be held all the time, and no member may leave. False: out of memory, and nothing is
 * gathered. */
bool ceni_set_gather_locked(cen_router *router, uint32_t most);
void ceni_set_gathered_locked(cen_router *router);

/* Reserve memory for the sets that the lock's holder publishes. The allocator is called with no lock held.
 *
 *     lock ▶ reserve, which may drop the lock meanwhile: check after it ▶ join or leave ▶ unlock_reserved
 *
 * The memory is enough for one set of the present members and `more`. Without memory, and where nothing was reserved, a
 * joining member is refused and a leaving one is replaced in place. ceni_set_tidy replaces such a set, with no lock
 * held, before the call returns. A caller of any of these has a hand on the router. */
void ceni_set_reserve_locked(cen_router *router, int64_t more);
void ceni_router_unlock_reserved(cen_router *router);
void ceni_set_tidy(cen_router *router);

/* Add the member to the set. NO_MEMORY: nothing changed. */
cen_status ceni_set_join_locked(cen_router *router, ceni_member *member);

/* Take the member out of the set. Never fails. Does nothing if it is not in the set. */
void ceni_set_leave_locked(cen_router *router, ceni_member *member);
/* The same for several members, in one change. */
void ceni_set_leave_together_locked(cen_router *router, cen_member *const *members, size_t count);

void ceni_set_publish_locked(cen_router *router, ceni_set *set);

/* A member with a limit or a target is about to be added: no set made from now on has an inline pick. */
void ceni_set_limits_locked(cen_router *router);

static inline ceni_set *ceni_set_of(const cen_member_set *seen)
{
    return (ceni_set *)(void *)((char *)(uintptr_t)seen - offsetof(ceni_set, seen));
}

static inline ceni_set *ceni_set_locked(const cen_router *router)
{
    /* under the lock; carries nothing */
    return ceni_set_of(ceni_load_relaxed(&((cen_router *)(uintptr_t)router)->set));
}

/* The member at an index, for strategies. It was published with the set, or by the store that replaced another. An
 * order that depends on the address loaded with the set would be enough. C11 has no such order, so this is an acquire,
 * which is free on the platforms where it matters. */
static inline cen_member *ceni_set_at(const cen_member_set *seen, uint32_t index)
{
    return ceni_setting(&((cen_member_set *)(uintptr_t)seen)->at_[index]);
}

/* The picks of the two strategies that share nothing: random.c and round_robin.c. */
static inline cen_member *ceni_pick_random(const cen_member_set *set)
{
    if (ceni_planted(random_leans) && ceni_route_below(100) == 0) return ceni_set_at(set, 0);
    return ceni_set_at(set, ceni_route_below(set->count));
}

static inline cen_member *ceni_pick_round(void *state, const cen_member_set *set)
{
    uint64_t *turn = ceni_route_turn(ceni_planted(turns_are_mixed_up) ? 1 : (uint64_t)(uintptr_t)state);
    uint32_t place = (uint32_t)*turn;
    if (__builtin_expect(place >= set->count, 0)) place %= set->count;
    *turn = place + 1 == set->count ? 0 : place + 1;
    return ceni_set_at(set, place);
}

#endif
