/* SPDX-License-Identifier: MIT */
/* The parts of a router and its members that every pick reads or writes. Private: only for the inline functions of
 * quick_route.h and for the library itself. libcenote-route.
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

/* The version of this layout. It is incremented with every change to this header. */
#define CEN_ROUTER_LAYOUT_ 4u

/* Strategies that are inlined. */
enum { CEN_QUICK_NONE_ = 0, CEN_QUICK_RANDOM_, CEN_QUICK_ROUND_, CEN_QUICK_TWO_ };

/* Whether a thread looks again at the other threads' uses of a member, according to its own count before this use. A
 * thread with uses in flight looks often, because its uses take a long time. A thread that has none has short uses, and
 * looking would slow all threads down. It does not look at its first use: no thread has used a new member yet, and if
 * there are many thousands of members, most of a thread's uses are its first use of the member. */
#define CEN_LOOK_NOW_(before) (((before) >> CEN_USES_SHIFT_) % (CEN_IN_FLIGHT_(before) == 0 ? 64 : 8) == 7)

/* Whether a thread looks again at a member that it compared but did not use, according to a random number whose lowest
 * bits have not been used. Without this look, a member that is avoided because of other threads' uses would be avoided
 * long after those have ended. If no uses of other threads are known, the thread's own uses were the reason, and two
 * choices need not look. */
#define CEN_LOOK_AGAIN_(random) ((random) % 64 == 0)

/* A count of uses has three fields. From the top: how many uses have begun so far; whether the end of the last use is
 * being watched for; how many uses are in flight. The first field is at the top, so its overflow after 2^40 uses does
 * not change any other field. */
#define CEN_USES_SHIFT_ 24
#define CEN_USE_BEGINS_ ((UINT64_C(1) << CEN_USES_SHIFT_) + 1)
#define CEN_WATCHED_ (UINT64_C(1) << (CEN_USES_SHIFT_ - 1))
#define CEN_IN_FLIGHT_(word) ((word) & (CEN_WATCHED_ - 1))
/* True if no further use may begin. The count of uses in flight must not reach CEN_WATCHED_. The limit is far below
 * that, because a thread checks only after it has added its use. */
#define CEN_TOO_MANY_(before) (((before)&CEN_IN_FLIGHT_MAX) != 0)
#define CEN_IS_MOST_ (CEN_WATCHED_ == 2 * (uint64_t)CEN_IN_FLIGHT_MAX)
/* Whether a use was the last of a stripe that is watched, according to the count before its end. */
#define CEN_WAS_LAST_(before) (((before) & (2 * CEN_WATCHED_ - 1)) == CEN_WATCHED_ + 1)

/* A stripe: a thread's share of a member. It contains the thread's count of uses, and copies of everything else that a
 * route needs, so that a route touches only one cache line of its member. */
typedef struct cen_stripe_ {
    CEN_ATOMIC_(uint64_t) word;
    void *value; /* fixed */
    /* how many times the member came up or went down; odd while it is up; written under the router's lock */
    CEN_ATOMIC_(uint32_t) life;
    CEN_ATOMIC_(uint32_t) others;       /* uses in flight on other stripes at the last look, or CEN_COUNTED_FIRST_ */
    const CEN_ATOMIC_(uint64_t) * door; /* fixed: the router's; for the first stripe, a door that is never open */
} cen_stripe_;

/* In `others`: the member has a limit, and all its uses are counted on its first stripe. */
#define CEN_COUNTED_FIRST_ (UINT32_C(1) << 31)

/* A member's handle is its first stripe. Uses are counted on the first stripe only if the member has a limit. The
 * threads' stripes follow at this distance. Between them are the stripes of other members, and a gap. So the stripes of
 * one thread in many members are side by side. */
#define CEN_STRIPES_APART_ 2560

/* Return the member's stripe at an offset. */
static inline cen_stripe_ *cen_stripe_of_(const cen_member *member, uint32_t offset)
{
    return (cen_stripe_ *)(void *)((char *)(uintptr_t)member + offset);
}

/* The tag of a route records where its use began. The lower half is the offset of the stripe. The upper half is the
 * life of the member if it was up, or otherwise its previous life, which has ended and never returns: a thread that
 * picked from an older set may begin its use late. */
#define CEN_ROUTE_TAG_(life, offset) ((uint64_t)(((life)-1) | 1) << 32 | (offset))
#define CEN_TAG_OFFSET_(tag) ((uint32_t)(tag))
#define CEN_TAG_LIFE_(tag) ((uint32_t)((tag) >> 32))

/* A router begins with this struct. Its door is a word. The word is the address of the last published set if inline
 * picks may use that set: the set is not empty, the strategy is one of the three, no member has or had a limit or a
 * target, and neither the strategy nor the router needs to know how uses end. Otherwise, the word is 0. In a forked
 * child, it is always 0. So a single load shows whether a pick may be inline. */
typedef struct cen_router_hot_ {
    const CEN_ATOMIC_(uint64_t) * door; /* fixed */
} cen_router_hot_;

/* Return the set at the door, or NULL. */
static inline const cen_member_set *cen_set_at_door_(const cen_router *router)
{
    return (const cen_member_set *)(uintptr_t)CEN_LOAD_(((const cen_router_hot_ *)(const void *)router)->door, acquire,
                                                        ACQUIRE);
}

/* Return CEN_ROUTER_LAYOUT_ of the loaded library, and a random number. */
CEN_API unsigned cen_router_layout_(void);
CEN_API uint64_t cen_router_random_(void);
/* Return the offset of the calling thread's stripe in every member. */
CEN_API uint32_t cen_router_stripe_(void);
/* Update `others` of the stripe at the offset: the sum of uses in flight on all other stripes. */
CEN_API void cen_member_look_at_others_(cen_member *member, uint32_t offset);
/* Handle the end of the last use of a watched stripe (CEN_WAS_LAST_). */
CEN_API void cen_member_use_ended_(cen_member *member);

#ifdef __cplusplus
}
#endif
#endif
