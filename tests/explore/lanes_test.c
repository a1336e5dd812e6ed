/* SPDX-License-Identifier: MIT */
/*
 * Admission under every schedule: submits against submits, ends, and changes of limits.
 * The crews run nothing, so the threads are the test's own, and few; no times are kept,
 * for fewer steps.
 */
#include "unit/lanes/hand_lanes.h"

#include <cenote/component.h>

#include "lanes/ledger.h"

static _Atomic uint32_t answers[TASKS];

static uint32_t answer(int i)
{
    return ceni_load_seq_cst(&answers[i]);
}

/* Submits task i and keeps how that was answered. */
static void try_submit(cen_priority priority, int i)
{
    ceni_store_seq_cst(&answers[i], (uint32_t)submit(priority, i));
}

static void end_those_admitted(int from, int to)
{
    for (int i = from; i <= to; i++)
        if (answer(i) == CEN_OK) hand_drop(&tasks[i], CEN_INTERRUPTED);
}

static void finish(void)
{
    expect_equal(cen_lanes_stop(lanes, CEN_STOP_DROP, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(cen_lanes_free(lanes), CEN_OK);
}

static void expect_empty(void)
{
    cen_lanes_stats stats = look();
    expect_equal(stats.admitted, 0);
    for (int i = 0; i < CEN_LANES; i++)
        expect_equal(stats.lane[i].queued + stats.lane[i].running + stats.lane[i].suspended, 0);
}

/* ---- The last place --------------------------------------------------------------------------- */

static void submit_high_1(void *unused)
{
    (void)unused;
    try_submit(HIGH, 1);
}

static void submit_low_2(void *unused)
{
    (void)unused;
    try_submit(LOW, 2);
}

/* guarantees: lanes.limits, task-bugs.limit */
EXPLORE(O_of_two_who_want_the_last_place_of_a_lane_one_has_it_and_one_is_told_full, 4)
{
    make_lanes(.high.max_tasks = 1, .without_latency = true);
    ceni_thread other = start("other", submit_high_1, NULL);
    try_submit(HIGH, 0);
    join(other);
    expect_equal(answer(0) + answer(1), (uint32_t)CEN_OK + CEN_FULL);
    expect_equal(look().lane[HIGH].admitted, 1);
    end_those_admitted(0, 1);
    expect_empty();
    finish();
}

/* guarantees: lanes.limits */
EXPLORE(of_three_who_want_the_two_last_places_in_all_two_have_them, 3)
{
    make_lanes(.max_total = 2, .without_latency = true);
    ceni_thread one = start("one", submit_high_1, NULL), two = start("two", submit_low_2, NULL);
    try_submit(NORMAL, 0);
    join(one);
    join(two);
    expect_equal(answer(0) + answer(1) + answer(2), (uint32_t)CEN_FULL);
    expect_equal(look().admitted, 2);
    end_those_admitted(0, 2);
    expect_empty();
    finish();
}

/* ---- Nobody is refused who has room ------------------------------------------------------------- */

/* Lane normal has one place, and all lanes together one, which task 3 has in another lane.
 * Task 0 is refused as long as task 3 is there. When it is over, either task 0 has
 * its place, or task 2 finds it free: not refused because of one that is refused itself. */
static void end_and_submit(void *unused)
{
    (void)unused;
    hand_drop(&tasks[3], CEN_INTERRUPTED);
    try_submit(NORMAL, 2);
}

/* guarantees: lanes.limits */
EXPLORE(who_is_refused_for_the_sum_never_costs_another_a_place_in_the_lane, 4)
{
    make_lanes(.normal.max_tasks = 1, .max_total = 1, .without_latency = true);
    take_in(HIGH, 3);
    ceni_thread other = start("other", end_and_submit, NULL);
    try_submit(NORMAL, 0);
    join(other);
    expect_equal(answer(0) + answer(2), (uint32_t)CEN_FULL); /* one of them is in */
    end_those_admitted(0, 0);
    end_those_admitted(2, 2);
    expect_empty();
    finish();
}

static _Atomic uint32_t told;

static void end_and_tell(void *unused)
{
    (void)unused;
    hand_begin(&tasks[0]);
    hand_end(&tasks[0], CEN_OK);
    ceni_store_seq_cst(&told, 1);
}

/* guarantees: lanes.seen-end */
EXPLORE(who_has_seen_that_a_task_is_over_finds_its_place_free, 4)
{
    ceni_store_seq_cst(&told, 0);
    make_lanes(.high.max_tasks = 1, .without_latency = true);
    take_in(HIGH, 0);
    ceni_thread other = start("other", end_and_tell, NULL);
    uint32_t over = ceni_load_seq_cst(&told);
    try_submit(HIGH, 1);
    if (over) expect_equal(answer(1), CEN_OK);
    join(other);
    end_those_admitted(1, 1);
    expect_empty();
    finish();
}

/* ---- A limit that falls ---------------------------------------------------------------------------- */

static _Atomic uint32_t count_after_limit;

static void lower(void *unused)
{
    (void)unused;
    expect_equal(cen_lanes_max_tasks_set(lanes, HIGH, 1, NULL), CEN_OK);
    ceni_store_seq_cst(&count_after_limit, (uint32_t)look().lane[HIGH].admitted);
}

/* guarantees: lanes.L16 */
EXPLORE(L16_once_a_limit_was_lowered_nothing_more_is_admitted_beyond_it, 4)
{
    make_lanes(.high.max_tasks = 2, .without_latency = true);
    take_in(HIGH, 0);
    ceni_thread other = start("other", lower, NULL);
    try_submit(HIGH, 1);
    join(other);
    expect_equal(look().lane[HIGH].admitted, ceni_load_seq_cst(&count_after_limit));
    end_those_admitted(0, 1);
    hand_drop(&tasks[0], CEN_INTERRUPTED);
    expect_empty();
    finish();
}

static void limit_total(void *unused)
{
    (void)unused;
    expect_equal(cen_lanes_max_total_set(lanes, 7, NULL), CEN_OK);
}

static void limit_low(void *unused)
{
    (void)unused;
    expect_equal(cen_lanes_max_tasks_set(lanes, LOW, 9, NULL), CEN_OK);
}

/* guarantees: lanes.L16 */
EXPLORE(of_two_who_change_limits_at_once_neither_is_lost_and_no_count_either, 3)
{
    make_lanes(.high.is_absent = true, .normal.is_absent = true, .without_latency = true);
    ceni_thread one = start("one", limit_total, NULL), two = start("two", limit_low, NULL);
    try_submit(LOW, 0);
    join(one);
    join(two);
    cen_lanes_stats stats = look();
    expect_equal(stats.max, 7);
    expect_equal(stats.lane[LOW].max, 9);
    expect_equal(stats.lane[LOW].admitted, 1);
    end_those_admitted(0, 0);
    expect_empty();
    finish();
}

/* ---- What the tasks do -------------------------------------------------------------------------------- */

/* A whole life; the lane has room for one at a time. */
static void live(void *argument)
{
    int i = (int)(intptr_t)argument;
    try_submit(HIGH, i);
    if (answer(i) != CEN_OK) return;
    hand_begin(&tasks[i]);
    hand_end(&tasks[i], CEN_OK);
}

/* guarantees: lanes.counts, task-bugs.suspended */
EXPLORE(queued_running_and_suspended_are_together_never_more_than_the_limit, 3)
{
    make_lanes(.normal.is_absent = true, .low.is_absent = true, .high.max_tasks = 1, .without_latency = true);
    ceni_thread one = start("one", live, (void *)0), two = start("two", live, (void *)1);
    cen_lane_stats stats = look().lane[HIGH];
    expect(stats.queued + stats.running + stats.suspended <= 1);
    join(one);
    join(two);
    expect(answer(0) == CEN_OK || answer(1) == CEN_OK);
    expect_empty();
    finish();
}

static void refused_by_the_crew(void *unused)
{
    (void)unused;
    try_submit(HIGH, 1);
    end_those_admitted(1, 1);
}

/* guarantees: lanes.places, task-bugs.count */
EXPLORE(D_a_task_that_its_crew_refuses_leaves_no_place_behind, 4)
{
    make_lanes(.high.max_tasks = 2, .without_latency = true);
    hand_answer(CEN_CLOSED);
    ceni_thread other = start("other", refused_by_the_crew, NULL);
    try_submit(HIGH, 0);
    join(other);
    expect_equal(answer(0), CEN_CLOSED);
    expect_equal(answer(1), CEN_CLOSED);
    expect_empty();
    finish();
}

/* ---- Somebody watches ------------------------------------------------------------------------------------ */

static void resize_what_is_there(void *argument, cen_component *thing)
{
    (void)argument;
    if (strcmp(cen_component_kind(thing), "lanes") == 0)
        expect_equal(cen_component_invoke(thing, "resize_high", 3, NULL), CEN_OK);
}

static void watch_all(void *unused)
{
    (void)unused;
    cen_components_each(resize_what_is_there, NULL);
}

EXPLORE(who_resizes_lanes_that_are_being_freed_has_done_so_before_or_does_not_find_them, 3)
{
    make_lanes(.normal.is_absent = true, .low.is_absent = true, .high.max_tasks = 1, .without_latency = true);
    expect_equal(cen_lanes_stop(lanes, CEN_STOP_DROP, CEN_NEVER, NULL, NULL), CEN_OK);
    ceni_thread other = start("other", watch_all, NULL);
    expect_equal(cen_lanes_free(lanes), CEN_OK);
    join(other);
    expect_equal(ceni_world_bytes(), 0);
}

/* ---- A child ------------------------------------------------------------------------------------------- */

static void submit_in_child(void *unused)
{
    (void)unused;
    try_submit(HIGH, 1);
}

/* guarantees: lanes.L14 */
EXPLORE(L14_of_two_who_come_first_in_a_child_one_clears_the_counts_and_neither_is_lost, 3)
{
    make_lanes(.normal.is_absent = true, .low.is_absent = true, .high.max_tasks = 2, .without_latency = true,
               .on_fork = CEN_FORK_RENEW);
    take_in(HIGH, 2);
    take_in(HIGH, 3);
    ceni_world_fork();
    ceni_thread other = start("other", submit_in_child, NULL);
    try_submit(HIGH, 0);
    join(other);
    expect_equal(answer(0), CEN_OK);
    expect_equal(answer(1), CEN_OK);
    expect_equal(look().lane[HIGH].admitted, 2);
    end_those_admitted(0, 1);
    expect_empty();
    finish();
}
