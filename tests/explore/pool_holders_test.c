/* SPDX-License-Identifier: MIT */
/*
 * The end of a thread while others give, detach, revoke or wait for what it
 * holds, in every order (L13).
 */
#include "explore/pools.h"

/* ---- The end of a thread ----------------------------------------------------------------- */

/* One that ends holding something. Only its own end is looked for: no other thread arms. */
typedef struct ending {
    cen_lease lease;
    _Atomic uint32_t has; /* it holds the lease: another may use it */
} ending;

static void hold_and_end(void *into)
{
    ending *self = into;
    self->lease = take_one();
    use(&self->lease);
    ceni_store_release(&self->has, 1);
    ceni_futex_wake(&self->has, 1);
}

static cen_lease passed_by(ending *one)
{
    while (ceni_load_acquire(&one->has) == 0) ceni_futex_wait(&one->has, 0, CENI_FOREVER);
    return one->lease;
}

static void make_owned(cen_holder_end_policy policy, cen_order order)
{
    make_opening((cen_pool_options){.max = 1, .on_holder_end = policy, .order = order});
    ceni_world_with_hooks();
}

/* The lease was passed to main, which gives it while its taker ends: one of the two ends it. */
static void given_while_its_taker_ends(cen_holder_end_policy policy, cen_order order)
{
    make_owned(policy, order);
    ending one = {.has = 0};
    ceni_thread thread = start("ends", hold_and_end, &one);
    cen_lease lease = passed_by(&one);
    cen_status given = cen_pool_give(&lease);
    join(thread);
    expect(given == CEN_OK || given == CEN_STALE);
    expect_equal(things[0].is_open, given == CEN_OK || policy != CEN_HOLDER_END_CLOSE);
    expect_rest(things[0].is_open);
    end();
}

/* guarantees: pool.L13 */
EXPLORE(L13_of_a_give_and_the_end_of_the_taker_one_ends_the_lease, 4)
{
    given_while_its_taker_ends(CEN_HOLDER_END_CLOSE, CEN_ORDER_WARM);
}

/* guarantees: pool.L13 */
EXPLORE(L13_of_a_give_and_the_end_of_the_taker_one_ends_the_lease_that_is_reused, 3)
{
    given_while_its_taker_ends(CEN_HOLDER_END_REUSE, CEN_ORDER_WARM);
}

/* guarantees: pool.L13 */
EXPLORE(L13_of_a_give_and_the_end_of_the_taker_one_ends_the_lease_of_a_fifo_pool, 3)
{
    given_while_its_taker_ends(CEN_HOLDER_END_TEST, CEN_ORDER_FIFO);
}

/* Main detaches it: if that is OK the object stays main's, whatever its taker does. */
static void detached_while_its_taker_ends(cen_holder_end_policy policy)
{
    make_owned(policy, CEN_ORDER_WARM);
    ending one = {.has = 0};
    ceni_thread thread = start("ends", hold_and_end, &one);
    cen_lease lease = passed_by(&one);
    cen_status detached = cen_pool_detach(&lease);
    if (detached == CEN_OK) use(&lease);
    join(thread);
    expect(detached == CEN_OK || detached == CEN_STALE);
    expect_equal(cen_pool_give(&lease), detached);
    expect_equal(things[0].is_open, detached == CEN_OK || policy != CEN_HOLDER_END_CLOSE);
    expect_rest(things[0].is_open);
    end();
}

/* guarantees: pool.L13 */
EXPLORE(L13_what_was_detached_in_time_is_not_taken_back, 4)
{
    detached_while_its_taker_ends(CEN_HOLDER_END_CLOSE);
}

/* guarantees: pool.L13 */
EXPLORE(L13_what_was_detached_in_time_is_not_given_to_another, 3)
{
    detached_while_its_taker_ends(CEN_HOLDER_END_REUSE);
}

/* Its taker ends while close takes it away: it is closed once, and nobody waits for it. */
/* guarantees: pool.L15 */
EXPLORE(L15_what_is_revoked_while_its_taker_ends_is_closed_once, 3)
{
    make_owned(CEN_HOLDER_END_REUSE, CEN_ORDER_WARM);
    ending one = {.has = 0};
    ceni_thread thread = start("ends", hold_and_end, &one);
    passed_by(&one);
    cen_status status = cen_pool_close(pool, CEN_NOW, NULL, NULL);
    join(thread);
    expect(status == CEN_OK || status == CEN_TIMEOUT);
    expect_equal(things[0].is_open, 0);
    expect_rest(0);
    end();
}

/* The same with free: whoever is last gives the memory back. */
/* guarantees: pool.L15 */
EXPLORE(L15_a_pool_that_is_freed_while_a_holder_ends_is_gone_afterwards, 3)
{
    make_owned(CEN_HOLDER_END_CLOSE, CEN_ORDER_WARM);
    ending one = {.has = 0};
    ceni_thread thread = start("ends", hold_and_end, &one);
    passed_by(&one);
    expect_equal(cen_pool_free(pool), CEN_OK);
    join(thread);
    expect_equal(alive, 0);
    expect_equal(ceni_world_bytes(), 0);
}

/* Whoever waits is served by the end of the holder. */
EXPLORE(L3_the_end_of_a_holder_reaches_a_thread_that_waits, 3)
{
    ceni_world_set_cpus(1);
    make_owned(CEN_HOLDER_END_REUSE, CEN_ORDER_WARM);
    ending one = {.has = 0};
    ceni_thread thread = start("ends", hold_and_end, &one);
    passed_by(&one);
    ceni_world_without_hooks();
    cen_lease mine;
    expect_equal(cen_pool_take(pool, CEN_NEVER, &mine, NULL), CEN_OK);
    use(&mine);
    join(thread);
    give_one(mine);
    expect_rest(1);
    end();
}
