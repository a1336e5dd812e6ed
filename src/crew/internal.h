/* SPDX-License-Identifier: MIT */
/*
 * What the files of the crew share. Nobody else includes this.
 *
 * Order table
 * [I1] call | load of idle, after a push | seq_cst | I2 in idle.c | that somebody sleeps, or searches | both look away (P1 in idle.c)
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
    CENI_BATCH = 32, /* jobs that a worker takes at a time */
};

/* ---- Tasks ------------------------------------------------------------------------------- */

/* cen_task.state_; see task.c for the picture. */
enum {
    CENI_TASK_FREE = 0,
    CENI_TASK_QUEUED, /* not begun */
    CENI_TASK_RUNNING,
    CENI_TASK_READY,         /* queued for its next step */
    CENI_TASK_BINDING,       /* its worker is just telling a future where to come back to ... */
    CENI_TASK_BINDING_ASKED, /* ... and it was asked to end meanwhile */
    CENI_TASK_WAITING,       /* for that future */
    CENI_TASK_ASKING,        /* ... which somebody is just cancelling */
    CENI_TASK_GOES_ON,       /* the future is done; whoever is binding or asking puts it into a queue */
};

/* cen_task.marks_, of whoever has the task: what there is to be looked at in the rest of it. */
enum {
    CENI_MARK_DEADLINE = 1, /* an alarm is set */
    CENI_MARK_OWNS = 2,     /* owner_ has something */
    CENI_MARK_NESTED = 4,   /* outer_ is the task below it */
};

/* cen_task.asked_: a status, and */
enum {
    CENI_ASKED_STATUS = 0xFF,
    CENI_ASKED_RANG = 0x100,   /* the alarm's call has let go of the task */
    CENI_ASKED_KNOWN = 0x200,  /* its step has seen it, or its wait was cut short: from now on it may wait */
    CENI_ASKED_CLOSED = 0x400, /* its step has learned that the crew drops: from now on it is not dropped */
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

/* The only job of another's deque, by the number of its cell. */
typedef struct ceni_lone {
    const ceni_worker *victim; /* NULL: none */
    uint32_t cell;
} ceni_lone;

struct ceni_worker {
    ceni_deque deque;

    /* its own thread's */
    _Alignas(CENI_CACHE_LINE) ceni_core *core;
    const cen_observer *observer; /* the crew's; NULL: it wants to know nothing of steps */
    uint32_t number;
    uint32_t turn;        /* jobs that it looks for before it looks into the injector first */
    uint32_t takes;       /* from the injector: each begins with another shard, so that none is passed by
                         * because another has always something */
    uint32_t ticks;       /* of the core's, that it has seen */
    uint32_t blocking;    /* sections that are open */
    uintptr_t stack_base; /* about where its stack begins */
    bool is_searching;    /* it is counted as such in the core's word */
    bool is_away;         /* its thread came back from a step in a forked child */
    bool is_spilling;     /* of its new tasks some are in the injector, and the next go there too: see worker.c */
    bool is_ending;       /* it has handed over what it had, and takes nothing more into its deque */
    cen_task *task;       /* on top; NULL: none, or a job is, or what follows a step ... */
    cen_task *under_job;  /* ... and this is the one below it; neither helps, so there is one at most */
    uint64_t step;        /* the one that runs; 0: none */
    ceni_lone lone;       /* that it has seen at its last look, and has not taken */
    ceni_holder_before thread_holder; /* the thread's own record, while a task's is the current one */
    void *context;
    char name[CENI_CREW_NAME + 8];

    /* its own thread writes, any thread reads */
    _Atomic uint64_t watch;           /* odd: a step runs; grows with each begin and end */
    _Atomic(const char *) watch_name; /* of that task */
    _Atomic uint64_t tasks_in, tasks_out, waits, resumed, stolen, steps;
    _Atomic uint32_t depth; /* tasks that it runs, one on top of the other */

    /* the watchdog's alarm */
    uint64_t watch_last;
    int64_t watch_since;
    bool watch_told;

