/* SPDX-License-Identifier: MIT */
/*
 * Submitting, withdrawing and ending tasks. step.c runs them.
 *
 *     FREE ──submit──▶ QUEUED ──taken by a worker──▶ RUNNING ──over──▶ FREE, and the future is done
 *                      QUEUED ──withdrawn──▶ FREE                (cancel, deadline, drop)
 *     RUNNING ──yield──▶ READY ──taken──▶ RUNNING
 *     RUNNING ──wait───▶ BINDING ──▶ WAITING ──the future is done──▶ READY
 *                        WAITING ──dropped by a stop──▶ ASKING ──▶ FREE   (suspend.c)
 *                        BINDING, ASKING ──the future is done──▶ GOES_ON ──▶ READY, queued by the binder or asker  (stop_request.c)
 *
 * Invariants
 *  K1 The thread that took a task out of its cell or chain owns it: a worker, which runs it, or a thread that withdraws
 *     it. The state says what others may try. Between these two it decides nothing.
 *  K3 A task is counted in before any thread can take it, and counted out after its future was completed. So when both
 *     counts are equal and nothing can be submitted, the library has no task left.
 *  K4 A task's future is completed last. What is touched after that belongs to the worker.
 *
 * Order table
 * [K1] end, undo  | store of the state | release | K2 | that it cannot be withdrawn | an alarm searches for it without end
 * [K2] withdraw, cancel | load of the state | acquire | K1, K7 in step.c | what the step before has written | it cancels a future of an earlier wait
 * [K4] out        | store of a counter | release | S1 in end.c | that the task belongs to the program again | a stop returns while a future is being completed
 * [K5] withdraw   | load of seats      | seq_cst | T1 in seats.c | which deques there are | a cancel searches without end
 *
 * Tested by tests/unit/crew/task_test.c, tests/explore/crew_task_test.c, tests/stress/crew_stress.c.
 */
#include "base/error.h"
#include "base/plant.h"
#include "crew/internal.h"
#include "sync/backoff.h"
#include "sync/future.h"

/* ---- Making ready --------------------------------------------------------------------------- */

void cen_task_init(cen_task *task, cen_step first)
{
    if (!task) return;
    ceni_future_ready(&task->future, ceni_future_run_done); /* cen_future_init without a call */
    task->job_.run = ceni_task_run;
    task->job_.next = NULL;
    task->step_ = first;
    ceni_store_relaxed(&task->state_, (uint32_t)CENI_TASK_FREE); /* the program's own; carries nothing */
    task->marks_ = 0;
    memset((char *)task + offsetof(cen_task, name), 0,
           offsetof(cen_task, place_) - offsetof(cen_task, name)); /* to core_ */
    ceni_store_relaxed(&task->asked_, 0u);                         /* likewise; carries nothing */
    /* The rest is written before it is read. */
}

/* The consumer of its future has cancelled it: as cen_task_cancel. */
bool ceni_task_withdraw_future(cen_future *future)
{
    cen_task *task = CENI_TASK_OF_FUTURE(future);
    ceni_core *core = task->core_;
    if (!ceni_fork_is(core->epoch)) return false;
    if (!ceni_task_withdraw(core, task)) {
        ceni_task_request_stop(task, CEN_INTERRUPTED);
        return false;
    }
    ceni_task_over_elsewhere(core, task, CEN_INTERRUPTED, false);
    return true;
}

/* No other thread has seen the task, except its alarm, which may have rung. It finds that the task is not queued. */
static void unprepare(ceni_core *core, cen_task *task)
{
    ceni_future_undo(&task->future);
    ceni_store_release(&task->state_, (uint32_t)CENI_TASK_FREE); /* [K1] */
    if (task->marks_ & CENI_MARK_DEADLINE) ceni_task_unset_alarm(core, task);
    task->marks_ = 0;                      /* it may be submitted again without a deadline */
    ceni_store_relaxed(&task->asked_, 0u); /* its own thread's again; carries nothing */
}

/* A separate function, so that tasks without a deadline do not pay for its calls. */
static __attribute__((noinline)) cen_status prepare_deadline(ceni_core *core, cen_task *task)
{
    task->marks_ = CENI_MARK_DEADLINE;
    cen_status status = ceni_task_set_alarm(core, task);
    if (status != CEN_OK) unprepare(core, task);
    return status;
}

