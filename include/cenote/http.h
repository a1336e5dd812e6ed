/* SPDX-License-Identifier: MIT */
/*
 * An HTTP/2 client: many concurrent requests over a few connections, balanced by a router. Part of libcenote-curl.
 *
 *     cen_http *http;
 *     cen_http_options options = CEN_HTTP_OPTIONS(.name = "search", .url = "http://127.0.0.1:8080", .loops = 4);
 *     if (cen_http_new(&options, &http, &error) != CEN_OK) die(error.text);
 *
 *     cen_http_request request = CEN_HTTP_REQUEST(.path = "/items?id=7", .deadline = cen_in_ms(500));
 *     cen_http_reply *reply;
 *     if (cen_http_fetch(http, &request, &reply, &error) == CEN_OK) {
 *         printf("%ld %s\n", reply->status, reply->body);
 *         cen_http_reply_free(reply);
 *     }
 *
 *     cen_future future;                                            // or without waiting
 *     cen_future_init(&future);
 *     cen_future_then(&future, on_reply, executor);
 *     cen_http_fetch_async(http, &request, &future, &error);                // future.value is the reply
 *
 *     cen_http_close(http, cen_in_s(5), NULL, NULL);
 *     cen_http_free(http);
 *
 * Each connection has a thread with an event loop and a curl multi handle, and is a backend of a router (a cen_member).
 * Each request is a stream on a connection, and counts as one use of the member.
 *
 * A connection that is lost goes down in the router, and requests that were sent on it fail with LOST. Its loop
 * reconnects it with the warm-up request (curl.h), immediately at first and then with back-off. A request that was
 * certainly not sent is routed again. A request that may have been sent is not routed again, because the server may
 * have processed it; the program decides whether to retry it.
 *
 * Threads: every function may be called from any thread, except close and free. These wait for all requests to
 * complete, so they must not be called from an inline completion callback or on a loop's thread. Nor may cen_http_fetch
 * be called on a loop's thread. No other call may be in progress when the client is freed.
 * Fork: in a child, every call returns FORKED and touches nothing, except that cen_http_free closes the child's copies
 * of the sockets.
 */
#ifndef CENOTE_HTTP_H
#define CENOTE_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/curl.h>
#include <cenote/deadline.h>
#include <cenote/future.h>
#include <cenote/router.h>
#include <cenote/runtime.h>
#include <cenote/sized.h>
#include <cenote/status.h>
#include <cenote/strategy.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cen_http cen_http;

/* In every field, zero means the default. Fields are only ever appended. All strings are copied. */
typedef struct cen_http_options {
    size_t size;      /* sizeof(cen_http_options), set by the macro */
    const char *name; /* default "http" */
    const char *url;  /* the server's URL, as in cen_curl_options; default the URL of `site` */
    /* Other options of the server; default NULL: their defaults. The version is always HTTP/2. A connection always
     * begins with a warm-up request; CEN_CURL_COLD means a HEAD request. total_timeout_ns is ignored. `credentials` is
     * called on the loop's thread. */
    const cen_curl_options *site;
    uint32_t loops;   /* number of connections, each with its own thread; default 2, at most 256 */
    int64_t streams;  /* maximum number of concurrent requests on a connection; default 100, at most 10000 */
    size_t max_reply; /* maximum size of a reply's body in bytes; default 1 MiB */

    cen_strategy strategy; /* for load balancing; default two choices */
    /* maximum number of requests that wait for room on a connection; default 1024; CEN_OFF: no limit, CEN_NONE: no
     * request waits */
    int64_t max_waiters;
    cen_deadline default_deadline; /* for requests that do not set a deadline; default 30 s */
    int64_t reroutes;              /* maximum retries of a request that was not sent; default 10, CEN_NONE: none */

    int64_t backoff_initial_ns; /* upper bound of the random pause after a failed connection attempt; default 100 ms */
    int64_t backoff_max_ns;     /* the bound doubles after each further failure, up to this maximum; default 10 s */
    /* how long a connection without requests may be silent before it is probed; default 10 s, CEN_OFF: never. A
     * connection on which a request missed its deadline is probed immediately. */
    int64_t keepalive_ns;
    /* cen_http_new does not wait for a connection. Default: it waits for the first connection, and fails if none can be
     * made. */
    bool starts_empty;

    /* Called when a connection comes up or goes down, like the router's `changed`; default none. */
    void (*changed)(void *argument, cen_member *member, cen_member_state from, cen_member_state to,
                    const cen_error *cause);
    void *argument;
    cen_runtime *runtime; /* for the deadlines of waiting requests; default the process's own */
} cen_http_options;

/* Options with the given fields set and all others zero. */
#define CEN_HTTP_OPTIONS(...) CEN_OPTIONS_(cen_http_options, __VA_ARGS__)

/* Create a client and start its loops.
 *
 * Blocking: until the first connection is up, unless options.starts_empty is set.
 * Returns:
 *   OK         *out is the client
 *   INVALID    options or out is NULL, or an option is not allowed; the text names it
 *   NO_MEMORY  out of memory
 *   SYSTEM     a thread cannot be started, or curl cannot be initialised
 *   DRIVER     the server does not speak HTTP/2; also as for an open in curl.h
 *   others     no connection could be made; as for an open in curl.h
 */
CEN_API cen_status cen_http_new(const cen_http_options *options, cen_http **out, cen_error *error);

/* Report of a close. */
typedef struct cen_http_report {
    size_t size;     /* sizeof(cen_http_report), set by CEN_SIZED */
    uint64_t left;   /* requests that had no reply by the deadline, and failed with CLOSED */
    uint32_t waited; /* requests that waited for room, and failed with CLOSED */
} cen_http_report;

