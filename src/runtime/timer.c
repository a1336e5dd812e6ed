/* SPDX-License-Identifier: MIT */
/*
 * Timers: a future, and an alarm that completes it.
 *
 *     started: SET ──due claims it──▶ DUE ──▶ the future is done
 *              SET ──cancel claims it──▶ GIVEN_UP, and the alarm was unset: due will not run
 *                                        GIVEN_UP, and due has begun ──due──▶ PASSED ──▶ cancel returns
 *
 * Invariants
 *  M1 The thread that moves the claim from SET owns the timer: due completes it, or cancel gives it up. No other thread
 *     does either.
 *  M2 The timer is a user of its runtime until its owner leaves the runtime. So cancel touches the runtime only after
 *     it has claimed the timer.
 *  M3 A due that is too late touches the timer last by storing PASSED, and cancel does not return before that. After
 *     that the memory is the program's.
 *
 * The naive cancel unsets the alarm, which is exact. But the process's default runtime may end with this very timer, as
 * soon as due has left it, and then the lock that unset takes is gone. Hence the claim in the timer itself.
 *
 * When due leaves the runtime: it leaves the default runtime after the future is done, so that a `done` that starts the
 * next timer finds that runtime alive. It leaves an explicit runtime before, so that a thread that has waited for the
 * timer may free the runtime at once and does not get BUSY. That is safe: free waits for the keeper, which is in this
 * call, and refuses while a polling thread is the runner. A job that the future's executor gets meanwhile runs before
 * free returns, even if that executor is this runtime's.
 *
 * Cancel waits for two steps of a call that has begun and that calls no other code.
 *
 * Order table
 * tag  site     | operation          | order   | pairs with | carries                                | breaks if weakened
 * [M1] due      | store of PASSED    | release | [M2]       | that due has read all that it reads of the timer | the program uses the memory while due still reads the runtime's address there
 * [M2] withdraw | load of the claim  | acquire | [M1]       | the same                               | the same
 * The claim alone decides which thread owns the timer. The timer's fields are ordered by the runtime's mutex on the way
 * to due, and by the future on the way back.
 *
 * Tested by tests/unit/runtime/timer_test.c, timer_fork_test.c,
 * tests/explore/runtime_timer_test.c, tests/faults/runtime_faults_test.c.
 */
#include <cenote/timer.h>

#include <stddef.h>

#include "base/error.h"
#include "base/plant.h"
#include "port/deadline.h"
#include "runtime/internal.h"
#include "sync/backoff.h"
#include "sync/future.h"

enum { SET = 0, DUE, GIVEN_UP, PASSED };

_Static_assert(sizeof(ceni_alarm) <= sizeof(((cen_timer *)0)->alarm_), "a timer has room for its alarm");
_Static_assert(_Alignof(ceni_alarm) <= _Alignof(int64_t), "and the room is aligned for it");
_Static_assert(offsetof(cen_timer, future) == 0, "a timer is its future");

static ceni_alarm *alarm_of(cen_timer *timer)
{
    return (ceni_alarm *)(void *)timer->alarm_.room_;
}

static bool claim(cen_timer *timer, uint32_t who)
{
    uint32_t set = SET;
    return ceni_cas_relaxed(&timer->claim_, &set, who); /* decides the owner; carries nothing */
}

/* ---- When it is due -------------------------------------------------------------------- */

static void complete(cen_timer *timer)
{
    timer->future.status = CEN_OK;
    timer->future.value = NULL;
    int held = ceni_cancel_hold(); /* an inline `done` is the program's */
    ceni_future_complete(&timer->future);
    ceni_cancel_release(held);
}

static void due(ceni_alarm *alarm)
{
    cen_timer *timer = (cen_timer *)(void *)((char *)alarm - offsetof(cen_timer, alarm_));
    cen_runtime *runtime = timer->runtime_;
    bool leaves_first = !runtime->own && !ceni_planted(timer_keeps_its_runtime);
    if (!claim(timer, DUE) && !ceni_planted(timer_told_though_given_up)) {
        ceni_store_release(&timer->claim_, (uint32_t)PASSED); /* [M1] cancel leaves the runtime */
        return;
    }
    if (leaves_first) ceni_runtime_leave(runtime);
    complete(timer); /* its consumer may have freed the timer and, if it is explicit, the runtime by now */
    if (!leaves_first) ceni_runtime_leave(runtime);
}

/* ---- Cancelling -------------------------------------------------------------------------- */

/* In a child of the process that started the timer: its alarm will not be called. If due had claimed the timer before
 * the fork, it is unknown whether it had left the runtime. */
static bool forget_parents(cen_timer *timer)
{
    if (claim(timer, GIVEN_UP)) ceni_runtime_leave(timer->runtime_);
    return true;
}

static bool withdraw(cen_future *future)
{
    cen_timer *timer = (cen_timer *)(void *)future;
    if (!ceni_fork_is(timer->epoch_)) return forget_parents(timer);
    if (!claim(timer, GIVEN_UP) && !ceni_planted(timer_given_up_unclaimed)) return false;
    cen_runtime *runtime = timer->runtime_;
    if (!ceni_alarm_unset(runtime, alarm_of(timer)) && !ceni_planted(timer_given_up_under_due)) {
        ceni_backoff backoff = {0};
        while (ceni_load_acquire(&timer->claim_) != PASSED) ceni_backoff_wait(&backoff); /* [M2] */
    }
    ceni_runtime_leave(runtime);
    return true;
}

/* ---- Starting ----------------------------------------------------------------------------- */

void cen_timer_init(cen_timer *timer)
{
    if (!timer) return;
    *timer = (cen_timer){.runtime_ = NULL};
    cen_future_init(&timer->future);
}

/* The keeper is started first: once the alarm is set the timer may have fired, and the start cannot be undone. */
cen_status cen_timer_start(cen_timer *timer, cen_runtime *runtime, cen_deadline when, cen_error *error)
{
    if (!timer) return ceni_error_set(error, CEN_INVALID, 0, "cen_timer_start: the timer is NULL");
    if (when.ns_ == 0)
        return ceni_error_set(error, CEN_INVALID, 0,
                              "cen_timer_start: a timer has no default deadline; pass a deadline");
    if (!ceni_future_is_fresh(&timer->future))
        return ceni_error_set(error, CEN_MISUSE, 0,
                              "cen_timer_start: the timer was started before; cen_timer_init makes it ready again");
    cen_status status = ceni_runtime_join(runtime, &runtime);
    if (status != CEN_OK)
        return ceni_error_set(error, status, 0, "cen_timer_start: cannot use the runtime: %s", cen_status_text(status));
    status = ceni_alarm_need_keeper(runtime);
    if (status != CEN_OK) goto undo_join;
    timer->runtime_ = runtime;
    timer->epoch_ = runtime->epoch;
    ceni_store_relaxed(&timer->claim_, (uint32_t)SET); /* no other thread knows it yet; carries nothing */
    ceni_alarm_init(alarm_of(timer), due);
    ceni_future_begin(&timer->future, withdraw, NULL);
    ceni_alarm_set(runtime, alarm_of(timer), ceni_deadline_moment(when, ceni_runtime_now(runtime)), NULL);
    return CEN_OK;

undo_join:
    ceni_runtime_leave(runtime);
    return ceni_error_set(error, status, 0, "cen_timer_start: cannot start the timer thread: %s",
                          cen_status_text(status));
}
