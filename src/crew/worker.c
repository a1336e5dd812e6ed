/* SPDX-License-Identifier: MIT */
/*
 * The worker's loop: it finds a job (find.c), runs it, and searches or sleeps when there is none (park.c).
 *
 * Tested by tests/unit/crew, tests/stress/crew_stress.c.
 */
#include "crew/internal.h"

/* ---- Running ------------------------------------------------------------------------------ */

void ceni_worker_run(ceni_worker *worker, cen_job *job)
{
    if (job->run == ceni_task_run) {
        ceni_task_run_on(worker, CENI_TASK_OF_JOB(job));
        return;
    }
    ceni_rank_expect_none("a job of a crew");
    worker->under_job = worker->task; /* which is not what runs now */
    worker->task = NULL;
    job->run(job); /* its memory may be gone when this returns */
    if (!ceni_fork_is(worker->core->epoch)) {
        worker->is_away = true;
        return;
    }
    worker->task = worker->under_job;
    worker->under_job = NULL;
    ceni_close_sections(worker);
}

/* A surplus worker parks before it takes another job. */
static bool is_surplus(ceni_core *core)
{
    return ceni_load_relaxed(&core->surplus); /* a hint; carries nothing */
}

static cen_job *next_job(ceni_worker *worker)
{
    for (;;) {
        ceni_worker_tick(worker);
        if (worker->is_searching || !is_surplus(worker->core)) {
            cen_job *job = worker->is_searching ? NULL : ceni_worker_find(worker);
            if (!job) job = ceni_worker_search(worker);
            if (job) return job;
        }
        if (ceni_worker_park(worker, NULL, CENI_FOREVER) == CENI_WOKE_TO_END) return NULL;
    }
}

void ceni_worker_loop(void *argument)
{
    ceni_worker *worker = argument;
    for (cen_job *job; !worker->is_away && (job = next_job(worker));) ceni_worker_run(worker, job);
}
