/* SPDX-License-Identifier: MIT */
/*
 * A router: picks one of several members that many callers use at once, such
 * as connections that carry many requests. libcenote-route.
 *
 *     cen_router *router;
 *     cen_router_options o = CEN_ROUTER_OPTIONS(.name = "search", .strategy = cen_strategy_two_choices());
 *     cen_router_new(&o, &router, &err);
 *
 *     cen_member *member;                                  // the owner of a connection
 *     cen_member_options m = CEN_MEMBER_OPTIONS(.name = "10.0.0.7:9000", .value = connection);
 *     cen_router_add(router, &m, &member, &err);
 *     cen_member_up(member);                               // connected
 *     cen_member_down(member, &cause);                     // disconnected; up again later
 *
 *     cen_route route;                                     // whoever has a request
 *     if (cen_router_route(router, NULL, CEN_NOW, &route, &err) == CEN_OK) {
 *         bool fine = send_request(route.value);
 *         cen_route_done(&route, fine ? CEN_OUTCOME_OK : CEN_OUTCOME_FAILED, 0);
 *     }
 *
 * A route counts a use of its member until it is done. The member may go down or be
 * removed meanwhile: its memory stays, and done says DOWN. Whoever needs no count looks
 * inside a read section, and what it finds is there until the section ends:
 *
 *     cen_read_begin();
 *     if (cen_router_peek(router, NULL, &member) == CEN_OK) use(cen_member_value(member));
 *     cen_read_end();
 *
 * Cost: peek and route never wait, take no lock with the strategies that say so, and
 * share no written memory between threads, unless a limit is set: then a member's count
 * is one word for all threads.
 *
 * Threads: everything from any thread. A member's handle belongs to whoever added it, until remove.
 * Fork: in a child every call answers FORKED and touches nothing.
 */
#ifndef CENOTE_ROUTER_H
#define CENOTE_ROUTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/allocator.h>
#include <cenote/deadline.h>
#include <cenote/future.h>
#include <cenote/read.h>
#include <cenote/registry.h>
#include <cenote/runtime.h>
#include <cenote/sized.h>
#include <cenote/status.h>
#include <cenote/strategy.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cen_router cen_router;

typedef enum cen_member_state {
    CEN_MEMBER_CONNECTING = 0, /* added, and never up so far */
    CEN_MEMBER_UP,             /* may be picked */
    CEN_MEMBER_FULL,           /* up, and at its maximum of uses in flight */
    CEN_MEMBER_DRAINING,       /* not picked any more; becomes DOWN when what is in flight has ended */
    CEN_MEMBER_DOWN,
    CEN_MEMBER_EJECTED, /* up, but kept out for a while */
} cen_member_state;

/* "connecting", "up", ... */
CEN_API const char *cen_member_state_name(cen_member_state state);

/* So many uses of a member can be in flight, whatever is allowed: of all threads if it has a limit, else of those that share a
 * count, which have up to 16 counts between them. One more is FULL, and where there are no limits it does not wait. By this a
 * program is told that forgets to say done. */
#define CEN_IN_FLIGHT_MAX 4194304

/* ---- Routers --------------------------------------------------------------------- */

typedef struct cen_router_options {
    size_t size;
    const char *name;      /* copied; NULL: "router" */
    cen_strategy strategy; /* zero: two choices */
    /* of every member that does not say otherwise */
    int64_t target;   /* uses in flight beyond which others are preferred; 0 or CEN_OFF: none */
    int64_t max;      /* uses in flight, at most; 0 or CEN_OFF: no limit */
    int64_t max_uses; /* then it drains; 0 or CEN_OFF: no limit */
    /* since it came up, up to a tenth less at random; then it drains; 0 or CEN_OFF: no limit */
    int64_t max_lifetime_ns;
    /* for those who wait because no member is up, or all are full */
    int64_t max_waiters; /* so many at most; 0: 1024; CEN_OFF: no limit, CEN_NONE: nobody waits */
    /* of a route or an ask whose own is CEN_DEFAULT; default CEN_NOW, an error at once */
    cen_deadline default_deadline;
    /* time routes even if the strategy does not need it; costs two readings of the clock, and 15 KiB */
    bool measure;
    /* A member's state changed: told in order for each member, with no lock held, on whichever thread; what
     * came and went again before it could be told is left out, except that it is DOWN again. FULL is never told: a member that is
     * becomes UP with each use that ends, and whoever wants to know looks. `cause` is NULL or valid during the call. */
    void (*changed)(void *argument, cen_member *member, cen_member_state from, cen_member_state to,
                    const cen_error *cause);
    void *argument;
    cen_runtime *runtime; /* NULL: the process' own */
    const cen_allocator *allocator;
} cen_router_options;

