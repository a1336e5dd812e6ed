/* SPDX-License-Identifier: MIT */
/* What a step can ask about where it runs. */
#include <stdio.h>
#include <stdlib.h>

#include "base/plant.h"
#include "crew/internal.h"

/* In a child that a step has forked this is the parent's worker still, and says where it came from. */
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

/* No two steps of a crew have the same: the worker's number, and its count. */
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
    fprintf(stderr,
            "cenote: %s uses a worker's context that was got in another step, maybe on another worker: call "
            "cen_context_current in each step\n",
            task && task->name ? task->name : "a task");
    abort();
}
