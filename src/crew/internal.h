/* SPDX-License-Identifier: MIT */
/*
 * Internal declarations of the crew. Only the files of src/crew include this.
 *
 * Order table
 * [I1] call | load of idle, after a push | seq_cst | I2 in idle.c | whether a worker sleeps or searches | pusher and sleeper miss each other (P1 in idle.c)
 */
#ifndef CENI_CREW_INTERNAL_H
#define CENI_CREW_INTERNAL_H

#include <stdatomic.h>
#include <stddef.h>

#include <cenote/crew.h>

#include "base/list.h"
#include "crew/deque.h"
#include "crew/injector.h"
#include "port/mutex.h"
#include "port/port.h"
#include "record/directory.h"
#include "runtime/runtime.h"
#include "sync/holder.h"

enum {
    CENI_CREW_NAME = 16,
    CENI_SHARDS_MOST = 16,
    CENI_BATCH = 32, /* most jobs that a worker takes from the injector at a time */
};

/* ---- Tasks ------------------------------------------------------------------------------- */

/* cen_task.state_; see task.c for the picture. */
enum {
    CENI_TASK_FREE = 0,
    CENI_TASK_QUEUED, /* not begun */
    CENI_TASK_RUNNING,
    CENI_TASK_READY,         /* queued for its next step */
    CENI_TASK_BINDING,       /* its worker makes it the consumer of a future ... */
    CENI_TASK_BINDING_ASKED, /* ... and was asked to end meanwhile */
    CENI_TASK_WAITING,       /* for that future */
    CENI_TASK_ASKING,        /* ... which is being cancelled */
    CENI_TASK_GOES_ON,       /* the future is done; the thread that binds or asks queues the task */
};

/* cen_task.marks_, written by the thread that owns the task: which other fields of the task are in use. */
enum {
    CENI_MARK_DEADLINE = 1, /* an alarm is set */
    CENI_MARK_OWNS = 2,     /* owner_ is in use */
    CENI_MARK_NESTED = 4,   /* outer_ is the task below it */
};

/* cen_task.asked_: a status in the low 8 bits, and these bits. */
enum {
    CENI_ASKED_STATUS = 0xFF,
    CENI_ASKED_RANG = 0x100,   /* the alarm's callback touches the task no further */
    CENI_ASKED_KNOWN = 0x200,  /* its step has seen the request, or its wait was cut short: it may wait again */
    CENI_ASKED_CLOSED = 0x400, /* its step has learned that the crew drops: a stop does not drop it */
};

#define CENI_TASK_OF_JOB(job) ((cen_task *)(void *)(((char *)(job)) - offsetof(cen_task, job_)))
#define CENI_TASK_OF_FUTURE(f) ((cen_task *)(void *)(((char *)(f)) - offsetof(cen_task, future)))
#define CENI_TASK_OF_EXECUTOR(e) ((cen_task *)(void *)(((char *)(e)) - offsetof(cen_task, executor_)))
#define CENI_TASK_OF_ALARM(a) ((cen_task *)(void *)(((char *)(a)) - offsetof(cen_task, alarm_)))
#define CENI_TASK_ALARM(task) ((ceni_alarm *)(void *)(task)->alarm_.room_)
#define CENI_TASK_HOLDER(task) ((ceni_holder *)(void *)(task)->owner_)

_Static_assert(sizeof(ceni_alarm) <= sizeof(((cen_task *)0)->alarm_), "a task has room for its alarm");
_Static_assert(sizeof(ceni_holder) <= sizeof(((cen_task *)0)->owner_), "a task has room for its owner's record");
_Static_assert(sizeof(ceni_list) <= sizeof(((cen_task *)0)->link_), "a task has room for its link among the suspended");

/* ---- Workers -------------------------------------------------------------------------------- */

/* In ceni_worker.word, a futex. */
enum { CENI_WORD_CALLED = 1, CENI_WORD_EVENTS = 2 };

typedef struct ceni_core ceni_core;
typedef struct ceni_worker ceni_worker;

/* A job that is alone in another worker's deque, by the number of its cell. */
typedef struct ceni_lone {
    const ceni_worker *victim; /* NULL: none */
    uint32_t cell;
} ceni_lone;

struct ceni_worker {
    ceni_deque deque;

