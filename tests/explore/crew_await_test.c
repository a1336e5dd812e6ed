/* SPDX-License-Identifier: MIT */
/* Awaiting in a step, under every schedule: against who completes, with a deadline, and a child that another worker has. */
#include "explore/crews.h"

static cen_status awaited;

static cen_next await_promise(cen_task *task)
{
    awaited = cen_await(&promised, CEN_NEVER);
    return run_errand(task);
}

/* guarantees: crew.await-end */
EXPLORE(a_step_that_awaits_is_told_whenever_it_is_done, 2)
{
    make_crew(.workers = 1, .max = 1);
    ceni_world_settle();
    submit_as(0, await_promise);
    keep_promise(NULL);
    await(0, CEN_OK);
    expect_equal(awaited, CEN_OK);
    end_crew();
}

static cen_next await_shortly(cen_task *task)
{
    awaited = cen_await(&promised, cen_in_ms(1));
    if (awaited == CEN_TIMEOUT) expect_equal(cen_await(&promised, CEN_NEVER), CEN_OK);
    return run_errand(task);
}

/* One that has let go can be awaited anew. */
/* guarantees: crew.await-end */
EXPLORE(a_step_that_awaits_until_a_deadline_is_told_or_too_late, 2)
{
    make_crew(.workers = 1, .max = 1);
    ceni_world_settle();
    submit_as(0, await_shortly);
    keep_promise(NULL);
    await(0, CEN_OK);
    expect(awaited == CEN_OK || awaited == CEN_TIMEOUT);
    end_crew();
}

static cen_next await_child(cen_task *task)
{
    submit(1);
    awaited = cen_await(&errands[1].task.future, CEN_NEVER);
    expect_equal(runs(1), 1);
    return run_errand(task);
}

/* guarantees: crew.await-end */
EXPLORE(a_child_that_is_awaited_is_run_by_whoever_has_it, 0)
{
    make_crew(.workers = 2, .max = 2);
    ceni_world_settle();
    submit_as(0, await_child);
    await(0, CEN_OK);
    expect_equal(awaited, CEN_OK);
    end_crew();
}

/* While it awaits and has nothing to do it is called as any other. */
/* guarantees: crew.await-end */
EXPLORE(a_worker_that_awaits_runs_what_is_submitted_meanwhile, 2)
{
    make_crew(.workers = 1, .max = 1);
    ceni_world_settle();
    submit_as(0, await_promise);
    submit(1);
    await(1, CEN_OK);
    keep_promise(NULL);
    await(0, CEN_OK);
    end_crew();
}

/* What it awaits is done while it runs, or has been called for, something else. */
/* guarantees: crew.await-end */
EXPLORE(a_worker_that_is_told_while_it_is_called_forgets_neither, 1)
{
    make_crew(.workers = 1, .max = 1);
    ceni_world_settle();
    submit_as(0, await_promise);
    ceni_thread other = start("other", submit_second, NULL);
    keep_promise(NULL);
    await(0, CEN_OK);
    join(other);
    await(1, CEN_OK);
    end_crew();
}

/* The crew is gone as soon as the step has gone on, told or too late. */
/* guarantees: crew.await-end */
EXPLORE(who_tells_a_step_that_awaits_does_not_touch_its_crew_afterwards, 3)
{
    make_crew(.workers = 1, .max = 1);
    ceni_world_settle();
    submit_as(0, await_shortly);
    ceni_world_settle();
    ceni_thread other = start("other", keep_promise, NULL);
    end_crew();
    join(other);
    expect_equal(runs(0), 1);
}
