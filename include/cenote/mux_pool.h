/* SPDX-License-Identifier: MIT */
/*
 * A routing pool: a load-balanced pool of multiplexed connections to one service. Many callers use each connection at
 * the same time. When a connection is lost, it leaves the set of connections to which requests are routed. The
 * connection is then opened again, with back-off, and returns to the set. libcenote-net.
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
 * The pool consists of a tree of supervisors, a registry and a router. The program can inspect all of these:
 *
 *     name                 supervisor, rest for one
 *      ├─ registry           a registry: the connections that are up
 *      └─ connections        supervisor, one for one
 *          ├─ connection 1     connects, registers itself, and ends when it is lost
 *          ├─ connection 2
 *          ...
 *     a router follows the registry: requests are routed to the connections in it
 *
 * If one connection ends, the others are not affected. If the registry ends, all connections are restarted, because
 * their entries are lost with the registry. To its supervisor, a connection is a child that is running from the moment
 * it begins to connect. If the connection cannot be made, the child has failed.
 *
 * If a connection refuses a request because the connection has just been lost, the request has not been sent. It is
 * then routed again. A request that was sent and lost is not routed again, because the other side may have executed it.
 * It fails with LOST, and the program decides whether to send it again.
 *
 * Threads: every function may be called from any thread, with these exceptions. cen_mux_pool_new, cen_mux_pool_close
 * and cen_mux_pool_free wait, and must not be called on the thread of the pool's loop, by its listener, or in a read
 * section. No other call may be in progress when the pool is freed.
 * Fork: in the child, every call returns FORKED and touches nothing.
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

/* What cen_mux_pool_new does if the service is not available. */
typedef enum cen_at_start {
    /* waits until one connection is up; fails with the last error once every connection has failed */
    CEN_AT_START_NEED_ONE = 0,
    CEN_AT_START_EMPTY, /* does not wait: the set is empty at first, and the connections keep trying to connect */
} cen_at_start;

/* Options of a routing pool. In every field, zero means the default, unless noted otherwise. Fields are only ever
 * appended. */
typedef struct cen_mux_pool_options {
    size_t size;                  /* sizeof(cen_mux_pool_options), set by the macro */
    const char *name;             /* copied, cut after 47 bytes; default "mux pool" */
    const char *address;          /* copied; see mux.h; either this or `addresses` is required */
    const char *const *addresses; /* several addresses, copied; the connections use them in turn */
    size_t address_count;         /* length of `addresses` */
    uint32_t connections;         /* number of connections; default 8, at most 65,536 */
    const char *const *names;     /* one name per connection, copied; default "connection 1", ... */
    /* options of every connection; copied; default: defaults. The pool sets name, address, loop, runtime and
     * allocator. */
    const cen_mux_options *mux;

    cen_strategy strategy; /* default cen_strategy_two_choices() */
    /* limits of requests in flight on a connection, as for the members of a router; default none */
    int64_t target_in_flight, max_in_flight;
    /* queue limit: maximum number of requests that wait for a connection; default 1024; CEN_OFF: no limit, CEN_NONE: no
     * request waits */
    int64_t max_waiters;
    /* how long a request may wait for a connection; default CEN_NOW: it fails with EMPTY or FULL immediately */
    cen_deadline wait_deadline;
    /* maximum number of times that a request that was not sent is routed again; default 2, CEN_NONE: never; CEN_OFF is
     * refused */
    int64_t reroutes;

    /* back-off before lost connections and the registry are restarted, as for the children of a supervisor */
    int64_t backoff_initial_ns, backoff_max_ns, backoff_reset_ns;
    /* maximum number of restarts of all connections within window_ns; default CEN_OFF: the pool never gives up;
     * CEN_NONE: it gives up at the first loss or failure */
    int32_t max_restarts;
    int64_t window_ns; /* default 5 s */
    /* how long a connection that must end waits for outstanding replies; default 5 s, CEN_OFF: no limit, CEN_NONE: not
     * at all */
    int64_t drain_ns;

    cen_at_start at_start; /* default CEN_AT_START_NEED_ONE */
    bool keep_lost;        /* for demonstrations: a lost connection stays in the set until it is opened again */

    /* Called with the events of connections: CONNECTION_UP, CONNECTION_DOWN and CONNECTION_FAILED (cenote/events.h).
     * These calls are made on the loop's thread, in order for each connection, and the listener must not wait there. It
     * is also called with GAVE_UP, on a thread of the runtime, when the pool has given up and is closed; status, code
     * and text are those of the last failure. No event is left out, so `missed` is always 0. */
    void (*listener)(void *argument, const cen_event *event, uint64_t missed);
    void *argument; /* passed to the listener */

    cen_loop *loop;                 /* default the process's own */
    cen_runtime *runtime;           /* default the process's own */
    const cen_allocator *allocator; /* default malloc */
} cen_mux_pool_options;

