/* SPDX-License-Identifier: MIT */
/* Tasks under every schedule: those that wait against who completes what they wait for, and those that are cancelled
 * against the worker that begins them, or moves them. */
#include "explore/crews.h"

/* ---- Waiting ---------------------------------------------------------------------------- */

/* guarantees: crew.race */
EXPLORE(a_task_that_waits_goes_on_once_whenever_its_future_is_done, 2)
{
    make_crew(.workers = 1, .max = 1);
    ceni_world_settle();
    submit_as(0, wait_for_promise);
    keep_promise(NULL);
    await(0, CEN_OK);
    expect_equal(runs(0), 1);
    end_crew();
}

static cen_next wait_for_child(cen_task *task)
{
    submit(1);
    return cen_task_wait(task, &errands[1].task.future, run_errand);
}

/* guarantees: crew.race */
EXPLORE(a_task_that_waits_for_another_goes_on_after_it, 0)
{
    make_crew(.workers = 2, .max = 2);
    ceni_world_settle();
    submit_as(0, wait_for_child);
    await(0, CEN_OK);
    expect(runs(0) == 1 && runs(1) == 1);
    end_crew();
}

/* ---- Cancel against begin ---------------------------------------------------------------- */

static bool cancelled[2];

static void cancel_first(void *answer)
{
    *(bool *)answer = cen_task_cancel(&errands[0].task);
}

/* guarantees: crew.race */
EXPLORE(a_task_is_cancelled_or_run_and_never_both, 2)
{
    make_crew(.workers = 1, .max = 1);
    ceni_world_settle();
    submit(0);
    cancel_first(&cancelled[0]);
    await(0, cancelled[0] ? CEN_INTERRUPTED : CEN_OK);
    expect_equal(runs(0), !cancelled[0]);
    end_crew();
}

/* guarantees: crew.race */
EXPLORE(of_two_who_cancel_one_task_one_at_most_has_it, 1)
{
    make_crew(.workers = 1, .max = 1);
    ceni_world_settle();
    submit(0);
    ceni_thread other = start("other", cancel_first, &cancelled[0]);
    cancel_first(&cancelled[1]);
    join(other);
    expect(!cancelled[0] || !cancelled[1]);
    await(0, cancelled[0] || cancelled[1] ? CEN_INTERRUPTED : CEN_OK);
    expect_equal(runs(0), !cancelled[0] && !cancelled[1]);
    end_crew();
}

/* The future of one that was taken back by its future is never done. */
/* guarantees: crew.race */
EXPLORE(a_task_whose_future_is_cancelled_is_run_or_never_told, 2)
{
    make_crew(.workers = 1, .max = 1);
    ceni_world_settle();
    submit(0);
    bool given_up = cen_future_cancel(&errands[0].task.future);
    if (!given_up) await(0, CEN_OK);
    end_crew();
    expect_equal(runs(0), !given_up);
    expect_equal(cen_future_is_done(&errands[0].task.future), !given_up);
}

static cen_next yield_once(cen_task *task)
{
    return cen_task_yield(task, run_errand);
}

/* It is queued again for its next step while a cancel is looking for it. */
/* guarantees: crew.race */
EXPLORE(a_task_that_yields_is_not_taken_back_as_if_it_had_not_begun, 2)
{
    make_crew(.workers = 1, .max = 1);
    ceni_world_settle();
    submit_as(0, yield_once);
    cancel_first(&cancelled[0]);
    await(0, cancelled[0] ? CEN_INTERRUPTED : CEN_OK);
    if (cancelled[0]) expect_equal(errands[0].task.step_ == yield_once, true);
    expect_equal(runs(0), !cancelled[0]);
    end_crew();
}

/* ---- Cancel against a move ------------------------------------------------------------------ */

/* The worker takes both out of the injector and puts the second into its own deque. */
/* guarantees: crew.race */
EXPLORE(a_task_that_a_worker_is_just_moving_is_cancelled_all_the_same, 2)
{
    make_crew(.workers = 1, .max = 1);
    ceni_world_settle();
    cen_task *both[] = {&errands[1].task, &errands[0].task};
    both[0]->step_ = wait_for_promise; /* runs until it waits, and so leaves the worker to the second */
    expect_equal(cen_crew_submit_all(crew, both, 2, NULL), CEN_OK);
    cancel_first(&cancelled[0]);
    await(0, cancelled[0] ? CEN_INTERRUPTED : CEN_OK);
    expect_equal(runs(0), !cancelled[0]);
    keep_promise(NULL);
    await(1, CEN_OK);
    end_crew();
}

static cen_next sit(cen_task *task)
{
    await_steps(1);
    return cen_task_done(task, NULL);
}

/* It cannot be begun while the worker is busy, so a cancel must have it wherever the worker has put it. */
/* guarantees: crew.race */
EXPLORE(a_task_that_no_worker_can_begin_is_always_cancelled, 2)
{
    make_crew(.workers = 1, .max = 1);
    ceni_world_settle();
    cen_task *both[] = {&errands[1].task, &errands[0].task};
    both[0]->step_ = sit;
    expect_equal(cen_crew_submit_all(crew, both, 2, NULL), CEN_OK);
    expect(cen_task_cancel(both[1]));
    await(0, CEN_INTERRUPTED);
    count_step();
    await(1, CEN_OK);
    end_crew();
}

/* ---- Memory ------------------------------------------------------------------------------------ */

/* guarantees: crew.race */
EXPLORE(a_task_is_not_touched_once_its_future_is_done, 2)
{
    make_crew(.workers = 1, .max = 1);
    ceni_world_settle();
    errand *own = ceni_alloc(NULL, sizeof *own, _Alignof(errand));
    expect(own != NULL);
    cen_task_init(&own->task, run_errand);
    ceni_store_relaxed(&own->runs, 0); /* nobody else knows it; carries nothing */
    expect_equal(cen_crew_submit(crew, &own->task, NULL), CEN_OK);
    bool mine = cen_task_cancel(&own->task);
    expect_equal(cen_future_wait(&own->task.future, CEN_NEVER), CEN_OK);
    expect_equal(own->task.future.status, mine ? CEN_INTERRUPTED : CEN_OK);
    ceni_free(NULL, own, sizeof *own, _Alignof(errand));
    end_crew();
}
