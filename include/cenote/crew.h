/* SPDX-License-Identifier: MIT */
/*
 * A crew: worker threads that run tasks.
 *
 * A task is the program's own struct with a cen_task first. It runs in steps. A
 * step ends the task, or lets others go first, or waits for a future without
 * keeping a worker; then the next step runs, maybe on another worker:
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
 * Submitting allocates nothing.
 *
 * Order: a crew of one worker begins the tasks of one submitter in the order in which
 * they were submitted. A submitter is a thread outside the crew, or a task. The order of two
 * submitters is not defined. It is the order of first steps: a later step runs when its task
 * is queued again. While a step is in cen_await its worker keeps that order too, but
 * begins the awaited task first. A tick changes no order. The order is lost where a second thread runs tasks:
 * during a section that blocks (cen_blocking_begin; set max to 1 to prevent it), and after a step
 * that ends its thread. With several workers tasks begin in about the order of submission,
 * and none waits for ever.
 *
 * Memory: from submit until its future is done a task is the library's and must
 * stay where it is: see future.h for when that is. A `done` of the future, run
 * inline or elsewhere, may free it. A future that a task waits for must stay until
 * the task goes on.
 *
 * Owners: what a step takes from a pool or asks for belongs to the task, whichever worker
 * runs it, and what a task still holds when it is over goes the way of what an ended
 * thread held.
 *
 * Threads: everything may be called from any thread, and from within tasks, but for
 * what belongs to the running step: see each. Workers block all signals.
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

/* What a step answers; made by the functions below. */
typedef enum cen_next {
    CEN_NEXT_OVER = 1, /* the task is over */
    CEN_NEXT_AGAIN,    /* the next step comes after what its worker has queued */
    CEN_NEXT_WAIT,     /* ... when a future is done */
} cen_next;

/* One step of a task. It may block, but see cen_blocking_begin; it must not leave
 * by longjmp. One that ends its thread, by pthread_exit or, if it has enabled that itself,
 * by being cancelled, ends its task with MISUSE, and the worker is replaced. No hook of a
 * context, observer or inline `done` may do so. */
typedef cen_next (*cen_step)(cen_task *task);

