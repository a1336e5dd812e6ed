/* SPDX-License-Identifier: MIT */
/*
 * A multiplexed connection: many requests at once over one socket, TCP or Unix,
 * replies in any order. libcenote-net.
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
 * Without waiting: cen_mux_request_async, and request.future is done when the reply has come.
 *
 * A connection that is lost fails at once whatever is in flight, with LOST and
 * the cause, and refuses all that follows. It does not connect again by itself:
 * its owner hears of it by cen_mux_watch, frees it and opens another.
 *
 * A thread that waits for its reply reads the socket itself, for others too; the
 * loop's thread reads when nobody waits.
 *
 * Threads: everything from any thread; what waits, not on the loop's own thread. cen_mux_free is not called
 * from within a `done` of a request of the same connection that runs inline.
 * Fork: in the child every function answers FORKED, and free gives back the memory and the
 * child's copy of the socket. The parent notices nothing.
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

/* Zero means default in every field, unless it says otherwise. Fields are only ever appended. */
typedef struct cen_mux_options {
    size_t size;         /* sizeof(cen_mux_options), set by the macro */
    const char *name;    /* copied; default the address */
    const char *address; /* copied; "host:port", "[v6]:port" or "unix:/path". Required. */
    cen_codec codec;     /* default cen_codec_binary() */

    cen_deadline connect_deadline; /* until when it must be connected, counted from open; default 10 s */
    cen_deadline default_deadline; /* of requests that have no deadline of their own; default 30 s */

    uint32_t max_in_flight; /* requests that were sent and are not over; default 1024, at most 2^20 */
    /* requests that wait for room; more are FULL; default 1024, CEN_OFF: no limit, CEN_NONE: none waits */
    int64_t max_waiters;
    size_t max_payload; /* of a request: larger ones are INVALID; default 1 MiB */
    size_t max_reply;   /* larger ones end the connection; default 1 MiB */
    size_t max_output;  /* bytes not yet written, above which requests wait; default 256 KiB */
    bool loop_reads;    /* threads that wait for a reply leave all reading to the loop */
    /* after so long a silence of a TCP server it is asked whether it is there, and is lost after as long again
     * without an answer; default 30 s, CEN_OFF: it is not */
    int64_t keepalive_ns;

    cen_loop *loop;       /* default the process' own */
    cen_runtime *runtime; /* keeps its time, and looks up names, on a helper or in poll; default the process' own */
    const cen_allocator *allocator; /* default malloc */
} cen_mux_options;

#define CEN_MUX_OPTIONS(...) CEN_OPTIONS_(cen_mux_options, __VA_ARGS__)

/* ---- Life ------------------------------------------------------------------------ */

/* Connects, and waits for that. The addresses of a name are tried one after the other, each with its share
 * of the time that is left. Errors: INVALID (the text names the field), SYSTEM (the text names the
 * address and what the system said, and error->code is errno's value), TIMEOUT, NO_MEMORY, FORKED (loop or
 * runtime are a parent's), MISUSE (on the loop's own thread, which cannot wait). Then there is nothing to free. */
CEN_API cen_status cen_mux_open(const cen_mux_options *options, cen_mux **out, cen_error *error);

/* Begins to connect and returns. `opened` is done, with the connection as its value, when it is
 * connected, or fails with one of the errors above; it may be cancelled. Until then requests are MISUSE, and
 * after it failed, LOST. Whatever comes of it, the connection is to be freed. Errors: as
 * above, if nothing was begun, and MISUSE (the future was promised before). */
CEN_API cen_status cen_mux_open_async(const cen_mux_options *options, cen_mux **out, cen_future *opened,
                                      cen_error *error);

/* Refuses requests from now on (CLOSED), waits until those under way are over, or `deadline` has
 * passed (CEN_DEFAULT: 5 s), fails what is left with CLOSED, and ends the connection. A future whose reply has come may
 * still be about to be told when it returns. On the loop's own thread it does not wait, as if with CEN_NOW.
 * Errors: TIMEOUT (some had to be failed; the text says how many), CLOSED (it is, or is being closed), LOST (it was
 * lost, or never opened, and nothing was left to do), INVALID, FORKED. */
