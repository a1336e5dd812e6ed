/* SPDX-License-Identifier: MIT */
/* Tests of idle objects, by the housekeeper's rounds. */
#include "unit/pool/scripted.h"

static script s;

static unsigned tests_of(unsigned from, unsigned to)
{
    unsigned tests = 0;
    for (unsigned i = from; i <= to; i++) tests += s.things[i].tests;
    return tests;
}

/* guarantees: life-api.test-idle */
TEST(an_idle_object_is_tested_once_in_every_interval)
{
    for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
        s = (script){.opened = 0};
        cen_pool *pool = begin_life(&s, HAS_TEST | blocks, .max = 3, .test_interval_ns = 10 * SECOND,
                                    .idle_timeout_ns = CEN_OFF, .max_lifetime_ns = CEN_OFF);
        warm_up(pool, 3);
        pass(10 * SECOND - 1);
        expect_equal(tests_of(1, 3), 0);
        pass(4 * SECOND);
        for (int i = 1; i <= 3; i++) expect_equal(s.things[i].tests, 1);
        pass(286 * SECOND);
        for (int i = 1; i <= 3; i++) expect(s.things[i].tests >= 20 && s.things[i].tests <= 30);
        cen_pool_stats n = look(pool);
        expect(n.tested == tests_of(1, 3) && n.test_failed == 0 && n.idle == 3);
        end_life(&s, pool);
    }
}

/* guarantees: life-api.test-idle */
TEST(an_interval_that_is_off_tests_nothing)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, HAS_TEST | BLOCKS, .max = 3, .test_interval_ns = CEN_OFF,
                                .idle_timeout_ns = CEN_OFF, .max_lifetime_ns = CEN_OFF);
    warm_up(pool, 3);
    pass(3600 * SECOND);
    expect_equal(s.of[CALL_TEST].calls, 0);
    end_life(&s, pool);
}

/* guarantees: life-api.test-idle */
TEST(never_more_than_testers_are_tested_at_a_time_the_others_can_be_lent_and_in_the_end_all_are_tested)
{
    s = (script){.of[CALL_TEST].takes_ns = SECOND};
    cen_pool *pool = begin_life(&s, HAS_TEST | BLOCKS, .max = 10, .max_concurrent_opens = 1, .max_concurrent_tests = 3,
                                .test_interval_ns = CEN_OFF);
    warm_up(pool, 10);
    expect_equal(cen_pool_test_idle(pool, NULL), CEN_OK);
    for (int second = 0; second < 4; second++) {
        cen_pool_stats n = look(pool);
        expect(n.testing <= 3 && n.idle >= 7 && n.idle + n.testing == 10);
        pass(SECOND);
    }
    pass(2 * SECOND);
    expect_equal(s.of[CALL_TEST].most, 3);
    for (int i = 1; i <= 10; i++) expect_equal(s.things[i].tests, 1);
    expect_equal(look(pool).idle, 10);
    end_life(&s, pool);
}

/* guarantees: life-api.test-idle */
TEST(two_are_tested_at_a_time_by_default)
{
    s = (script){.of[CALL_TEST] = {.hang_from = 1, .hang_to = 99}};
    cen_pool *pool =
        begin_life(&s, HAS_TEST | BLOCKS, .max = 5, .test_interval_ns = CEN_OFF, .test_timeout_ns = CEN_OFF);
    warm_up(pool, 5);
    expect_equal(cen_pool_test_idle(pool, NULL), CEN_OK);
    cen_pool_stats n = look(pool);
    expect(n.testing == 2 && n.idle == 3);
    end_life(&s, pool);
}

/* The bug this looks for: each round takes some more out, while those of the last round are still being tested. */
/* guarantees: life.L9 */
TEST(L9_tests_that_hang_never_take_more_than_testers_out_however_many_rounds_pass)
{
    s = (script){.of[CALL_TEST] = {.hang_from = 1, .hang_to = 99}};
    cen_pool *pool =
        begin_life(&s, HAS_TEST | BLOCKS, .max = 6, .max_concurrent_tests = 1, .test_interval_ns = 10 * SECOND,
                   .test_timeout_ns = CEN_OFF, .idle_timeout_ns = CEN_OFF, .max_lifetime_ns = CEN_OFF);
    warm_up(pool, 6);
    for (int i = 0; i < 10; i++) {
        pass(10 * SECOND);
        cen_pool_stats n = look(pool);
        expect(n.testing <= 1 && n.idle >= 5);
        expect(s.of[CALL_TEST].in_flight <= 1);
    }
    end_life(&s, pool);
}

