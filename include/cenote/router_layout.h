/* SPDX-License-Identifier: MIT */
/*
 * How a router and its members look where every pick passes. For the inline
 * functions of quick_route.h and the library itself; nobody else has business here. libcenote-route.
 */
#ifndef CENOTE_ROUTER_LAYOUT_H
#define CENOTE_ROUTER_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include <cenote/executor.h>
#include <cenote/router.h>

#ifdef __cplusplus
extern "C" {
#define CEN_LOAD_(p, order, ORDER) __atomic_load_n((p), __ATOMIC_##ORDER)
#define CEN_ADD_(p, n, order, ORDER) __atomic_fetch_add((p), (n), __ATOMIC_##ORDER)
#define CEN_SUB_(p, n, order, ORDER) __atomic_fetch_sub((p), (n), __ATOMIC_##ORDER)
#else
#include <stdatomic.h>
#define CEN_LOAD_(p, order, ORDER) atomic_load_explicit((p), memory_order_##order)
#define CEN_ADD_(p, n, order, ORDER) atomic_fetch_add_explicit((p), (n), memory_order_##order)
#define CEN_SUB_(p, n, order, ORDER) atomic_fetch_sub_explicit((p), (n), memory_order_##order)
#endif

/* Another number whenever something here changes. */
#define CEN_ROUTER_LAYOUT_ 1u

/* Strategies that are inlined. */
enum { CEN_QUICK_NONE_ = 0, CEN_QUICK_RANDOM_, CEN_QUICK_ROUND_, CEN_QUICK_TWO_ };

/* Whether the others' uses of a member are to be looked at again, by the own count before this use: a thread that has uses in
 * flight looks often, because they last; one that has none is quick, and to look makes all of them slower. */
#define CEN_LOOK_NOW_(before) \
    (((before) >> CEN_USES_SHIFT_) % (CEN_IN_FLIGHT_(before) == 0 ? 64 : 8) == 0)

/* The same for a member that was compared and not used, by a random number of which the lowest bits have not been used: without it,
 * one that is left alone because of others' uses would be so long after these have ended. */
#define CEN_LOOK_AGAIN_(random) ((random) % 64 == 0)

/* A count of uses: how many began, ever, above whether the end of the last is of interest, above how many are in flight. The
 * first is on top, where it may begin anew after 2^40 and touches nothing. */
#define CEN_USES_SHIFT_ 24
#define CEN_USE_BEGINS_ ((UINT64_C(1) << CEN_USES_SHIFT_) + 1)
#define CEN_WATCHED_ (UINT64_C(1) << (CEN_USES_SHIFT_ - 1))
#define CEN_IN_FLIGHT_(word) ((word) & (CEN_WATCHED_ - 1))
/* By the count before its end, whether a use was the last of a stripe that is watched. */
#define CEN_WAS_LAST_(before) (((before) & (2 * CEN_WATCHED_ - 1)) == CEN_WATCHED_ + 1)

/* Whether a life goes on, of a route that began in it: one who picked from an older set may begin when it is over. */
#define CEN_IS_ALIVE_(life) (((life) & 1) != 0)

/* A thread's share of a member: its count of uses, and, so that a route touches one line of its member, copies of all
 * else that it needs. */
typedef struct cen_stripe_ {
    CEN_ATOMIC_(uint64_t) word;
    CEN_ATOMIC_(uint64_t) others; /* uses in flight on other stripes, as they were */
    /* copies: fixed, or written under the router's lock */
    void *value;
    cen_router *router;
    CEN_ATOMIC_(uint32_t) state;
    CEN_ATOMIC_(uint32_t) life; /* how often it came up and went down: a route of before has another */
    bool limited;                  /* of max or max_uses: the count is that of the first stripe */
    bool targeted;
    CEN_ATOMIC_(uint64_t) failed;
    uint64_t apart_[9]; /* two lines to themselves */
} cen_stripe_;

/* So many bytes from its beginning a member has its stripes. */
#define CEN_MEMBER_STRIPES_ 1024

/* A router begins with this. */
typedef struct cen_router_hot_ {
    /* written under the router's lock, seldom */
    CEN_ATOMIC_(const cen_set *) set; /* never NULL */
    CEN_ATOMIC_(uint32_t) waiting;    /* how many stand in the backlog */
    CEN_ATOMIC_(uint32_t) closed;
    CEN_ATOMIC_(uint32_t) quick; /* none, once there are limits: they are not inlined */
    /* fixed */
    const CEN_ATOMIC_(uint64_t) * process; /* where the epoch of the running process is */
    uint64_t epoch;                        /* of the process that made the router */
    uint32_t mask; /* stripes minus one */
    bool clocked; /* routes are timed */
    bool judged;  /* and their end is of interest to somebody */
    bool loaded;  /* the strategy asks for loads */
} cen_router_hot_;

static inline cen_stripe_ *cen_stripe_of_(const cen_member *member, uint32_t index)
{
    return (cen_stripe_ *)(void *)((char *)(uintptr_t)member + CEN_MEMBER_STRIPES_) + index;
}

CEN_API unsigned cen_router_layout_(void);
CEN_API uint64_t cen_router_random_(void);
CEN_API uint32_t cen_router_stripe_(void);
/* Sums up what other stripes have in flight. */
CEN_API void cen_member_look_at_others_(cen_member *member, uint32_t stripe);
/* A use has ended that was the last of its stripe (CEN_WAS_LAST_). */
CEN_API void cen_member_use_ended_(cen_member *member);

#ifdef __cplusplus
}
#endif
#endif
