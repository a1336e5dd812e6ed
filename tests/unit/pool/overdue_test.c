/* SPDX-License-Identifier: MIT */
/* Openings that take too long, and openings that a close meets. */
#include "unit/pool/scripted.h"

static script s;

static void hang_opens(unsigned from, unsigned to)
{
    s = (script){.of[CALL_OPEN] = {.hang_from = from, .hang_to = to}};
}

/* ---- Too long -------------------------------------------------------------------------------- */

/* guarantees: life.L11, life-bugs.C */
TEST(C_an_opening_that_takes_too_long_has_failed_once_and_its_late_object_is_used_and_counted_once)
{
    hang_opens(1, 1);
    cen_pool *pool =
        begin_life(&s, BLOCKS, .max = 2, .open_timeout_ns = SECOND, .breaker_failures = 1, .breaker_wait_ns = CEN_OFF);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    pass(SECOND - 1);
    expect_waiting(&one);
    pass(1);
    expect_answer(&one, CEN_DRIVER); /* not TIMEOUT: its own deadline has not passed */
    expect_error(&one.error, CEN_DRIVER, "1000 ms");
    cen_pool_stats n = look(pool);
    expect(n.open_failures == 1 && n.breaker == CEN_BREAKER_OPEN && n.opening == 1 && n.failed == 1);
    pass(60 * SECOND);
    n = look(pool);
    expect(n.open_failures == 1 && n.opening == 1); /* told once, and still counted in its place */
    let_all_go(&s, CALL_OPEN);
    n = look(pool);
    expect(n.opened == 1 && n.open_failed == 0 && n.idle == 1 && n.opening == 0);
    expect(n.breaker == CEN_BREAKER_CLOSED && n.open_failures == 0);
    cen_lease lease = take_now(pool);
    expect_equal(number_of(&lease), 1);
    give_back(&lease);
    end_life(&s, pool);
}

/* guarantees: life.L11, life-bugs.C */
TEST(C_a_late_failure_is_not_counted_a_second_time)
{
    hang_opens(1, 1);
    fail_all(&s, CALL_OPEN);
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 2, .open_timeout_ns = SECOND, .breaker_failures = 2);
    cen_lease lease;
    expect_equal(cen_pool_take(pool, cen_in_ms(2), &lease, NULL), CEN_TIMEOUT);
    pass(60 * SECOND);
    expect_equal(look(pool).open_failures, 1);
    let_all_go(&s, CALL_OPEN);
    cen_pool_stats n = look(pool);
    expect(n.open_failures == 1 && n.breaker == CEN_BREAKER_CLOSED);
    expect(n.open_failed == 1 && n.opening == 0 && n.vacant == n.places);
    end_life(&s, pool);
}

/* guarantees: life.L11 */
TEST(the_next_opening_in_the_same_place_has_a_time_of_its_own)
{
    hang_opens(1, 2);
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 1, .open_timeout_ns = SECOND, .breaker_failures = 2,
                                .backoff_initial_ns = MS, .backoff_max_ns = MS, .breaker_wait_ns = CEN_OFF);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    pass(2 * SECOND);
    expect_equal(look(pool).open_failures, 1);
    s.of[CALL_OPEN].fail_from = s.of[CALL_OPEN].fail_to = 1;
    let_go(&s, CALL_OPEN, 1);
    expect_equal(s.of[CALL_OPEN].calls, 2); /* the back-off is over, and this failure was told */
    pass(SECOND - 1);
    expect_equal(look(pool).open_failures, 1);
    pass(1);
    expect_answer(&one, CEN_DRIVER);
    expect_equal(look(pool).open_failures, 2);
    end_life(&s, pool);
}

/* Two may be opened at a time and one hangs: that is no reason not to try the other. */
/* guarantees: life.L3, life-bugs.A-B */
TEST(L3_an_opening_that_hangs_for_too_long_does_not_keep_the_other_opener_from_trying)
{
    hang_opens(1, 1);
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 4, .max_concurrent_opens = 2, .open_timeout_ns = SECOND);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    pass(2 * SECOND); /* it is overdue, and the back-off of at most 100 ms is over */
    expect_equal(s.of[CALL_OPEN].calls, 2);
    expect_taken(&one, 1);
    give_back(&one.lease);
    end_life(&s, pool);
}

/* guarantees: life.L2, life-bugs.D */
TEST(L2_openings_that_hang_for_ever_count_against_openers_and_max)
{
    hang_opens(1, 99);
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 4, .max_concurrent_opens = 2, .open_timeout_ns = SECOND,
                                .breaker_failures = CEN_OFF, .backoff_initial_ns = MS, .backoff_max_ns = MS);
    taker takers[4];
    for (int i = 0; i < 4; i++) begin_take(&takers[i], pool, cen_in_s(100));
    pass(100 * SECOND);
    for (int i = 0; i < 4; i++) expect_answer(&takers[i], CEN_TIMEOUT);
    expect_equal(s.of[CALL_OPEN].most, 2);
    expect_equal(look(pool).opening, 2);
    end_life(&s, pool);
}

