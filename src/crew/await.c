/* SPDX-License-Identifier: MIT */
/*
 * Awaiting a future. On a worker, other tasks run meanwhile: it helps.
 *
 *     the future is that of a task of this crew that has not begun ▶ this worker runs it
 *     else the task becomes the future's consumer ▶ runs jobs, or parks ▶ told_ is set, or too late ▶ lets go
 *
 * The awaiting task is put away meanwhile: it is not the current holder, and the watchdog does not watch it. A helped
 * task has records of its own. So helping never nests holders (K5 in step.c).
 *
 * Invariants
 *  H1 The consumer of the future is the task's own executor. It is in the task and not on the stack, so it still exists
 *     if a helped task ends the thread. While others run on top of a task, awaits_ is the future whose consumer it is,
 *     or NULL.
 *  H2 When await returns, no thread will touch the task's executor. Either let_go has removed it as the future's
 *     consumer, or told_ is set and the thread that completed the future has left the crew's mutex.
 *  H3 A worker that awaits and has nothing to run is parked as any other, and may be called.
 *
 * Order table
 * [H1] let go | cas of the future's state | acq_rel | F1 in future.c | the result, if it is too late | a half-written result is read
 * [H2] told   | load of told_             | acquire | I6 in idle.c   | the result | likewise
 *
 * Tested by tests/unit/crew/await_test.c, tests/explore/crew_await_test.c.
 */
#include "base/plant.h"
#include "crew/internal.h"
#include "port/deadline.h"
#include "sync/backoff.h"
#include "sync/future.h"

enum { DEFAULT_PATIENCE_S = 30, DEEPEST = 128, ROOM_FOR_A_STEP = 64 * 1024 };

/* About 10 us: a result that arrives sooner costs no sleep. */
#ifdef CENI_WATCHED
enum { SPINS = 0 };
#else
enum { SPINS = 250 };
#endif

/* ---- When to help ------------------------------------------------------------------------------ */

/* True if another task may run on top of the awaiting one. Not within an inline job: inline jobs that are posted
 * meanwhile run only after that one, and the awaiting task may wait for one of them. */
static bool may_nest(const ceni_worker *worker)
{
    if (!worker->task || worker->blocking > 0 || ceni_inline_is_open()) return false;
    return !ceni_holder_holds() || ceni_planted(crew_helps_with_a_lease);
}

/* The stack is finite, and a helped task may await too. So other tasks are helped while less than half of the stack is
 * used. The awaited task itself, which no other thread may ever run, is run while there is room for a step. */
static size_t stack_left(const ceni_worker *worker)
{
#ifdef CENI_WATCHED
    return worker->core->stack_size / DEEPEST *
           (ceni_worker_depth(worker) < DEEPEST ? DEEPEST - ceni_worker_depth(worker) : 0);
#else
    uintptr_t here = (uintptr_t)__builtin_frame_address(0), base = worker->stack_base;
    size_t used = here < base ? base - here : here - base, size = worker->core->stack_size;
    return used < size ? size - used : 0;
#endif
}

static bool may_help(const ceni_worker *worker)
{
    return ceni_worker_depth(worker) <= DEEPEST && stack_left(worker) > worker->core->stack_size / 2 &&
           may_nest(worker);
}

static bool may_run_child(const ceni_worker *worker)
{
    size_t quarter = worker->core->stack_size / 4;
    return stack_left(worker) > (quarter < ROOM_FOR_A_STEP ? quarter : ROOM_FOR_A_STEP) && may_nest(worker);
}

static cen_status just_wait(cen_future *future, cen_deadline deadline)
{
    if (ceni_cpu_count() > 1)
        for (int i = 0; i < SPINS && !cen_future_is_done(future); i++) ceni_pause();
    return cen_future_wait(future, deadline);
}

/* ---- Putting the awaiting task away ------------------------------------------------------------ */

static void put_away(ceni_worker *worker, cen_task *task)
{
    ceni_holder_finish(worker, task);
    ceni_step_ends(worker);
}

static void take_up(ceni_worker *worker, cen_task *task)
{
    ceni_holder_begin(worker, task);
    ceni_step_begins(worker, task);
}

/* ---- The future -------------------------------------------------------------------------------- */

static void never(cen_future *future)
{
    (void)future; /* the task's executor never runs the future's job */
}

static bool is_told(cen_task *task)
{
    return ceni_load_acquire(&task->told_); /* [H2] */
}

/* Stop being the consumer. True: the future is done, and told_ is set. False: it is pending, and the task is no
 * longer its consumer. */
