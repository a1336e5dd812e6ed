/* SPDX-License-Identifier: MIT */
/* Those who wait: who is served, by what, in which order, and how long they may be overtaken. */
#include "unit/pool/takers.h"

static workshop shop;

/* A pool of `max` objects, all lent into `held`. */
static cen_pool *make_taken(cen_pool_options options, cen_lease *held)
{
    shop = (workshop){0};
    options.driver = driver_of(&shop);
    cen_pool *pool = make_from(options);
    for (uint32_t i = 0; i < options.max; i++) held[i] = take_now(pool);
    expect_none(pool);
    return pool;
}

#define taken_pool(held, ...) make_taken(CEN_POOL_OPTIONS(__VA_ARGS__), held)

/* ---- What serves a waiter --------------------------------------------------------------- */

/* guarantees: pool.L3 */
TEST(L3_an_object_that_is_given_goes_to_whoever_waits)
{
    for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++)
        for (int strict = 0; strict < 2; strict++) {
            cen_lease held[2];
            cen_pool *pool = taken_pool(held, .max = 2, .order = order, .max_barging_ns = strict ? CEN_NONE : 0);
            taker one;
            begin_take(&one, pool, CEN_NEVER);
            expect_waiting(&one);
            expect_equal(ceni_world_waiting(), 1); /* asleep, not polling */
            give_back(&held[1]);
            expect_taken(&one, 2);
            cen_pool_stats s = expect_sound(pool);
            expect(s.held == 2 && s.waited == 1 && s.served == 1);
            give_back(&one.lease);
            give_back(&held[0]);
            free_pool(pool);
            expect_equal(shop.opened, 2);
        }
}

/* guarantees: pool.L3, pool-bugs.capacity-wakeup */
TEST(L3_a_discard_lets_a_waiter_open_another)
{
    for (int strict = 0; strict < 2; strict++) {
        cen_lease held[2];
        cen_pool *pool = taken_pool(held, .max = 2, .max_barging_ns = strict ? CEN_NONE : 0);
        taker one;
        begin_take(&one, pool, CEN_NEVER);
        expect_equal(cen_pool_discard(&held[0]), CEN_OK);
        expect_taken(&one, 3);
        cen_pool_stats s = expect_sound(pool);
        expect(s.held == 2 && s.served == 1 && s.opened == 3 && s.closed == 1);
        give_back(&one.lease);
        give_back(&held[1]);
        free_pool(pool);
    }
}

TEST(an_adopted_object_goes_to_whoever_waits)
{
    for (int strict = 0; strict < 2; strict++) {
        cen_pool *pool = make_pool(.max = 2, .max_barging_ns = strict ? CEN_NONE : 0);
        taker one, two;
        begin_take(&one, pool, CEN_NEVER);
        begin_take(&two, pool, CEN_NEVER);
        expect_equal(cen_pool_adopt(pool, object_of(5), NULL), CEN_OK);
        expect_taken(&one, 5);
        expect_waiting(&two);
        expect_equal(cen_pool_adopt(pool, object_of(6), NULL), CEN_OK);
        expect_taken(&two, 6);
        expect_sound(pool);
        give_back(&one.lease);
        give_back(&two.lease);
        free_pool(pool);
    }
}

/* guarantees: pool.L3 */
TEST(a_burst_of_gives_reaches_every_waiter)
{
    enum { COUNT = 6 };
    for (int strict = 0; strict < 2; strict++) {
        cen_lease held[COUNT];
        cen_pool *pool = taken_pool(held, .max = COUNT, .max_barging_ns = strict ? CEN_NONE : 0);
        taker takers[COUNT];
        bool lent[COUNT + 1] = {false};
        for (int i = 0; i < COUNT; i++) begin_take(&takers[i], pool, CEN_NEVER);
        expect_equal(expect_sound(pool).waiting, COUNT);
        for (int i = 0; i < COUNT; i++) give_back(&held[i]); /* nobody else runs meanwhile */
        for (int i = 0; i < COUNT; i++) {
            expect_answer(&takers[i], CEN_OK);
            expect(!lent[number_of(&takers[i].lease)]);
            lent[number_of(&takers[i].lease)] = true;
        }
        expect_equal(expect_sound(pool).served, COUNT);
        for (int i = 0; i < COUNT; i++) give_back(&takers[i].lease);
        free_pool(pool);
    }
}

/* guarantees: pool.L3 */
TEST(one_object_passes_through_all_who_wait)
{
    enum { COUNT = 8 };
    cen_lease held[1];
    cen_pool *pool = taken_pool(held, .max = 1);
    taker takers[COUNT];
    for (int i = 0; i < COUNT; i++) begin_take(&takers[i], pool, CEN_NEVER);
    cen_lease *last = &held[0];
    for (int i = 0; i < COUNT; i++) {
        give_back(last);
        expect_taken(&takers[i], 1); /* L4: in the order they came */
        for (int later = i + 1; later < COUNT; later++) expect_waiting(&takers[later]);
        cen_pool_stats s = expect_sound(pool);
        expect(s.served == (uint64_t)i + 1 && s.waiting == (uint32_t)(COUNT - 1 - i));
        last = &takers[i].lease;
    }
    give_back(last);
    free_pool(pool);
}

