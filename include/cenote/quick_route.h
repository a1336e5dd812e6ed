/* SPDX-License-Identifier: MIT */
/*
 * Inline picks: peek, route and done of a router, compiled into the program. libcenote-route.
 *
 * The functions of router.h are calls into a shared library. Each call costs about as much as the pick itself. The
 * functions of this header do the same inline if the router's strategy is random, round robin by thread, or two
 * choices. They call the functions of router.h in all other cases: another strategy, a member with a limit or a target,
 * a router that measures latency, no member that is up, or a forked child. Picks are inline for about five hundred
 * routers at a time. For any further routers, picks are calls.
 *
 *     static _Thread_local cen_picker picker;              // one for each thread and router
 *     cen_picker_init(&picker);
 *
 *     cen_quick_read_begin();
 *     if (cen_quick_peek(router, &picker, &member) == CEN_OK) use(cen_member_value(member));
 *     cen_quick_read_end();
 *
 * Cost: the program includes liburcu's header and links liburcu-bp. The inline code depends on the layout of the
 * library's structs. cen_picker_init returns INVALID if the loaded library has a different layout from this header. In
 * that case, compile the program again.
 *
 * Threads: a picker belongs to its thread. For everything else, see router.h.
 */
#ifndef CENOTE_QUICK_ROUTE_H
#define CENOTE_QUICK_ROUTE_H

#ifndef _LGPL_SOURCE
#define _LGPL_SOURCE /* liburcu offers its short functions inline to any program */
#endif
/* liburcu declares a larger alignment for its reader record than the record actually has. Sanitizer builds do not check
 * that alignment. */
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

/* Per-thread state for inline picks. A thread needs one for each router it picks from. */
typedef struct cen_picker {
    uint64_t random_;
    uint32_t turn_;
    uint32_t stripe_; /* the offset of the thread's stripe */
} cen_picker;

/* Initialise a picker.
 * Returns:
 *   OK
 *   INVALID  picker is NULL, or the loaded library has a different layout from this header
 */
static inline cen_status cen_picker_init(cen_picker *picker)
{
    if (!picker || cen_router_layout_() != CEN_ROUTER_LAYOUT_) return CEN_INVALID;
    picker->random_ = cen_router_random_() | 1;
    picker->turn_ = (uint32_t)(picker->random_ >> 40);
    picker->stripe_ = cen_router_stripe_();
    return CEN_OK;
}

/* ThreadSanitizer does not see that a section ends before the grace period does. The library's functions make this
 * visible to it. */
#if defined __SANITIZE_THREAD__
#define CEN_READ_BY_CALL_ 1
#elif defined __has_feature
#if __has_feature(thread_sanitizer)
#define CEN_READ_BY_CALL_ 1
#endif
#endif

/* Begin a read section, as cen_read_begin does. */
static inline void cen_quick_read_begin(void)
{
#ifdef CEN_READ_BY_CALL_
    cen_read_begin();
#else
    _urcu_bp_read_lock();
#endif
}

/* End a read section, as cen_read_end does. */
static inline void cen_quick_read_end(void)
{
#ifdef CEN_READ_BY_CALL_
    cen_read_end();
#else
    _urcu_bp_read_unlock();
#endif
}

/* Return 64 random bits. The upper half is good enough for one choice; cen_quick_two_ needs both halves. */
static inline uint64_t cen_quick_random_(cen_picker *picker)
{
    uint64_t x = picker->random_ += UINT64_C(0x9E3779B97F4A7C16);
    x ^= x >> 32;
    return x * UINT64_C(0xD6E8FEB86659FD93);
}

/* Return the uses in flight of a member without a limit. No member that is picked inline has a limit. */
static inline uint64_t cen_quick_load_(const cen_member *member, uint32_t offset)
{
    cen_stripe_ *stripe = cen_stripe_of_(member, offset);
    uint64_t own = CEN_IN_FLIGHT_(CEN_LOAD_(&stripe->word, relaxed, RELAXED));
    return own + CEN_LOAD_(&stripe->others, relaxed, RELAXED);
}

/* Return the less used of two members chosen at random. */
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

/* Return the strategy's pick from a set that the router's door contained (router_layout.h). */
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

/* Pick a member as cen_router_peek does, without a cen_route_hint. Call it in a read section.
 * Returns:
 *   OK
 *   others  as cen_router_peek
 */
static inline cen_status cen_quick_peek(cen_router *router, cen_picker *picker, cen_member **out)
{
    const cen_member_set *set = cen_set_at_door_(router);
    if (__builtin_expect(!set, 0)) return cen_router_peek(router, NULL, out);
    *out = cen_quick_pick_(set, picker);
    return CEN_OK;
}

/* Pick a member and begin a use as cen_router_route does, without a cen_route_hint and with CEN_NOW.
 * Returns:
 *   OK
 *   others  as cen_router_route
 */
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
    /* The addition below waits for all stores before it, and so does the subtraction in done. So the stores are divided
     * between the two. */
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

/* End a use that succeeded, as cen_route_done does with CEN_OUTCOME_OK.
 * Returns:
 *   OK
 *   DOWN    the use has ended, and the member has gone down since the use began
 *   STALE   the route is already done
 *   others  as cen_route_done
 */
static inline cen_status cen_quick_done(cen_route *route)
{
    cen_member *member = route->member;
    uint64_t tag = route->tag_;
    if (__builtin_expect(!member, 0)) return CEN_STALE;
    cen_stripe_ *stripe = cen_stripe_of_(member, CEN_TAG_OFFSET_(tag));
    if (__builtin_expect(CEN_LOAD_(stripe->door, relaxed, RELAXED) == 0, 0))
        return cen_route_done(route, CEN_OUTCOME_OK, 0);
    int down = CEN_LOAD_(&stripe->life, acquire, ACQUIRE) != CEN_TAG_LIFE_(tag);
    /* The last access to the member, unless this was its last use: its memory may be freed after this. */
    uint64_t before = CEN_SUB_(&stripe->word, 1, seq_cst, SEQ_CST);
    if (__builtin_expect(CEN_WAS_LAST_(before), 0)) cen_member_use_ended_(member);
    route->member = NULL;
    return down ? CEN_DOWN : CEN_OK;
}

#ifdef __cplusplus
}
#endif
#endif
