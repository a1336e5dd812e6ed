/* SPDX-License-Identifier: MIT */
/*
 * Those who ask, by the public interface, under every schedule: each is
 * cancelled or told, once; what was cancelled gets nothing (L5, L6); no object is
 * lost, and nobody waits beside one that is idle (L3).
 */
#include "explore/asks.h"

/* ---- Cancel against give ---------------------------------------------------------------------------- */

static void cancel_against_give(cen_pool_options options)
{
    request one;
    make(options);
    cen_lease mine = take_one();
    make_ready(&one, false);
    ask_for(&one, CEN_NEVER);
    ceni_thread canceller = start("cancel", cancel_it, &one);
    give_one(mine);
    join(canceller);
    expect_one_of(&one, CEN_OK, CEN_OK);
    expect_rest(1);
    end();
}

/* guarantees: async.L6 */
EXPLORE(L6_a_cancel_that_meets_a_give_says_exactly_one_of_cancelled_and_yours, 4)
{
    cancel_against_give((cen_pool_options)ONE);
}

/* guarantees: async.L6 */
EXPLORE(L6_a_cancel_that_meets_a_give_of_a_strict_pool, 4)
{
    cancel_against_give((cen_pool_options)ONE_STRICT);
}

/* guarantees: async.L6 */
EXPLORE(L6_a_cancel_that_meets_a_give_of_a_fifo_pool, 4)
{
    cancel_against_give((cen_pool_options)ONE_FIFO);
}

/* guarantees: async.L5 */
EXPLORE(L5_what_a_cancelled_ask_does_not_get_the_next_who_asks_gets, 3)
{
    request one, two;
    make((cen_pool_options)ONE);
    cen_lease mine = take_one();
    make_ready(&one, true);
    make_ready(&two, true);
    ask_for(&one, CEN_NEVER);
    ask_for(&two, CEN_NEVER);
    ceni_thread canceller = start("cancel", cancel_it, &one);
    give_one(mine);
    join(canceller);
    expect_one_of(&one, CEN_OK, CEN_OK);
    expect_equal(two.told, 1);
    expect_rest(1);
    end();
}

/* guarantees: async.L5 */
EXPLORE(L5_what_a_cancelled_ask_does_not_get_a_thread_behind_it_gets, 3)
{
    request one;
    taker two = {.deadline = CEN_NEVER};
    make((cen_pool_options)ONE);
    cen_lease mine = take_one();
    make_ready(&one, true);
    ask_for(&one, CEN_NEVER);
    ceni_thread canceller = start("cancel", cancel_it, &one), waiter = start("wait", take_and_give, &two);
    give_one(mine);
    join(canceller);
    join(waiter);
    expect_one_of(&one, CEN_OK, CEN_OK);
    expect_equal(two.status, CEN_OK);
    expect_rest(1);
    end();
}

/* ---- Nobody is forgotten ----------------------------------------------------------------------------------- */

/* guarantees: async.L3 */
EXPLORE(L3_two_who_ask_share_one_object, 3)
{
    request one, two;
    make((cen_pool_options)ONE);
    make_ready(&one, true);
    make_ready(&two, true);
    ceni_thread first = start("one", ask_now_and_then_give, &one), second = start("two", ask_now_and_then_give, &two);
    join(first);
    join(second);
    expect(one.told == 1 && two.told == 1);
    expect_rest(1);
    end();
}

/* One of them joins behind the other, and looks for nothing on its own account. */
EXPLORE(L3_two_who_ask_are_reached_by_two_gives, 2)
{
    request one, two;
    make((cen_pool_options){.max = 2});
    cen_lease mine = take_one();
    taker other = {.lease = take_one()};
    make_ready(&one, false);
    make_ready(&two, false);
    ceni_thread first = start("one", ask_now_and_then_give, &one), second = start("two", ask_now_and_then_give, &two);
    ceni_thread giver = start("give", give_lease, &other);
    give_one(mine);
    join(first);
    join(second);
    join(giver);
    expect(one.told == 1 && two.told == 1);
    give_one(one.take.lease);
    give_one(two.take.lease);
    expect_rest(2);
    end();
}

/* guarantees: async.L3 */
EXPLORE(L3_an_ask_that_meets_a_give_is_served, 4)
{
    request one;
    make((cen_pool_options)ONE);
    cen_lease mine = take_one();
    make_ready(&one, true);
    ceni_thread asker_one = start("ask", ask_now_and_then_give, &one);
    give_one(mine);
    join(asker_one);
    expect_equal(one.told, 1);
    expect_rest(1);
    end();
}

/* guarantees: async.L3 */
EXPLORE(L3_one_who_asks_and_a_thread_share_one_object, 3)
{
    request one;
    taker two = {.deadline = CEN_NEVER};
    make((cen_pool_options)ONE);
    cen_lease mine = take_one();
    make_ready(&one, true);
    ceni_thread first = start("ask", ask_now_and_then_give, &one), second = start("wait", take_and_give, &two);
    give_one(mine);
    join(first);
    join(second);
    expect_equal(one.told, 1);
    expect_equal(two.status, CEN_OK);
    expect_rest(1);
    end();
}

/* guarantees: async.L3 */
EXPLORE(L3_two_who_ask_have_an_object_opened_each_or_share_one, 3)
{
    request one, two;
    ceni_world_set_cpus(1);
    make_opening((cen_pool_options){.max = 1});
    make_ready(&one, true);
    make_ready(&two, true);
    ceni_thread first = start("one", ask_now_and_then_give, &one);
    ask_for(&two, CEN_NEVER);
    join(first);
    expect(one.told == 1 && two.told == 1);
    expect_rest(1);
    end();
}

static void discard_mine(void *into)
{
    expect_equal(cen_pool_discard(into), CEN_OK);
}

/* guarantees: async.L3 */
EXPLORE(L3_an_ask_that_meets_a_discard_has_an_object_opened, 3)
{
    request one;
    ceni_world_set_cpus(1);
    make_opening((cen_pool_options){.max = 1});
    cen_lease mine = take_one();
    make_ready(&one, true);
    ceni_thread other = start("discard", discard_mine, &mine);
    ask_for(&one, CEN_NEVER);
    join(other);
    expect_equal(one.told, 1);
    expect_rest(1);
    end();
}