/* guarantees: pool.L4 */
TEST(L4_those_who_wait_are_served_in_the_order_they_came_whatever_serves_them)
{
    for (int strict = 0; strict < 2; strict++) {
        cen_lease held[3];
        cen_pool *pool = taken_pool(held, .max = 3, .max_barging_ns = strict ? CEN_NONE : 0);
        taker takers[4];
        for (int i = 0; i < 4; i++) begin_take(&takers[i], pool, CEN_NEVER);
        give_back(&held[2]);
        expect_taken(&takers[0], 3);
        expect_equal(cen_pool_discard(&held[0]), CEN_OK);
        expect_taken(&takers[1], 4);
        expect_equal(cen_pool_resize(pool, 4, NULL), CEN_OK);
        expect_taken(&takers[2], 5);
        expect_waiting(&takers[3]);
        give_back(&takers[0].lease);
        expect_taken(&takers[3], 3);
        for (int i = 1; i < 4; i++) give_back(&takers[i].lease);
        give_back(&held[1]);
        expect_equal(expect_sound(pool).served, 4);
        free_pool(pool);
    }
}

/* guarantees: pool.L5, pool-bugs.expired-waiter */
TEST(L5_one_in_the_middle_that_gives_up_leaves_the_order_of_the_others)
{
    for (int leaver = 0; leaver < 4; leaver++) {
        cen_lease held[1];
        cen_pool *pool = taken_pool(held, .max = 1);
        taker takers[4];
        for (int i = 0; i < 4; i++) begin_take(&takers[i], pool, i == leaver ? cen_in_s(1) : CEN_NEVER);
        ceni_world_advance(SECOND);
        expect_answer(&takers[leaver], CEN_TIMEOUT);
        expect_sound(pool);
        cen_lease *last = &held[0];
        for (int i = 0; i < 4; i++) {
            if (i == leaver) continue;
            give_back(last);
            expect_taken(&takers[i], 1);
            last = &takers[i].lease;
        }
        give_back(last);
        cen_pool_stats s = expect_sound(pool);
        expect(s.served == 3 && s.timed_out == 1 && s.idle == 1);
        free_pool(pool);
    }
}

TEST(with_more_processors_than_objects_all_who_wait_are_served_too)
{
    cen_lease held[1];
    cen_pool *pool = taken_pool(held, .max = 1);
    ceni_world_set_cpus(8); /* the first in line stays awake for a moment */
    taker takers[3], late;
    for (int i = 0; i < 3; i++) begin_take(&takers[i], pool, CEN_NEVER);
    expect_equal(ceni_world_waiting(), 3);
    cen_lease *last = &held[0];
    for (int i = 0; i < 3; i++) {
        give_back(last);
        expect_taken(&takers[i], 1);
        last = &takers[i].lease;
    }
    begin_take(&late, pool, cen_in_s(1));
    ceni_world_advance(SECOND);
    expect_answer(&late, CEN_TIMEOUT);
    give_back(last);
    cen_pool_stats s = expect_sound(pool);
    expect(s.served == 3 && s.timed_out == 1);
    free_pool(pool);
}

/* ---- Who holds what was handed over ------------------------------------------------------------ */

/* guarantees: pool-api.holders */
TEST(an_object_that_was_handed_over_is_listed_with_its_new_holder_before_that_one_runs)
{
    cen_lease held[1];
    cen_pool *pool = taken_pool(held, .max = 1);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    give_back(&held[0]);
    cen_object_view holding;
    size_t count;
    expect_equal(cen_pool_holders(pool, &holding, 1, &count), CEN_OK);
    expect(!one.returned && count == 1 && holding.state == CEN_OBJECT_HELD);
    expect(holding.holder != 0 && holding.holder != cen_thread_number());
    expect(holding.where && strstr(holding.where, "takers.h:"));
    expect_taken(&one, 1);
    give_back(&one.lease);
    free_pool(pool);
}

/* ---- Overtaking ------------------------------------------------------------------------------------ */

/* Two wait and the first is served. When that one's object comes back, the
 * second is being woken, and until it runs it can be overtaken. */
static cen_pool *make_contended(int64_t max_barging_ns, taker *takers)
{
    cen_lease held[1];
    cen_pool *pool = taken_pool(held, .max = 1, .max_barging_ns = max_barging_ns);
    begin_take(&takers[0], pool, CEN_NEVER);
    begin_take(&takers[1], pool, CEN_NEVER);
    give_back(&held[0]);
    expect_taken(&takers[0], 1);
    return pool;
}

