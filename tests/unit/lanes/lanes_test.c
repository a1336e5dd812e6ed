/* SPDX-License-Identifier: MIT */
/*
 * Lanes on real crews, in virtual time. The first part has the mistakes that made
 * the original refuse for ever, refuse wrongly, or tell what was not so.
 */
#include "unit/lanes/real_lanes.h"

#include "support/world.h"

enum { MANY = 10 };

static errand errands[MANY];

static void finish(void)
{
    end_lanes();
    expect_equal(ceni_world_bytes(), 0);
}

/* ---- Counts that never fall ----------------------------------------------------------------------- */

/* guarantees: lanes.places, task-bugs.suspended */
TEST(D_a_lane_full_of_tasks_that_wait_says_so_and_has_room_again_when_they_are_cancelled)
{
    errand extra;
    make_lanes(.high.max_tasks = MANY);
    for (int i = 0; i < MANY; i++) hand_in(HIGH, &errands[i], wait_step);
    ceni_world_settle();
    cen_lane_stats stats = look().lane[HIGH];
    expect_equal(stats.suspended, MANY);
    expect_equal(stats.running + stats.queued, 0); /* nobody is told that they run */
    prepare(&extra, end_step);
    expect_equal(submit(HIGH, &extra), CEN_FULL);
    for (int i = 0; i < MANY; i++) expect(!cen_task_cancel(&errands[i].task)); /* asked to end */
    for (int i = 0; i < MANY; i++) await(&errands[i], CEN_OK);
    expect_equal(look().lane[HIGH].admitted, 0);
    expect_equal(submit(HIGH, &extra), CEN_OK);
    await(&extra, CEN_OK);
    finish();
}

/* ---- Functions -------------------------------------------------------------------------------- */

static unsigned calls;

static void *count_call(void *argument)
{
    calls++;
    expect_text(cen_task_current()->name, argument ? "counting" : "a call");
    return argument;
}

/* guarantees: crew.function */
TEST(a_function_is_admitted_to_a_lane_and_its_result_completes_with_what_it_returned)
{
    cen_future result;
    calls = 0;
    cen_future_init(&result);
    make_lanes(.high.max_tasks = 1);
    expect_equal(cen_lanes_submit_function(lanes, HIGH, "counting", count_call, &calls, NO_DEADLINE, &result, NULL),
                 CEN_OK);
    expect_equal(cen_future_wait(&result, CEN_NEVER), CEN_OK);
    expect(result.value == &calls);
    expect_equal(cen_lanes_submit_function(lanes, HIGH, NULL, count_call, NULL, NO_DEADLINE, NULL, NULL), CEN_OK);
    finish();
    expect_equal(calls, 2);
}

/* guarantees: crew.function, lanes.refusal */
TEST(a_function_that_a_lane_refuses_is_never_called_and_leaves_its_result_as_it_was)
{
    errand holder;
    cen_error error = {.text = ""};
    cen_future result;
    calls = 0;
    cen_future_init(&result);
    make_lanes(.high.max_tasks = 1, .low.is_absent = true);
    size_t before = ceni_world_bytes();
    hand_in(HIGH, &holder, wait_step);
    expect_equal(cen_lanes_submit_function(lanes, HIGH, NULL, count_call, NULL, NO_DEADLINE, &result, &error),
                 CEN_FULL);
    expect_equal(error.cause, CEN_CAUSE_LANE_FULL);
    expect_equal(cen_lanes_submit_function(lanes, LOW, NULL, count_call, NULL, NO_DEADLINE, &result, &error),
                 CEN_INVALID);
    expect_equal(cen_lanes_submit_function(lanes, HIGH, NULL, NULL, NULL, NO_DEADLINE, &result, &error), CEN_INVALID);
    expect_equal(cen_lanes_submit_function(NULL, HIGH, NULL, count_call, NULL, NO_DEADLINE, NULL, &error), CEN_INVALID);
    expect_equal(cen_lanes_submit_function(lanes, HIGH, NULL, count_call, NULL, CEN_NOW, &result, &error), CEN_TIMEOUT);
    open_gate(&holder);
    await(&holder, CEN_OK);
    expect_equal(ceni_world_bytes(), before);
    expect_equal(cen_lanes_submit_function(lanes, HIGH, NULL, count_call, NULL, NO_DEADLINE, &result, NULL), CEN_OK);
    expect_equal(cen_lanes_submit_function(lanes, NORMAL, NULL, count_call, NULL, NO_DEADLINE, &result, &error),
                 CEN_MISUSE);
    expect_equal(cen_future_wait(&result, CEN_NEVER), CEN_OK);
    finish();
    expect_equal(calls, 1);
}

