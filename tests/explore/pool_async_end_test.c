/* SPDX-License-Identifier: MIT */
/*
 * The ends of those who ask under every schedule: deadlines against give and
 * cancel, close and free against all of them. Each is told once, or cancelled;
 * what has expired gets nothing (L5), and who is told late keeps the pool (L15).
 */
#include "explore/asks.h"

/* ---- Deadlines ------------------------------------------------------------------------------------------ */

static void deadline_against_give(cen_pool_options options)
{
    request one;
    make_timed(options);
    cen_lease mine = take_one();
    make_ready(&one, false);
    ask_for(&one, cen_in_ns(1000));
    ceni_thread time = start("time", let_time_pass, NULL);
    give_one(mine);
    join(time);
    expect_one_of(&one, CEN_OK, CEN_TIMEOUT);
    expect_rest(1);
    end_timed();
}

/* guarantees: async.L5 */
EXPLORE(L5_a_deadline_that_meets_a_give_either_expires_or_is_served, 4)
{
    deadline_against_give((cen_pool_options)ONE);
}

/* guarantees: async.L5 */
EXPLORE(L5_a_deadline_that_meets_a_give_of_a_strict_pool, 3)
{
    deadline_against_give((cen_pool_options)ONE_STRICT);
}

/* guarantees: async.L5 */
EXPLORE(L5_a_deadline_that_meets_a_cancel_is_told_or_cancelled, 4)
{
    request one;
    make_timed((cen_pool_options)ONE);
    cen_lease mine = take_one();
    make_ready(&one, false);
    ask_for(&one, cen_in_ns(1000));
    ceni_thread time = start("time", let_time_pass, NULL);
    cancel_it(&one);
    join(time);
    expect_one_of(&one, CEN_TIMEOUT, CEN_TIMEOUT);
    give_one(mine);
    expect_rest(1);
    end_timed();
}

/* guarantees: async.L5 */
EXPLORE(L5_what_an_expired_ask_does_not_get_a_thread_behind_it_gets, 2)
{
    request one;
    taker two = {.deadline = CEN_NEVER};
    make_timed((cen_pool_options)ONE);
    cen_lease mine = take_one();
    make_ready(&one, true);
    ask_for(&one, cen_in_ns(1000));
    ceni_thread waiter = start("wait", take_and_give, &two), giver = start("time", let_time_pass, NULL);
    give_one(mine);
    join(giver);
    join(waiter);
    expect_one_of(&one, CEN_OK, CEN_TIMEOUT);
    expect_equal(two.status, CEN_OK);
    expect_rest(1);
    end_timed();
}

static void ask_with_a_deadline(void *into)
{
    ask_for(into, cen_in_ns(1000));
}

/* guarantees: async.deadline */
EXPLORE(two_who_ask_with_the_first_deadlines_of_a_pool_share_what_keeps_them, 3)
{
    request one, two;
    make_timed((cen_pool_options)ONE);
    cen_lease mine = take_one();
    make_ready(&one, false);
    make_ready(&two, false);
    ceni_thread other = start("ask", ask_with_a_deadline, &one);
    ask_for(&two, cen_in_ns(2000));
    join(other);
    let_time_pass(NULL);
    expect_one_of(&one, CEN_TIMEOUT, CEN_TIMEOUT);
    let_time_pass(NULL);
    expect_one_of(&two, CEN_TIMEOUT, CEN_TIMEOUT);
    give_one(mine);
    expect_rest(1);
    end_timed();
}

/* ---- Close and free -------------------------------------------------------------------------------------------- */

/* guarantees: async.L15 */
EXPLORE(L15_an_ask_that_meets_a_close_is_served_or_told_so, 3)
{
    request one;
    make((cen_pool_options)ONE);
    make_ready(&one, true);
    ceni_thread asker_one = start("ask", ask_now_and_then_give, &one);
    cen_status status = cen_pool_close(pool, CEN_NEVER, NULL, NULL);
    join(asker_one);
    expect_equal(status, CEN_OK);
    expect_one_of(&one, CEN_OK, CEN_CLOSED);
    end();
}

/* guarantees: async.L15 */
EXPLORE(L15_a_cancel_that_meets_a_free_is_told_or_cancelled, 3)
{
    request one;
    make((cen_pool_options)ONE);
    cen_lease mine = take_one();
    make_ready(&one, false);
    one.take.future.error = &one.error;
    ask_for(&one, CEN_NEVER);
    ceni_thread canceller = start("cancel", cancel_it, &one);
    end();
    join(canceller);
    expect_one_of(&one, CEN_CLOSED, CEN_CLOSED);
    expect_equal(cen_pool_give(&mine), CEN_REVOKED);
}

/* guarantees: async.L15 */
EXPLORE(L15_a_deadline_that_meets_a_free_is_told_one_of_the_two, 3)
{
    request one;
    make_timed((cen_pool_options)ONE);
    cen_lease mine = take_one();
    make_ready(&one, false);
    one.take.future.error = &one.error;
    ask_for(&one, cen_in_ns(1000));
    ceni_thread time = start("time", let_time_pass, NULL);
    end();
    join(time);
    expect_one_of(&one, CEN_TIMEOUT, CEN_CLOSED);
    expect_equal(one.error.status, one.take.future.status);
    expect_equal(cen_pool_give(&mine), CEN_REVOKED);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
}

static cen_status open_nothing(void *unused, void **out, cen_error *error)
{
    (void)unused, (void)out, (void)error;
    return CEN_SYSTEM;
}

static const cen_driver_calls broken_calls = {
    .size = sizeof broken_calls, .open = open_nothing, .closes_nothing = true};

static void discard_last(void *into)
{
    cen_status status = cen_pool_discard(into);
    expect(status == CEN_OK || status == CEN_REVOKED);
}

/* guarantees: async.L15 */
EXPLORE(L15_one_who_is_told_that_nothing_will_come_keeps_the_pool_while_it_is_freed, 2)
{
    request first, one;
    cen_runtime_options timed = CEN_RUNTIME_OPTIONS(.manual = true, .virtual_time = true);
    expect_equal(cen_runtime_new(&timed, &runtime, NULL), CEN_OK);
    begin(0);
    cen_pool_options options = CEN_POOL_OPTIONS(.max = 2, .driver = {&broken_calls, NULL}, .runtime = runtime,
                                                .breaker_failures = 1, .backoff_initial_ns = 1000000);
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    adopt_thing(0);
    cen_lease mine = take_one();
    make_ready(&first, false); /* fails, and opens the breaker */
    ask_for(&first, CEN_NEVER);
    expect_one_of(&first, CEN_SYSTEM, CEN_SYSTEM);
    make_ready(&one, false);
    one.take.future.error = &one.error;
    ask_for(&one, CEN_NEVER); /* waits for what is out */
    ceni_thread other = start("discard", discard_last, &mine);
    expect_equal(cen_pool_free(pool), CEN_OK);
    join(other);
    expect_one_of(&one, CEN_SYSTEM, CEN_CLOSED);
    expect_equal(one.error.status, one.take.future.status);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
}
