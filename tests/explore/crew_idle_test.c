/* SPDX-License-Identifier: MIT */
/* Workers that fall asleep while something is submitted: nothing stays queued beside one that sleeps. Whoever is
 * forgotten never runs, and who waits for it waits for ever: the world calls that a deadlock. */
#include "explore/crews.h"

/* guarantees: crew.L3 */
EXPLORE(what_is_submitted_while_a_worker_parks_is_run, 2)
{
    make_crew(.workers = 1, .max = 1);
    submit(0);
    await(0, CEN_OK);
    end_crew();
}

/* guarantees: crew.L3 */
EXPLORE(what_is_submitted_when_a_worker_parks_again_is_run, 2)
{
    make_crew(.workers = 1, .max = 1);
    submit(0);
    submit(1);
    await(0, CEN_OK);
    await(1, CEN_OK);
    submit(2);
    await(2, CEN_OK);
    end_crew();
}

/* guarantees: crew.L3 */
EXPLORE(what_two_submit_while_a_worker_parks_is_run, 1)
{
    make_crew(.workers = 1, .max = 1);
    ceni_thread other = start("other", submit_second, NULL);
    submit(0);
    await(0, CEN_OK);
    join(other);
    await(1, CEN_OK);
    end_crew();
}

/* Each waits until the other is there too: none may be left queued beside a worker that sleeps. */
static cen_next meet(cen_task *task)
{
    count_step();
    await_steps(2);
    return cen_task_done(task, NULL);
}

/* guarantees: crew.L3 */
EXPLORE(two_that_are_submitted_one_after_the_other_run_on_two_workers, 0)
{
    make_crew(.workers = 2, .max = 2);
    ceni_world_settle();
    submit_as(0, meet);
    submit_as(1, meet);
    await(0, CEN_OK);
    await(1, CEN_OK);
    end_crew();
}

/* guarantees: crew.L3 */
EXPLORE(two_that_are_submitted_at_once_run_on_two_workers, 0)
{
    make_crew(.workers = 2, .max = 2);
    ceni_world_settle();
    cen_task *both[] = {&errands[0].task, &errands[1].task};
    both[0]->step_ = both[1]->step_ = meet;
    expect_equal(cen_crew_submit_all(crew, both, 2, NULL), CEN_OK);
    await(0, CEN_OK);
    await(1, CEN_OK);
    end_crew();
}

static cen_next submit_and_meet(cen_task *task)
{
    submit_as(1, meet);
    return meet(task);
}

/* guarantees: crew.L3 */
EXPLORE(what_a_worker_submits_is_run_by_one_that_parks, 0)
{
    make_crew(.workers = 2, .max = 2);
    ceni_world_settle();
    submit_as(0, submit_and_meet);
    await(0, CEN_OK);
    await(1, CEN_OK);
    end_crew();
}

/* Each has a job that lies alone beside it, and waits until a third worker has run one of these: what a thief has left
 * at its first look it takes at the second, also if it has seen another meanwhile. */
static errand beside;

static cen_next leave_one_alone(cen_task *task)
{
    if (task == &errands[0].task) submit(2);
    else expect_equal(cen_crew_submit(crew, &beside.task, NULL), CEN_OK);
    count_step();
    await_steps(3);
    return cen_task_done(task, NULL);
}

TEST(of_two_jobs_that_lie_alone_beside_busy_workers_one_is_run_by_a_third)
{
    make_crew(.workers = 3, .max = 3);
    beside = (errand){0};
    cen_task_init(&beside.task, run_errand);
    ceni_world_settle();
    submit_as(0, leave_one_alone);
    submit_as(1, leave_one_alone);
    await(0, CEN_OK);
    await(1, CEN_OK);
    await(2, CEN_OK);
    expect_equal(cen_future_wait(&beside.task.future, cen_in_s(1)), CEN_OK);
    end_crew();
}

/* guarantees: crew.L3 */
EXPLORE(a_task_that_is_resumed_while_a_worker_parks_is_run, 2)
{
    make_crew(.workers = 1, .max = 1);
    submit_as(0, wait_for_promise);
    keep_promise(NULL);
    await(0, CEN_OK);
    end_crew();
}

static cen_next submit_and_block(cen_task *task)
{
    submit(1);
    cen_blocking_begin();
    await_steps(1);
    cen_blocking_end();
    return cen_task_done(task, NULL);
}

/* guarantees: crew.blocking */
EXPLORE(what_is_queued_when_a_step_begins_to_block_is_run_by_another, 1)
{
    make_crew(.workers = 1, .max = 2);
    submit_as(0, submit_and_block);
    await(0, CEN_OK);
    await(1, CEN_OK);
    end_crew();
}

static cen_next block(cen_task *task)
{
    cen_blocking_begin();
    await_steps(1);
    cen_blocking_end();
    return cen_task_done(task, NULL);
}

/* guarantees: crew.blocking */
EXPLORE(what_is_submitted_while_a_step_begins_to_block_is_run_by_another, 1)
{
    make_crew(.workers = 1, .max = 2);
    submit_as(0, block);
    submit(1);
    await(0, CEN_OK);
    await(1, CEN_OK);
    end_crew();
}

/* ---- How many are woken --------------------------------------------------------------------- */

/* While one is searching nobody else is called: it calls the next when it has found something. */
/* guarantees: crew.burst, task-bugs.waking */
TEST(a_burst_does_not_wake_a_worker_for_each)
{
    cen_crew_stats stats = CEN_SIZED(cen_crew_stats);
    make_crew(.workers = 3, .max = 3);
    ceni_world_settle();
    for (int i = 0; i < 3; i++) submit(i); /* the workers do not run meanwhile */
    expect_equal(cen_crew_stats_get(crew, &stats), CEN_OK);
    expect_equal(stats.idle, 2);
    for (int i = 0; i < 3; i++) await(i, CEN_OK);
    end_crew();
}

/* ---- Fewer workers ----------------------------------------------------------------------------- */

static void resize_to_one(void *unused)
{
    (void)unused;
    expect_equal(cen_crew_resize(crew, 1, NULL), CEN_OK);
}

/* guarantees: crew.L3 */
EXPLORE(what_is_submitted_while_a_worker_ends_is_run_by_the_one_that_stays, 0)
{
    make_crew(.workers = 2, .max = 2);
    ceni_world_settle();
    ceni_thread other = start("other", resize_to_one, NULL);
    submit(0);
    await(0, CEN_OK);
    submit(1);
    await(1, CEN_OK);
    join(other);
    end_crew();
}
