/* SPDX-License-Identifier: MIT */
/*
 * Threads that are cancelled while they wait for an object, under every schedule: they leave the queue, pass
 * their role on, and keep nothing.
 */
#include "explore/pools.h"

static void cancel_or_serve(cen_pool_options options)
{
    ceni_world_set_cpus(1);
    options.max = 1;
    make_filled(options);
    taker giver = {.lease = take_one()}, other = {.deadline = CEN_NEVER, .status = CEN_MISUSE};
    ceni_thread waiter = start("wait", take_and_give, &other), gives = start("give", give_lease, &giver);
    ceni_world_cancel(waiter);
    join(waiter);
    join(gives);
    expect(other.status == CEN_OK || other.status == CEN_MISUSE); /* the take never returned */
    expect_rest(1);
    end();
}

/* guarantees: pool-bugs.cancellation */
EXPLORE(L5_a_take_that_is_cancelled_and_served_at_once_keeps_nothing, 3)
{
    cancel_or_serve((cen_pool_options){.max = 1});
}

/* guarantees: pool-bugs.cancellation */
EXPLORE(L5_a_take_of_a_strict_pool_that_is_cancelled_and_served_at_once_keeps_nothing, 3)
{
    cancel_or_serve((cen_pool_options){.max_barging_ns = CEN_NONE});
}

/* What was granted is a place to open an object in. */
/* guarantees: pool-bugs.cancellation */
EXPLORE(L5_a_take_that_is_cancelled_while_a_place_is_freed_for_it_leaves_the_place, 2)
{
    ceni_world_set_cpus(1);
    make_opening((cen_pool_options){.max = 1});
    taker giver = {.lease = take_one()}, other = {.deadline = CEN_NEVER};
    ceni_thread waiter = start("wait", take_and_give, &other), gives = start("discard", discard_lease, &giver);
    ceni_world_cancel(waiter);
    join(waiter);
    join(gives);
    cen_lease again = take_one(); /* the place can be used */
    give_one(again);
    expect_rest(1);
    end();
}

/* The first in the queue leaves, so the give calls the second, which is cancelled before it has looked. */
/* guarantees: pool-bugs.cancellation */
EXPLORE(L5_a_take_that_is_called_and_cancelled_at_once_passes_its_role_on, 1)
{
    ceni_world_set_cpus(1);
    make_filled((cen_pool_options){.max = 1});
    cen_lease held = take_one();
    taker takers[3] = {{.deadline = cen_in_ns(1000)}, {.deadline = CEN_NEVER}, {.deadline = CEN_NEVER}};
    ceni_thread threads[3];
    for (int i = 0; i < 3; i++) {
        threads[i] = start("wait", take_and_give, &takers[i]);
        ceni_world_settle();
    }
    ceni_world_advance(1000);
    join(threads[0]);
    give_one(held);
    ceni_world_cancel(threads[1]);
    join(threads[1]);
    join(threads[2]);
    expect_equal(takers[0].status, CEN_TIMEOUT);
    expect_equal(takers[2].status, CEN_OK);
    expect_rest(1);
    end();
}