static cen_next fail_step(cen_task *task)
{
    return cen_task_fail(task, NULL);
}

/* guarantees: lanes.places, task-bugs.count */
TEST(D_the_count_falls_however_a_task_ends_again_and_again)
{
    errand blocker;
    make_lanes(.high.max_tasks = 5);
    for (int round = 0; round < 50; round++) {
        hand_in(HIGH, &blocker, block_step);
        ceni_world_settle();
        for (int i = 0; i < 4; i++) prepare(&errands[i], i == 0 ? fail_step : end_step);
        errands[1].task.deadline = cen_in_ms(5);
        for (int i = 0; i < 4; i++) expect_equal(submit(HIGH, &errands[i]), CEN_OK);
        expect_equal(look().lane[HIGH].queued, 4);
        expect(cen_task_cancel(&errands[2].task));
        expect(cen_future_cancel(&errands[3].task.future));
        ceni_world_advance(6 * MS);
        await(&errands[1], CEN_TIMEOUT);
        await(&errands[2], CEN_INTERRUPTED);
        open_gate(&blocker);
        await(&blocker, CEN_OK);
        await(&errands[0], CEN_DRIVER);
        expect_empty();
    }
    cen_lane_stats stats = look().lane[HIGH];
    expect_equal(stats.done, 50);
    expect_equal(stats.failed, 50);
    expect_equal(stats.late, 50);
    expect_equal(stats.cancelled, 100);
    finish();
}

/* guarantees: lanes.places, task-bugs.count */
TEST(D_what_is_refused_is_never_counted)
{
    errand blocker;
    make_lanes(.high.max_tasks = 1, .max_total = 1);
    hand_in(HIGH, &blocker, block_step);
    prepare(&errands[0], end_step);
    for (int i = 0; i < 1000; i++) expect_equal(submit(i % 2 ? HIGH : LOW, &errands[0]), CEN_FULL);
    expect_equal(look().admitted, 1);
    expect_equal(look().lane[HIGH].refused_full, 500);
    expect_equal(look().lane[LOW].refused_total, 500);
    open_gate(&blocker);
    await(&blocker, CEN_OK);
    expect_equal(submit(LOW, &errands[0]), CEN_OK);
    await(&errands[0], CEN_OK);
    finish();
}

/* guarantees: lanes.seen-end */
TEST(who_waits_for_a_task_and_then_submits_finds_its_place_free)
{
    make_lanes(.high.max_tasks = 1);
    for (int i = 0; i < 20; i++) {
        hand_in(HIGH, &errands[0], end_step);
        await(&errands[0], CEN_OK);
    }
    finish();
}

/* ---- When to try again --------------------------------------------------------------------------------- */

/* guarantees: lanes.refusal, task-bugs.retry-after */
TEST(who_is_refused_is_told_when_to_try_again_and_then_there_is_room)
{
    cen_error error = {.text = ""};
    make_lanes(.high.max_tasks = 3);
    for (int i = 0; i < 3; i++) {
        errands[9].takes_ns = 10 * MS;
        hand_in(HIGH, &errands[9], sleep_step);
        await(&errands[9], CEN_OK);
    }
    for (int i = 0; i < 3; i++) {
        errands[i].takes_ns = 10 * MS;
        hand_in(HIGH, &errands[i], sleep_step);
    }
    ceni_world_settle();
    prepare(&errands[3], end_step);
    expect_equal(cen_lanes_submit(lanes, HIGH, &errands[3].task, NO_DEADLINE, &error), CEN_FULL);
    expect_equal(error.cause, CEN_CAUSE_LANE_FULL);
    expect(error.retry_after_ns >= 5 * MS && error.retry_after_ns <= 20 * MS);
    ceni_sleep_until(ceni_clock_now() + error.retry_after_ns + 1);
    ceni_world_settle();
    expect_equal(submit(HIGH, &errands[3]), CEN_OK);
    for (int i = 0; i < 4; i++) await(&errands[i], CEN_OK);
    finish();
}