static bool let_go(cen_task *task)
{
    cen_future *future = task->awaits_;
    ceni_core *core = task->core_;
    uint32_t armed = CENI_FUTURE_ARMED;
    bool told = is_told(task);
    if (!told && ceni_cas_acq_rel(&future->state_, &armed, (uint32_t)CENI_FUTURE_PENDING)) { /* [H1] */
        future->executor_ = NULL;
        return false;
    }
    ceni_backoff backoff = {0};
    while (!is_told(task) && !ceni_planted(crew_lets_go_early)) ceni_backoff_wait(&backoff);
    ceni_core_lock(core); /* the thread that completed it has left */
    ceni_core_unlock(core);
    future->executor_ = NULL;
    return true;
}

void ceni_await_abandon(cen_task *task)
{
    if (task->awaits_) let_go(task);
}

/* ---- Awaiting ------------------------------------------------------------------------------------ */

/* Withdraw the awaited task itself, if it has not begun, from whatever queue has it. */
static cen_job *own_child(ceni_worker *worker, cen_future *future)
{
    if (future->withdraw_ != ceni_task_withdraw_future) return NULL;
    cen_task *child = CENI_TASK_OF_FUTURE(future);
    uint32_t state = ceni_load_relaxed(&child->state_); /* a guess; carries nothing */
    if (child->core_ != worker->core || state != CENI_TASK_QUEUED) return NULL;
    return ceni_task_withdraw_once(worker->core, child) ? &child->job_ : NULL;
}

/* False: the deadline has passed. */
static bool help_until_told(ceni_worker *worker, cen_task *task, int64_t moment)
{
    while (!is_told(task) && !worker->is_away) {
        cen_job *job = worker->is_searching ? NULL : ceni_worker_find(worker);
        if (!job) job = ceni_worker_search(worker);
        if (job) ceni_worker_run(worker, job);
        else if (!is_told(task) && ceni_worker_park(worker, task, moment) == CENI_WOKE_LATE) return false;
        if (moment != CENI_FOREVER && !worker->is_away && ceni_clock_now() >= moment) return false;
    }
    return true;
}

bool ceni_await_help_one(ceni_worker *worker)
{
    if (!may_help(worker)) return false;
    cen_task *task = worker->task;
    task->awaits_ = NULL; /* no future's consumer: H1 */
    put_away(worker, task);
    cen_job *job = ceni_worker_find(worker);
    if (job) ceni_worker_run(worker, job);
    if (!worker->is_away) take_up(worker, task);
    return job != NULL;
}

static cen_status help(ceni_worker *worker, cen_future *future, cen_deadline deadline)
{
    cen_task *task = worker->task;
    task->awaits_ = NULL; /* until it is the consumer: H1 */
    put_away(worker, task);
    cen_job *child = own_child(worker, future);
    if (child) ceni_worker_run(worker, child);
    if (worker->is_away) return CEN_FORKED;
    bool done = cen_future_is_done(future);
    cen_status status = done ? CEN_OK : CEN_TIMEOUT;
    if (!done && !ceni_deadline_is_now(deadline)) {
        deadline = ceni_deadline_or(deadline, cen_in_s(DEFAULT_PATIENCE_S));
        int64_t moment = ceni_deadline_moment(deadline, ceni_clock_now());
        ceni_store_relaxed(&task->told_, 0u); /* its own until it is the consumer; carries nothing */
        task->awaits_ = future;
        task->worker_ = worker;
        task->executor_.post = ceni_task_resume;
        status = cen_future_then(future, never, &task->executor_);
        if (status == CEN_OK) {
            help_until_told(worker, task, moment);
            if (worker->is_away) return CEN_FORKED;
            if (!let_go(task)) status = CEN_TIMEOUT;
            if (worker->is_searching) ceni_leave_search(worker);
        }
    }
    take_up(worker, task);
    return status;
}

/* At any depth: how deeply tasks await one another is the program's choice. If all threads of the crew blocked for
 * tasks that have not begun, none would begin them. True: it was run. */
static bool run_child(ceni_worker *worker, cen_future *future)
{
    cen_job *child = may_run_child(worker) ? own_child(worker, future) : NULL;
    if (!child) return false;
    cen_task *task = worker->task;
    task->awaits_ = NULL; /* no future's consumer: H1 */
    put_away(worker, task);
    ceni_worker_run(worker, child);
    if (!worker->is_away) take_up(worker, task);
    return true;
}

cen_status cen_await(cen_future *future, cen_deadline deadline)
{
    if (!future) return CEN_INVALID;
    ceni_worker *worker = ceni_worker_here();
    if (!worker || !ceni_fork_is(worker->core->epoch)) return just_wait(future, deadline);
    if (cen_future_is_done(future) || ceni_future_is_fresh(future)) return cen_future_wait(future, deadline);
    if (!may_help(worker)) {
        if (run_child(worker, future) && worker->is_away) return CEN_FORKED;
        cen_blocking_begin();
        cen_status status = cen_future_wait(future, deadline);
        cen_blocking_end();
        return status;
    }
    return help(worker, future, deadline);
}
