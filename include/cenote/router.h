/* SPDX-License-Identifier: MIT */
/*
 * A router: a load balancer. It picks one of several members (backends), each of which many callers use at the same
 * time, such as connections that carry many requests. libcenote-route.
 *
 *     cen_router *router;
 *     cen_router_options o = CEN_ROUTER_OPTIONS(.name = "search", .strategy = cen_strategy_two_choices());
 *     cen_router_new(&o, &router, &err);
 *
 *     cen_member *member;                                  // the owner of a connection
 *     cen_member_options m = CEN_MEMBER_OPTIONS(.name = "10.0.0.7:9000", .value = connection);
 *     cen_router_add(router, &m, &member, &err);
 *     cen_member_up(member, NULL);                         // connected
 *     cen_member_down(member, &cause);                     // disconnected; up again later
 *
 *     cen_route route;                                     // a caller with a request
 *     if (cen_router_route(router, NULL, CEN_NOW, &route, &err) == CEN_OK) {
 *         bool fine = send_request(route.value);
 *         cen_route_done(&route, fine ? CEN_OUTCOME_OK : CEN_OUTCOME_FAILED, 0);
 *     }
 *
 * A route counts as a use of its member until cen_route_done ends the route. If the member goes down or is removed in
 * the meantime, its memory stays valid, and cen_route_done returns DOWN. A caller that does not need its use to be
 * counted can pick a member in a read section. The member then stays valid until the section ends:
 *
 *     cen_read_begin();
 *     if (cen_router_peek(router, NULL, &member) == CEN_OK) use(cen_member_value(member));
 *     cen_read_end();
 *
 * Cost: a pick does not wait while a member has room. With the strategies for which strategy.h promises it, a pick
 * takes no lock and does not write to memory that other threads write to, unless a limit is set: a member with a limit
 * has one counter for all threads.
 *
 * Threads: every function may be called from any thread. A member's handle belongs to the code that added it until
 * cen_member_remove is called.
 * Fork: in the child, every call returns FORKED and touches nothing.
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

/* State of a member. */
typedef enum cen_member_state {
    CEN_MEMBER_CONNECTING = 0, /* added, but not up yet */
    CEN_MEMBER_UP,             /* may be picked */
    CEN_MEMBER_FULL,           /* up, with its maximum of uses in flight */
    CEN_MEMBER_DRAINING,       /* not picked; becomes DOWN when its last use in flight has ended */
    CEN_MEMBER_DOWN,           /* not picked */
    CEN_MEMBER_EJECTED,        /* up, but not picked for a while */
} cen_member_state;

/* Return the state's name: "connecting", "up", "full", "draining", "down" or "ejected"; "?" for an invalid state. */
CEN_API const char *cen_member_state_name(cen_member_state state);

/* The maximum number of uses in flight, regardless of the limits. A member with a limit has one counter for all
 * threads. A member without a limit has up to 16 counters, each shared by some of the threads, and the maximum applies
 * to each counter. A use beyond the maximum finds the member full. If no member of the router has a limit, such a route
 * fails with FULL immediately. If a program reaches the maximum, it has most likely forgotten to call
 * cen_route_done. */
#define CEN_IN_FLIGHT_MAX 4194304

/* ---- Routers --------------------------------------------------------------------- */

