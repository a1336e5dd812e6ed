/* SPDX-License-Identifier: MIT */
/*
 * What the files of the router share. Nobody else includes this.
 *
 * A member's states, and who brings them about:
 *
 *     CONNECTING --up--> UP --down--> DOWN --up--> UP
 *                        UP --drain, max uses, max age--> DRAINING --nothing in flight--> DOWN
 *                        UP --eject--> EJECTED --its time, restore--> UP
 *     any --remove--> gone: out of the list; a zombie while it has uses
 *
 * FULL is not a state of its own but what UP is called at the maximum.
 *
 * Invariants
 *     I1  a member is in the published set if and only if it is UP, except that
 *         without memory a member that left may be replaced there by another
 *     I2  uses begin inside a read section, on a member of the set that was read in
 *         it: after a grace period since it left the set none begins any more
 *     I3  a use ends on the stripe where it began, so no stripe goes below zero; and none begins on a stripe that has
 *         CEN_IN_FLIGHT_MAX, so none reaches the mark (I4): who finds that it has added to so many takes its share back
 *     I4  a member whose end is of interest is watched from the first grace period
 *         after it left: a bit in each stripe's count says so. No use begins then (I2), so each stripe reaches zero
 *         once, by a step that sees the bit, or has reached it when the bit is set: `open` counts those to come,
 *         and whoever takes it to zero, and nobody else, ends the member
 *     I5  to end a use is the last touch of its member, unless it ended the member (I4), or it has a limit: then it is within
 *         a section, and a member's memory is given back after a grace period after its end
 *     I6  who waits stands in `backlog` under the lock, and `waiting` says how many;
 *         whoever makes room looks at `waiting` afterwards, and whoever joins looks
 *         for room afterwards: nobody waits while there is room (I6 is L3 of the pool)
 *     I7  the router's memory goes when no hand is on it: the program's, each
 *         member's, and that of the alarm while it is set or runs
 *     I8  what is at the router's door is 0, or a set of which no member has a limit or a target, nobody is interested in how a
 *         use ends, and this is the process that made the router: a set that has such a member, and all later ones, are not put
 *         there; the kernel makes it 0 in a child; and the word is the router's until its memory goes. So a use that began
 *         by the door, or whose stripe has a door that is open at its end, needs nothing but the stripe; that of a use
 *         with a limit, the first, has one that is never open
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

/* Whether a life goes on: cen_stripe_. */
#define CENI_IS_ALIVE(life) (((life)&1) != 0)

#define CENI_USES(word) ((word) >> CEN_USES_SHIFT_)
/* Of a count in one word, which begins anew after 2^40 uses. */
#define CENI_USES_SINCE(uses, base) (((uses) - (base)) & CENI_USES(UINT64_MAX))
_Static_assert(CEN_IS_MOST_, "the bit below the mark says that there are too many");
_Static_assert(CENI_CACHE_LINE % sizeof(cen_stripe_) == 0 && CEN_STRIPES_APART_ % CENI_CACHE_LINE == 0,
               "no line is shared between threads");

/* A timer in the router's wheel, and whose it is. */
typedef struct ceni_clocked {
    ceni_wheel_timer timer;
    enum { CENI_CLOCK_WAITER, CENI_CLOCK_AGE, CENI_CLOCK_EJECTION } kind;
} ceni_clocked;

/* What is published, and what goes with it. */
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