/* Options with the given fields: CEN_MUX_POOL_OPTIONS(.name = "search"). All others are zero. */
#define CEN_MUX_POOL_OPTIONS(...) CEN_OPTIONS_(cen_mux_pool_options, __VA_ARGS__)

/* ---- Creating and freeing ------------------------------------------------------------ */

/* Create a routing pool, and begin to connect. With any status other than OK, there is nothing to free.
 *
 * Blocking: until one connection is up, or every connection has failed once (options.at_start).
 * Returns:
 *   OK         *out is the pool
 *   INVALID    out is NULL, or an option is invalid; the text names it
 *   EXISTS     two connections have the same name
 *   NO_MEMORY  out of memory
 *   SYSTEM     no thread or descriptor could be created for it, or no connection could be made (see others)
 *   FORKED     the loop or the runtime belongs to the parent process
 *   MISUSE     called on the loop's thread, or in a read section
 *   others     with CEN_AT_START_NEED_ONE: the status of the last connection attempt, as cen_mux_open
 */
CEN_API cen_status cen_mux_pool_new(const cen_mux_pool_options *options, cen_mux_pool **out, cen_error *error);

/* Report of a close. */
typedef struct cen_mux_pool_report {
    size_t size;     /* sizeof(cen_mux_pool_report), set by CEN_SIZED */
    uint64_t left;   /* requests that had no reply by the deadline, and failed with CLOSED */
    uint32_t waited; /* requests that waited for a connection, and failed with CLOSED */
} cen_mux_pool_report;

/* Close the pool: refuse new requests, wait for those in flight, and then stop the tree, with the connections first and
 * the registry last. *report, if not NULL, is filled in if the status is OK or TIMEOUT.
 *
 * Blocking: until no request is in flight, or until the deadline (CEN_DEFAULT: 5 s).
 * Returns:
 *   OK       all requests have ended
 *   TIMEOUT  requests failed with CLOSED at the deadline; error->text says how many
 *   CLOSED   the pool is already closed, or is being closed
 *   INVALID  pool is NULL, or report->size is not valid
 *   FORKED   the pool belongs to the parent process
 *   MISUSE   called on the loop's thread, or in a read section; nothing changes
 */
CEN_API cen_status cen_mux_pool_close(cen_mux_pool *pool, cen_deadline deadline, cen_mux_pool_report *report,
                                      cen_error *error);

/* Free the pool. If it is not closed, it is closed first, with CEN_NOW. NULL is allowed.
 * Returns:
 *   OK      the pool is freed, or was NULL
 *   MISUSE  called on the loop's thread, or in a read section; nothing changes
 *   FORKED  the pool belongs to the parent process; nothing changes
 */
CEN_API cen_status cen_mux_pool_free(cen_mux_pool *pool);

/* ---- Requests ---------------------------------------------------------------------- */

/* Send a request over one of the connections, and wait for its reply. `hint` is that of a route (strategy.h); NULL:
 * none. error->text says why the request failed. error->cause is CEN_CAUSE_QUEUE_FULL if too many requests are waiting.
 *
 * Ownership: the payload must stay in place until this returns.
 * Blocking: until the reply has arrived, or until the request's deadline, which includes the wait for a connection.
 * Returns:
 *   OK         the reply is in request->reply
 *   EMPTY      no connection is up
 *   FULL       all connections are full, or too many requests are waiting; or the reply is larger than its buffer
 *   TIMEOUT    the request's deadline or options.wait_deadline passed first
 *   CLOSED     the pool is closed
 *   LOST       the connection was lost after the request was sent; or the request was not sent, and the limit of
 *              options.reroutes was reached
 *   INVALID    pool or request is NULL, the payload is too large or missing, or the codec refuses it
 *   MISUSE     the request was used before and not initialised again, or has a `done`; this was called on the loop's
 *              thread; or the request would have to wait for a connection, and the thread is in a read section
 *   NO_MEMORY  out of memory, for the request or its reply
 *   SYSTEM     the request would have to wait for a connection, and the timer thread could not be started
 *   FORKED     the pool belongs to the parent process
 */
CEN_API cen_status cen_mux_pool_request(cen_mux_pool *pool, const cen_route_hint *hint, cen_request *request,
                                        cen_error *error);

/* An operation: a caller-owned struct. cen_mux_pool_request_op_init(op, done, executor) initialises it, and
 * cen_future_cancel(&op.future) cancels it. Nothing is allocated for it. It must stay in place from the call that
 * starts it until its future has completed or has been cancelled: see future.h.
 *
 * A cancel is exact and does not wait. If it returns true, the operation never completes, and a reply that arrives
 * later is dropped. If it returns false, the operation has completed, or will complete shortly: with its reply, or with
 * INTERRUPTED if a thread was working on it. */
