/* SPDX-License-Identifier: MIT */
/* The count of a member's uses, where every route passes; use.c has the rest, and the order. */
#ifndef CENI_ROUTER_USE_H
#define CENI_ROUTER_USE_H

#include "base/plant.h"
#include "router/inside.h"
#include "sync/backoff.h"

typedef enum ceni_begun {
    CENI_NOT_BEGUN = 0, /* it is full, or used up */
    CENI_BEGUN,
    CENI_BEGUN_LAST, /* and that was its last: it is to drain */
} ceni_begun;

ceni_begun ceni_use_begin_limited(cen_member *member);

/* The sums over all stripes; exact when no use begins or ends. */
uint64_t ceni_member_in_flight(const cen_member *member);
uint64_t ceni_member_uses(const cen_member *member);
uint64_t ceni_member_failed(const cen_member *member);

/* Uses in flight, as far as this thread knows; strategy.h says how far that is. */
static inline uint64_t ceni_member_load(cen_member *member)
{
    cen_stripe_ *stripe = &member->stripes[ceni_route_stripe() & member->mask];
    /* Estimates, of whatever moment; carries nothing. */
    return CEN_IN_FLIGHT_(ceni_load_relaxed(&stripe->word)) + ceni_load_relaxed(&stripe->others);
}

/* Looks at the others' uses of it again, now and then. */
static inline void ceni_use_look_now_and_then(cen_member *member, uint64_t random)
{
    if (__builtin_expect(CEN_LOOK_AGAIN_(random), 0) && !ceni_planted(load_is_never_renewed))
        cen_member_look_at_others_(member, ceni_route_stripe() & member->mask);
}

/* Begins a use, if the member has room. Within a section in which it was picked from the set, or under the lock. Without a
 * limit it touches one line of the member. */
static inline ceni_begun ceni_use_begin(cen_router *router, cen_member *member, cen_route *route)
{
    uint32_t index = ceni_route_stripe() & router->hot.mask;
    cen_stripe_ *stripe = &member->stripes[index];
    ceni_begun begun = CENI_BEGUN;
    if (__builtin_expect(stripe->limited, 0)) {
        index = 0;
        stripe = &member->stripes[0];
        begun = ceni_use_begin_limited(member);
        if (begun == CENI_NOT_BEGUN) return begun;
    }
    route->member = member;
    route->value = stripe->value;
    route->stripe_ = index;
    route->life_ = ceni_setting(&stripe->life);
    if (__builtin_expect(!stripe->limited, 1)) {
        /* Whoever sums up for good does so after a grace period (I2); carries nothing. */
        uint64_t before = ceni_add_relaxed(&stripe->word, CEN_USE_BEGINS_);
        if (router->hot.loaded && CEN_LOOK_NOW_(before)) cen_member_look_at_others_(member, index);
    }
    route->begun_ = __builtin_expect(router->hot.clocked, 0) ? ceni_runtime_now(router->runtime) : 0;
    return begun;
}

#endif
