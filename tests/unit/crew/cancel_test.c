/* SPDX-License-Identifier: MIT */
/* Taking tasks back, and asking those that have begun to end. */
#include "unit/crew/crews.h"

/* guarantees: crew.cancel */
TEST(a_queued_task_is_taken_back_and_is_never_run)
{
    work one;
    init_work(&one, 'a', run_once);
    one.task.name = "errand";
    make_crew(.workers = 1, .name = "busy");
    keep_busy(SECOND);
    submit(&one);
    expect(cen_task_cancel(&one.task));
    expect_end(&one, CEN_INTERRUPTED);
    expect_text(one.error.text, "crew \"busy\": errand was cancelled before it started");
    expect(!cen_task_cancel(&one.task));
    finish();
    expect_equal(one.steps, 0);
}

static void look_asked(work *self)
{
    nap(self->ns);
    self->asked = cen_task_check_stop(&self->task);
}

/* guarantees: crew.cancel-running */
TEST(a_task_that_has_begun_is_asked_to_end)
{
    work one;
    init_work(&one, 'a', run_once);
    one.inside = look_asked;
    one.ns = SECOND;
    make_crew(.workers = 1);
    submit(&one);
    settle();
    expect(!cen_task_cancel(&one.task));
    expect(!cen_task_cancel(&one.task));
    expect_end(&one, CEN_OK);
    expect_equal(one.asked, CEN_INTERRUPTED);
    finish();
}

/* guarantees: crew.cancel */
TEST(a_task_that_is_over_or_was_never_submitted_is_not_taken_back)
{
    work one;
    init_work(&one, 'a', run_once);
    expect(!cen_task_cancel(NULL));
    expect(!cen_task_cancel(&one.task));
    make_crew(.workers = 1);
    submit(&one);
    expect_end(&one, CEN_OK);
    expect(!cen_task_cancel(&one.task));
    expect_equal(one.task.future.status, CEN_OK);
    finish();
}

static void never_called(cen_future *future)
{
    (void)future;
    mark('!');
}

/* guarantees: crew.cancel */
TEST(a_cancel_of_its_future_takes_a_queued_task_back_and_the_future_is_never_done)
{
    work one;
    init_work(&one, 'a', run_once);
    make_crew(.workers = 1);
    keep_busy(SECOND);
    expect_equal(cen_future_then(&one.task.future, never_called, cen_inline()), CEN_OK);
    submit(&one);
    expect(cen_future_cancel(&one.task.future));
    expect(!cen_future_is_done(&one.task.future));
    finish();
    expect_equal(one.steps, 0);
    expect_story("");
}

/* guarantees: crew.cancel-running */
TEST(a_cancel_of_the_future_of_one_that_has_begun_says_false_and_it_is_done_at_its_end)
{
    work one;
    init_work(&one, 'a', run_once);
    one.inside = look_asked;
    one.ns = SECOND;
    make_crew(.workers = 1);
    submit(&one);
    settle();
    expect(!cen_future_cancel(&one.task.future));
    expect_end(&one, CEN_OK);
    expect_equal(one.asked, CEN_INTERRUPTED);
    finish();
}

/* The ring of a watched build has two cells, so most of these are chained. */
/* guarantees: crew.cancel */
TEST(of_many_that_are_queued_any_can_be_taken_back_and_the_others_are_run_in_order)
{
    work twelve[12];
    init_works(twelve, 12);
    make_crew(.workers = 1);
    keep_busy(SECOND);
    for (int i = 0; i < 12; i++) submit(&twelve[i]);
    const int back[] = {11, 0, 5, 4, 1, 10};
    for (int i = 0; i < 6; i++) expect(cen_task_cancel(&twelve[back[i]].task));
    expect_equal(sound_look().queued, 6);
    finish();
    expect_story("cdghij");
    for (int i = 0; i < 12; i++) expect_equal(twelve[i].task.future.status, twelve[i].steps ? CEN_OK : CEN_INTERRUPTED);
}

/* guarantees: crew.cancel */
TEST(all_that_are_queued_can_be_taken_back)
{
    work twelve[12];
    init_works(twelve, 12);
    make_crew(.workers = 1);
    for (int round = 0; round < 3; round++) {
        keep_busy(SECOND);
        submit_works(twelve, 12);
        for (int i = 0; i < 12; i++) expect(cen_task_cancel(&twelve[(i * 5 + round) % 12].task));
        expect_equal(sound_look().queued, 0);
        expect_end(&blocker, CEN_OK);
        init_works(twelve, 12);
    }
    expect_equal(look().finished, 39);
    finish();
    expect_story("");
}

static work own[7];

static void submit_own_and_cancel(work *self)
{
    init_works(own, 7);
    for (int i = 0; i < 7; i++) expect_equal(cen_crew_submit(crew, &own[i].task, NULL), CEN_OK);
    for (int i = 0; i < 7; i += 2) expect(cen_task_cancel(&own[i].task));
    self->steps++;
}

