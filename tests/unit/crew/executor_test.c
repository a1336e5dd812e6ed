/* SPDX-License-Identifier: MIT */
/* A crew as an executor. */
#include "unit/crew/crews.h"

static _Atomic uint32_t runs;
static uint32_t on_worker[16];
static cen_job jobs[16];

static void run_job(cen_job *job)
{
    on_worker[job - jobs] = cen_worker_current();
    expect(cen_task_current() == NULL);
    ceni_add_seq_cst(&runs, 1);
}

static void post(cen_job *job, void (*run)(cen_job *))
{
    cen_executor *executor = cen_crew_executor(crew);
    job->run = run;
    executor->post(executor, job);
}

/* guarantees: crew.jobs */
TEST(jobs_run_on_workers_and_are_no_tasks)
{
    make_crew(.workers = 2);
    for (int i = 0; i < 16; i++) post(&jobs[i], run_job);
    settle();
    expect_equal(ceni_load_seq_cst(&runs), 16);
    for (int i = 0; i < 16; i++) expect(on_worker[i] < 2);
    expect_equal(sound_look().submitted, 0);
    expect(cen_crew_executor(NULL) == NULL);
    finish();
}

static void post_another(cen_job *job)
{
    run_job(job);
    if (job + 1 < jobs + 16) post(job + 1, post_another);
}

/* guarantees: crew.jobs */
TEST(a_job_posts_the_next)
{
    make_crew(.workers = 1);
    post(&jobs[0], post_another);
    settle();
    expect_equal(ceni_load_seq_cst(&runs), 16);
    finish();
}

/* guarantees: crew.jobs */
TEST(a_job_that_is_posted_after_the_end_runs_on_the_process_own_runtime)
{
    make_crew(.workers = 1);
    expect_equal(cen_crew_stop(crew, CEN_STOP_DRAIN, CEN_NEVER, NULL, NULL), CEN_OK);
    post(&jobs[0], run_job);
    settle();
    expect_equal(ceni_load_seq_cst(&runs), 1);
    expect_equal(on_worker[0], UINT32_MAX);
    expect_equal(cen_crew_free(crew), CEN_OK);
}

static void job_on_top(cen_job *job)
{
    run_job(job);
}

static void await_with_a_job(work *self)
{
    post(&jobs[0], job_on_top);
    cen_timer_init(&self->timer);
    expect_equal(cen_timer_start(&self->timer, NULL, cen_in_s(1), NULL), CEN_OK);
    expect_equal(cen_await(&self->timer.future, CEN_NEVER), CEN_OK);
    expect(cen_task_current() == &self->task);
}

/* guarantees: crew.jobs */
TEST(a_job_that_runs_on_top_of_a_task_that_awaits_is_not_that_task)
{
    work one;
    init_work(&one, 'a', run_once);
    one.inside = await_with_a_job;
    make_crew(.workers = 1, .max = 1);
    submit(&one);
    expect_end(&one, CEN_OK);
    expect_equal(ceni_load_seq_cst(&runs), 1);
    finish();
}

static void done_on_the_crew(cen_future *future)
{
    expect(future->value != NULL);
    expect(cen_crew_current() == crew);
    ceni_add_seq_cst(&runs, 1);
}

/* guarantees: crew.jobs */
TEST(futures_of_its_own_tasks_tell_on_the_crew)
{
    work ten[10];
    init_works(ten, 10);
    make_crew(.workers = 2);
    for (int i = 0; i < 10; i++) {
        expect_equal(cen_future_then(&ten[i].task.future, done_on_the_crew, cen_crew_executor(crew)), CEN_OK);
        submit(&ten[i]);
    }
    finish();
    expect_equal(ceni_load_seq_cst(&runs), 10);
}
