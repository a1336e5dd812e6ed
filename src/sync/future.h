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
#include <stddef.h>
#include <string.h>

#include <cenote/future.h>

#include "base/atomic.h"
#include "base/spi.h"
#include "port/port.h"
#include "port/rank.h"

CENI_SPI_BEGIN

enum {
    CENI_FUTURE_FRESH = 0, /* made ready, and nobody has promised it */
    CENI_FUTURE_PENDING,   /* promised; nobody is to be told, now */
    CENI_FUTURE_PARKED,    /* promised; a thread sleeps on the state */
    CENI_FUTURE_ARMED,     /* promised; its job is to be posted */
    CENI_FUTURE_GIVING_UP, /* its consumer asks whoever promised it to let go */
    CENI_FUTURE_DONE,
    CENI_FUTURE_GIVEN_UP,
};

/* `run` of the usual future: calls its `done`. */
void ceni_future_run_done(cen_job *job);

/* Makes it ready; `run` is its job. In pieces: to clear it as a whole is a call on its own for the compiler, and field by
 * field it is twice as many stores, for which the next locked operation waits. */
static inline void ceni_future_ready(cen_future *future, void (*run)(cen_job *job))
{
    memset(future, 0, offsetof(cen_future, state_));                  /* CEN_OK is 0 */
    ceni_store_relaxed(&future->state_, (uint32_t)CENI_FUTURE_FRESH); /* its own thread's; carries nothing */
    future->reserved_ = 0;
    future->job_.run = run;
    future->job_.next = NULL;
    memset((char *)future + offsetof(cen_future, executor_), 0, sizeof(cen_future) - offsetof(cen_future, executor_));
}

/* Whether it may be promised: it was made ready, and nobody has. Only whoever promises asks, so nothing comes with it. */
static inline bool ceni_future_is_fresh(const cen_future *future)
{
    return ceni_load_relaxed(&((cen_future *)(uintptr_t)future)->state_) == CENI_FUTURE_FRESH; /* carries nothing */
}

/* Promises it. From now on others may complete it. */
static inline void ceni_future_begin(cen_future *future, bool (*withdraw)(cen_future *future), void *source)
{
    future->withdraw_ = withdraw;
    future->source_ = source;
    /* Nobody else knows of it yet: whatever makes it known comes after; carries nothing. */
    ceni_store_relaxed(&future->state_, (uint32_t)(future->executor_ ? CENI_FUTURE_ARMED : CENI_FUTURE_PENDING));
}

/* Takes begin back: nobody else has come to know of it. */
void ceni_future_undo(cen_future *future);

/* It is done, by a fresh result that the caller has written into status, code and
 * value: whoever consumes it is told. The last touch. */
void ceni_future_complete(cen_future *future);

/* The same for one that was never begun: nobody else knows of it. */
static inline void ceni_future_complete_fresh(cen_future *future)
{
    /* Its own thread's, or passed on by the executor; carries nothing. */
    ceni_store_relaxed(&future->state_, (uint32_t)CENI_FUTURE_DONE);
    ceni_rank_expect_none("the executor of a future");
    if (future->executor_) future->executor_->post(future->executor_, &future->job_);
}

/* ---- inline.c: jobs that run on the thread that posts them ----------------------- */

/* The record of a thread's outermost call, on its stack. */
typedef struct ceni_inline_run {
    cen_job *first, *last;
} ceni_inline_run;

/* Between these, jobs that are posted to cen_inline() wait; at the end of the
 * outermost pair they run, with those that they post. No lock may be held at the end. */
void ceni_inline_begin(ceni_inline_run *here);
void ceni_inline_end(ceni_inline_run *here);

/* The record of the outermost pair that this thread is within; NULL: none. */
static inline ceni_inline_run *ceni_inline_open(void)
{
    return (ceni_inline_run *)(uintptr_t)ceni_thread_room()[CENI_ROOM_INLINE];
}

/* Whether this thread is within such a pair: what is posted inline now runs later. */
static inline bool ceni_inline_is_open(void)
{
    return ceni_inline_open() != NULL;
}

/* The job runs when that record is closed: what cen_inline() does within a pair. */
static inline void ceni_inline_put(ceni_inline_run *record, cen_job *job)
{
    job->next = NULL;
    if (record->last) record->last->next = job;
    else record->first = job;
    record->last = job;
}

/* The same for a whole function, at whichever end it leaves. */
#define CENI_INLINE_AT_END \
    ceni_inline_run at_end __attribute__((cleanup(ceni_inline_end))); \
    ceni_inline_begin(&at_end)

CENI_SPI_END

/* group.c: whether it is a group's. Cancelling it leaves the members pending. */
bool ceni_future_is_group(const cen_future *future);

#endif
