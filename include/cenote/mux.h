/* SPDX-License-Identifier: MIT */
/*
 * A multiplexed connection: many requests over one TCP or Unix socket, replies in any order. Part of libcenote-net.
 *
 *     cen_mux *mux;
 *     cen_mux_options options = CEN_MUX_OPTIONS(.address = "127.0.0.1:7000", .codec = cen_codec_binary());
 *     if (cen_mux_open(&options, &mux, &error) != CEN_OK) die(error.text);
 *
 *     cen_request request;                                          // see request.h
 *     cen_request_init(&request, NULL, NULL);
 *     request.payload = "ping", request.size = 4;
 *     if (cen_mux_request(mux, &request, &error) == CEN_OK) use(request.reply, request.reply_size);
 *     cen_request_free_reply(&request);
 *
 *     cen_mux_close(mux, cen_in_s(5), NULL);
 *     cen_mux_free(mux);
 *
 * To send a request without waiting, use cen_mux_request_async: request.future completes when the reply has arrived.
 *
 * When a connection is lost, all requests in flight fail immediately with LOST and the cause, and so do all later
 * requests. A connection does not reconnect by itself: its owner learns of the loss through cen_mux_watch, frees the
 * connection and opens another.
 *
 * A thread that waits for its reply reads the socket itself, also on behalf of other waiters. The loop's thread reads
 * when no thread is waiting.
 *
 * Threads: every function may be called from any thread. Functions that wait must not be called on the loop's own
 * thread. cen_mux_free must not be called in an inline `done` of a request on the same connection.
 * Fork: in the child, every function returns FORKED. cen_mux_free frees the child's memory and its copy of the socket.
 * The parent is not affected.
 */
#ifndef CENOTE_MUX_H
#define CENOTE_MUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/allocator.h>
#include <cenote/codec.h>
#include <cenote/deadline.h>
#include <cenote/future.h>
#include <cenote/loop.h>
#include <cenote/request.h>
#include <cenote/runtime.h>
#include <cenote/sized.h>
#include <cenote/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cen_mux cen_mux;

/* In every field, zero means the default, unless noted otherwise. Fields are only ever appended. */
typedef struct cen_mux_options {
    size_t size;         /* sizeof(cen_mux_options), set by the macro */
    const char *name;    /* copied; default the address */
    const char *address; /* copied; "host:port", "[v6]:port" or "unix:/path". Required. */
    cen_codec codec;     /* default cen_codec_binary() */

    cen_deadline connect_deadline; /* for connecting, counted from the call of open; default 10 s */
    cen_deadline default_deadline; /* for requests without a deadline; default 30 s */

    uint32_t max_in_flight; /* maximum number of requests in flight; default 1024, at most 2^20 */
    /* maximum number of requests that wait for room; further requests fail with FULL; default 1024, CEN_OFF: no limit,
     * CEN_NONE: no request waits */
    int64_t max_waiters;
    size_t max_payload; /* maximum size of a request in bytes; larger ones are INVALID; default 1 MiB */
    size_t max_reply;   /* maximum size of a reply in bytes; a larger one ends the connection; default 1 MiB */
    size_t max_output;  /* maximum number of unwritten bytes; above this limit, requests wait; default 256 KiB */
    bool loop_reads;    /* only the loop reads, even while threads wait for replies */
    /* how long a TCP server may be silent before it is probed (TCP keep-alive). If another keepalive_ns passes without
     * an answer, the connection is lost. Default 30 s, CEN_OFF: no probes. */
    int64_t keepalive_ns;

    cen_loop *loop;       /* default the process's own */
    cen_runtime *runtime; /* handles deadlines; looks up names on a helper or in its poll; default the process's own */
    const cen_allocator *allocator; /* default malloc */
} cen_mux_options;

/* Options with the given fields set and all others zero. */
#define CEN_MUX_OPTIONS(...) CEN_OPTIONS_(cen_mux_options, __VA_ARGS__)

/* ---- Open and close --------------------------------------------------------------- */

/* Open a connection and wait until it is connected. If a name has several addresses, they are tried one after the
 * other, each with its share of the remaining time.
 *
 * Blocking: until options.connect_deadline.
 * Returns:
 *   OK         *out is the connection; in all other cases, there is nothing to free
 *   TIMEOUT    options.connect_deadline passed first
 *   SYSTEM     the text names the address and the system's error; error->code is errno, or 0
 *   INVALID    out is NULL, or an option is not allowed; the text names it
 *   NO_MEMORY  out of memory
 *   MISUSE     called on the loop's own thread
 *   FORKED     the loop or the runtime belongs to the parent process
 */
CEN_API cen_status cen_mux_open(const cen_mux_options *options, cen_mux **out, cen_error *error);

/* Begin to open a connection without waiting. `opened` completes with the connection as its value, or fails as
 * cen_mux_open does; it may be cancelled. Until then, requests fail with MISUSE; if the open has failed, they fail with
 * LOST.
 *
 * Ownership: after OK, the connection must be freed, even if `opened` fails.
 * Returns:
 *   OK      the open has begun
 *   MISUSE  the future was promised or cancelled before
 *   others  as cen_mux_open; nothing was started
 */
CEN_API cen_status cen_mux_open_async(const cen_mux_options *options, cen_mux **out, cen_future *opened,
                                      cen_error *error);

