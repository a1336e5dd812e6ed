/* SPDX-License-Identifier: MIT */
/*
 * The observer of a lane's crew: it counts and times the states of the tasks.
 *
 *     NONE ──admit──▶ QUEUED ──began──▶ RUNNING ──paused──▶ QUEUED or SUSPENDED
 *                        ▲                 │                    │
 *                        │                 │                 resumed
 *                        └─────────────────┼────────────────────┘
 *     NONE ◀──over (cancelled, too late, dropped; or after the last step)
 *
 *     states       0 | suspended | running | queued            1 + 3 * 21 bits
 *     task->note   [0] when it was submitted   [1] when its step began
 *                  [2] nanoseconds in its steps << 3 | begun << 2 | state
 *
 * Invariants
 *  O1 A task's note is written by the thread that has the task: its submitter, until the crew has it, then the one
 *     thread that calls the observer for it. So its state is plain memory.
 *  O2 The three numbers in `states` are how many tasks of the lane have that state in their note. Each change of a note
 *     is one add of the difference. If the crew omits a call or repeats one, the numbers still agree with the notes.
 *  O3 A task is in `states` only while it has its place in the ledger: it is added after the place was taken, and
 *     subtracted before the place is given back. So the sum of the three is never more than the limit was.
 *  O4 `over` is the last call for a task, and comes once for each task that the crew has accepted. It alone gives the
 *     place back. For a task that the crew refused, submit.c gives it back.
 *  O5 A task with state NONE was submitted to the crew directly, and nothing is counted for it.
 *
 * The naive version has one counter for queued tasks and one for running tasks, subtracts from one and adds to the
 * other. A reader between the two misses a task. A cancelled task, for which only `over` is called, stays in the first
 * without end.
 *
 * Order table
 * [O1] move | add to states | acq_rel | P1 in pace.c | the moment of the last progress, stored before | a lane that was empty seems to have stood still since
 *
 * Tested by tests/unit/lanes, tests/explore/lanes_test.c, tests/stress/lanes_stress.c.
 */
#include "base/plant.h"
#include "lanes/internal.h"

enum { SUBMITTED = 0, BEGAN = 1, REST = 2 /* of task->note */ };
enum { STATE = 3, BEGUN = 4, RUN_SHIFT = 3 /* in note[REST] */ };
enum { STATE_BITS = 21 };

#define STATE_MOST ((UINT64_C(1) << STATE_BITS) - 1)

static ceni_lane_state state_of(const cen_task *task)
{
    return (ceni_lane_state)(task->note[REST] & STATE);
}

bool ceni_lane_has(const cen_task *task)
{
    return state_of(task) != CENI_LANE_NONE;
}

static uint64_t one_in(ceni_lane_state state)
{
    return state == CENI_LANE_NONE ? 0 : UINT64_C(1) << ((unsigned)(state - CENI_LANE_QUEUED) * STATE_BITS);
}

uint64_t ceni_lane_in(uint64_t states, ceni_lane_state state)
{
    return states >> ((unsigned)(state - CENI_LANE_QUEUED) * STATE_BITS) & STATE_MOST;
}

/* Move the task to a state, and return the lane's new states. */
static uint64_t move(ceni_lane *lane, cen_task *task, ceni_lane_state to)
{
    uint64_t difference = one_in(to) - one_in(state_of(task));
    task->note[REST] = (task->note[REST] & ~(uint64_t)STATE) | to;
    return ceni_add_acq_rel(&lane->states, difference) + difference; /* [O1] */
}

/* True if no task runs or is queued: then the time counts as no standstill. */
static bool rests(ceni_lane *lane)
{
    uint64_t states = ceni_load_relaxed(&lane->states); /* a guess, for an estimate; carries nothing */
    return ceni_lane_in(states, CENI_LANE_QUEUED) + ceni_lane_in(states, CENI_LANE_RUNNING) == 0;
}

void ceni_lane_admit(ceni_lane *lane, cen_task *task, int64_t now)
{
    task->note[SUBMITTED] = (uint64_t)now;
    task->note[BEGAN] = 0;
    task->note[REST] = CENI_LANE_NONE;
    if (lane->clocks && rests(lane)) ceni_pace_progress(lane, now);
    move(lane, task, CENI_LANE_QUEUED);
}

void ceni_lane_dismiss(ceni_lane *lane, cen_task *task)
{
    move(lane, task, CENI_LANE_NONE);
    task->note[REST] = 0;
}