/* Options of a router. In every field, zero means the default. Fields are only ever appended. */
typedef struct cen_router_options {
    size_t size;           /* sizeof(cen_router_options), set by the macro */
    const char *name;      /* copied, cut after 47 bytes; default "router" */
    cen_strategy strategy; /* default cen_strategy_two_choices() */
    /* limits of every member that does not have its own */
    int64_t target_in_flight; /* once a member has this many uses, others are preferred; 0 or CEN_OFF: none */
    int64_t max_in_flight;    /* maximum number of uses in flight; 0 or CEN_OFF: no limit */
    int64_t max_uses;         /* the member drains after this many uses since it came up; 0 or CEN_OFF: no limit */
    /* max lifetime: the member drains when it has been up for this long, less a random amount of up to a tenth; 0 or
     * CEN_OFF: no limit */
    int64_t max_lifetime_ns;
    /* queue limit: maximum number of routes that wait because no member is up or all are full; default 1024; CEN_OFF:
     * no limit, CEN_NONE: no route waits */
    int64_t max_waiters;
    /* the deadline of a route that is given CEN_DEFAULT; default CEN_NOW: if there is no room, the route fails
     * immediately */
    cen_deadline default_deadline;
    /* measure the latency of routes even if the strategy does not need it; costs two clock readings per route, and 15
     * KiB of memory */
    bool measure;
    /* Called when the state of a member has changed, one call at a time, on any thread, with no lock held. The calls
     * for one member are in order. A state that the member leaves before the state can be reported is skipped, with one
     * exception: a member that has come up and gone DOWN again is reported as DOWN again. FULL is not reported, because
     * it may change with every use: see cen_member_state_of. `cause` is NULL or valid during the call. */
    void (*changed)(void *argument, cen_member *member, cen_member_state from, cen_member_state to,
                    const cen_error *cause);
    void *argument;                 /* passed to `changed` */
    cen_runtime *runtime;           /* handles deadlines and lifetimes; default the process's own */
    const cen_allocator *allocator; /* default malloc */
} cen_router_options;

/* Options with the given fields: CEN_ROUTER_OPTIONS(.name = "search"). All others are zero. */
#define CEN_ROUTER_OPTIONS(...) CEN_OPTIONS_(cen_router_options, __VA_ARGS__)

/* Create a router.
 * Returns:
 *   OK         *out is the router
 *   INVALID    options or out is NULL, or an option is invalid; the text names it
 *   NO_MEMORY  out of memory
 *   FORKED     options.runtime belongs to the parent process
 *   others     the status of the strategy's init
 */
CEN_API cen_status cen_router_new(const cen_router_options *options, cen_router **out, cen_error *error);

/* Report of a close. */
typedef struct cen_router_report {
    size_t size;     /* sizeof(cen_router_report), set by CEN_SIZED */
    uint64_t left;   /* uses that were still in flight at the deadline */
    uint32_t waited; /* routes that waited for a member and failed with CLOSED */
} cen_router_report;

/* Close the router: waiting routes and later ones fail with CLOSED. *report, if not NULL, is filled in if the status is
 * OK or TIMEOUT. To wait longer, close the router again.
 *
 * Blocking: until no use is in flight, or until the deadline (CEN_DEFAULT: CEN_NOW). Also waits for open read sections,
 * unless it is called in one.
 * Returns:
 *   OK       no use is in flight
 *   TIMEOUT  uses are still in flight; error->text says how many
 *   INVALID  router is NULL, or report->size is not valid
 *   FORKED   the router belongs to the parent process
 *   MISUSE   called in a read section, and the deadline is not CEN_NOW
 */
CEN_API cen_status cen_router_close(cen_router *router, cen_deadline deadline, cen_router_report *report,
                                    cen_error *error);

/* Close the router, remove every member, and free the memory. NULL is allowed. The memory of a member that is in use is
 * kept until the member's last route is done.
 *
 * Blocking: waits for open read sections, but not for uses.
 * Threads: during this call and afterwards, no thread may use the router or the handle of a member. Routes may still be
 * ended with cen_route_done.
 * Returns:
 *   OK      the router is freed, or was NULL
 *   MISUSE  called in a read section
 *   FORKED  the router belongs to the parent process
 */
CEN_API cen_status cen_router_free(cen_router *router);

/* ---- Members --------------------------------------------------------------------- */

