/* SPDX-License-Identifier: MIT */
/* A stop that drops a suspended task, under every schedule: against the completion of its future, its beginning to wait, a
 * cancel, its deadline, and another stop. */
#include "explore/crews.h"

static _Atomic uint32_t told;
static _Atomic uint32_t kept; /* what cen_promise_complete returned */

static void count_told(cen_future *future)
{
    (void)future;
    ceni_add_seq_cst(&told, 1);
}

static void submit_waiter(cen_deadline deadline)
{
    make_crew(.workers = 1, .max = 1);
    ceni_world_settle();
    ceni_store_relaxed(&told, 0); /* nobody else is there; carries nothing */
    ceni_store_relaxed(&kept, 0); /* likewise; carries nothing */
    expect_equal(cen_future_then(&errands[0].task.future, count_told, cen_inline()), CEN_OK);
    errands[0].task.deadline = deadline;
    submit_as(0, wait_for_promise);
}

static void drop_crew(void)
{
    expect_equal(cen_crew_stop(crew, CEN_STOP_DROP, CEN_NEVER, NULL, NULL), CEN_OK);
}

/* It went on to its end, or ran no further step: it was dropped, or had not begun when its deadline passed. */
static void expect_one_end(void)
{
    cen_status status = errands[0].task.future.status;
    expect_equal(ceni_load_seq_cst(&told), 1);
    expect(status == CEN_OK || status == CEN_CLOSED || (status == CEN_TIMEOUT && errands[0].task.deadline.ns_ != 0));
    expect_equal(runs(0), status == CEN_OK);
}

static void try_keep(void *unused)
{
    (void)unused;
    ceni_store_seq_cst(&kept, (uint32_t)cen_promise_complete(&promise, NULL));
}

/* guarantees: crew.stop-suspended */
EXPLORE(a_suspended_task_goes_on_if_its_future_is_kept_and_is_dropped_if_it_is_not, 2)
{
    submit_waiter(CEN_DEADLINE_(0));
    ceni_world_settle();
    ceni_thread other = start("other", try_keep, NULL);
    drop_crew();
    join(other);
    expect_one_end();
    expect_equal(runs(0), ceni_load_seq_cst(&kept));
    free_crew();
}

/* Nobody keeps the promise: only the stop ends the wait. */
/* guarantees: crew.stop-suspended */
EXPLORE(a_task_that_begins_to_wait_while_its_crew_drops_is_dropped, 2)
{
    submit_waiter(CEN_DEADLINE_(0));
    drop_crew();
    expect_one_end();
    expect_equal(runs(0), 0);
    free_crew();
}

static void cancel_it(void *unused)
{
    (void)unused;
    cen_task_cancel(&errands[0].task);
}

/* guarantees: crew.stop-suspended */
EXPLORE(a_suspended_task_that_is_cancelled_while_its_crew_drops_ends_once, 2)
{
    submit_waiter(CEN_DEADLINE_(0));
    ceni_world_settle();
    ceni_thread other = start("other", cancel_it, NULL);
    drop_crew();
    join(other);
    expect_one_end();
    free_crew();
}

/* guarantees: crew.stop-suspended */
EXPLORE(a_suspended_task_whose_deadline_passes_while_its_crew_drops_ends_once, 1)
{
    submit_waiter(cen_in_ms(1));
    ceni_world_settle();
    drop_crew();
    expect_one_end();
    free_crew();
}

static void drop_too(void *unused)
{
    (void)unused;
    drop_crew();
}

/* guarantees: crew.stop-suspended */
EXPLORE(two_stops_drop_a_suspended_task_once, 1)
{
    submit_waiter(CEN_DEADLINE_(0));
    ceni_world_settle();
    ceni_thread other = start("other", drop_too, NULL);
    drop_crew();
    join(other);
    expect_one_end();
    expect_equal(runs(0), 0);
    free_crew();
}
