/* SPDX-License-Identifier: MIT */
/* Asking a task to end, under every schedule: against the completion of what it waits for, against its beginning to
 * wait, and by a deadline against its begin and its end. */
#include "explore/crews.h"

static cen_status heard;

/* The step after a wait: what it waited for is done, or given up because it was asked. */
static cen_next hear(cen_task *task)
{
    heard = cen_task_check_stop(task);
    return run_errand(task);
}

static cen_next wait_and_hear(cen_task *task)
{
    return cen_task_wait(task, &promised, hear);
}

/* guarantees: crew.ask-race */
EXPLORE(a_task_that_is_asked_to_end_goes_on_once_although_its_future_is_done_meanwhile, 1)
{
    make_crew(.workers = 1, .max = 1);
    ceni_world_settle();
    submit_as(0, wait_and_hear);
    ceni_thread other = start("other", keep_promise, NULL);
    bool cancelled = cen_task_cancel(&errands[0].task);
    await(0, cancelled ? CEN_INTERRUPTED : CEN_OK);
    join(other);
    expect_equal(runs(0), !cancelled);
    end_crew();
}

/* Nobody keeps the promise: only the ask ends the wait, whenever it comes. */
/* guarantees: crew.ask-race */
EXPLORE(a_task_that_is_asked_to_end_while_it_begins_to_wait_goes_on, 2)
{
    make_crew(.workers = 1, .max = 1);
    ceni_world_settle();
    heard = CEN_OK;
    submit_as(0, wait_and_hear);
    bool cancelled = cen_task_cancel(&errands[0].task);
    await(0, cancelled ? CEN_INTERRUPTED : CEN_OK);
    expect_equal(runs(0), !cancelled);
    if (!cancelled) expect_equal(heard, CEN_INTERRUPTED);
    end_crew();
}

static void ask_first(void *unused)
{
    (void)unused;
    cen_task_cancel(&errands[0].task);
}

/* guarantees: crew.ask-race */
EXPLORE(a_task_that_two_ask_to_end_goes_on_once, 1)
{
    make_crew(.workers = 1, .max = 1);
    ceni_world_settle();
    submit_as(0, wait_and_hear);
    ceni_world_settle();
    ceni_thread other = start("other", ask_first, NULL);
    ask_first(NULL);
    await(0, CEN_OK);
    join(other);
    expect_equal(runs(0), 1);
    end_crew();
}

/* ---- Deadlines ------------------------------------------------------------------------------ */

/* guarantees: crew.ask-race */
EXPLORE(a_task_whose_deadline_passes_while_it_begins_is_run_or_too_late, 1)
{
    make_crew(.workers = 1, .max = 1);
    errands[0].task.deadline = cen_in_ms(1);
    submit(0);
    expect_equal(cen_future_wait(&errands[0].task.future, CEN_NEVER), CEN_OK);
    cen_status status = errands[0].task.future.status;
    expect(status == CEN_OK || status == CEN_TIMEOUT);
    expect_equal(runs(0), status == CEN_OK);
    end_crew();
}

/* In memory that is gone as soon as its future is done. */
/* guarantees: crew.ask-race */
EXPLORE(a_task_is_not_touched_by_its_alarm_once_its_future_is_done, 1)
{
    make_crew(.workers = 1, .max = 1);
    errand *own = ceni_alloc(NULL, sizeof *own, _Alignof(errand));
    expect(own != NULL);
    cen_task_init(&own->task, run_errand);
    ceni_store_relaxed(&own->runs, 0); /* nobody else knows it; carries nothing */
    own->task.deadline = cen_in_ms(1);
    expect_equal(cen_crew_submit(crew, &own->task, NULL), CEN_OK);
    expect_equal(cen_future_wait(&own->task.future, CEN_NEVER), CEN_OK);
    ceni_free(NULL, own, sizeof *own, _Alignof(errand));
    expect_equal(cen_crew_stop(crew, CEN_STOP_DRAIN, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(cen_crew_free(crew), CEN_OK);
    ceni_world_with_hooks();
}

/* guarantees: crew.ask-race */
EXPLORE(a_task_that_is_cancelled_while_its_deadline_passes_is_over_once, 1)
{
    make_crew(.workers = 1, .max = 1);
    errands[0].task.deadline = cen_in_ms(1);
    submit(0);
    bool cancelled = cen_task_cancel(&errands[0].task);
    expect_equal(cen_future_wait(&errands[0].task.future, CEN_NEVER), CEN_OK);
    cen_status status = errands[0].task.future.status;
    if (cancelled) expect_equal(status, CEN_INTERRUPTED);
    else expect(status == CEN_OK || status == CEN_TIMEOUT);
    expect_equal(runs(0), status == CEN_OK);
    end_crew();
}
