/* SPDX-License-Identifier: MIT */
/* The end of a crew under every schedule: against submits, against those who resume, and freed at once. */
#include "explore/crews.h"

static _Atomic uint32_t answer;

static void try_submit(void *unused)
{
    (void)unused;
    ceni_store_seq_cst(&answer, (uint32_t)cen_crew_submit(crew, &errands[0].task, NULL));
}

static void stop_against_submit(cen_stop how)
{
    make_crew(.workers = 1, .max = 1);
    ceni_world_settle();
    ceni_thread other = start("other", try_submit, NULL);
    expect_equal(cen_crew_stop(crew, how, CEN_NEVER, NULL, NULL), CEN_OK);
    join(other);
    uint32_t told = ceni_load_seq_cst(&answer);
    expect(told == CEN_OK || told == CEN_CLOSED);
    expect_equal(cen_future_is_done(&errands[0].task.future), told == CEN_OK);
    if (told == CEN_CLOSED || how == CEN_STOP_DRAIN) expect_equal(runs(0), told == CEN_OK);
    else expect_equal(runs(0), errands[0].task.future.status == CEN_OK);
    free_crew();
}

/* guarantees: crew.stop */
EXPLORE(what_is_submitted_while_a_crew_is_drained_is_run_or_refused, 2)
{
    stop_against_submit(CEN_STOP_DRAIN);
}

/* guarantees: crew.stop, task-bugs.dropped */
EXPLORE(what_is_submitted_while_a_crew_drops_is_run_or_dropped_or_refused, 2)
{
    stop_against_submit(CEN_STOP_DROP);
}

/* The stop counts while the last task goes out. */
/* guarantees: crew.stop */
EXPLORE(a_stop_hears_of_the_last_task, 2)
{
    make_crew(.workers = 1, .max = 1);
    submit(0);
    end_crew();
}

static void end_right_after_resume(void)
{
    make_crew(.workers = 1, .max = 1);
    ceni_world_settle();
    submit_as(0, wait_for_promise);
    ceni_thread other = start("other", keep_promise, NULL);
    end_crew();
    join(other);
    expect_equal(runs(0), 1);
}

/* guarantees: crew.stop */
EXPLORE(a_crew_that_is_freed_after_its_stop_is_not_touched_by_who_resumed_its_last_task, 2)
{
    end_right_after_resume();
}

static void run_job(cen_job *job)
{
    (void)job;
    count_step();
}

static void post_a_job(void *job)
{
    cen_executor *executor = cen_crew_executor(crew);
    executor->post(executor, job);
}

/* On a worker, or, once the crew is sealed, on the process' own runtime. */
/* guarantees: crew.stop */
EXPLORE(a_job_that_is_posted_while_a_crew_is_stopped_is_run, 2)
{
    cen_job job = {.run = run_job};
    make_crew(.workers = 1, .max = 1);
    ceni_thread other = start("other", post_a_job, &job);
    expect_equal(cen_crew_stop(crew, CEN_STOP_DRAIN, CEN_NEVER, NULL, NULL), CEN_OK);
    join(other);
    await_steps(1);
    expect_equal(cen_crew_free(crew), CEN_OK);
    ceni_world_settle();
    ceni_world_with_hooks();
}

static cen_next submit_inside(cen_task *task)
{
    errands[1].task.step_ = wait_for_promise;
    ceni_store_seq_cst(&answer, (uint32_t)cen_crew_submit(crew, &errands[1].task, NULL));
    return run_errand(task);
}

/* There is no moment in which the stop could think that none is left. */
EXPLORE(what_a_task_submits_while_its_crew_is_drained_is_over_before_the_stop_is, 1)
{
    make_crew(.workers = 1, .max = 1);
    ceni_world_settle();
    submit_as(0, submit_inside);
    ceni_thread other = start("other", keep_promise, NULL);
    expect_equal(cen_crew_stop(crew, CEN_STOP_DRAIN, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(ceni_load_seq_cst(&answer), CEN_OK);
    expect(cen_future_is_done(&errands[0].task.future) && cen_future_is_done(&errands[1].task.future));
    expect_equal(runs(1), 1);
    join(other);
    free_crew();
}

/* ---- From within ------------------------------------------------------------------------------ */

static cen_next stop_inside(cen_task *task)
{
    expect_equal(cen_crew_stop(crew, CEN_STOP_DRAIN, CEN_NEVER, NULL, NULL), CEN_OK);
    return run_errand(task);
}

static void free_when_it_lets_itself(void)
{
    cen_status status;
    while ((status = cen_crew_free(crew)) == CEN_BUSY) ceni_thread_yield();
    expect_equal(status, CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
    ceni_world_with_hooks();
}

/* guarantees: crew.stop-self */
EXPLORE(a_crew_that_a_task_has_stopped_ends_with_that_task, 1)
{
    make_crew(.workers = 1, .max = 1);
    submit_as(0, stop_inside);
    await(0, CEN_OK);
    free_when_it_lets_itself();
}

/* The task that stops gives up, and what is left is dropped by the stop, or cancelled by another. */
static cen_next stop_at_once(cen_task *task)
{
    cen_crew_stop(crew, CEN_STOP_DRAIN, CEN_NOW, NULL, NULL);
    return run_errand(task);
}

/* guarantees: crew.stop-self */
EXPLORE(a_crew_that_a_task_has_stopped_ends_although_its_last_task_is_cancelled, 2)
{
    make_crew(.workers = 1, .max = 1);
    submit_as(0, stop_at_once);
    cen_crew_submit(crew, &errands[1].task, NULL);
    bool there = errands[1].task.core_ && !ceni_future_is_fresh(&errands[1].task.future);
    if (there) cen_task_cancel(&errands[1].task);
    await(0, CEN_OK);
    if (there) expect_equal(cen_future_wait(&errands[1].task.future, CEN_NEVER), CEN_OK);
    free_when_it_lets_itself();
}
