/* SPDX-License-Identifier: MIT */
/* Lanes on crews that run nothing, and short words for what tests say of them. */
#ifndef TESTS_UNIT_LANES_HAND_LANES_H
#define TESTS_UNIT_LANES_HAND_LANES_H

#include "support/world.h"
#include "unit/lanes/hand_crew.h"

enum { TASKS = 8 };

#define HIGH CEN_PRIORITY_HIGH
#define NORMAL CEN_PRIORITY_NORMAL
#define LOW CEN_PRIORITY_LOW
#define MS INT64_C(1000000)
#define NO_DEADLINE ((cen_deadline){0})

static cen_lanes *lanes;
static cen_task tasks[TASKS];

#define make_lanes(...) make_lanes_of(CEN_LANES_OPTIONS(__VA_ARGS__))

static inline void make_lanes_of(cen_lanes_options options)
{
    cen_error error = {.text = ""};
    hand_answer(CEN_OK);
    for (int i = 0; i < TASKS; i++) cen_task_init(&tasks[i], NULL);
    if (cen_lanes_new(&options, &lanes, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
}

static inline cen_status submit(cen_priority priority, int i)
{
    return cen_lanes_submit(lanes, priority, &tasks[i], NO_DEADLINE, NULL);
}

static inline void take_in(cen_priority priority, int i)
{
    expect_equal(submit(priority, i), CEN_OK);
}

static inline cen_lanes_stats look(void)
{
    cen_lanes_stats stats = CEN_SIZED(cen_lanes_stats);
    expect_equal(cen_lanes_stats_get(lanes, &stats), CEN_OK);
    return stats;
}

static inline int64_t estimate(cen_priority priority)
{
    int64_t ns = -1;
    expect_equal(cen_lanes_estimate(lanes, priority, &ns), CEN_OK);
    return ns;
}

/* A task from its beginning to its end, in which time passes. */
static inline void run_for(int i, int64_t ns)
{
    hand_begin(&tasks[i]);
    ceni_world_advance(ns);
    hand_end(&tasks[i], CEN_OK);
    cen_task_init(&tasks[i], NULL);
}

static inline void end_lanes(void)
{
    cen_lanes_stats stats = look();
    expect_equal(stats.admitted, 0);
    for (int i = 0; i < CEN_LANES; i++) {
        const cen_lane_stats *lane = &stats.lane[i];
        expect_equal(lane->admitted + lane->queued + lane->running + lane->suspended, 0);
        expect_equal(lane->submitted, lane->done + lane->failed + lane->cancelled + lane->late + lane->dropped);
    }
    expect_equal(cen_lanes_stop(lanes, CEN_STOP_DRAIN, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(cen_lanes_free(lanes), CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
}

#endif
