/* SPDX-License-Identifier: MIT */
/*
 * Helpers under every schedule: no chore is left when the last helper goes, and
 * the pool's memory outlives whatever has a hand on it.
 */
#include "explore/lives.h"

static void adopt_living(uint32_t number)
{
    ceni_add_relaxed(&things[number].is_open, 1);
    ceni_add_relaxed(&alive, 1);
    expect_equal(cen_pool_adopt(pool, &things[number], NULL), CEN_OK);
}

/* The helper of the first may be on its way out when the second is queued. */
EXPLORE(a_chore_that_comes_when_the_helper_goes_is_done, 2)
{
    make_living(&helped_calls, (cen_pool_options){.max = 2, NO_LIMITS});
    adopt_living(0);
    adopt_living(1);
    cen_lease one = take_one(), two = take_one();
    expect_equal(cen_pool_discard(&one), CEN_OK);
    expect_equal(cen_pool_discard(&two), CEN_OK);
    ceni_world_settle();
    expect_equal(alive, 0);
    expect_calm(0);
    expect_equal(pool->hands, 0);
    end_helped();
}

EXPLORE(L15_a_pool_that_is_freed_lives_until_its_helpers_have_gone, 2)
{
    make_living(&helped_calls, (cen_pool_options){.max = 1, NO_LIMITS});
    adopt_living(0);
    cen_lease lease = take_one();
    expect_equal(cen_pool_discard(&lease), CEN_OK);
    end_helped();
}

/* The thread that frees drops the last hand: it ends the runtime and joins its threads. */
/* guarantees: runtime.wait-idle */
EXPLORE(L15_no_helper_between_two_calls_is_left_when_free_returns, 2)
{
    cen_runtime_stats stats = CEN_SIZED(cen_runtime_stats);
    make_living(&helped_calls, (cen_pool_options){.max = 1, NO_LIMITS});
    adopt_living(0);
    cen_lease lease = take_one();
    expect_equal(cen_pool_discard(&lease), CEN_OK);
    expect_equal(cen_pool_close(pool, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(cen_pool_free(pool), CEN_OK);
    expect_equal(cen_runtime_stats_get(NULL, &stats), CEN_OK);
    expect_equal(stats.users, 0);
    expect_equal(alive, 0);
    ceni_world_settle(); /* one that lingered out before may still be leaving */
}

static _Atomic uint32_t may_open;

static cen_status open_when_told(void *unused, void **out, cen_error *error)
{
    for (;;) {
        if (ceni_load_seq_cst(&may_open)) return open_thing(unused, out, error);
        ceni_futex_wait(&may_open, 0, CENI_FOREVER);
    }
}

static const cen_driver_calls hanging_calls = {
    .size = sizeof hanging_calls, .open = open_when_told, .close = close_thing, .blocks = true};

/* It enters the driver just before, while or just after free looks. */
/* guarantees: runtime.wait-idle */
EXPLORE(L15_free_does_not_wait_for_a_helper_that_hangs_in_the_driver, 2)
{
    ceni_store_relaxed(&may_open, 0); /* before there are threads; carries nothing */
    make_living(&hanging_calls, (cen_pool_options){.max = 1, NO_LIMITS});
    cen_lease lease;
    expect_equal(cen_pool_take(pool, CEN_NOW, &lease, NULL), CEN_TIMEOUT);
    expect_equal(cen_pool_free(pool), CEN_OK);
    ceni_store_seq_cst(&may_open, 1);
    ceni_futex_wake(&may_open, 1);
    ceni_world_settle();
    expect_equal(alive, 0);
}

/* What is held becomes a zombie whose last give needs a helper once more. */
EXPLORE(L15_what_comes_back_to_a_freed_pool_is_closed_by_a_helper, 2)
{
    make_living(&helped_calls, (cen_pool_options){.max = 1, NO_LIMITS});
    adopt_living(0);
    taker other = {.lease = take_one()};
    ceni_thread giver = start("give", give_lease, &other);
    expect_equal(cen_pool_free(pool), CEN_OK);
    join(giver);
    expect(other.given == CEN_OK || other.given == CEN_REVOKED);
    ceni_world_settle();
    expect_equal(alive, 0);
}

EXPLORE(L15_close_awaits_an_opening_that_nobody_waits_for, 2)
{
    make_living(&helped_calls, (cen_pool_options){.max = 1, NO_LIMITS});
    cen_lease lease;
    cen_status status = cen_pool_take(pool, cen_in_ns(1000), &lease, NULL);
    if (status == CEN_OK) give_one(lease);
    expect_equal(cen_pool_close(pool, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(alive, 0);
    expect_equal(pool->live, 0);
    end_helped();
}

/* A dirty object is reset by a helper while somebody waits for it. */
EXPLORE(L3_who_waits_gets_what_a_helper_has_reset, 2)
{
    ceni_world_set_cpus(1);
    make_living(&checked_calls, (cen_pool_options){.max = 1, NO_LIMITS});
    adopt_living(0);
    condition = CEN_DIRTY;
    cen_lease lease = take_one();
    expect_equal(cen_pool_give(&lease), CEN_OK);
    expect_equal(cen_pool_take(pool, CEN_NEVER, &lease, NULL), CEN_OK);
    expect(lease.object == &things[0]);
    condition = CEN_BROKEN;
    expect_equal(cen_pool_give(&lease), CEN_OK);
    ceni_world_settle();
    expect_calm(0);
    end_helped();
}

EXPLORE(L15_close_awaits_a_reset, 2)
{
    make_living(&checked_calls, (cen_pool_options){.max = 1, NO_LIMITS});
    adopt_living(0);
    condition = CEN_DIRTY;
    cen_lease lease = take_one();
    expect_equal(cen_pool_give(&lease), CEN_OK);
    expect_equal(cen_pool_close(pool, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(alive, 0);
    end_helped();
}