#define CEN_ROUTER_OPTIONS(...) CEN_OPTIONS_(cen_router_options, __VA_ARGS__)

/* Errors: INVALID, NO_MEMORY, SYSTEM, and what the strategy's init says. */
CEN_API cen_status cen_router_new(const cen_router_options *options, cen_router **out, cen_error *error);

typedef struct cen_router_report {
    size_t size;     /* sizeof(cen_router_report), set by CEN_SIZED */
    uint64_t left;   /* uses in flight that had not ended by the deadline */
    uint32_t waited; /* who waited for a member and was told CLOSED */
} cen_router_report;

/* Refuses from now on, tells those who wait CLOSED, and waits until no use is in flight. CEN_DEFAULT: CEN_NOW.
 * Errors: TIMEOUT (some are left), INVALID, FORKED, MISUSE (in a read section, and the deadline is not CEN_NOW). */
CEN_API cen_status cen_router_close(cen_router *router, cen_deadline deadline, cen_router_report *report,
                                    cen_error *error);

/* Closes it, removes every member, and gives the memory back; what is in use keeps its part until its last route
 * is done. Nobody uses the router or a member's handle afterwards; routes may still be done.
 * Errors: MISUSE (in a read section), FORKED. NULL is allowed. */
CEN_API cen_status cen_router_free(cen_router *router);

/* ---- Members --------------------------------------------------------------------- */

typedef struct cen_member_options {
    size_t size;
    const char *name; /* copied; NULL: "member 7", by a number of its own; not necessarily unique */
    void *value;      /* what a route brings */
    uint32_t weight;  /* 0: 1; at most 65535 */
    /* instead of the router's; 0: the router's, CEN_OFF: none */
    int64_t target, max, max_uses, max_lifetime_ns;
    /* after remove: the last use has ended and nobody can see it any more; no lock is held */
    void (*gone)(void *value);
} cen_member_options;

#define CEN_MEMBER_OPTIONS(...) CEN_OPTIONS_(cen_member_options, __VA_ARGS__)

/* Adds a member, which is CONNECTING. Errors: INVALID, NO_MEMORY, CLOSED, FORKED. */
CEN_API cen_status cen_router_add(cen_router *router, const cen_member_options *options, cen_member **out,
                                  cen_error *error);

/* It can be picked from now on, and those who wait are served. A member that was up, or ejected, stays as it is; one that comes
 * up begins to count uses and age anew. Errors: BUSY (it drains: wait for its end, or say down first), NO_MEMORY (nothing changes),
 * CLOSED, FORKED, INVALID. */
CEN_API cen_status cen_member_up(cen_member *member);

/* The same for `count` members of one router, in that order, which can be picked all at once: a change costs the length of the
 * set, so a hundred thousand who come one by one cost the square of it. The first that fails ends it; those before it are up, and
 * *out, if not NULL, is how many. Errors: as of cen_member_up; INVALID also if they are not of one router, and then none is up. */
CEN_API cen_status cen_members_up(cen_member *const *members, size_t count, size_t *out);

/* It is not picked from now on; routes that have it are told DOWN when they are done. NULL: no cause. */
CEN_API cen_status cen_member_down(cen_member *member, const cen_error *cause);

