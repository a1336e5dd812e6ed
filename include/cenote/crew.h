/* SPDX-License-Identifier: MIT */
/*
 * A crew: a work-stealing thread pool. Its worker threads run tasks.
 *
 * A task is the program's own struct with a cen_task as its first member. It runs in steps. Each step ends the task,
 * yields to other tasks, or waits for a future without occupying a worker. After a yield or a wait, the next step runs,
 * possibly on another worker:
 *
 *     struct order { cen_task task; cen_take_op ask; };
 *
 *     static cen_next store(cen_task *task)
 *     {
 *         struct order *order = (struct order *)task;
 *         use(order->ask.lease.object);
 *         cen_pool_give(&order->ask.lease);
 *         return cen_task_done(task, NULL);
 *     }
 *     static cen_next begin(cen_task *task)
 *     {
 *         struct order *order = (struct order *)task;
 *         cen_take_op_init(&order->ask, NULL, NULL);
 *         cen_pool_take_async(pool, cen_in_ms(500), &order->ask);
 *         return cen_task_wait(task, &order->ask.future, store);
 *     }
 *
 *     cen_crew *crew;
 *     cen_crew_options options = CEN_CREW_OPTIONS(.name = "orders", .workers = 4);
 *     cen_crew_new(&options, &crew, &error);
 *     cen_task_init(&order->task, begin);
 *     cen_crew_submit(crew, &order->task, NULL);
 *     cen_future_wait(&order->task.future, cen_in_s(1));
 *     // ...
 *     cen_crew_stop(crew, CEN_STOP_DRAIN, cen_in_s(5), &report, NULL);
 *     cen_crew_free(crew);
 *
 * Submitting a task allocates no memory.
 *
 * Order: a crew with one worker begins the tasks of each submitter in submission order. A submitter is a thread outside
 * the crew, or a task. The order between tasks of different submitters is undefined. Only first steps are ordered: a
 * later step runs after its task is queued again. While a step is in cen_await, its worker still begins tasks in this
 * order, except that the awaited task comes first. Ticks do not change the order. This order is not guaranteed while a
 * second thread runs tasks. A second thread runs tasks during a blocking section (cen_blocking_begin, or a cen_await
 * that blocks; set max to 1 to prevent this), and after a step has ended its thread. With several workers, tasks begin
 * roughly in submission order, and no task starves.
 *
 * Memory: from submission until its future completes, a task belongs to the library and must stay in place; see
 * future.h for the exact moment. A `done` callback of the future may free the task, whether it runs inline or on
 * another executor. A future that a task waits for must stay in place until the task continues.
 *
 * Leases: a task holds the leases that its steps take from a pool, directly or through a cen_pool_take_async that a
 * step started, whichever worker runs the step. When the task ends, any leases that it still holds are handled
 * according to the pool's options.on_holder_end, just as when a thread ends.
 *
 * Threads: every function may be called from any thread, and from within tasks. cen_task_done, cen_task_fail,
 * cen_task_yield, cen_task_wait and cen_task_check_stop may be called only by the running step of their task. Workers
 * block all signals.
 * Fork: see options.on_fork.
 */
#ifndef CENOTE_CREW_H
#define CENOTE_CREW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/allocator.h>
#include <cenote/choice.h>
#include <cenote/deadline.h>
#include <cenote/executor.h>
#include <cenote/future.h>
#include <cenote/runtime.h>
#include <cenote/sized.h>
#include <cenote/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cen_crew cen_crew;
typedef struct cen_task cen_task;

/* ---- Tasks ------------------------------------------------------------------------ */

/* How a task continues after a step. cen_task_done, cen_task_fail, cen_task_yield and cen_task_wait return one of these
 * values. */
typedef enum cen_next {
    CEN_NEXT_OVER = 1, /* the task is over */
    CEN_NEXT_AGAIN,    /* the next step runs after the tasks that are queued on its worker */
    CEN_NEXT_WAIT,     /* the next step runs when a future completes */
} cen_next;