/* The first member of the program's own struct. */
struct cen_task {
    cen_future future; /* done when the task is over; error and user are the program's */
    /* cenote's, used in every step */
    cen_job job_;
    cen_step step_;
    CEN_ATOMIC_(uint32_t) state_;
    uint32_t marks_;
    /* the program's, set after init and before it is submitted */
    /* what watchdog and reports call it; a literal, or as long-lived as the crew; NULL: "a task" */
    const char *name;
    cen_deadline deadline; /* not begun by then, it never is, and fails with TIMEOUT; begun, it is asked to end;
                            * CEN_DEFAULT: none */
    uint64_t note[3];      /* an observer's; zero after init */
    /* cenote's */
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

/* Makes a task ready for its first use, or, once it is over, for another. */
CEN_API void cen_task_init(cen_task *task, cen_step first);

/* Hands the task over. From outside it goes to a queue that all workers take
 * from; from within a task of the same crew, to the worker's own, from which idle
 * workers steal. Never waits for anything but other submits, and allocates nothing.
 * Errors, after which the task is the caller's: INVALID (NULL, or no step), CLOSED
 * (the crew was stopped: to drop; or to drain, and this is not within one of its tasks), MISUSE (it was
 * submitted before and is not over, or was not made ready again), SYSTEM (it has a deadline, and no
 * thread could be had that keeps time), FORKED, and in a child that
 * makes the crew anew NO_MEMORY, SYSTEM. The text of the error says which, and the crew's name. */
CEN_API cen_status cen_crew_submit(cen_crew *crew, cen_task *task, cen_error *error);

/* The same for many at once: all, or none, after an error. They are cheaper together. */
CEN_API cen_status cen_crew_submit_all(cen_crew *crew, cen_task *const tasks[], size_t count, cen_error *error);

/* Runs a function as a task of one step that cenote allocates. `result`, if it is
 * not NULL, is promised, and done with what the function returned; it may be cancelled
 * at any time, and the function is not called if it has not been by then.
 * Errors: as submit, and NO_MEMORY. */
CEN_API cen_status cen_crew_submit_function(cen_crew *crew, const char *name, void *(*call)(void *argument),
                                            void *argument, cen_future *result, cen_error *error);

/* Takes a task back that has not begun. True: it never will; its future is
 * done with INTERRUPTED, as usual. False: it has begun, or is over: it is
 * asked to end, see cen_task_check_stop. Exactly one of the two. The caller sees to it that
 * the task is there. (cen_future_cancel of its future does the same, but that the
 * future of a task that was taken back is never done. If it has begun, cancel
 * answers false, and the future is done when the task is over.) */
CEN_API bool cen_task_cancel(cen_task *task);

/* ---- In a step: how it goes on. Each is for `return` ----------------------------------- */

/* The task is over, and its future is done with the value, or with the error (whose
 * status must not be OK; NULL: DRIVER). */
CEN_API cen_next cen_task_done(cen_task *task, void *value);
CEN_API cen_next cen_task_fail(cen_task *task, const cen_error *error);

/* What its worker has queued goes first, then comes `next`; what comes from outside has its turns in between. */
CEN_API cen_next cen_task_yield(cen_task *task, cen_step next);

/* `next` comes when the future is done, however that ended; at once if it is. The
 * task is its consumer until then: nobody else waits for it. If the task is asked
 * to end meanwhile, or was and has not heard of it by cen_task_check_stop, it goes on early, once, if
 * the future can be cancelled: then that is given up, and never done. A stop that drops may end the task here, and `next`
 * never runs: see cen_crew_stop. A future
 * that has another consumer, or that nobody promised, ends the task with MISUSE. */
CEN_API cen_next cen_task_wait(cen_task *task, cen_future *future, cen_step next);

/* Whether the task should come to its end: OK: no. INTERRUPTED: it was cancelled;
 * TIMEOUT: its deadline has passed; CLOSED: the crew is being stopped. The step
 * decides what it leaves undone. After CLOSED the task may still wait, for a rollback say: the stop does not drop it. */
CEN_API cen_status cen_task_check_stop(const cen_task *task);

/* ---- On a worker ---------------------------------------------------------------------- */

/* Waits until the future is done, like cen_future_wait; a worker runs other
 * tasks meanwhile, on top of the one that waits: whatever it holds, a mutex say, they
 * find held. So it does not if the task holds an attached lease of a pool, in a section that
 * blocks or an inline job, or when half of the stack is used: then it blocks, and the crew may
 * have another worker meanwhile. If the future is that of a task which has not begun, that one is run first.
 * Elsewhere it is cen_future_wait, after a short spin. CEN_DEFAULT: 30 seconds. Errors: as there. */
CEN_API cen_status cen_await(cen_future *future, cen_deadline deadline);

/* Around what blocks without using the processor: the crew runs as many others
 * meanwhile as it has workers, up to its max, so that tasks that only compute do not wait. May
 * nest; not on a worker they do nothing. What a step leaves open is closed at its end. */
CEN_API void cen_blocking_begin(void);
CEN_API void cen_blocking_end(void);

/* The task that runs on this thread, its crew, and the number of its worker, from 0
 * to max - 1; NULL and UINT32_MAX elsewhere. */
CEN_API cen_task *cen_task_current(void);
CEN_API cen_crew *cen_crew_current(void);
CEN_API uint32_t cen_worker_current(void);

/* The context of this worker, for the step that runs: another step may run on
 * another worker, whose context is another. Debug builds of the program, those
 * without NDEBUG, abort with a sentence that names the task if it is used after the step in
 * which it was got. */
typedef struct cen_context {
    void *data_;
    uint64_t step_;
} cen_context;

/* Its data is NULL if the crew has none, or elsewhere. */
CEN_API cen_context cen_context_current(void);
CEN_API void cen_context_check(const cen_context *context);

static inline void *cen_context_data(cen_context context)
{
#ifndef NDEBUG
    cen_context_check(&context);
#endif
    return context.data_;
}

/* ---- The crew ----------------------------------------------------------------------------- */

/* What each worker has for itself. All are called on the worker's own thread,
 * and never for one context at once; any may be NULL. */
typedef struct cen_context_type {
    /* Makes it, before the worker runs anything. Not OK: the worker is not there;
     * cen_crew_new fails with it, later it is tried again when a worker is needed. */
    cen_status (*create)(void *argument, uint32_t worker, void **out, cen_error *error);
    void (*destroy)(void *argument, void *data); /* when the worker ends, however that is; after a last tick */
    void (*on_tick)(void *argument, void *data); /* every tick_ns, busy or idle, and when it ends; between two steps */
    void (*before_pause)(void *argument, void *data); /* it found nothing to do and is about to sleep */
    void (*after_resume)(void *argument, void *data); /* it is awake again */
    void *argument;
} cen_context_type;

/* What is told of each task of a crew, on the thread where it happens; any may be NULL.
 * They must be short, and submit nothing to the same crew. task->note is theirs. */
typedef struct cen_observer {
    void (*began)(void *argument, cen_task *task);                 /* before each step */
    void (*paused)(void *argument, cen_task *task, cen_next next); /* after each step but the last */
    void (*resumed)(void *argument, cen_task *task);               /* it waited, and is queued again */
    /* After the last step; instead of the first, if the task was cancelled, too late or dropped; or while it was suspended,
     * if a stop dropped it. `status` is how it ended. The last that is told, before its future is. */
    void (*over)(void *argument, cen_task *task, cen_status status, bool begun);
    void *argument;
} cen_observer;

/* Zero means default in every field. Fields are only ever appended. */
typedef struct cen_crew_options {
    size_t size;      /* sizeof(cen_crew_options), set by the macro */
    const char *name; /* copied; the threads' names begin with it; default "crew" */

    uint32_t workers; /* that run at a time; default: as many as there are processors */
    uint32_t min;     /* threads that stay without work; default: workers */
    /* threads at most, those that are blocked included; default: workers + 64, at least 4 * workers */
    uint32_t max;
    /* how long a thread beyond min stays without work; default 10 s, CEN_OFF: for ever, CEN_NONE: it
                        * ends at once */
    int64_t idle_timeout_ns;

    size_t stack_size;    /* of a thread; default: the system's */
    const uint32_t *cpus; /* copied: the worker of number n runs on cpus[n % cpu_count] only; default: anywhere */
    size_t cpu_count;

    cen_context_type context;
    int64_t tick_ns; /* default 1 s, if there is an on_tick */
    cen_observer observer;

    /* A step that runs for longer is reported, once; default: none is. It is noticed at
     * half that time late at most. */
    int64_t slow_ns;
    /* `text` is a whole sentence; `task` its name, `thread` the worker's, `ns` for how long
     * by then. On a thread of the runtime. NULL: the text goes to stderr. */
    void (*slow)(void *argument, const char *text, const char *task, const char *thread, int64_t ns);
    void *argument; /* of slow */

    /* RENEW: the child's crew has workers of its own and no task; the parent's tasks are the
     * parent's, and their futures are never done in the child. */
    cen_fork_policy on_fork;

    cen_runtime *runtime;           /* keeps its time, with threads; default the process' own */
    const cen_allocator *allocator; /* default malloc */

    bool without_actions; /* whoever watches the process (component.h) cannot resize it */
} cen_crew_options;

#define CEN_CREW_OPTIONS(...) CEN_OPTIONS_(cen_crew_options, __VA_ARGS__)

#define CEN_CREW_MAX 4096

/* Starts `min` workers; the others come with the work. Errors: INVALID (the text names the field),
 * NO_MEMORY, SYSTEM, FORKED, and what the context's create answered: then nothing is left. */
CEN_API cen_status cen_crew_new(const cen_crew_options *options, cen_crew **out, cen_error *error);

/* Runs as many at a time from now on. More are there at once; a worker that is too
 * many finishes its step first, leaves what it had to the others, and ends. `min` goes down
 * along, and up again. Errors: INVALID (0, or more than max), CLOSED, FORKED. */
CEN_API cen_status cen_crew_resize(cen_crew *crew, uint32_t workers, cen_error *error);

/* A job that is posted here runs on a worker. Since it cannot be refused it runs
 * whether the crew is stopped or not; after its end, and in a forked child that has no
 * crew, on the process' own runtime. */
CEN_API cen_executor *cen_crew_executor(cen_crew *crew);

/* How a stop went. */
typedef struct cen_crew_report {
    size_t size;       /* sizeof(cen_crew_report), set by CEN_SIZED */
    uint64_t finished; /* tasks that came to their end since stop was called first */
    uint64_t dropped;  /* tasks that ended with CLOSED: they had not begun, or were suspended */
    uint64_t running;  /* are left: in a step, or queued for the next ... */
    uint64_t waiting;  /* ... waiting for a future ... */
    uint64_t queued;   /* ... or not begun */
} cen_crew_report;

/* Stop a crew and wait until all tasks and workers have ended. Submits from outside fail with CLOSED from now on.
 *
 * CEN_STOP_DRAIN runs all tasks to their end, and the tasks that they submit.
 *
 * CEN_STOP_DROP ends each task as soon as it can be ended. All submits fail with CLOSED.
 *   - A queued task that has not begun ends with CLOSED.
 *   - A suspended task ends with CLOSED if the future it waits for can be cancelled. That future is cancelled, and the next
 *     step never runs. Leases that the task holds go the way of on_holder_end. Other resources are the program's:
 *     release them in the `done` of the task's future.
 *   - A suspended task whose future cannot be cancelled goes on when that future is done. So does a task that waits for a
 *     task of the same crew. A task that waits for a group goes on at once; the members stay pending.
 *   - A task in a step is asked to end: cen_task_check_stop returns CLOSED. A task that then calls cen_task_wait and has not
 *     called cen_task_check_stop since the stop is dropped as a suspended one.
 *
 * When the deadline passes, a drain becomes a drop, and the call returns TIMEOUT. Call it again to wait for the rest.
 * CEN_DEFAULT: 30 seconds. From within a task of the crew it waits for all other tasks, as cen_await does, and the workers
 * end later. `report` may be NULL. Errors: TIMEOUT, INVALID, FORKED. */
CEN_API cen_status cen_crew_stop(cen_crew *crew, cen_stop how, cen_deadline deadline, cen_crew_report *report,
                                 cen_error *error);

/* Waits for the workers' last instructions and gives the memory back; in a forked child, just
 * gives it back. NULL is allowed. Errors: BUSY (it has not been stopped, or something is left), MISUSE (from
 * within one of its tasks): nothing changes. No other call may be in progress or come later. */
CEN_API cen_status cen_crew_free(cen_crew *crew);

/* ---- A look at it --------------------------------------------------------------------------- */

typedef struct cen_crew_stats {
    size_t size;                  /* sizeof(cen_crew_stats), set by CEN_SIZED */
    uint64_t submitted, finished; /* tasks; finished includes those that were cancelled, too late or dropped */
    uint64_t queued;              /* not begun, or ready for their next step */
    uint64_t running;             /* in a step, or below one that runs while it awaits something */
    uint64_t waiting;             /* for a future */
    uint64_t steps;               /* that were run */
    uint64_t stolen;              /* steps that a worker took from another's queue */
    uint64_t slow;                /* reported by the watchdog */
    uint64_t lost;                /* threads that a task ended */
    uint32_t workers;             /* as set */
    uint32_t threads;             /* that are there */
    uint32_t idle;                /* of these, asleep */
    uint32_t blocked;             /* of these, in a section that blocks */
    bool is_stopped;
} cen_crew_stats;

/* Each number was true during the call, and submitted is finished, queued, running and waiting
 * together if nothing happens meanwhile. Errors: INVALID, FORKED. */
CEN_API cen_status cen_crew_stats_get(cen_crew *crew, cen_crew_stats *out);

#ifdef __cplusplus
}
#endif
#endif
