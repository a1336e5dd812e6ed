/* SPDX-License-Identifier: MIT */
/* Steps that end their thread: the task fails, the worker is replaced, nothing is lost with it. */
#include <pthread.h>

#include "support/description.h"
#include "unit/crew/crews.h"
#include "unit/pool/pools.h"

enum { PATIENCE_S = 120 };

/* Without the time limit a lost worker would be a hang and no verdict. */
static void expect_end_soon(work *self, cen_status status)
{
    expect_equal(cen_future_wait(&self->task.future, cen_in_s(PATIENCE_S)), CEN_OK);
    expect_end(self, status);
}

static void exit_thread(work *self)
{
    pthread_exit(self);
}

static void await_lost(uint64_t count)
{
    for (int i = 0; i < PATIENCE_S * 1000 && look().lost < count; i++) nap(MS);
    expect_equal(look().lost, count);
}

/* guarantees: crew.lost-thread, task-bugs.lost-thread */
TEST(a_step_that_ends_its_thread_ends_its_task_with_misuse_and_another_worker_runs_the_rest)
{
    work one, rest[3];
    init_work(&one, 'x', run_once);
    one.inside = exit_thread;
    one.task.name = "leaver";
    init_works(rest, 3);
    make_crew(.workers = 1, .max = 1, .name = "small");
    cen_task *all[] = {&one.task, &rest[0].task, &rest[1].task, &rest[2].task};
    expect_equal(cen_crew_submit_all(crew, all, 4, NULL), CEN_OK);
    expect_end_soon(&one, CEN_MISUSE);
    expect_text(one.error.text, "crew \"small\": leaver ended its worker thread");
    for (int i = 0; i < 3; i++) expect_end_soon(&rest[i], CEN_OK);
    await_lost(1);
    finish();
    expect_event("crew", "worker_lost", CEN_LEVEL_WARNING, "crew \"small\": a task ended worker thread \"small:0\"");
}

/* guarantees: crew.lost-thread, task-bugs.lost-thread */
TEST(a_crew_of_several_lives_on_after_many_losses)
{
    enum { MANY = 50 };
    static work many[MANY];
    make_crew(.workers = 2, .max = 3);
    for (int i = 0; i < MANY; i++) {
        init_work(&many[i], 0, run_once);
        if (i % 2 == 0) many[i].inside = exit_thread;
        submit(&many[i]);
    }
    for (int i = 0; i < MANY; i++) expect_end_soon(&many[i], i % 2 ? CEN_OK : CEN_MISUSE);
    await_lost(MANY / 2);
    cen_crew_report report = CEN_SIZED(cen_crew_report);
    expect_equal(cen_crew_stop(crew, CEN_STOP_DRAIN, CEN_NEVER, &report, NULL), CEN_OK);
    finish();
}

static void submit_and_await(work *self)
{
    expect_equal(cen_crew_submit(crew, &self->other->task, NULL), CEN_OK);
    cen_await(&self->other->task.future, CEN_NEVER);
    unexpected(self, "it came back from an await whose thread has ended");
}

/* guarantees: crew.lost-thread, task-bugs.lost-thread */
TEST(one_that_awaits_its_own_child_ends_with_the_thread_that_the_child_ends)
{
    work parent, child, other;
    init_work(&parent, 'p', run_once);
    init_work(&child, 'c', run_once);
    init_work(&other, 'o', run_once);
    parent.inside = submit_and_await;
    parent.other = &child;
    child.inside = exit_thread;
    make_crew(.workers = 1, .max = 1);
    submit(&parent);
    expect_end_soon(&parent, CEN_MISUSE);
    expect_end_soon(&child, CEN_MISUSE);
    submit(&other);
    expect_end_soon(&other, CEN_OK);
    await_lost(1);
    finish();
}

static cen_promise promise;
static cen_future awaited;

