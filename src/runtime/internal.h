/* SPDX-License-Identifier: MIT */
/* What the files of the runtime share. Nobody else includes this. */
#ifndef CENI_RUNTIME_INTERNAL_H
#define CENI_RUNTIME_INTERNAL_H

#include <stdatomic.h>

#include "port/mutex.h"
#include "port/port.h"
#include "runtime/runtime.h"

enum { CENI_RUNTIME_NAME = 16 };

/* One of the runtime's threads, in a record on its own stack. */
typedef struct ceni_runtime_thread {
    /* fixed when it arrives */
    uint64_t id;
    /* its own */
    uint64_t call; /* a helper's: it counts as in a call (port/process_exit.h); 0: it does not */
    /* under the mutex */
    ceni_list link; /* in members */
    ceni_list idle; /* a helper's, in idle; else linked to itself */
    /* a futex word, written under the mutex */
    _Atomic uint32_t called; /* 1: there is, or was, something to do */
} ceni_runtime_thread;

/* Jobs that wait for a helper; see jobs.c. */
typedef struct ceni_jobs {
    ceni_errand errand; /* wanted once for each of them */
    cen_job *first, *last;
} ceni_jobs;

struct cen_runtime {
    cen_executor executor; /* first, so that one is the other */

    /* fixed when it is made */
    uint64_t epoch; /* of the process that made it */
    const cen_allocator *allocator;
    int64_t idle_timeout_ns; /* CENI_FOREVER: no limit */
    bool own;                /* the process' own: ends with its last user */
    bool manual, virtual_time;
    char name[CENI_RUNTIME_NAME];

    /* under the lock of all runtimes, in runtime.c */
    uint32_t users;
    uint32_t resting;             /* of these, who will never ask for anything again */
    void (*gone)(void *argument); /* if it is set the runtime ends with its last user, who calls this then */
    void *gone_argument;

    ceni_mutex mutex; /* rank RUNTIME; for all that follows */

    /* alarms, keeper.c */
    ceni_wheel wheel;
    ceni_list due;    /* out of the wheel, and not yet called */
    ceni_wheel crowd; /* the same of alarms of which very many may be due at one moment; advanced in pieces */
    ceni_list crowd_due;
    bool crowd_is_next;            /* if both have some that are due */
    bool has_keeper;               /* it has been started */
    int64_t keeper_until;          /* it sleeps till then; INT64_MIN: it is awake and will look */
    _Atomic uint32_t keeper_turns; /* its futex word, written under the mutex */

    /* errands, errands.c */
    ceni_list errands[CENI_ERRAND_KINDS]; /* those that are wanted */
    uint32_t queued[CENI_ERRAND_KINDS];   /* how often */
    uint32_t running[CENI_ERRAND_KINDS];  /* by helpers */
    uint32_t passed;                      /* errands that were begun before those of UNPROVEN pools, in a row */
    uint32_t most;                        /* helpers in limited errands; UINT32_MAX: no limit */
    bool crowded;                         /* some wait because of that */
    _Atomic uint32_t most_told;           /* copies of these two, read by anybody */
    _Atomic bool crowded_told;
    uint32_t helpers;    /* that have arrived and not departed */
    uint32_t spare;      /* of these, in no errand: they will look at the errands */
    uint32_t idle_count; /* of these, asleep and not called */
    int32_t underway;    /* started and not arrived; see I3 there for when it is -1 */
    ceni_list idle;      /* the last to fall idle first, so that the surplus lingers out */

    /* jobs, jobs.c */
    ceni_jobs jobs;    /* posted to this runtime */
    ceni_jobs counted; /* posted to the process' own, whichever that is: each is a user */
    ceni_alarm retry;  /* set while there were too few threads */

    /* threads, threads.c */
    uint32_t threads;    /* keeper and helpers, from before the start to the departure */
    ceni_list members;   /* those that have arrived */
    bool stopping;       /* whoever has nothing to do departs */
    bool abandoned;      /* the last to depart gives the memory back */
    bool somebody_ended; /* and `ended` is to be joined */
    ceni_thread ended;
    _Atomic uint32_t departures; /* a futex word, written under the mutex */

    /* a manual runtime, manual.c */
    uint64_t runner;  /* the thread that runs what is due; 0: nobody */
    uint32_t queuing; /* threads that wait until nobody does */
    int64_t said;     /* until when the last poll said that there is nothing to do */
    bool ringing;
    ceni_bell bell;
    _Atomic uint32_t runs; /* a futex word, written under the mutex */
    _Atomic int64_t clock; /* virtual time; moved under the mutex, read by anybody */
};

/* What came of trying to make a call that is due. All are called with the
 * mutex held, drop it around the call, and return with it held, except after
 * CENI_RAN_AWAY: the call came back in a forked child, which has no business
 * with this runtime and does not hold its mutex. */
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

/* Changes a futex word, so that one who is about to sleep on it does not. It
 * takes the mutex before it believes anything. */
static inline void ceni_word_turn_locked(_Atomic uint32_t *word)
{
    ceni_store_relaxed(word, ceni_word_locked(word) + 1); /* carries nothing */
}

/* runtime.c */
/* the process' own, joined; NULL: no memory, and the job is kept for it */
cen_runtime *ceni_runtime_join_or_keep(cen_job *job);
void ceni_runtime_release(cen_runtime *runtime); /* the memory, when nobody is left */

/* keeper.c: calls the first alarm whose moment is `now` or earlier. The second: when there will be one, or one nearer; in the
 * past if there is one now. */
int64_t ceni_alarms_next_locked(const cen_runtime *runtime);
ceni_ran ceni_alarms_run_locked(cen_runtime *runtime, int64_t now);

/* Sets an alarm as ceni_alarm_set does; the word, if it is not NULL, is to be
 * woken when the mutex has been dropped. */
_Atomic uint32_t *ceni_alarm_set_locked(cen_runtime *runtime, ceni_alarm *alarm, int64_t moment, bool *moved,
                                        cen_status *had);

/* errands.c: runs the first errand that is wanted and may begin. */
ceni_ran ceni_errands_run_locked(cen_runtime *runtime);

/* How many are queued, and of these, how many may begin now. */
uint32_t ceni_errands_queued_locked(const cen_runtime *runtime);
uint32_t ceni_errands_ready_locked(const cen_runtime *runtime);

/* Sets the limit; drops the mutex meanwhile. */
void ceni_errands_limit_locked(cen_runtime *runtime, uint32_t most);

/* Sees to it that there is a helper for each errand that is queued and may begin, and for
 * `more` of that kind, also for those for which earlier starts have failed; drops the mutex
 * meanwhile. False: there are too few, and no thread can be had. */
bool ceni_helpers_have_locked(cen_runtime *runtime, ceni_errand_kind kind, uint32_t more);

/* Queues it, whoever is there to run it. The word, if it is not NULL, is to be
 * woken when the mutex has been dropped. */
_Atomic uint32_t *ceni_errand_queue_locked(cen_runtime *runtime, ceni_errand *errand);

/* jobs.c */
void ceni_jobs_init(cen_runtime *runtime);
void ceni_jobs_post_counted(cen_runtime *runtime, cen_job *job); /* leaves the runtime when it has run */
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
/* true: all have ended; false: but for the caller, who takes the memory along */
bool ceni_runtime_stop(cen_runtime *runtime);

/* manual.c: something is to be done at `moment`. */
void ceni_manual_note_locked(cen_runtime *runtime, int64_t moment);

#endif