static inline cen_status prepare(ceni_core *core, cen_task *task)
{
    if (!task || !task->step_) return CEN_INVALID;
    /* Only the submitting thread reads it; carries nothing. */
    if (ceni_load_relaxed(&task->state_) != CENI_TASK_FREE || !ceni_future_is_fresh(&task->future)) return CEN_MISUSE;
    task->core_ = core;
    /* In no queue yet, in case its alarm looks for it at once; carries nothing. */
    ceni_store_relaxed(&task->place_, CENI_PLACE(0, CENI_CELL_NONE));
    ceni_store_relaxed(&task->state_, (uint32_t)CENI_TASK_QUEUED); /* published by the queue; carries nothing */
    ceni_future_begin(&task->future, ceni_task_withdraw_future, NULL);
    return __builtin_expect(task->deadline.ns_ == 0, 1) ? CEN_OK : prepare_deadline(core, task);
}

/* ---- Submitting -------------------------------------------------------------------------------- */

/* The calling worker, if it runs a task. Other code on a worker, such as a job, may not submit when the crew drains. */
static ceni_worker *own_task_worker(const ceni_core *core)
{
    ceni_worker *worker = ceni_worker_of(core);
    return worker && ceni_worker_depth(worker) > 0 ? worker : NULL;
}

/* Count it in before another thread can take it (K3). */
static inline void push_inside(ceni_worker *worker, cen_task *task)
{
    uint32_t place = CENI_PLACE(CENI_SHARDS_MOST + worker->number, ceni_deque_next_cell(&worker->deque));
    ceni_store_relaxed(&task->place_, place); /* where to look; carries nothing */
    ceni_count_up(&worker->tasks_in);
    ceni_deque_push_one(&worker->deque, &task->job_);
}

static inline bool put_inside_quickly(ceni_worker *worker, cen_task *task)
{
    /* A task that slips through is dropped by its worker; carries nothing. */
    if (ceni_load_relaxed(&worker->core->closing) == CEN_STOP_DROP || ceni_deque_room(&worker->deque) == 0)
        return false;
    if (__builtin_expect(worker->is_spilling, 0)) return false;
    push_inside(worker, task);
    return true;
}

/* Put them into the injector. In an ordered crew the worker's next tasks must not overtake them: they go there too,
 * until all are taken (Q4 in find.c). */
static bool spill(ceni_worker *worker, cen_task *const tasks[], size_t count)
{
    ceni_injector *injector = &worker->core->injector;
    ceni_load load = {.what = CENI_PUT_INSIDE, .count = count, .tasks = tasks};
    if (!ceni_injector_put(injector, &load, false)) return false;
    worker->is_spilling = ceni_setting(&injector->is_ordered) && !ceni_planted(crew_forgets_that_it_spilled);
    return true;
}

/* Into the worker's own deque, if all of them fit. */
static bool put_inside(ceni_worker *worker, cen_task *const tasks[], size_t count)
{
    ceni_core *core = worker->core;
    ceni_deque *deque = &worker->deque;
    /* a task that slips through is dropped by its worker; carries nothing */
    if (ceni_load_relaxed(&core->closing) == CEN_STOP_DROP) return false;
    bool fits = ceni_deque_room(deque) >= count || (ceni_deque_tidy(deque) && ceni_deque_room(deque) >= count);
    if (!fits || worker->is_spilling) return spill(worker, tasks, count);
    for (size_t i = 0; i < count; i++) push_inside(worker, tasks[i]);
    return true;
}

/* Any number of tasks, from inside or outside. */
static __attribute__((noinline)) bool put(ceni_core *core, cen_task *const tasks[], size_t count)
{
    ceni_worker *worker = own_task_worker(core);
    ceni_load load = {.what = CENI_PUT_TASK, .count = count, .tasks = tasks};
    bool in = worker ? put_inside(worker, tasks, count) : ceni_injector_put(&core->injector, &load, false) != NULL;
    if (in && !ceni_planted(crew_submit_calls_nobody)) ceni_call_one(core);
    return in;
}