/* ---- Numbers that lie ------------------------------------------------------------------------------------ */

/* guarantees: lanes.estimate */
TEST(Q_the_wait_that_is_estimated_is_the_wait_that_a_task_has)
{
    int64_t estimate;
    cen_lane_latency times = CEN_SIZED(cen_lane_latency);
    make_lanes(.high.max_tasks = MANY);
    errands[9].takes_ns = 10 * MS;
    hand_in(HIGH, &errands[9], sleep_step);
    await(&errands[9], CEN_OK);
    for (int i = 0; i < 5; i++) {
        errands[i].takes_ns = 10 * MS;
        hand_in(HIGH, &errands[i], sleep_step);
    }
    ceni_world_settle();
    expect_equal(cen_lanes_estimate(lanes, HIGH, &estimate), CEN_OK);
    expect_equal(estimate, 50 * MS);
    errands[5].takes_ns = 0;
    hand_in(HIGH, &errands[5], sleep_step);
    for (int i = 0; i < 6; i++) await(&errands[i], CEN_OK);
    expect_equal(cen_lanes_latency_get(lanes, HIGH, &times), CEN_OK);
    expect_equal(times.wait.longest_ns, 50 * MS);
    expect_equal(times.wait.count, 7);
    expect_equal(times.run.longest_ns, 10 * MS);
    expect_equal(times.total.count, 7);
    finish();
}

/* guarantees: lanes.times, task-bugs.wait-times */
TEST(Q_a_task_that_never_began_is_in_the_wait_times)
{
    errand blocker;
    cen_lane_latency times = CEN_SIZED(cen_lane_latency);
    make_lanes(.name = NULL);
    hand_in(HIGH, &blocker, block_step);
    ceni_world_settle();
    prepare(&errands[0], end_step);
    expect_equal(cen_lanes_submit(lanes, HIGH, &errands[0].task, cen_in_ms(30), NULL), CEN_OK);
    await(&errands[0], CEN_TIMEOUT);
    expect_equal(cen_lanes_latency_get(lanes, HIGH, &times), CEN_OK);
    expect_equal(times.wait.longest_ns, 30 * MS);
    open_gate(&blocker);
    await(&blocker, CEN_OK);
    finish();
}

/* guarantees: lanes.late */
TEST(a_task_that_would_begin_too_late_is_refused_and_one_that_meets_a_free_worker_never)
{
    make_lanes(.name = NULL);
    errands[0].takes_ns = 10 * MS;
    hand_in(HIGH, &errands[0], sleep_step);
    await(&errands[0], CEN_OK);
    prepare(&errands[1], sleep_step);
    errands[1].takes_ns = 10 * MS;
    expect_equal(cen_lanes_submit(lanes, HIGH, &errands[1].task, cen_in_ms(1), NULL), CEN_OK);
    ceni_world_settle();
    prepare(&errands[2], end_step);
    expect_equal(cen_lanes_submit(lanes, HIGH, &errands[2].task, cen_in_ms(1), NULL), CEN_OVERLOAD);
    await(&errands[1], CEN_OK);
    finish();
}

/* ---- Lanes beside each other --------------------------------------------------------------------------------- */

/* guarantees: lanes.isolation, task-bugs.starvation */
TEST(a_lane_whose_workers_are_all_held_up_holds_up_no_other)
{
    make_lanes(.low.max_tasks = 2);
    hand_in(LOW, &errands[0], block_step);
    hand_in(LOW, &errands[1], block_step);
    prepare(&errands[2], end_step);
    expect_equal(submit(LOW, &errands[2]), CEN_FULL);
    for (int i = 3; i < MANY; i++) {
        hand_in(i % 2 ? HIGH : NORMAL, &errands[i], end_step);
        await(&errands[i], CEN_OK);
    }
    open_gate(&errands[0]);
    open_gate(&errands[1]);
    finish();
}

static cen_next submit_on(cen_task *task)
{
    hand_in(HIGH, &errands[1], end_step);
    hand_in(NORMAL, &errands[2], end_step);
    expect(cen_crew_current() == cen_lanes_crew(lanes, HIGH));
    return cen_task_done(task, NULL);
}

