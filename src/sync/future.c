/* SPDX-License-Identifier: MIT */
/*
 * Futures and promises.
 *
 *     FRESH ──begin──▶ PENDING ◀──park, its end──▶ PARKED ──┐
 *                      PENDING ──then──▶ ARMED ─────────────┼─complete──▶ DONE
 *     PENDING, ARMED ──cancel──▶ GIVING_UP ──let go──▶ GIVEN_UP ◀──cancel── FRESH
 *                                GIVING_UP ──complete──▶ DONE, told by the canceller
 *
 * Invariants
 *  F1 DONE is entered once, by the exchange in complete or the cas in settle. The state before determines whom to
 *     wake: for PARKED the thread, for ARMED the executor, for GIVING_UP nobody, because the canceller sees DONE and
 *     posts the job itself. One promiser needs no such step: if the future had its `done` before it was promised, and
 *     withdraw works under a lock, the state is surely ARMED, and the promiser may store DONE (wire/after.c).
 *  F2 The result is written before that exchange. After it the promiser touches a PARKED future by its address only,
 *     a PENDING one not at all, and an ARMED one until its job is posted. An ARMED future belongs to the program
 *     again when `done` is entered.
 *  F3 A promise's word holds its future until one of keep (cen_promise_complete or cen_promise_fail) and cancel has
 *     taken it out. If cancel has, the promise never touches the future again. If keep has, cancel returns false.
 *
 * A promise and its future belong to two parties. Each may free its own struct as soon as its call returns, and each
 * call touches both structs. So when the two calls meet, each waits for the other's last step. Keep, which has the
 * word and finds GIVING_UP, waits until the canceller has left the promise (LEFT). The canceller, which finds the
 * word taken, leaves the promise and waits until the future is DONE. Both waits last only a few steps of a running
 * call. Keep waits first and then makes the future DONE. So a promise may also be part of the consumer's own memory,
 * because no thread touches the promise after the future is done.
 *
 * Order table
 * [F1] complete      | exchange or cas of the state | acq_rel | F2 F3 | the result, to its readers; `done` and the executor, from then | a half-written result is read; the job has no `done`
 * [F2] look          | load of the state       | acquire | F1 | the result | a half-written result is read
 * [F3] then, park, end of a park | cas of the state | acq_rel; park: seq_cst | F1; park: S5 in stop.c | `done` and the executor; the result, if it is too late; that a set token must wake this thread | the same from the other side; a stopped thread sleeps on
 * [F4] keep          | cas of the promise's word | acq_rel | F5 | that the promise has the future, and what its consumer wrote before | two threads take the future
 * [F5] cancel        | cas of the word         | acq_rel | F4 | which was first | the same
 * [F6] cancel        | cas of the state to GIVING_UP | acq_rel | F1 | the result, if the cancel is too late; the cas itself decides which was first | a canceller that came too late reads a half-written result
 * [F7] leave         | store of LEFT           | release | F8 | that the canceller has stopped touching the promise | its memory is reused too early
 * [F8] keep, is_wanted | load of the word      | acquire | F5 F7 | likewise | likewise
 */
#include "sync/future.h"

#include "base/atomic.h"
#include "base/error.h"
#include "base/plant.h"
#include "port/deadline.h"
#include "port/port.h"
#include "port/rank.h"
#include "sync/backoff.h"
#include "sync/stop.h"

#include <stddef.h>

enum { DEFAULT_PATIENCE_S = 30 };

/* Values of a promise's word other than a future's address. */
enum { EMPTY = 0, TAKEN = 1, LEFT = 2 };

void ceni_future_run_done(cen_job *job)
{
    cen_future *future = (cen_future *)(void *)((char *)job - offsetof(cen_future, job_));
    future->done_(future);
}

void cen_future_init(cen_future *future)
{
    if (!future) return;
    ceni_future_ready(future, ceni_future_run_done);
}

static uint32_t state_of(const cen_future *future)
{
    return ceni_load_acquire(&((cen_future *)(uintptr_t)future)->state_); /* [F2] */
}

/* ---- Completing ------------------------------------------------------------------- */

void ceni_future_undo(cen_future *future)
{
    ceni_store_relaxed(&future->state_, (uint32_t)CENI_FUTURE_FRESH); /* no other thread knows of it; carries nothing */
}

