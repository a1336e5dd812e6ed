/* SPDX-License-Identifier: MIT */
/*
 * A step that has ended its thread, by pthread_exit or because it was cancelled: its task fails, and so do the awaiting
 * tasks below it. threads.c replaces the worker.
 *
 * Tested by tests/unit/crew/lost_test.c.
 */
#include "base/plant.h"
#include "crew/internal.h"

/* The step on top has ended its thread, and with it the awaiting tasks below. */
void ceni_task_lost(ceni_worker *worker)
{
    cen_task *task = worker->task;
    if (worker->blocking > 0) ceni_close_sections(worker);
    if (task) {
        ceni_holder_finish(worker, task);
        ceni_step_ends(worker);
    } else {
        task = worker->under_job;
        if (task) ceni_await_abandon(task);
    }
    worker->task = worker->under_job = NULL;
    for (cen_task *outer; task && !ceni_planted(crew_loses_the_task); task = outer) {
        outer = ceni_task_outer(task);
        ceni_task_set_failure(task, CEN_MISUSE, "ended its worker thread");
        ceni_task_over(worker, task);
        if (outer) ceni_await_abandon(outer);
    }
    ceni_worker_set_depth(worker, 0);
}