/* Options of a member. In every field, zero means the default. Fields are only ever appended. */
typedef struct cen_member_options {
    size_t size;      /* sizeof(cen_member_options), set by the macro */
    const char *name; /* copied, cut after 63 bytes; need not be unique; default "member N", N being its number */
    void *value;      /* the value of a route to this member */
    uint32_t weight;  /* for strategies that use it; default 1, at most 65535 */
    /* as in cen_router_options; 0: the router's, CEN_OFF: none */
    int64_t target_in_flight, max_in_flight, max_uses, max_lifetime_ns;
    /* called after cen_member_remove, when the last use has ended and no read section can see the member; no lock is
     * held; default none */
    void (*gone)(void *value);
} cen_member_options;

/* Options with the given fields: CEN_MEMBER_OPTIONS(.name = "10.0.0.7:9000"). All others are zero. */
#define CEN_MEMBER_OPTIONS(...) CEN_OPTIONS_(cen_member_options, __VA_ARGS__)

/* Add a member, in the state CONNECTING.
 *
 * Ownership: the handle belongs to the caller until cen_member_remove.
 * Returns:
 *   OK         *out is the member
 *   INVALID    router, options or out is NULL, or an option is invalid; the text names it
 *   NO_MEMORY  out of memory
 *   CLOSED     the router is closed
 *   FORKED     the router belongs to the parent process
 */
CEN_API cen_status cen_router_add(cen_router *router, const cen_member_options *options, cen_member **out,
                                  cen_error *error);

/* Bring a member up: it can now be picked, and waiters are served. Its uses and its lifetime are counted from this
 * moment. A member that is already up or ejected stays as it is. error->text names the router and the member.
 * Returns:
 *   OK         the member is up, or was ejected and still is
 *   BUSY       it is draining: wait until it is DOWN, or call cen_member_down first
 *   NO_MEMORY  out of memory; nothing changes
 *   CLOSED     the router is closed
 *   INVALID    member is NULL, or was removed
 *   FORKED     the router belongs to the parent process
 */
CEN_API cen_status cen_member_up(cen_member *member, cen_error *error);

/* Bring up `count` members of one router, in the given order. They all become available in a single change. The time
 * that a change takes is proportional to the number of members, so bringing up a hundred thousand members one by one
 * takes time proportional to the square of their number. The first member that fails ends the call. *out, if not NULL,
 * is the number of members before it, which are up.
 * Returns:
 *   OK       all members are up
 *   INVALID  also: members is NULL, or the members do not all belong to one router; then none is brought up
 *   others   as cen_member_up, for the first member that failed
 */
CEN_API cen_status cen_members_up(cen_member *const *members, size_t count, size_t *out, cen_error *error);

/* Take a member down: it is no longer picked. When a route to it is ended, cen_route_done returns DOWN. `cause` may be
 * NULL.
 * Returns:
 *   OK       the member is down
 *   INVALID  member is NULL
 *   FORKED   the router belongs to the parent process
 */
CEN_API cen_status cen_member_down(cen_member *member, const cen_error *cause);

/* Drain a member: it is no longer picked, and becomes DOWN when its last use in flight has ended. error->text names the
 * member and its state.
 * Returns:
 *   OK       the member is draining
 *   INVALID  member is NULL, or is neither up, ejected nor draining
 *   FORKED   the router belongs to the parent process
 */
CEN_API cen_status cen_member_drain(cen_member *member, cen_error *error);

/* Eject a member: it is not picked for `ns` nanoseconds, or, if `ns` is 0, until cen_member_restore is called. Then it
 * is up again. If a member is already ejected, the new time replaces the old one. error->text names the member and its
 * state.
 * Returns:
 *   OK       the member is ejected
 *   INVALID  member is NULL, or is neither up nor ejected; or ns is negative
 *   SYSTEM   the timer thread could not be started; nothing changes
 *   FORKED   the router belongs to the parent process
 */
CEN_API cen_status cen_member_eject(cen_member *member, int64_t ns, cen_error *error);

