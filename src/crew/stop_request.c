/* SPDX-License-Identifier: MIT */
/*
 * Asks a task to end: for a cancel that came too late to withdraw it, or for its deadline.
 *
 * A task that has begun is never interrupted. Its step learns of the request from cen_task_check_stop. A task that
 * waits for a future goes on early if the future can be cancelled:
 *
 *     WAITING, or BINDING when it is bound ──▶ ASKING ──the future is cancelled──▶ READY, queued by the asker
 *                      ASKING ──it cannot be: it is done, or will be──▶ WAITING, and resumed by the future
 *                      ASKING ──it is done meanwhile──▶ GOES_ON ──▶ READY, queued by the asker
 *
 * Invariants
 *  A1 While a task is ASKING it does not run, so the future for which it waits still exists while it is being
 *     cancelled.
 *  A3 If a task was asked and does not know it, its next wait is cut short, once. While the task runs, its worker does
 *     that: it reads asked_ after it has set BINDING. Later the asker does it. If the asker finds BINDING, it sets
 *     BINDING_ASKED, and the worker does it.
 *  A2 A task is over only when its alarm's callback has released it: the alarm was unset, or the callback has set RANG.
 *     If the alarm finds that the task had not begun, the alarm itself ends it.
 *
 * Order table
 * [A1] ask       | cas of the state | acq_rel | K1 in task.c, K3 in step.c, itself | what the task awaits, from its last step | a future of an earlier wait is cancelled
 * [A2] ask       | store of the state | release | K2 in task.c | nothing: the queue passes it on | -
 * [A3] rang      | or to asked_     | seq_cst | A4 | that the alarm is done with the task | its memory is used again too early
 * [A4] unset     | load of asked_   | acquire | A3 | likewise | likewise
 * [A5] ask       | cas of asked_, cas of the state | seq_cst | K6 in task.c, A6 | the reason; or that it is binding | it waits, and no thread has seen that it was asked to end
 * [A6] is asked  | load of asked_   | seq_cst | A5 | likewise | likewise
 *
 * Tested by tests/unit/crew/cancel_test.c, tests/unit/crew/deadline_test.c, tests/explore/crew_ask_test.c.
 */
#include "base/plant.h"
#include "crew/internal.h"
#include "port/deadline.h"
#include "sync/backoff.h"

/* ---- Asking --------------------------------------------------------------------------------- */

void ceni_task_go_on(cen_task *task)
{
    ceni_core *core = task->core_;
    const cen_observer *observer = &core->crew->options.observer;
    ceni_suspended_remove(core, task);
    if (observer->resumed) observer->resumed(observer->argument, task);
    ceni_task_push(core, task);
}

void ceni_task_cut_short(cen_task *task)
{
    ceni_or_seq_cst(&task->asked_, (uint32_t)CENI_ASKED_KNOWN); /* [A5] */
    bool given_up = cen_future_cancel(task->awaits_);
    uint32_t state = CENI_TASK_ASKING;
    if (!given_up && ceni_cas_acq_rel(&task->state_, &state, (uint32_t)CENI_TASK_WAITING)) return; /* [A1] */
    ceni_store_release(&task->state_, (uint32_t)CENI_TASK_READY);                                  /* [A2] */
    ceni_task_go_on(task);
}

bool ceni_task_stop_is_requested(cen_task *task)
{
    uint32_t asked = ceni_load_seq_cst(&task->asked_); /* [A6] */
    return (asked & CENI_ASKED_STATUS) && !(asked & CENI_ASKED_KNOWN);
}

void ceni_task_request_stop(cen_task *task, cen_status why)
{
    uint32_t asked = 0, state = CENI_TASK_BINDING;
    while (!ceni_cas_seq_cst(&task->asked_, &asked, asked | (uint32_t)why)) /* [A5] */
        if (asked & CENI_ASKED_STATUS) return;                              /* one is enough, and the first stays */
    if (ceni_cas_seq_cst(&task->state_, &state, (uint32_t)CENI_TASK_BINDING_ASKED)) return; /* [A5] */
    state = CENI_TASK_WAITING;
    if (ceni_cas_seq_cst(&task->state_, &state, (uint32_t)CENI_TASK_ASKING)) ceni_task_cut_short(task); /* [A5] */
}

cen_status cen_task_check_stop(const cen_task *task)
{
    if (!task || !task->core_) return CEN_OK;
    ceni_core *core = task->core_;
    /* a reason; carries nothing */
    uint32_t asked = ceni_load_relaxed(&((cen_task *)(uintptr_t)task)->asked_) & CENI_ASKED_STATUS;
    bool drops = ceni_load_relaxed(&core->closing) == CEN_STOP_DROP; /* likewise; carries nothing */
    if (!asked && !drops) return CEN_OK;
    /* The step knows of it, and may still wait for what it needs in order to end. */
    uint32_t marks = (asked ? CENI_ASKED_KNOWN : 0u) | (drops ? CENI_ASKED_CLOSED : 0u);
    ceni_or_seq_cst(&((cen_task *)(uintptr_t)task)->asked_, marks); /* [A5] */
    return asked ? (cen_status)asked : CEN_CLOSED;
}

/* ---- The deadline ------------------------------------------------------------------------------- */

static void due(ceni_alarm *alarm)
{
    cen_task *task = CENI_TASK_OF_ALARM(alarm);
    ceni_core *core = task->core_;
    if (ceni_task_withdraw(core, task)) {
        ceni_task_over_elsewhere(core, task, CEN_TIMEOUT, true);
        return;
    }
    ceni_task_request_stop(task, CEN_TIMEOUT);
    ceni_or_seq_cst(&task->asked_, (uint32_t)CENI_ASKED_RANG); /* [A3] */
}

cen_status ceni_task_set_alarm(ceni_core *core, cen_task *task)
{
    int64_t moment = ceni_deadline_moment(task->deadline, ceni_runtime_now(core->runtime));
    cen_status status = CEN_OK;
    ceni_alarm_init_of_crowd(CENI_TASK_ALARM(task), moment == CENI_FOREVER ? NULL : due);
    if (moment == CENI_FOREVER) return CEN_OK;
    ceni_alarm_set(core->runtime, CENI_TASK_ALARM(task), moment, &status);
    return status;
}

void ceni_task_unset_alarm(ceni_core *core, cen_task *task)
{
    ceni_backoff backoff = {0};
    if (!CENI_TASK_ALARM(task)->due) return; /* it was not set: no deadline */
    if (ceni_alarm_unset(core->runtime, CENI_TASK_ALARM(task)) || ceni_planted(crew_forgets_the_alarm)) return;
    while (!(ceni_load_acquire(&task->asked_) & CENI_ASKED_RANG)) ceni_backoff_wait(&backoff); /* [A4] */
}
