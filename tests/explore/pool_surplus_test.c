/* SPDX-License-Identifier: MIT */
/*
 * A smaller max, and a driver whose close takes as long as it likes. While there
 * are too many objects nobody in line is served; the moment there are not, they
 * must be, and not only after the object that was too many has been closed.
 */
#include "explore/pools.h"

static _Atomic uint32_t served;

static void close_when_served(void *unused, void *object)
{
    (void)unused, (void)object;
    while (ceni_load_seq_cst(&served) == 0) ceni_futex_wait(&served, 0, CENI_FOREVER);
}

static void take_and_say(void *into)
{
    take_and_keep(into);
    ceni_add_seq_cst(&served, 1);
    ceni_futex_wake(&served, UINT32_MAX);
}

static void give_it(void *lease)
{
    give_one(*(cen_lease *)lease);
}

static void lower_max_while_somebody_waits(int64_t max_barging_ns)
{
    static const cen_driver_calls calls = {.size = sizeof calls, .close = close_when_served, .opens_nothing = true};
    ceni_world_set_cpus(1);
    served = 0;
    make_filled((cen_pool_options){.max = 3, .driver = {&calls, NULL}, .max_barging_ns = max_barging_ns});
    cen_lease mine[3] = {take_one(), take_one(), take_one()};
    taker other = {.deadline = CEN_NEVER};
    ceni_thread waiter = start("wait", take_and_say, &other);
    ceni_world_settle(); /* it stands in line */
    ceni_thread one = start("one", give_it, &mine[0]);
    ceni_thread two = start("two", give_it, &mine[1]);
    expect_equal(cen_pool_resize(pool, 2, NULL), CEN_OK);
    join(waiter);
    join(one);
    join(two);
    expect_equal(other.status, CEN_OK);
    give_one(other.lease);
    give_one(mine[2]);
    expect_rest(2);
    end();
}

/* guarantees: pool.L3 */
EXPLORE(L3_one_who_waits_is_served_before_what_is_too_many_has_been_closed, 2)
{
    lower_max_while_somebody_waits(0);
}

/* guarantees: pool.L3 */
EXPLORE(L3_one_who_waits_for_a_strict_pool_is_served_before_what_is_too_many_has_been_closed, 2)
{
    lower_max_while_somebody_waits(CEN_NONE);
}