/* It is not picked from now on, and becomes DOWN when what is in flight has ended. Errors: INVALID (it is not up), FORKED. */
CEN_API cen_status cen_member_drain(cen_member *member);

/* It is kept out for so long, or, with 0, until restore; then it is up again. Errors: INVALID (it is not up), FORKED,
 * SYSTEM (no thread could be had that keeps the time: nothing changes). restore: NO_MEMORY, CLOSED. */
CEN_API cen_status cen_member_eject(cen_member *member, int64_t ns);
CEN_API cen_status cen_member_restore(cen_member *member);

/* Ends the handle: it goes down, and its memory goes when the last use has ended. */
CEN_API cen_status cen_member_remove(cen_member *member);

/* Of a member that the caller added, or has in a route, or picked in a read section that has not ended. */
CEN_API CEN_DIRECT_ void *cen_member_value(const cen_member *member);
CEN_API const char *cen_member_name(const cen_member *member);
CEN_API cen_member_state cen_member_state_of(const cen_member *member);

/* ---- Picking --------------------------------------------------------------------- */

/* Picks a member without counting a use; full ones are picked too. In a read section, until whose end it stays.
 * Errors: EMPTY (none is up), CLOSED, FORKED, INVALID. `pick` may be NULL. */
CEN_API CEN_DIRECT_ cen_status cen_router_peek(cen_router *router, const cen_pick *pick, cen_member **out);

/* A use of a member, by value. */
typedef struct cen_route {
    cen_member *member; /* NULL: there is none, or it has been done */
    void *value;
    /* cenote's */
    int64_t begun_;
    uint64_t tag_;
} cen_route;

/* Picks a member that has room and counts a use of it. If there is none, or others wait already, waits for one until the
 * deadline, in the order in which they came; CEN_DEFAULT: options.default_deadline of the router.
 * Errors: EMPTY (CEN_NOW, and none is up), FULL (CEN_NOW, and all are full; or the backlog is: error->cause says QUEUE_FULL),
 * TIMEOUT, CLOSED, FORKED, INVALID, MISUSE (it would have to wait, in a read section). */
CEN_API CEN_DIRECT_ cen_status cen_router_route(cen_router *router, const cen_pick *pick, cen_deadline deadline,
                                                cen_route *out, cen_error *error);

typedef enum cen_outcome {
    CEN_OUTCOME_OK = 0,
    CEN_OUTCOME_FAILED,    /* the member's fault: counted as such */
    CEN_OUTCOME_CANCELLED, /* says nothing about the member */
} cen_outcome;

/* Ends the use, and the route. `latency_ns`: how long it took; 0: from the route until now, if anybody wants to know.
 * Errors: DOWN (it was ended, and the member has gone down since it was picked), STALE (it was done before), INVALID, FORKED. */
CEN_API CEN_DIRECT_ cen_status cen_route_done(cen_route *route, cen_outcome outcome, int64_t latency_ns);

/* OK, or DOWN: the member has gone down since. To be asked before a request is sent; it may go down in the next moment. */
CEN_API cen_status cen_route_check(const cen_route *route);

/* ---- Without waiting -------------------------------------------------------------- */

/* The program's own, no allocation; must stay where it is until the future is done or given up, as future.h says. */
typedef struct cen_route_op {
    cen_future future; /* done with OK, and then `route` is to be done; or with why there is none */
    cen_route route;
    /* cenote's */
    cen_pick pick_;
    CEN_ATOMIC_(cen_router *) router_;
    union {
        int64_t aligned_;
        char room_[80];
    } place_;
} cen_route_op;

CEN_API void cen_route_op_init(cen_route_op *routing);

/* Asks for a route, as cen_router_route does (CEN_DEFAULT: options.default_deadline of the router); the future is done with
 * its answer, which may be at once.
 * Errors: INVALID, MISUSE (it is not ready): then nothing was asked. All others come by the future. */
CEN_API cen_status cen_router_route_async(cen_router *router, const cen_pick *pick, cen_deadline deadline,
                                          cen_route_op *routing);

/* ---- Members from a registry -------------------------------------------------------- */

