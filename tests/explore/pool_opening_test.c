/* SPDX-License-Identifier: MIT */
/*
 * Openings under every schedule: that one ends, well or not, is noticed by all
 * whom it concerns.
 */
#include "explore/lives.h"

#define FRAGILE .backoff_initial_ns = SECOND, .backoff_max_ns = SECOND

/* ---- On helpers --------------------------------------------------------------------- */

/* It belongs to the pool: the object is there afterwards, in use or idle. */
EXPLORE(L10_an_opening_goes_on_when_who_waited_for_it_gives_up, 2)
{
    make_living(&helped_calls, (cen_pool_options){.max = 1, NO_LIMITS});
    cen_lease lease;
    cen_status status = cen_pool_take(pool, cen_in_ns(1000), &lease, NULL);
    expect(status == CEN_OK || status == CEN_TIMEOUT);
    if (status == CEN_OK) give_one(lease);
    ceni_world_settle();
    cen_pool_stats s = look_alive();
    expect(s.opened <= 1 && s.idle == s.opened && s.opening == 0);
    expect_equal(pool->opening + pool->hired + pool->hands, 0);
    end_helped();
}

/* Each opens one at a time: the end of the first lets the second begin. */
EXPLORE(L3_one_helper_at_a_time_opens_for_two, 1)
{
    make_living(&helped_calls, (cen_pool_options){.max = 2, .max_concurrent_opens = 1, NO_LIMITS});
    taker other = {.deadline = CEN_NEVER};
    ceni_thread second = start("second", take_only, &other);
    cen_lease mine;
    expect_equal(cen_pool_take(pool, CEN_NEVER, &mine, NULL), CEN_OK);
    join(second);
    expect_equal(other.status, CEN_OK);
    expect(other.lease.object != mine.object);
    give_one(mine);
    give_one(other.lease);
    ceni_world_settle();
    expect_calm(2);
    end_helped();
}

/* Helpers try in vain, and the keeper lets them; one who waits with no deadline is told all the same. */
/* guarantees: life.L11-breaker */
EXPLORE(L11_one_who_hopes_for_a_helpers_try_is_told_when_its_time_is_over, 1)
{
    make_living(&helped_calls, (cen_pool_options){.max = 1, NO_LIMITS});
    cen_pool_options options = CEN_SIZED(cen_pool_options);
    expect_equal(cen_pool_options_get(pool, &options), CEN_OK);
    options.backoff_initial_ns = options.backoff_max_ns = 1000;
    options.breaker_failures = 1;
    options.breaker_wait_ns = 1500;
    expect_equal(cen_pool_options_set(pool, &options, NULL), CEN_OK);
    opens_that_fail = UINT32_MAX;
    cen_lease lease;
    expect_equal(cen_pool_take(pool, CEN_NEVER, &lease, NULL), CEN_DRIVER);
    ceni_world_settle();
    expect_equal(pool->opening + pool->hired, 0);
    expect_equal(look_alive().waiting, 0);
    opens_that_fail = 0;
    end_helped();
}

/* ---- On those who take ----------------------------------------------------------------- */

/* One opening fails and opens the breaker: whoever came meanwhile is told, and nobody waits for what will not come. */
static void a_failure_reaches(cen_pool_options options, unsigned cpus)
{
    ceni_world_set_cpus(cpus);
    options.max = 1;
    options.backoff_initial_ns = options.backoff_max_ns = SECOND;
    options.breaker_failures = 1;
    options.breaker_wait_ns = CEN_OFF;
    make_timed(&tested_calls, options);
    opens_that_fail = 2;
    taker other = {.deadline = CEN_NEVER};
    ceni_thread second = start("second", take_only, &other);
    cen_lease lease;
    expect_equal(cen_pool_take(pool, CEN_NEVER, &lease, NULL), CEN_DRIVER);
    join(second);
    expect_equal(other.status, CEN_DRIVER);
    expect_calm(0);
    end_timed();
}

EXPLORE(L11_a_failed_opening_leaves_nobody_waiting_in_vain, 3)
{
    a_failure_reaches((cen_pool_options){.max = 1}, 1);
}

EXPLORE(L11_a_failed_opening_leaves_nobody_of_a_strict_pool_waiting_in_vain, 3)
{
    a_failure_reaches((cen_pool_options){.max_barging_ns = CEN_NONE}, 1);
}

/* One came while the breaker was open and hopes for a try. Time passes: the gate opens, its hope ends, its deadline comes,
 * each perhaps while it is about to look or to park. It is served, or told, and never forgotten; and it is counted once. */
static void hope_ends_while_time_passes(uint32_t failing, int64_t wait, cen_deadline deadline, cen_pool_options options)
{
    ceni_world_set_cpus(1);
    options.max = 2;
    options.backoff_initial_ns = options.backoff_max_ns = SECOND;
    options.breaker_failures = 1;
    options.breaker_wait_ns = wait;
    options.test_after_idle_ns = options.test_interval_ns = CEN_OFF;
    make_timed(&tested_calls, options);
    opens_that_fail = failing;
    cen_lease none;
    expect_equal(cen_pool_try_take(pool, &none, NULL), CEN_DRIVER);
    taker one = {.deadline = deadline};
    ceni_thread waiter = start("waiter", take_only, &one);
    expect_equal(cen_runtime_advance(runtime, wait), CEN_OK);
    ceni_world_settle(); /* it may have come only now */
    expect_equal(cen_runtime_advance(runtime, wait), CEN_OK);
    join(waiter);
    cen_pool_stats s = look_alive();
    if (one.status == CEN_OK) give_one(one.lease);
    else expect(one.status == CEN_DRIVER || (failing > 1 && one.status == CEN_TIMEOUT));
    expect_equal(s.waited, s.served + s.failed + s.timed_out);
    expect_equal(s.waiting, 0);
    expect_calm(one.status == CEN_OK ? 1 : 0);
    end_timed();
}

