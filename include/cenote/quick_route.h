/* SPDX-License-Identifier: MIT */
/*
 * Picks without a call: peek, route and done compiled into the program, for
 * those who count nanoseconds. libcenote-route.
 *
 * The functions of router.h are calls into a shared library, each of which costs about as much as
 * the pick itself. These do the same inline for routers whose strategy is random,
 * round robin by thread or two choices, and call the others for all that is not usual:
 * another strategy, a limit, a member that is to end, nobody up.
 *
 *     static _Thread_local cen_picker picker;              one for each thread and router
 *     cen_picker_init(&picker);
 *
 *     cen_quick_read_begin();
 *     if (cen_quick_peek(router, &picker, &member) == CEN_OK) use(cen_member_value(member));
 *     cen_quick_read_end();
 *
 * The price: the program includes liburcu's header and links liburcu-bp, and what is
 * inlined knows how the library's own structs look. cen_picker_init says INVALID if the library
 * that was loaded has others than the header that was compiled: build it again then.
 *
 * Threads: a picker belongs to its thread. All else is as in router.h.
 */
#ifndef CENOTE_QUICK_ROUTE_H
#define CENOTE_QUICK_ROUTE_H

#ifndef _LGPL_SOURCE
#define _LGPL_SOURCE /* liburcu's short functions, which it offers to everybody, inline */
#endif
/* Its record of a reader is declared with more alignment than it has: that alone is not checked, in builds that check. */
#if defined __clang__ && !defined _URCU_BP_H
#pragma clang attribute push(__attribute__((no_sanitize("alignment"))), apply_to = function)
#include <urcu/urcu-bp.h>
#pragma clang attribute pop
#else
#include <urcu/urcu-bp.h>
#endif

#include <cenote/router.h>
#include <cenote/router_layout.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cen_picker {
    uint64_t random_;
    uint32_t turn_;
    uint32_t stripe_;
} cen_picker;

/* Errors: INVALID (NULL, or the library is of another make than this header). */
static inline cen_status cen_picker_init(cen_picker *picker)
{
    if (!picker || cen_router_layout_() != CEN_ROUTER_LAYOUT_) return CEN_INVALID;
    picker->random_ = cen_router_random_() | 1;
    picker->turn_ = (uint32_t)(picker->random_ >> 40);
    picker->stripe_ = cen_router_stripe_();
    return CEN_OK;
}

static inline void cen_quick_read_begin(void)
{
    _urcu_bp_read_lock();
}

static inline void cen_quick_read_end(void)
{
    _urcu_bp_read_unlock();
}

static inline uint64_t cen_quick_random_(cen_picker *picker)
{
    uint64_t x = picker->random_ += UINT64_C(0x9E3779B97F4A7C16);
    x ^= x >> 32;
    x *= UINT64_C(0xD6E8FEB86659FD93);
    return x ^ x >> 32;
}

/* Of a member without a limit, as all are that a route takes inline. */
static inline uint64_t cen_quick_load_(const cen_member *member, uint32_t index)
{
    cen_stripe_ *stripe = cen_stripe_of_(member, index);
    uint64_t own = CEN_IN_FLIGHT_(CEN_LOAD_(&stripe->word, relaxed, RELAXED));
    return own + CEN_LOAD_(&stripe->others, relaxed, RELAXED);
}

/* The less used of two at random. */
static inline cen_member *cen_quick_two_(const cen_router_hot_ *hot, const cen_set *set, cen_picker *picker)
{
    uint64_t random = cen_quick_random_(picker);
    uint32_t first = (uint32_t)((random >> 32) * set->count >> 32);
    uint32_t other = first + 1 + (uint32_t)((random & UINT32_MAX) * (set->count - 1) >> 32);
    if (other >= set->count) other -= set->count;
    cen_member *one = CEN_LOAD_(&set->at_[first], acquire, ACQUIRE), *two = CEN_LOAD_(&set->at_[other], acquire, ACQUIRE);
    uint32_t index = picker->stripe_ & hot->mask;
    int second = cen_quick_load_(two, index) < cen_quick_load_(one, index);
    if (CEN_LOOK_AGAIN_(random)) cen_member_look_at_others_(second ? one : two, index);
    return second ? two : one;
}