/* Close the client: refuse new requests, wait for those in flight, fail the rest with CLOSED, and end the loops. The
 * report may be NULL.
 *
 * Blocking: until the deadline (CEN_DEFAULT: 5 s).
 * Returns:
 *   OK       all requests in flight have completed
 *   TIMEOUT  some requests had no reply by the deadline and failed with CLOSED
 *   CLOSED   the client is already closed, or is being closed
 *   INVALID  http is NULL, or report->size is not valid
 *   MISUSE   called on a loop's thread
 *   FORKED   the client belongs to the parent process
 */
CEN_API cen_status cen_http_close(cen_http *http, cen_deadline deadline, cen_http_report *report, cen_error *error);

/* Free the client. If it is not closed, it is closed first, with CEN_NOW. NULL is allowed.
 *
 * Returns:
 *   OK      it is freed; in the child of a fork, its copies of the sockets are closed
 *   MISUSE  called on a loop's thread; nothing changes
 */
CEN_API cen_status cen_http_free(cen_http *http);

/* ---- Requests ------------------------------------------------------------------------------- */

/* A request. In every field, zero means the default. Fields are only ever appended. */
typedef struct cen_http_request {
    size_t size;                /* sizeof(cen_http_request), set by the macro */
    const char *method;         /* default GET */
    const char *path;           /* begins with a slash */
    const char *const *headers; /* "Name: value", after those of the site; ends with NULL; default none */
    const void *body;
    size_t body_size;
    size_t max_reply;      /* maximum size of the reply's body in bytes; default the client's */
    cen_deadline deadline; /* for the whole request, including the wait for room; default the client's */
    cen_route_hint hint;   /* which connection to use, as for a route */
} cen_http_request;

/* A request with the given fields set and all others zero. */
#define CEN_HTTP_REQUEST(...) CEN_OPTIONS_(cen_http_request, __VA_ARGS__)

/* A reply. */
typedef struct cen_http_reply {
    long status;      /* the HTTP status: 200, 404, ... */
    const char *body; /* ends with a zero that `size` does not count */
    size_t size;
    const char *type;   /* Content-Type; "" if there is none */
    const char *member; /* the name of the connection that carried the request */
    int64_t took_ns;    /* from the call of fetch until the reply was complete */
} cen_http_reply;

/* Send a request without waiting. The future must have been initialised. It completes with OK and with the reply as its
 * value, whatever the HTTP status is, or it fails with:
 *   TIMEOUT    the deadline passed first
 *   LOST       the connection ended after the request was, or may have been, sent; or the limit of reroutes was reached
 *   FULL       the body is larger than max_reply; or, with cause CEN_CAUSE_QUEUE_FULL, max_waiters requests are waiting
 *   EMPTY      no connection is up, and max_waiters is CEN_NONE
 *   DOWN       the name of the server could not be looked up
 *   CLOSED     the client was closed
 *   NO_MEMORY  out of memory
 *   DRIVER     any other error of curl; error->code is its number
 *
 * Ownership: the request is copied. The reply belongs to the caller; free it with cen_http_reply_free.
 * Callbacks: after cen_future_cancel has returned true, the future never completes. A stream that has begun is reset
 * within about 50 ms. A request that waits for room leaves the wait queue within a second.
 * Returns:
 *   OK         the future will complete
 *   INVALID    http, request or future is NULL, the request's size is wrong, or its path has no slash
 *   MISUSE     the future was promised or cancelled before
 *   NO_MEMORY  out of memory
 *   FORKED     the client belongs to the parent process
 */
CEN_API cen_status cen_http_fetch_async(cen_http *http, const cen_http_request *request, cen_future *future,
                                        cen_error *error);

/* Send a request and wait for its reply.
 *
 * Ownership: the reply belongs to the caller. Free it with cen_http_reply_free.
 * Blocking: until the reply has arrived, or until the request's deadline.
 * Returns:
 *   OK      *out is the reply, whatever its HTTP status
 *   MISUSE  called on a loop's thread
 *   others  as cen_http_fetch_async and its future
 */
CEN_API cen_status cen_http_fetch(cen_http *http, const cen_http_request *request, cen_http_reply **out,
                                  cen_error *error);

/* Free a reply. NULL is allowed. */
CEN_API void cen_http_reply_free(cen_http_reply *reply);

/* ---- Statistics -------------------------------------------------------------------------------- */

/* Stats of a client. asked = answered + lost + timed_out + refused + cancelled + closed + failed + under_way */
typedef struct cen_http_stats {
    size_t size; /* sizeof(cen_http_stats), set by CEN_SIZED */
    uint32_t loops, up;
    uint64_t connects;                                                      /* connections made so far */
    uint64_t failures;                                                      /* failed connection attempts */
    uint64_t losses;                                                        /* connections that went down */
    uint64_t asked;                                                         /* requests so far */
    uint64_t answered, lost, timed_out, refused, cancelled, closed, failed; /* by outcome; refused: EMPTY, FULL */
    uint64_t under_way;                                                     /* requests not completed yet */
    uint64_t rerouted;                                                      /* retries of requests that were not sent */
} cen_http_stats;

/* Read the stats of the client. The numbers, except for `up`, are a consistent snapshot.
 *
 * Returns:
 *   OK       *out is filled in
 *   INVALID  http or out is NULL, or out->size is not valid
 *   FORKED   the client belongs to the parent process
 */
CEN_API cen_status cen_http_stats_get(cen_http *http, cen_http_stats *out);

/* Return the client's router, which can be used to read the state of its members. The router is valid until the client
 * is freed. Return NULL for NULL. */
CEN_API cen_router *cen_http_router(cen_http *http);

#ifdef __cplusplus
}
#endif
#endif
