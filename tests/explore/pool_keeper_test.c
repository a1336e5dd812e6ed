/* SPDX-License-Identifier: MIT */
/*
 * The keeper's rounds under every schedule: what a round does to a slot and
 * what its taker or holder does with it go one after the other.
 */
#include "explore/lives.h"

#define UNTESTED .test_after_idle_ns = CEN_OFF, .test_interval_ns = CEN_OFF

static taker round_beside(void (*what)(void *), taker other)
{
    ceni_thread keeper = start("keeper", keep_once, NULL);
    what(&other);
    join(keeper);
    return other;
}

static void try_only(void *into)
{
    taker *self = into;
    self->status = cen_pool_try_take(pool, &self->lease, NULL);
}

/* A round has met what is idle; then time passes. */
static void grow_old(int64_t ns)
{
    ceni_keeper_round(pool);
    ceni_keeper_retire(pool);
    ceni_store_relaxed(&pool->alarm_at, INT64_MIN); /* no round but those of the test */
    expect_equal(cen_runtime_advance(runtime, ns), CEN_OK);
}

/* ---- Marks ------------------------------------------------------------------------------ */

static void mark_beside_a_take(cen_pool_options options)
{
    options.max = 1;
    options.test_after_idle_ns = SECOND;
    options.test_interval_ns = CEN_OFF;
    make_timed(&tested_calls, options);
    give_one(take_one());
    grow_old(SECOND);
    taker other = round_beside(try_only, (taker){.status = CEN_OK});
    expect_equal(other.status, CEN_OK);
    give_one(other.lease);
    expect_calm(1);
    give_one(take_one());
    end_timed();
}

EXPLORE(L3_an_object_that_is_marked_while_it_is_taken_is_found, 3)
{
    mark_beside_a_take((cen_pool_options){.max = 1});
}

EXPLORE(L3_an_object_of_a_fifo_pool_that_is_marked_while_it_is_taken_is_found, 3)
{
    mark_beside_a_take((cen_pool_options){.order = CEN_ORDER_FIFO});
}

/* Its taker tests it and it fails, while close takes it away from the taker: it is closed all the same. */
static void close_now(void *unused)
{
    (void)unused;
    cen_status status = cen_pool_close(pool, CEN_NOW, NULL, NULL);
    expect(status == CEN_OK || status == CEN_TIMEOUT);
}

EXPLORE(L15_an_object_that_is_revoked_while_its_taker_tests_it_is_closed, 3)
{
    make_timed(&tested_calls, (cen_pool_options){.max = 1, .test_after_idle_ns = SECOND, .test_interval_ns = CEN_OFF});
    give_one(take_one());
    grow_old(SECOND);
    ceni_keeper_round(pool); /* marks it */
    tests_fail = true;
    ceni_thread closer = start("close", close_now, NULL);
    cen_lease lease;
    cen_status status = cen_pool_try_take(pool, &lease, NULL);
    if (status == CEN_OK) { /* a new one, which may have been revoked, too */
        status = cen_pool_discard(&lease);
        expect(status == CEN_OK || status == CEN_REVOKED);
    }
    join(closer);
    expect_equal(pool->live, 0);
    end_timed();
}

/* ---- What is idle for too long ------------------------------------------------------------- */

static void close_beside_a_take(cen_pool_options options)
{
    options.max = 1;
    options.idle_timeout_ns = SECOND;
    options.test_after_idle_ns = options.test_interval_ns = CEN_OFF;
    make_timed(&tested_calls, options);
    give_one(take_one());
    grow_old(SECOND);
    taker other = round_beside(take_and_give, (taker){.deadline = CEN_NEVER});
    expect_equal(other.status, CEN_OK);
    expect_equal(other.given, CEN_OK);
    expect_calm(1);
    end_timed();
}

EXPLORE(L1_a_round_closes_an_idle_object_or_a_take_has_it, 3)
{
    close_beside_a_take((cen_pool_options){.max = 1});
}

EXPLORE(L1_a_round_closes_an_idle_object_of_a_lifo_pool_or_a_take_has_it, 2)
{
    close_beside_a_take((cen_pool_options){.order = CEN_ORDER_LIFO});
}

/* One whose age is of the object before it in the slot would be closed at once. */
EXPLORE(a_new_object_is_not_as_old_as_the_one_before_it, 3)
{
    make_timed(&tested_calls, (cen_pool_options){.max = 1, .idle_timeout_ns = SECOND, UNTESTED});
    adopt_thing(0);
    ceni_add_relaxed(&alive, 1);
    grow_old(SECOND);
    uint32_t reaped = 0;
    ceni_thread keeper = start("keeper", keep_once, NULL);
    expect_equal(cen_pool_reap(pool, 0, &reaped, NULL), CEN_OK);
    ceni_add_relaxed(&things[1].is_open, 1);
    if (cen_pool_adopt(pool, &things[1], NULL) == CEN_OK) ceni_add_relaxed(&alive, 1);
    else ceni_sub_relaxed(&things[1].is_open, 1);
    join(keeper);
    uint32_t is_open = ceni_load_relaxed(&things[1].is_open);
    ceni_keeper_round(pool);
    expect_equal(ceni_load_relaxed(&things[1].is_open), is_open);
    expect_calm(is_open);
    end_timed();
}

