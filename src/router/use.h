/* SPDX-License-Identifier: MIT */
/* The counts of a member's uses: the fast paths. use.c has the rest, and the order table. */
#ifndef CENI_ROUTER_USE_H
#define CENI_ROUTER_USE_H

#include "base/plant.h"
#include "router/internal.h"
#include "sync/backoff.h"

typedef enum ceni_begun {
    CENI_NOT_BEGUN = 0, /* the member is full, or has had max_uses */
    CENI_BEGUN,
    CENI_BEGUN_LAST, /* and it was the last of max_uses: the member must drain */
} ceni_begun;

ceni_begun ceni_use_begin_limited(ceni_member *member);

/* Undo a use that was one more than the stripe can count: it has not begun. */
ceni_begun ceni_use_take_back(cen_stripe_ *stripe);

/* The sums over all stripes; exact when no use begins or ends. */
uint64_t ceni_member_in_flight(const ceni_member *member);
uint64_t ceni_member_uses(const ceni_member *member);

/* Uses in flight, as far as this thread knows; strategy.h says how far that is. */
static inline uint64_t ceni_member_load(cen_member *cell)
{
    cen_stripe_ *stripe = cen_stripe_of_(cell, ceni_route_stripe());
    uint64_t others = ceni_load_relaxed(&stripe->others); /* an estimate; carries nothing */
    if (__builtin_expect(others == CEN_COUNTED_FIRST_, 0))
        return CEN_IN_FLIGHT_(ceni_load_relaxed(&cell->first.word));  /* the same; carries nothing */
    return CEN_IN_FLIGHT_(ceni_load_relaxed(&stripe->word)) + others; /* an estimate, too; carries nothing */
}

/* Whether other threads had uses of it in flight when this thread last looked. */
static inline bool ceni_use_knows_of_others(cen_member *cell)
{
    /* an estimate; carries nothing */
    return ceni_load_relaxed(&cen_stripe_of_(cell, ceni_route_stripe())->others) != 0;
}

/* Now and then, read the other threads' uses of it again. */
static inline void ceni_use_look_now_and_then(cen_member *cell, uint64_t random)
{
    if (__builtin_expect(CEN_LOOK_AGAIN_(random), 0) && !ceni_planted(load_is_never_renewed))
        cen_member_look_at_others_(cell, ceni_route_stripe());
}

/* Begin a use, if the member has room. Called in the section in which the member was picked, or under the lock.
 * `limits` is the router's, read after the set. Without a limit it touches one cache line of the member. */
static inline ceni_begun ceni_use_begin(cen_router *router, cen_member *cell, bool limits, cen_route *route)
{
    uint32_t offset = ceni_route_stripe();
    ceni_begun begun = CENI_BEGUN;
    if (__builtin_expect(limits && ceni_member_of(cell)->limited, 0)) {
        offset = 0;
        begun = ceni_use_begin_limited(ceni_member_of(cell));
        if (begun == CENI_NOT_BEGUN) return begun;
    }
    cen_stripe_ *stripe = cen_stripe_of_(cell, offset);
    route->member = cell;
    route->value = stripe->value;
    route->tag_ = CEN_ROUTE_TAG_(ceni_setting(&stripe->life), offset);
    if (__builtin_expect(offset != 0, 1)) {
        /* A sum that decides is taken after a grace period (I2); carries nothing. */
        uint64_t before = ceni_add_relaxed(&stripe->word, CEN_USE_BEGINS_);
        if (__builtin_expect(CEN_TOO_MANY_(before) && !ceni_planted(use_beyond_count), 0))
            return ceni_use_take_back(stripe);
        if (router->loaded && CEN_LOOK_NOW_(before)) cen_member_look_at_others_(cell, offset);
    }
    route->begun_ = __builtin_expect(router->clocked, 0) ? ceni_runtime_now(router->runtime) : 0;
    return begun;
}

#endif
