/* SPDX-License-Identifier: MIT */
/* Estimates, refusals for a deadline, when to try again, and times, in virtual time. */
#include "unit/lanes/hand_lanes.h"

static const cen_crew_options one = CEN_CREW_OPTIONS(.workers = 1), two = CEN_CREW_OPTIONS(.workers = 2);

static cen_status submit_by(cen_priority priority, int i, cen_deadline deadline, cen_error *error)
{
    return cen_lanes_submit(lanes, priority, &tasks[i], deadline, error);
}

/* The lane knows that a step takes so long. */
static void teach(cen_priority priority, int64_t ns)
{
    for (int i = 0; i < 3; i++) {
        take_in(priority, TASKS - 1);
        run_for(TASKS - 1, ns);
    }
}

static void finish(int from, int to)
{
    for (int i = from; i <= to; i++) hand_drop(&tasks[i], CEN_CLOSED);
    end_lanes();
}

/* ---- Estimates --------------------------------------------------------------------------------- */

/* guarantees: lanes.estimate */
TEST(the_estimate_is_the_steps_that_must_end_first_times_their_average_divided_by_the_workers)
{
    make_lanes(.high.crew = &two);
    teach(HIGH, 10 * MS);
    expect_equal(estimate(HIGH), 0);
    take_in(HIGH, 0);
    hand_begin(&tasks[0]);
    expect_equal(estimate(HIGH), 0); /* the other worker is free */
    take_in(HIGH, 1);
    hand_begin(&tasks[1]);
    expect_equal(estimate(HIGH), 5 * MS); /* one of two must end */
    take_in(HIGH, 2);
    take_in(HIGH, 3);
    expect_equal(estimate(HIGH), 15 * MS);
    expect_equal(look().lane[HIGH].estimated_wait_ns, 15 * MS);
    expect_equal(estimate(LOW), 0);
    hand_pause(&tasks[0], CEN_NEXT_WAIT); /* one that waits keeps nobody */
    expect(estimate(HIGH) <= 10 * MS);
    hand_end(&tasks[0], CEN_OK);
    hand_end(&tasks[1], CEN_OK);
    finish(2, 3);
}

/* guarantees: lanes.estimate */
TEST(the_average_follows_the_steps_and_not_the_tasks)
{
    make_lanes(.high.crew = &one);
    take_in(HIGH, 0);
    for (int step = 0; step < 5; step++) {
        hand_begin(&tasks[0]);
        ceni_world_advance(4 * MS);
        hand_pause(&tasks[0], CEN_NEXT_AGAIN);
    }
    expect_equal(estimate(HIGH), 4 * MS); /* it has another step to do, and not five */
    finish(0, 0);
}

/* guarantees: lanes.estimate, task-bugs.wait-times */
TEST(a_lane_that_stands_still_is_not_estimated_by_what_it_did_before)
{
    make_lanes(.high.crew = &one);
    teach(HIGH, MS);
    take_in(HIGH, 0);
    hand_begin(&tasks[0]);
    ceni_world_advance(500 * MS);
    expect_equal(estimate(HIGH), 500 * MS);
    hand_end(&tasks[0], CEN_OK);
    expect_equal(estimate(HIGH), 0);
    end_lanes();
}

/* guarantees: lanes.estimate */
TEST(the_time_in_which_a_lane_had_nothing_to_do_is_no_standstill)
{
    make_lanes(.high.crew = &one);
    teach(HIGH, MS);
    ceni_world_advance(3600 * 1000 * MS);
    take_in(HIGH, 0);
    expect_equal(estimate(HIGH), MS);
    hand_begin(&tasks[0]);
    hand_pause(&tasks[0], CEN_NEXT_WAIT);
    ceni_world_advance(3600 * 1000 * MS);
    hand_resume(&tasks[0]);
    take_in(HIGH, 1);
    expect(estimate(HIGH) <= 2 * MS);
    expect_equal(submit_by(HIGH, 2, cen_in_ms(5), NULL), CEN_OK);
    hand_begin(&tasks[0]);
    hand_end(&tasks[0], CEN_OK);
    finish(1, 2);
}

/* ---- Refused for a deadline ------------------------------------------------------------------------ */

