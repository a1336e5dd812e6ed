/* SPDX-License-Identifier: MIT */
/*
 * Futures as those see them who promise one: the pool, the actor, the group.
 *
 * Life of a promised future: begin, and then exactly one of complete, and a
 * withdraw_ that answered true. Whoever promises sees to that "exactly one": the
 * pool under its lock, a cen_promise by its word. No lock may be held in
 * complete, because the program's executor is called.
 */
#ifndef CENI_SYNC_FUTURE_H
#define CENI_SYNC_FUTURE_H

#include <stdbool.h>

#include <cenote/future.h>

enum {
    CENI_FUTURE_FRESH = 0, /* made ready, and nobody has promised it */
    CENI_FUTURE_PENDING,   /* promised; nobody is to be told, now */
    CENI_FUTURE_PARKED,    /* promised; a thread sleeps on the state */
    CENI_FUTURE_ARMED,     /* promised; its job is to be posted */
    CENI_FUTURE_GIVING_UP, /* its consumer asks whoever promised it to let go */
    CENI_FUTURE_DONE,
    CENI_FUTURE_GIVEN_UP,
};

/* Whether it may be promised: it was made ready, and nobody has. */
bool ceni_future_is_fresh(const cen_future *future);

/* Promises it. From now on others may complete it. */
void ceni_future_begin(cen_future *future, bool (*withdraw)(cen_future *future), void *source);

/* Takes begin back: nobody else has come to know of it. */
void ceni_future_undo(cen_future *future);

/* It is done, by a fresh result that the caller has written into status, code and
 * value: whoever consumes it is told. The last touch. */
void ceni_future_complete(cen_future *future);

/* The same for one that was never begun: nobody else knows of it. */
void ceni_future_complete_fresh(cen_future *future);

/* ---- inline.c: jobs that run on the thread that posts them ----------------------- */

/* The record of a thread's outermost call, on its stack. */
typedef struct ceni_inline {
    cen_job *first, *last;
} ceni_inline;

/* Between these, jobs that are posted to cen_inline() wait; at the end of the
 * outermost pair they run, with those that they post. No lock may be held at the end. */
void ceni_inline_begin(ceni_inline *here);
void ceni_inline_end(ceni_inline *here);

#endif
