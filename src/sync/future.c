/* SPDX-License-Identifier: MIT */
/*
 * Futures, and promises.
 *
 *     FRESH ──begin──▶ PENDING ◀──park, its end──▶ PARKED ──┐
 *                      PENDING ──then──▶ ARMED ─────────────┼─complete──▶ DONE
 *     PENDING, ARMED ──cancel──▶ GIVING_UP ──let go──▶ GIVEN_UP ◀──cancel── FRESH
 *                                GIVING_UP ──complete──▶ DONE, told by the canceller
 *
 * Invariants
 *  F1 DONE is entered once, by the one exchange in complete, or the cas in settle. What the state was
 *     before tells whom to wake: PARKED the thread, ARMED the executor,
 *     GIVING_UP nobody, for the canceller sees DONE and tells. Whoever has promised one whose `done` was there before, and
 *     withdraws it under a lock, finds it ARMED for sure, and may store DONE (wire/after.c).
 *  F2 The result is written before that exchange. After it whoever completes
 *     touches a PARKED future by its address only, a PENDING one not at all, and
 *     an ARMED one until its job is posted: till `done` is entered it is not the program's.
 *  F3 A promise's word holds its future until one of keep, fail and cancel has
 *     taken it out. If cancel has, the future is never touched again by the
 *     promise; if keep has, cancel answers false.
 *
 * A promise and its future belong to two parties, each of whom may free its own
 * as soon as its call returns, and each call touches both. So when the two meet,
 * one waits for the other's last step: keep, which has the word and finds
 * GIVING_UP, waits until the canceller has left the promise (LEFT); the canceller,
 * who finds the word taken, leaves it, and waits until the future is DONE. Both
 * waits are for a few steps of a call that has begun. Keep waits first, and then
 * makes the future DONE: so a promise may also be the consumer's own, part of
 * what it asks with, since nobody touches it once the future is done.
 *
 * Order table
 * [F1] complete      | exchange or cas of the state | acq_rel | F2 F3 | the result, to whoever reads it; `done` and the executor, from then | a result half written is read; the job has no `done`
 * [F2] look          | load of the state       | acquire | F1 | the result | a result half written is read
 * [F3] then, park, end of a park | cas of the state | acq_rel; park: seq_cst | F1; park: S5 in stop.c | `done` and the executor; the result, if it is too late; that a set token must wake this thread | the same from the other side; a stopped thread sleeps on
 * [F4] keep          | cas of the promise's word | acq_rel | F5 | that the future is there, and what its consumer wrote before | two take the future
 * [F5] cancel        | cas of the word         | acq_rel | F4 | who was first | the same
 * [F6] cancel        | cas of the state to GIVING_UP | acq_rel | F1 | the result, if it is too late; who was first, the cas itself says | one who was told "too late" reads a result half written
 * [F7] leave         | store of LEFT           | release | F8 | that the canceller touches the promise no more | its memory is used again too early
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

/* In a promise's word, where otherwise a future's address is. */
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

/* ---- Being done ------------------------------------------------------------------- */

void ceni_future_undo(cen_future *future)
{
    ceni_store_relaxed(&future->state_, (uint32_t)CENI_FUTURE_FRESH); /* nobody else knows of it; carries nothing */
}

static void post(cen_future *future)
{
    ceni_rank_expect_none("the executor of a future");
    future->executor_->post(future->executor_, &future->job_);
}

/* It is DONE; tells whom what it was before says. */
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

/* Sleeps until the future is done (true), the moment has come, or the token is set. A set makes PARKED
 * PENDING again. */
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
    CENI_INLINE_AT_END; /* giving up may serve another, who is told when this one is over */
    if (!future) return false;
    uint32_t state = state_of(future);
    if (state == CENI_FUTURE_GIVEN_UP) return true;
    bool promised = state == CENI_FUTURE_PENDING || state == CENI_FUTURE_ARMED;
    if (!promised && state != CENI_FUTURE_FRESH) return false;
    if (promised && (!future->withdraw_ || !future->withdraw_(future))) return false;
    /* nobody else knows of it any more; carries nothing */
    ceni_store_relaxed(&future->state_, (uint32_t)CENI_FUTURE_GIVEN_UP);
    return true;
}

/* ---- Promises ------------------------------------------------------------------------- */

/* The word was taken by a keep: it will be done in a moment, and whom it is for is told here. */
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
    ceni_store_relaxed(&promise->future_, (uintptr_t)future); /* the caller makes it known; carries nothing */
    return CEN_OK;
}

/* Takes the future out of the word; NULL if somebody has. */
static cen_future *claim(cen_promise *promise)
{
    uintptr_t word = ceni_load_acquire(&promise->future_);                                          /* [F8] */
    if (word <= LEFT || !ceni_cas_acq_rel(&promise->future_, &word, (uintptr_t)TAKEN)) return NULL; /* [F4] */
    return (cen_future *)word;
}

/* A canceller leaves the promise before the future is done: whoever sees that may have both. */
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