static void await_promise(work *self)
{
    if (self->other) expect_equal(cen_crew_submit(crew, &self->other->task, NULL), CEN_OK);
    cen_await(&awaited, CEN_NEVER);
    unexpected(self, "it came back from an await whose thread has ended");
}

static void promise_awaited(void)
{
    cen_future_init(&awaited);
    expect_equal(cen_promise_init(&promise, &awaited), CEN_OK);
}

/* Whoever keeps the promise finds that nobody waits any more. */
/* guarantees: crew.lost-thread, task-bugs.lost-thread */
TEST(one_that_helps_another_which_ends_the_thread_ends_too_and_lets_go_of_what_it_awaited)
{
    work parent, helped;
    init_work(&parent, 'p', run_once);
    init_work(&helped, 'h', run_once);
    parent.inside = await_promise;
    parent.other = &helped;
    helped.inside = exit_thread;
    promise_awaited();
    make_crew(.workers = 1, .max = 1);
    submit(&parent);
    expect_end_soon(&parent, CEN_MISUSE);
    expect_end_soon(&helped, CEN_MISUSE);
    memset((void *)&parent.task, 0xDD, sizeof parent.task);
    expect(cen_promise_complete(&promise, story));
    expect_equal(cen_future_wait(&awaited, CEN_NOW), CEN_OK);
    finish();
}

static _Atomic uint32_t jobs_run;

static void exit_in_a_job(cen_job *job)
{
    (void)job;
    ceni_add_seq_cst(&jobs_run, 1);
    pthread_exit(NULL);
}

static cen_job exiting;

static void await_under_a_job(work *self)
{
    cen_executor *executor = cen_crew_executor(crew);
    exiting.run = exit_in_a_job;
    executor->post(executor, &exiting);
    await_promise(self);
}

/* guarantees: crew.lost-thread, task-bugs.lost-thread */
TEST(one_that_helps_a_job_which_ends_the_thread_ends_too)
{
    work parent, other;
    init_work(&parent, 'p', run_once);
    init_work(&other, 'o', run_once);
    parent.inside = await_under_a_job;
    promise_awaited();
    make_crew(.workers = 1, .max = 1);
    submit(&parent);
    expect_end_soon(&parent, CEN_MISUSE);
    memset((void *)&parent.task, 0xDD, sizeof parent.task);
    expect(cen_promise_complete(&promise, story));
    submit(&other);
    expect_end_soon(&other, CEN_OK);
    finish();
}

/* guarantees: crew.lost-thread, task-bugs.lost-thread */
TEST(a_job_that_ends_its_thread_loses_no_worker)
{
    work other;
    cen_job job = {.run = exit_in_a_job};
    init_work(&other, 'o', run_once);
    make_crew(.workers = 1, .max = 1);
    cen_executor *executor = cen_crew_executor(crew);
    executor->post(executor, &job);
    submit(&other);
    expect_end_soon(&other, CEN_OK);
    await_lost(1);
    finish();
}

static void stop_and_help(work *self)
{
    expect_equal(cen_crew_submit(crew, &self->other->task, NULL), CEN_OK);
    cen_crew_stop(crew, CEN_STOP_DRAIN, CEN_NEVER, NULL, NULL);
    unexpected(self, "it came back from a stop whose thread has ended");
}

/* guarantees: crew.lost-thread, task-bugs.lost-thread */
TEST(one_that_stops_the_crew_and_helps_one_which_ends_the_thread_ends_too)
{
    work parent, helped;
    init_work(&parent, 'p', run_once);
    init_work(&helped, 'h', run_once);
    parent.inside = stop_and_help;
    parent.other = &helped;
    helped.inside = exit_thread;
    make_crew(.workers = 1, .max = 1);
    submit(&parent);
    expect_end_soon(&parent, CEN_MISUSE);
    expect_end_soon(&helped, CEN_MISUSE);
    finish();
}

/* ---- Cancelled threads ----------------------------------------------------------------- */

static pthread_t victim;
static _Atomic uint32_t is_there, was_sent;

