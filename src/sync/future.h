/* SPDX-License-Identifier: MIT */
/*
 * Futures, for code that promises them: the pool, the actor, the group.
 *
 * Life of a promised future: begin, and then exactly one of complete, or a withdraw_ that returned true. The promiser
 * ensures "exactly one": the pool by its lock, a cen_promise by its word. complete must be called with no lock held,
 * because it calls the program's executor.
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
    CENI_FUTURE_FRESH = 0, /* initialised, not promised */
    CENI_FUTURE_PENDING,   /* promised; no consumer to tell yet */
    CENI_FUTURE_PARKED,    /* promised; a thread sleeps on the state */
    CENI_FUTURE_ARMED,     /* promised; its job will be posted */
    CENI_FUTURE_GIVING_UP, /* its consumer is cancelling it */
    CENI_FUTURE_DONE,
    CENI_FUTURE_GIVEN_UP,
};

/* `run` of the usual future: calls its `done`. */
void ceni_future_run_done(cen_job *job);

/* Initialise the future; `run` is its job. It is cleared in two pieces: for the whole struct the compiler calls
 * memset, and field by field takes twice as many stores, for which the next locked instruction waits. */
static inline void ceni_future_ready(cen_future *future, void (*run)(cen_job *job))
{
    memset(future, 0, offsetof(cen_future, state_));                  /* CEN_OK is 0 */
    ceni_store_relaxed(&future->state_, (uint32_t)CENI_FUTURE_FRESH); /* only this thread knows it; carries nothing */
    future->reserved_ = 0;
    future->job_.run = run;
    future->job_.next = NULL;
    memset((char *)future + offsetof(cen_future, executor_), 0, sizeof(cen_future) - offsetof(cen_future, executor_));
}

/* Return true if it may be promised: it was initialised, and not promised since. Called only by a promiser, so the
 * load carries nothing. */
static inline bool ceni_future_is_fresh(const cen_future *future)
{
    return ceni_load_relaxed(&((cen_future *)(uintptr_t)future)->state_) == CENI_FUTURE_FRESH; /* carries nothing */
}

/* Promise it. From now on another thread may complete it. */
static inline void ceni_future_begin(cen_future *future, bool (*withdraw)(cen_future *future), void *source)
{
    future->withdraw_ = withdraw;
    future->source_ = source;
    /* No other thread knows of it yet; it is published later. Carries nothing. */
    ceni_store_relaxed(&future->state_, (uint32_t)(future->executor_ ? CENI_FUTURE_ARMED : CENI_FUTURE_PENDING));
}

/* Undo begin, before any other thread knows of it. */
void ceni_future_undo(cen_future *future);

/* Complete it and tell its consumer. The caller has written the result into status, code and value. The promiser's
 * last access. */
void ceni_future_complete(cen_future *future);

/* The same for a future that was never begun: no other thread knows of it. */
static inline void ceni_future_complete_fresh(cen_future *future)
{
    /* Only this thread knows it, or the executor passes it on; carries nothing. */
    ceni_store_relaxed(&future->state_, (uint32_t)CENI_FUTURE_DONE);
    ceni_rank_expect_none("the executor of a future");
    if (future->executor_) future->executor_->post(future->executor_, &future->job_);
}

/* ---- inline.c: jobs that run on the posting thread -------------------------------- */

/* The record of a thread's outermost call, on its stack. */
typedef struct ceni_inline_run {
    cen_job *first, *last;
} ceni_inline_run;

/* Between these two, jobs that are posted to cen_inline() wait. At the end of the outermost pair they run, and so do
 * the jobs that they post. No lock may be held at the end. */
void ceni_inline_begin(ceni_inline_run *here);
void ceni_inline_end(ceni_inline_run *here);

/* The record of this thread's outermost open pair; NULL: none. */
static inline ceni_inline_run *ceni_inline_open(void)
{
    return (ceni_inline_run *)(uintptr_t)ceni_thread_room()[CENI_ROOM_INLINE];
}

/* Return true if this thread is in such a pair: jobs posted inline wait until its end. */
static inline bool ceni_inline_is_open(void)
{
    return ceni_inline_open() != NULL;
}

/* Add a job that runs when the record is closed, as cen_inline() does in a pair. */
static inline void ceni_inline_put(ceni_inline_run *record, cen_job *job)
{
    job->next = NULL;
    if (record->last) record->last->next = job;
    else record->first = job;
    record->last = job;
}

/* A pair around a whole function, closed on every return. */
#define CENI_INLINE_AT_END \
    ceni_inline_run at_end __attribute__((cleanup(ceni_inline_end))); \
    ceni_inline_begin(&at_end)

CENI_SPI_END

/* group.c: return true if it is a group's future. Cancelling that leaves the members pending. */
bool ceni_future_is_group(const cen_future *future);

#endif
