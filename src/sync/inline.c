/* SPDX-License-Identifier: MIT */
/*
 * The inline executor: a job runs on the thread that posted it, but never within another job, and never in the middle
 * of a call that is not finished.
 *
 * A call that may complete futures opens a record on its stack. The first such record of a thread is its outermost,
 * and a thread-local word points at it. Jobs are added to it. When it is closed they run one after the other, and so
 * do the jobs that they post. So there is one loop at the bottom of the stack, however long the chain of takes and
 * gives is.
 *
 * The naive version runs the job where it is posted: a `done` that gives an object completes the next future, whose
 * `done` gives an object, and the stack becomes as deep as the wait queue is long.
 *
 * The record is on the stack. If a thread were cancelled in a job, the record would stay behind, and the thread's own
 * exit hooks would write to it. So jobs run with cancellation held.
 */
#include "sync/future.h"

#include "base/plant.h"
#include "port/port.h"
#include "port/rank.h"

static ceni_inline_run **outermost(void)
{
    return (ceni_inline_run **)(void *)&ceni_thread_room()[CENI_ROOM_INLINE];
}

static cen_job *take_first(ceni_inline_run *record)
{
    cen_job *job = record->first;
    if (!job) return NULL;
    record->first = job->next;
    if (!record->first) record->last = NULL;
    return job;
}

void ceni_inline_begin(ceni_inline_run *here)
{
    ceni_inline_run **open = outermost();
    *here = (ceni_inline_run){.first = NULL};
    if (!*open) *open = here;
}

void ceni_inline_end(ceni_inline_run *here)
{
    ceni_inline_run **open = outermost();
    if (*open != here) return;
    int cancel = here->first && !ceni_planted(inline_job_cancelled) ? ceni_cancel_hold() : -1;
    for (cen_job *job; (job = take_first(here));) {
        ceni_rank_expect_none("an inline job");
        job->run(job);
    }
    *open = NULL;
    if (cancel >= 0) ceni_cancel_release(cancel);
}

static void post(cen_executor *executor, cen_job *job)
{
    (void)executor;
    ceni_inline_run *open = *outermost(), here;
    if (ceni_planted(inline_runs_within)) {
        job->run(job);
        return;
    }
    if (open) {
        ceni_inline_put(open, job);
        return;
    }
    ceni_inline_begin(&here);
    ceni_inline_put(&here, job);
    ceni_inline_end(&here);
}

cen_executor *cen_inline(void)
{
    static cen_executor executor = {post};
    return &executor;
}
