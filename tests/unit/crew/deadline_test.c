/* SPDX-License-Identifier: MIT */
/* Tasks with a deadline, in virtual time. */
#include "unit/crew/crews.h"

static void note_asked(work *self)
{
    nap(self->ns);
    self->asked = cen_task_check_stop(&self->task);
}

/* guarantees: crew.deadline */
TEST(a_task_that_has_not_begun_by_its_deadline_never_does_and_fails_with_timeout)
{
    work one;
    init_work(&one, 'a', run_once);
    one.task.deadline = cen_in_s(1);
    one.task.name = "late";
    make_crew(.workers = 1, .name = "slow");
    keep_busy(5 * SECOND);
    int64_t now = ceni_clock_now();
    submit(&one);
    expect_end(&one, CEN_TIMEOUT);
    expect_equal(ceni_clock_now(), now + SECOND);
    expect_text(one.error.text, "crew \"slow\": late did not start before its deadline");
    expect_equal(sound_look().finished, 1);
    finish();
    expect_equal(one.steps, 0);
}

/* guarantees: crew.deadline */
TEST(a_task_that_runs_when_its_deadline_passes_is_asked_to_end)
{
    work two[2];
    init_works(two, 2);
    for (int i = 0; i < 2; i++) {
        two[i].task.deadline = cen_in_s(2);
        two[i].inside = note_asked;
        two[i].ns = i ? SECOND : 3 * SECOND;
    }
    make_crew(.workers = 2);
    submit(&two[0]);
    submit(&two[1]);
    expect_end(&two[1], CEN_OK);
    expect_equal(two[1].asked, CEN_OK);
    expect_end(&two[0], CEN_OK);
    expect_equal(two[0].asked, CEN_TIMEOUT);
    finish();
}

static cen_next woken(cen_task *task)
{
    work *self = (work *)task;
    self->asked = cen_task_check_stop(task);
    self->got = cen_future_is_done(&self->timer.future) ? CEN_OK : CEN_TIMEOUT;
    return cen_task_done(task, self);
}

static cen_next wait_an_hour(cen_task *task)
{
    work *self = (work *)task;
    nap(self->ns);
    cen_timer_init(&self->timer);
    expect_equal(cen_timer_start(&self->timer, NULL, cen_in_s(3600), NULL), CEN_OK);
    return cen_task_wait(task, &self->timer.future, woken);
}

/* guarantees: crew.deadline */
TEST(a_task_that_waits_when_its_deadline_passes_goes_on_early)
{
    work one;
    init_work(&one, 'a', wait_an_hour);
    one.task.deadline = cen_in_s(7);
    make_crew(.workers = 1);
    int64_t now = ceni_clock_now();
    submit(&one);
    expect_end(&one, CEN_OK);
    expect_equal(ceni_clock_now(), now + 7 * SECOND);
    expect_equal(one.asked, CEN_TIMEOUT);
    expect_equal(one.got, CEN_TIMEOUT);
    finish();
}

/* guarantees: crew.deadline */
TEST(a_deadline_that_passes_in_the_step_before_a_wait_cuts_the_wait_short)
{
    work one;
    init_work(&one, 'a', wait_an_hour);
    one.task.deadline = cen_in_s(1);
    one.ns = 2 * SECOND;
    make_crew(.workers = 1);
    int64_t now = ceni_clock_now();
    submit(&one);
    expect_end(&one, CEN_OK);
    expect_equal(ceni_clock_now(), now + 2 * SECOND);
    expect_equal(one.asked, CEN_TIMEOUT);
    finish();
}

/* guarantees: crew.deadline */
TEST(a_deadline_of_never_and_one_of_now_are_kept)
{
    work never, now;
    init_work(&never, 'a', run_once);
    init_work(&now, 'b', run_once);
    never.task.deadline = CEN_NEVER;
    now.task.deadline = CEN_NOW;
    make_crew(.workers = 1);
    keep_busy(3600 * SECOND);
    submit(&never);
    submit(&now);
    expect_end(&now, CEN_TIMEOUT);
    expect(!cen_future_is_done(&never.task.future));
    expect_end(&never, CEN_OK);
    finish();
}

/* guarantees: crew.deadline */
TEST(a_task_that_is_over_or_taken_back_before_its_deadline_has_left_no_timer)
{
    work two[2];
    cen_runtime_stats stats = CEN_SIZED(cen_runtime_stats);
    init_works(two, 2);
    two[0].task.deadline = two[1].task.deadline = cen_in_s(3600);
    make_crew(.workers = 1);
    submit(&two[0]);
    expect_end(&two[0], CEN_OK);
    keep_busy(SECOND);
    submit(&two[1]);
    expect(cen_task_cancel(&two[1].task));
    expect_end(&two[1], CEN_INTERRUPTED);
    expect_equal(cen_runtime_stats_get(NULL, &stats), CEN_OK);
    expect_equal(stats.timers, 0);
    cen_task_init(&two[1].task, run_once);
    submit(&two[1]);
    expect_end(&two[1], CEN_OK);
    finish();
}

/* What is refused is the caller's, and its alarm is gone. */
/* guarantees: crew.deadline */
TEST(a_task_with_a_deadline_that_is_refused_can_be_submitted_elsewhere)
{
    work two[2];
    init_works(two, 2);
    two[0].task.deadline = cen_in_s(1);
    make_crew(.workers = 1);
    keep_busy(2 * SECOND);
    cen_task *all[] = {&two[0].task, &two[1].task, &two[1].task};
    expect_equal(cen_crew_submit_all(crew, all, 3, NULL), CEN_MISUSE);
    nap(SECOND + SECOND / 2);
    expect(!cen_future_is_done(&two[0].task.future));
    submit(&two[0]);
    expect_end(&two[0], CEN_OK);
    finish();
}

/* guarantees: crew.deadline */
TEST(many_deadlines_that_pass_at_one_moment_are_all_told)
{
    work twelve[12];
    init_works(twelve, 12);
    make_crew(.workers = 1);
    keep_busy(5 * SECOND);
    for (int i = 0; i < 12; i++) {
        twelve[i].task.deadline = cen_in_s(i % 3 == 0 ? 100 : 1);
        submit(&twelve[i]);
    }
    finish();
    expect_story("adgj");
    for (int i = 0; i < 12; i++) expect_equal(twelve[i].task.future.status, i % 3 == 0 ? CEN_OK : CEN_TIMEOUT);
}

static unsigned over_before; /* tasks, when the timer was told */

static void note_over(cen_future *unused)
{
    (void)unused;
    over_before = (unsigned)look().finished;
}

/* The timer was started last, and is for the same moment. */
/* guarantees: life.L7-load */
TEST(many_deadlines_that_pass_at_one_moment_delay_no_timer)
{
    enum { MANY = 300 };
    static work many[MANY];
    cen_timer timer;
    for (int i = 0; i < MANY; i++) init_work(&many[i], 'a', run_once);
    make_crew(.workers = 1);
    keep_busy(5 * SECOND);
    cen_deadline deadline = cen_at(ceni_clock_now() + SECOND);
    for (int i = 0; i < MANY; i++) {
        many[i].task.deadline = deadline;
        submit(&many[i]);
    }
    cen_timer_init(&timer);
    cen_future_then(&timer.future, note_over, cen_inline());
    expect_equal(cen_timer_start(&timer, NULL, deadline, NULL), CEN_OK);
    finish();
    expect(over_before <= 2);
    for (int i = 0; i < MANY; i++) expect_equal(many[i].task.future.status, CEN_TIMEOUT);
}
