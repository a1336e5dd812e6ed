/* SPDX-License-Identifier: MIT */
/*
 * A routing pool: several multiplexed connections to one service, each of which
 * many callers use at once. One that is lost leaves the set of those that
 * requests are routed to, is opened again, with back-off, and returns. libcenote-net.
 *
 *     cen_mux_pool *pool;
 *     cen_mux_pool_options options = CEN_MUX_POOL_OPTIONS(.name = "search", .address = "10.0.0.7:9000", .connections = 8);
 *     if (cen_mux_pool_new(&options, &pool, &error) != CEN_OK) die(error.text);
 *
 *     cen_request request;                                          // see request.h
 *     cen_request_init(&request, NULL, NULL);
 *     request.payload = "ping", request.size = 4;
 *     if (cen_mux_pool_request(pool, NULL, &request, &error) == CEN_OK) use(request.reply, request.reply_size);
 *     cen_request_free_reply(&request);
 *
 *     cen_mux_pool_close(pool, cen_in_s(5), NULL, NULL);
 *     cen_mux_pool_free(pool);
 *
 * It is a tree of supervisors, a registry and a router, all of them the
 * program's to look at:
 *
 *     name                 supervisor, rest for one
 *      ├─ registry           a registry: the connections that are up
 *      └─ connections        supervisor, one for one
 *          ├─ connection 1     connects, registers itself, and ends when it is lost
 *          ├─ connection 2
 *          ...
 *     a router follows the registry: who is registered is routed to
 *
 * One connection's death touches no other. The registry's death restarts all
 * connections, because what they had registered is gone with it. A connection's child
 * runs from the moment in which it begins to connect: that it cannot is its death.
 *
 * A request that its connection refuses, because that was lost in this very moment,
 * has not been sent, and is routed once more. One that was sent and lost is not: the
 * other side may have done what it asks. It fails with LOST, and the program decides.
 *
 * Threads: everything from any thread, except new, close and free, which wait and are not called on the
 * thread of the pool's loop, nor from its listener, nor in a read section. Nobody is in a call with the pool when it is freed.
 * Fork: in the child every call answers FORKED and touches nothing.
 */
#ifndef CENOTE_MUX_POOL_H
#define CENOTE_MUX_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/allocator.h>
#include <cenote/deadline.h>
#include <cenote/events.h>
#include <cenote/loop.h>
#include <cenote/mux.h>
#include <cenote/registry.h>
#include <cenote/request.h>
#include <cenote/router.h>
#include <cenote/runtime.h>
#include <cenote/sized.h>
#include <cenote/status.h>
#include <cenote/strategy.h>
#include <cenote/supervisor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cen_mux_pool cen_mux_pool;

/* What new does about a service that is not there. */
typedef enum cen_at_start {
    /* waits until one connection is up; if none can be made, fails with the last one's error */
    CEN_AT_START_NEED_ONE = 0,
    CEN_AT_START_EMPTY, /* does not wait: there is an empty set for now, and the connections go on trying */
} cen_at_start;