/* One step of a task. It may block; see cen_blocking_begin. It must not exit through longjmp.
 *
 * A step may call pthread_exit. If it has itself enabled cancellation, its thread may also be cancelled. In either
 * case, the task ends with MISUSE, and the worker is replaced. Context hooks, observers and inline `done` callbacks
 * must not end the thread. */
typedef cen_next (*cen_step)(cen_task *task);

/* The first member of the program's own struct. */
struct cen_task {
    cen_future future; /* completes when the task is over; the program may set its error and user */
    /* private, used in every step */
    cen_job job_;
    cen_step step_;
    CEN_ATOMIC_(uint32_t) state_;
    uint32_t marks_;
    /* set by the program, after init and before submit */
    const char *name; /* for the watchdog and reports; a literal, or valid until the crew is freed; NULL: "a task" */
    /* A task that has not begun by this deadline never begins, and fails with TIMEOUT. A task that has begun is asked
     * to end (see cen_task_check_stop). CEN_DEFAULT: no deadline. */
    cen_deadline deadline;
    uint64_t note[3]; /* for an observer; zero after init */
    /* private */
    void *core_;
    CEN_ATOMIC_(uint32_t) place_;
    uint32_t unused_;
    CEN_ATOMIC_(uint32_t) asked_;
    CEN_ATOMIC_(uint32_t) told_;
    cen_executor executor_;
    cen_future *awaits_;
    struct cen_task *outer_;
    void *worker_;
    uint64_t owner_[3];
    union {
        int64_t aligned_;
        char room_[48];
    } alarm_;
    void *link_[2];
};

/* Initialise a task before its first use. Once it is over, initialise it again before each further use. */
CEN_API void cen_task_init(cen_task *task, cen_step first);

/* Submit a task. A task submitted from outside the crew goes to a queue that all workers share. A task submitted by a
 * task of the same crew goes to the worker's own queue, from which idle workers steal.
 *
 * Ownership: with OK, the task belongs to the library until its future completes. With any other status, it still
 * belongs to the caller.
 * Blocking: waits only for other submits in progress. Allocates no memory.
 * Errors: the error text names the crew and the reason.
 * Returns:
 *   OK
 *   INVALID    crew or task is NULL, or the task has no first step
 *   CLOSED     the crew was stopped with CEN_STOP_DROP; or it was stopped with CEN_STOP_DRAIN, and the caller is not
 *              one of its tasks
 *   MISUSE     the task was already submitted and is not over, or has not been initialised again
 *   SYSTEM     the task has a deadline, and the timer thread could not be started
 *   FORKED     the crew belongs to the parent process (options.on_fork)
 *   NO_MEMORY  out of memory for the forked child's crew (CEN_FORK_RENEW)
 */
CEN_API cen_status cen_crew_submit(cen_crew *crew, cen_task *task, cen_error *error);

/* Submit several tasks in one call. If any of them cannot be submitted, none of them is. One call is cheaper than
 * submitting the tasks one by one.
 *
 * Errors: the error text says which task cannot be submitted.
 * Returns:
 *   OK       all tasks are submitted, or count is 0
 *   INVALID  crew or tasks is NULL, or a task is NULL or has no first step
 *   MISUSE   a task is in use, was not initialised again, or is in the array twice
 *   others   as cen_crew_submit
 */
CEN_API cen_status cen_crew_submit_all(cen_crew *crew, cen_task *const tasks[], size_t count, cen_error *error);

/* Run a function as a one-step task. The library allocates the task. `name` is the task's name; NULL: "a call".
 *
 * If `result` is not NULL, it is an initialised future (cen_future_init). This call promises it, and it completes with
 * the value that the function returns.
 * The future may be cancelled at any time. If it is cancelled before the task begins, the function is never called.
 * Returns:
 *   OK
 *   INVALID    crew or call is NULL
 *   MISUSE     result is not an initialised future, or was used before and has not been initialised again
 *   NO_MEMORY  out of memory for the task
 *   others     as cen_crew_submit
 */
CEN_API cen_status cen_crew_submit_function(cen_crew *crew, const char *name, void *(*call)(void *argument),
                                            void *argument, cen_future *result, cen_error *error);

