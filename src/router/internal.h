/* SPDX-License-Identifier: MIT */
/*
 * Internal declarations of the router. Only the files of src/router include this.
 *
 * The states of a member, and what changes them:
 *
 *     CONNECTING --up--> UP --down--> DOWN --up--> UP
 *                        UP --drain, max uses, max age--> DRAINING --nothing in flight--> DOWN
 *                        UP --eject--> EJECTED --its time, restore--> UP
 *     any --remove--> gone: out of the list; a zombie while it has uses
 *
 * FULL is no state of its own. An UP member at its maximum is reported as FULL.
 *
 * Invariants
 *     I1  A member is in the published set if and only if it is UP. The exception: without memory, a member that left
 *         may be replaced there by another.
 *     I2  A use begins inside a read section, on a member of the set that was read in that section. So after a grace
 *         period since the member left the set no use begins.
 *     I3  A use ends on the stripe where it began, so no stripe goes below zero. No use begins on a stripe that has
 *         CEN_IN_FLIGHT_MAX, so none reaches the mark (I4): a thread that finds that it has added to a full stripe
 *         takes its use back.
 *     I4  A member whose end matters is watched from the first grace period after it left: a bit in each stripe's
 *         count. No use begins then (I2), so each stripe reaches zero once: by a step that sees the bit, or before the
 *         bit is set. `open` counts the stripes that have not. The thread that takes `open` to zero, and no other, ends
 *         the member.
 *     I5  Ending a use is the last touch of its member, unless it ended the member (I4) or the member has a limit. With
 *         a limit the end is within a section, and a member's memory is freed after a grace period after the member's
 *         end.
 *     I6  A waiter is in `backlog`, under the lock, and `waiting` is their number. A thread that makes room looks at
 *         `waiting` afterwards, and a waiter that joins looks for room afterwards. So no request waits while there is
 *         room (I6 is L3 of the pool).
 *     I7  The router's memory is freed when no hand is on it: the program's, one of each member, and that of the alarm
 *         while it is set or runs.
 *     I8  The router's door is 0 or a set. It is a set only if no member of it has a limit or a target, neither the
 *         strategy nor an option needs to know how a use ends, and this is the process that made the router. Once a set
 *         has a member with a limit or a target, neither that set nor a later one becomes the door. The kernel makes
 *         the door 0 in a child. The word belongs to the router until the router's memory is freed. So a use that began
 *         by the door, or whose stripe has an open door when it ends, needs only the stripe. A use with a limit is on
 *         the first stripe, whose door is never open.
 */
#ifndef CENI_ROUTER_INTERNAL_H
#define CENI_ROUTER_INTERNAL_H

#include <cenote/router.h>
#include <cenote/router_layout.h>

#include "base/atomic.h"
#include "base/list.h"
#include "port/mutex.h"
#include "port/port.h"
#include "rcu/rcu.h"
#include "record/directory.h"
#include "record/histogram.h"
#include "router/thread.h"
#include "runtime/runtime.h"
#include "sync/wheel.h"

enum {
    CENI_ROUTER_NAME = 48,
    CENI_MEMBER_NAME = 64,
    CENI_ROUTER_STRIPES = 16, /* at most */
    CENI_LATENCY_ONE_IN = 16, /* of timed uses, by chance: each is a write that all threads share */
};

/* Whether the member is up in this life: see cen_stripe_. */
#define CENI_IS_ALIVE(life) (((life)&1) != 0)

#define CENI_USES(word) ((word) >> CEN_USES_SHIFT_)
/* The difference of two counts of uses, which wrap around after 2^40. */
#define CENI_USES_SINCE(uses, base) (((uses) - (base)) & CENI_USES(UINT64_MAX))
_Static_assert(CEN_IS_MOST_, "the bit below the mark says that there are too many");
_Static_assert(CENI_CACHE_LINE % sizeof(cen_stripe_) == 0 && CEN_STRIPES_APART_ % CENI_CACHE_LINE == 0,
               "no line is shared between threads");