static void be_cancelled(work *self)
{
    victim = pthread_self();
    ceni_store_seq_cst(&was_sent, 0);
    if (self->mark == 'c') expect(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL) == 0);
    ceni_store_seq_cst(&is_there, 1);
    while (self->mark == 'c' || !ceni_load_seq_cst(&was_sent)) {
        pthread_testcancel();
        ceni_thread_yield();
    }
    pthread_testcancel();
}

static void cancel_it(void)
{
    while (!ceni_load_seq_cst(&is_there)) ceni_thread_yield();
    expect(pthread_cancel(victim) == 0);
    ceni_store_seq_cst(&was_sent, 1);
    ceni_store_seq_cst(&is_there, 0); /* for the next test */
}

/* guarantees: crew.lost-thread, task-bugs.lost-thread */
TEST(a_thread_that_is_cancelled_in_a_step_that_allows_it_is_replaced)
{
    work one, other;
    init_work(&one, 'c', run_once);
    one.inside = be_cancelled;
    one.task.deadline = cen_in_s(3600);
    init_work(&other, 'o', run_once);
    make_crew(.workers = 1, .max = 1);
    submit(&one);
    cancel_it();
    expect_end_soon(&one, CEN_MISUSE);
    submit(&other);
    expect_end_soon(&other, CEN_OK);
    await_lost(1);
    finish();
}

/* guarantees: crew.lost-thread, task-bugs.lost-thread */
TEST(a_thread_that_is_cancelled_in_a_step_that_does_not_allow_it_goes_on)
{
    work one;
    init_work(&one, 'n', run_once);
    one.inside = be_cancelled;
    make_crew(.workers = 1, .max = 1);
    submit(&one);
    cancel_it();
    expect_end_soon(&one, CEN_OK);
    expect_equal(look().lost, 0);
    finish();
}

/* ---- What it had ------------------------------------------------------------------------ */

static cen_pool *pool;

static void take_and_exit(work *self)
{
    expect_equal(cen_pool_try_take(pool, &self->lease, NULL), CEN_OK);
    cen_blocking_begin();
    pthread_exit(NULL);
}

/* guarantees: crew.lost-thread, task-bugs.lost-thread */
TEST(what_a_lost_task_held_goes_the_way_of_the_pool_s_policy_and_its_section_is_closed)
{
    work one;
    workshop shop = {.opens = 0};
    init_work(&one, 't', run_once);
    one.inside = take_and_exit;
    pool = make_pool(.driver = driver_of(&shop), .max = 1, .on_holder_end = CEN_HOLDER_END_CLOSE);
    make_crew(.workers = 1, .max = 1);
    submit(&one);
    expect_end_soon(&one, CEN_MISUSE);
    expect_counts(pool, 0, 0);
    expect_log(&shop, "+1 -1 ");
    await_lost(1);
    expect_equal(look().blocked, 0);
    finish();
    free_pool(pool);
}

static _Atomic uint32_t created, destroyed;

static cen_status create(void *argument, uint32_t worker, void **out, cen_error *error)
{
    (void)argument, (void)error;
    expect_equal(worker, 0);
    ceni_add_seq_cst(&created, 1);
    *out = story;
    return CEN_OK;
}

static void destroy(void *argument, void *data)
{
    (void)argument;
    expect(data == story);
    ceni_add_seq_cst(&destroyed, 1);
}

/* guarantees: crew.lost-thread, task-bugs.lost-thread */
TEST(the_context_of_a_lost_worker_is_destroyed_and_its_successor_has_another)
{
    work one, other;
    init_work(&one, 'x', run_once);
    one.inside = exit_thread;
    init_work(&other, 'o', run_once);
    make_crew(.workers = 1, .max = 1, .context = {.create = create, .destroy = destroy});
    submit(&one);
    submit(&other);
    expect_end_soon(&other, CEN_OK);
    expect_equal(ceni_load_seq_cst(&created), 2);
    finish();
    expect_equal(ceni_load_seq_cst(&destroyed), 2);
}
