/* SPDX-License-Identifier: MIT */
/*
 * The end of a task, and the question what it holds, while another thread gives,
 * detaches, revokes or waits for it, in every order (L13).
 */
#include "explore/pools.h"

#include "sync/holder.h"

static ceni_holder holder;

/* Main runs a step of a task that takes one object. */
static cen_lease begin_task(cen_holder_end_policy policy)
{
    make_opening((cen_pool_options){.max = 1, .on_holder_end = policy});
    ceni_holder_before before;
    holder = (ceni_holder){0};
    ceni_holder_enter(&holder, &before);
    cen_lease lease = take_one();
    use(&lease);
    ceni_holder_leave(&holder, &before);
    return lease;
}

static bool task_holds(void)
{
    ceni_holder_before before;
    ceni_holder_enter(&holder, &before);
    bool answer = ceni_holder_holds();
    ceni_holder_leave(&holder, &before);
    return answer;
}

/* ---- The end ----------------------------------------------------------------------------- */

static void given_while_the_task_ends(cen_holder_end_policy policy)
{
    taker giver = {.lease = begin_task(policy)};
    ceni_thread thread = start("gives", give_lease, &giver);
    ceni_holder_end(&holder);
    join(thread);
    expect(giver.given == CEN_OK || giver.given == CEN_STALE);
    expect_equal(things[0].is_open, giver.given == CEN_OK || policy != CEN_HOLDER_END_CLOSE);
    expect_rest(things[0].is_open);
    end();
}

/* guarantees: pool.L13-task */
EXPLORE(L13_of_a_give_and_the_end_of_the_task_one_ends_the_lease, 4)
{
    given_while_the_task_ends(CEN_HOLDER_END_CLOSE);
}

/* guarantees: pool.L13-task */
EXPLORE(L13_of_a_give_and_the_end_of_the_task_one_ends_the_lease_that_is_reused, 4)
{
    given_while_the_task_ends(CEN_HOLDER_END_REUSE);
}

/* The task asks and waits. While it ends, another thread gives what it waits for: the lease is nobody's, or ends with the task. */
static cen_take_op asked;

/* guarantees: pool.L13-task */
EXPLORE(L13_an_ask_that_is_granted_while_its_task_ends_is_not_lost, 3)
{
    make_opening((cen_pool_options){.max = 1, .on_holder_end = CEN_HOLDER_END_REUSE});
    taker giver = {.lease = take_one()};
    ceni_holder_before before;
    holder = (ceni_holder){0};
    ceni_holder_enter(&holder, &before);
    cen_take_op_init(&asked, NULL, NULL);
    expect_equal(cen_pool_take_async(pool, CEN_NEVER, &asked), CEN_OK);
    ceni_holder_leave(&holder, &before);
    ceni_thread thread = start("gives", give_lease, &giver);
    ceni_holder_end(&holder);
    join(thread);
    expect(cen_future_is_done(&asked.future) && asked.future.status == CEN_OK);
    cen_status given = cen_pool_give(&asked.lease);
    expect(given == CEN_OK || given == CEN_STALE);
    expect_rest(1);
    end();
}

static void detach_lease(void *into)
{
    taker *self = into;
    self->status = cen_pool_detach(&self->lease);
}

/* guarantees: pool.L13-task */
EXPLORE(L13_what_is_detached_in_time_survives_the_task, 4)
{
    taker other = {.lease = begin_task(CEN_HOLDER_END_CLOSE)};
    ceni_thread thread = start("detaches", detach_lease, &other);
    ceni_holder_end(&holder);
    join(thread);
    expect(other.status == CEN_OK || other.status == CEN_STALE);
    expect_equal(cen_pool_give(&other.lease), other.status);
    expect_equal(things[0].is_open, other.status == CEN_OK);
    expect_rest(things[0].is_open);
    end();
}

static void close_now(void *into)
{
    taker *self = into;
    self->status = cen_pool_close(pool, CEN_NOW, NULL, NULL);
}

