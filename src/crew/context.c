/* SPDX-License-Identifier: MIT */
/* What a step can query about the worker that runs it. */
#include <stdio.h>
#include <stdlib.h>

#include "base/plant.h"
#include "crew/internal.h"

/* In a child that a step has forked, this is still the parent's worker. It says which task has forked. */
cen_task *cen_task_current(void)
{
    ceni_worker *worker = ceni_worker_here();
    return worker ? worker->task : NULL;
}

cen_crew *cen_crew_current(void)
{
    ceni_worker *worker = ceni_worker_here();
    return worker ? worker->core->crew : NULL;
}

uint32_t cen_worker_current(void)
{
    ceni_worker *worker = ceni_worker_here();
    return worker ? worker->number : UINT32_MAX;
}

/* Unique among the steps of a crew: the worker's number and its count of steps. */
static uint64_t step_here(const ceni_worker *worker)
{
    return worker ? (uint64_t)worker->number << 48 | worker->step : UINT64_MAX;
}

cen_context cen_context_current(void)
{
    ceni_worker *worker = ceni_worker_here();
    return (cen_context){.data_ = worker ? worker->context : NULL, .step_ = step_here(worker)};
}

void cen_context_check(const cen_context *context)
{
    const ceni_worker *worker = ceni_worker_here();
    if (!context || context->step_ == step_here(worker) || ceni_planted(crew_trusts_old_contexts)) return;
    const cen_task *task = worker ? worker->task : NULL;
    fprintf(stderr, "cenote: %s uses a worker context of another step; call cen_context_current in each step\n",
            task && task->name ? task->name : "a task");
    abort();
}