/* Close the connection: refuse new requests with CLOSED, wait for those in progress, fail the rest with CLOSED, and end
 * the connection. When this returns, the completion callback of a request whose reply has arrived may not have run yet.
 *
 * Blocking: until the deadline (CEN_DEFAULT: 5 s). On the loop's own thread, the call does not wait, as if the deadline
 * were CEN_NOW.
 * Returns:
 *   OK       all requests have completed
 *   TIMEOUT  some requests failed with CLOSED at the deadline; the text says how many
 *   CLOSED   the connection is already closed, or is being closed
 *   LOST     the connection was lost, or never opened; *error contains the cause
 *   INVALID  mux is NULL
 *   FORKED   the connection belongs to the parent process
 */
CEN_API cen_status cen_mux_close(cen_mux *mux, cen_deadline deadline, cen_error *error);

/* Free the connection. If it is not closed, it is closed first, with CEN_NOW. Calls of cen_mux_request that are still
 * waiting first return CLOSED. Apart from these calls, no call may be in progress or begin. On the loop's own thread,
 * this function returns before the memory is freed. NULL is allowed. */
CEN_API void cen_mux_free(cen_mux *mux);

/* Complete `ended` when the connection ends, or shortly after this call if the connection has already ended: with OK if
 * this side closed it; with LOST and the cause if it was lost; or with the error of the open that failed. There can be
 * only one such future at a time. It may be cancelled.
 *
 * Callbacks: an inline `done` runs on the loop's thread and may free the connection.
 * Returns:
 *   OK       `ended` will complete
 *   MISUSE   the future was promised or cancelled before, or another future is already watching
 *   INVALID  mux or ended is NULL
 *   FORKED   the connection belongs to the parent process
 */
CEN_API cen_status cen_mux_watch(cen_mux *mux, cen_future *ended);

/* ---- Requests ---------------------------------------------------------------------- */

/* Send a request and wait for its reply. The returned status is also the status of request->future.
 *
 * Blocking: until the reply has arrived, or until the deadline of the request.
 * Returns:
 *   OK         the reply is in request->reply
 *   TIMEOUT    the deadline passed first
 *   LOST       the connection is lost, or could not be opened; the text states the cause
 *   CLOSED     this side has closed the connection
 *   FULL       there is no room, and max_waiters requests are already waiting or only_if_room is set; or the reply is
 *              larger than its buffer
 *   INVALID    mux or request is NULL, the payload is too large or missing, or the codec refuses it
 *   MISUSE     the request was used before and not initialised again, or has a `done`; the connection is not open yet;
 *              or this was called on the loop's own thread
 *   NO_MEMORY  out of memory, for the request or its reply
 *   FORKED     the connection belongs to the parent process
 */
CEN_API cen_status cen_mux_request(cen_mux *mux, cen_request *request, cen_error *error);

/* Send a request without waiting. request->future completes as described in request.h.
 *
 * Returns:
 *   OK         the future will complete; in all other cases, nothing was sent, and the future will not complete
 *   FULL       there is no room, and max_waiters requests are already waiting or only_if_room is set
 *   LOST       the connection is lost, or could not be opened; the text states the cause
 *   CLOSED     this side has closed the connection
 *   INVALID    as cen_mux_request, or the request has a `done` and no executor
 *   MISUSE     the request was used before and not initialised again, or the connection is not open yet
 *   NO_MEMORY  out of memory
 *   FORKED     the connection belongs to the parent process
 */
CEN_API cen_status cen_mux_request_async(cen_mux *mux, cen_request *request, cen_error *error);

/* Send several requests without waiting, in this order and in one write. The first request that fails ends the call.
 * *asked is the number of requests before it, which were sent.
 *
 * Returns:
 *   OK      all were sent
 *   others  as cen_mux_request_async, for the first request that failed
 */
CEN_API cen_status cen_mux_request_all_async(cen_mux *mux, cen_request *const requests[], size_t count, size_t *asked,
                                             cen_error *error);

/* ---- State and statistics ------------------------------------------------------------ */

/* State of a connection. */
typedef enum cen_mux_state {
    CEN_MUX_OPENING = 0,
    CEN_MUX_OPEN,
    CEN_MUX_CLOSING, /* waiting for requests in progress */
    CEN_MUX_ENDED,   /* closed, lost, or never opened */
} cen_mux_state;

/* Stats of a connection. */
typedef struct cen_mux_stats {
    size_t size; /* sizeof(cen_mux_stats), set by CEN_SIZED */
    cen_mux_state state;
    uint32_t in_flight, waiting;                    /* requests in flight; requests that wait for room */
    uint64_t sent;                                  /* requests sent so far */
    uint64_t replied, timed_out, cancelled, failed; /* requests by outcome */
    uint64_t late;                                  /* replies dropped because their request had already ended */
    uint64_t bytes_out, bytes_in;
    uint64_t writes, reads; /* system calls that transferred bytes; roughly one for each segment */
    uint64_t own_reads;     /* of these, reads by threads that waited for a reply */
    uint64_t wakes;         /* wake-ups of the loop by other threads */
    size_t output;          /* bytes not yet written */
} cen_mux_stats;

/* Read the stats of the connection. Each number was correct at some moment during the call.
 *
 * Returns:
 *   OK       *out is filled in
 *   INVALID  mux or out is NULL, or out->size is not valid
 *   FORKED   the connection belongs to the parent process
 */
CEN_API cen_status cen_mux_stats_get(cen_mux *mux, cen_mux_stats *out);

/* Return true if the connection has ended, or could not be opened; *out, if not NULL, is the cause. Otherwise, and in a
 * forked child, return false. */
CEN_API bool cen_mux_error_get(cen_mux *mux, cen_error *out);

/* Return the name and the address that the connection was opened with. They are valid until the connection is freed.
 * Return "" for NULL. */
CEN_API const char *cen_mux_name(const cen_mux *mux);
CEN_API const char *cen_mux_address(const cen_mux *mux);

#ifdef __cplusplus
}
#endif
#endif
