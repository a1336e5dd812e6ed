/* SPDX-License-Identifier: MIT */
/* Tasks: how they are submitted, what a step can answer, and how they end. */
#include <stdlib.h>

#include "unit/crew/crews.h"

/* guarantees: crew.rough-order */
TEST(what_is_submitted_from_outside_is_run_in_its_order)
{
    work ten[10];
    init_works(ten, 10);
    make_crew(.workers = 1);
    for (int i = 0; i < 10; i++) submit(&ten[i]);
    for (int i = 0; i < 10; i++) expect_end(&ten[i], CEN_OK);
    expect_story("abcdefghij");
    expect_equal(sound_look().steps, 10);
    finish();
}

static work children[10];

static void submit_children(work *self)
{
    for (int i = 0; i < 10; i++) expect_equal(cen_crew_submit(crew, &children[i].task, NULL), CEN_OK);
    mark('!');
    self->worker = cen_worker_current();
}

/* guarantees: crew.no-allocation */
TEST(what_a_task_submits_is_run_after_it_although_its_worker_s_own_queue_is_full)
{
    work parent;
    init_work(&parent, 'p', run_once);
    parent.inside = submit_children;
    init_works(children, 10);
    make_crew(.workers = 1);
    submit(&parent);
    expect_end(&parent, CEN_OK);
    for (int i = 0; i < 10; i++) expect_end(&children[i], CEN_OK);
    expect_equal(strlen(story), 12);
    expect(story[0] == 'p' && story[1] == '!');
    finish();
}

/* guarantees: crew.all-or-none */
TEST(of_many_at_once_all_are_run)
{
    work twenty[20];
    init_works(twenty, 20);
    make_crew(.workers = 2);
    submit_works(twenty, 20);
    for (int i = 0; i < 20; i++) expect_end(&twenty[i], CEN_OK);
    for (int i = 0; i < 20; i++) expect_equal(twenty[i].steps, 1);
    expect_equal(sound_look().finished, 20);
    finish();
}

/* guarantees: crew.no-allocation */
TEST(submitting_allocates_nothing)
{
    work twenty[20];
    init_works(twenty, 20);
    make_crew(.workers = 2);
    settle();
    uint64_t before = ceni_world_allocations();
    submit_works(twenty, 20);
    for (int i = 0; i < 20; i++) expect_end(&twenty[i], CEN_OK);
    expect_equal(ceni_world_allocations(), before);
    finish();
}

static void expect_none_submitted(cen_task *const tasks[], size_t count, cen_status status)
{
    expect_equal(cen_crew_submit_all(crew, tasks, count, NULL), status);
    settle();
    expect_equal(look().submitted, 0);
}

/* guarantees: crew.all-or-none */
TEST(of_many_at_once_of_which_one_cannot_be_none_is_submitted)
{
    work two[2], empty;
    init_works(two, 2);
    init_work(&empty, 'e', NULL);
    make_crew(.workers = 1);
    expect_none_submitted((cen_task *[]){&two[0].task, &two[1].task, &empty.task}, 3, CEN_INVALID);
    expect_none_submitted((cen_task *[]){&two[0].task, NULL}, 2, CEN_INVALID);
    expect_none_submitted((cen_task *[]){&two[0].task, &two[1].task, &two[0].task}, 3, CEN_MISUSE);
    expect_none_submitted(NULL, 1, CEN_INVALID);
    expect_equal(cen_crew_submit_all(crew, NULL, 0, NULL), CEN_OK);
    expect_equal(cen_crew_submit_all(NULL, NULL, 0, NULL), CEN_INVALID);
    submit_works(two, 2);
    expect_end(&two[0], CEN_OK);
    expect_end(&two[1], CEN_OK);
    finish();
}

