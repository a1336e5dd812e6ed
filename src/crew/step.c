/* SPDX-License-Identifier: MIT */
/*
 * Runs a task's step, and does what the step returned. task.c draws the states.
 *
 * Invariants
 *  K2 A waiting task is queued once, by the thread that owns it then: the one that moves WAITING to READY, or the one
 *     that binds or asks and finds GOES_ON.
 *  K5 A step is entered with its task as the current holder, and no other. An awaiting task has put its record away
 *     (await.c).
 *
 * The naive suspension puts the task away after it has become the future's consumer. The future is done at once on
 * another thread, and two workers run one task. Here the task belongs to its worker until the state is WAITING, and the
 * worker touches nothing of it after that.
 *
 * Order table
 * [K3] resume, bind | cas of the state | acq_rel | itself, A1 in stop_request.c | which thread queues it, and the task's fields | two workers run it at once, or none ever again
 * [K6] bind       | exchange of the state | seq_cst | A5 A6 in stop_request.c | that it is about to wait | it waits, and no thread has seen that it was asked to end
 * [K7] run, queue | store of the state | release | K8, K2 in task.c | for a canceller: what the step before has written | it cancels a future of an earlier wait
 * [K8] resume     | load of the state  | acquire | K7 | whether it awaits on its worker | it is resumed in the wrong way
 *
 * Tested by tests/unit/crew/wait_test.c, tests/unit/crew/lost_test.c, tests/explore/crew_task_test.c.
 */
#include "base/error.h"
#include "base/plant.h"
#include "crew/internal.h"
#include "sync/future.h"

/* ---- Going on ----------------------------------------------------------------------------------- */

void ceni_task_push(ceni_core *core, cen_task *task)
{
    ceni_worker *worker = ceni_worker_of(core);
    ceni_load load = {.what = CENI_PUT_AGAIN, .count = 1, .job = &task->job_};
    ceni_shard *home = NULL;
    bool counted = !worker && !ceni_planted(crew_poster_uncounted);
    if (!worker || !ceni_deque_push(&worker->deque, &task->job_))
        home = ceni_injector_put(&core->injector, &load, counted);
    else ceni_count_up(&worker->resumed);
    ceni_call_one(core);
    if (home && counted) ceni_injector_leave(home); /* the last touch of the crew */
}

/* The task's future is done. Runs on the thread that completed it, which may be any. */
void ceni_task_resume(cen_executor *executor, cen_job *job)
{
    (void)job;
    cen_task *task = CENI_TASK_OF_EXECUTOR(executor);
    if (ceni_load_acquire(&task->state_) == CENI_TASK_RUNNING) { /* [K8]: it awaits, on its worker */
        ceni_worker_tell(task->worker_, task);
        return;
    }
    uint32_t state = CENI_TASK_WAITING;
    while (!ceni_cas_acq_rel(&task->state_, &state, /* [K3] */
                             (uint32_t)(state == CENI_TASK_WAITING ? CENI_TASK_READY : CENI_TASK_GOES_ON))) {
    }
    if (state == CENI_TASK_WAITING || (state == CENI_TASK_ASKING && ceni_planted(crew_resumed_by_two)))
        ceni_task_go_on(task);
}

/* ---- A step ----------------------------------------------------------------------------------------- */

cen_next cen_task_done(cen_task *task, void *value)
{
    task->future.status = CEN_OK;
    task->future.value = value;
    return CEN_NEXT_OVER;
}

cen_next cen_task_fail(cen_task *task, const cen_error *error)
{
    cen_future *future = &task->future;
    future->status = error && error->status != CEN_OK ? error->status : CEN_DRIVER;
    future->code = error ? error->code : 0;
    future->value = NULL;
    if (future->error && error) {
        if (future->error != error) *future->error = *error;
        future->error->status = future->status;
    } else {
        ceni_error_set(future->error, future->status, future->code, "%s", cen_status_text(future->status));
    }
    return CEN_NEXT_OVER;
}

cen_next cen_task_yield(cen_task *task, cen_step next)
{
    task->step_ = next;
    return CEN_NEXT_AGAIN;
}

cen_next cen_task_wait(cen_task *task, cen_future *future, cen_step next)
{
    task->step_ = next;
    task->awaits_ = future;
    return CEN_NEXT_WAIT;
}

static void never(cen_future *future)
{
    (void)future; /* the task's own executor never runs the future's job */
}

/* While the step runs, its task is the current holder, and the watchdog watches it. */
static cen_next run_step(ceni_worker *worker, cen_task *task)
{
    const cen_observer *observer = worker->observer;
    uint64_t below = worker->step;
    ceni_store_release(&task->state_, (uint32_t)CENI_TASK_RUNNING); /* [K7] */
    if (observer && observer->began) observer->began(observer->argument, task);
    uint64_t step = worker->step = ceni_load_relaxed(&worker->steps) + 1; /* its own; carries nothing */
    ceni_store_relaxed(&worker->steps, step);                             /* a number; carries nothing */
    ceni_step_begins(worker, task);
    ceni_holder_begin(worker, task);
    ceni_rank_expect_none("a step of a task");
    cen_next next = task->step_(task);
    if (!ceni_fork_is(worker->core->epoch)) {
        worker->is_away = true;
        return next;
    }
    ceni_holder_finish(worker, task);
    if (worker->blocking > 0) ceni_close_sections(worker);
    ceni_step_ends(worker);
    worker->step = below;
    return next;
}