/* guarantees: life.L11 */
TEST(with_the_time_limit_off_an_opening_may_take_for_ever)
{
    hang_opens(1, 1);
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 1, .open_timeout_ns = CEN_OFF);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    pass(36000 * SECOND);
    expect_waiting(&one);
    expect_equal(look(pool).open_failures, 0);
    let_all_go(&s, CALL_OPEN);
    expect_taken(&one, 1);
    give_back(&one.lease);
    end_life(&s, pool);
}

/* guarantees: life.L11 */
TEST(an_opening_takes_too_long_after_ten_seconds_by_default)
{
    hang_opens(1, 1);
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 1);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    pass(10 * SECOND - 1);
    expect_equal(look(pool).open_failures, 0);
    pass(1);
    expect_equal(look(pool).open_failures, 1);
    let_all_go(&s, CALL_OPEN);
    expect_taken(&one, 1);
    give_back(&one.lease);
    end_life(&s, pool);
}

/* ---- Close ------------------------------------------------------------------------------------- */

/* guarantees: life.L15, life-bugs.L */
TEST(L15_an_opening_that_ends_after_the_close_is_closed_and_the_report_calls_it_busy)
{
    hang_opens(1, 2);
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 4);
    taker takers[3];
    for (int i = 0; i < 3; i++) begin_take(&takers[i], pool, CEN_NEVER);
    cen_close_report report = CEN_SIZED(cen_close_report);
    expect_equal(cen_pool_close(pool, cen_in_s(5), &report, NULL), CEN_TIMEOUT);
    expect(report.busy == 2 && report.waiting == 3 && report.idle == 0 && report.revoked == 0);
    for (int i = 0; i < 3; i++) expect_answer(&takers[i], CEN_CLOSED);
    let_all_go(&s, CALL_OPEN);
    cen_pool_stats n = look(pool);
    expect(n.opened == 2 && n.closed == 2 && n.vacant == n.places);
    end_life(&s, pool);
}

/* guarantees: life.L15, life-bugs.L */
TEST(E6_close_waits_for_openings_holders_resets_and_closings_and_then_everything_is_closed)
{
    s = (script){.of[CALL_RESET].takes_ns = SECOND, .of[CALL_CLOSE].takes_ns = SECOND};
    cen_pool *pool = begin_life(&s, BLOCKS | HAS_CHECK | HAS_RESET, .max = 4);
    cen_lease a = take(pool), b = take(pool);
    s.things[number_of(&a)].condition = CEN_DIRTY;
    give_back(&a);
    expect_equal(cen_pool_discard(&b), CEN_OK);
    s.of[CALL_OPEN].takes_ns = 3 * SECOND;
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    cen_pool_stats n = look(pool);
    expect(n.resetting == 1 && n.closing == 1 && n.opening == 1);
    int64_t began = cen_clock();
    cen_close_report report = CEN_SIZED(cen_close_report);
    expect_equal(cen_pool_close(pool, cen_in_s(60), &report, NULL), CEN_OK);
    expect_answer(&one, CEN_CLOSED);
    expect_equal(cen_clock() - began, 4 * SECOND); /* three to open, one to close */
    expect(report.busy == 0 && report.revoked == 0 && report.waiting == 1);
    expect_equal(look(pool).vacant, 4);
    end_life(&s, pool);
}

/* guarantees: life.L15, life-bugs.L */
TEST(L15_nothing_is_opened_after_a_close_though_the_back_off_ends_or_the_minimum_is_missing)
{
    s = (script){.opened = 0};
    fail_all(&s, CALL_OPEN);
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 4, .min_idle = 2, .breaker_failures = CEN_OFF);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    recover(&s, CALL_OPEN);
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_OK);
    expect_answer(&one, CEN_CLOSED);
    unsigned calls = s.of[CALL_OPEN].calls;
    pass(600 * SECOND);
    expect_equal(s.of[CALL_OPEN].calls, calls);
    expect_equal(s.opened, 0);
    end_life(&s, pool);
}

/* guarantees: life.L15 */
TEST(a_pool_that_is_freed_while_an_opening_hangs_gives_its_memory_back_when_it_returns)
{
    hang_opens(1, 1);
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 2);
    cen_lease lease;
    expect_equal(cen_pool_take(pool, cen_in_ms(1), &lease, NULL), CEN_TIMEOUT);
    free_pool(pool);
    ceni_world_settle();
    expect_equal(s.finis, 0);
    expect_equal(cen_runtime_free(s.runtime), CEN_BUSY);
    let_all_go(&s, CALL_OPEN);
    expect(s.finis == 1 && s.things[1].closes == 1);
    free_runtime(s.runtime);
}
