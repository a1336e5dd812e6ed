/* SPDX-License-Identifier: MIT */
/*
 * A request on a connection that carries many at once, and its reply. libcenote-net.
 *
 * The struct is the program's own; nothing is allocated for it, except, if it
 * names no buffer, the reply.
 *
 *     cen_request request;
 *     cen_request_init(&request, NULL, NULL);
 *     request.payload = "ping", request.size = 4;
 *     request.reply = buffer, request.capacity = sizeof buffer;
 *     request.deadline = cen_in_ms(500);
 *     cen_mux_request(mux, &request, &error);           // or ask, and be told by request.future
 *     use(request.reply, request.reply_size);
 *
 * Memory: the payload is needed only during the call. Struct and reply buffer are the
 * library's until the future is done, or given up by cen_future_cancel(&request.future),
 * as future.h says. Cancel is exact: after true the request never completes, and a
 * reply that still comes is dropped; it is never given to another request.
 * The connection stays until a cancel of what was asked on it has returned.
 *
 * Threads: as future.h says.
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

typedef struct cen_request {
    /* Done with OK and the reply's address when the reply came. Else TIMEOUT; LOST (the connection ended, and
     * future.error, if there is one, gets the cause); CLOSED (it was closed by this side); FULL (the reply is larger
     * than the buffer: reply_size says how large, and the buffer has its beginning); NO_MEMORY (for the reply). */
    cen_future future;
    /* the program's, set after init and before it is asked */
    const void *payload;
    size_t size;
    void *reply;     /* where the reply goes; NULL: memory is allocated, and taken back by cen_request_free_reply */
    size_t capacity; /* of `reply` */
    cen_deadline deadline; /* until when the reply must be there; CEN_DEFAULT: the connection's */
    bool only_if_room;     /* FULL at once, instead of waiting for room, when too much is under way on the connection */
    /* the answer */
    size_t reply_size;
    /* cenote's */
    void (*done_)(struct cen_request *request);
    const cen_allocator *allocator_;
    uint64_t room_[24];
} cen_request;

/* Makes it ready, the first time and each further one. `done` is called once on the executor; both NULL:
 * it is waited for, asked or grouped by its future. Whoever uses it again has freed an allocated reply before. */
CEN_API void cen_request_init(cen_request *request, void (*done)(cen_request *request), cen_executor *executor);

/* Gives an allocated reply back; else, and a second time, nothing happens. NULL is allowed.
 * The connection may be gone by then, its allocator not. */
CEN_API void cen_request_free_reply(cen_request *request);

#ifdef __cplusplus
}
#endif
#endif
