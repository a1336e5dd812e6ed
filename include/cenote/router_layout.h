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
#define CEN_ROUTER_LAYOUT_ 4u

/* Strategies that are inlined. */
enum { CEN_QUICK_NONE_ = 0, CEN_QUICK_RANDOM_, CEN_QUICK_ROUND_, CEN_QUICK_TWO_ };

/* Whether the others' uses of a member are to be looked at again, by the own count before this use: a thread that has uses in
 * flight looks often, because they last; one that has none is quick, and to look makes all of them slower. Not at
 * the first use: nobody has used one that is new, and among many thousands most uses of a thread are its first of some member. */
#define CEN_LOOK_NOW_(before) (((before) >> CEN_USES_SHIFT_) % (CEN_IN_FLIGHT_(before) == 0 ? 64 : 8) == 7)

/* The same for a member that was compared and not used, by a random number of which the lowest bits have not been used: without it,
 * one that is left alone because of others' uses would be so long after these have ended. Where none are known it was left alone
 * because of the own uses, and two choices need not look. */
#define CEN_LOOK_AGAIN_(random) ((random) % 64 == 0)

/* A count of uses: how many began, ever, above whether the end of the last is of interest, above how many are in flight. The
 * first is on top, where it may begin anew after 2^40 and touches nothing. */
#define CEN_USES_SHIFT_ 24
#define CEN_USE_BEGINS_ ((UINT64_C(1) << CEN_USES_SHIFT_) + 1)
#define CEN_WATCHED_ (UINT64_C(1) << (CEN_USES_SHIFT_ - 1))
#define CEN_IN_FLIGHT_(word) ((word) & (CEN_WATCHED_ - 1))
/* Beyond this no use begins: the count must not reach the mark. Far below it, because whoever adds looks afterwards. */
#define CEN_TOO_MANY_(before) (((before)&CEN_IN_FLIGHT_MAX) != 0)
#define CEN_IS_MOST_ (CEN_WATCHED_ == 2 * (uint64_t)CEN_IN_FLIGHT_MAX)
/* By the count before its end, whether a use was the last of a stripe that is watched. */
#define CEN_WAS_LAST_(before) (((before) & (2 * CEN_WATCHED_ - 1)) == CEN_WATCHED_ + 1)

/* A thread's share of a member: its count of uses, and, so that a route touches one line of its member, copies of all
 * else that it needs. */
typedef struct cen_stripe_ {
    CEN_ATOMIC_(uint64_t) word;
    void *value; /* fixed */
    /* how often it came up and went down, odd while it is up; written under the router's lock */
    CEN_ATOMIC_(uint32_t) life;
    CEN_ATOMIC_(uint32_t) others;       /* uses in flight on other stripes, as they were; CEN_COUNTED_FIRST_ */
    const CEN_ATOMIC_(uint64_t) * door; /* fixed: the router's; of the first stripe one that is never open */
} cen_stripe_;

/* Instead of others' uses: the member has a limit, and all are counted on its first stripe. */
#define CEN_COUNTED_FIRST_ (UINT32_C(1) << 31)

/* A member's handle is its first stripe, on which only those with a limit are counted. The stripes of threads follow at this
 * distance, and between them lie those of other members, and a gap: what a thread touches of many members lies side by side. */
#define CEN_STRIPES_APART_ 2560

static inline cen_stripe_ *cen_stripe_of_(const cen_member *member, uint32_t offset)
{
    return (cen_stripe_ *)(void *)((char *)(uintptr_t)member + offset);
}

/* What a route keeps of where it began: above, the life, if that went on then, or else the one before, which is over and never
 * comes again (one who picked from an older set may begin late); below, the offset of the stripe. */
#define CEN_ROUTE_TAG_(life, offset) ((uint64_t)(((life)-1) | 1) << 32 | (offset))
#define CEN_TAG_OFFSET_(tag) ((uint32_t)(tag))
#define CEN_TAG_LIFE_(tag) ((uint32_t)((tag) >> 32))

/* A router begins with this. Its door is a word that has the set that was published last, if that can be picked from inline:
 * it is not empty, the strategy is one of the three, no member has or had a limit or a target, and nobody wants to know how uses
 * end. Else it is 0, and so it is in a forked child, whatever it was: one load tells the usual from all that is not. */
typedef struct cen_router_hot_ {
    const CEN_ATOMIC_(uint64_t) * door; /* fixed */
} cen_router_hot_;

static inline const cen_member_set *cen_set_at_door_(const cen_router *router)
{
    return (const cen_member_set *)(uintptr_t)CEN_LOAD_(((const cen_router_hot_ *)(const void *)router)->door, acquire,
                                                        ACQUIRE);
}

CEN_API unsigned cen_router_layout_(void);
CEN_API uint64_t cen_router_random_(void);
/* The offset of the calling thread's stripe in every member. */
CEN_API uint32_t cen_router_stripe_(void);
/* Sums up what other stripes than that at the offset have in flight. */
CEN_API void cen_member_look_at_others_(cen_member *member, uint32_t offset);
/* A use has ended that was the last of its stripe (CEN_WAS_LAST_). */
CEN_API void cen_member_use_ended_(cen_member *member);

#ifdef __cplusplus
}
#endif
#endif