/* guarantees: lanes.late */
TEST(a_task_that_would_begin_too_late_is_refused_and_told_by_how_much)
{
    cen_error error = {.text = ""};
    make_lanes(.name = "reads", .high.crew = &one);
    teach(HIGH, 10 * MS);
    take_in(HIGH, 0);
    hand_begin(&tasks[0]);
    take_in(HIGH, 1);
    expect_equal(submit_by(HIGH, 2, cen_in_ms(15), &error), CEN_OVERLOAD); /* it would be 20 */
    expect_equal(error.cause, CEN_CAUSE_LATE);
    expect_equal(error.retry_after_ns, 5 * MS);
    expect_equal(error.current, 0);
    expect(strstr(error.text, "high priority would start about 5000 us after its deadline") != NULL);
    expect_equal(tasks[2].deadline.ns_, 0);
    expect_equal(look().lane[HIGH].refused_late, 1);
    expect_equal(look().lane[HIGH].admitted, 2);
    expect_equal(submit_by(HIGH, 2, cen_in_ms(20), &error), CEN_OK);
    expect_equal(tasks[2].deadline.ns_, cen_in_ms(20).ns_);
    expect_equal(submit_by(HIGH, 3, NO_DEADLINE, &error), CEN_OK);
    expect_equal(submit_by(HIGH, 4, CEN_NEVER, &error), CEN_OK);
    hand_end(&tasks[0], CEN_OK);
    finish(1, 4);
}

/* guarantees: lanes.late */
TEST(nobody_is_refused_by_an_old_average_while_a_worker_is_free)
{
    make_lanes(.high.crew = &two);
    teach(HIGH, 3600 * 1000 * MS);
    expect_equal(submit_by(HIGH, 0, cen_in_ms(1), NULL), CEN_OK);
    expect_equal(submit_by(HIGH, 1, cen_in_ms(1), NULL), CEN_OK);
    expect_equal(submit_by(HIGH, 2, cen_in_ms(1), NULL), CEN_OVERLOAD);
    for (int i = 0; i < 2; i++) {
        hand_begin(&tasks[i]);
        hand_end(&tasks[i], CEN_OK);
    }
    expect_equal(submit_by(HIGH, 2, cen_in_ms(1), NULL), CEN_OK);
    finish(2, 2);
}

/* guarantees: lanes.late */
TEST(a_deadline_that_has_passed_is_a_timeout)
{
    cen_error error = {.text = ""};
    make_lanes(.name = NULL);
    expect_equal(submit_by(HIGH, 0, CEN_NOW, &error), CEN_TIMEOUT);
    expect_equal(submit_by(HIGH, 0, cen_at(1), &error), CEN_TIMEOUT);
    expect(error.cause == CEN_CAUSE_EXPIRED && error.retry_after_ns == 0);
    expect_equal(look().lane[HIGH].submitted, 0);
    end_lanes();
}

/* ---- When to try again ------------------------------------------------------------------------------- */

static int64_t retry_after(cen_priority priority, cen_cause cause)
{
    cen_error error = {.text = ""};
    expect_equal(submit_by(priority, TASKS - 1, NO_DEADLINE, &error), CEN_FULL);
    expect_equal(error.cause, cause);
    return error.retry_after_ns;
}

/* guarantees: lanes.refusal, task-bugs.retry-after */
TEST(a_full_lane_says_when_one_of_those_that_run_will_most_likely_end)
{
    make_lanes(.high.crew = &two, .high.max_tasks = 3);
    teach(HIGH, 8 * MS);
    for (int i = 0; i < 3; i++) take_in(HIGH, i);
    hand_begin(&tasks[0]);
    expect_equal(retry_after(HIGH, CEN_CAUSE_LANE_FULL), 8 * MS);
    hand_begin(&tasks[1]);
    expect_equal(retry_after(HIGH, CEN_CAUSE_LANE_FULL), 4 * MS);
    ceni_world_advance(20 * MS);
    expect_equal(retry_after(HIGH, CEN_CAUSE_LANE_FULL), 20 * MS); /* nothing has ended for that long */
    hand_end(&tasks[0], CEN_OK);
    hand_end(&tasks[1], CEN_OK);
    finish(2, 2);
}

/* The bug this looks for: how long nothing has ended, a few microseconds, is taken for an estimate. */
TEST(before_the_first_end_a_full_lane_says_one_millisecond_or_as_long_as_nothing_has_ended)
{
    make_lanes(.high.crew = &two, .high.max_tasks = 3, .low.crew = &one, .max_total = 4);
    for (int i = 0; i < 3; i++) take_in(HIGH, i);
    expect_equal(retry_after(HIGH, CEN_CAUSE_LANE_FULL), MS);
    ceni_world_advance(7000);
    hand_begin(&tasks[0]);
    ceni_world_advance(87000);
    expect_equal(retry_after(HIGH, CEN_CAUSE_LANE_FULL), MS);
    hand_begin(&tasks[1]);
    ceni_world_advance(50000);
    expect_equal(retry_after(HIGH, CEN_CAUSE_LANE_FULL), MS); /* not half of it, either */
    take_in(LOW, 3);
    expect_equal(retry_after(LOW, CEN_CAUSE_ALL_LANES_FULL), MS);
    hand_pause(&tasks[0], CEN_NEXT_WAIT);
    ceni_world_advance(30 * MS);
    expect(retry_after(HIGH, CEN_CAUSE_LANE_FULL) >= 30 * MS);
    hand_end(&tasks[1], CEN_OK);
    hand_drop(&tasks[0], CEN_CLOSED);
    finish(2, 3);
}