/* The same when those that hang have lower indexes than those that a round meets first. */
/* guarantees: life.L9 */
TEST(L9_tests_that_hang_in_low_places_keep_a_round_from_testing_in_high_ones)
{
    s = (script){.of[CALL_TEST] = {.hang_from = 1, .hang_to = 99}};
    cen_pool *pool = begin_life(&s, HAS_TEST | BLOCKS, .max = 6, .max_concurrent_tests = 1,
                                .test_interval_ns = 10 * SECOND, .test_timeout_ns = CEN_OFF, .idle_timeout_ns = CEN_OFF,
                                .max_lifetime_ns = CEN_OFF, .test_after_idle_ns = CEN_OFF);
    cen_lease leases[6];
    for (int i = 0; i < 6; i++) leases[i] = take(pool);
    give_back(&leases[0]);
    pass(30 * SECOND);
    expect_equal(look(pool).testing, 1);
    for (int i = 1; i < 6; i++) give_back(&leases[i]);
    for (int i = 0; i < 10; i++) {
        pass(10 * SECOND);
        expect_equal(look(pool).testing, 1);
    }
    expect_equal(look(pool).idle, 5);
    end_life(&s, pool);
}

/* One that waits for a helper has not begun: its time has not, either. */
/* guarantees: life-api.test-idle */
TEST(a_test_that_has_not_begun_has_not_taken_too_long)
{
    s = (script){.of[CALL_TEST] = {.hang_from = 1, .hang_to = 1}};
    cen_pool *pool =
        begin_life(&s, HAS_TEST | BLOCKS, .max = 4, .max_concurrent_tests = 1, .test_interval_ns = 10 * SECOND,
                   .idle_timeout_ns = CEN_OFF, .max_lifetime_ns = CEN_OFF, .test_after_idle_ns = CEN_OFF);
    cen_lease leases[4];
    for (int i = 0; i < 4; i++) leases[i] = take(pool);
    give_back(&leases[0]);
    pass(15 * SECOND);
    expect_equal(look(pool).testing, 1);
    for (int i = 1; i < 4; i++) give_back(&leases[i]);
    pass(60 * SECOND);
    let_all_go(&s, CALL_TEST);
    pass(60 * SECOND);
    expect_equal(s.things[1].closes, 1); /* that one did */
    for (int i = 2; i <= 4; i++) expect(s.things[i].closes == 0 && s.things[i].tests > 0);
    end_life(&s, pool);
}

/* guarantees: life.L2 */
TEST(L2_what_is_being_tested_cannot_be_lent_and_counts)
{
    s = (script){.of[CALL_TEST] = {.hang_from = 1, .hang_to = 1}};
    cen_pool *pool = begin_life(&s, HAS_TEST | BLOCKS, .max = 1, .test_timeout_ns = CEN_OFF);
    warm_up(pool, 1);
    expect_equal(cen_pool_test_idle(pool, NULL), CEN_OK);
    expect_equal(look(pool).testing, 1);
    expect_none(pool);
    expect_equal(cen_pool_adopt(pool, object_of(150), NULL), CEN_FULL);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    expect_waiting(&one);
    expect_equal(s.of[CALL_OPEN].calls, 1);
    let_all_go(&s, CALL_TEST);
    expect_taken(&one, 1);
    give_back(&one.lease);
    end_life(&s, pool);
}

/* guarantees: life-api.test-idle */
TEST(an_idle_object_that_fails_its_test_is_closed_and_the_others_stay)
{
    for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
        s = (script){.opened = 0};
        cen_pool *pool = begin_life(&s, HAS_TEST | blocks, .max = 3);
        warm_up(pool, 3);
        s.things[2].broken = true;
        expect_equal(cen_pool_test_idle(pool, NULL), CEN_OK);
        pass(1);
        cen_pool_stats n = look(pool);
        expect(n.idle == 2 && n.tested == 3 && n.test_failed == 1 && n.closed == 1);
        expect_equal(s.things[2].closes, 1);
        end_life(&s, pool);
    }
}

