/* SPDX-License-Identifier: MIT */
/* Internal declarations of the runtime. Only the files of src/runtime include this. */
#ifndef CENI_RUNTIME_INTERNAL_H
#define CENI_RUNTIME_INTERNAL_H

#include <stdatomic.h>

#include "port/mutex.h"
#include "port/port.h"
#include "runtime/runtime.h"

enum { CENI_RUNTIME_NAME = 16 };

/* A thread of the runtime. The record is on that thread's stack. */
typedef struct ceni_runtime_thread {
    /* fixed when it arrives */
    uint64_t id;
    /* only its own thread */
    uint64_t call; /* of a helper that counts as in a call (port/process_exit.h); 0: it does not */
    /* under the mutex */
    ceni_list link; /* in members */
    ceni_list idle; /* a helper's, in idle; else linked to itself */
    /* a futex word, written under the mutex */
    _Atomic uint32_t called; /* 1: it was called to look for work */
} ceni_runtime_thread;

/* Jobs that are queued for a helper; see jobs.c. */
typedef struct ceni_jobs {
    ceni_errand errand; /* wanted once for each of them */
    cen_job *first, *last;
} ceni_jobs;

struct cen_runtime {
    cen_executor executor; /* first, so that a pointer to it is a pointer to the runtime */

    /* fixed when it is made */
    uint64_t epoch; /* of the process that made it */
    const cen_allocator *allocator;
    int64_t idle_timeout_ns; /* CENI_FOREVER: no limit */
    bool own;                /* the process's default runtime: ends with its last user */
    bool manual, virtual_time;
    char name[CENI_RUNTIME_NAME];

    /* under the lock of all runtimes, in runtime.c */
    uint32_t users;
    uint32_t resting;             /* of these, users that set no more alarms and post no more errands */
    void (*gone)(void *argument); /* not NULL: the runtime ends with its last user, which then calls this */
    void *gone_argument;

    ceni_mutex mutex; /* rank RUNTIME; for all that follows */

    /* alarms, keeper.c */
    ceni_wheel wheel;
    ceni_list due;    /* moved out of the wheel, and not yet called */
    ceni_wheel crowd; /* likewise, for a crowd of alarms that may be due at one moment; advanced in pieces */
    ceni_list crowd_due;
    bool crowd_is_next;            /* if both have due alarms */
    bool has_keeper;               /* it has been started */
    int64_t keeper_until;          /* it sleeps until then; INT64_MIN: it is awake and will look */
    _Atomic uint32_t keeper_turns; /* its futex word, written under the mutex */

    /* errands, errands.c */
    ceni_list errands[CENI_ERRAND_KINDS]; /* errands that are wanted */
    uint32_t queued[CENI_ERRAND_KINDS];   /* the sum of their `wanted` */
    uint32_t running[CENI_ERRAND_KINDS];  /* by helpers */
    uint32_t passed;                      /* errands begun in a row while UNPROVEN ones could have begun */
    uint32_t most;                        /* helpers in limited errands; UINT32_MAX: no limit */
    bool crowded;                         /* errands wait because of the limit */
    _Atomic uint32_t most_told;           /* copies of these two, read by any thread */
    _Atomic bool crowded_told;
    uint32_t helpers;    /* helpers that have arrived and not departed */
    uint32_t spare;      /* of these, in no errand: they look at the lists before they sleep */
    uint32_t idle_count; /* of the spare ones, asleep and not called */
    int32_t underway;    /* started and not arrived; I3 in errands.c says when it is -1 */
    ceni_list idle;      /* the last to become idle is first, so that surplus helpers reach their idle timeout */

    /* jobs, jobs.c */
    ceni_jobs jobs;    /* posted to this runtime */
    ceni_jobs counted; /* posted to the process's default runtime: each is a user */
    ceni_alarm retry;  /* set while there were too few threads */

    /* threads, threads.c */
    uint32_t threads;    /* keeper and helpers, from before the start to the departure */
    ceni_list members;   /* threads that have arrived */
    bool stopping;       /* a thread with nothing to do departs */
    bool abandoned;      /* the last thread to depart frees the memory */
    bool somebody_ended; /* `ended` has a thread to join */
    ceni_thread ended;
    _Atomic uint32_t departures; /* a futex word, written under the mutex */

    /* a manual runtime, manual.c */
    uint64_t runner;  /* the thread that runs what is due; 0: none */
    uint32_t queuing; /* threads that wait until there is no runner */
    int64_t said;     /* the moment that the last poll returned */
    bool ringing;
    ceni_bell bell;
    _Atomic uint32_t runs; /* a futex word, written under the mutex */
    _Atomic int64_t clock; /* virtual time; moved under the mutex, read by any thread */
};