/* Zero means default in every field, unless it says otherwise. Fields are only ever appended. */
typedef struct cen_mux_pool_options {
    size_t size;                  /* sizeof(cen_mux_pool_options), set by the macro */
    const char *name;             /* copied, cut after 47 bytes; default "mux pool" */
    const char *address;          /* copied; see mux.h. Either this or: */
    const char *const *addresses; /* several, copied; the connections take them in turn */
    size_t address_count;
    uint32_t connections;     /* how many; default 8 */
    const char *const *names; /* so many, copied; default "connection 1", ... */
    /* Options of every connection; copied; default: defaults. The pool sets name, address, loop, runtime and allocator. */
    const cen_mux_options *mux;

    cen_strategy strategy; /* default two choices */
    int64_t target, max;   /* requests in flight on a connection, as for a router's members; default none */
    /* requests that wait for a connection, at most; default 1024; CEN_OFF: no limit, CEN_NONE: none waits */
    int64_t max_waiters;
    /* how long a request waits for a connection, at most; default CEN_NOW: EMPTY or FULL at once */
    cen_deadline wait_deadline;
    /* how often a request that was not sent is routed again, at most; default 2, CEN_NONE: never */
    int64_t reroutes;

    /* of a connection that is lost, and of the registry, as for a supervisor's children */
    int64_t backoff_initial_ns, backoff_max_ns, backoff_reset_ns;
    int32_t max_restarts; /* of all connections, within window_ns; default CEN_OFF: it never gives up; CEN_NONE: at the
                           * first death */
    int64_t window_ns;
    /* how long a connection that must end waits for replies; default 5 s, CEN_OFF: no limit, CEN_NONE: not at all */
    int64_t drain_ns;

    cen_at_start at_start;
    bool keep_lost; /* for demonstrations: a connection that is lost stays in the set until it is opened again */

    /* Told what happens to connections, CONNECTION_UP, CONNECTION_DOWN and CONNECTION_FAILED of cenote/events.h: each
     * one's events in order, on the loop's thread, where it must not wait; and on a thread of the runtime that the pool
     * gave up, GAVE_UP: it is closed, and status, code and text are those of the last death. All are told, so `missed` is 0. */
    void (*listener)(void *argument, const cen_event *event, uint64_t missed);
    void *argument; /* of the listener */

    cen_loop *loop;                 /* default the process' own */
    cen_runtime *runtime;           /* default the process' own */
    const cen_allocator *allocator; /* default malloc */
} cen_mux_pool_options;

#define CEN_MUX_POOL_OPTIONS(...) CEN_OPTIONS_(cen_mux_pool_options, __VA_ARGS__)

/* ---- Life ------------------------------------------------------------------------ */

/* Errors: INVALID (the text names the field), EXISTS (two connections of one name), NO_MEMORY, SYSTEM, FORKED, MISUSE (on the
 * loop's thread, or in a read section), and, with NEED_ONE, why no connection could be made. Then there is nothing to free. */
CEN_API cen_status cen_mux_pool_new(const cen_mux_pool_options *options, cen_mux_pool **out, cen_error *error);

typedef struct cen_mux_pool_report {
    size_t size;     /* sizeof(cen_mux_pool_report), set by CEN_SIZED */
    uint64_t left;   /* requests that had no reply by the deadline, and were failed with CLOSED */
    uint32_t waited; /* requests that waited for a connection and were told CLOSED */
} cen_mux_pool_report;

/* Refuses from now on, waits until what is in flight is over, or the deadline (CEN_DEFAULT: 5 s), and then stops the tree in order:
 * connections, registry. The report may be NULL.
 * Errors: TIMEOUT (some were failed), CLOSED (it is, or is being closed), INVALID, FORKED, MISUSE (on the loop's thread, or in a
 * read section: nothing changes). */
CEN_API cen_status cen_mux_pool_close(cen_mux_pool *pool, cen_deadline deadline, cen_mux_pool_report *report,
                                      cen_error *error);

/* Closes it, if that has not been done, with CEN_NOW, and gives everything back. NULL is allowed.
 * Errors: MISUSE (on the loop's thread, or in a read section), FORKED: nothing changes. */
CEN_API cen_status cen_mux_pool_free(cen_mux_pool *pool);

/* ---- Requests ---------------------------------------------------------------------- */

/* Routes the request, sends it, waits for its reply, and tells the router how it went. `pick` as for a route, NULL: no wish. The
 * request's deadline is for all of it, waiting for a connection included; its payload must stay until this returns.
 * Errors: EMPTY (no connection is up), FULL (all are full; or too many wait: error->cause is QUEUE_FULL), TIMEOUT, CLOSED, and
 * those of cen_mux_request. */
CEN_API cen_status cen_mux_pool_request(cen_mux_pool *pool, const cen_pick *pick, cen_request *request,
                                        cen_error *error);