CEN_API cen_status cen_mux_close(cen_mux *mux, cen_deadline deadline, cen_error *error);

/* Closes it, if that has not been done, with CEN_NOW, and gives everything back. Requests that other threads wait
 * for in cen_mux_request are told CLOSED first; no other call may be under way, or begin. On the loop's own
 * thread it returns before the memory is given back. NULL is allowed. */
CEN_API void cen_mux_free(cen_mux *mux);

/* Has `ended` done when the connection has ended: with OK if it was closed by this side, with LOST and the cause if
 * not, or with why it could never be opened; soon, if it has ended already. A `done` that runs inline runs on the loop's
 * thread and may free the connection. One future at a time; it may be cancelled.
 * Errors: MISUSE (the future was promised before, or there is another), INVALID, FORKED. */
CEN_API cen_status cen_mux_watch(cen_mux *mux, cen_future *ended);

/* ---- Requests ---------------------------------------------------------------------- */

/* Sends the request and waits for its reply, or until its deadline. Returns how it ended; request->future has
 * the same. Errors: those of request.h, INVALID (too large, or the codec refuses it; NULL), MISUSE (the request is not fresh,
 * or has a `done`; the connection is not open yet; on the loop's own thread, which cannot wait), FULL (too much is under
 * way, and it may not wait), NO_MEMORY, FORKED. */
CEN_API cen_status cen_mux_request(cen_mux *mux, cen_request *request, cen_error *error);

/* Sends it and returns; request->future tells how it ended. With anything but OK nothing was sent, and nothing is told. */
CEN_API cen_status cen_mux_request_async(cen_mux *mux, cen_request *request, cen_error *error);

/* The same for several, in this order, written together. *asked says how many were: the first that could not be,
 * whose status is returned, and those after it were not. */
CEN_API cen_status cen_mux_request_all_async(cen_mux *mux, cen_request *const requests[], size_t count, size_t *asked,
                                             cen_error *error);

/* ---- A look at it ------------------------------------------------------------------- */

typedef enum cen_mux_state {
    CEN_MUX_OPENING = 0,
    CEN_MUX_OPEN,
    CEN_MUX_CLOSING, /* what is under way is awaited */
    CEN_MUX_ENDED,   /* closed, lost, or never opened */
} cen_mux_state;

typedef struct cen_mux_stats {
    size_t size; /* sizeof(cen_mux_stats), set by CEN_SIZED */
    cen_mux_state state;
    uint32_t in_flight, waiting;                    /* requests: sent and not over; waiting for room */
    uint64_t sent;                                  /* requests, ever */
    uint64_t replied, timed_out, cancelled, failed; /* how they ended */
    uint64_t late;                                  /* replies that came when their request was over, dropped */
    uint64_t bytes_out, bytes_in;
    uint64_t writes, reads; /* system calls that moved bytes: segments, roughly */
    uint64_t own_reads;     /* of these, by a thread that waited for its own reply */
    uint64_t wakes;         /* of the loop, by other threads */
    size_t output;          /* bytes not yet written */
} cen_mux_stats;

/* Each number was true during the call. Errors: INVALID, FORKED. */
CEN_API cen_status cen_mux_stats_get(cen_mux *mux, cen_mux_stats *out);

/* Why it ended, or could not be opened: true, and *out has status and sentence. False: it has not ended. */
CEN_API bool cen_mux_error_get(cen_mux *mux, cen_error *out);

/* The name and the address it was opened with; as long as it is there. */
CEN_API const char *cen_mux_name(const cen_mux *mux);
CEN_API const char *cen_mux_address(const cen_mux *mux);

#ifdef __cplusplus
}
#endif
#endif