/* The strategy's pick; the set is not empty, and the strategy is one of the three. */
static inline cen_member *cen_quick_pick_(const cen_router_hot_ *hot, uint32_t quick, const cen_set *set, cen_picker *picker)
{
    uint32_t index;
    if (quick == CEN_QUICK_TWO_ && set->count > 1) return cen_quick_two_(hot, set, picker);
    if (quick == CEN_QUICK_ROUND_) {
        index = picker->turn_;
        if (index >= set->count) index %= set->count;
        picker->turn_ = index + 1;
    } else {
        index = (uint32_t)((cen_quick_random_(picker) >> 32) * set->count >> 32);
    }
    return CEN_LOAD_(&set->at_[index], acquire, ACQUIRE);
}

/* As cen_router_peek, without a wish. In a section. */
static inline cen_status cen_quick_peek(cen_router *router, cen_picker *picker, cen_member **out)
{
    cen_router_hot_ *hot = (cen_router_hot_ *)(void *)router;
    const cen_set *set = CEN_LOAD_(&hot->set, acquire, ACQUIRE);
    uint32_t quick = CEN_LOAD_(&hot->quick, relaxed, RELAXED);
    if (quick == CEN_QUICK_NONE_ || set->count == 0 || CEN_LOAD_(hot->process, relaxed, RELAXED) != hot->epoch)
        return cen_router_peek(router, NULL, out);
    *out = cen_quick_pick_(hot, quick, set, picker);
    return CEN_OK;
}

/* As cen_router_route, without a wish and with CEN_NOW. */
static inline cen_status cen_quick_route(cen_router *router, cen_picker *picker, cen_route *out)
{
    cen_router_hot_ *hot = (cen_router_hot_ *)(void *)router;
    _urcu_bp_read_lock();
    const cen_set *set = CEN_LOAD_(&hot->set, acquire, ACQUIRE);
    uint32_t quick = CEN_LOAD_(&hot->quick, relaxed, RELAXED);
    if (quick != CEN_QUICK_NONE_ && !hot->clocked && set->count > 0 && CEN_LOAD_(&hot->waiting, relaxed, RELAXED) == 0 &&
        CEN_LOAD_(hot->process, relaxed, RELAXED) == hot->epoch) {
        cen_member *member = cen_quick_pick_(hot, quick, set, picker);
        uint32_t index = picker->stripe_ & hot->mask;
        cen_stripe_ *stripe = cen_stripe_of_(member, index);
        if (!stripe->limited && !stripe->targeted) {
            out->member = member;
            out->value = stripe->value;
            out->begun_ = 0;
            out->stripe_ = index;
            out->life_ = CEN_LOAD_(&stripe->life, acquire, ACQUIRE);
            uint64_t before = CEN_ADD_(&stripe->word, CEN_USE_BEGINS_, relaxed, RELAXED);
            if (hot->loaded && CEN_LOOK_NOW_(before)) cen_member_look_at_others_(member, index);
            _urcu_bp_read_unlock();
            return CEN_OK;
        }
    }
    _urcu_bp_read_unlock();
    return cen_router_route(router, NULL, CEN_NOW, out, NULL);
}

/* As cen_route_done of a use that went well. */
static inline cen_status cen_quick_done(cen_route *route)
{
    if (!route->member) return CEN_STALE;
    cen_stripe_ *stripe = cen_stripe_of_(route->member, route->stripe_);
    cen_router_hot_ *hot = (cen_router_hot_ *)(void *)stripe->router;
    if (stripe->limited || hot->judged || CEN_LOAD_(hot->process, relaxed, RELAXED) != hot->epoch)
        return cen_route_done(route, CEN_OUTCOME_OK, 0);
    int down = CEN_LOAD_(&stripe->life, acquire, ACQUIRE) != route->life_ || !CEN_IS_ALIVE_(route->life_);
    /* The last touch, unless it was the last use of all: nothing of the member may be there any more. */
    uint64_t before = CEN_SUB_(&stripe->word, 1, seq_cst, SEQ_CST);
    if (CEN_WAS_LAST_(before)) cen_member_use_ended_(route->member);
    route->member = NULL;
    return down ? CEN_DOWN : CEN_OK;
}

#ifdef __cplusplus
}
#endif
#endif
