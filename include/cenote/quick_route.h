/* SPDX-License-Identifier: MIT */
/*
 * Picks without a call: peek, route and done compiled into the program, for
 * those who count nanoseconds. libcenote-route.
 *
 * The functions of router.h are calls into a shared library, each of which costs about as much as
 * the pick itself. These do the same inline for routers whose strategy is random,
 * round robin by thread or two choices, and call the others for all that is not usual:
 * another strategy, a member with a limit or a target, a router that measures, nobody up,
 * a forked child. Of some five hundred routers at a time the picks are inline; of more than that they are calls.
 *
 *     static _Thread_local cen_picker picker;              // one for each thread and router
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
    uint32_t stripe_; /* its offset */
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

/* ThreadSanitizer cannot see how a section is ordered before the end of a grace period; the library tells it. */
#if defined __SANITIZE_THREAD__
#define CEN_READ_BY_CALL_ 1
#elif defined __has_feature
#if __has_feature(thread_sanitizer)
#define CEN_READ_BY_CALL_ 1
#endif
#endif

static inline void cen_quick_read_begin(void)
{
#ifdef CEN_READ_BY_CALL_
    cen_read_begin();
#else
    _urcu_bp_read_lock();
#endif
}

static inline void cen_quick_read_end(void)
{
#ifdef CEN_READ_BY_CALL_
    cen_read_end();
#else
    _urcu_bp_read_unlock();
#endif
}

/* 64 bits, of which the upper half is good enough for one choice; cen_quick_two_ needs both. */
static inline uint64_t cen_quick_random_(cen_picker *picker)
{
    uint64_t x = picker->random_ += UINT64_C(0x9E3779B97F4A7C16);
    x ^= x >> 32;
    return x * UINT64_C(0xD6E8FEB86659FD93);
}

/* Of a member without a limit, as all are that a route takes inline. */
static inline uint64_t cen_quick_load_(const cen_member *member, uint32_t offset)
{
    cen_stripe_ *stripe = cen_stripe_of_(member, offset);
    uint64_t own = CEN_IN_FLIGHT_(CEN_LOAD_(&stripe->word, relaxed, RELAXED));
    return own + CEN_LOAD_(&stripe->others, relaxed, RELAXED);
}

/* The less used of two at random. */
static inline cen_member *cen_quick_two_(const cen_member_set *set, cen_picker *picker)
{
    uint64_t random = cen_quick_random_(picker);
    random ^= random >> 32;
    uint32_t first = (uint32_t)((random >> 32) * set->count >> 32);
    uint32_t other = first + 1 + (uint32_t)((random & UINT32_MAX) * (set->count - 1) >> 32);
    if (other >= set->count) other -= set->count;
    cen_member *one = CEN_LOAD_(&set->at_[first], acquire, ACQUIRE),
               *two = CEN_LOAD_(&set->at_[other], acquire, ACQUIRE);
    int second = cen_quick_load_(two, picker->stripe_) < cen_quick_load_(one, picker->stripe_);
    if (__builtin_expect(CEN_LOOK_AGAIN_(random), 0)) {
        cen_member *loser = second ? one : two;
        if (CEN_LOAD_(&cen_stripe_of_(loser, picker->stripe_)->others, relaxed, RELAXED) != 0)
            cen_member_look_at_others_(loser, picker->stripe_);
    }
    return second ? two : one;
}

/* The strategy's pick from a set that stood at the door. */
static inline cen_member *cen_quick_pick_(const cen_member_set *set, cen_picker *picker)
{
    uint32_t index = 0;
    if (set->quick_ == CEN_QUICK_RANDOM_) {
        index = (uint32_t)((cen_quick_random_(picker) >> 32) * set->count >> 32);
    } else if (set->quick_ == CEN_QUICK_ROUND_) {
        index = picker->turn_;
        if (__builtin_expect(index >= set->count, 0)) index %= set->count;
        picker->turn_ = index + 1;
    } else if (set->count > 1) {
        return cen_quick_two_(set, picker);
    }
    return CEN_LOAD_(&set->at_[index], acquire, ACQUIRE);
}

/* As cen_router_peek, without a wish. In a section. */
static inline cen_status cen_quick_peek(cen_router *router, cen_picker *picker, cen_member **out)
{
    const cen_member_set *set = cen_set_at_door_(router);
    if (__builtin_expect(!set, 0)) return cen_router_peek(router, NULL, out);
    *out = cen_quick_pick_(set, picker);
    return CEN_OK;
}

/* As cen_router_route, without a wish and with CEN_NOW. */
static inline cen_status cen_quick_route(cen_router *router, cen_picker *picker, cen_route *out)
{
    cen_quick_read_begin();
    const cen_member_set *set = cen_set_at_door_(router);
    if (__builtin_expect(!set, 0)) {
        cen_quick_read_end();
        return cen_router_route(router, NULL, CEN_NOW, out, NULL);
    }
    cen_member *member = cen_quick_pick_(set, picker);
    uint32_t offset = picker->stripe_;
    cen_stripe_ *stripe = cen_stripe_of_(member, offset);
    uint32_t life = CEN_LOAD_(&stripe->life, acquire, ACQUIRE);
    /* The addition waits for all stores before it, and so does that of done: each has its half of them. */
    out->value = stripe->value;
    uint64_t before = CEN_ADD_(&stripe->word, CEN_USE_BEGINS_, relaxed, RELAXED);
    if (__builtin_expect(CEN_TOO_MANY_(before), 0)) {
        CEN_SUB_(&stripe->word, CEN_USE_BEGINS_, relaxed, RELAXED);
        cen_quick_read_end();
        return cen_router_route(router, NULL, CEN_NOW, out, NULL);
    }
    if (__builtin_expect(set->quick_ == CEN_QUICK_TWO_, 0) && CEN_LOOK_NOW_(before))
        cen_member_look_at_others_(member, offset);
    out->member = member;
    out->tag_ = CEN_ROUTE_TAG_(life, offset);
    cen_quick_read_end();
    return CEN_OK;
}

/* As cen_route_done of a use that went well. */
static inline cen_status cen_quick_done(cen_route *route)
{
    cen_member *member = route->member;
    uint64_t tag = route->tag_;
    if (__builtin_expect(!member, 0)) return CEN_STALE;
    cen_stripe_ *stripe = cen_stripe_of_(member, CEN_TAG_OFFSET_(tag));
    if (__builtin_expect(CEN_LOAD_(stripe->door, relaxed, RELAXED) == 0, 0))
        return cen_route_done(route, CEN_OUTCOME_OK, 0);
    int down = CEN_LOAD_(&stripe->life, acquire, ACQUIRE) != CEN_TAG_LIFE_(tag);
    /* The last touch, unless it was the last use of all: nothing of the member may be there any more. */
    uint64_t before = CEN_SUB_(&stripe->word, 1, seq_cst, SEQ_CST);
    if (__builtin_expect(CEN_WAS_LAST_(before), 0)) cen_member_use_ended_(member);
    route->member = NULL;
    return down ? CEN_DOWN : CEN_OK;
}

#ifdef __cplusplus
}
#endif
#endif