static inline bool put_one(ceni_core *core, cen_task *task)
{
    ceni_worker *worker = own_task_worker(core);
    bool quick = worker && put_inside_quickly(worker, task);
    if (worker && !quick) return put(core, &task, 1);
    bool in = quick || ceni_injector_put_task(&core->injector, task);
    if (in && !ceni_planted(crew_submit_calls_nobody)) ceni_call_one(core);
    return in;
}

static inline cen_status submit(cen_crew *crew, cen_task *task)
{
    if (!crew) return CEN_INVALID;
    cen_status status;
    ceni_core *core = ceni_crew_core(crew, &status);
    if (!core) return status;
    status = prepare(core, task);
    if (status != CEN_OK || put_one(core, task)) return status;
    unprepare(core, task);
    return CEN_CLOSED;
}

cen_status cen_crew_submit(cen_crew *crew, cen_task *task, cen_error *error)
{
    cen_status status = submit(crew, task);
    return __builtin_expect(status == CEN_OK, 1) ? status : ceni_crew_refuse_task(crew, task, status, error);
}

static cen_status submit_all(ceni_core *core, cen_task *const tasks[], size_t count)
{
    cen_status status = CEN_OK;
    size_t ready = 0;
    while (ready < count && (status = prepare(core, tasks[ready])) == CEN_OK) ready++;
    if (ready == count) {
        if (put(core, tasks, count)) return CEN_OK;
        status = CEN_CLOSED;
    }
    while (ready-- > 0) unprepare(core, tasks[ready]);
    return status;
}

cen_status cen_crew_submit_all(cen_crew *crew, cen_task *const tasks[], size_t count, cen_error *error)
{
    cen_status status = CEN_INVALID;
    ceni_core *core = crew && (tasks || count == 0) ? ceni_crew_core(crew, &status) : NULL;
    if (core) status = count > 0 ? submit_all(core, tasks, count) : CEN_OK;
    return status == CEN_OK ? status : ceni_crew_refuse_all(crew, tasks, count, status, error);
}

/* ---- The end ------------------------------------------------------------------------------------ */

static void tell_over(const cen_observer *observer, cen_task *task, bool begun)
{
    if (observer->over) observer->over(observer->argument, task, task->future.status, begun);
}

void ceni_task_set_failure(cen_task *task, cen_status status, const char *why)
{
    const ceni_core *core = task->core_;
    task->future.status = status;
    task->future.code = 0;
    task->future.value = NULL;
    ceni_error_set(task->future.error, status, 0, "crew \"%s\": %s %s", core->crew->name,
                   task->name ? task->name : "a task", why);
}

/* Release what most tasks do not have: leases, and an alarm. */
static __attribute__((noinline)) void let_go(ceni_core *core, cen_task *task)
{
    if (task->marks_ & CENI_MARK_OWNS) ceni_holder_end(CENI_TASK_HOLDER(task));
    if (task->marks_ & CENI_MARK_DEADLINE) ceni_task_unset_alarm(core, task);
}

void ceni_task_over(ceni_worker *worker, cen_task *task)
{
    if (worker->observer) tell_over(worker->observer, task, true);
    if (__builtin_expect(task->marks_ & (CENI_MARK_OWNS | CENI_MARK_DEADLINE), 0)) let_go(worker->core, task);
    ceni_store_relaxed(&task->state_, (uint32_t)CENI_TASK_FREE); /* the future passes it on; carries nothing */
    ceni_future_complete(&task->future);
    /* Its own, so reading carries nothing. */
    ceni_store_release(&worker->tasks_out, ceni_load_relaxed(&worker->tasks_out) + 1); /* [K4] */
    /* A stop is woken when this worker finds nothing more and parks. */
}

static const char *why_not_begun(cen_status status)
{
    if (status == CEN_TIMEOUT) return "did not start before its deadline";
    return status == CEN_CLOSED ? "did not start before the crew was stopped" : "was cancelled before it started";
}