/* guarantees: life.L11-breaker */
EXPLORE(L11_one_who_hopes_while_the_breaker_is_open_is_served_by_the_try_in_its_time, 2)
{
    hope_ends_while_time_passes(1, SECOND + 1, CEN_NEVER, (cen_pool_options){.max = 2});
}

/* guarantees: life.L11-breaker */
EXPLORE(L11_one_who_hopes_while_the_breaker_is_open_tries_itself_or_is_told, 2)
{
    hope_ends_while_time_passes(100, 2 * SECOND, CEN_NEVER, (cen_pool_options){.max = 2});
}

/* guarantees: life.L11-breaker */
EXPLORE(L11_one_who_hopes_in_a_strict_pool_tries_itself_or_is_told, 2)
{
    hope_ends_while_time_passes(100, 2 * SECOND, CEN_NEVER, (cen_pool_options){.max_barging_ns = CEN_NONE});
}

/* guarantees: life.L11-breaker */
EXPLORE(L11_hope_and_deadline_end_in_the_same_moment, 2)
{
    hope_ends_while_time_passes(100, 2 * SECOND, cen_in_s(2), (cen_pool_options){.max = 2});
}

/* A thread in line finds a place for the one opening that is tried, and is told in the same moment that nothing will
 * come, because what was out has gone: it opens all the same, and is counted once. */
EXPLORE(L19_one_who_is_refused_while_it_finds_a_place_is_counted_once, 2)
{
    ceni_world_set_cpus(1);
    make_timed(&tested_calls, (cen_pool_options){.max = 2,
                                                 .backoff_initial_ns = SECOND,
                                                 .backoff_max_ns = SECOND,
                                                 .breaker_failures = 1,
                                                 .breaker_wait_ns = CEN_OFF,
                                                 .test_after_idle_ns = CEN_OFF,
                                                 .test_interval_ns = CEN_OFF});
    ceni_add_relaxed(&things[THINGS - 1].is_open, 1);
    ceni_add_relaxed(&alive, 1);
    expect_equal(cen_pool_adopt(pool, &things[THINGS - 1], NULL), CEN_OK);
    cen_lease held = take_one(), none;
    opens_that_fail = 2;
    expect_equal(cen_pool_try_take(pool, &none, NULL), CEN_DRIVER);
    taker one = {.deadline = CEN_NEVER};
    ceni_thread waiter = start("waiter", take_only, &one);
    expect_equal(cen_runtime_advance(runtime, SECOND), CEN_OK);
    expect_equal(cen_pool_discard(&held), CEN_OK);
    join(waiter);
    expect_equal(one.status, CEN_DRIVER);
    cen_pool_stats s = look_alive();
    expect_equal(s.served, 0);
    expect_equal(s.failed, s.waited);
    expect_calm(0);
    end_timed();
}

/* After a failure the gate admits one at a time: the second may open when the first has opened. */
static void fail_once_and_wait(cen_pool_options options)
{
    cen_lease lease;
    options.backoff_initial_ns = options.backoff_max_ns = SECOND;
    options.breaker_failures = CEN_OFF;
    make_timed(&tested_calls, options);
    opens_that_fail = 1;
    expect_equal(cen_pool_try_take(pool, &lease, NULL), CEN_DRIVER);
    expect_equal(cen_runtime_advance(runtime, SECOND), CEN_OK);
}

EXPLORE(L3_who_was_not_admitted_opens_when_the_first_has_opened, 3)
{
    ceni_world_set_cpus(1);
    fail_once_and_wait((cen_pool_options){.max = 2, .test_after_idle_ns = CEN_OFF, .test_interval_ns = CEN_OFF});
    taker other = {.deadline = CEN_NEVER};
    ceni_thread second = start("second", take_only, &other);
    cen_lease mine;
    expect_equal(cen_pool_take(pool, CEN_NEVER, &mine, NULL), CEN_OK);
    join(second);
    expect_equal(other.status, CEN_OK);
    give_one(mine);
    give_one(other.lease);
    expect_calm(2);
    end_timed();
}

EXPLORE(L3_who_was_not_admitted_opens_when_another_object_was_adopted, 2)
{
    ceni_world_set_cpus(1);
    fail_once_and_wait((cen_pool_options){.max = 2, .test_after_idle_ns = CEN_OFF, .test_interval_ns = CEN_OFF});
    alive_at_most = 3; /* the adopted one counts before the pool has it */
    taker one = {.deadline = CEN_NEVER}, two = {.deadline = CEN_NEVER};
    ceni_thread first = start("first", take_only, &one), second = start("second", take_only, &two);
    ceni_add_relaxed(&things[THINGS - 1].is_open, 1);
    ceni_add_relaxed(&alive, 1);
    cen_status adopted = cen_pool_adopt(pool, &things[THINGS - 1], NULL);
    join(first);
    join(second);
    expect_equal(one.status, CEN_OK);
    expect_equal(two.status, CEN_OK);
    if (adopted != CEN_OK) close_thing(NULL, &things[THINGS - 1]); /* both had opened theirs */
    give_one(one.lease);
    give_one(two.lease);
    expect_calm(2);
    end_timed();
}