TEST(a_lane_full_of_suspended_tasks_none_of_which_has_ended_says_one_millisecond)
{
    make_lanes(.high.max_tasks = 1);
    take_in(HIGH, 0);
    hand_begin(&tasks[0]);
    hand_pause(&tasks[0], CEN_NEXT_WAIT);
    ceni_world_advance(12000);
    expect_equal(retry_after(HIGH, CEN_CAUSE_LANE_FULL), MS);
    finish(0, 0);
}

/* guarantees: lanes.refusal */
TEST(a_lane_full_of_suspended_tasks_says_how_far_apart_they_end)
{
    make_lanes(.high.max_tasks = 4, .max_total = 4);
    for (int i = 0; i < 4; i++) take_in(HIGH, i);
    for (int i = 0; i < 4; i++) {
        hand_begin(&tasks[i]);
        hand_pause(&tasks[i], CEN_NEXT_WAIT);
    }
    for (int i = 0; i < 2; i++) {
        ceni_world_advance(6 * MS);
        hand_resume(&tasks[i]);
        hand_begin(&tasks[i]);
        hand_end(&tasks[i], CEN_OK);
        cen_task_init(&tasks[i], NULL);
        take_in(HIGH, i);
        hand_begin(&tasks[i]);
        hand_pause(&tasks[i], CEN_NEXT_WAIT);
    }
    expect_equal(retry_after(HIGH, CEN_CAUSE_LANE_FULL), 6 * MS);
    expect_equal(retry_after(LOW, CEN_CAUSE_ALL_LANES_FULL), 6 * MS);
    for (int i = 0; i < 4; i++) hand_end(&tasks[i], CEN_OK);
    end_lanes();
}

/* guarantees: lanes.late */
TEST(lanes_without_times_read_no_clock_refuse_nothing_for_a_deadline_and_guess_when_to_try_again)
{
    int64_t ns;
    cen_lane_latency times = CEN_SIZED(cen_lane_latency);
    make_lanes(.high.crew = &one, .high.max_tasks = 2, .without_latency = true);
    take_in(HIGH, 0);
    hand_begin(&tasks[0]);
    ceni_world_advance(500 * MS);
    expect_equal(submit_by(HIGH, 1, cen_in_ms(1), NULL), CEN_OK);
    expect_equal(retry_after(HIGH, CEN_CAUSE_LANE_FULL), MS);
    expect_equal(cen_lanes_estimate(lanes, HIGH, &ns), CEN_EMPTY);
    expect_equal(cen_lanes_latency_get(lanes, HIGH, &times), CEN_EMPTY);
    expect_equal(look().lane[HIGH].estimated_wait_ns, 0);
    hand_end(&tasks[0], CEN_OK);
    finish(1, 1);
}

/* ---- Times ----------------------------------------------------------------------------------------------- */

/* guarantees: lanes.times, task-bugs.wait-times */
TEST(wait_run_and_total_times_of_every_task_are_there_and_those_that_failed_or_never_began_too)
{
    cen_lane_latency times = CEN_SIZED(cen_lane_latency);
    make_lanes(.name = NULL);
    for (int i = 0; i < 4; i++) take_in(HIGH, i);
    ceni_world_advance(10 * MS);
    hand_drop(&tasks[0], CEN_TIMEOUT);
    hand_begin(&tasks[1]);
    ceni_world_advance(5 * MS);
    hand_pause(&tasks[1], CEN_NEXT_WAIT);
    ceni_world_advance(100 * MS);
    hand_resume(&tasks[1]);
    hand_begin(&tasks[1]);
    ceni_world_advance(2 * MS);
    hand_end(&tasks[1], CEN_DRIVER);
    expect_equal(cen_lanes_latency_get(lanes, HIGH, &times), CEN_OK);
    expect_equal(times.wait.count, 2);
    expect_equal(times.wait.sum_ns, 20 * MS);
    expect_equal(times.wait.longest_ns, 10 * MS);
    expect_equal(times.run.count, 1);
    expect_equal(times.run.sum_ns, 7 * MS);
    expect_equal(times.total.count, 2);
    expect_equal(times.total.longest_ns, 117 * MS);
    expect_equal(times.total.shortest_ns, 10 * MS);
    expect(times.total.p50_ns >= 9 * MS && times.total.p50_ns <= 11 * MS);
    expect(times.total.p99_ns > 115 * MS);
    hand_drop(&tasks[2], CEN_INTERRUPTED);
    hand_begin(&tasks[3]);
    expect_equal(cen_lanes_latency_get(lanes, HIGH, &times), CEN_OK);
    expect_equal(times.wait.count, 4);
    hand_end(&tasks[3], CEN_OK);
    expect_equal(cen_lanes_latency_get(lanes, LOW, &times), CEN_OK);
    expect_equal(times.total.count, 0);
    end_lanes();
}
