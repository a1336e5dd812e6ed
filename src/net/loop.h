/* SPDX-License-Identifier: MIT */
/*
 * The loop as the other files of the room see it: users, and calls on its thread.
 *
 * libuv is not safe for threads, so everything that touches a handle is a call
 * on the loop's thread. A call is part of whatever it is for, whose memory stays
 * until the call has begun; posting one that waits already changes nothing.
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
    /* the loop's, under its lock */
    ceni_list link; /* linked: it waits */
} ceni_loop_call;

static inline void ceni_loop_call_init(ceni_loop_call *call, void (*run)(ceni_loop_call *call))
{
    call->run = run;
    ceni_list_init(&call->link);
}

/* Counts a user of the loop, or, for NULL, of the process' own, which is made if
 * there is none. Errors: NO_MEMORY, SYSTEM, FORKED. */
cen_status ceni_loop_join(cen_loop *loop, cen_loop **out, cen_error *error);

/* The user is gone: it has no handle there and posts nothing more. May be called
 * on the loop's own thread. With its last user the process' own loop ends; when
 * this returns its thread has, unless it is the calling one. */
void ceni_loop_leave(cen_loop *loop);

/* Lets the call run on the loop's thread, soon. Only by a user. May be called with a lock held. */
void ceni_loop_post(cen_loop *loop, ceni_loop_call *call);

/* Has `run` called on the loop's thread, and waits for that; on that thread itself, at once. Only by a user, with no lock held. */
void ceni_loop_do(cen_loop *loop, void (*run)(void *argument), void *argument);

/* Takes a call back that waits. On the loop's thread only: there it cannot be about to begin. */
void ceni_loop_unpost(cen_loop *loop, ceni_loop_call *call);

/* Whether this is the loop's thread. */
bool ceni_loop_is_inside(const cen_loop *loop);

/* For its thread alone. */
uv_loop_t *ceni_loop_uv(cen_loop *loop);

/* ---- What the system said, in words ---------------------------------------------- */

enum { CENI_CAUSE_SIZE = 96 };

/* "connection refused (ECONNREFUSED)" for a number of errno's. Returns `text`. */
const char *ceni_errno_text(int code, char text[CENI_CAUSE_SIZE]);

#endif
