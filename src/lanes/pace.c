/* SPDX-License-Identifier: MIT */
/*
 * How quickly a lane works: averages, and what follows from them.
 *
 * A task that comes now begins when so many steps have ended that it has a
 * worker:
 *
 *     before = queued + running + 1 - workers          none if that is not positive
 *     wait   = before * average of a step / workers    at least the time in which nothing went on
 *
 * Running counts up to the number of workers: a crew that has more threads has them
 * because some are blocked. A lane with a worker free has nothing before, whatever an old
 * average says: so nobody is refused by it, and who is let in corrects it.
 *
 * A place becomes free when a task ends: while some run, in the average time that
 * a task runs divided by those; while all are suspended, in the average time from one end
 * to the next. Before the first end there is no average, and 1 ms stands in its place.
 *
 * The averages are moved by an eighth of each difference, with a load and a store: if
 * two come at once one of them is lost, and the other is as good an average. They
 * are relaxed: a number that is a little old makes an estimate that is a little old.
 * The time in which nothing went on begins anew with the first task that a lane at rest gets.
 *
 * Order table
 * [P1] estimates | load of states | acquire | O1 in observe.c | the moment of the last progress | a task is refused because a lane that has just been woken rested for long
 *
 * Tested by tests/unit/lanes/pace_test.c.
 */
#include "base/plant.h"
#include "lanes/internal.h"

enum {
    SMOOTHING = 8,
    A_MOMENT_NS = 1000000, /* when to try again as long as there is no average */
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

/* The time in which a lane was empty is not one between two ends. */
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

/* How long nothing has begun or ended. */
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

/* The standstill alone says nothing: that of a task that has just begun is a few microseconds. */
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