    /* only its own thread */
    _Alignas(CENI_CACHE_LINE) ceni_core *core;
    const cen_observer *observer; /* the crew's; NULL: it observes no steps */
    uint32_t number;
    uint32_t turn;        /* jobs to find before the injector comes first again */
    uint32_t takes;       /* takes from the injector; each starts at another shard, so that a busy
                         * shard does not starve the others */
    uint32_t ticks;       /* the core's ticks that it has seen */
    uint32_t blocking;    /* open blocking sections */
    uintptr_t stack_base; /* approximate base of its stack */
    bool is_searching;    /* it is counted as a searcher in core->idle */
    bool is_away;         /* a step has forked, and this is the child */
    bool is_spilling;     /* some of its new tasks are in the injector, and the next ones go there too: Q4 in find.c */
    bool is_ending;       /* it has handed over its jobs; nothing more goes into its deque */
    cen_task *task;       /* on top; NULL: none, or a job runs, or the end of a step is handled ... */
    cen_task *under_job;  /* ... and this is the task below; neither helps, so there is at most one */
    uint64_t step;        /* the number of the running step; 0: none */
    ceni_lone lone;       /* a job that it has seen alone at its last look, and left */
    ceni_holder_before thread_holder; /* the thread's own record, while a task's is the current one */
    void *context;
    char name[CENI_CREW_NAME + 8];

    /* its own thread writes, any thread reads */
    _Atomic uint64_t watch;           /* odd: a step runs; incremented by each begin and end */
    _Atomic(const char *) watch_name; /* of that task */
    _Atomic uint64_t tasks_in, tasks_out, waits, resumed, stolen, steps;
    _Atomic uint32_t depth; /* nested tasks on its stack */

    /* the watchdog's alarm */
    uint64_t watch_last;
    int64_t watch_since;
    bool watch_told;

    /* under the core's mutex */
    ceni_list link; /* in parked_list; the last to park is first */
    bool is_listed;
    uint32_t stopping; /* its tasks that are in cen_crew_stop, and those below them */
    bool is_leaving;
    bool is_used;       /* a thread runs it, or is being started */
    bool is_blocked;    /* it is counted in `blocked` */
    uint64_t seen;      /* the step that describe.c saw last; 0: none ... */
    int64_t seen_since; /* ... and when it first saw it, on the runtime's clock */

    _Alignas(CENI_CACHE_LINE) _Atomic uint32_t word; /* any thread, atomically */
};

/* ---- The crew ---------------------------------------------------------------------------------- */

/* core->idle: this bit, plus CENI_IDLE_SEARCHER for each searching worker. */
enum { CENI_IDLE_CALLABLE = 1, CENI_IDLE_SEARCHER = 2 };

/* One of the lists of suspended tasks; see suspend.c. */
#ifdef CENI_WATCHED
enum { CENI_SUSPENDED_LISTS = 1 };
#else
enum { CENI_SUSPENDED_LISTS = 8 };
#endif

typedef struct ceni_suspended {
    _Alignas(CENI_CACHE_LINE) ceni_mutex mutex; /* of rank SUSPENDED */
    ceni_list tasks;                            /* under the mutex */
} ceni_suspended;

/* A crew's state in one process. The child of a fork makes a core of its own. */
struct ceni_core {
    /* fixed when it is made */
    cen_crew *crew;
    uint64_t epoch;
    cen_runtime *runtime;
    ceni_core *older; /* the parent's; the child frees its memory with the crew */
    uint32_t max;
    size_t stack_size; /* of a worker */
    ceni_injector injector;
    _Atomic(ceni_worker *) *workers; /* max of them; NULL: never used */

    _Alignas(CENI_CACHE_LINE) _Atomic uint32_t idle; /* see idle.c */

    ceni_suspended suspended[CENI_SUSPENDED_LISTS]; /* see suspend.c */

    /* read by all, written seldom */
    _Alignas(
        CENI_CACHE_LINE) _Atomic uint32_t seats; /* workers below this number have been used; grows under the mutex */
    _Atomic uint32_t workers_guess;              /* target, for readers without the mutex; written under it */
    _Atomic uint32_t surplus;                    /* not 0: more than target are active; written under the mutex */
    _Atomic uint32_t ticks;                      /* ticks that were due; written by the alarm */
    _Atomic uint32_t closing;                    /* 0, or a cen_stop; written under the mutex */
    _Atomic uint64_t slow_count;