    /* under the core's mutex */
    ceni_list link; /* in parked, the last to lie down first */
    bool is_listed;
    uint32_t stopping; /* of its tasks, those within a stop and below */
    bool is_leaving;
    bool is_used;       /* a thread is behind it, or is being started */
    bool is_blocked;    /* it is counted in `blocked` */
    uint64_t seen;      /* `watch` when somebody looked last ... */
    int64_t seen_since; /* ... and when that was first seen, on the runtime's clock */

    _Alignas(CENI_CACHE_LINE) _Atomic uint32_t word; /* any thread, atomically */
};

/* ---- The crew ---------------------------------------------------------------------------------- */

/* Of the word idle: this bit, and twice the workers that search. */
enum { CENI_IDLE_CALLABLE = 1, CENI_IDLE_SEARCHER = 2 };

/* Some of the suspended tasks; see suspend.c. */
#ifdef CENI_WATCHED
enum { CENI_SUSPENDED_LISTS = 1 };
#else
enum { CENI_SUSPENDED_LISTS = 8 };
#endif

typedef struct ceni_suspended {
    _Alignas(CENI_CACHE_LINE) ceni_mutex mutex; /* of rank SUSPENDED */
    ceni_list tasks;                            /* under the mutex */
} ceni_suspended;

/* All that a process has of a crew; the child of a fork has another. */
struct ceni_core {
    /* fixed when it is made */
    cen_crew *crew;
    uint64_t epoch;
    cen_runtime *runtime;
    ceni_core *older; /* the parent's, whose memory the child gives back at the end */
    uint32_t max;
    size_t stack_size; /* of a worker */
    ceni_injector injector;
    _Atomic(ceni_worker *) *workers; /* max of them; NULL: never used */

    _Alignas(CENI_CACHE_LINE) _Atomic uint32_t idle; /* see idle.c */

    ceni_suspended suspended[CENI_SUSPENDED_LISTS]; /* see suspend.c */

    /* read by all, written seldom */
    _Alignas(
        CENI_CACHE_LINE) _Atomic uint32_t seats; /* workers below this number have been used; grows under the mutex */
    _Atomic uint32_t workers_guess;              /* target, for who guesses; written under the mutex */
    _Atomic uint32_t surplus;                    /* not 0: more are active than should be; written under the mutex */
    _Atomic uint32_t ticks;                      /* that were due; its alarm writes */
    _Atomic uint32_t closing;                    /* 0, or a cen_stop; written under the mutex */
    _Atomic uint64_t slow_count;

    /* under the mutex, of rank CREW */
    _Alignas(CENI_CACHE_LINE) ceni_mutex mutex;
    uint32_t target, min; /* as asked for; at most target stay without work */
    uint32_t threads;     /* from before the start to the departure */
    uint32_t active;      /* of these, neither parked nor blocked */
    uint32_t parked, blocked;
    uint32_t stopping;   /* tasks that are within a stop, which waits for all but these */
    uint32_t leaving;    /* of these, that have made up their minds to end */
    uint32_t too_many;   /* that end without lingering, since a resize said so */
    uint32_t arriving;   /* of the first, that have not made their context */
    uint32_t callable;   /* as last told in idle */
    bool starts_barred;  /* the last start failed */
    bool over;           /* all tasks are; workers end */
    bool ends_itself;    /* the last task makes it so */
    bool somebody_ended; /* and `ended` is to be joined */
    uint32_t alarms;     /* that are set, or in their call; and whoever is just making it over */
    ceni_thread ended;
    ceni_list parked_list;
    uint64_t out_elsewhere;     /* tasks that were over without a worker */
    uint64_t dropped;           /* of these, dropped by a stop */
    uint64_t dropped_suspended; /* of these, tasks that were suspended */
    uint64_t lost;
    uint64_t stop_base;     /* tasks that were over when the first stop came */
    cen_error start_error;  /* of the first start that failed */
    _Atomic uint32_t turns; /* a futex word, written under the mutex: something has ended */

