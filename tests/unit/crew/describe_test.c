/* SPDX-License-Identifier: MIT */
/* What whoever watches is told of a crew: its workers one by one, and that it can be resized. */
#include "support/description.h"
#include "unit/crew/crews.h"

static void block_long(work *self)
{
    cen_blocking_begin();
    nap(self->ns);
    cen_blocking_end();
}

TEST(each_worker_says_what_it_does_and_for_how_long_at_least)
{
    work two[2];
    description s;
    make_crew(.workers = 3, .min = 3, .name = "galley", .slow_ns = 100 * SECOND);
    init_work(&two[0], 'r', run_once);
    two[0].task.name = "knead";
    two[0].inside = take_long;
    two[0].ns = 20 * SECOND;
    init_work(&two[1], 'b', run_once);
    two[1].inside = block_long;
    two[1].ns = 20 * SECOND;
    submit_works(two, 2);
    settle();
    description_take(&s, "crew", "galley", 100);
    description_drop(&s); /* the first look only notes what is going on */
    nap(5 * SECOND);
    description_take(&s, "crew", "galley", 100);
    expect_equal(description_count(&s, "workers"), look().threads);
    unsigned running = 0, blocked = 0, idle = 0;
    for (unsigned i = 0; i < description_count(&s, "workers"); i++) {
        char path[64];
        snprintf(path, sizeof path, "workers[%u].state", i);
        const char *state = description_words(&s, path);
        running += strcmp(state, "running") == 0;
        blocked += strcmp(state, "blocked") == 0;
        idle += strcmp(state, "idle") == 0;
        snprintf(path, sizeof path, "workers[%u].task", i);
        bool has_task = description_has(&s, path);
        expect(has_task == (strcmp(state, "idle") != 0));
        if (strcmp(state, "running") != 0) continue;
        expect_text(description_words(&s, path), "knead");
        snprintf(path, sizeof path, "workers[%u].step_ns", i);
        expect_equal(description_number(&s, path), 5 * SECOND);
    }
    expect_equal(running, 1);
    expect_equal(blocked, 1);
    expect_equal(idle, look().idle);
    expect_equal(description_number(&s, "slow_ns"), 100 * SECOND);
    expect(!description_truth(&s, "stopped"));
    description_drop(&s);
    finish();
}

TEST(the_age_of_a_step_begins_anew_with_each)
{
    work two[2];
    description s;
    make_crew(.workers = 1, .max = 1, .name = "solo");
    for (int i = 0; i < 2; i++) {
        init_work(&two[i], 'r', run_once);
        two[i].inside = take_long;
        two[i].ns = 10 * SECOND;
    }
    submit_works(two, 2);
    settle();
    for (int i = 0; i < 4; i++) {
        static const int64_t ages[] = {0, 4 * SECOND, 0, 4 * SECOND};
        description_take(&s, "crew", "solo", 10);
        expect_equal(description_number(&s, "workers[0].step_ns"), ages[i]);
        description_drop(&s);
        nap(i == 1 ? 7 * SECOND : 4 * SECOND);
    }
    finish();
}

static void leave_four(work *self)
{
    for (int i = 0; i < 4; i++) submit(&self->other[i]);
    nap(SECOND);
}

TEST(a_workers_own_queue_is_counted)
{
    work one, four[4];
    description s;
    init_work(&one, 'o', run_once);
    one.inside = leave_four;
    one.other = four;
    init_works(four, 4);
    make_crew(.workers = 1, .max = 1, .name = "solo");
    submit(&one);
    settle();
    description_take(&s, "crew", "solo", 10);
    expect_equal(description_count(&s, "workers"), 1);
    expect_equal(description_number(&s, "workers[0].queued"), 4);
    expect_text(description_words(&s, "workers[0].thread"), "solo:0");
    description_drop(&s);
    finish();
}

static void await_one(work *self)
{
    submit(self->other);
    expect_equal(cen_await(&self->other->task.future, CEN_NEVER), CEN_OK);
}