/* The result of a function that makes a call that is due. Such a function is called with the mutex held, drops it
 * around the call, and returns with it held, except after CENI_RAN_AWAY: the call has returned in the child of a fork.
 * The child must not touch this runtime, and does not hold its mutex. */
typedef enum ceni_ran {
    CENI_RAN_NOTHING, /* none is due */
    CENI_RAN_ONE,
    CENI_RAN_AWAY,
} ceni_ran;

static inline void ceni_runtime_lock(cen_runtime *runtime)
{
    ceni_mutex_lock(&runtime->mutex, CENI_RANK_RUNTIME);
}

static inline void ceni_runtime_unlock(cen_runtime *runtime)
{
    ceni_mutex_unlock(&runtime->mutex, CENI_RANK_RUNTIME);
}

static inline uint32_t ceni_word_locked(_Atomic uint32_t *word)
{
    return ceni_load_relaxed(word); /* written under the mutex that is held; carries nothing */
}

/* Change a futex word, so that a thread that is about to sleep on it does not sleep. A woken thread takes the mutex
 * before it acts. */
static inline void ceni_word_turn_locked(_Atomic uint32_t *word)
{
    ceni_store_relaxed(word, ceni_word_locked(word) + 1); /* carries nothing */
}

/* runtime.c */
/* joins the process's default runtime; NULL: out of memory, and the job is kept for it */
cen_runtime *ceni_runtime_join_or_keep(cen_job *job);
void ceni_runtime_release(cen_runtime *runtime); /* frees the memory, once no thread uses it */

/* keeper.c: ceni_alarms_run_locked calls the first alarm whose moment is `now` or earlier. ceni_alarms_next_locked
 * returns the moment of the next alarm, or an earlier one; one in the past if an alarm is due. */
int64_t ceni_alarms_next_locked(const cen_runtime *runtime);
ceni_ran ceni_alarms_run_locked(cen_runtime *runtime, int64_t now);

/* As ceni_alarm_set. The caller must wake the returned word, unless it is NULL, after it has dropped the mutex. */
_Atomic uint32_t *ceni_alarm_set_locked(cen_runtime *runtime, ceni_alarm *alarm, int64_t moment, bool *moved,
                                        cen_status *had);

/* errands.c: run the first errand that is wanted and may begin. */
ceni_ran ceni_errands_run_locked(cen_runtime *runtime);

/* The number of queued errands, and of these, how many may begin now. */
uint32_t ceni_errands_queued_locked(const cen_runtime *runtime);
uint32_t ceni_errands_ready_locked(const cen_runtime *runtime);

/* Set the limit. Drops the mutex meanwhile. */
void ceni_errands_limit_locked(cen_runtime *runtime, uint32_t most);

/* Start helpers until there is one for each errand that is queued and may begin, and for `more` of that kind. That
 * includes errands for which an earlier start has failed. Drops the mutex meanwhile. False: there are too few, and no
 * thread can be started. */
bool ceni_helpers_have_locked(cen_runtime *runtime, ceni_errand_kind kind, uint32_t more);

/* Queue an errand, even if no helper is there. The caller must wake the returned word, unless it is NULL, after it has
 * dropped the mutex. */
_Atomic uint32_t *ceni_errand_queue_locked(cen_runtime *runtime, ceni_errand *errand);

/* jobs.c */
void ceni_jobs_init(cen_runtime *runtime);
void ceni_jobs_post_counted(cen_runtime *runtime, cen_job *job); /* the job leaves the runtime when it has run */
static inline bool ceni_jobs_wait_locked(const cen_runtime *runtime)
{
    return runtime->jobs.first || runtime->counted.first;
}

/* threads.c: the life of keeper and helpers; see there. */
cen_status ceni_runtime_start(cen_runtime *runtime, const char *role, void (*run)(void *));
void ceni_runtime_arrive_and_lock(cen_runtime *runtime, ceni_runtime_thread *self);
void ceni_runtime_end_call(ceni_runtime_thread *self);
void ceni_runtime_depart_locked(cen_runtime *runtime, ceni_runtime_thread *self); /* drops the mutex; the last touch */
bool ceni_runtime_is_member_locked(const cen_runtime *runtime);
/* true: all threads have ended; false: all but the calling one, which frees the memory when it departs */
bool ceni_runtime_stop(cen_runtime *runtime);

/* manual.c: note that an alarm or an errand is due at `moment`. */
void ceni_manual_note_locked(cen_runtime *runtime, int64_t moment);

#endif