    ceni_alarm tick, watch;
};

struct cen_crew {
    cen_executor executor; /* first, so that one is the other */
    /* fixed when it is made */
    cen_crew_options options;
    char name[CENI_CREW_NAME];
    uint32_t *cpus;
    size_t cpu_count;
    ceni_directory_entry entry;

    _Atomic(ceni_core *) core; /* this process'; set once in each process */
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

/* Its own thread's. */
static inline uint32_t ceni_worker_depth(const ceni_worker *worker)
{
    return ceni_load_relaxed(&((ceni_worker *)(uintptr_t)worker)->depth); /* its own; carries nothing */
}

/* Counters that one thread writes. */
static inline void ceni_count_up(_Atomic uint64_t *counter)
{
    /* its own; whoever needs more says so; carries nothing */
    ceni_store_relaxed(counter, ceni_load_relaxed(counter) + 1);
}

static inline cen_task *ceni_task_outer(const cen_task *task)
{
    return task->marks_ & CENI_MARK_NESTED ? task->outer_ : NULL;
}

/* Makes the task the thread's current owner, and back. Its record is touched only if there is something in it. */
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

/* new.c */
void ceni_post_elsewhere(cen_job *job); /* to the process' own runtime */

/* The core is another process'. */
ceni_core *ceni_crew_core_renewed(cen_crew *crew, cen_status *status);

/* This process' core; NULL, and why. */
static inline ceni_core *ceni_crew_core(cen_crew *crew, cen_status *status)
{
    ceni_core *core = ceni_setting(&crew->core);
    return __builtin_expect(ceni_fork_is(core->epoch), 1) ? core : ceni_crew_core_renewed(crew, status);
}

/* task.c */
void ceni_task_set_failure(cen_task *task, cen_status status, const char *why);
void ceni_task_over(ceni_worker *worker, cen_task *task); /* on its worker; the last touch */
/* `run` of every task, by which it is known: ceni_task_run_on on this thread's worker */
void ceni_task_run(cen_job *job);
void ceni_task_run_on(ceni_worker *worker, cen_task *task);
void ceni_task_resume(cen_executor *executor, cen_job *job);   /* `post` of a task: what it waits for is done */
void ceni_task_push(ceni_core *core, cen_task *task);          /* it goes on; the last touch */
void ceni_task_lost(ceni_worker *worker);                      /* its thread ends in the middle of its tasks */
bool ceni_task_withdraw_future(cen_future *future);            /* `withdraw_` of every task's future */
bool ceni_task_withdraw_once(ceni_core *core, cen_task *task); /* false also if it is just being moved */
bool ceni_task_withdraw(ceni_core *core, cen_task *task);      /* true: it had not begun, and is the caller's */
void ceni_task_over_elsewhere(ceni_core *core, cen_task *task, cen_status status,
                              bool tell); /* the last touch of both */
/* a stop drops it, and its future was cancelled; likewise */
void ceni_task_over_suspended(ceni_core *core, cen_task *task);

/* stop_request.c: a task is asked to end; the alarm of its deadline. */
void ceni_task_request_stop(cen_task *task, cen_status why);
bool ceni_task_stop_is_requested(cen_task *task); /* after its state was set */
void ceni_task_cut_short(cen_task *task);         /* it is ASKING, by the caller's doing; the last touch */
void ceni_task_go_on(cen_task *task);             /* it waited, and is the caller's; the last touch */
cen_status ceni_task_set_alarm(ceni_core *core, cen_task *task);
void ceni_task_unset_alarm(ceni_core *core, cen_task *task);

/* suspend.c */
void ceni_suspended_add(ceni_core *core, cen_task *task); /* by the task's owner, as the two below */
void ceni_suspended_remove(ceni_core *core, cen_task *task);
bool ceni_task_is_to_drop(cen_task *task); /* the crew drops, and the task does not know it; after add */
void ceni_task_drop(cen_task *task);       /* it is ASKING, by the caller's doing, and in no list; the last touch */
void ceni_suspended_drop(ceni_core *core); /* all that are suspended now */

/* worker.c */
cen_job *ceni_worker_find(ceni_worker *worker);
void ceni_worker_run(ceni_worker *worker, cen_job *job);
void ceni_worker_tick(ceni_worker *worker); /* if one is due */
void ceni_worker_loop(void *worker);        /* returns when it is to end */
bool ceni_work_is_visible(ceni_core *core);

/* idle.c */
void ceni_update_locked(ceni_core *core, int searchers);
void ceni_call_one_now(ceni_core *core, uint32_t word);
cen_job *ceni_worker_search(ceni_worker *worker); /* NULL: nothing, and it is counted as searching, or not */
typedef enum ceni_woke { CENI_WOKE, CENI_WOKE_LATE, CENI_WOKE_TO_END } ceni_woke;
/* counted as searching, unless TO_END */
ceni_woke ceni_worker_park(ceni_worker *worker, const cen_task *awaiting, int64_t moment);
void ceni_worker_tell(ceni_worker *worker, cen_task *awaiting); /* what it awaits is done */
void ceni_leave_search(ceni_worker *worker);
void ceni_sleepers_nudge_locked(ceni_core *core); /* those who sleep look about, and go on sleeping */

/* After something was pushed: calls a worker if one may be called, and nobody searches. */
static inline void ceni_call_one(ceni_core *core)
{
    uint32_t word = ceni_load_seq_cst(&core->idle); /* [I1] */
    if (word == CENI_IDLE_CALLABLE || ceni_planted(crew_wakes_for_every_push)) ceni_call_one_now(core, word);
}

/* threads.c */

/* The record for a seat that has none yet, which claim wants. fetch and free drop the mutex meanwhile, since the allocator is the
 * program's: so the caller decides again after fetch, and has something that keeps the crew. */
typedef struct ceni_seat_record {
    ceni_worker *worker; /* NULL: it was used, or there is no memory */
    bool is_wanted;
} ceni_seat_record;
/* NULL: none is free, or it wants a record */
ceni_worker *ceni_seat_claim_locked(ceni_core *core, ceni_seat_record *record);
bool ceni_seat_record_fetch_locked(ceni_core *core, ceni_seat_record *record); /* false: none is wanted */
void ceni_seat_record_free_locked(ceni_core *core, ceni_seat_record *record);  /* if it was not used */

bool ceni_thread_begin(ceni_core *core, ceni_worker *worker); /* of a seat that was claimed */
void ceni_worker_main(void *worker);                          /* of its thread */
void ceni_turn_locked(ceni_core *core);                       /* something has ended: whoever waits for that looks */
void ceni_close_sections(ceni_worker *worker);                /* that a step has left open */

/* await.c: the thread of one that awaits has ended. */
void ceni_await_abandon(cen_task *task);
bool ceni_await_help_one(ceni_worker *worker); /* true: it has run something */

/* clock.c */
void ceni_step_begins(ceni_worker *worker, const cen_task *task);
void ceni_step_ends(ceni_worker *worker);
uint64_t ceni_step_look(ceni_worker *worker, const char **name); /* which one runs, and its task's name; 0: none */
void ceni_clocks_start(ceni_core *core);
void ceni_clocks_stop(ceni_core *core); /* once it is over */

/* stop.c */
bool ceni_look_for_the_end_locked(ceni_core *core); /* whoever stops it looks again; true: the caller makes it over */
typedef enum ceni_out { CENI_OUT_ENDED, CENI_OUT_DROPPED, CENI_OUT_DROPPED_SUSPENDED } ceni_out;
/* a task is over, and no worker counts it; the last touch */
void ceni_count_out_elsewhere(ceni_core *core, ceni_out how);
void ceni_look_for_the_end(ceni_core *core); /* a task is over, and the crew is being stopped */
void ceni_stop_abandon(ceni_worker *worker); /* a task within a stop has lost its thread */
void ceni_make_over(ceni_core *core);
void ceni_core_discard(ceni_core *core); /* the memory */
void ceni_crew_release(cen_crew *crew);  /* all of it, when nobody is left */

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