/* guarantees: lanes.isolation */
TEST(a_task_may_submit_to_its_own_lane_and_to_others)
{
    make_lanes(.high.max_tasks = 2);
    hand_in(HIGH, &errands[0], submit_on);
    for (int i = 0; i < 3; i++) await(&errands[i], CEN_OK);
    finish();
}

/* guarantees: lanes.isolation */
TEST(workers_come_and_go_at_run_time)
{
    cen_crew_stats stats = CEN_SIZED(cen_crew_stats);
    make_lanes(.name = NULL);
    expect_equal(cen_lanes_resize(lanes, HIGH, 2, NULL), CEN_OK);
    hand_in(HIGH, &errands[0], block_step);
    hand_in(HIGH, &errands[1], end_step);
    await(&errands[1], CEN_OK);
    expect_equal(cen_crew_stats_get(cen_lanes_crew(lanes, HIGH), &stats), CEN_OK);
    expect_equal(stats.workers, 2);
    expect_equal(look().lane[HIGH].max, 4000);
    open_gate(&errands[0]);
    await(&errands[0], CEN_OK);
    finish();
}

/* ---- The end ------------------------------------------------------------------------------------------------------ */

/* guarantees: lanes.stop */
TEST(L_a_stop_to_drain_runs_what_is_there_in_every_lane)
{
    cen_lanes_report report = CEN_SIZED(cen_lanes_report);
    make_lanes(.name = NULL);
    for (int i = 0; i < 9; i++) {
        errands[i].takes_ns = MS;
        hand_in((cen_priority)(i % 3), &errands[i], sleep_step);
    }
    expect_equal(cen_lanes_stop(lanes, CEN_STOP_DRAIN, cen_in_s(1), &report, NULL), CEN_OK);
    expect_equal(report.total.finished, 9);
    expect_equal(report.lane[LOW].finished, 3);
    expect_equal(report.total.dropped, 0);
    for (int i = 0; i < 9; i++) await(&errands[i], CEN_OK);
    prepare(&errands[0], end_step);
    expect_equal(submit(HIGH, &errands[0]), CEN_CLOSED);
    expect_empty();
    expect_equal(cen_lanes_free(lanes), CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
}

/* guarantees: lanes.stop, task-bugs.dropped */
TEST(L_a_stop_to_drop_tells_what_is_queued_in_every_lane_though_one_of_them_does_not_end)
{
    cen_lanes_report report = CEN_SIZED(cen_lanes_report);
    make_lanes(.name = NULL);
    hand_in(NORMAL, &errands[0], block_step);
    hand_in(LOW, &errands[1], block_step);
    ceni_world_settle();
    for (int i = 2; i < 6; i++) hand_in(i % 2 ? NORMAL : LOW, &errands[i], end_step);
    expect_equal(cen_lanes_free(lanes), CEN_BUSY);
    expect_equal(cen_lanes_stop(lanes, CEN_STOP_DROP, cen_in_ms(10), &report, NULL), CEN_TIMEOUT);
    expect_equal(report.total.dropped, 4);
    expect_equal(report.total.running, 2);
    for (int i = 2; i < 6; i++) await(&errands[i], CEN_CLOSED);
    expect_equal(look().admitted, 2);
    expect_equal(look().lane[LOW].dropped, 2);
    expect_equal(cen_lanes_free(lanes), CEN_BUSY);
    open_gate(&errands[0]);
    open_gate(&errands[1]);
    finish();
}

static cen_next stop_step(cen_task *task)
{
    expect_equal(cen_lanes_stop(lanes, CEN_STOP_DRAIN, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(cen_lanes_free(lanes), CEN_MISUSE);
    return cen_task_done(task, NULL);
}

/* guarantees: lanes.stop */
TEST(a_task_may_stop_the_lanes)
{
    make_lanes(.name = NULL);
    for (int i = 0; i < 6; i++) {
        errands[i].takes_ns = MS;
        hand_in((cen_priority)(i % 3), &errands[i], sleep_step);
    }
    hand_in(NORMAL, &errands[6], stop_step);
    await(&errands[6], CEN_OK);
    for (int i = 0; i < 6; i++) await(&errands[i], CEN_OK);
    finish();
}