TEST(one_that_runs_another_task_on_top_of_the_one_that_awaits_is_helping)
{
    work outer, inner;
    description s;
    init_work(&outer, 'o', run_once);
    outer.inside = await_one;
    outer.other = &inner;
    init_work(&inner, 'i', run_once);
    inner.task.name = "inner";
    inner.inside = take_long;
    inner.ns = SECOND;
    make_crew(.workers = 1, .max = 1, .name = "solo");
    submit(&outer);
    settle();
    description_take(&s, "crew", "solo", 10);
    expect_text(description_words(&s, "workers[0].state"), "helping");
    expect_text(description_words(&s, "workers[0].task"), "inner");
    description_drop(&s);
    expect_end(&outer, CEN_OK);
    finish();
}

TEST(a_list_of_workers_that_was_cut_says_how_many_are_beyond)
{
    description s;
    make_crew(.workers = 4, .name = "four");
    settle();
    description_take(&s, "crew", "four", 3);
    expect_equal(description_count(&s, "workers"), 3);
    expect_equal(description_number(&s, "workers_more"), 1);
    description_drop(&s);
    description_take(&s, "crew", "four", 4);
    expect(!description_has(&s, "workers_more"));
    description_drop(&s);
    finish();
}

TEST(it_can_be_told_to_resize_and_says_what_it_cannot_be)
{
    cen_error error;
    make_crew(.workers = 2, .max = 8, .name = "band");
    expect_equal(component_tell("crew", "band", "resize", 5, &error), CEN_OK);
    expect_equal(look().workers, 5);
    expect_equal(metric_of("crew", "band", "workers"), 5);
    expect_equal(component_tell("crew", "band", "resize", 9, &error), CEN_INVALID);
    expect_text(error.text, "crew \"band\": workers must be 1 to 8 (got 9)");
    expect_equal(component_tell("crew", "band", "resize", -3, &error), CEN_INVALID);
    expect_equal(component_tell("crew", "band", "resize", (INT64_C(1) << 32) + 1, &error), CEN_INVALID);
    expect_equal(component_tell("crew", "band", "pause", 0, &error), CEN_ABSENT);
    expect_equal(look().workers, 5);
    expect_equal(cen_crew_stop(crew, CEN_STOP_DRAIN, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(component_tell("crew", "band", "resize", 3, &error), CEN_CLOSED);
    expect_equal(cen_crew_free(crew), CEN_OK);
}

TEST(one_without_actions_obeys_nobody)
{
    make_crew(.workers = 2, .name = "deaf", .without_actions = true);
    expect_equal(component_tell("crew", "deaf", "resize", 1, NULL), CEN_ABSENT);
    expect_equal(look().workers, 2);
    finish();
}

TEST(what_only_rises_is_a_counter)
{
    make_crew(.workers = 1, .name = "solo");
    static const char *const rise[] = {"submitted", "finished", "steps", "stolen", "slow", "lost"};
    static const char *const vary[] = {"queued", "running", "waiting", "workers", "threads", "idle", "blocked"};
    for (size_t i = 0; i < sizeof rise / sizeof *rise; i++)
        expect_equal(metric_and_kind_of("crew", "solo", rise[i]).kind, CEN_COUNTER);
    for (size_t i = 0; i < sizeof vary / sizeof *vary; i++)
        expect_equal(metric_and_kind_of("crew", "solo", vary[i]).kind, CEN_GAUGE);
    finish();
}

TEST(slow_steps_resizes_and_the_stop_are_in_the_events)
{
    work one;
    events_begin();
    init_work(&one, 'r', run_once);
    one.task.name = "knead";
    one.inside = take_long;
    one.ns = 5 * SECOND;
    make_crew(.workers = 1, .name = "galley", .slow_ns = SECOND);
    submit(&one);
    expect_end(&one, CEN_OK);
    expect_event("crew", "step_slow", CEN_LEVEL_WARNING,
                 "crew \"galley\": a step of knead has been running on thread \"galley:0\"");
    expect_equal(cen_crew_resize(crew, 3, NULL), CEN_OK);
    expect_event("crew", "resized", CEN_LEVEL_NOTICE, "crew \"galley\": resized to 3 workers (was 1)");
    finish();
    expect_event("crew", "stopped", CEN_LEVEL_NOTICE, "crew \"galley\": stopping; submitted tasks run to their end");
}