/* Zero means default in every field. Fields are only ever appended. The struct is copied. */
typedef struct cen_follow_options {
    size_t size; /* sizeof(cen_follow_options), set by the macro */
    /* Options of every member; copied; default: defaults. `value` becomes the entry's. The name, if set, must stay. */
    const cen_member_options *member;
    /* Fills in more of what one member is to have, its name for instance; what it points to need stay only until it was added. */
    void (*describe)(void *argument, const cen_registered *entry, cen_member_options *member);
    /* An entry could not become a member: NO_MEMORY, CLOSED, or what `describe` made of it. Its `gone` will not be called. */
    void (*refused)(void *argument, const cen_registered *entry, const cen_error *why);
    /* A member has come up: picks that begin from now on may find it. */
    void (*joined)(void *argument, void *value);
    /* A member has left: no pick that begins from now on finds it. */
    void (*left)(void *argument, void *value);
    /* of these. All are called by the registry's listener, or by unfollow: one at a time, with no lock held */
    void *argument;
} cen_follow_options;

#define CEN_FOLLOW_OPTIONS(...) CEN_OPTIONS_(cen_follow_options, __VA_ARGS__)

typedef struct cen_following cen_following;

/* Lets the entries under a key be members that are up: one that is registered comes up, those that are there already included; one
 * that is unregistered, for whatever reason, goes down and is removed; one that is updated is replaced. The options may be NULL.
 * Errors: CLOSED (the registry is being freed), INVALID, NO_MEMORY, FORKED. */
CEN_API cen_status cen_router_follow(cen_router *router, cen_registry *registry, cen_key key,
                                     const cen_follow_options *options, cen_following **out, cen_error *error);

/* Ends it: its members go down and are removed. Before the router is freed: that ends it, too. The registry may be gone, but must
 * not be being freed meanwhile. NULL is allowed. Errors: MISUSE (within one of its own calls, or in a read section), FORKED. */
CEN_API cen_status cen_router_unfollow(cen_following *following);

/* How many members it has just now. 0 in a forked child. */
CEN_API uint32_t cen_following_count(const cen_following *following);

/* ---- Looking ---------------------------------------------------------------------- */

typedef struct cen_router_stats {
    size_t size;                                            /* sizeof(cen_router_stats), set by CEN_SIZED */
    uint32_t members;                                       /* all that were added and not removed */
    uint32_t connecting, up, full, draining, down, ejected; /* full ones are not counted as up */
    uint32_t zombies;                                       /* removed, and still in use */
    uint64_t in_flight;                                     /* uses, of zombies too */
    uint64_t uses;                                          /* routes that began, ever */
    uint64_t failed;                                        /* of these, done with FAILED */
    uint32_t waiting;
    uint64_t waited;   /* who had to wait, ever */
    uint64_t timeouts; /* of these, in vain */
    uint64_t refused;  /* the backlog was full */
    uint64_t empty;    /* told EMPTY or FULL at once */
    uint64_t changes;  /* sets of members that were published */
} cen_router_stats;

/* Errors: INVALID, FORKED. */
CEN_API cen_status cen_router_stats_get(cen_router *router, cen_router_stats *out);

typedef struct cen_member_stats {
    size_t size;      /* the library's sizeof(cen_member_stats) */
    const char *name; /* valid during the call */
    void *value;
    cen_member_state state;
    uint32_t weight;
    uint64_t in_flight, uses, failed;
    int64_t target, max; /* 0: none */
    int64_t latency_ns;  /* the moving average that peak-EWMA uses, or the last measured; 0: none */
    int64_t since_ns;    /* in this state */
} cen_member_stats;

/* Calls visit for each member that has been added and not removed, in that order; the router may be used there, its
 * members not be removed. Errors: INVALID, FORKED, NO_MEMORY. */
CEN_API cen_status cen_router_each(cen_router *router, void (*visit)(void *argument, const cen_member_stats *member),
                                   void *argument);

#ifdef __cplusplus
}
#endif
#endif