/* guarantees: crew.once */
TEST(a_task_is_not_submitted_twice_nor_again_before_it_was_made_ready)
{
    work one;
    init_works(&one, 1);
    make_crew(.workers = 1);
    keep_busy(SECOND);
    submit(&one);
    expect_equal(cen_crew_submit(crew, &one.task, NULL), CEN_MISUSE);
    expect_end(&one, CEN_OK);
    expect_equal(cen_crew_submit(crew, &one.task, NULL), CEN_MISUSE);
    expect_equal(one.steps, 1);
    cen_task_init(&one.task, run_once);
    submit(&one);
    expect_end(&one, CEN_OK);
    expect_equal(one.steps, 2);
    expect_equal(cen_crew_submit(NULL, &one.task, NULL), CEN_INVALID);
    expect_equal(cen_crew_submit(crew, NULL, NULL), CEN_INVALID);
    finish();
}

/* ---- Steps ------------------------------------------------------------------------- */

static cen_next third(cen_task *task)
{
    mark('3');
    return cen_task_done(task, task);
}

static cen_next second_step(cen_task *task)
{
    mark('2');
    return cen_task_yield(task, third);
}

static cen_next first_step(cen_task *task)
{
    mark('1');
    return cen_task_yield(task, second_step);
}

/* guarantees: crew.yield, task-bugs.starvation */
TEST(one_that_yields_lets_what_waits_go_first)
{
    work stepper, one;
    init_work(&stepper, 's', first_step);
    init_works(&one, 1);
    make_crew(.workers = 1);
    cen_task *all[] = {&stepper.task, &one.task};
    expect_equal(cen_crew_submit_all(crew, all, 2, NULL), CEN_OK);
    expect_end(&stepper, CEN_OK);
    expect_story("1a23");
    expect_equal(sound_look().steps, 4);
    finish();
}

static cen_next yield_on(cen_task *task)
{
    work *self = (work *)task;
    if (++self->steps < 300) return cen_task_yield(task, yield_on);
    mark('y');
    return cen_task_done(task, self);
}

/* guarantees: crew.yield, task-bugs.starvation */
TEST(what_comes_from_outside_is_run_while_others_go_on_yielding)
{
    work two[2], one;
    make_crew(.workers = 1);
    for (int i = 0; i < 2; i++) {
        init_work(&two[i], 'y', yield_on);
        submit(&two[i]);
    }
    init_work(&one, 'o', run_once);
    submit(&one);
    expect_end(&one, CEN_OK);
    expect_end(&two[0], CEN_OK);
    expect_end(&two[1], CEN_OK);
    expect_story("oyy");
    finish();
}

static cen_next fail_with(cen_task *task)
{
    work *self = (work *)task;
    cen_error error = {.status = self->got, .code = 17, .text = "the cat has it"};
    return cen_task_fail(task, self->mark == 'n' ? NULL : &error);
}

/* guarantees: crew.end */
TEST(a_task_ends_with_its_value_or_with_its_error)
{
    work ok, failed, silent, wrong;
    init_work(&ok, 'o', run_once);
    init_work(&failed, 'f', fail_with);
    init_work(&silent, 'n', fail_with);
    init_work(&wrong, 'w', fail_with);
    failed.got = CEN_FULL;
    make_crew(.workers = 1);
    submit(&ok);
    submit(&failed);
    submit(&silent);
    submit(&wrong);
    expect_end(&ok, CEN_OK);
    expect_end(&failed, CEN_FULL);
    expect_equal(failed.task.future.code, 17);
    expect_text(failed.error.text, "the cat has it");
    expect_equal(failed.error.status, CEN_FULL);
    expect_end(&silent, CEN_DRIVER);
    expect_end(&wrong, CEN_DRIVER);
    expect_equal(wrong.error.status, CEN_DRIVER);
    finish();
}

static cen_next answer_nonsense(cen_task *task)
{
    return ((work *)task)->mark == 'y' ? cen_task_yield(task, NULL) : (cen_next)77;
}

/* guarantees: crew.misuse */
TEST(a_step_that_does_not_say_how_to_go_on_ends_its_task_with_misuse)
{
    work nonsense, lost;
    init_work(&nonsense, 'x', answer_nonsense);
    init_work(&lost, 'y', answer_nonsense);
    nonsense.task.name = "guess";
    make_crew(.workers = 1, .name = "strict");
    submit(&nonsense);
    submit(&lost);
    expect_end(&nonsense, CEN_MISUSE);
    expect_text(nonsense.error.text,
                "crew \"strict\": guess returned an invalid cen_next, or waited without a next step");
    expect_end(&lost, CEN_MISUSE);
    finish();
}

