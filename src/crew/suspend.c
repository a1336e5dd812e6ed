/* SPDX-License-Identifier: MIT */
/*
 * Suspended tasks, and how a stop drops them.
 *
 * A task that waits for a future is in no queue. A stop that drops must find it, so every suspended task is linked into
 * one of a few lists. Its address selects the list:
 *
 *     BINDING ──link──▶ linked, WAITING ──future done, or asked──▶ READY ──unlink──▶ queue
 *                       linked, WAITING ──stop──▶ ASKING, in the stop's own list
 *          ASKING ──future cancelled──────────────▶ over with CLOSED; no further step runs
 *          ASKING ──not cancelled, not done───────▶ linked, WAITING; the future resumes it
 *          ASKING ──not cancelled, done meanwhile─▶ READY; the stop queues it
 *
 * A drop needs a cancelled future. A future that is not cancelled has a result that only the next step can take, or it
 * is memory that its producer still writes. So that task goes on when the future is done, and cen_task_check_stop tells
 * it CLOSED. A task of the same crew is not cancelled for the task that waits for it: the stop drops it too, and that
 * wakes the waiter. A cancelled group leaves its members pending, and only a step can cancel them: a task that waits
 * for a group goes on at once.
 *
 * Invariants
 *  U1 A task is linked from BINDING until its owner queues or ends it. Only the owner links and unlinks, under the
 *     list's lock, so a linked task's memory is there.
 *  U2 The thread that moves WAITING to ASKING owns the task: one of a stop, a cancel, a deadline. A future that is done
 *     meanwhile leaves GOES_ON. So the task is dropped, or goes on, once.
 *  U3 A stop sets `closing` first and then walks each list. A worker links a task and then reads `closing`. Either the
 *     stop finds the task linked, or the worker finds the stop. A task that the stop finds BINDING becomes
 *     BINDING_ASKED, and its worker drops it.
 *  U4 A step that has learned of the stop from cen_task_check_stop may still wait, for a rollback say: its task is not
 *     dropped.
 *  U5 A stop owns all of its tasks before it cancels the first future. A `done` that cancels another of them finds
 *     ASKING and leaves it alone.
 *
 * The naive drop cancels the future and ends the task whatever the cancel returned. The producer of a future that was
 * just done then queues a task that its program has freed.
 *
 * Order table
 * [U1] drop | cas of the state to ASKING | acq_rel | K3 in step.c | what the task awaits and owns | a future of an earlier wait is cancelled
 * [U2] drop | cas of the state to BINDING_ASKED | acq_rel | K3 in step.c | that the crew drops | its worker lets it wait
 * [U3] keep | cas of the state to WAITING | acq_rel | K3 in step.c | which thread queues it | it goes on twice, or never
 * [U4] keep | store of the state | release | K2 in task.c | nothing: the queue passes it on | -
 *
 * Tested by tests/unit/crew/suspend_test.c, tests/explore/crew_suspend_test.c.
 */
#include "base/plant.h"
#include "crew/internal.h"
#include "sync/future.h"

/* ---- The lists ---------------------------------------------------------------------------- */

static ceni_list *link_of(cen_task *task)
{
    return (ceni_list *)(void *)task->link_;
}

static cen_task *task_of(ceni_list *link)
{
    return CENI_LIST_ENTRY(link, cen_task, link_);
}

static ceni_suspended *list_of(ceni_core *core, const cen_task *task)
{
    return &core->suspended[(uintptr_t)task / sizeof(cen_task) % CENI_SUSPENDED_LISTS];
}

static void lock(ceni_suspended *list)
{
    ceni_mutex_lock(&list->mutex, CENI_RANK_SUSPENDED);
}

static void unlock(ceni_suspended *list)
{
    ceni_mutex_unlock(&list->mutex, CENI_RANK_SUSPENDED);
}

void ceni_suspended_add(ceni_core *core, cen_task *task)
{
    ceni_suspended *list = list_of(core, task);
    lock(list);
    ceni_list_push_back(&list->tasks, link_of(task));
    unlock(list);
}

void ceni_suspended_remove(ceni_core *core, cen_task *task)
{
    ceni_suspended *list = list_of(core, task);
    lock(list);
    ceni_list_remove(link_of(task));
    unlock(list);
}

/* ---- Dropping ------------------------------------------------------------------------------ */

bool ceni_task_is_to_drop(cen_task *task)
{
    ceni_core *core = task->core_;
    /* After the list's lock, or a cas of the state: U3. Only the task's own step sets the mark. Neither carries
     * anything. */
    if (ceni_load_relaxed(&core->closing) != CEN_STOP_DROP) return false; /* carries nothing */
    return !(ceni_load_relaxed(&task->asked_) & CENI_ASKED_CLOSED);       /* U4; carries nothing */
}

static bool is_own_task(const ceni_core *core, const cen_future *future)
{
    return future->withdraw_ == ceni_task_withdraw_future && CENI_TASK_OF_FUTURE(future)->core_ == core;
}

void ceni_task_drop(cen_task *task)
{
    ceni_core *core = task->core_;
    cen_future *future = task->awaits_;
    bool is_group = ceni_future_is_group(future);
    bool cancelled = !is_group && !is_own_task(core, future) && cen_future_cancel(future);
    if (cancelled || ceni_planted(crew_drops_beside_its_future)) {
        ceni_task_over_suspended(core, task);
        return;
    }
    ceni_suspended_add(core, task);
    if (is_group) {
        ceni_task_cut_short(task);
        return;
    }
    uint32_t state = CENI_TASK_ASKING;
    /* A cancel that came meanwhile has left its reason. It has not cut the wait short: nothing could be cancelled. */
    if (ceni_cas_acq_rel(&task->state_, &state, (uint32_t)CENI_TASK_WAITING)) return; /* [U3] */
    ceni_store_release(&task->state_, (uint32_t)CENI_TASK_READY);                     /* [U4] */
    ceni_task_go_on(task);
}

/* True: the task is the caller's now. */
static bool claim(cen_task *task)
{
    uint32_t state = CENI_TASK_BINDING;
    if (!ceni_task_is_to_drop(task)) return false;
    if (ceni_cas_acq_rel(&task->state_, &state, (uint32_t)CENI_TASK_BINDING_ASKED)) return false; /* [U2] */
    state = CENI_TASK_WAITING;
    return ceni_cas_acq_rel(&task->state_, &state, (uint32_t)CENI_TASK_ASKING); /* [U1] */
}

void ceni_suspended_drop(ceni_core *core)
{
    ceni_list mine;
    ceni_list_init(&mine);
    for (uint32_t i = 0; i < CENI_SUSPENDED_LISTS && !ceni_planted(crew_leaves_the_suspended); i++) {
        ceni_suspended *list = &core->suspended[i];
        lock(list);
        for (ceni_list *link = list->tasks.next, *next; link != &list->tasks; link = next) {
            next = link->next;
            if (!claim(task_of(link))) continue;
            ceni_list_remove(link);
            ceni_list_push_back(&mine, link);
        }
        unlock(list);
    }
    for (ceni_list *link; (link = ceni_list_first(&mine));) {
        ceni_list_remove(link);
        ceni_task_drop(task_of(link));
    }
}