static void post(cen_future *future)
{
    ceni_rank_expect_none("the executor of a future");
    future->executor_->post(future->executor_, &future->job_);
}

/* Tell the consumer, after the state became DONE; `before` is the former state. */
static void tell(cen_future *future, uint32_t before)
{
    if (before == CENI_FUTURE_ARMED) post(future);
    if (before == CENI_FUTURE_PARKED && !ceni_planted(done_wakes_nobody)) ceni_futex_wake(&future->state_, 1);
}

void ceni_future_complete(cen_future *future)
{
    tell(future, ceni_exchange_acq_rel(&future->state_, (uint32_t)CENI_FUTURE_DONE)); /* [F1] */
}

/* ---- The consumer ------------------------------------------------------------------ */

cen_status cen_future_then(cen_future *future, void (*done)(cen_future *future), cen_executor *executor)
{
    if (!future || !executor || !done) return CEN_INVALID;
    uint32_t state = state_of(future);
    if (future->executor_ || state == CENI_FUTURE_PARKED || state >= CENI_FUTURE_GIVEN_UP) return CEN_MISUSE;
    future->executor_ = executor;
    future->done_ = done;
    if (state == CENI_FUTURE_FRESH) return CEN_OK;
    uint32_t pending = CENI_FUTURE_PENDING;
    bool armed = ceni_cas_acq_rel(&future->state_, &pending, (uint32_t)CENI_FUTURE_ARMED); /* [F3] */
    if (!armed && !ceni_planted(then_comes_too_late)) post(future);
    return CEN_OK;
}

bool cen_future_is_done(const cen_future *future)
{
    return future && state_of(future) == CENI_FUTURE_DONE;
}

/* Sleep until the future is done (returns true), the moment has passed, or the token is set. A set changes PARKED
 * back to PENDING. */
static bool park(cen_future *future, int64_t moment, ceni_stop_wait *stop)
{
    uint32_t state = CENI_FUTURE_PENDING;
    if (!ceni_cas_seq_cst(&future->state_, &state, (uint32_t)CENI_FUTURE_PARKED)) return true; /* [F3] */
    bool looks = !ceni_planted(stopped_park_does_not_look);
    while (state_of(future) == CENI_FUTURE_PARKED && !(looks && ceni_stop_is_hit(stop)))
        if (ceni_futex_wait(&future->state_, CENI_FUTURE_PARKED, moment) == CENI_TIMED_OUT) break;
    state = CENI_FUTURE_PARKED;
    if (ceni_planted(wait_stays_parked)) return state_of(future) == CENI_FUTURE_DONE;
    return !ceni_cas_acq_rel(&future->state_, &state, (uint32_t)CENI_FUTURE_PENDING) &&
           state == CENI_FUTURE_DONE; /* [F3] */
}

cen_status cen_future_wait(cen_future *future, cen_deadline deadline)
{
    return cen_future_wait_stoppable(future, deadline, NULL);
}

cen_status cen_future_wait_stoppable(cen_future *future, cen_deadline deadline, cen_stop_token *stop)
{
    if (!future) return CEN_INVALID;
    uint32_t state = state_of(future);
    if (state == CENI_FUTURE_FRESH || state == CENI_FUTURE_GIVEN_UP) return CEN_INVALID;
    if (future->executor_ || state == CENI_FUTURE_PARKED) return CEN_MISUSE;
    if (state == CENI_FUTURE_DONE) return CEN_OK;
    if (ceni_deadline_is_now(deadline)) return CEN_TIMEOUT;
    deadline = ceni_deadline_or(deadline, cen_in_s(DEFAULT_PATIENCE_S));
    ceni_stop_wait wait;
    cen_status joined = ceni_stop_join(&wait, stop, &future->state_, CENI_FUTURE_PARKED, CENI_FUTURE_PENDING);
    if (joined != CEN_OK) return joined;
    bool done = park(future, ceni_deadline_moment(deadline, ceni_clock_now()), &wait);
    bool stopped = !done && ceni_stop_is_hit(&wait);
    ceni_stop_leave(&wait);
    return done ? CEN_OK : stopped ? CEN_INTERRUPTED : CEN_TIMEOUT;
}