/* All of a member that picks do not touch. */
typedef struct ceni_member {
    _Alignas(CENI_CACHE_LINE) _Atomic uint64_t
        shut; /* first; always 0: the door of its first stripe, by which it is found */

    /* fixed when it is added */
    cen_router *router;
    cen_member *cell; /* its handle */
    ceni_block *block;
    void (*gone)(void *value);
    uint32_t stripes;      /* that are counted on: 1 if it has a limit */
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

    /* any thread reads; written under the router's lock; `life` stands in each stripe, too */
    _Atomic uint32_t state;
    _Atomic uint32_t life;
    _Atomic uint64_t base; /* uses when it came up last */

    /* any thread */
    _Atomic uint32_t open; /* stripes that are to reach zero, and 1 while it is not watched (I4) */
    _Atomic uint64_t failed;
    _Atomic int64_t latency; /* moving average or last */

    /* under the router's lock */
    bool in_set;
    uint32_t index;                                                          /* in the set that was published last */
    enum { CENI_UNWATCHED = 0, CENI_WATCHED_FOR_END, CENI_HAS_ENDED } watch; /* I4; of its uses */
    bool removed;
    bool ended;          /* removed, and its last use has ended: it is in the bin for good */
    uint32_t tellers;    /* who is just telling the program about it */
    bool leaving;        /* `left` is in the bin */
    uint64_t left_count; /* how often it left the set ... */
    uint64_t left_seen;  /* ... when `left` was put in */
    int64_t since;
    uint32_t told;              /* the state that the program was told of last */
    uint32_t downs, told_downs; /* how often it was DOWN, and how often when that was told */
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

/* One of those that the member is counted on. */
static inline cen_stripe_ *ceni_member_stripe(const ceni_member *member, uint32_t index)
{
    return cen_stripe_of_(member->cell, member->first_offset + index * CEN_STRIPES_APART_);
}

/* One who waits: in cen_route_op.place_. */
typedef struct ceni_route_place {
    ceni_list link; /* in backlog; to itself: it does not wait */
    ceni_clocked clocked;
    int64_t begun;
    ceni_list ready; /* served, and to be told when the lock is dropped */
} ceni_route_place;
_Static_assert(sizeof(ceni_route_place) <= sizeof(((cen_route_op *)0)->place_),
               "it has its place in what the program owns");

struct cen_router {
    cen_router_hot_ hot; /* first */

    /* read by every pick; written under the lock, seldom */
    _Atomic(const cen_member_set *) set; /* never NULL */
    _Atomic uint32_t waiting;            /* how many stand in the backlog */
    _Atomic uint32_t closed;
    _Atomic uint32_t quick;  /* which of the inline picks; none, once there are limits */
    _Atomic uint32_t limits; /* a member has, or had, a limit or a target: that is put before it can join a set */

    /* read by every pick, fixed when it is made */
    const cen_strategy_type *type;
    void *state;
    uint64_t number;
    uint64_t epoch; /* of the process */
    bool clocked;   /* routes are timed */
    bool judged;    /* and their end is of interest to somebody */
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
    _Atomic uint32_t patched; /* some stand there twice; whoever drops the lock reads it, too, to replace the set */
    ceni_set *spare;          /* memory for the next set, of whoever holds the lock; NULL while nobody does */
    ceni_set *gathering;      /* the set to be, while the lock is held for several who join */
    uint64_t hands;           /* I7 */
    ceni_list backlog;
    ceni_wheel wheel;
    ceni_alarm alarm;
    int64_t alarm_at;     /* CENI_FOREVER: it is not set */
    ceni_list followings; /* of cen_following, follow.c */
    ceni_list events;     /* members whose state is to be told */
    bool telling;         /* somebody does */
    uint64_t added, changes, waited, timeouts, refused, empty;
    int64_t refusal_told, timeout_told; /* when that was last told in the events; 0: never */
    uint64_t uses_gone, failed_gone;    /* of members that are gone */
    _Atomic uint32_t ends;              /* futex: uses of watched members, and members, that ended */
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

/* A hand less on the router; the last lets go of it. The caller holds no lock. */
void ceni_router_drop(cen_router *router);

/* ---- follow.c ------------------------------------------------------------------------------ */

/* Ends all that the router follows. No lock is held. */
void ceni_follow_end_all(cen_router *router);

/* ---- look.c -------------------------------------------------------------------------------- */

size_t ceni_router_snapshot(const void *object, cen_metric *metrics, size_t room);
extern const ceni_component_calls ceni_router_calls;

#endif
