/* SPDX-License-Identifier: MIT */
/*
 * A request on a multiplexed connection, and its reply. libcenote-net.
 *
 * The struct is the program's own. Nothing is allocated for it, except for the reply if the request provides no buffer.
 *
 *     cen_request request;
 *     cen_request_init(&request, NULL, NULL);
 *     request.payload = "ping", request.size = 4;
 *     request.reply = buffer, request.capacity = sizeof buffer;
 *     request.deadline = cen_in_ms(500);
 *     cen_mux_request(mux, &request, &error);           // or cen_mux_request_async, and request.future
 *     use(request.reply, request.reply_size);
 *
 * Memory: the payload is needed only during the call. The struct and the reply buffer belong to the library until the
 * future is done, or has been cancelled by cen_future_cancel(&request.future); see future.h. Cancelling is exact: if
 * cen_future_cancel returns true, the request never completes. A reply that arrives later is dropped, and never goes to
 * another request. A connection must not be freed while a call that cancels one of its requests is in progress.
 *
 * Threads: see future.h.
 */
#ifndef CENOTE_REQUEST_H
#define CENOTE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/allocator.h>
#include <cenote/deadline.h>
#include <cenote/executor.h>
#include <cenote/future.h>
#include <cenote/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An operation: a caller-owned struct. cen_request_init(op, done, executor) initialises it, and
 * cen_future_cancel(&op.future) cancels it. Nothing is allocated for it, except for a reply without a buffer. It must
 * stay in place from the call that starts it until its future is done or cancelled: see future.h. */
typedef struct cen_request {
    /* Completes when the reply has arrived, or when the request has failed. Its status:
     *   OK         the reply has arrived; the future's value is its address
     *   TIMEOUT    the deadline passed first
     *   LOST       the connection was lost; future.error, if set, contains the cause
     *   CLOSED     this side closed the connection
     *   FULL       the reply is larger than the buffer: reply_size is its size, and the buffer contains its beginning
     *   NO_MEMORY  out of memory for the reply, or for sending a request that waited for room
     *   others     the status of the codec, which refused the payload of a request that waited for room
     */
    cen_future future;
    /* set by the program, after init and before the request is sent */
    const void *payload;
    size_t size;
    void *reply;           /* buffer for the reply; NULL: it is allocated; cen_request_free_reply frees it */
    size_t capacity;       /* of `reply` */
    cen_deadline deadline; /* when the reply must have arrived; CEN_DEFAULT: the connection's default_deadline */
    bool only_if_room;     /* fail with FULL immediately if the connection has no room, instead of waiting for it */
    /* result */
    size_t reply_size;
    /* private */
    void (*done_)(struct cen_request *request);
    const cen_allocator *allocator_;
    uint64_t room_[24];
} cen_request;

/* Initialise a request before its first use, and again before each further use. `done` is called once, on the executor.
 * If both are NULL, the program waits for request->future, polls it, or puts it into a group. Free an allocated reply
 * before the request is used again. */
CEN_API void cen_request_init(cen_request *request, void (*done)(cen_request *request), cen_executor *executor);

/* Free an allocated reply. If there is none, nothing happens, so a second call is harmless. NULL is allowed. The
 * connection may already have been freed, but its allocator must still exist. */
CEN_API void cen_request_free_reply(cen_request *request);

#ifdef __cplusplus
}
#endif
#endif