/* A timer in the router's wheel, and what it is for. */
typedef struct ceni_clocked {
    ceni_wheel_timer timer;
    enum { CENI_CLOCK_WAITER, CENI_CLOCK_AGE, CENI_CLOCK_EJECTION } kind;
} ceni_clocked;

/* A published set, with what is needed to free it. */
typedef struct ceni_set {
    ceni_retired retired;
    const cen_allocator *allocator;
    size_t bytes;
    cen_member_set seen; /* last: the members follow. Its places change only where a set could not be replaced (I1). */
} ceni_set;

typedef struct ceni_block ceni_block;

/* A member's handle: its first stripe. cells.c says where the others are. */
struct cen_member {
    cen_stripe_ first;
};

/* The part of a member that picks do not touch. */
typedef struct ceni_member {
    _Alignas(CENI_CACHE_LINE) _Atomic uint64_t
        shut; /* first; always 0: the door of its first stripe, by which the member is found */

    /* fixed when it is added */
    cen_router *router;
    cen_member *cell; /* its handle */
    ceni_block *block;
    void (*gone)(void *value);
    uint32_t stripes;      /* on which its uses are counted: 1 if it has a limit */
    uint32_t first_offset; /* of these: 0 if it has a limit */
    uint32_t weight;
    bool limited; /* by max or max_uses */
    bool targeted;
    uint64_t hash;
    uint64_t target;         /* UINT64_MAX: none */
    uint64_t max;            /* the same */
    uint64_t max_uses;       /* the same */
    int64_t max_lifetime_ns; /* 0: none */
    void *data;              /* the strategy's */
    size_t bytes;
    char name[CENI_MEMBER_NAME];

    /* any thread reads; written under the router's lock; `life` is in each stripe, too */
    _Atomic uint32_t state;
    _Atomic uint32_t life;
    _Atomic uint64_t base; /* uses when it came up last */

    /* any thread */
    _Atomic uint32_t open; /* stripes that have not reached zero, plus 1 while it is not watched (I4) */
    _Atomic uint64_t failed;
    _Atomic int64_t latency; /* moving average or last */

    /* under the router's lock */
    bool in_set;
    uint32_t index;                                                          /* in the set that was published last */
    enum { CENI_UNWATCHED = 0, CENI_WATCHED_FOR_END, CENI_HAS_ENDED } watch; /* I4; of its uses */
    bool removed;
    bool ended;          /* removed, and its last use has ended: it is in the bin to be freed */
    uint32_t tellers;    /* threads that are calling the listener about it */
    bool leaving;        /* `left` is in the bin */
    uint64_t left_count; /* the times that it left the set ... */
    uint64_t left_seen;  /* ... by when `left` was put into the bin */
    int64_t since;
    uint32_t told;              /* the state that the listener got last */
    uint32_t downs, told_downs; /* how often it was DOWN, and how often at the listener's last call */
    cen_error cause;            /* of the last down; its status is OK: none */
    ceni_list link;             /* in router->members, or zombies */
    ceni_list events;
    ceni_retired left;
    ceni_retired retired;
    ceni_clocked age, ejection;
} ceni_member;

static inline ceni_member *ceni_member_of(const cen_member *cell)
{
    return (ceni_member *)(uintptr_t)CENI_LIST_ENTRY(cell->first.door, const ceni_member, shut);
}

/* One of the stripes on which the member is counted. */
static inline cen_stripe_ *ceni_member_stripe(const ceni_member *member, uint32_t index)
{
    return cen_stripe_of_(member->cell, member->first_offset + index * CEN_STRIPES_APART_);
}

/* A waiter: in cen_route_op.place_. */
typedef struct ceni_route_place {
    ceni_list link; /* in backlog; linked to itself: it does not wait */
    ceni_clocked clocked;
    int64_t begun;
    ceni_list ready; /* in a list of waits that have ended; completed when the lock is dropped */
} ceni_route_place;
_Static_assert(sizeof(ceni_route_place) <= sizeof(((cen_route_op *)0)->place_),
               "it has its place in what the program owns");

struct cen_router {
    cen_router_hot_ hot; /* first */

