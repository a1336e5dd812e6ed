/* SPDX-License-Identifier: MIT */
/* The order in which one worker begins the tasks of one submitter. */
#include "unit/crew/orders.h"

/* ---- From outside ---------------------------------------------------------------------------- */

/* guarantees: crew.order */
TEST(one_worker_begins_what_a_thread_submits_in_its_order)
{
    begin_with(1, MANY);
    make_crew(.workers = 1);
    for (unsigned i = 0; i < MANY; i++) submit_one(0, i);
    end_with(1, MANY);
}

/* guarantees: crew.order */
TEST(one_worker_begins_what_a_thread_has_submitted_while_it_was_busy_in_its_order)
{
    begin_with(1, MANY);
    make_crew(.workers = 1);
    keep_busy(50 * MS);
    for (unsigned i = 0; i < MANY; i++) submit_one(0, i);
    end_with(1, MANY);
}

/* guarantees: crew.order */
TEST(single_tasks_and_bursts_of_one_thread_begin_in_their_order)
{
    cen_task *all[AT_ONCE];
    begin_with(1, BURSTS * (AT_ONCE + 1));
    make_crew(.workers = 1);
    for (unsigned next = 0; next < BURSTS * (AT_ONCE + 1);) {
        submit_one(0, next++);
        for (unsigned i = 0; i < AT_ONCE; i++) all[i] = &tasks[0][next++].task;
        expect_equal(cen_crew_submit_all(crew, all, AT_ONCE, NULL), CEN_OK);
    }
    end_with(1, BURSTS * (AT_ONCE + 1));
}

/* guarantees: crew.order */
TEST(what_each_of_several_threads_submits_begins_in_its_order)
{
    run_submitters();
}

/* guarantees: crew.order */
TEST(a_crew_that_was_resized_to_one_worker_keeps_the_order)
{
    begin_with(1, MANY);
    make_crew(.workers = 2);
    expect_equal(cen_crew_resize(crew, 1, NULL), CEN_OK);
    settle();
    while (look().threads > 1) nap(MS);
    for (unsigned i = 0; i < MANY; i++) submit_one(0, i);
    end_with(1, MANY);
}

/* ---- From within a task ------------------------------------------------------------------------ */

/* guarantees: crew.order */
TEST(what_a_task_submits_one_by_one_begins_in_its_order)
{
    run_parent(submit_burst, false);
}

/* guarantees: crew.order */
TEST(what_a_task_submits_at_once_begins_in_its_order)
{
    run_parent(submit_burst, true);
}

/* guarantees: crew.order */
TEST(what_a_task_submits_while_it_awaits_begins_in_its_order)
{
    run_parent(submit_and_await, false);
}

/* guarantees: crew.order */
TEST(tasks_from_outside_and_from_a_task_each_begin_in_their_order)
{
    parent one = {.submitter = 1, .end = BURST * BURSTS};
    begin_with(2, BURST * BURSTS);
    make_crew(.workers = 1);
    cen_task_init(&one.task, submit_burst);
    expect_equal(cen_crew_submit(crew, &one.task, NULL), CEN_OK);
    for (unsigned i = 0; i < BURST * BURSTS; i++) submit_one(0, i);
    end_with(2, BURST * BURSTS);
}

/* ---- While a step awaits ------------------------------------------------------------------------ */

static cen_promise promise;
static cen_future promised;

static cen_next keep_it(cen_task *task)
{
    cen_promise_complete(&promise, NULL);
    return cen_task_done(task, NULL);
}

static void await_it(work *self)
{
    self->got = cen_await(&promised, CEN_NEVER);
}

/* guarantees: crew.order */
TEST(a_step_that_awaits_begins_the_others_in_their_order)
{
    work waiter;
    cen_task keeper;
    begin_with(1, MANY);
    cen_future_init(&promised);
    expect_equal(cen_promise_init(&promise, &promised), CEN_OK);
    init_work(&waiter, 0, run_once);
    waiter.inside = await_it;
    cen_task_init(&keeper, keep_it);
    make_crew(.workers = 1, .max = 1);
    submit(&waiter);
    for (unsigned i = 0; i < MANY / 2; i++) submit_one(0, i);
    expect_equal(cen_crew_submit(crew, &keeper, NULL), CEN_OK);
    for (unsigned i = MANY / 2; i < MANY; i++) submit_one(0, i);
    expect_end(&waiter, CEN_OK);
    expect_equal(waiter.got, CEN_OK);
    end_with(1, MANY);
}