typedef struct cen_mux_pool_request_op {
    /* If it completes with OK, its value is the reply's address. Otherwise, its status is one of those of
     * cen_mux_pool_request, or INTERRUPTED after a cancel. */
    cen_future future;
    /* After init, the program sets payload, size, reply, capacity, deadline and only_if_room. reply_size is the result.
     * The request's own future is private. The payload must stay in place until op.future has completed or has been
     * cancelled. */
    cen_request request;
    cen_route_hint hint; /* set by the program, like the request; all zeros mean no hint */
    /* private */
    void (*done_)(struct cen_mux_pool_request_op *op);
    cen_route_op routing_;
    cen_mux_pool *pool_;
    uint64_t seen_;
    int64_t tries_;
    CEN_ATOMIC_(uint32_t) stage_;
} cen_mux_pool_request_op;

/* Initialise an operation before its first use, and again before each further use. When the future completes, `done` is
 * called exactly once, on the executor. If `done` and `executor` are both NULL, the program waits for op->future, polls
 * it, or puts it into a group. */
CEN_API void cen_mux_pool_request_op_init(cen_mux_pool_request_op *op, void (*done)(cen_mux_pool_request_op *op),
                                          cen_executor *executor);

/* Send a request as cen_mux_pool_request does, but without waiting. The future completes with the result, possibly
 * before this returns. Every status that is not listed here, including FORKED, is delivered through the future.
 *
 * Blocking: never waits.
 * Returns:
 *   OK       the future will complete, or already has
 *   INVALID  pool or op is NULL, or `done` has no executor; the future does not complete
 *   MISUSE   the operation was used before and not initialised again; the future does not complete
 */
CEN_API cen_status cen_mux_pool_request_async(cen_mux_pool *pool, cen_mux_pool_request_op *op);

/* ---- Stats -------------------------------------------------------------------------- */

/* Stats of a routing pool. */
typedef struct cen_mux_pool_stats {
    size_t size;                   /* sizeof(cen_mux_pool_stats), set by CEN_SIZED */
    uint32_t connections;          /* = up + connecting + down */
    uint32_t up, connecting, down; /* down: lost or failed, and about to be opened again */
    uint64_t opened;               /* connections made so far */
    uint64_t lost;                 /* of these, connections that were lost */
    uint64_t failed_opens;         /* connection attempts that failed */
    uint64_t restarts;             /* restarts of connections, as their supervisor counts them */
    uint64_t registry_starts;      /* how often the registry was started */
    uint32_t waiting;              /* requests that wait for a connection */
    uint64_t in_flight;            /* requests that have a connection and have not ended */
    /* requests that have ended, by outcome; each of them is counted in exactly one of these fields. refused: ended with
     * EMPTY or FULL; failed: ended with any other status */
    uint64_t answered, lost_requests, timed_out, refused, cancelled, closed, failed;
    uint64_t rerouted; /* how often requests that were not sent were routed again */
    uint64_t stale;    /* requests that were routed to a connection known to be lost; 0 unless keep_lost is set */
} cen_mux_pool_stats;

/* Read the stats. Each number was correct at some moment during the call.
 * Returns:
 *   OK       *out is filled in
 *   INVALID  pool or out is NULL, or out->size is not valid
 *   FORKED   the pool belongs to the parent process
 */
CEN_API cen_status cen_mux_pool_stats_get(cen_mux_pool *pool, cen_mux_pool_stats *out);

/* Write the tree, and each connection's state, address, requests in flight and last error, as lines of text. Writes up
 * to `room` bytes to `buffer`: the text is cut to fit, and ends with a zero if room is not 0. Return the length of the
 * whole text, without the zero; 0 for NULL and in a forked child. */
CEN_API size_t cen_mux_pool_dump(cen_mux_pool *pool, char *buffer, size_t room);

/* Return a part of the pool. It is valid as long as the pool exists. Return NULL for NULL and in a forked child. The
 * parts must not be closed, stopped or freed. cen_mux_pool_supervisor returns the root of the tree, and
 * cen_mux_pool_connections returns the supervisor below it.
 *
 * Each restart of the registry creates a new registry, and in between, cen_mux_pool_registry returns NULL. Therefore,
 * get the registry again for each use, and use it only briefly. It contains the connections under the key
 * cen_key_text("up"). Each value is a connection's cen_mux, which may be inspected only in a read section. */
CEN_API cen_router *cen_mux_pool_router(cen_mux_pool *pool);
CEN_API cen_registry *cen_mux_pool_registry(cen_mux_pool *pool);
CEN_API cen_supervisor *cen_mux_pool_supervisor(cen_mux_pool *pool);
CEN_API cen_supervisor *cen_mux_pool_connections(cen_mux_pool *pool);

#ifdef __cplusplus
}
#endif
#endif