    /* read by every pick; written under the lock, seldom */
    _Atomic(const cen_member_set *) set; /* never NULL */
    _Atomic uint32_t waiting;            /* the waiters in the backlog */
    _Atomic uint32_t closed;
    _Atomic uint32_t quick;  /* which inline pick; none, once there are limits */
    _Atomic uint32_t limits; /* a member has, or had, a limit or a target; set before it can join a set */

    /* read by every pick, fixed when it is made */
    const cen_strategy_type *type;
    void *state;
    uint64_t number;
    uint64_t epoch; /* of the process */
    bool clocked;   /* routes are timed */
    bool judged;    /* the strategy, or timing, needs to know how uses end */
    bool loaded;    /* the strategy asks for loads */

    /* fixed when it is made */
    _Alignas(CENI_CACHE_LINE) const cen_allocator *allocator;
    _Atomic uint64_t *door; /* as hot.door, for set.c, which writes it: a word that is 0 in a forked child, or `shut` */
    _Atomic uint64_t shut;  /* always 0 */
    uint32_t stripes;       /* of each member, for threads */
    ceni_live_histogram *latency; /* of one in CENI_LATENCY_ONE_IN uses; NULL: they are not timed */
    cen_runtime *runtime;
    int64_t target, max, max_uses, max_lifetime_ns;
    uint32_t backlog_max;
    cen_deadline deadline;
    void (*changed)(void *argument, cen_member *member, cen_member_state from, cen_member_state to,
                    const cen_error *cause);
    void *argument;
    char name[CENI_ROUTER_NAME];
    ceni_set none;                /* the empty set */
    cen_strategy_type older_type; /* what `type` points to if the program has a smaller struct */
    ceni_directory_entry entry;

    ceni_mutex mutex; /* rank ROUTER; for all that follows */
    ceni_list blocks; /* with room for members; cells.c */
    ceni_list members, zombies;
    uint32_t member_count, zombie_count;
    uint32_t in_set;          /* members that are in the set */
    _Atomic uint32_t patched; /* a member is in the set twice; also read without the lock, to replace the set then */
    ceni_set *spare;          /* memory for the next set, of the lock's holder; NULL while there is none */
    ceni_set *gathering;      /* the next set, while several members join under one lock */
    uint64_t hands;           /* I7 */
    ceni_list backlog;
    ceni_wheel wheel;
    ceni_alarm alarm;
    int64_t alarm_at;     /* CENI_FOREVER: it is not set */
    ceni_list followings; /* of cen_following, follow.c */
    ceni_list events;     /* members whose state the listener must get */
    bool telling;         /* a thread calls the listener */
    uint64_t added, changes, waited, timeouts, refused, empty;
    int64_t refusal_told, timeout_told; /* when such an event was last written; 0: never */
    uint64_t uses_gone, failed_gone;    /* of members that are gone */
    _Atomic uint32_t ends;              /* a futex: raised when uses of a watched member may have ended */
    ceni_bin bin;
};

static inline void ceni_router_lock(cen_router *router)
{
    ceni_mutex_lock(&router->mutex, CENI_RANK_ROUTER);
}

static inline void ceni_router_unlock(cen_router *router)
{
    ceni_mutex_unlock(&router->mutex, CENI_RANK_ROUTER);
}

static inline cen_member_state ceni_member_state_now(const ceni_member *member)
{
    return (cen_member_state)ceni_setting(&((ceni_member *)(uintptr_t)member)->state);
}

/* ---- new.c ------------------------------------------------------------------------------- */

/* Drop a hand on the router; the last one frees it. The caller holds no lock. */
void ceni_router_drop(cen_router *router);

/* ---- follow.c ------------------------------------------------------------------------------ */

/* End all followings of the router. No lock is held. */
void ceni_follow_end_all(cen_router *router);

/* ---- look.c -------------------------------------------------------------------------------- */

size_t ceni_router_snapshot(const void *object, cen_metric *metrics, size_t room);
extern const ceni_component_calls ceni_router_calls;

#endif