void ceni_task_over_elsewhere(ceni_core *core, cen_task *task, cen_status status, bool tell)
{
    ceni_task_set_failure(task, status, why_not_begun(status));
    tell_over(&core->crew->options.observer, task, false);
    /* Before the alarm: an alarm that rings searches for the task as long as it is QUEUED. */
    ceni_store_release(&task->state_, (uint32_t)CENI_TASK_FREE); /* [K1] */
    /* TIMEOUT: the caller is the alarm itself. */
    if (task->marks_ & CENI_MARK_DEADLINE && status != CEN_TIMEOUT) ceni_task_unset_alarm(core, task);
    if (tell) ceni_future_complete(&task->future);
    ceni_count_out_elsewhere(core, status == CEN_CLOSED ? CENI_OUT_DROPPED : CENI_OUT_ENDED);
}

void ceni_task_over_suspended(ceni_core *core, cen_task *task)
{
    ceni_task_set_failure(task, CEN_CLOSED, "was suspended when the crew was stopped");
    tell_over(&core->crew->options.observer, task, true);
    if (!ceni_planted(crew_drops_without_its_leases)) let_go(core, task);
    ceni_store_release(&task->state_, (uint32_t)CENI_TASK_FREE); /* [K1] */
    ceni_future_complete(&task->future);
    ceni_count_out_elsewhere(core, CENI_OUT_DROPPED_SUSPENDED);
}

/* ---- Withdrawing ------------------------------------------------------------------------------------- */

bool ceni_task_withdraw_once(ceni_core *core, cen_task *task)
{
    /* where to look; carries nothing */
    uint32_t place = ceni_load_relaxed(&task->place_), queue = CENI_PLACE_QUEUE(place);
    if (queue < CENI_SHARDS_MOST && ceni_injector_withdraw(&core->injector, queue, task)) return true;
    if (queue >= CENI_SHARDS_MOST) {
        ceni_worker *worker = ceni_worker_at(core, queue - CENI_SHARDS_MOST);
        if (ceni_cell_take_if(&worker->deque.cells[CENI_PLACE_CELL(place)], &task->job_)) return true;
    }
    uint32_t seats = ceni_load_seq_cst(&core->seats); /* [K5] */
    for (uint32_t i = 0; i < seats; i++)
        if (ceni_deque_withdraw(&ceni_worker_at(core, i)->deque, &task->job_)) return true;
    /* A worker that departed may have moved it to any shard. */
    for (uint32_t i = 0; i < core->injector.count; i++)
        if (i != queue && ceni_injector_withdraw(&core->injector, i, task)) return true;
    return false;
}

/* The task was seen as QUEUED, but was then run and queued again, and that cell was taken. Put it back. */
static void put_back(ceni_core *core, cen_task *task)
{
    ceni_load load = {.what = CENI_PUT_MOVED, .count = 1, .job = &task->job_};
    ceni_shard *home = ceni_injector_put(&core->injector, &load, true);
    ceni_call_one(core);
    ceni_injector_leave(home); /* the last touch of the crew */
}

bool ceni_task_withdraw(ceni_core *core, cen_task *task)
{
    ceni_backoff backoff = {0};
    while (ceni_load_acquire(&task->state_) == CENI_TASK_QUEUED) { /* [K2] */
        if (ceni_task_withdraw_once(core, task)) {
            /* Ordered by the queue; carries nothing. */
            if (ceni_load_relaxed(&task->state_) == CENI_TASK_QUEUED || ceni_planted(crew_cancel_trusts_its_look))
                return true;
            put_back(core, task);
            return false;
        }
        ceni_backoff_wait(&backoff); /* a worker has it, and runs it or queues it again */
        if (ceni_planted(crew_cancel_looks_once)) return false;
    }
    return false;
}

bool cen_task_cancel(cen_task *task)
{
    ceni_core *core = task ? task->core_ : NULL;
    if (!core || !ceni_fork_is(core->epoch)) return false;
    if (ceni_task_withdraw(core, task)) {
        ceni_task_over_elsewhere(core, task, CEN_INTERRUPTED, true); /* an inline `done` runs there: K3 */
        return true;
    }
    CENI_INLINE_AT_END; /* a cancelled future may complete others inline: after this task has gone on */
    ceni_task_request_stop(task, CEN_INTERRUPTED);
    return false;
}
