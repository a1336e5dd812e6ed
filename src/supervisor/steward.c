/* SPDX-License-Identifier: MIT */
/*
 * The steward: the thread that runs a supervisor's state machine at the moment, and the calls that it makes.
 *
 *     a change ▶ it is noted under the mutex ▶ no steward is at work: the job is posted to the runtime
 *     the job: step ▶ mutex dropped: listener, posts, owners ▶ step ... ▶ nothing is left: over, or idle
 *
 * Invariants
 *  D1 `at_work` is set from before the job is posted until the steward has found nothing left to do. It is cleared in
 *     one critical section with the last look. So a noted change is seen by the present steward, or by the one that is
 *     posted.
 *  D2 Only the steward changes the states of children and the phase of the supervisor. Exceptions: adding a child, and
 *     forgetting or restarting a child without a tenure.
 *  D3 A hand is counted for the steward, for each call, thread and future of a tenure, and for each alarm. A supervisor
 *     is OVER only when no hand is left but the steward's and those of abandoned tenures. The steward drops its own in
 *     the same critical section and then touches nothing of the supervisor. So a thread that learns that it is over can
 *     free it and its runtime without getting BUSY.
 *  D4 The futures of its end are made done before the mutex is dropped under which it became OVER, and delivered
 *     afterwards. So a thread that frees the supervisor because it is over and then cancels such a future does not come
 *     back to the supervisor.
 *
 * The steward calls the listener and no other function of the program. The functions of children have jobs of their
 * own, so that none delays another.
 *
 * Order table
 * tag  site        | operation                    | order   | pairs with         | carries                               | breaks if weakened
 * [D1] make_done   | exchange of a future's state | acq_rel | F2 F3 in future.c  | the result; `done` and the executor  | as F1 there
 * The mutex orders everything else.
 *
 * Tested by tests/unit/supervisor/, tests/explore/supervisor_test.c.
 */
#include "base/plant.h"
#include "supervisor/internal.h"
#include "sync/future.h"

/* ---- Performing what a step left to do --------------------------------------------------- */

static void write_result(cen_future *future, const cen_error *error)
{
    future->status = error->status;
    future->code = error->code;
    future->value = NULL;
    if (error->status != CEN_OK && future->error) *future->error = *error;
}

static void tell_future(cen_future *future, const cen_error *error)
{
    write_result(future, error);
    ceni_future_complete(future);
}

/* The same in two steps, the first under the mutex (D4). Between them the future may be its owner's again, unless it
 * has a `done`. Of a future that a thread waits for, only the address is used. */
static uint32_t make_done_locked(cen_future *future, const cen_error *error)
{
    if (!future) return CENI_FUTURE_PENDING;
    write_result(future, error);
    return ceni_exchange_acq_rel(&future->state_, (uint32_t)CENI_FUTURE_DONE); /* [D1] */
}

static void tell_done(cen_future *future, uint32_t before)
{
    ceni_rank_expect_none("the executor of a future");
    if (before == CENI_FUTURE_ARMED) future->executor_->post(future->executor_, &future->job_);
    if (before == CENI_FUTURE_PARKED) ceni_futex_wake(&future->state_, 1);
}

static void post_all(cen_supervisor *supervisor, cen_job *job)
{
    cen_executor *executor = cen_runtime_executor(supervisor->runtime);
    for (cen_job *next; job; job = next) {
        next = job->next;
        executor->post(executor, job);
    }
}

/* The tenure is over, and no other thread uses what is ended here. True: a hand of the tenure must be dropped. A future
 * that cannot be cancelled is about to be delivered (T5 in tenure.c). */
static bool close_tenure(ceni_out *out)
{
    ceni_child_owner_end(out->closing->owner);
    return out->death && cen_future_cancel(out->death);
}

/* With no lock held. False: a call has returned in the child of a fork. */
static bool perform(cen_supervisor *supervisor, ceni_out *out)
{
    ceni_rank_expect_none("what a supervisor's step has left to do");
    for (uint32_t i = 0; i < out->count; i++) {
        supervisor->listener(supervisor->argument, &out->events[i]);
        if (!ceni_fork_is(supervisor->epoch)) return false;
    }
    bool is_cancelled = out->closing && close_tenure(out);
    if (out->started) tell_future(out->started, &out->started_error);
    cen_child parent = supervisor->parent;
    if (out->tell_parent) cen_child_report_started(parent);
    post_all(supervisor, out->posts);
    ceni_supervisor_lock(supervisor);
    for (uint32_t i = 0; i < out->count; i++)
        if (out->pinned[i]) ceni_child_drop_locked(out->pinned[i]);
    if (is_cancelled) {
        out->closing->untold = false;
        ceni_tenure_drop_locked(out->closing);
    }
    return true;
}

static bool has_work(const ceni_out *out)
{
    return out->count || out->closing || out->started || out->tell_parent || out->posts;
}

/* ---- The steward ------------------------------------------------------------------------------ */

/* Nothing is left to do. After the critical section only local variables are used. */
static void rest_and_unlock(cen_supervisor *supervisor)
{
    cen_error error = supervisor->error;
    cen_future *started = NULL, *over = NULL;
    uint32_t started_before = CENI_FUTURE_PENDING, over_before = CENI_FUTURE_PENDING;
    cen_child parent = {0, 0};
    bool is_over = supervisor->over_told && supervisor->phase == CENI_PHASE_STOPPING;
    if (is_over) {
        supervisor->phase = CENI_PHASE_OVER;
        started = supervisor->started;
        over = supervisor->over;
        parent = supervisor->parent;
        supervisor->started = supervisor->over = NULL;
        supervisor->parent = (cen_child){0, 0};
        started_before = make_done_locked(started, &error);
        over_before = make_done_locked(over, &error);
        ceni_supervisor_turn_locked(supervisor);
    }
    supervisor->at_work = false;
    supervisor->steward = 0;
    bool last = --supervisor->hands == 0 && supervisor->is_freed;
    ceni_supervisor_unlock(supervisor);
    if (last) ceni_supervisor_release(supervisor);
    tell_done(started, started_before);
    tell_done(over, over_before);
    if (is_over) cen_child_report_ended(parent, error.status != CEN_OK ? &error : NULL);
}

void ceni_steward_run(cen_job *job)
{
    cen_supervisor *supervisor = CENI_LIST_ENTRY(job, cen_supervisor, job);
    ceni_supervisor_lock(supervisor);
    supervisor->steward = ceni_thread_id();
    for (;;) {
        ceni_out out = {.posts = NULL};
        bool stepped = ceni_machine_step_locked(supervisor, &out);
        if (has_work(&out)) {
            ceni_supervisor_unlock(supervisor);
            if (!perform(supervisor, &out)) return;
        }
        if (!ceni_supply_locked(supervisor) && !stepped) break;
    }
    if (ceni_planted(supervisor_rests_without_look)) {
        ceni_supervisor_unlock(supervisor);
        ceni_supervisor_lock(supervisor);
    }
    rest_and_unlock(supervisor);
}