    /* under the mutex, of rank CREW */
    _Alignas(CENI_CACHE_LINE) ceni_mutex mutex;
    uint32_t target, min; /* as configured; the smaller one is how many stay when idle */
    uint32_t threads;     /* each counted from before its start to its departure */
    uint32_t active;      /* of these, neither parked nor blocked */
    uint32_t parked, blocked;
    uint32_t stopping;   /* tasks in cen_crew_stop and below, for which a task's stop does not wait */
    uint32_t leaving;    /* of the threads, those that have decided to end */
    uint32_t too_many;   /* threads that end without the idle timeout, after a resize */
    uint32_t arriving;   /* first threads that have not created their context yet */
    uint32_t callable;   /* the bit as last written to idle */
    bool starts_barred;  /* the last start failed */
    bool over;           /* all tasks have ended; workers end */
    bool ends_itself;    /* the end of the last task sets `over` */
    bool somebody_ended; /* `ended` has a thread to join */
    uint32_t alarms;     /* alarms set or in their callback, and threads that set `over` */
    ceni_thread ended;
    ceni_list parked_list;
    uint64_t out_elsewhere;     /* tasks that ended without a worker */
    uint64_t dropped;           /* of these, dropped by a stop */
    uint64_t dropped_suspended; /* of these, tasks that were suspended */
    uint64_t lost;
    uint64_t stop_base;     /* tasks that had ended when the first stop began */
    cen_error start_error;  /* of the first start that failed */
    _Atomic uint32_t turns; /* a futex word, raised under the mutex when something has ended */

    ceni_alarm tick, watch;
};

struct cen_crew {
    cen_executor executor; /* first, so that a pointer to it is a pointer to the crew */
    /* fixed when it is made */
    cen_crew_options options;
    char name[CENI_CREW_NAME];
    uint32_t *cpus;
    size_t cpu_count;
    ceni_directory_entry entry;

    _Atomic(ceni_core *) core; /* this process's; set once in each process */
};

static inline void ceni_core_lock(ceni_core *core)
{
    ceni_mutex_lock(&core->mutex, CENI_RANK_CREW);
}

static inline void ceni_core_unlock(ceni_core *core)
{
    ceni_mutex_unlock(&core->mutex, CENI_RANK_CREW);
}

static inline ceni_worker *ceni_worker_at(ceni_core *core, uint32_t number)
{
    return ceni_setting(&core->workers[number]); /* published once */
}

/* The worker that the calling thread is; NULL: none. */
static inline ceni_worker *ceni_worker_here(void)
{
    return *ceni_thread_worker();
}

/* The worker that this thread is, if it is one of this crew. */
static inline ceni_worker *ceni_worker_of(const ceni_core *core)
{
    ceni_worker *worker = ceni_worker_here();
    return worker && worker->core == core ? worker : NULL;
}

/* Only the worker's own thread. */
static inline uint32_t ceni_worker_depth(const ceni_worker *worker)
{
    return ceni_load_relaxed(&((ceni_worker *)(uintptr_t)worker)->depth); /* its own; carries nothing */
}

static inline void ceni_worker_set_depth(ceni_worker *worker, uint32_t depth)
{
    ceni_store_relaxed(&worker->depth, depth); /* its own; carries nothing */
}

/* Something has ended: wake the threads that wait for it. */
static inline void ceni_turn_locked(ceni_core *core)
{
    /* a woken thread takes the mutex; carries nothing */
    ceni_store_relaxed(&core->turns, ceni_load_relaxed(&core->turns) + 1);
    ceni_futex_wake(&core->turns, UINT32_MAX);
}

/* Counters that one thread writes. */
static inline void ceni_count_up(_Atomic uint64_t *counter)
{
    /* its own word; a caller that needs an order has a store of its own; carries nothing */
    ceni_store_relaxed(counter, ceni_load_relaxed(counter) + 1);
}

static inline cen_task *ceni_task_outer(const cen_task *task)
{
    return task->marks_ & CENI_MARK_NESTED ? task->outer_ : NULL;
}

/* Make the task the thread's current holder, and undo it. The task's record is touched only if it is in use. */
static inline void ceni_holder_begin(ceni_worker *worker, const cen_task *task)
{
    ceni_holder *current = ceni_holder_current();
    worker->thread_holder = *current;
    if (task->marks_ & CENI_MARK_OWNS) *current = *(const ceni_holder *)(const void *)task->owner_;
    else *current = (ceni_holder){.note = CENI_HOLDER_NO_NUMBER};
}

static inline void ceni_holder_finish(ceni_worker *worker, cen_task *task)
{
    ceni_holder *current = ceni_holder_current();
    bool any = current->note != CENI_HOLDER_NO_NUMBER || current->held || current->scope;
    if (any) *CENI_TASK_HOLDER(task) = *current;
    task->marks_ = any ? task->marks_ | CENI_MARK_OWNS : task->marks_ & ~(uint32_t)CENI_MARK_OWNS;
    *current = worker->thread_holder;
}