bool cen_future_cancel(cen_future *future)
{
    CENI_INLINE_AT_END; /* a cancel may serve another waiter, whose job runs at the end of this call */
    if (!future) return false;
    uint32_t state = state_of(future);
    if (state == CENI_FUTURE_GIVEN_UP) return true;
    bool promised = state == CENI_FUTURE_PENDING || state == CENI_FUTURE_ARMED;
    if (!promised && state != CENI_FUTURE_FRESH) return false;
    if (promised && (!future->withdraw_ || !future->withdraw_(future))) return false;
    /* no other thread can reach it; carries nothing */
    ceni_store_relaxed(&future->state_, (uint32_t)CENI_FUTURE_GIVEN_UP);
    return true;
}

/* ---- Promises ------------------------------------------------------------------------- */

/* A keep has taken the word and completes the future soon. Wait for it, and post the consumer's job. */
static void await_keep(cen_promise *promise, cen_future *future, uint32_t consumer)
{
    ceni_store_release(&promise->future_, (uintptr_t)LEFT); /* [F7] */
    ceni_backoff backoff = {0};
    while (state_of(future) != CENI_FUTURE_DONE) ceni_backoff_wait(&backoff);
    if (consumer == CENI_FUTURE_ARMED && !ceni_planted(late_canceller_tells_nobody)) post(future);
}

static bool withdraw(cen_future *future)
{
    cen_promise *promise = future->source_;
    uint32_t consumer = state_of(future);
    if (consumer != CENI_FUTURE_PENDING && consumer != CENI_FUTURE_ARMED) return false;
    if (!ceni_cas_acq_rel(&future->state_, &consumer, (uint32_t)CENI_FUTURE_GIVING_UP)) return false; /* [F6] */
    uintptr_t word = (uintptr_t)future;
    if (ceni_cas_acq_rel(&promise->future_, &word, (uintptr_t)EMPTY)) return true; /* [F5] */
    await_keep(promise, future, consumer);
    return false;
}

cen_status cen_promise_init(cen_promise *promise, cen_future *future)
{
    if (!promise || !future) return CEN_INVALID;
    if (!ceni_future_is_fresh(future)) return CEN_MISUSE;
    ceni_future_begin(future, withdraw, promise);
    ceni_store_relaxed(&promise->future_, (uintptr_t)future); /* the caller publishes it; carries nothing */
    return CEN_OK;
}

/* Take the future out of the word; NULL if another call has. */
static cen_future *claim(cen_promise *promise)
{
    uintptr_t word = ceni_load_acquire(&promise->future_);                                          /* [F8] */
    if (word <= LEFT || !ceni_cas_acq_rel(&promise->future_, &word, (uintptr_t)TAKEN)) return NULL; /* [F4] */
    return (cen_future *)word;
}

/* Complete the future, after a canceller has left the promise: once the future is done, promise and future may be
 * freed. */
static void settle(cen_promise *promise, cen_future *future)
{
    uint32_t before = state_of(future);
    ceni_backoff backoff = {0};
    do {
        while (before == CENI_FUTURE_GIVING_UP && !ceni_planted(keep_leaves_canceller) &&
               ceni_load_acquire(&promise->future_) != LEFT) /* [F8] */
            ceni_backoff_wait(&backoff);
    } while (!ceni_cas_acq_rel(&future->state_, &before, (uint32_t)CENI_FUTURE_DONE)); /* [F1] */
    tell(future, before);
}

bool cen_promise_complete(cen_promise *promise, void *value)
{
    cen_future *future = promise ? claim(promise) : NULL;
    if (!future) return false;
    future->status = CEN_OK;
    future->value = value;
    settle(promise, future);
    return true;
}

bool cen_promise_fail(cen_promise *promise, const cen_error *error)
{
    cen_future *future = promise ? claim(promise) : NULL;
    if (!future) return false;
    future->status = error && error->status != CEN_OK ? error->status : CEN_DRIVER;
    future->code = error ? error->code : 0;
    if (future->error && error) {
        *future->error = *error;
        if (!ceni_planted(fail_copies_ok)) future->error->status = future->status;
    } else {
        ceni_error_set(future->error, future->status, future->code, "%s", cen_status_text(future->status));
    }
    settle(promise, future);
    return true;
}

bool cen_promise_is_wanted(const cen_promise *promise)
{
    return promise && ceni_load_acquire(&((cen_promise *)(uintptr_t)promise)->future_) > LEFT; /* [F8] */
}
