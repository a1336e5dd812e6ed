/* SPDX-License-Identifier: MIT */
/*
 * An HTTP/2 client: many requests at once over few connections. Each connection has a thread with a loop of its own, a multi
 * handle of curl, and is a member of a router; a stream is a use of it. libcenote-curl.
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
 * A connection that is lost goes down in the router, what was sent on it fails with LOST, and it is made anew: at once, and
 * then with back-off. Only its own loop makes it, by the request that warms (curl.h). A request that was
 * surely not sent is routed again; one that may have been is not, since the server may have done what it asks: the program decides.
 *
 * Threads: everything from any thread, except close and free, which wait for all requests to be told: they are not called from
 * within an inline `done` of one, on a loop's thread for instance, where fetch cannot wait either. Nobody is in a call
 * with the client when it is freed.
 * Fork: in a child every call answers FORKED and touches nothing; free closes the child's copies of the sockets.
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

/* Zero means default in every field. Fields are only ever appended. All texts are copied. */
typedef struct cen_http_options {
    size_t size;      /* sizeof(cen_http_options), set by the macro */
    const char *name; /* default "http" */
    const char *url;  /* where requests go, as in cen_curl_options; default that of `site` */
    /* The other options of the site; default: defaults. The version is always HTTP/2, and a connection is always made warm,
     * by HEAD if it says CEN_CURL_COLD; total_timeout_ns means nothing here. Credentials are asked for on the loop's thread. */
    const cen_curl_options *site;
    uint32_t loops;   /* connections, each with a thread; default 2, at most 256 */
    int64_t streams;  /* requests at a time on one, at most; default 100, at most 10000 */
    size_t max_reply; /* bytes of a reply's body, at most; default 1 MiB */

    cen_strategy strategy; /* default two choices */
    /* requests that wait for room, at most; default 1024; CEN_OFF: no limit, CEN_NONE: none waits */
    int64_t max_waiters;
    cen_deadline default_deadline; /* of a request that has none, all of it; default 30 s */
    int64_t reroutes; /* how often a request that was not sent is routed again; default 10, CEN_NONE: never */

    int64_t backoff_initial_ns; /* after a connection could not be made: up to this, at random, ... */
    int64_t backoff_max_ns;     /* ... and twice as long with each further time, up to this; default 100 ms and 10 s */
    /* a connection that nothing came from for so long, and that has nothing to do, is asked whether it is there;
     * default 10 s, CEN_OFF: never. One on which a request was too late is asked at once. */
    int64_t keepalive_ns;
    /* Does not wait for the first connection. Default: cen_http_new waits until one is there, and fails if none can be made. */
    bool starts_empty;

    /* As the router's: a connection went up or down. */
    void (*changed)(void *argument, cen_member *member, cen_member_state from, cen_member_state to,
                    const cen_error *cause);
    void *argument;
    cen_runtime *runtime; /* keeps the time of those who wait; default the process' own */
} cen_http_options;

#define CEN_HTTP_OPTIONS(...) CEN_OPTIONS_(cen_http_options, __VA_ARGS__)

/* Errors: INVALID (the text names the field), NO_MEMORY, SYSTEM (no thread), and why no connection could be made: as an opening
 * of curl.h, and DRIVER if the server does not speak HTTP/2. */
CEN_API cen_status cen_http_new(const cen_http_options *options, cen_http **out, cen_error *error);

typedef struct cen_http_report {
    size_t size;     /* sizeof(cen_http_report), set by CEN_SIZED */
    uint64_t left;   /* requests that had no reply by the deadline, and were told CLOSED */
    uint32_t waited; /* requests that waited for room and were told CLOSED */
} cen_http_report;

/* Refuses from now on, waits for what is in flight until the deadline (CEN_DEFAULT: 5 s), tells the rest CLOSED, and ends the
 * loops. The report may be NULL. Errors: TIMEOUT (some were told CLOSED), CLOSED (it is, or is being closed), INVALID, MISUSE,
 * FORKED. */
CEN_API cen_status cen_http_close(cen_http *http, cen_deadline deadline, cen_http_report *report, cen_error *error);

/* Closes it, if that has not been done, with CEN_NOW, and gives everything back. NULL is allowed. Errors: MISUSE. */
CEN_API cen_status cen_http_free(cen_http *http);

/* ---- Requests ------------------------------------------------------------------------------- */

typedef struct cen_http_request {
    size_t size;                /* sizeof(cen_http_request), set by the macro */
    const char *method;         /* default GET */
    const char *path;           /* begins with a slash */
    const char *const *headers; /* "Name: value", beside the site's; ends with NULL; default none */
    const void *body;
    size_t body_size;
    size_t max_reply;      /* bytes of the reply's body, at most; default the client's */
    cen_deadline deadline; /* for all of it, waiting for room included; default the client's */
    cen_pick pick;         /* as for a route */
} cen_http_request;

#define CEN_HTTP_REQUEST(...) CEN_OPTIONS_(cen_http_request, __VA_ARGS__)

typedef struct cen_http_reply {
    long status;      /* 200, 404, ... */
    const char *body; /* ends with a zero that size does not count */
    size_t size;
    const char *type;   /* of the body; "" if the server does not say */
    const char *member; /* the name of the connection that it came by */
    int64_t took_ns;    /* from the ask to the end */
} cen_http_reply;

/* Asks, and returns; the request need not stay. The future, which was made ready, is done with OK and the reply, which is to be
 * freed, whatever the server answered; or with TIMEOUT, LOST (the connection ended), FULL (the body is too large; or, with the
 * error's cause QUEUE_FULL, too many wait), EMPTY (no connection is up, and none may be waited for), CLOSED, NO_MEMORY, DRIVER
 * (curl could not do it; code is its number). cen_future_cancel is exact: after true nothing is told, a stream that was begun is
 * reset within some 50 ms, and one that waits for room leaves the line within a second.
 * Errors: INVALID, MISUSE (the future is not ready), NO_MEMORY, FORKED: then nothing was asked, and nothing is told. */
CEN_API cen_status cen_http_fetch_async(cen_http *http, const cen_http_request *request, cen_future *future,
                                        cen_error *error);

/* The same, and waits. Errors: all of the above, and MISUSE on a loop's thread. */
CEN_API cen_status cen_http_fetch(cen_http *http, const cen_http_request *request, cen_http_reply **out,
                                  cen_error *error);

/* NULL is allowed. */
CEN_API void cen_http_reply_free(cen_http_reply *reply);

/* ---- A look at it ------------------------------------------------------------------------------ */

/* asked = answered + lost + timed_out + refused + cancelled + closed + failed + under_way */
typedef struct cen_http_stats {
    size_t size; /* sizeof(cen_http_stats), set by CEN_SIZED */
    uint32_t loops, up;
    uint64_t connects;                                                      /* connections that were made, ever */
    uint64_t failures;                                                      /* attempts in vain */
    uint64_t losses;                                                        /* connections that went down */
    uint64_t asked;                                                         /* requests, ever */
    uint64_t answered, lost, timed_out, refused, cancelled, closed, failed; /* how they ended; refused: EMPTY or FULL */
    uint64_t under_way;                                                     /* not over */
    uint64_t rerouted; /* requests that were not sent and were routed again, each time counted */
} cen_http_stats;

/* All numbers were true at one moment, but up. Errors: INVALID, FORKED. */
CEN_API cen_status cen_http_stats_get(cen_http *http, cen_http_stats *out);

/* The router, as long as the client is there: for a look at its members. */
CEN_API cen_router *cen_http_router(cen_http *http);

#ifdef __cplusplus
}
#endif
#endif
