/* SPDX-License-Identifier: MIT */
/* Lanes on real crews, and tasks that wait, block or take their time. */
#ifndef TESTS_UNIT_LANES_REAL_LANES_H
#define TESTS_UNIT_LANES_REAL_LANES_H

#include <cenote/lanes.h>

#include "base/atomic.h"
#include "port/port.h"
#include "support/test.h"

#define HIGH CEN_PRIORITY_HIGH
#define NORMAL CEN_PRIORITY_NORMAL
#define LOW CEN_PRIORITY_LOW
#define MS INT64_C(1000000)
#define NO_DEADLINE ((cen_deadline){0})

/* A task, and what it waits for. */
typedef struct errand {
    cen_task task;
    cen_future gate;
    cen_promise promise;
    int64_t takes_ns;
    _Atomic uint32_t steps; /* that were entered */
} errand;

static cen_lanes *lanes;

static inline cen_next end_step(cen_task *task)
{
    ceni_add_seq_cst(&((errand *)(void *)task)->steps, 1);
    return cen_task_done(task, task);
}

/* Suspends until the gate is open, or it is asked to end. */
static inline cen_next wait_step(cen_task *task)
{
    errand *self = (errand *)(void *)task;
    ceni_add_seq_cst(&self->steps, 1);
    return cen_task_wait(task, &self->gate, end_step);
}

/* Keeps its worker until the gate is open. */
static inline cen_next block_step(cen_task *task)
{
    errand *self = (errand *)(void *)task;
    ceni_add_seq_cst(&self->steps, 1);
    expect_equal(cen_future_wait(&self->gate, CEN_NEVER), CEN_OK);
    return cen_task_done(task, task);
}

static inline cen_next sleep_step(cen_task *task)
{
    errand *self = (errand *)(void *)task;
    ceni_add_seq_cst(&self->steps, 1);
    ceni_sleep_until(ceni_clock_now() + self->takes_ns);
    return cen_task_done(task, task);
}

static inline void prepare(errand *self, cen_step step)
{
    cen_task_init(&self->task, step);
    cen_future_init(&self->gate);
    expect_equal(cen_promise_init(&self->promise, &self->gate), CEN_OK);
    ceni_store_seq_cst(&self->steps, 0);
}

static inline void open_gate(errand *self)
{
    cen_promise_complete(&self->promise, NULL);
}

static inline cen_status submit(cen_priority priority, errand *self)
{
    return cen_lanes_submit(lanes, priority, &self->task, NO_DEADLINE, NULL);
}

static inline void hand_in(cen_priority priority, errand *self, cen_step step)
{
    cen_error error = {.text = ""};
    prepare(self, step);
    if (cen_lanes_submit(lanes, priority, &self->task, NO_DEADLINE, &error) != CEN_OK)
        test_fail(__FILE__, __LINE__, "%s", error.text);
}

static inline void await(errand *self, cen_status status)
{
    expect_equal(cen_future_wait(&self->task.future, CEN_NEVER), CEN_OK);
    expect_equal(self->task.future.status, status);
}

#define make_lanes(...) make_lanes_of(CEN_LANES_OPTIONS(__VA_ARGS__))

static inline void make_lanes_of(cen_lanes_options options)
{
    static const cen_crew_options one = CEN_CREW_OPTIONS(.workers = 1);
    cen_error error = {.text = ""};
    cen_lane_options *each[] = {&options.high, &options.normal, &options.low};
    for (int i = 0; i < CEN_LANES; i++)
        if (!each[i]->crew) each[i]->crew = &one;
    if (cen_lanes_new(&options, &lanes, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
}

static inline cen_lanes_stats look(void)
{
    cen_lanes_stats stats = CEN_SIZED(cen_lanes_stats);
    expect_equal(cen_lanes_stats_get(lanes, &stats), CEN_OK);
    return stats;
}

static inline void expect_empty(void)
{
    cen_lanes_stats stats = look();
    expect_equal(stats.admitted, 0);
    for (int i = 0; i < CEN_LANES; i++) {
        const cen_lane_stats *lane = &stats.lane[i];
        expect_equal(lane->queued + lane->running + lane->suspended, 0);
        expect_equal(lane->submitted, lane->done + lane->failed + lane->cancelled + lane->late + lane->dropped);
    }
}

static inline void end_lanes(void)
{
    cen_lanes_report report = CEN_SIZED(cen_lanes_report);
    expect_equal(cen_lanes_stop(lanes, CEN_STOP_DRAIN, CEN_NEVER, &report, NULL), CEN_OK);
    expect_equal(report.total.running + report.total.waiting + report.total.queued, 0);
    expect_empty();
    expect_equal(cen_lanes_free(lanes), CEN_OK);
}

#endif