/* Create a one-step task that calls a function, for a crew with settings of its own for the task, or for lanes
 * (cen_lanes_submit_function does this in one call). `name` and `result` are as in cen_crew_submit_function. The
 * allocator may be NULL: malloc; otherwise it must exist until the task is over.
 *
 * Ownership: submit the task once. After a submit that returned OK, the library frees the task when it is over, so the
 * caller must not use it any more. Free a task that was not submitted with cen_function_task_free.
 * Returns:
 *   OK
 *   INVALID    call or out is NULL
 *   MISUSE     result is not an initialised future, or was used before and has not been initialised again
 *   NO_MEMORY  out of memory for the task
 */
CEN_API cen_status cen_function_task_new(const char *name, void *(*call)(void *argument), void *argument,
                                         cen_future *result, const cen_allocator *allocator, cen_task **out);

/* Free a task of cen_function_task_new that was not submitted, or whose submit failed. Its `result` is then as before
 * cen_function_task_new. NULL is allowed. */
CEN_API void cen_function_task_free(cen_task *task);

/* Cancel a task. Return true if the task had not begun: it will never begin, and its future completes with INTERRUPTED.
 * Return false if the task has begun or is over; a task that has begun is asked to end (see cen_task_check_stop). A
 * task is never both cancelled in this way and begun. Also return false for NULL, for a task that was never submitted,
 * and for a task of the parent process.
 *
 * The caller must make sure that the task exists during the call.
 *
 * Calling cen_future_cancel on the task's future has the same effect, except that if the task had not begun, its future
 * never completes. If the task has begun, cen_future_cancel returns false, and the future completes when the task is
 * over. */
CEN_API bool cen_task_cancel(cen_task *task);

/* ---- How a step ends: it returns the result of one of these ------------------------------ */

/* End the task. Its future completes with the value, or fails with the error. The error's status must not be OK. An
 * error that is NULL, or whose status is OK, is treated as DRIVER. */
CEN_API cen_next cen_task_done(cen_task *task, void *value);
CEN_API cen_next cen_task_fail(cen_task *task, const cen_error *error);

/* Let the tasks that are queued on this worker run, then run `next`. Tasks submitted from outside get turns in between.
 * If `next` is NULL, the task ends with MISUSE. */
CEN_API cen_next cen_task_yield(cen_task *task, cen_step next);

/* Suspend the task until the future completes, whatever its status, then run `next`. If the future is already done,
 * `next` is queued immediately. Until the future completes, the task is its consumer, and nothing else may wait for it.
 *
 * If the task is asked to end while it is suspended, and the future can be cancelled, the task resumes early, but only
 * once. The future is then cancelled and never completes. The same happens if the task was asked to end before the wait
 * and has not yet learned of this from cen_task_check_stop. A stop with CEN_STOP_DROP may end the task here, in which
 * case `next` never runs. See cen_crew_stop.
 *
 * The task ends with MISUSE if the future is NULL, was never promised, has another consumer or is the task's own, or if
 * `next` is NULL. */
CEN_API cen_next cen_task_wait(cen_task *task, cen_future *future, cen_step next);

/* Check whether the task has been asked to end. The step decides which work to leave unfinished. After this function
 * has returned CLOSED, the task may still wait, for example for a rollback: the stop no longer drops it.
 * Returns:
 *   OK           the task may continue; a stop with CEN_STOP_DRAIN does not ask tasks to end
 *   INTERRUPTED  the task was cancelled
 *   TIMEOUT      the task's deadline has passed
 *   CLOSED       the crew is being stopped with CEN_STOP_DROP
 */
CEN_API cen_status cen_task_check_stop(const cen_task *task);

/* ---- On a worker ---------------------------------------------------------------------- */