/* End the ejection of a member: it is up again, and waiters are served. A member that is already up stays as it is.
 * error->text names the member and its state.
 * Returns:
 *   OK         the member is up
 *   INVALID    member is NULL, or is neither ejected nor up
 *   NO_MEMORY  out of memory; the router tries again after 100 ms
 *   CLOSED     the router is closed
 *   FORKED     the router belongs to the parent process
 */
CEN_API cen_status cen_member_restore(cen_member *member, cen_error *error);

/* Remove a member. It goes down, and the handle becomes invalid. Its memory is freed when its last use has ended.
 * Returns:
 *   OK       the member is removed
 *   INVALID  member is NULL, or has already been removed
 *   FORKED   the router belongs to the parent process
 */
CEN_API cen_status cen_member_remove(cen_member *member);

/* Return a member's value, name and state. The caller must have added the member, have a route to it, or have picked it
 * in a read section that has not ended. */
CEN_API CEN_DIRECT_ void *cen_member_value(const cen_member *member);
CEN_API const char *cen_member_name(const cen_member *member);
CEN_API cen_member_state cen_member_state_of(const cen_member *member);

/* ---- Picking --------------------------------------------------------------------- */

/* Pick a member without counting a use. Call it in a read section: the member stays valid until the section ends. Full
 * members may also be picked. `hint` may be NULL.
 *
 * Blocking: never waits.
 * Returns:
 *   OK       *out is the member
 *   EMPTY    no member is up
 *   CLOSED   the router is closed
 *   FORKED   the router belongs to the parent process
 *   INVALID  router or out is NULL
 */
CEN_API CEN_DIRECT_ cen_status cen_router_peek(cen_router *router, const cen_route_hint *hint, cen_member **out);

/* A route: one use of a member, counted until cen_route_done. A plain value. */
typedef struct cen_route {
    cen_member *member; /* NULL: there is no route, or it is done */
    void *value;        /* the member's */
    /* private */
    int64_t begun_;
    uint64_t tag_;
} cen_route;

/* Pick a member that has room, and count a use of it. If no member has room, or other routes are already waiting, wait
 * in the wait queue, which is FIFO. `hint` may be NULL.
 *
 * error->text states how many members are in each state. error->cause is CEN_CAUSE_NO_MEMBER or CEN_CAUSE_MEMBERS_FULL.
 * If too many routes are waiting, error->cause is CEN_CAUSE_QUEUE_FULL, and error->current and error->max contain the
 * numbers.
 *
 * Ownership: the use belongs to the caller until cen_route_done.
 * Blocking: until a member has room, or until the deadline (CEN_DEFAULT: options.default_deadline).
 * Returns:
 *   OK       *out is the route
 *   EMPTY    the deadline is CEN_NOW, and no member is up
 *   FULL     the deadline is CEN_NOW, and all members are full or other routes are waiting; or max_waiters routes are
 *            already waiting; or CEN_IN_FLIGHT_MAX is reached
 *   TIMEOUT  the deadline passed first
 *   CLOSED   the router is closed
 *   MISUSE   the route would have to wait, and the thread is in a read section
 *   SYSTEM   the route would have to wait, and the timer thread could not be started
 *   FORKED   the router belongs to the parent process
 *   INVALID  router or out is NULL
 */
CEN_API CEN_DIRECT_ cen_status cen_router_route(cen_router *router, const cen_route_hint *hint, cen_deadline deadline,
                                                cen_route *out, cen_error *error);

/* How a use ended. */
typedef enum cen_outcome {
    CEN_OUTCOME_OK = 0,
    CEN_OUTCOME_FAILED,    /* the member's fault; counted in its stats */
    CEN_OUTCOME_CANCELLED, /* says nothing about the member */
} cen_outcome;