/* guarantees: pool.L13-task */
EXPLORE(L15_what_is_revoked_while_its_task_ends_is_closed_once, 3)
{
    begin_task(CEN_HOLDER_END_REUSE);
    taker closer = {.status = CEN_OK};
    ceni_thread thread = start("closes", close_now, &closer);
    ceni_holder_end(&holder);
    join(thread);
    expect(closer.status == CEN_OK || closer.status == CEN_TIMEOUT);
    expect_equal(things[0].is_open, 0);
    expect_rest(0);
    end();
}

static void free_now(void *unused)
{
    (void)unused;
    expect_equal(cen_pool_free(pool), CEN_OK);
}

/* guarantees: pool.L13-task */
EXPLORE(L15_a_pool_that_is_freed_while_a_task_ends_is_gone_afterwards, 3)
{
    begin_task(CEN_HOLDER_END_CLOSE);
    ceni_thread thread = start("frees", free_now, NULL);
    ceni_holder_end(&holder);
    join(thread);
    expect_equal(alive, 0);
    expect_equal(ceni_world_bytes(), 0);
}

/* guarantees: pool.L13-task */
EXPLORE(L3_the_end_of_a_task_reaches_a_thread_that_waits, 3)
{
    ceni_world_set_cpus(1);
    begin_task(CEN_HOLDER_END_REUSE);
    taker waiter = {.deadline = CEN_NEVER};
    ceni_thread thread = start("waits", take_and_give, &waiter);
    ceni_holder_end(&holder);
    join(thread);
    expect(waiter.status == CEN_OK && waiter.given == CEN_OK);
    expect_rest(1);
    end();
}

/* ---- The question ------------------------------------------------------------------------- */

/* Another gives it meanwhile: the answer may be either, but once it is no it stays no, and afterwards it is no. */
/* guarantees: pool.holder-count */
EXPLORE(a_task_whose_lease_another_gives_is_told_the_truth_of_some_moment, 4)
{
    taker giver = {.lease = begin_task(CEN_HOLDER_END_CLOSE)};
    ceni_thread thread = start("gives", give_lease, &giver);
    bool first = task_holds(), second = task_holds();
    join(thread);
    expect(first || !second);
    expect_equal(giver.given, CEN_OK);
    expect(!task_holds());
    ceni_holder_end(&holder);
    expect_rest(1);
    end();
}

/* Another gives the one while the task takes and keeps the other: that is never missed. */
/* guarantees: pool.holder-count */
EXPLORE(a_task_that_takes_again_while_another_gives_its_first_lease_holds_something, 4)
{
    make_filled((cen_pool_options){.max = 2, .on_holder_end = CEN_HOLDER_END_REUSE});
    ceni_holder_before before;
    holder = (ceni_holder){0};
    ceni_holder_enter(&holder, &before);
    taker giver = {.lease = take_one()};
    ceni_thread thread = start("gives", give_lease, &giver);
    ceni_holder_holds();
    cen_lease kept = take_one();
    expect(ceni_holder_holds());
    join(thread);
    expect(ceni_holder_holds());
    give_one(kept);
    expect(!ceni_holder_holds());
    ceni_holder_leave(&holder, &before);
    expect_rest(2);
    end();
}

static void free_another(void *other)
{
    expect_equal(cen_pool_free(other), CEN_OK);
}

/* A pool that goes away while it is looked at is not touched afterwards. */
/* guarantees: pool.holder-count */
EXPLORE(a_pool_may_be_freed_while_a_task_asks_what_it_holds, 3)
{
    cen_pool *other; /* before the one in which something is found: it is looked at */
    cen_pool_options options = CEN_POOL_OPTIONS(.max = 1);
    expect_equal(cen_pool_new(&options, &other, NULL), CEN_OK);
    begin_task(CEN_HOLDER_END_REUSE);
    ceni_thread thread = start("frees", free_another, other);
    expect(task_holds());
    join(thread);
    ceni_holder_end(&holder);
    expect_rest(1);
    end();
    expect_equal(ceni_world_bytes(), 0);
}
