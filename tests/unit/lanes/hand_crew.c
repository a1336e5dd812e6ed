/* SPDX-License-Identifier: MIT */
#include "unit/lanes/hand_crew.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/atomic.h"

struct cen_crew {
    cen_crew_options options;
    _Atomic uint32_t workers; /* so that a world notices who comes when the crew is gone */
    unsigned stops;
    cen_status stop_answer;
};

static cen_status answer;

void hand_answer(cen_status status)
{
    answer = status;
}

/* ---- As much of crew.h as lanes and their tests use ------------------------------------------ */

cen_status cen_crew_new(const cen_crew_options *options, cen_crew **out, cen_error *error)
{
    (void)error;
    cen_crew *crew = ceni_alloc(NULL, sizeof *crew, _Alignof(cen_crew));
    if (!crew) return CEN_NO_MEMORY;
    crew->options = *options;
    ceni_store_seq_cst(&crew->workers, options->workers ? options->workers : 1);
    *out = crew;
    return CEN_OK;
}

cen_status cen_crew_stats_get(cen_crew *crew, cen_crew_stats *out)
{
    *out = (cen_crew_stats){.size = sizeof *out,
                            .workers = ceni_load_seq_cst(&crew->workers),
                            .is_stopped = crew->stops > 0,
                            .running = crew->stop_answer != CEN_OK};
    return CEN_OK;
}

cen_status cen_crew_resize(cen_crew *crew, uint32_t workers, cen_error *error)
{
    (void)error;
    if (workers == 0) return CEN_INVALID;
    ceni_store_seq_cst(&crew->workers, workers);
    return CEN_OK;
}

cen_status cen_crew_submit(cen_crew *crew, cen_task *task, cen_error *error)
{
    (void)error;
    if (answer == CEN_OK) task->core_ = crew;
    return answer;
}

cen_status cen_crew_stop(cen_crew *crew, cen_stop how, cen_deadline deadline, cen_crew_report *report, cen_error *error)
{
    (void)how, (void)deadline, (void)error;
    crew->stops++;
    if (report)
        *report = (cen_crew_report){
            .size = sizeof *report, .finished = 1, .dropped = 2, .running = 3, .waiting = 4, .queued = 5};
    return crew->stop_answer;
}

cen_status cen_crew_free(cen_crew *crew)
{
    if (crew && crew->stop_answer != CEN_OK) return CEN_BUSY;
    ceni_free(NULL, crew, sizeof *crew, _Alignof(cen_crew));
    return CEN_OK;
}

/* Functions are tested on real crews (lanes_test.c). */
cen_status cen_function_task_new(const char *name, void *(*call)(void *argument), void *argument, cen_future *result,
                                 const cen_allocator *allocator, cen_task **out)
{
    (void)name, (void)call, (void)argument, (void)result, (void)allocator, (void)out;
    return CEN_NO_MEMORY;
}

void cen_function_task_free(cen_task *task)
{
    (void)task;
}

cen_crew *cen_crew_current(void)
{
    return NULL;
}

void cen_blocking_begin(void)
{
}

void cen_blocking_end(void)
{
}

void cen_task_init(cen_task *task, cen_step first)
{
    *task = (cen_task){.step_ = first};
}

/* ---- What a test tells ---------------------------------------------------------------------------- */

static const cen_observer *observer_of(const cen_task *task)
{
    return &((const cen_crew *)task->core_)->options.observer;
}

void hand_begin(cen_task *task)
{
    observer_of(task)->began(observer_of(task)->argument, task);
}

void hand_pause(cen_task *task, cen_next next)
{
    observer_of(task)->paused(observer_of(task)->argument, task, next);
}

void hand_resume(cen_task *task)
{
    observer_of(task)->resumed(observer_of(task)->argument, task);
}

void hand_end(cen_task *task, cen_status status)
{
    observer_of(task)->over(observer_of(task)->argument, task, status, true);
}

void hand_drop(cen_task *task, cen_status status)
{
    observer_of(task)->over(observer_of(task)->argument, task, status, false);
}

const cen_crew_options *hand_options(const cen_crew *crew)
{
    return &crew->options;
}

unsigned hand_stops(const cen_crew *crew)
{
    return crew->stops;
}

void hand_stop_answer(cen_crew *crew, cen_status status)
{
    crew->stop_answer = status;
}