/* End a use, and the route. `latency_ns` is how long the use took. If it is 0, the router uses the time since
 * cen_router_route, but measures that time only if the strategy or options.measure requires it.
 * Returns:
 *   OK       the use has ended
 *   DOWN     the use has ended, and the member has gone down since it was picked
 *   STALE    the route is already done
 *   INVALID  route is NULL, or the outcome is not a cen_outcome
 *   FORKED   the router belongs to the parent process
 */
CEN_API CEN_DIRECT_ cen_status cen_route_done(cen_route *route, cen_outcome outcome, int64_t latency_ns);

/* Check a route before sending a request. The member may still go down immediately afterwards.
 * Returns:
 *   OK       the member has not gone down since it was picked
 *   DOWN     the member has gone down since it was picked
 *   STALE    the route is done
 *   INVALID  route is NULL
 *   FORKED   the router belongs to the parent process
 */
CEN_API cen_status cen_route_check(const cen_route *route);

/* ---- Without waiting -------------------------------------------------------------- */

/* An operation: a caller-owned struct. cen_route_op_init(op, done, executor) initialises it, and
 * cen_future_cancel(&op.future) cancels it. Nothing is allocated for it. It must stay in place from the call that
 * starts it until its future has completed or has been cancelled: see future.h. */
typedef struct cen_route_op {
    cen_future future; /* OK: `route` is filled in, and must be ended; any other status: why there is no route */
    cen_route route;
    /* private */
    void (*done_)(struct cen_route_op *routing);
    cen_route_hint hint_;
    CEN_ATOMIC_(cen_router *) router_;
    union {
        int64_t aligned_;
        char room_[80];
    } place_;
} cen_route_op;

/* Initialise an operation before its first use, and again before each further use. When the future completes, `done` is
 * called exactly once, on the executor. If `done` and `executor` are both NULL, the program waits for op->future, polls
 * it, or puts it into a group. */
CEN_API void cen_route_op_init(cen_route_op *routing, void (*done)(cen_route_op *routing), cen_executor *executor);

/* Ask for a route as cen_router_route does, but without waiting. The future completes with the result, possibly before
 * this call returns. Every status of cen_router_route that is not listed here, including FORKED, is delivered through
 * the future. CEN_DEFAULT: options.default_deadline of the router.
 *
 * Blocking: never waits.
 * Returns:
 *   OK       the future will complete, or already has
 *   INVALID  router or routing is NULL, or `done` has no executor; the future does not complete
 *   MISUSE   the operation was used before and not initialised again; the future does not complete
 */
CEN_API cen_status cen_router_route_async(cen_router *router, const cen_route_hint *hint, cen_deadline deadline,
                                          cen_route_op *routing);

/* ---- Members from a registry -------------------------------------------------------- */

/* Options of cen_router_follow. In every field, zero means the default. Fields are only ever appended. The struct is
 * copied. The functions are called by the registry's listener, or by cen_router_unfollow and cen_router_free, one at a
 * time and with no lock held. */
typedef struct cen_follow_options {
    size_t size; /* sizeof(cen_follow_options), set by the macro */
    /* options of every member; copied, except for the name, which must stay in place; `value` is replaced by the
     * entry's value; default: defaults */
    const cen_member_options *member;
    /* Fill in further options of one member, for example its name. Anything that they point to must stay valid only
     * until the member has been added. */
    void (*describe)(void *argument, const cen_registered *entry, cen_member_options *member);
    /* Called if an entry could not become a member: NO_MEMORY, CLOSED, or INVALID because of `describe`. `gone` is not
     * called for the entry. */
    void (*refused)(void *argument, const cen_registered *entry, const cen_error *why);
    /* Called when a member has come up: picks that begin afterwards may return it. */
    void (*joined)(void *argument, void *value);
    /* Called when a member has left: no pick that begins afterwards returns it. */
    void (*left)(void *argument, void *value);
    void *argument; /* passed to these functions */
} cen_follow_options;

/* Options with the given fields: CEN_FOLLOW_OPTIONS(.describe = describe). All others are zero. */
#define CEN_FOLLOW_OPTIONS(...) CEN_OPTIONS_(cen_follow_options, __VA_ARGS__)

