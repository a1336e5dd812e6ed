/* SPDX-License-Identifier: MIT */
/* Who is admitted and who is refused, counts and ends, one thread at a time. */
#include "unit/lanes/hand_lanes.h"

/* ---- Making them ---------------------------------------------------------------------------- */

static void expect_refused(cen_lanes_options options, const char *word)
{
    cen_lanes *made = NULL;
    cen_error error = {.text = ""};
    expect_equal(cen_lanes_new(&options, &made, &error), CEN_INVALID);
    expect(made == NULL);
    if (!strstr(error.text, word)) test_fail(__FILE__, __LINE__, "\"%s\" does not name %s", error.text, word);
}

/* guarantees: lanes.options */
TEST(options_that_make_no_sense_are_refused_by_name)
{
    cen_allocator half = {NULL, NULL, NULL};
    cen_crew_options sizeless = {.size = 1}, with_allocator = CEN_CREW_OPTIONS(.allocator = &half);
    cen_crew_options with_runtime = CEN_CREW_OPTIONS(.runtime = (cen_runtime *)&half);
    cen_crew_options with_fork = CEN_CREW_OPTIONS(.on_fork = CEN_FORK_RENEW);
#define REFUSED(word, ...) expect_refused(CEN_LANES_OPTIONS(__VA_ARGS__), word)
    REFUSED("options.high.max_tasks", .high.max_tasks = -2);
    REFUSED("options.low.max_tasks", .low.max_tasks = CEN_LANE_TASKS_MAX + 1);
    REFUSED("options.max_total", .max_total = -2);
    REFUSED("options.max_total", .max_total = 3 * (int64_t)CEN_LANE_TASKS_MAX + 1);
    REFUSED("options.on_fork", .on_fork = (cen_fork_policy)7);
    REFUSED("options.allocator", .allocator = &half);
    REFUSED("all three lanes are absent", .high.is_absent = true, .normal.is_absent = true, .low.is_absent = true);
    REFUSED("options.normal.crew.size", .normal.crew = &sizeless);
    REFUSED("options.normal.crew->allocator", .normal.crew = &with_allocator);
    REFUSED("options.low.crew->runtime", .low.crew = &with_runtime);
    REFUSED("options.high.crew->on_fork", .high.crew = &with_fork);
    expect_refused((cen_lanes_options){.size = 1}, "options.size");
    expect_equal(cen_lanes_new(NULL, &lanes, NULL), CEN_INVALID);
    expect_equal(cen_lanes_new(&CEN_LANES_OPTIONS(.name = NULL), NULL, NULL), CEN_INVALID);
    expect_equal(cen_lanes_free(NULL), CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
}

/* guarantees: lanes.options */
TEST(calls_without_lanes_or_with_a_priority_that_is_none_are_invalid)
{
    int64_t ns;
    cen_lanes_stats stats = CEN_SIZED(cen_lanes_stats);
    cen_lane_latency times = CEN_SIZED(cen_lane_latency);
    make_lanes(.low.is_absent = true);
    for (int bad = LOW; bad <= 3; bad++) {
        cen_error error = {.text = ""};
        expect_equal(cen_lanes_submit(lanes, (cen_priority)bad, &tasks[0], NO_DEADLINE, &error), CEN_INVALID);
        expect(strstr(error.text, "no lane") != NULL);
        expect_equal(cen_lanes_estimate(lanes, (cen_priority)bad, &ns), CEN_INVALID);
        expect_equal(cen_lanes_max_tasks_set(lanes, (cen_priority)bad, 1, NULL), CEN_INVALID);
        expect_equal(cen_lanes_resize(lanes, (cen_priority)bad, 1, NULL), CEN_INVALID);
        expect_equal(cen_lanes_latency_get(lanes, (cen_priority)bad, &times), CEN_INVALID);
        expect(cen_lanes_crew(lanes, (cen_priority)bad) == NULL);
    }
    expect(look().lane[LOW].is_absent && !look().lane[HIGH].is_absent);
    expect_equal(cen_lanes_submit(NULL, NORMAL, &tasks[0], NO_DEADLINE, NULL), CEN_INVALID);
    expect_equal(cen_lanes_submit(lanes, NORMAL, NULL, NO_DEADLINE, NULL), CEN_INVALID);
    expect_equal(cen_lanes_stats_get(NULL, &stats), CEN_INVALID);
    expect_equal(cen_lanes_stats_get(lanes, NULL), CEN_INVALID);
    expect_equal(cen_lanes_max_tasks_set(lanes, HIGH, -2, NULL), CEN_INVALID);
    expect_equal(cen_lanes_max_tasks_set(lanes, HIGH, CEN_LANE_TASKS_MAX + 1, NULL), CEN_INVALID);
    expect_equal(cen_lanes_max_total_set(lanes, -2, NULL), CEN_INVALID);
    expect_equal(cen_lanes_max_total_set(NULL, 1, NULL), CEN_INVALID);
    expect_equal(cen_lanes_stop(lanes, (cen_stop)0, CEN_NOW, NULL, NULL), CEN_INVALID);
    expect(cen_lanes_crew(NULL, HIGH) == NULL);
    end_lanes();
}

/* guarantees: lanes.isolation */
TEST(each_lane_has_a_crew_with_a_name_of_its_own_and_the_low_one_half_the_processors)
{
    ceni_world_set_cpus(8);
    cen_crew_options own = CEN_CREW_OPTIONS(.name = "mine", .workers = 5, .slow_ns = CEN_MS(7));
    make_lanes(.name = "reads", .high.crew = &own, .on_fork = CEN_FORK_RENEW);
    expect_text(hand_options(cen_lanes_crew(lanes, HIGH))->name, "mine");
    expect_equal(hand_options(cen_lanes_crew(lanes, HIGH))->slow_ns, CEN_MS(7));
    expect_equal(hand_options(cen_lanes_crew(lanes, HIGH))->on_fork, CEN_FORK_RENEW);
    expect_equal(hand_options(cen_lanes_crew(lanes, NORMAL))->workers, 0);
    expect_equal(hand_options(cen_lanes_crew(lanes, LOW))->workers, 4);
    expect_equal(look().lane[HIGH].max, 5 * 2000);
    expect_equal(look().lane[LOW].max, 4 * 2000);
    expect_equal(look().max, 3 * CEN_LANE_TASKS_MAX);
    end_lanes();
}

/* ---- Limits ------------------------------------------------------------------------------------ */

/* guarantees: lanes.limits */
TEST(a_lane_takes_exactly_its_limit_and_the_refusal_says_how_many_there_are_and_may_be)
{
    cen_error error = {.text = ""};
    make_lanes(.name = "reads", .high.max_tasks = 2);
    take_in(HIGH, 0);
    take_in(HIGH, 1);
    expect_equal(cen_lanes_submit(lanes, HIGH, &tasks[2], NO_DEADLINE, &error), CEN_FULL);
    expect_equal(error.status, CEN_FULL);
    expect_equal(error.cause, CEN_CAUSE_LANE_FULL);
    expect_equal(error.current, 2);
    expect_equal(error.max, 2);
    expect(error.retry_after_ns > 0);
    expect(strstr(error.text, "2 tasks of high priority admitted, limit 2 (max_tasks)") != NULL);
    take_in(NORMAL, 3); /* another lane has its own */
    hand_drop(&tasks[1], CEN_INTERRUPTED);
    take_in(HIGH, 2);
    expect_equal(submit(HIGH, 4), CEN_FULL);
    expect_equal(look().lane[HIGH].refused_full, 2);
    for (int i = 0; i < 4; i++)
        if (i != 1) hand_drop(&tasks[i], CEN_CLOSED);
    end_lanes();
}

/* guarantees: lanes.limits */
TEST(all_lanes_together_take_exactly_the_limit_of_all)
{
    cen_error error = {.text = ""};
    make_lanes(.max_total = 3);
    take_in(HIGH, 0);
    take_in(NORMAL, 1);
    take_in(LOW, 2);
    expect_equal(cen_lanes_submit(lanes, LOW, &tasks[3], NO_DEADLINE, &error), CEN_FULL);
    expect_equal(error.cause, CEN_CAUSE_ALL_LANES_FULL);
    expect_equal(error.current, 3);
    expect_equal(error.max, 3);
    expect(strstr(error.text, "3 tasks in all admitted, limit 3 (max_total)") != NULL);
    expect_equal(look().lane[LOW].refused_total, 1);
    expect_equal(look().admitted, 3);
    hand_begin(&tasks[0]);
    hand_end(&tasks[0], CEN_OK);
    take_in(LOW, 3);
    for (int i = 1; i < 4; i++) hand_drop(&tasks[i], CEN_CLOSED);
    end_lanes();
}

/* guarantees: lanes.L16 */
TEST(L16_limits_change_at_run_time_and_what_is_beyond_a_lower_one_stays_until_it_is_over)
{
    make_lanes(.normal.max_tasks = 3);
    for (int i = 0; i < 3; i++) take_in(NORMAL, i);
    expect_equal(cen_lanes_max_tasks_set(lanes, NORMAL, 1, NULL), CEN_OK);
    expect_equal(look().lane[NORMAL].max, 1);
    hand_drop(&tasks[0], CEN_INTERRUPTED);
    expect_equal(submit(NORMAL, 3), CEN_FULL); /* two are there */
    hand_drop(&tasks[1], CEN_INTERRUPTED);
    expect_equal(submit(NORMAL, 3), CEN_FULL); /* and one */
    hand_drop(&tasks[2], CEN_INTERRUPTED);
    take_in(NORMAL, 3);
    expect_equal(cen_lanes_max_total_set(lanes, 1, NULL), CEN_OK);
    expect_equal(submit(HIGH, 4), CEN_FULL);
    expect_equal(cen_lanes_max_total_set(lanes, CEN_OFF, NULL), CEN_OK);
    take_in(HIGH, 4);
    expect_equal(cen_lanes_max_tasks_set(lanes, NORMAL, CEN_OFF, NULL), CEN_OK);
    expect_equal(look().lane[NORMAL].max, CEN_LANE_TASKS_MAX);
    /* all pages, more than twice */
    for (int i = 0; i < 40; i++) expect_equal(cen_lanes_max_tasks_set(lanes, LOW, i + 1, NULL), CEN_OK);
    expect_equal(look().lane[LOW].max, 40);
    expect_equal(look().admitted, 2);
    hand_drop(&tasks[3], CEN_CLOSED);
    hand_drop(&tasks[4], CEN_CLOSED);
    end_lanes();
}

/* guarantees: lanes.L16 */
TEST(a_default_limit_goes_with_the_workers_and_one_that_was_set_does_not)
{
    cen_crew_options two = CEN_CREW_OPTIONS(.workers = 2);
    make_lanes(.high.crew = &two, .normal.crew = &two, .normal.max_tasks = 10);
    expect_equal(cen_lanes_resize(lanes, HIGH, 3, NULL), CEN_OK);
    expect_equal(cen_lanes_resize(lanes, NORMAL, 3, NULL), CEN_OK);
    expect_equal(look().lane[HIGH].max, 6000);
    expect_equal(look().lane[NORMAL].max, 10);
    expect_equal(cen_lanes_max_tasks_set(lanes, HIGH, 5, NULL), CEN_OK);
    expect_equal(cen_lanes_max_tasks_set(lanes, NORMAL, 0, NULL), CEN_OK); /* the default again */
    expect_equal(cen_lanes_resize(lanes, HIGH, 1, NULL), CEN_OK);
    expect_equal(cen_lanes_resize(lanes, NORMAL, 1, NULL), CEN_OK);
    expect_equal(look().lane[HIGH].max, 5);
    expect_equal(look().lane[NORMAL].max, 2000);
    expect_equal(cen_lanes_resize(lanes, HIGH, 0, NULL), CEN_INVALID);
    end_lanes();
}

/* ---- What tasks do --------------------------------------------------------------------------------- */

static void expect_states(int lane, unsigned queued, unsigned running, unsigned suspended)
{
    cen_lane_stats stats = look().lane[lane];
    expect_equal(stats.queued, queued);
    expect_equal(stats.running, running);
    expect_equal(stats.suspended, suspended);
    expect_equal(stats.admitted, queued + running + suspended);
}

/* guarantees: lanes.counts, task-bugs.suspended */
TEST(queued_running_and_suspended_follow_a_task_through_its_steps)
{
    make_lanes(.name = NULL);
    take_in(HIGH, 0);
    take_in(HIGH, 1);
    expect_states(HIGH, 2, 0, 0);
    hand_begin(&tasks[0]);
    expect_states(HIGH, 1, 1, 0);
    hand_pause(&tasks[0], CEN_NEXT_WAIT);
    expect_states(HIGH, 1, 0, 1);
    hand_resume(&tasks[0]);
    expect_states(HIGH, 2, 0, 0);
    hand_begin(&tasks[0]);
    hand_pause(&tasks[0], CEN_NEXT_AGAIN);
    expect_states(HIGH, 2, 0, 0);
    hand_begin(&tasks[1]);
    hand_begin(&tasks[0]);
    expect_states(HIGH, 0, 2, 0);
    hand_pause(&tasks[1], CEN_NEXT_WAIT);
    hand_begin(&tasks[1]); /* a crew that goes on at once need not say that it resumed */
    expect_states(HIGH, 0, 2, 0);
    hand_end(&tasks[0], CEN_OK);
    hand_end(&tasks[1], CEN_DRIVER);
    expect_states(HIGH, 0, 0, 0);
    expect_equal(look().lane[HIGH].done, 1);
    expect_equal(look().lane[HIGH].failed, 1);
    end_lanes();
}

/* guarantees: lanes.places, task-bugs.count */
TEST(every_way_to_end_gives_the_place_back_and_is_counted_once)
{
    make_lanes(.low.max_tasks = 5);
    for (int i = 0; i < 5; i++) take_in(LOW, i);
    hand_drop(&tasks[0], CEN_INTERRUPTED);
    hand_drop(&tasks[1], CEN_TIMEOUT);
    hand_drop(&tasks[2], CEN_CLOSED);
    hand_begin(&tasks[3]);
    hand_end(&tasks[3], CEN_MISUSE); /* it has ended its thread */
    hand_begin(&tasks[4]);
    hand_pause(&tasks[4], CEN_NEXT_WAIT);
    hand_end(&tasks[4], CEN_MISUSE); /* nobody had promised what it would have waited for */
    cen_lane_stats stats = look().lane[LOW];
    expect_equal(stats.cancelled, 1);
    expect_equal(stats.late, 1);
    expect_equal(stats.dropped, 1);
    expect_equal(stats.failed, 2);
    expect_equal(stats.submitted, 5);
    expect_states(LOW, 0, 0, 0);
    end_lanes();
}

/* guarantees: lanes.places */
TEST(a_task_that_the_crew_refuses_has_no_place_and_is_as_it_was)
{
    cen_error error = {.text = ""};
    make_lanes(.high.max_tasks = 1);
    tasks[0].deadline = cen_in_s(9);
    hand_answer(CEN_CLOSED);
    for (int i = 0; i < 3; i++) expect_equal(cen_lanes_submit(lanes, HIGH, &tasks[0], cen_in_s(1), &error), CEN_CLOSED);
    expect(strstr(error.text, "refused a task") != NULL);
    expect(error.cause == CEN_CAUSE_CLOSED && error.retry_after_ns == 0);
    expect_equal(tasks[0].deadline.ns_, cen_in_s(9).ns_);
    expect_states(HIGH, 0, 0, 0);
    expect_equal(look().lane[HIGH].submitted, 0);
    hand_answer(CEN_OK);
    take_in(HIGH, 0);
    hand_drop(&tasks[0], CEN_CLOSED);
    end_lanes();
}

/* guarantees: lanes.places */
TEST(a_task_that_is_in_a_lane_cannot_be_submitted_again)
{
    make_lanes(.name = NULL);
    take_in(HIGH, 0);
    expect_equal(submit(HIGH, 0), CEN_MISUSE);
    expect_equal(submit(LOW, 0), CEN_MISUSE);
    expect_states(HIGH, 1, 0, 0);
    expect_states(LOW, 0, 0, 0);
    hand_drop(&tasks[0], CEN_INTERRUPTED);
    end_lanes();
}

/* guarantees: lanes.places */
TEST(what_is_given_to_a_crew_directly_counts_for_nothing)
{
    make_lanes(.high.max_tasks = 1);
    expect_equal(cen_crew_submit(cen_lanes_crew(lanes, HIGH), &tasks[0], NULL), CEN_OK);
    hand_begin(&tasks[0]);
    hand_pause(&tasks[0], CEN_NEXT_WAIT);
    hand_resume(&tasks[0]);
    hand_begin(&tasks[0]);
    expect_states(HIGH, 0, 0, 0);
    take_in(HIGH, 1);
    hand_end(&tasks[0], CEN_OK);
    expect_equal(submit(HIGH, 2), CEN_FULL);
    hand_drop(&tasks[1], CEN_CLOSED);
    end_lanes();
}

static char told[16];

static void note(const char *what)
{
    strcat(told, what);
}

static void tell_began(void *argument, cen_task *task)
{
    (void)task;
    expect(argument == told);
    note("b");
}

static void tell_paused(void *argument, cen_task *task, cen_next next)
{
    (void)argument, (void)task;
    note(next == CEN_NEXT_WAIT ? "w" : "a");
}

static void tell_resumed(void *argument, cen_task *task)
{
    (void)argument, (void)task;
    note("r");
}

static void tell_over(void *argument, cen_task *task, cen_status status, bool begun)
{
    (void)argument, (void)task, (void)status;
    note(begun ? "o" : "x");
}

/* guarantees: lanes.options */
TEST(the_programs_own_observer_is_told_too)
{
    cen_crew_options watched = CEN_CREW_OPTIONS(.observer = {tell_began, tell_paused, tell_resumed, tell_over, told});
    make_lanes(.high.crew = &watched);
    take_in(HIGH, 0);
    take_in(HIGH, 1);
    hand_begin(&tasks[0]);
    hand_pause(&tasks[0], CEN_NEXT_WAIT);
    hand_resume(&tasks[0]);
    hand_begin(&tasks[0]);
    hand_end(&tasks[0], CEN_OK);
    hand_drop(&tasks[1], CEN_INTERRUPTED);
    expect_text(told, "bwrbox");
    end_lanes();
}

/* ---- The end ---------------------------------------------------------------------------------------- */

/* guarantees: lanes.stop */
TEST(a_stop_reaches_every_crew_and_the_report_has_the_sum)
{
    cen_lanes_report report = CEN_SIZED(cen_lanes_report);
    make_lanes(.low.is_absent = true);
    cen_crew *high = cen_lanes_crew(lanes, HIGH), *normal = cen_lanes_crew(lanes, NORMAL);
    expect_equal(cen_lanes_free(lanes), CEN_BUSY);
    hand_stop_answer(high, CEN_TIMEOUT);
    expect_equal(cen_lanes_stop(lanes, CEN_STOP_DRAIN, cen_in_s(1), &report, NULL), CEN_TIMEOUT);
    expect_equal(hand_stops(high), 1);
    expect_equal(hand_stops(normal), 1);
    expect_equal(report.total.queued, 10);
    expect_equal(report.total.finished, 2);
    expect_equal(report.lane[LOW].queued, 0);
    expect_equal(submit(NORMAL, 0), CEN_CLOSED);
    expect(look().is_stopped);
    expect_equal(cen_lanes_free(lanes), CEN_BUSY);
    hand_stop_answer(high, CEN_OK);
    expect_equal(cen_lanes_stop(lanes, CEN_STOP_DROP, cen_in_s(1), NULL, NULL), CEN_OK);
    expect_equal(hand_stops(normal), 3); /* told to drop before any is waited for */
    expect_equal(cen_lanes_free(lanes), CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
}

/* guarantees: lanes.stop */
TEST(lanes_that_are_full_and_stopped_say_that_they_are_stopped)
{
    make_lanes(.high.max_tasks = 1);
    take_in(HIGH, 0);
    expect_equal(submit(HIGH, 1), CEN_FULL);
    expect_equal(cen_lanes_stop(lanes, CEN_STOP_DRAIN, CEN_NOW, NULL, NULL), CEN_OK);
    expect_equal(submit(HIGH, 1), CEN_CLOSED);
    hand_drop(&tasks[0], CEN_CLOSED);
    end_lanes();
}

/* ---- Fork ---------------------------------------------------------------------------------------------- */

/* guarantees: lanes.L14 */
TEST(in_a_child_lanes_that_refuse_answer_forked_and_touch_nothing)
{
    cen_lanes_stats stats = CEN_SIZED(cen_lanes_stats);
    cen_error error = {.text = ""};
    make_lanes(.name = NULL);
    take_in(HIGH, 0);
    ceni_world_fork();
    expect_equal(cen_lanes_submit(lanes, HIGH, &tasks[1], NO_DEADLINE, &error), CEN_FORKED);
    expect_equal(cen_lanes_stats_get(lanes, &stats), CEN_FORKED);
    expect_equal(cen_lanes_max_tasks_set(lanes, HIGH, 1, NULL), CEN_FORKED);
    expect_equal(cen_lanes_stop(lanes, CEN_STOP_DROP, CEN_NOW, NULL, NULL), CEN_FORKED);
    expect_equal(cen_lanes_free(lanes), CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
}

/* guarantees: lanes.L14 */
TEST(L14_in_a_child_lanes_that_renew_have_no_task_and_the_limits_as_set_last)
{
    make_lanes(.high.max_tasks = 2, .on_fork = CEN_FORK_RENEW);
    take_in(HIGH, 0);
    hand_begin(&tasks[0]);
    take_in(HIGH, 1);
    expect_equal(submit(HIGH, 2), CEN_FULL);
    expect_equal(cen_lanes_max_tasks_set(lanes, HIGH, 1, NULL), CEN_OK);
    ceni_world_fork();
    take_in(HIGH, 2); /* what the parent had admitted is the parent's */
    expect_equal(submit(HIGH, 3), CEN_FULL);
    expect_states(HIGH, 1, 0, 0);
    expect_equal(look().lane[HIGH].submitted, 1);
    hand_drop(&tasks[2], CEN_CLOSED);
    end_lanes();
}