/* The program's own; nothing is allocated. Must stay where it is until the future is done or given up, as future.h says. */
typedef struct cen_mux_pool_request_op {
    /* Done with OK and the reply's address, or with one of the errors above. Cancel is exact and waits for nobody: after true it
     * never completes, and a reply that still comes is dropped. After false it is done, or will be in a moment: with its
     * reply, or, if some thread was just at work on it, with INTERRUPTED. */
    cen_future future;
    /* Payload, size, reply, capacity, deadline and only_if_room are the program's, set after init and before it is asked; and
     * `reply_size` is the answer. Its own future is cenote's. The payload must stay until the asking's future is done. */
    cen_request request;
    cen_pick pick; /* the program's, too */
    /* cenote's */
    cen_route_op routing_;
    cen_mux_pool *pool_;
    uint64_t seen_;
    int64_t tries_;
    CEN_ATOMIC_(uint32_t) stage_;
} cen_mux_pool_request_op;

/* Makes it ready, the first time and each further one. */
CEN_API void cen_mux_pool_request_op_init(cen_mux_pool_request_op *asking);

/* Asks, and returns: asking->future tells how it ended, which may be at once.
 * Errors: INVALID (NULL), MISUSE (it is not ready): then nothing was asked. All others come by the future. */
CEN_API cen_status cen_mux_pool_request_async(cen_mux_pool *pool, cen_mux_pool_request_op *asking);

/* ---- A look at it ------------------------------------------------------------------- */

typedef struct cen_mux_pool_stats {
    size_t size;                   /* sizeof(cen_mux_pool_stats), set by CEN_SIZED */
    uint32_t connections;          /* = up + connecting + down */
    uint32_t up, connecting, down; /* down: lost, and about to be opened again */
    uint64_t opened;               /* connections that were made, ever */
    uint64_t lost;                 /* of these, how many were lost */
    uint64_t failed_opens;         /* attempts in vain */
    uint64_t restarts;             /* of connections, as their supervisor counts them */
    uint64_t registry_starts;      /* how often the registry was started */
    uint32_t waiting;              /* requests that wait for a connection */
    uint64_t in_flight;            /* requests that have one and are not over */
    /* requests that are over, by how they ended; the sum of these is how many there were */
    /* refused: EMPTY or FULL; failed: all else */
    uint64_t answered, lost_requests, timed_out, refused, cancelled, closed, failed;
    uint64_t rerouted; /* requests that were not sent and were routed again, each time counted */
    uint64_t stale;    /* requests that were given a connection known to be lost; none, unless keep_lost */
} cen_mux_pool_stats;

/* Each number was true during the call. Errors: INVALID, FORKED. */
CEN_API cen_status cen_mux_pool_stats_get(cen_mux_pool *pool, cen_mux_pool_stats *out);

/* The tree, and each connection's state, address, requests in flight and last error, as lines of text: into `room` bytes, cut and
 * ended by a zero if there is any room; the answer is how long the whole is. 0 in a forked child. */
CEN_API size_t cen_mux_pool_dump(cen_mux_pool *pool, char *buffer, size_t room);

/* Its parts, as long as it is there; they must not be closed, stopped or freed. The registry is another one each time that it was
 * restarted, and NULL meanwhile: to be asked for anew, and used in haste. Its key for all connections is cen_key_text("up"), and
 * a value is the connection's cen_mux, to be used in a read section only, for a look. */
CEN_API cen_router *cen_mux_pool_router(cen_mux_pool *pool);
CEN_API cen_registry *cen_mux_pool_registry(cen_mux_pool *pool);
CEN_API cen_supervisor *cen_mux_pool_supervisor(cen_mux_pool *pool);  /* the root */
CEN_API cen_supervisor *cen_mux_pool_connections(cen_mux_pool *pool); /* the one below */

#ifdef __cplusplus
}
#endif
#endif