/* core.c */
ceni_core *ceni_core_make(cen_crew *crew, cen_runtime *runtime); /* NULL: out of memory */
void ceni_core_begin(ceni_core *core);   /* starts its clocks and first workers; start_error has the first failure */
void ceni_core_discard(ceni_core *core); /* frees a core */
void ceni_crew_release(cen_crew *crew);  /* frees everything, once no thread uses it */

/* The core belongs to another process: make this process's core if the options allow it. */
ceni_core *ceni_crew_core_renewed(cen_crew *crew, cen_status *status);

/* Return this process's core, or NULL and why. */
static inline ceni_core *ceni_crew_core(cen_crew *crew, cen_status *status)
{
    ceni_core *core = ceni_setting(&crew->core);
    return __builtin_expect(ceni_fork_is(core->epoch), 1) ? core : ceni_crew_core_renewed(crew, status);
}

/* task.c */
void ceni_task_set_failure(cen_task *task, cen_status status, const char *why);
void ceni_task_over(ceni_worker *worker, cen_task *task); /* on its worker; the last touch */
/* `run` of every task's job; tasks are recognised by it */
void ceni_task_run(cen_job *job);
void ceni_task_run_on(ceni_worker *worker, cen_task *task);
void ceni_task_resume(cen_executor *executor, cen_job *job);   /* `post` of a task's executor: its future is done */
void ceni_task_push(ceni_core *core, cen_task *task);          /* queues it for its next step; the last touch */
bool ceni_task_withdraw_future(cen_future *future);            /* `withdraw_` of every task's future */
bool ceni_task_withdraw_once(ceni_core *core, cen_task *task); /* false also while a worker moves it */
bool ceni_task_withdraw(ceni_core *core, cen_task *task);      /* true: it had not begun, and the caller owns it */
void ceni_task_over_elsewhere(ceni_core *core, cen_task *task, cen_status status,
                              bool tell); /* the last touch of core and task */
/* a stop drops it, its future is cancelled; the last touch */
void ceni_task_over_suspended(ceni_core *core, cen_task *task);

/* lost.c */
void ceni_task_lost(ceni_worker *worker); /* a step has ended its thread */

/* stop_request.c: a task is asked to end; the alarm of its deadline. */
void ceni_task_request_stop(cen_task *task, cen_status why);
bool ceni_task_stop_is_requested(cen_task *task); /* after its state was set */
void ceni_task_cut_short(cen_task *task);         /* the caller has set ASKING; the last touch */
void ceni_task_go_on(cen_task *task);             /* it has waited, and the caller owns it; the last touch */
cen_status ceni_task_set_alarm(ceni_core *core, cen_task *task);
void ceni_task_unset_alarm(ceni_core *core, cen_task *task);

/* suspend.c */
void ceni_suspended_add(ceni_core *core, cen_task *task); /* by the task's owner, like the next two */
void ceni_suspended_remove(ceni_core *core, cen_task *task);
bool ceni_task_is_to_drop(cen_task *task); /* the crew drops, and the task has not learned it; after add */
void ceni_task_drop(cen_task *task);       /* the caller has set ASKING, and it is in no list; the last touch */
void ceni_suspended_drop(ceni_core *core); /* all that are suspended now */

/* find.c */
cen_job *ceni_worker_find(ceni_worker *worker);
bool ceni_work_is_visible(ceni_core *core);
void ceni_call_for_work(ceni_core *core); /* call a worker if a job is visible (P1 in idle.c) */

/* worker.c */
void ceni_worker_run(ceni_worker *worker, cen_job *job);
void ceni_worker_loop(void *worker); /* returns when the worker must end */

/* idle.c */
void ceni_update_locked(ceni_core *core, int searchers);
void ceni_call_one_now(ceni_core *core, uint32_t word);
void ceni_unlist_locked(ceni_core *core, ceni_worker *worker);  /* it is parked, and counts as active from now on */
void ceni_worker_tell(ceni_worker *worker, cen_task *awaiting); /* the future that it awaits is done */
void ceni_sleepers_nudge_locked(ceni_core *core); /* parked workers check for ticks and for their end, and park again */

