/* SPDX-License-Identifier: MIT */
/* What is given back is checked, and only what is dirty is reset. */
#include "unit/pool/scripted.h"

/* With a check of any kind, and with one that only reads, which a give calls on another path. */
#define TEST_BOTH_WAYS(test_name) \
    static void test_name##_body(void); \
    TEST(test_name) \
    { \
        test_name##_body(); \
    } \
    TEST(test_name##_by_a_check_that_only_reads) \
    { \
        checks_only_read = true; \
        test_name##_body(); \
    } \
    static void test_name##_body(void)

static script s;
static const unsigned everything = HAS_CHECK | HAS_RESET;

/* guarantees: life.L17 */
TEST_BOTH_WAYS(what_is_given_clean_is_idle_at_once_and_never_reset)
{
    for (unsigned kind = everything; kind <= (everything | BLOCKS); kind++) {
        s = (script){.opened = 0};
        cen_pool *pool = begin_life(&s, kind, .max = 1);
        for (unsigned i = 1; i <= 5; i++) {
            cen_lease lease = take(pool);
            give_back(&lease);
            expect_equal(s.of[CALL_CHECK].calls, i);
            lease = take_now(pool); /* nothing had to run in between */
            give_back(&lease);
            s.of[CALL_CHECK].calls = i;
        }
        expect(s.of[CALL_RESET].calls == 0 && s.opened == 1);
        end_life(&s, pool);
    }
}

/* guarantees: life-api.check */
TEST_BOTH_WAYS(what_is_given_dirty_is_reset_and_lent_again)
{
    for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
        s = (script){.opened = 0};
        cen_pool *pool = begin_life(&s, everything | blocks, .max = 2);
        cen_lease a = take(pool), b = take(pool);
        s.things[1].condition = CEN_DIRTY;
        give_back(&a);
        give_back(&b);
        cen_pool_stats n = look(pool);
        expect(n.idle == 2 && n.reset == 1 && n.reset_failed == 0 && n.closed == 0);
        expect(s.things[1].resets == 1 && s.things[2].resets == 0);
        end_life(&s, pool);
    }
}

/* guarantees: life.L17 */
TEST_BOTH_WAYS(L17_an_inline_reset_is_done_when_the_give_returns)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, everything, .max = 1);
    cen_lease lease = take(pool);
    s.things[1].condition = CEN_DIRTY;
    give_back(&lease);
    expect_equal(s.of[CALL_RESET].thread, cen_thread_number());
    lease = take_now(pool);
    expect_equal(number_of(&lease), 1);
    give_back(&lease);
    end_life(&s, pool);
}

/* guarantees: life-api.check */
TEST_BOTH_WAYS(what_is_given_broken_is_closed_and_another_made_in_its_place)
{
    for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
        s = (script){.opened = 0};
        cen_pool *pool = begin_life(&s, everything | blocks, .max = 1);
        cen_lease lease = take(pool);
        s.things[1].condition = CEN_BROKEN;
        taker one;
        begin_take(&one, pool, CEN_NEVER);
        give_back(&lease);
        expect_taken(&one, 2);
        expect(s.things[1].closes == 1 && s.of[CALL_RESET].calls == 0);
        give_back(&one.lease);
        end_life(&s, pool);
    }
}

/* guarantees: life-api.check */
TEST_BOTH_WAYS(a_condition_that_is_none_is_taken_for_broken)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, everything, .max = 1);
    cen_lease lease = take(pool);
    s.things[1].condition = (cen_condition)77;
    give_back(&lease);
    expect_equal(s.things[1].closes, 1);
    end_life(&s, pool);
}

/* guarantees: life-api.check */
TEST_BOTH_WAYS(without_a_reset_what_is_dirty_is_closed)
{
    for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
        s = (script){.opened = 0};
        cen_pool *pool = begin_life(&s, HAS_CHECK | blocks, .max = 2);
        cen_lease lease = take(pool);
        s.things[1].condition = CEN_DIRTY;
        give_back(&lease);
        look(pool);
        expect_equal(s.things[1].closes, 1);
        end_life(&s, pool);
    }
}

/* guarantees: life-bugs.D */
TEST_BOTH_WAYS(D_a_reset_that_fails_closes_the_object_and_leaves_its_place_to_who_waits)
{
    for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
        s = (script){.of[CALL_RESET] = {.fail_from = 1, .fail_to = 20}};
        cen_pool *pool = begin_life(&s, everything | blocks, .max = 1);
        for (int i = 1; i <= 5; i++) {
            cen_lease lease = take(pool);
            expect_equal(number_of(&lease), i);
            s.things[i].condition = CEN_DIRTY;
            give_back(&lease);
        }
        cen_pool_stats n = look(pool);
        expect(n.reset_failed == 5 && n.reset == 0 && n.closed == 5 && n.vacant == n.places);
        end_life(&s, pool);
    }
}