typedef struct cen_following cen_following;

/* Follow a key of a registry: each entry under the key, whether it already exists or is registered later, becomes a
 * member that is up. If an entry is unregistered, regardless of the reason, its member goes down and is removed. If an
 * entry is updated, its member is replaced. `options` may be NULL.
 * Returns:
 *   OK         *out is the cen_following
 *   CLOSED     the registry is being freed
 *   INVALID    router, registry or out is NULL, the key is NULL or too long, or an option is invalid
 *   NO_MEMORY  out of memory
 *   FORKED     the router or the registry belongs to the parent process
 */
CEN_API cen_status cen_router_follow(cen_router *router, cen_registry *registry, cen_key key,
                                     const cen_follow_options *options, cen_following **out, cen_error *error);

/* End a following: its members go down and are removed. NULL is allowed. Call it only before cen_router_free, which
 * ends all followings itself. The registry may already have been freed, but must not be freed during this call.
 * Returns:
 *   OK      the following has ended
 *   MISUSE  called from one of the following's own functions, or in a read section
 *   FORKED  the router belongs to the parent process
 */
CEN_API cen_status cen_router_unfollow(cen_following *following);

/* Return the number of members of a following; 0 for NULL and in a forked child. */
CEN_API uint32_t cen_following_count(const cen_following *following);

/* ---- Stats -------------------------------------------------------------------------- */

/* Stats of a router. */
typedef struct cen_router_stats {
    size_t size;                                            /* sizeof(cen_router_stats), set by CEN_SIZED */
    uint32_t members;                                       /* members that were added and not removed */
    uint32_t connecting, up, full, draining, down, ejected; /* of these, by state; full ones do not count as up */
    uint32_t zombies;                                       /* members that were removed and are still in memory */
    uint64_t in_flight;                                     /* uses in flight, including those of zombies */
    uint64_t uses;                                          /* uses so far */
    uint64_t failed;                                        /* of these, ended with FAILED */
    uint32_t waiting;                                       /* routes that are waiting */
    uint64_t waited;                                        /* routes that had to wait */
    uint64_t timeouts;                                      /* of these, routes that failed with TIMEOUT */
    uint64_t refused;                                       /* routes that failed because too many were waiting */
    uint64_t empty;                                         /* routes that failed with EMPTY or FULL immediately */
    uint64_t changes;                                       /* sets of members published so far */
} cen_router_stats;

/* Read the stats.
 * Returns:
 *   OK       *out is filled in
 *   INVALID  router or out is NULL, or out->size is not valid
 *   FORKED   the router belongs to the parent process
 */
CEN_API cen_status cen_router_stats_get(cen_router *router, cen_router_stats *out);

/* Stats of a member. */
typedef struct cen_member_stats {
    size_t size;      /* the library's sizeof(cen_member_stats) */
    const char *name; /* valid during the call */
    void *value;
    cen_member_state state;
    uint32_t weight;
    uint64_t in_flight, uses, failed;
    int64_t target_in_flight, max_in_flight; /* 0: none */
    int64_t latency_ns;                      /* peak EWMA: the moving average; otherwise the last value; 0: none */
    int64_t since_ns;                        /* how long it has been in this state */
} cen_member_stats;

/* Call `visit` for each member that was added and not removed, in the order in which they were added.
 *
 * Callbacks: with no lock held and with cancellation disabled. `visit` may use the router, but must not remove members.
 * Returns:
 *   OK         all members were visited
 *   INVALID    router or visit is NULL
 *   FORKED     the router belongs to the parent process
 *   NO_MEMORY  out of memory
 */
CEN_API cen_status cen_router_each(cen_router *router, void (*visit)(void *argument, const cen_member_stats *member),
                                   void *argument);

#ifdef __cplusplus
}
#endif
#endif
