/* SPDX-License-Identifier: MIT */
/* The numbers of a crew, and their equation. */
#include "unit/crew/crews.h"

static cen_next woken(cen_task *task)
{
    return cen_task_done(task, task);
}

static cen_next wait_a_second(cen_task *task)
{
    work *self = (work *)task;
    cen_timer_init(&self->timer);
    expect_equal(cen_timer_start(&self->timer, NULL, cen_in_s(1), NULL), CEN_OK);
    return cen_task_wait(task, &self->timer.future, woken);
}

/* guarantees: crew.numbers */
TEST(a_task_is_counted_where_it_is)
{
    work waiting[3], queued[5], running[2];
    make_crew(.workers = 2);
    for (int i = 0; i < 3; i++) {
        init_work(&waiting[i], 'w', wait_a_second);
        submit(&waiting[i]);
    }
    settle();
    for (int i = 0; i < 2; i++) {
        init_work(&running[i], 'r', run_once);
        running[i].inside = take_long;
        running[i].ns = 10 * SECOND;
        submit(&running[i]);
    }
    settle();
    init_works(queued, 5);
    submit_works(queued, 5);
    cen_crew_stats s = sound_look();
    expect_equal(s.submitted, 10);
    expect_equal(s.finished, 0);
    expect_equal(s.waiting, 3);
    expect_equal(s.running, 2);
    expect_equal(s.queued, 5);
    expect_equal(s.steps, 5);
    expect_equal(s.idle, 0);
    expect(!s.is_stopped);
    nap(5 * SECOND); /* those that waited are queued for their next step */
    s = sound_look();
    expect_equal(s.waiting, 0);
    expect_equal(s.queued, 8);
    expect(cen_task_cancel(&queued[0].task));
    s = sound_look();
    expect_equal(s.finished, 1);
    expect_equal(s.queued, 7);
    finish();
}

static void await_one(work *self)
{
    submit(self->other);
    expect_equal(cen_await(&self->other->task.future, CEN_NEVER), CEN_OK);
}

/* guarantees: crew.numbers */
TEST(one_that_awaits_counts_as_running_below_what_runs_on_top_and_an_await_is_no_step)
{
    work outer, inner;
    init_work(&outer, 'o', run_once);
    outer.inside = await_one;
    outer.other = &inner;
    init_work(&inner, 'i', run_once);
    inner.inside = take_long;
    inner.ns = SECOND;
    make_crew(.workers = 1, .max = 1);
    submit(&outer);
    settle();
    cen_crew_stats s = sound_look();
    expect_equal(s.running, 2);
    expect_end(&outer, CEN_OK);
    s = sound_look();
    expect_equal(s.steps, 2);
    expect_equal(s.finished, 2);
    finish();
}

static void fill_own_queue(work *self)
{
    for (int i = 0; i < 4; i++) submit(&self->other[i]);
    nap(SECOND);
}

/* guarantees: crew.numbers */
TEST(what_is_stolen_is_counted)
{
    work one, four[4];
    init_work(&one, 'o', run_once);
    one.inside = fill_own_queue;
    one.other = four;
    init_works(four, 4);
    make_crew(.workers = 2);
    submit(&one);
    settle();
    for (int i = 0; i < 4; i++) expect_end(&four[i], CEN_OK);
    expect_equal(sound_look().stolen, 4);
    finish();
}

/* guarantees: crew.numbers */
TEST(there_is_nothing_to_look_at_in_nothing)
{
    cen_crew_stats s = CEN_SIZED(cen_crew_stats);
    expect_equal(cen_crew_stats_get(NULL, &s), CEN_INVALID);
    make_crew(.workers = 1);
    expect_equal(cen_crew_stats_get(crew, NULL), CEN_INVALID);
    finish();
}