static bool is_promised(cen_future *future)
{
    return future && !ceni_future_is_fresh(future);
}

/* Its own worker has set ASKING: a stop drops the task, or it was asked to end. */
static void end_wait(cen_task *task)
{
    if (!ceni_task_is_to_drop(task)) {
        ceni_task_cut_short(task);
        return;
    }
    ceni_suspended_remove(task->core_, task);
    ceni_task_drop(task);
}

/* The task is the future's consumer. From WAITING on it belongs to another thread. */
static void let_wait(cen_task *task, bool asked)
{
    uint32_t state = CENI_TASK_BINDING;
    if (!asked && ceni_cas_acq_rel(&task->state_, &state, (uint32_t)CENI_TASK_WAITING)) return; /* [K3] */
    while (state != CENI_TASK_GOES_ON)
        if (ceni_cas_acq_rel(&task->state_, &state, (uint32_t)CENI_TASK_ASKING)) { /* [K3] */
            end_wait(task);
            return;
        }
    ceni_store_release(&task->state_, (uint32_t)CENI_TASK_READY); /* [K7] */
    ceni_task_go_on(task);
}

/* False: it cannot wait, and has failed. */
static bool begin_to_wait(ceni_worker *worker, cen_task *task)
{
    const cen_observer *observer = worker->observer;
    cen_future *future = task->awaits_;
    task->executor_.post = ceni_task_resume;
    ceni_exchange_seq_cst(&task->state_, (uint32_t)CENI_TASK_BINDING); /* [K6] */
    ceni_suspended_add(worker->core, task);                            /* before it looks for a stop: U3 in suspend.c */
    bool asked =
        ceni_task_stop_is_requested(task) || (ceni_task_is_to_drop(task) && !ceni_planted(crew_waits_beside_a_stop));
    bool own = future == &task->future; /* a task that waits for its own future never ends */
    if (own || !is_promised(future) || cen_future_then(future, never, &task->executor_) != CEN_OK) {
        ceni_suspended_remove(worker->core, task);
        ceni_task_set_failure(task, CEN_MISUSE, "waited for a future without a promise, or with another waiter");
        return false;
    }
    if (observer && observer->paused) observer->paused(observer->argument, task, CEN_NEXT_WAIT);
    ceni_count_up(&worker->waits);
    let_wait(task, asked);
    return true;
}

/* Queue it behind all jobs of this worker. */
static void put_behind(ceni_worker *worker, cen_task *task)
{
    const cen_observer *observer = worker->observer;
    if (observer && observer->paused) observer->paused(observer->argument, task, CEN_NEXT_AGAIN);
    ceni_store_release(&task->state_, (uint32_t)CENI_TASK_READY); /* [K7] */
    if (!ceni_deque_push(&worker->deque, &task->job_)) {
        ceni_load load = {.what = CENI_PUT_MOVED, .count = 1, .job = &task->job_};
        ceni_injector_put(&worker->core->injector, &load, false);
    }
    ceni_call_one(worker->core);
}

/* The step returned neither OVER nor AGAIN. False: the task has failed. */
static __attribute__((noinline)) bool goes_on_otherwise(ceni_worker *worker, cen_task *task, cen_next next)
{
    if (next == CEN_NEXT_WAIT && task->step_) return begin_to_wait(worker, task);
    ceni_task_set_failure(task, CEN_MISUSE, "returned an invalid cen_next, or waited without a next step");
    return false;
}

static inline void go_on(ceni_worker *worker, cen_task *task, cen_next next)
{
    if (next == CEN_NEXT_AGAIN && task->step_) put_behind(worker, task);
    else if (next == CEN_NEXT_OVER || !goes_on_otherwise(worker, task, next)) ceni_task_over(worker, task);
}

void ceni_task_run_on(ceni_worker *worker, cen_task *task)
{
    ceni_core *core = worker->core;
    /* Written by the submitter, ordered by the queue; carries nothing. */
    bool begun = ceni_load_relaxed(&task->state_) != CENI_TASK_QUEUED;
    if (!begun && ceni_load_relaxed(&core->closing) == CEN_STOP_DROP) { /* the stop looks too; carries nothing */
        ceni_task_over_elsewhere(core, task, CEN_CLOSED, true);
        return;
    }
    cen_task *outer = worker->task;
    uint32_t depth = ceni_worker_depth(worker);
    if (outer) task->outer_ = outer;
    if (outer) task->marks_ |= CENI_MARK_NESTED;
    else if (task->marks_ & CENI_MARK_NESTED) task->marks_ &= ~(uint32_t)CENI_MARK_NESTED;
    worker->task = task;
    ceni_worker_set_depth(worker, depth + 1);
    cen_next next = run_step(worker, task);
    if (worker->is_away) return;
    /* Observers and an inline `done` run in no task. They must not take the task below for the current one: it awaits a
     * future. */
    worker->task = NULL;
    if (outer) worker->under_job = outer;
    go_on(worker, task, next); /* the task may be gone */
    if (outer) {
        worker->task = outer;
        worker->under_job = NULL;
    }
    ceni_worker_set_depth(worker, depth);
}

void ceni_task_run(cen_job *job)
{
    ceni_task_run_on(ceni_worker_here(), CENI_TASK_OF_JOB(job));
}