/* guarantees: life.L9, life-bugs.E */
TEST_BOTH_WAYS(E4_a_reset_that_takes_long_delays_neither_the_give_nor_others_and_counts_meanwhile)
{
    s = (script){.of[CALL_RESET] = {.hang_from = 1, .hang_to = 1}};
    cen_pool *pool = begin_life(&s, everything | BLOCKS, .max = 2);
    cen_lease a = take(pool), b = take(pool);
    s.things[1].condition = CEN_DIRTY;
    int64_t began = cen_clock();
    give_back(&a);
    give_back(&b);
    cen_pool_stats n = look(pool);
    expect(n.resetting == 1 && n.idle == 1);
    expect_equal(cen_clock(), began);
    b = take_now(pool);
    expect_equal(number_of(&b), 2);
    expect_none(pool);
    expect_equal(cen_pool_adopt(pool, object_of(150), NULL), CEN_FULL);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    expect_waiting(&one);
    let_all_go(&s, CALL_RESET);
    expect_taken(&one, 1);
    expect_equal(s.opened, 2);
    give_back(&b);
    give_back(&one.lease);
    end_life(&s, pool);
}

/* guarantees: life.L9 */
TEST_BOTH_WAYS(L9_at_most_two_are_reset_at_a_time_and_in_the_end_all)
{
    s = (script){.of[CALL_RESET].takes_ns = SECOND};
    cen_pool *pool = begin_life(&s, everything | BLOCKS, .max = 5);
    cen_lease leases[5];
    for (int i = 0; i < 5; i++) leases[i] = take(pool);
    for (int i = 0; i < 5; i++) {
        s.things[i + 1].condition = CEN_DIRTY;
        give_back(&leases[i]);
    }
    expect_equal(look(pool).resetting, 5);
    pass(3 * SECOND);
    cen_pool_stats n = look(pool);
    expect(n.idle == 5 && n.reset == 5);
    expect_equal(s.of[CALL_RESET].most, 2);
    end_life(&s, pool);
}

/* guarantees: life-bugs.M */
TEST_BOTH_WAYS(M_a_lease_that_is_given_twice_is_checked_and_reset_once)
{
    s = (script){.of[CALL_RESET] = {.hang_from = 1, .hang_to = 1}};
    cen_pool *pool = begin_life(&s, everything | BLOCKS, .max = 1);
    cen_lease lease = take(pool), copy = lease, third = lease;
    s.things[1].condition = CEN_DIRTY;
    give_back(&lease);
    expect_equal(cen_pool_give(&copy), CEN_STALE);
    look(pool);
    expect_equal(cen_pool_give(&copy), CEN_STALE);
    expect_equal(cen_pool_discard(&third), CEN_STALE);
    let_all_go(&s, CALL_RESET);
    expect_equal(cen_pool_give(&third), CEN_STALE);
    expect(s.of[CALL_CHECK].calls == 1 && s.of[CALL_RESET].calls == 1);
    expect_equal(look(pool).idle, 1);
    end_life(&s, pool);
}

/* guarantees: life-api.check */
TEST_BOTH_WAYS(what_is_discarded_is_neither_checked_nor_reset)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, everything | BLOCKS, .max = 1);
    cen_lease lease = take(pool);
    s.things[1].condition = CEN_DIRTY;
    expect_equal(cen_pool_discard(&lease), CEN_OK);
    look(pool);
    expect(s.of[CALL_CHECK].calls == 0 && s.of[CALL_RESET].calls == 0 && s.of[CALL_CLOSE].calls == 1);
    end_life(&s, pool);
}

/* The lost wake-up of a pool that frees a place and signals nobody. */
/* guarantees: life.L3, life-bugs.A-B */
TEST_BOTH_WAYS(E1_B_a_discard_of_a_blocking_driver_serves_who_waits_as_soon_as_the_object_is_closed)
{
    for (int strict = 0; strict < 2; strict++) {
        s = (script){.of[CALL_CLOSE].takes_ns = SECOND};
        cen_pool *pool = begin_life(&s, BLOCKS, .max = 1, .max_barging_ns = strict ? CEN_NONE : 0);
        cen_lease lease = take(pool);
        taker one;
        begin_take(&one, pool, cen_in_s(30));
        int64_t began = cen_clock();
        expect_equal(cen_pool_discard(&lease), CEN_OK);
        expect_equal(cen_clock(), began); /* a helper closes it */
        pass(SECOND - 1);
        expect_waiting(&one); /* it counts until it is closed: L2 */
        pass(1);
        expect_taken(&one, 2);
        give_back(&one.lease);
        end_life(&s, pool);
    }
}

/* guarantees: life-bugs.M */
TEST_BOTH_WAYS(E11_any_thread_may_give_what_another_took_and_it_is_checked_there)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, everything | BLOCKS, .max = 1);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    expect_taken(&one, 1);
    s.things[1].condition = CEN_DIRTY;
    give_back(&one.lease);
    expect_equal(s.of[CALL_CHECK].thread, cen_thread_number());
    expect_equal(look(pool).idle, 1);
    end_life(&s, pool);
}