/* ---- The end of a task ------------------------------------------------------------ */

static unsigned freed;

static void free_work(cen_future *future)
{
    expect_equal(future->status, CEN_OK);
    memset((void *)future, 0xDD, sizeof(work));
    free(future);
    freed++;
}

/* guarantees: crew.end */
TEST(a_done_may_free_the_task_inline_and_on_the_crew_itself)
{
    make_crew(.workers = 1);
    for (int i = 0; i < 6; i++) {
        work *one = malloc(sizeof *one);
        expect(one != NULL);
        init_work(one, 'a', i % 3 == 2 ? first_step : run_once);
        cen_executor *executor = i % 2 ? cen_inline() : cen_crew_executor(crew);
        expect_equal(cen_future_then(&one->task.future, free_work, executor), CEN_OK);
        submit(one);
    }
    finish();
    expect_equal(freed, 6);
}

static unsigned began, paused, resumed, over_begun, over_unbegun;

static void note_began(void *argument, cen_task *task)
{
    expect(argument == story);
    task->note[0]++;
    began++;
}

static void note_paused(void *argument, cen_task *task, cen_next next)
{
    expect(argument == story && task->note[0] > 0);
    expect(next == CEN_NEXT_AGAIN || next == CEN_NEXT_WAIT);
    paused++;
}

static void note_resumed(void *argument, cen_task *task)
{
    expect(argument == story && task->note[0] > 0);
    resumed++;
}

static void note_over(void *argument, cen_task *task, cen_status status, bool begun)
{
    expect(argument == story);
    expect(!cen_future_is_done(&task->future));
    expect_equal(status, begun ? CEN_OK : CEN_INTERRUPTED);
    if (begun) over_begun++;
    else over_unbegun++;
}

static cen_next wait_a_second(cen_task *task)
{
    work *self = (work *)task;
    cen_timer_init(&self->timer);
    expect_equal(cen_timer_start(&self->timer, NULL, cen_in_s(1), NULL), CEN_OK);
    return cen_task_wait(task, &self->timer.future, run_once);
}

/* guarantees: crew.end */
TEST(an_observer_is_told_of_every_step_and_of_the_end_before_the_future_is)
{
    work stepper, waiter, one;
    init_work(&stepper, 's', first_step);
    init_work(&waiter, 'w', wait_a_second);
    init_work(&one, 'o', run_once);
    stepper.task.note[0] = waiter.task.note[0] = 0;
    make_crew(.workers = 1, .observer = {note_began, note_paused, note_resumed, note_over, story});
    keep_busy(SECOND);
    submit(&one);
    expect(cen_task_cancel(&one.task));
    submit(&stepper);
    submit(&waiter);
    expect_end(&waiter, CEN_OK);
    expect_end(&stepper, CEN_OK);
    expect_equal(began, 1 + 3 + 2);
    expect_equal(paused, 2 + 1);
    expect_equal(resumed, 1);
    expect_equal(over_begun, 3);
    expect_equal(over_unbegun, 1);
    finish();
}

static void look_about(work *self)
{
    expect(cen_task_current() == &self->task);
    expect(cen_crew_current() == crew);
    self->worker = cen_worker_current();
}

/* guarantees: crew.current */
TEST(a_step_knows_its_task_its_crew_and_its_worker_and_others_have_none)
{
    work one;
    init_work(&one, 'a', run_once);
    one.inside = look_about;
    make_crew(.workers = 3);
    submit(&one);
    expect_end(&one, CEN_OK);
    expect(one.worker < 3);
    expect(!cen_task_current() && !cen_crew_current() && cen_worker_current() == UINT32_MAX);
    expect(cen_context_data(cen_context_current()) == NULL);
    expect_equal(cen_task_check_stop(NULL), CEN_OK);
    finish();
}