/* What fails its test frees a place: somebody who waits must hear of it. */
/* guarantees: life.L3, life-bugs.A-B */
TEST(B_a_failed_test_serves_who_waits_with_a_new_object)
{
    s = (script){.of[CALL_TEST] = {.hang_from = 1, .hang_to = 1}};
    cen_pool *pool = begin_life(&s, HAS_TEST | BLOCKS, .max = 1, .test_timeout_ns = CEN_OFF);
    warm_up(pool, 1);
    s.things[1].broken = true;
    expect_equal(cen_pool_test_idle(pool, NULL), CEN_OK);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    let_all_go(&s, CALL_TEST);
    expect_taken(&one, 2);
    give_back(&one.lease);
    end_life(&s, pool);
}

/* guarantees: life-api.test-idle */
TEST(a_test_that_took_too_long_closes_the_object_although_ok_came_late)
{
    s = (script){.of[CALL_TEST] = {.hang_from = 1, .hang_to = 1}};
    cen_pool *pool = begin_life(&s, HAS_TEST | BLOCKS, .max = 2, .test_timeout_ns = SECOND);
    warm_up(pool, 1);
    expect_equal(cen_pool_test_idle(pool, NULL), CEN_OK);
    pass(2 * SECOND);
    expect_equal(look(pool).testing, 1); /* it counts until the call returns */
    let_all_go(&s, CALL_TEST);
    cen_pool_stats n = look(pool);
    expect(n.closed == 1 && n.idle == 0);
    end_life(&s, pool);
}

/* guarantees: life-api.test-idle */
TEST(a_test_that_returns_within_its_time_keeps_the_object_and_five_seconds_are_the_default)
{
    for (int late = 0; late < 2; late++) {
        s = (script){.of[CALL_TEST] = {.hang_from = 1, .hang_to = 1}};
        cen_pool *pool = begin_life(&s, HAS_TEST | BLOCKS, .max = 2);
        warm_up(pool, 1);
        expect_equal(cen_pool_test_idle(pool, NULL), CEN_OK);
        ceni_world_settle();
        pass(5 * SECOND - 1 + late);
        let_all_go(&s, CALL_TEST);
        expect_equal(look(pool).closed, late);
        end_life(&s, pool);
    }
}

/* guarantees: life-api.test-idle */
TEST(with_the_time_limit_off_a_test_may_take_for_ever)
{
    s = (script){.of[CALL_TEST] = {.hang_from = 1, .hang_to = 1}};
    cen_pool *pool =
        begin_life(&s, HAS_TEST | BLOCKS, .max = 2, .test_timeout_ns = CEN_OFF, .max_lifetime_ns = CEN_OFF);
    warm_up(pool, 1);
    expect_equal(cen_pool_test_idle(pool, NULL), CEN_OK);
    pass(3600 * SECOND);
    let_all_go(&s, CALL_TEST);
    cen_pool_stats n = look(pool);
    expect(n.closed == 0 && n.idle == 1);
    end_life(&s, pool);
}

/* guarantees: life-api.test-idle */
TEST(what_is_out_is_not_tested_and_a_driver_without_a_test_has_nothing_to_test)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, HAS_TEST | BLOCKS, .max = 2);
    cen_lease lease = take(pool);
    expect_equal(cen_pool_test_idle(pool, NULL), CEN_OK);
    pass(300 * SECOND);
    expect_equal(s.of[CALL_TEST].calls, 0);
    give_back(&lease);
    end_life(&s, pool);
    s = (script){.opened = 0};
    pool = begin_life(&s, BLOCKS, .max = 2);
    warm_up(pool, 2);
    expect_equal(cen_pool_test_idle(pool, NULL), CEN_OK);
    pass(SECOND);
    expect_equal(look(pool).idle, 2);
    end_life(&s, pool);
}