/* guarantees: crew.cancel */
TEST(a_task_takes_back_what_it_submitted_itself)
{
    work one;
    init_work(&one, 0, run_once);
    one.inside = submit_own_and_cancel;
    make_crew(.workers = 1);
    submit(&one);
    finish();
    for (int i = 0; i < 7; i++) expect_equal(own[i].steps, i % 2);
}

/* They lie in the queue of a worker that does not come to them. */
static void submit_own_and_sleep(work *self)
{
    init_works(own, 4);
    for (int i = 0; i < 4; i++) expect_equal(cen_crew_submit(crew, &own[i].task, NULL), CEN_OK);
    nap(self->ns);
}

/* guarantees: crew.cancel */
TEST(what_lies_in_a_worker_s_own_queue_is_taken_back_from_outside)
{
    work one;
    init_work(&one, 0, run_once);
    one.inside = submit_own_and_sleep;
    one.ns = SECOND;
    make_crew(.workers = 1);
    submit(&one);
    settle();
    expect(cen_task_cancel(&own[3].task));
    expect(cen_future_cancel(&own[0].task.future));
    finish();
    expect_story("bc");
}

/* ---- One that waits ------------------------------------------------------------------ */

static cen_next woken(cen_task *task)
{
    work *self = (work *)task;
    self->steps++;
    self->asked = cen_task_check_stop(task);
    self->got = cen_future_is_done(&self->timer.future) ? CEN_OK : CEN_INTERRUPTED;
    return cen_task_done(task, self);
}

static cen_next wait_long(cen_task *task)
{
    work *self = (work *)task;
    self->steps++;
    cen_timer_init(&self->timer);
    expect_equal(cen_timer_start(&self->timer, NULL, cen_in_s(3600), NULL), CEN_OK);
    return cen_task_wait(task, &self->timer.future, woken);
}

/* guarantees: crew.cancel-running */
TEST(a_task_that_waits_and_is_asked_to_end_goes_on_early_and_its_future_is_given_up)
{
    work one;
    init_work(&one, 'a', wait_long);
    make_crew(.workers = 1);
    submit(&one);
    settle();
    int64_t now = ceni_clock_now();
    expect(!cen_task_cancel(&one.task));
    expect_end(&one, CEN_OK);
    expect_equal(ceni_clock_now(), now);
    expect_equal(one.asked, CEN_INTERRUPTED);
    expect_equal(one.got, CEN_INTERRUPTED);
    finish();
}

static cen_next wait_for_other(cen_task *task)
{
    work *self = (work *)task;
    return cen_task_wait(task, &self->other->task.future, woken);
}

/* guarantees: crew.cancel-running */
TEST(a_task_that_waits_for_one_that_has_begun_is_not_cut_short_and_the_other_is_asked_too)
{
    work one, other;
    init_work(&other, 'o', run_once);
    other.inside = look_asked;
    other.ns = 10 * SECOND;
    init_work(&one, 'a', wait_for_other);
    one.other = &other;
    cen_timer_init(&one.timer);
    make_crew(.workers = 2);
    submit(&other);
    settle();
    submit(&one);
    settle();
    int64_t now = ceni_clock_now();
    expect(!cen_task_cancel(&one.task));
    expect_end(&one, CEN_OK);
    expect_equal(ceni_clock_now(), now + 10 * SECOND);
    expect_equal(one.asked, CEN_INTERRUPTED);
    expect_equal(other.asked, CEN_INTERRUPTED);
    finish();
}

static cen_next be_asked_then_wait(cen_task *task)
{
    work *self = (work *)task;
    nap(SECOND);
    return wait_long(&self->task);
}

/* guarantees: crew.cancel-running */
TEST(one_that_was_asked_and_has_not_heard_of_it_does_not_wait)
{
    work one;
    init_work(&one, 'a', be_asked_then_wait);
    make_crew(.workers = 1);
    submit(&one);
    settle();
    expect(!cen_task_cancel(&one.task));
    int64_t now = ceni_clock_now();
    expect_end(&one, CEN_OK);
    expect_equal(ceni_clock_now(), now + SECOND);
    expect_equal(one.asked, CEN_INTERRUPTED);
    finish();
}

static cen_next hear_and_wait_a_second(cen_task *task)
{
    work *self = (work *)task;
    nap(SECOND);
    expect_equal(cen_task_check_stop(task), CEN_INTERRUPTED);
    cen_timer_init(&self->timer);
    expect_equal(cen_timer_start(&self->timer, NULL, cen_in_s(1), NULL), CEN_OK);
    return cen_task_wait(task, &self->timer.future, woken);
}

/* guarantees: crew.cancel-running */
TEST(one_that_has_heard_that_it_should_end_may_still_wait)
{
    work one;
    init_work(&one, 'a', hear_and_wait_a_second);
    make_crew(.workers = 1);
    submit(&one);
    settle();
    expect(!cen_task_cancel(&one.task));
    int64_t now = ceni_clock_now();
    expect_end(&one, CEN_OK);
    expect_equal(ceni_clock_now(), now + 2 * SECOND);
    expect_equal(one.got, CEN_OK);
    finish();
}