/* Wait until the future is done, as cen_future_wait does. If the calling thread is a worker, it runs other tasks on top
 * of the waiting task in the meantime. Anything that the waiting task holds, such as a mutex, stays held while they
 * run. If the future belongs to a task of the crew that has not begun, that task runs first.
 *
 * In these cases, the worker blocks instead, and the crew may run another worker in its place:
 *   - the task holds an attached lease of a pool
 *   - the call is made in a blocking section, in an inline job, or in a job that was posted to the crew
 *   - more than 128 tasks run on top of each other, or half of the stack is used
 * On a thread that is not a worker, this function spins briefly and then waits as cen_future_wait does.
 *
 * Blocking: until the deadline (CEN_DEFAULT: 30 s).
 * Returns:
 *   OK      the future is done; future->status says how it ended
 *   FORKED  a task that ran in the meantime has forked, and this is the child
 *   others  as cen_future_wait
 */
CEN_API cen_status cen_await(cen_future *future, cen_deadline deadline);

/* Mark the beginning and the end of a section that blocks without using the processor. Workers in such a section do not
 * count towards options.workers: so that tasks that need the processor do not wait, the crew runs other workers in
 * their place, up to a total of options.max threads. Sections may nest. If a section is still open when a step ends, it
 * ends with the step. On threads that are not workers, these functions do nothing. */
CEN_API void cen_blocking_begin(void);
CEN_API void cen_blocking_end(void);

/* These functions return the task that is running on this thread (NULL: none), this worker's crew, and this worker's
 * number, from 0 to max - 1. On a thread that is not a worker, they return NULL, NULL and UINT32_MAX respectively. */
CEN_API cen_task *cen_task_current(void);
CEN_API cen_crew *cen_crew_current(void);
CEN_API uint32_t cen_worker_current(void);

/* The context of the worker that runs the current step. The next step may run on another worker, which has a different
 * context, so call cen_context_current again in each step. Programs compiled without NDEBUG abort if a context is used
 * after the step that called cen_context_current; the message names the task. */
typedef struct cen_context {
    void *data_;
    uint64_t step_;
} cen_context;

/* Return the context of this worker. Its data is NULL if the crew has no contexts, or if the calling thread is not a
 * worker. */
CEN_API cen_context cen_context_current(void);

/* Abort if the context is from another step. */
CEN_API void cen_context_check(const cen_context *context);

/* Return the data of a context, as created by cen_context_type.create. Unless NDEBUG is defined, the context is checked
 * first. */
static inline void *cen_context_data(cen_context context)
{
#ifndef NDEBUG
    cen_context_check(&context);
#endif
    return context.data_;
}

/* ---- The crew ----------------------------------------------------------------------------- */

/* A context: per-worker data, such as counters or a connection. All functions are called on the worker's own thread,
 * and never concurrently for the same context. Any of them may be NULL. */
typedef struct cen_context_type {
    /* Creates the context before the worker runs anything. With any status other than OK, the worker does not start:
     * cen_crew_new fails with that status, and a crew that is already running tries again when it next needs a
     * worker. */
    cen_status (*create)(void *argument, uint32_t worker, void **out, cen_error *error);
    void (*destroy)(void *argument, void *data); /* when the worker ends, for whatever reason; after a final on_tick */
    void (*on_tick)(void *argument, void *data); /* every tick_ns, busy or idle, between two steps; also at the end */
    void (*before_pause)(void *argument, void *data); /* the worker found no work and is about to sleep */
    void (*after_resume)(void *argument, void *data); /* the worker is awake again */
    void *argument;
} cen_context_type;

/* Callbacks for the tasks of a crew, called on the thread where the event occurs. Any of them may be NULL. They must be
 * short, and must not submit to the same crew. They may use task->note freely. */
typedef struct cen_observer {
    void (*began)(void *argument, cen_task *task);                 /* before each step */
    void (*paused)(void *argument, cen_task *task, cen_next next); /* after each step except the last */
    void (*resumed)(void *argument, cen_task *task);               /* the wait is over, and the task is queued again */
    /* Called after the last step. If the task was cancelled, timed out or dropped before it began, this is called
     * instead of the first step. If a stop dropped the task while it was suspended, this is called when it is dropped.
     * `status` is how the task ended; `begun` says whether it had begun. This is the last callback for the task, and
     * comes before its future completes. */
    void (*over)(void *argument, cen_task *task, cen_status status, bool begun);
    void *argument;
} cen_observer;

