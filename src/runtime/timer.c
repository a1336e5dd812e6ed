/* SPDX-License-Identifier: MIT */
/*
 * Timers: a future, and an alarm that completes it.
 *
 *     started: SET ──due claims it──▶ DUE ──▶ the future is done
 *              SET ──cancel claims it──▶ GIVEN_UP, and the alarm was unset: nobody will come
 *                                        GIVEN_UP, and due has begun ──due──▶ PASSED ──▶ cancel returns
 *
 * Invariants
 *  M1 Whoever takes the claim from SET has the timer: due completes it, or cancel
 *     gives it up. Nobody else completes it, and nobody takes it back.
 *  M2 The timer is a user of its runtime until whoever has it leaves that. So cancel
 *     touches the runtime only after it has claimed the timer.
 *  M3 A due that has come too late touches the timer last by storing PASSED, and
 *     cancel does not return before: after it the memory is the program's.
 *
 * The naive cancel asks the alarm, whose unset is exact. But the process' own runtime
 * may end with this very timer, as soon as due has left it, and then the lock
 * that unset takes is gone. Hence the claim, in the timer itself.
 *
 * When due leaves: it leaves the process' own after the future is done, so that a
 * `done` that starts the next timer finds the runtime there. It leaves an explicit one
 * before, so that whoever has waited for the timer may free that at once and is not told
 * BUSY. Nothing is gone thereby: free waits for the keeper, which is in this
 * call, and a thread that polls is a runner, whom free refuses. What the future's
 * executor is given meanwhile, be it that of this runtime, is run before free returns.
 *
 * The wait in cancel is for two steps of a call that has begun and calls nobody.
 *
 * Order table
 * tag  site     | operation          | order   | pairs with | carries                                | breaks if weakened
 * [M1] due      | store of PASSED    | release | [M2]       | that all of the timer it read, it has read | the program uses the memory while due still reads the runtime's address there
 * [M2] withdraw | load of the claim  | acquire | [M1]       | the same                               | the same
 * Who has the timer is decided by the claim's one value; what comes with the timer is
 * ordered by the runtime's mutex on the way to due, and by the future on the way back.
 *
 * Tested by tests/unit/runtime/timer_test.c, timer_fork_test.c,
 * tests/explore/runtime_timer_test.c, tests/faults/runtime_faults_test.c.
 */
#include <cenote/timer.h>

#include <stddef.h>

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
    return ceni_cas_relaxed(&timer->claim_, &set, who); /* carries nothing: decides who */
}

/* ---- The moment has come --------------------------------------------------------------- */

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
        ceni_store_release(&timer->claim_, (uint32_t)PASSED); /* [M1] the canceller leaves the runtime */
        return;
    }
    if (leaves_first) ceni_runtime_leave(runtime);
    complete(timer); /* whoever consumes it may have freed timer and, if it is explicit, runtime by now */
    if (!leaves_first) ceni_runtime_leave(runtime);
}

/* ---- Giving it up ------------------------------------------------------------------------ */

/* In a child of the process that started it: nobody here will ever come. If due had
 * it when the child was made, nobody knows whether it had left the runtime. */
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

/* The keeper is had first: once the alarm is set the timer may be over, and nothing can be taken back. */
cen_status cen_timer_start(cen_timer *timer, cen_runtime *runtime, cen_deadline when)
{
    if (!timer || when.ns_ == 0) return CEN_INVALID;
    if (!ceni_future_is_fresh(&timer->future)) return CEN_MISUSE;
    cen_status status = ceni_runtime_join(runtime, &runtime);
    if (status != CEN_OK) return status;
    status = ceni_alarm_need_keeper(runtime);
    if (status != CEN_OK) goto undo_join;
    timer->runtime_ = runtime;
    timer->epoch_ = runtime->epoch;
    ceni_store_relaxed(&timer->claim_, (uint32_t)SET); /* nobody else knows of it yet; carries nothing */
    ceni_alarm_init(alarm_of(timer), due);
    ceni_future_begin(&timer->future, withdraw, NULL);
    ceni_alarm_set(runtime, alarm_of(timer), ceni_deadline_moment(when, ceni_runtime_now(runtime)), NULL);
    return CEN_OK;

undo_join:
    ceni_runtime_leave(runtime);
    return status;
}