/* ---- Steps ---------------------------------------------------------------------------- */

static void time_begin(ceni_lane *lane, cen_task *task)
{
    int64_t now = ceni_lanes_now(lane->lanes);
    bool first = !(task->note[REST] & BEGUN);
    if (first) ceni_live_histogram_record(&lane->clocks->wait, now - (int64_t)task->note[SUBMITTED]);
    task->note[BEGAN] = (uint64_t)now;
    ceni_pace_progress(lane, now);
}

static void time_step(ceni_lane *lane, cen_task *task, int64_t now)
{
    int64_t ns = now - (int64_t)task->note[BEGAN];
    if (ns < 0) ns = 0;
    task->note[REST] += (uint64_t)ns << RUN_SHIFT;
    ceni_pace_step(lane, ns);
}

static void began(void *argument, cen_task *task)
{
    ceni_lane *lane = argument;
    if (state_of(task) != CENI_LANE_NONE) {
        if (lane->clocks) time_begin(lane, task);
        task->note[REST] |= BEGUN;
        move(lane, task, CENI_LANE_RUNNING);
    }
    if (lane->observer.began) lane->observer.began(lane->observer.argument, task);
}

static void paused(void *argument, cen_task *task, cen_next next)
{
    ceni_lane *lane = argument;
    if (lane->observer.paused) lane->observer.paused(lane->observer.argument, task, next);
    if (state_of(task) == CENI_LANE_NONE) return;
    if (lane->clocks) time_step(lane, task, ceni_lanes_now(lane->lanes));
    bool counts_as_running = next == CEN_NEXT_WAIT && ceni_planted(lanes_count_suspended_as_running);
    if (!counts_as_running) move(lane, task, next == CEN_NEXT_WAIT ? CENI_LANE_SUSPENDED : CENI_LANE_QUEUED);
}

static void resumed(void *argument, cen_task *task)
{
    ceni_lane *lane = argument;
    if (state_of(task) != CENI_LANE_NONE) {
        if (lane->clocks && rests(lane)) ceni_pace_progress(lane, ceni_lanes_now(lane->lanes));
        move(lane, task, CENI_LANE_QUEUED);
    }
    if (lane->observer.resumed) lane->observer.resumed(lane->observer.argument, task);
}

/* ---- The end ------------------------------------------------------------------------------ */

static ceni_lane_count ending(cen_status status, bool begun)
{
    if (begun) return status == CEN_OK ? CENI_LANE_DONE : CENI_LANE_FAILED;
    if (status == CEN_INTERRUPTED) return CENI_LANE_CANCELLED;
    return status == CEN_TIMEOUT ? CENI_LANE_LATE : CENI_LANE_DROPPED;
}

static void time_end(ceni_lane *lane, cen_task *task, bool begun, int64_t now)
{
    int64_t total = now - (int64_t)task->note[SUBMITTED];
    if (state_of(task) == CENI_LANE_RUNNING) time_step(lane, task, now);
    if (begun) ceni_live_histogram_record(&lane->clocks->run, (int64_t)(task->note[REST] >> RUN_SHIFT));
    else ceni_live_histogram_record(&lane->clocks->wait, total);
    ceni_live_histogram_record(&lane->clocks->total, total);
    ceni_pace_progress(lane, now);
}

static void over(void *argument, cen_task *task, cen_status status, bool begun)
{
    ceni_lane *lane = argument;
    if (lane->observer.over) lane->observer.over(lane->observer.argument, task, status, begun);
    if (state_of(task) == CENI_LANE_NONE) return;
    if (!begun && ceni_planted(lanes_forgets_a_cancelled)) return;
    int64_t now = lane->clocks ? ceni_lanes_now(lane->lanes) : 0;
    if (lane->clocks) time_end(lane, task, begun, now);
    int64_t run_ns = (int64_t)(task->note[REST] >> RUN_SHIFT);
    ceni_lane_tally(lane, ending(status, begun));
    bool empty = move(lane, task, CENI_LANE_NONE) == 0;
    task->note[REST] = 0;
    if (lane->clocks) ceni_pace_ended(lane, now, run_ns, begun, empty);
    ceni_ledger_give(&lane->lanes->ledger, lane->index);
}

cen_observer ceni_lane_observer(ceni_lane *lane)
{
    return (cen_observer){.began = began, .paused = paused, .resumed = resumed, .over = over, .argument = lane};
}