static cen_pool *make_overtakable(int64_t max_barging_ns, taker *takers)
{
    cen_pool *pool = make_contended(max_barging_ns, takers);
    give_back(&takers[0].lease);
    return pool;
}

/* Takes and gives without letting anybody else run; how often it found the object. */
static int overtake(cen_pool *pool, int times)
{
    for (int i = 0; i < times; i++) {
        cen_lease lease;
        if (cen_pool_try_take(pool, &lease, NULL) != CEN_OK) return i;
        give_back(&lease);
    }
    return times;
}

/* guarantees: pool.L4 */
TEST(L4_a_running_thread_may_overtake_for_a_millisecond_and_then_hands_over)
{
    taker takers[2];
    cen_pool *pool = make_overtakable(0, takers);
    expect_equal(overtake(pool, 1000), 1000);
    ceni_world_advance(1000000 - 1);
    expect_equal(overtake(pool, 1000), 1000);
    expect(!takers[1].returned);
    ceni_world_advance(1);
    expect(overtake(pool, 1000) < 300); /* one that is quick looks at the clock at some of its gives only */
    expect_taken(&takers[1], 1);
    expect_sound(pool);
    give_back(&takers[1].lease);
    free_pool(pool);
}

/* guarantees: pool.L4 */
TEST(L4_a_thread_that_is_slow_hands_over_at_its_first_give_after_the_bound)
{
    taker takers[2];
    cen_pool *pool = make_overtakable(5000000, takers);
    for (int i = 0; i < 49; i++) { /* one cycle takes 100 us */
        ceni_world_advance(100000);
        expect_equal(overtake(pool, 1), 1);
    }
    ceni_world_advance(100000);
    expect_equal(overtake(pool, 2), 1);
    expect_taken(&takers[1], 1);
    give_back(&takers[1].lease);
    free_pool(pool);
}

/* guarantees: pool.L4 */
TEST(L4_a_thread_that_gives_to_two_pools_in_turn_hands_over_in_both)
{
    taker takers[2][2];
    cen_pool *pools[2];
    for (int i = 0; i < 2; i++) pools[i] = make_contended(0, takers[i]);
    for (int i = 0; i < 2; i++) give_back(&takers[i][0].lease);
    for (int round = 0; round < 500; round++) expect(overtake(pools[0], 1) == 1 && overtake(pools[1], 1) == 1);
    ceni_world_advance(1000000);
    bool handed[2] = {false, false};
    for (int round = 0; round < 40; round++)
        for (int i = 0; i < 2; i++) handed[i] = handed[i] || overtake(pools[i], 1) == 0;
    expect(handed[0] && handed[1]);
    for (int i = 0; i < 2; i++) {
        expect_taken(&takers[i][1], 1);
        give_back(&takers[i][1].lease);
        free_pool(pools[i]);
    }
}

/* guarantees: pool.L4 */
TEST(a_bound_too_large_to_be_added_to_the_clock_is_never_reached)
{
    taker takers[2];
    cen_pool *pool = make_overtakable(INT64_MAX, takers);
    ceni_world_advance(1000 * SECOND);
    expect_equal(overtake(pool, 1000), 1000);
    expect_taken(&takers[1], 1); /* when it gets to run it is served */
    give_back(&takers[1].lease);
    free_pool(pool);
}

/* guarantees: pool.L4 */
TEST(L4_with_overtaking_off_nobody_takes_what_another_waits_for)
{
    taker takers[3];
    cen_lease held[1];
    cen_pool *pool = taken_pool(held, .max = 1, .max_barging_ns = CEN_NONE);
    for (int i = 0; i < 3; i++) begin_take(&takers[i], pool, CEN_NEVER);
    cen_lease *last = &held[0];
    for (int i = 0; i < 3; i++) {
        give_back(last);
        expect_none(pool); /* it was handed over, although nobody else has run */
        expect_taken(&takers[i], 1);
        last = &takers[i].lease;
    }
    give_back(last);
    cen_lease lease = take_now(pool);
    give_back(&lease);
    free_pool(pool);
}

/* guarantees: pool.L4 */
TEST(with_overtaking_off_a_take_queues_behind_those_who_wait_and_a_try_take_is_refused)
{
    cen_lease held[1];
    cen_pool *pool = taken_pool(held, .max = 1, .max_barging_ns = CEN_NONE);
    taker first, second;
    begin_take(&first, pool, CEN_NEVER);
    cen_error error;
    cen_lease lease;
    expect_equal(cen_pool_try_take(pool, &lease, &error), CEN_EMPTY);
    expect_error(&error, CEN_EMPTY, "1 waiting");
    begin_take(&second, pool, CEN_NEVER);
    give_back(&held[0]);
    expect_taken(&first, 1);
    expect_waiting(&second);
    give_back(&first.lease);
    expect_taken(&second, 1);
    give_back(&second.lease);
    free_pool(pool);
}