/* In every field, zero means the default. Fields are only ever appended. */
typedef struct cen_crew_options {
    size_t size;      /* sizeof(cen_crew_options), set by the macro */
    const char *name; /* copied; the threads' names begin with it; default "crew" */

    uint32_t workers; /* workers that run at a time, not counting blocked ones; default: the number of processors */
    uint32_t min;     /* threads kept even if there is no work; at most workers; default: workers */
    /* maximum number of threads, blocked ones included; at least workers, at most CEN_CREW_MAX; default: workers + 64
     * or 4 * workers, whichever is more */
    uint32_t max;
    /* idle timeout of a thread beyond min; default 10 s, CEN_OFF: it never ends, CEN_NONE: it ends immediately */
    int64_t idle_timeout_ns;

    size_t stack_size;    /* of a worker's thread, in bytes; default: the system's */
    const uint32_t *cpus; /* copied; worker n runs only on cpus[n % cpu_count]; default: any processor */
    size_t cpu_count;

    cen_context_type context;
    int64_t tick_ns; /* interval of context.on_tick, which must be set; default 1 s; missed ticks count as one */
    cen_observer observer;

    /* A step that runs for longer than this is reported once. The report is made at most half this time late. Default:
     * no step is reported. */
    int64_t slow_ns;
    /* Called for each report, on a thread of the runtime. `text` is a complete sentence, `task` the task's name,
     * `thread` the worker's name, and `ns` how long the step has been running. Requires slow_ns. If NULL, the text goes
     * to stderr. */
    void (*slow)(void *argument, const char *text, const char *task, const char *thread, int64_t ns);
    void *argument; /* of slow */

    /* Default CEN_FORK_REFUSE: in the child, calls return FORKED. CEN_FORK_RENEW: the child's crew has its own workers
     * and no tasks. Tasks from before the fork stay with the parent; their futures never complete in the child. */
    cen_fork_policy on_fork;

    cen_runtime *runtime;           /* for timers; must have threads; default the process's own */
    const cen_allocator *allocator; /* default malloc */

    bool without_actions; /* tools that watch the process (component.h) cannot resize the crew */
} cen_crew_options;

/* Options with the given fields: CEN_CREW_OPTIONS(.name = "orders", .workers = 4). All others are zero. */
#define CEN_CREW_OPTIONS(...) CEN_OPTIONS_(cen_crew_options, __VA_ARGS__)

/* The maximum number of threads of a crew. */
#define CEN_CREW_MAX 4096

/* Create a crew and start `min` workers. More workers are started only when there is work for them. With any status
 * other than OK, nothing is left behind.
 *
 * Blocking: until the first workers have their contexts.
 * Returns:
 *   OK
 *   INVALID    out is NULL, or an option is invalid; the text names it
 *   NO_MEMORY
 *   SYSTEM     a thread could not be started
 *   FORKED     options.runtime belongs to the parent process
 *   others     the status of options.context.create
 */
CEN_API cen_status cen_crew_new(const cen_crew_options *options, cen_crew **out, cen_error *error);

/* Change the number of workers. Additional workers are available immediately. A surplus worker finishes its step,
 * leaves its queued tasks to the others, and ends. `min` never exceeds the number of workers: while that number is
 * below options.min, it is used as the minimum instead.
 * Returns:
 *   OK
 *   INVALID  crew is NULL, or workers is 0 or more than options.max
 *   CLOSED   the crew was stopped
 *   others   FORKED and NO_MEMORY, as cen_crew_submit
 */
CEN_API cen_status cen_crew_resize(cen_crew *crew, uint32_t workers, cen_error *error);

/* Return the crew as an executor. Jobs posted to it run on a worker. A job cannot be refused, so it runs even if the
 * crew has been stopped. Jobs that are posted after the crew has ended, or in a forked child that has no crew, run on
 * the process's own runtime. Return NULL for NULL. */
CEN_API cen_executor *cen_crew_executor(cen_crew *crew);

