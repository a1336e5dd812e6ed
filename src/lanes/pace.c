/* SPDX-License-Identifier: MIT */
/*
 * How fast a lane works: averages, and the estimates that are made from them.
 *
 * A task that is submitted now begins when enough steps have ended for it to get a worker:
 *
 *     before = queued + running + 1 - workers          none if that is not positive
 *     wait   = before * average of a step / workers    at least the time in which nothing went on
 *
 * `running` counts at most the number of workers: a crew has more threads only because some are blocked. A lane with
 * a free worker has nothing before the task, whatever an old average says. So no task is refused there by an old
 * average, and an admitted task corrects it.
 *
 * A place becomes free when a task ends. While tasks run, that takes the average run time of a task, divided by the
 * running tasks. While all are suspended, it takes the average time from one end to the next. Before the first end
 * there is no average, and 1 ms is used.
 *
 * Each sample moves an average by an eighth of the difference, with a load and a store. If two samples come at once one
 * is lost, and the other gives as good an average. They are relaxed: an old number makes an old estimate. The time in
 * which nothing went on restarts with the first task that an empty lane gets.
 *
 * Order table
 * [P1] estimates | load of states | acquire | O1 in observe.c | the moment of the last progress | a task is refused because its lane was empty for long until a moment ago
 *
 * Tested by tests/unit/lanes/pace_test.c.
 */
#include "base/plant.h"
#include "lanes/internal.h"

enum {
    SMOOTHING = 8,
    A_MOMENT_NS = 1000000, /* the retry time while there is no average */
};

static int64_t read_ns(const _Atomic int64_t *word)
{
    return ceni_load_relaxed((_Atomic int64_t *)(uintptr_t)word); /* an average, or a moment; carries nothing */
}

static int64_t at_least_one(int64_t ns)
{
    return ns > 1 ? ns : 1;
}

static void learn(_Atomic int64_t *average, int64_t ns)
{
    int64_t before = read_ns(average);
    int64_t after = before ? before + (at_least_one(ns) - before) / SMOOTHING : at_least_one(ns);
    if (after != before) ceni_store_relaxed(average, at_least_one(after)); /* carries nothing */
}

void ceni_pace_step(ceni_lane *lane, int64_t ns)
{
    learn(&lane->step, ns);
}

void ceni_pace_progress(ceni_lane *lane, int64_t now)
{
    ceni_store_relaxed(&lane->progress, now); /* O1 of observe.c publishes it; carries nothing */
}

/* The time in which the lane was empty is no time between two ends. */
void ceni_pace_ended(ceni_lane *lane, int64_t now, int64_t run_ns, bool begun, bool empty)
{
    int64_t before = read_ns(&lane->ended);
    if (begun) learn(&lane->run, run_ns);
    if (before) learn(&lane->between, now - before);
    ceni_store_relaxed(&lane->ended, empty ? 0 : now); /* carries nothing */
}

/* ---- Estimates -------------------------------------------------------------------------- */

static uint64_t states_of(const ceni_lane *lane)
{
    return ceni_load_acquire((_Atomic uint64_t *)(uintptr_t)&lane->states); /* [P1] */
}

static int64_t workers_of(const ceni_lane *lane)
{
    return (int64_t)ceni_setting((_Atomic uint32_t *)(uintptr_t)&lane->workers);
}

/* The time since a step last began or a task last ended. */
static int64_t standstill(const ceni_lane *lane, int64_t now)
{
    int64_t progress = read_ns(&lane->progress);
    return progress && now > progress ? now - progress : 0;
}

static int64_t at_least(int64_t ns, int64_t least)
{
    return ns > least ? ns : least;
}

int64_t ceni_pace_wait(const ceni_lane *lane, int64_t now)
{
    uint64_t states = states_of(lane);
    int64_t workers = workers_of(lane), running = (int64_t)ceni_lane_in(states, CENI_LANE_RUNNING);
    int64_t before =
        (int64_t)ceni_lane_in(states, CENI_LANE_QUEUED) + (running < workers ? running : workers) + 1 - workers;
    if (before <= 0 && !ceni_planted(lanes_trust_an_old_average)) return 0;
    int64_t step = read_ns(&lane->step);
    int64_t wait = before < 1 ? step : step < INT64_MAX / before ? step * before / workers : INT64_MAX;
    return at_least(wait, standstill(lane, now));
}

/* By the averages alone; 0: no task has ended yet. */
static int64_t average_to_next_end(const ceni_lane *lane)
{
    uint64_t states = states_of(lane);
    int64_t workers = workers_of(lane), running = (int64_t)ceni_lane_in(states, CENI_LANE_RUNNING);
    if (running + (int64_t)ceni_lane_in(states, CENI_LANE_QUEUED) == 0) return read_ns(&lane->between);
    int64_t at_once = running < 1 ? 1 : running < workers ? running : workers, run = read_ns(&lane->run);
    return run > 0 ? at_least_one(run / at_once) : 0;
}

/* The standstill alone is no estimate: right after a task has begun it is a few microseconds. */
int64_t ceni_pace_next_end(const ceni_lane *lane, int64_t now)
{
    int64_t average = lane->clocks ? average_to_next_end(lane) : 0;
    int64_t known = average > 0 ? average : A_MOMENT_NS;
    return lane->clocks ? at_least(known, standstill(lane, now)) : known;
}

int64_t ceni_pace_next_end_of_all(const cen_lanes *lanes, int64_t now)
{
    int64_t soonest = INT64_MAX;
    for (unsigned i = 0; i < CEN_LANES; i++) {
        const ceni_lane *lane = &lanes->lane[i];
        if (lane->is_absent || states_of(lane) == 0) continue;
        int64_t ns = ceni_pace_next_end(lane, now);
        if (ns < soonest) soonest = ns;
    }
    return soonest == INT64_MAX ? A_MOMENT_NS : soonest;
}