/* park.c */
cen_job *ceni_worker_search(ceni_worker *worker); /* NULL: nothing found; see is_searching */
void ceni_leave_search(ceni_worker *worker);
typedef enum ceni_woke { CENI_WOKE, CENI_WOKE_LATE, CENI_WOKE_TO_END } ceni_woke;
/* counted as searching, unless TO_END */
ceni_woke ceni_worker_park(ceni_worker *worker, const cen_task *awaiting, int64_t moment);

/* After a push: call a worker if one may be called and none searches. */
static inline void ceni_call_one(ceni_core *core)
{
    uint32_t word = ceni_load_seq_cst(&core->idle); /* [I1] */
    if (word == CENI_IDLE_CALLABLE || ceni_planted(crew_wakes_for_every_push)) ceni_call_one_now(core, word);
}

/* seats.c */

/* A record for a seat that has none yet. ceni_seat_claim_locked sets is_wanted if it needs one. fetch and free drop the
 * mutex, since the allocator is the program's. So the caller decides again after fetch, and must hold something that
 * keeps the crew. */
typedef struct ceni_seat_record {
    ceni_worker *worker; /* NULL: not fetched, used, or out of memory */
    bool is_wanted;
} ceni_seat_record;
/* NULL: no seat is free, or a record is wanted */
ceni_worker *ceni_seat_claim_locked(ceni_core *core, ceni_seat_record *record);
bool ceni_seat_record_fetch_locked(ceni_core *core, ceni_seat_record *record); /* false: none is wanted */
void ceni_seat_record_free_locked(ceni_core *core, ceni_seat_record *record);  /* if it was not used */
void ceni_seat_unclaim_locked(ceni_core *core,
                              ceni_worker *worker); /* wakes the threads that wait for the end of all */
void ceni_start_failed_locked(ceni_core *core, const cen_error *error);

bool ceni_thread_begin(ceni_core *core, ceni_worker *worker); /* of a seat that was claimed */

/* threads.c */
void ceni_worker_main(void *worker); /* of its thread */

/* blocking.c */
void ceni_close_sections(ceni_worker *worker); /* close the sections that a step has left open */

/* await.c: the thread of an awaiting task has ended. */
void ceni_await_abandon(cen_task *task);
bool ceni_await_help_one(ceni_worker *worker); /* true: it has run something */

/* clock.c */
void ceni_worker_tick(ceni_worker *worker); /* calls on_tick if a tick is due */
void ceni_step_begins(ceni_worker *worker, const cen_task *task);
void ceni_step_ends(ceni_worker *worker);
uint64_t ceni_step_look(ceni_worker *worker, const char **name); /* the running step, and its task's name; 0: none */
void ceni_clocks_start(ceni_core *core);
void ceni_clocks_stop(ceni_core *core); /* once the crew is over */

/* end.c */
void ceni_post_elsewhere(cen_job *job);          /* to the process's own runtime */
uint64_t ceni_tasks_out_locked(ceni_core *core); /* tasks that have ended */
uint64_t ceni_live_locked(ceni_core *core);      /* tasks that are inside */
/* Count this worker's tasks that are in cen_crew_stop, and those below them: no task's stop waits for them. Returns the
 * number that was counted before. */
uint32_t ceni_count_stopping(ceni_worker *worker, uint32_t tasks);
bool ceni_look_for_the_end_locked(ceni_core *core); /* wakes the stopping threads; true: call ceni_make_over */
typedef enum ceni_out { CENI_OUT_ENDED, CENI_OUT_DROPPED, CENI_OUT_DROPPED_SUSPENDED } ceni_out;
/* a task has ended that no worker counts; the last touch */
void ceni_count_out_elsewhere(ceni_core *core, ceni_out how);
void ceni_look_for_the_end(ceni_core *core); /* a task has ended, and the crew may be stopping */
void ceni_stop_abandon(ceni_worker *worker); /* a task in cen_crew_stop has lost its thread */
void ceni_make_over(ceni_core *core);

/* look.c */
size_t ceni_crew_snapshot(const void *object, cen_metric *metrics, size_t room);

/* ---- refusal.c: why a call failed. Each returns the status; those of a NULL crew are INVALID. ------------------- */

cen_status ceni_crew_refuse(const cen_crew *crew, cen_status status, const char *text, cen_error *error);
cen_status ceni_crew_refuse_task(const cen_crew *crew, const cen_task *task, cen_status status, cen_error *error);
cen_status ceni_crew_refuse_all(const cen_crew *crew, cen_task *const tasks[], size_t count, cen_status status,
                                cen_error *error);

/* describe.c */
extern const ceni_component_calls ceni_crew_calls, ceni_crew_calls_without_actions;

#endif
