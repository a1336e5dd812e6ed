/* SPDX-License-Identifier: MIT */
/*
 * The internal interface of the event loop: users, and calls on its thread.
 *
 * libuv is not thread-safe, so everything that touches a handle is a call on the loop's thread. The record of a call is
 * embedded in the object it works on. Its memory must stay valid until the call has begun. Posting a call that is
 * already queued changes nothing.
 */
#ifndef CENI_NET_LOOP_H
#define CENI_NET_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include <cenote/loop.h>

#include "base/list.h"
#include "port/mutex.h"
#include "port/port.h"

typedef struct ceni_loop_call {
    void (*run)(struct ceni_loop_call *call); /* on the loop's thread, no lock held */
    /* protected by the loop's lock */
    ceni_list link; /* linked: the call is queued */
} ceni_loop_call;

static inline void ceni_loop_call_init(ceni_loop_call *call, void (*run)(ceni_loop_call *call))
{
    call->run = run;
    ceni_list_init(&call->link);
}

/* Add a user to the loop. NULL: to the process's own loop, which is created if it does not exist. Errors: NO_MEMORY,
 * SYSTEM, FORKED. */
cen_status ceni_loop_join(cen_loop *loop, cen_loop **out, cen_error *error);

/* Remove a user that has no handle on the loop and posts nothing more. May be called on the loop's own thread. The
 * process's own loop ends with its last user: when this function returns, its thread has ended, unless it is the
 * calling thread. */
void ceni_loop_leave(cen_loop *loop);

/* Queue a call for the loop's thread. Only a user of the loop may post. A lock may be held. */
void ceni_loop_post(cen_loop *loop, ceni_loop_call *call);

/* Run `run` on the loop's thread and wait until it has returned. On that thread itself: call it directly. Only a user
 * of the loop may call this, with no lock held. */
void ceni_loop_do(cen_loop *loop, void (*run)(void *argument), void *argument);

/* Remove a call from the queue. Only on the loop's thread, where the call cannot be about to begin. */
void ceni_loop_unpost(cen_loop *loop, ceni_loop_call *call);

/* Return true on the loop's thread. */
bool ceni_loop_is_inside(const cen_loop *loop);

/* Only for the loop's thread. */
uv_loop_t *ceni_loop_uv(cen_loop *loop);

/* ---- Texts for system errors ----------------------------------------------------- */

enum { CENI_CAUSE_SIZE = 96 };

/* Write "connection refused (ECONNREFUSED)" for an errno value. Returns `text`. */
const char *ceni_errno_text(int code, char text[CENI_CAUSE_SIZE]);

#endif