/* The result of a stop. */
typedef struct cen_crew_report {
    size_t size;       /* sizeof(cen_crew_report), set by CEN_SIZED */
    uint64_t finished; /* tasks that have ended since the first call to stop, except dropped ones */
    uint64_t dropped;  /* tasks that ended with CLOSED: they had not begun, or were suspended */
    uint64_t running;  /* tasks that remain: in a step */
    uint64_t waiting;  /* tasks that remain: waiting for a future */
    uint64_t queued;   /* tasks that remain: queued for their first or next step */
} cen_crew_report;

/* Stop a crew and wait until all tasks and workers have ended. Once this is called, submits from outside the crew fail
 * with CLOSED.
 *
 * CEN_STOP_DRAIN runs all tasks to completion, including any tasks that they submit.
 *
 * CEN_STOP_DROP ends each task as soon as possible. All submits fail with CLOSED.
 *   - A queued task that has not begun ends with CLOSED.
 *   - A suspended task ends with CLOSED if the future it waits for can be cancelled. That future is cancelled, and the
 *     next step never runs. Leases that the task holds are handled according to on_holder_end. The program must release
 *     any other resources in the `done` callback of the task's future.
 *   - A suspended task whose future cannot be cancelled continues when that future completes. So does a task that waits
 *     for another task of the same crew. A task that waits for a group continues immediately; the members stay pending.
 *   - A task in a step is asked to end: cen_task_check_stop returns CLOSED. If the task then calls cen_task_wait
 *     without having called cen_task_check_stop since the stop, it is dropped like a suspended task.
 *
 * When the deadline passes, a drain becomes a drop, and the call returns TIMEOUT. Call it again to wait for the rest.
 * When called from within a task of the crew, this function waits for all other tasks, as cen_await does. The workers
 * then end later.
 *
 * Blocking: until the deadline (CEN_DEFAULT: 30 s).
 * Returns:
 *   OK       all tasks have ended; *report, if not NULL, is filled in
 *   TIMEOUT  the deadline passed first; *report and the error text say what remains
 *   INVALID  crew is NULL, `how` is not a cen_stop, or the size of the report is not set
 *   FORKED   the crew belongs to the parent process
 */
CEN_API cen_status cen_crew_stop(cen_crew *crew, cen_stop how, cen_deadline deadline, cen_crew_report *report,
                                 cen_error *error);

/* Free a stopped crew. This waits until its threads have exited. In a forked child, it only frees the memory. NULL is
 * allowed. No other call may be in progress, and none may follow. With any status other than OK, nothing changes.
 * Returns:
 *   OK
 *   BUSY    the crew has not been stopped, or tasks or workers remain
 *   MISUSE  called on one of its workers
 */
CEN_API cen_status cen_crew_free(cen_crew *crew);

/* ---- Stats ---------------------------------------------------------------------------------- */

/* Stats of a crew. */
typedef struct cen_crew_stats {
    size_t size;                  /* sizeof(cen_crew_stats), set by CEN_SIZED */
    uint64_t submitted, finished; /* tasks so far; finished includes cancelled, timed-out and dropped ones */
    uint64_t queued;              /* tasks that have not begun, or are ready for their next step */
    uint64_t running;             /* tasks in a step, including those with another task on top during cen_await */
    uint64_t waiting;             /* tasks that wait for a future */
    uint64_t steps;               /* steps that have begun */
    uint64_t stolen;              /* steps that a worker took from another's queue */
    uint64_t slow;                /* steps that the watchdog reported */
    uint64_t lost;                /* threads that were ended by a task */
    uint32_t workers;             /* as set by options.workers or cen_crew_resize */
    uint32_t threads;             /* existing threads */
    uint32_t idle;                /* sleeping threads */
    uint32_t blocked;             /* threads in a blocking section */
    bool is_stopped;
} cen_crew_stats;

/* Get the crew's stats. Each number was correct at some moment during the call. If nothing happens during the call,
 * submitted = finished + queued + running + waiting.
 * Returns:
 *   OK
 *   INVALID  crew or out is NULL, or the size of *out is not set
 *   others   FORKED and NO_MEMORY, as cen_crew_submit
 */
CEN_API cen_status cen_crew_stats_get(cen_crew *crew, cen_crew_stats *out);

#ifdef __cplusplus
}
#endif
#endif