/* ---- Tests in an exact order -------------------------------------------------------------------- */

/* One of two objects is tested while a thread takes one and gives it. Whatever comes first, the one that was given is lent
 * last, and the thread that waits for one is not left asleep beside the one that has passed. */
static void test_beside_a_take(uint32_t count)
{
    make_timed(&tested_calls, (cen_pool_options){.max = 2,
                                                 .order = CEN_ORDER_FIFO,
                                                 .test_after_idle_ns = CEN_OFF,
                                                 .max_concurrent_tests = 1,
                                                 .test_interval_ns = SECOND});
    cen_lease first = take_one(), second = take_one();
    give_one(first);
    if (count == 2) give_one(second);
    grow_old(SECOND);
    taker other = round_beside(take_and_give, (taker){.deadline = CEN_NEVER});
    expect(other.status == CEN_OK && other.given == CEN_OK);
    if (count == 1) give_one(second);
    expect_calm(2);
    first = take_one(), second = take_one();
    expect(count == 2 ? second.object == other.lease.object : first.object == other.lease.object);
    give_one(first);
    give_one(second);
    end_timed();
}

EXPLORE(L3_an_object_of_a_fifo_pool_that_is_tested_keeps_its_place_beside_a_take, 2)
{
    test_beside_a_take(2);
}

EXPLORE(L3_the_only_idle_object_of_a_fifo_pool_that_is_tested_is_found_by_who_waits, 2)
{
    test_beside_a_take(1);
}

/* ---- What is held for too long ------------------------------------------------------------- */

static void revoke_beside(void (*what)(void *), cen_leak_policy policy, bool reclaims)
{
    make_timed(&tested_calls, (cen_pool_options){.max = 1,
                                                 .max_hold_ns = reclaims ? CEN_OFF : SECOND,
                                                 .leak_after_ns = reclaims ? SECOND : CEN_OFF,
                                                 .on_leak = policy,
                                                 UNTESTED});
    taker mine = {.lease = take_one()};
    grow_old(SECOND);
    mine = round_beside(what, mine);
    expect(mine.given == CEN_OK || mine.given == CEN_REVOKED || (reclaims && mine.given == CEN_STALE));
    cen_pool_stats s = look_alive();
    expect_equal(s.taken, s.ended);
    expect_calm(s.idle);
    expect_equal(cen_pool_try_take(pool, &mine.lease, NULL), CEN_OK); /* the place is free, or the object idle */
    give_one(mine.lease);
    end_timed();
}

EXPLORE(L8_a_lease_is_revoked_or_given_and_its_object_ends_once, 3)
{
    revoke_beside(give_lease, CEN_LEAK_REPORT, false);
}

EXPLORE(L8_a_lease_is_revoked_or_discarded_and_its_object_ends_once, 2)
{
    revoke_beside(discard_lease, CEN_LEAK_REPORT, false);
}

/* ---- The alarm -------------------------------------------------------------------------------- */

static void plan_round_in(int64_t ns)
{
    ceni_followup followup = {.more = false};
    ceni_waiters_lock(pool->waiters);
    int64_t moment = cen_runtime_now(runtime) + ns;
    if (moment < pool->next_round) pool->next_round = moment;
    ceni_keeper_plan_locked(pool, &followup);
    ceni_waiters_unlock(pool->waiters);
    ceni_waiters_follow_up(pool->waiters, pool->id, pool, &followup);
}

static void plan_late(void *unused)
{
    (void)unused;
    plan_round_in(2 * SECOND);
}

/* Two moments are planned at once: the keeper comes at the earlier. */
EXPLORE(the_keeper_comes_at_the_earlier_of_two_moments_planned_at_once, 3)
{
    make_timed(&tested_calls, (cen_pool_options){.max = 1, UNTESTED});
    ceni_thread other = start("late", plan_late, NULL);
    plan_round_in(SECOND);
    join(other);
    expect_equal(cen_runtime_advance(runtime, SECOND), CEN_OK);
    expect_equal(pool->next_round, CENI_FOREVER); /* it has been, and nothing asks for another */
    expect_equal(pool->hands, 0);
    end_timed();
}

/* The alarm is set while the pool is closed: no ring is left, and the memory goes. */
EXPLORE(L15_an_alarm_that_is_set_beside_a_close_leaves_no_hand, 3)
{
    make_timed(&tested_calls, (cen_pool_options){.max = 1, UNTESTED});
    ceni_thread other = start("late", plan_late, NULL);
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_OK);
    join(other);
    expect_equal(pool->hands, 0);
    end_timed();
}
