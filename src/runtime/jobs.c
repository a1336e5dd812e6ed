/* SPDX-License-Identifier: MIT */
/*
 * The runtime as an executor: jobs of any origin, run as errands.
 *
 *     post:   a helper is free, or is started, or none can be ▶ the job is queued, and the errand is wanted once more
 *     helper: takes the errand ▶ takes the first job ▶ runs it, and does not touch it afterwards
 *     retry:  an alarm, while there are too few helpers ▶ starts what is missing ▶ else is set again
 *
 * A job has room for one pointer, so it cannot be an errand itself. One errand stands for all jobs of a list and is
 * wanted once for each.
 *
 * Invariants
 * I1  A list has as many jobs as its errand is wanted, plus one for each helper that has taken the errand and has not
 *     taken a job yet. So each of these helpers finds one.
 * I2  While jobs are queued and there are too few helpers, because no thread could be started, the retry alarm is set
 *     or in its call. If the keeper could not be started either, the next post of anything, or the next alarm, tries
 *     again.
 * I3  A counted job is a user of the default runtime from before it is queued until it has returned. A job of the
 *     other list is no user: freeing the runtime is refused while one is queued, and waits while one runs, as for all
 *     threads of the runtime.
 *
 * The job is queued in the same critical section as the errand, after the helper was started. As soon as the job is in
 * the list, a helper that came for another job may run it, and the program may then free the runtime. From then on the
 * post uses no more of the runtime than the address of a word.
 *
 * The runtime's mutex orders everything.
 *
 * Tested by tests/unit/runtime/executor_test.c, fork_test.c,
 * tests/explore/runtime_executor_test.c, tests/faults/runtime_faults_test.c.
 */
#include "base/plant.h"
#include "runtime/internal.h"

enum { RETRY_NS = 100000000 };

/* ---- Running ------------------------------------------------------------------------- */

static cen_job *take(cen_runtime *runtime, ceni_jobs *jobs)
{
    ceni_runtime_lock(runtime);
    cen_job *job = jobs->first;
    jobs->first = job->next;
    ceni_runtime_unlock(runtime);
    return job;
}

static void run_one(cen_runtime *runtime, ceni_jobs *jobs)
{
    cen_job *job = take(runtime, jobs);
    int held = ceni_cancel_hold();
    job->run(job); /* its memory may be gone when this returns */
    ceni_cancel_release(held);
}

static void run_job(ceni_errand *errand)
{
    cen_runtime *runtime = CENI_LIST_ENTRY(errand, cen_runtime, jobs.errand);
    run_one(runtime, &runtime->jobs);
}

static void run_counted(ceni_errand *errand)
{
    cen_runtime *runtime = CENI_LIST_ENTRY(errand, cen_runtime, counted.errand);
    run_one(runtime, &runtime->counted);
    ceni_runtime_leave(runtime);
}

/* ---- Posting -------------------------------------------------------------------------- */

static _Atomic uint32_t *retry_soon_locked(cen_runtime *runtime)
{
    bool moved;
    cen_status had;
    if (ceni_planted(job_not_tried_again)) return NULL;
    return ceni_alarm_set_locked(runtime, &runtime->retry, ceni_runtime_now(runtime) + RETRY_NS, &moved, &had);
}

static void retry(ceni_alarm *alarm)
{
    cen_runtime *runtime = CENI_LIST_ENTRY(alarm, cen_runtime, retry);
    ceni_runtime_lock(runtime);
    /* The keeper is awake: it calls this, and looks at the wheel again. */
    if (!ceni_helpers_have_locked(runtime, CENI_ERRAND_FREE, 0)) retry_soon_locked(runtime);
    ceni_runtime_unlock(runtime);
}

static void post(cen_runtime *runtime, ceni_jobs *jobs, cen_job *job)
{
    _Atomic uint32_t *keeper = NULL;
    job->next = NULL;
    ceni_runtime_lock(runtime);
    if (!ceni_helpers_have_locked(runtime, CENI_ERRAND_FREE, 1)) keeper = retry_soon_locked(runtime);
    if (jobs->first) jobs->last->next = job;
    else jobs->first = job;
    jobs->last = job;
    _Atomic uint32_t *helper = ceni_errand_queue_locked(runtime, &jobs->errand);
    ceni_runtime_unlock(runtime);
    if (helper) ceni_futex_wake(helper, 1);
    if (keeper) ceni_futex_wake(keeper, 1);
}

void ceni_jobs_post_counted(cen_runtime *runtime, cen_job *job)
{
    post(runtime, &runtime->counted, job);
}

/* ---- The executors ----------------------------------------------------------------------- */

static void post_to_own(cen_executor *executor, cen_job *job)
{
    (void)executor;
    cen_runtime *own = ceni_runtime_join_or_keep(job);
    if (own) ceni_jobs_post_counted(own, job);
}

/* In the child of a fork the runtime is the parent's, and its threads do not exist. */
static void post_to_runtime(cen_executor *executor, cen_job *job)
{
    cen_runtime *runtime = (cen_runtime *)(void *)executor;
    if (ceni_fork_is(runtime->epoch)) post(runtime, &runtime->jobs, job);
    else post_to_own(NULL, job);
}

void ceni_jobs_init(cen_runtime *runtime)
{
    runtime->executor.post = post_to_runtime;
    ceni_errand_init(&runtime->jobs.errand, run_job);
    ceni_errand_init(&runtime->counted.errand, run_counted);
    ceni_alarm_init(&runtime->retry, retry);
}

cen_executor *cen_runtime_executor(cen_runtime *runtime)
{
    static cen_executor own = {post_to_own};
    return runtime ? &runtime->executor : &own;
}
