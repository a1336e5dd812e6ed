/* SPDX-License-Identifier: MIT */
/* Drivers whose calls are done later: each of them; from where and when they may be done; what comes too late. */
#include "unit/pool/clerks.h"

static clerk c;

/* ---- Opening -------------------------------------------------------------------------------- */

/* guarantees: later.anywhere */
TEST(an_opening_that_is_done_later_serves_the_thread_that_waits_for_it)
{
    c = (clerk){.opened = 0};
    cen_pool *pool = begin_clerk(&c, 0, .max = 2);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    expect_waiting(&one);
    expect(c.count == 1 && c.begun[0].kind == CALL_OPEN && c.begun[0].thread != cen_thread_number());
    cen_pool_stats n = look(pool);
    expect(n.opening == 1 && n.waiting == 1 && n.opened == 0);
    finish(&c, 0, CEN_OK);
    expect_taken(&one, 1);
    expect_equal(look(pool).held, 1);
    give_back(&one.lease);
    end_clerk(&c, pool);
}

/* guarantees: later.anywhere */
TEST(an_opening_may_be_done_before_its_function_returns)
{
    c = (clerk){.at_once = AT_ONCE_OPEN};
    cen_pool *pool = begin_clerk(&c, 0, .max = 3);
    cen_lease leases[3];
    for (int i = 0; i < 3; i++) leases[i] = take(pool);
    expect_equal(look(pool).held, 3);
    for (int i = 0; i < 3; i++) give_back(&leases[i]);
    end_clerk(&c, pool);
}

static void finish_first(void *unused)
{
    (void)unused;
    finish(&c, 0, CEN_OK);
}

/* guarantees: later.anywhere */
TEST(an_opening_may_be_done_on_any_thread)
{
    c = (clerk){.opened = 0};
    cen_pool *pool = begin_clerk(&c, 0, .max = 1);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    join(start("loop", finish_first, NULL));
    expect_taken(&one, 1);
    give_back(&one.lease);
    end_clerk(&c, pool);
}

/* guarantees: later.anywhere */
TEST(what_the_driver_said_of_an_opening_that_failed_reaches_the_taker)
{
    c = (clerk){.opened = 0};
    cen_pool *pool = begin_clerk(&c, 0, .max = 1, .breaker_failures = 1, .breaker_wait_ns = CEN_OFF);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    cen_error said = {.code = 61, .text = "nobody listens there"};
    expect_equal(finish_with(&c, 0, CEN_SYSTEM, &said), CEN_OK);
    expect_answer(&one, CEN_SYSTEM);
    expect_error(&one.error, CEN_SYSTEM, "nobody listens there");
    expect_equal(one.error.code, 61);
    cen_pool_stats n = look(pool);
    expect(n.open_failed == 1 && n.breaker == CEN_BREAKER_OPEN && n.vacant == n.places);
    end_clerk(&c, pool);
}

/* guarantees: later.anywhere */
TEST(openings_under_way_count_in_the_capacity_although_no_helper_is_with_them)
{
    c = (clerk){.opened = 0};
    cen_pool *pool = begin_clerk(&c, 0, .max = 4, .max_concurrent_opens = 2);
    taker takers[4];
    for (int i = 0; i < 4; i++) begin_take(&takers[i], pool, CEN_NEVER);
    expect_equal(c.started[CALL_OPEN], 2);
    finish(&c, 1, CEN_OK);
    expect_equal(c.started[CALL_OPEN], 3);
    finish(&c, 0, CEN_OK);
    expect_equal(c.started[CALL_OPEN], 4);
    finish(&c, 2, CEN_OK);
    finish(&c, 3, CEN_OK);
    for (int i = 0; i < 4; i++) expect_answer(&takers[i], CEN_OK);
    for (int i = 0; i < 4; i++) give_back(&takers[i].lease);
    end_clerk(&c, pool);
}

/* guarantees: later.anywhere */
TEST(the_minimum_of_idle_objects_is_opened_by_a_driver_that_is_done_later)
{
    c = (clerk){.opened = 0};
    cen_pool *pool = begin_clerk(&c, 0, .max = 4, .min_idle = 2);
    ceni_world_settle();
    expect_equal(c.started[CALL_OPEN], 2);
    finish_all(&c);
    pass(10 * SECOND);
    cen_pool_stats n = look(pool);
    expect(n.idle == 2 && c.started[CALL_OPEN] == 2);
    ceni_waiters_lock(pool->waiters);
    expect_equal(pool->opening_for_minimum + pool->top_up, 0);
    ceni_waiters_unlock(pool->waiters);
    end_clerk(&c, pool);
}

/* guarantees: later.anywhere */
TEST(an_object_that_is_opened_while_the_pool_is_reloaded_is_closed)
{
    c = (clerk){.opened = 0};
    cen_pool *pool = begin_clerk(&c, 0, .max = 1);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    expect_equal(cen_pool_reload(pool, 0, NULL), CEN_OK);
    finish(&c, 0, CEN_OK);
    expect_waiting(&one);
    expect(c.closes[1] == 1 && c.count == 2);
    finish(&c, 1, CEN_OK);
    expect_taken(&one, 2);
    give_back(&one.lease);
    end_clerk(&c, pool);
}

/* ---- Tickets ---------------------------------------------------------------------------------- */

/* guarantees: later.L8 */
TEST(L8_a_ticket_can_be_done_once)
{
    c = (clerk){.opened = 0};
    cen_pool *pool = begin_clerk(&c, 0, .max = 1, .backoff_initial_ns = MS, .backoff_max_ns = MS);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    cen_ticket first = c.begun[0].ticket;
    finish(&c, 0, CEN_DRIVER);
    pass(MS);
    expect_equal(c.count, 2); /* another opening, in the same place */
    expect(c.begun[1].ticket.number != first.number);
    expect_equal(cen_driver_done(first, CEN_OK, object_of(9), NULL), CEN_STALE);
    expect_waiting(&one);
    finish(&c, 1, CEN_OK);
    expect_taken(&one, 1);
    expect_equal(cen_driver_done(c.begun[1].ticket, CEN_OK, object_of(9), NULL), CEN_STALE);
    give_back(&one.lease);
    expect_equal(cen_driver_done(c.begun[1].ticket, CEN_DRIVER, NULL, NULL), CEN_STALE);
    expect_equal(look(pool).idle, 1);
    end_clerk(&c, pool);
}

/* guarantees: later.L8 */
TEST(what_is_no_ticket_is_told_so_and_changes_nothing)
{
    c = (clerk){.opened = 0};
    cen_pool *pool = begin_clerk(&c, 0, .max = 1);
    cen_pool *other = make_pool(.max = 1);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    cen_ticket real = c.begun[0].ticket, false_ones[] = {real, real, real, real, real, {.pool = NULL}};
    false_ones[0].number++;
    false_ones[1].number ^= UINT64_C(1) << 40;
    false_ones[2].pool = other;
    false_ones[3].line_ = &c;
    false_ones[4].line_ = (char *)real.line_ + 8;
    for (size_t i = 0; i < sizeof false_ones / sizeof *false_ones; i++)
        expect_equal(cen_driver_done(false_ones[i], CEN_OK, object_of(9), NULL), CEN_STALE);
    expect_equal(cen_driver_done(real, (cen_status)1000, NULL, NULL), CEN_INVALID);
    expect_equal(cen_driver_done(real, (cen_status)-1, NULL, NULL), CEN_INVALID);
    expect_waiting(&one);
    finish(&c, 0, CEN_OK);
    expect_taken(&one, 1);
    give_back(&one.lease);
    free_pool(other);
    end_clerk(&c, pool);
}

/* guarantees: later.L8 */
TEST(L14_a_ticket_is_of_no_use_in_the_child_of_a_fork)
{
    c = (clerk){.opened = 0};
    cen_runtime *alone = make_runtime(.manual = true);
    cen_pool *pool = begin_clerk(&c, 0, .max = 1, .min_idle = 1, .runtime = alone);
    cen_runtime_poll(alone);
    expect_equal(c.count, 1);
    ceni_world_fork();
    expect_equal(cen_driver_done(c.begun[0].ticket, CEN_OK, object_of(1), NULL), CEN_FORKED);
    cen_pool *own = make_pool(.max = 1); /* it may have been lent the same line */
    expect_equal(cen_driver_done(c.begun[0].ticket, CEN_OK, object_of(1), NULL), CEN_FORKED);
    free_pool(own);
    free_pool(pool);
    free_runtime(alone);
}

/* guarantees: later.L15 */
TEST(L15_a_ticket_may_be_done_after_the_pool_was_freed_and_is_stale_after_that)
{
    c = (clerk){.opened = 0};
    cen_pool *pool = begin_clerk(&c, 0, .max = 1);
    taker one;
    begin_take(&one, pool, cen_in_ms(1));
    pass(2 * MS);
    expect_answer(&one, CEN_TIMEOUT);
    free_pool(pool);
    ceni_world_settle();
    expect_equal(c.finis, 0);
    cen_ticket ticket = c.begun[0].ticket;
    finish(&c, 0, CEN_OK);
    expect(c.finis == 1 && c.closes[1] == 1);
    /* its memory is gone, and not touched */
    expect_equal(cen_driver_done(ticket, CEN_OK, object_of(1), NULL), CEN_STALE);
    expect_all_ended(&c);
}

/* ---- Too late ------------------------------------------------------------------------------------ */

/* guarantees: later.C */
TEST(C_an_opening_that_takes_too_long_is_cancelled_once_and_its_place_counts_until_it_is_done)
{
    c = (clerk){.opened = 0};
    cen_pool *pool =
        begin_clerk(&c, 0, .max = 1, .open_timeout_ns = SECOND, .breaker_failures = 1, .breaker_wait_ns = CEN_OFF);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    pass(SECOND - 1);
    expect_waiting(&one);
    expect_equal(c.begun[0].cancels, 0);
    pass(1);
    expect_answer(&one, CEN_DRIVER);
    expect_error(&one.error, CEN_DRIVER, "1000 ms");
    expect_equal(c.begun[0].cancels, 1);
    pass(100 * SECOND);
    cen_pool_stats n = look(pool);
    expect(n.open_failures == 1 && n.opening == 1 && n.vacant + 1 == n.places); /* told once, and counted */
    expect(c.begun[0].cancels == 1 && c.count == 1);
    end_clerk(&c, pool);
}

/* guarantees: later.C */
TEST(C_an_object_that_is_opened_too_late_is_closed_and_never_lent_or_counted_twice)
{
    c = (clerk){.opened = 0};
    cen_pool *pool = begin_clerk(&c, CLOSES_TOO, .max = 1, .open_timeout_ns = SECOND, .backoff_initial_ns = MS,
                                 .backoff_max_ns = MS);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    pass(2 * SECOND);
    expect_waiting(&one);
    expect(c.begun[0].cancels == 1 && c.count == 1); /* max is one, and it is still being opened */
    finish(&c, 0, CEN_OK);
    expect_waiting(&one);
    cen_pool_stats n = look(pool);
    expect(n.opened == 1 && n.opening == 0 && n.closing == 1 && n.open_failures == 1);
    expect(c.count == 2 && c.begun[1].kind == CALL_CLOSE);
    finish(&c, 1, CEN_OK);
    expect(c.count == 3 && c.begun[2].kind == CALL_OPEN);
    finish(&c, 2, CEN_OK);
    expect_taken(&one, 2);
    n = look(pool);
    expect(n.opened == 2 && n.closed == 1 && n.held == 1 && n.open_failures == 0);
    give_back(&one.lease);
    end_clerk(&c, pool);
}

/* guarantees: later.C */
TEST(a_driver_that_ends_its_call_when_it_is_cancelled_fails_once)
{
    c = (clerk){.ends_when_cancelled = true};
    cen_pool *pool = begin_clerk(&c, 0, .max = 1, .open_timeout_ns = SECOND, .breaker_failures = 2,
                                 .backoff_initial_ns = 10 * SECOND, .backoff_max_ns = 10 * SECOND);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    pass(SECOND);
    cen_pool_stats n = look(pool);
    expect(n.open_failures == 1 && n.open_failed == 1 && n.opening == 0 && n.vacant == n.places);
    expect_waiting(&one);
    c.ends_when_cancelled = false;
    pass(10 * SECOND);
    expect_equal(c.count, 2);
    finish(&c, 1, CEN_OK);
    expect_taken(&one, 1);
    give_back(&one.lease);
    end_clerk(&c, pool);
}

/* guarantees: later.C */
TEST(the_next_opening_in_the_place_of_a_late_one_has_a_time_of_its_own)
{
    c = (clerk){.opened = 0};
    cen_pool *pool =
        begin_clerk(&c, 0, .max = 1, .open_timeout_ns = SECOND, .backoff_initial_ns = MS, .backoff_max_ns = MS);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    pass(2 * SECOND);
    finish(&c, 0, CEN_DRIVER);
    expect_equal(c.count, 2);
    pass(SECOND - 1);
    expect(c.begun[1].cancels == 0 && look(pool).open_failures == 1);
    finish(&c, 1, CEN_OK);
    expect_taken(&one, 1);
    give_back(&one.lease);
    end_clerk(&c, pool);
}

/* ---- Reset and close -------------------------------------------------------------------------------- */

/* guarantees: later.anywhere */
TEST(an_object_whose_reset_is_done_later_is_lent_after_that)
{
    c = (clerk){.opened = 0};
    cen_pool *pool = begin_clerk(&c, RESETS_TOO, .max = 1);
    c.at_once = AT_ONCE_OPEN;
    cen_lease lease = take(pool);
    c.condition = CEN_DIRTY;
    give_back(&lease);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    expect_waiting(&one);
    expect_equal(look(pool).resetting, 1);
    c.condition = CEN_CLEAN;
    finish(&c, last_of(&c, CALL_RESET), CEN_OK);
    expect_taken(&one, 1);
    expect_equal(look(pool).reset, 1);
    give_back(&one.lease);
    end_clerk(&c, pool);
}

/* guarantees: later.anywhere */
TEST(an_object_whose_reset_fails_later_is_closed)
{
    c = (clerk){.at_once = AT_ONCE_OPEN, .condition = CEN_DIRTY};
    cen_pool *pool = begin_clerk(&c, RESETS_TOO, .max = 1);
    cen_lease lease = take(pool);
    give_back(&lease);
    ceni_world_settle();
    finish(&c, last_of(&c, CALL_RESET), CEN_DRIVER);
    cen_pool_stats n = look(pool);
    expect(n.reset_failed == 1 && n.closed == 1 && c.closes[1] == 1 && n.vacant == n.places);
    end_clerk(&c, pool);
}

/* guarantees: later.anywhere */
TEST(L2_what_is_closed_later_counts_until_it_is_done)
{
    c = (clerk){.at_once = AT_ONCE_OPEN};
    cen_pool *pool = begin_clerk(&c, CLOSES_TOO, .max = 1);
    cen_lease lease = take(pool);
    expect_equal(cen_pool_discard(&lease), CEN_OK);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    pass(1000 * SECOND);
    expect_waiting(&one);
    cen_pool_stats n = look(pool);
    expect(n.closing == 1 && n.closed == 0 && c.started[CALL_OPEN] == 1);
    finish(&c, last_of(&c, CALL_CLOSE), CEN_OK);
    expect_taken(&one, 2);
    give_back(&one.lease);
    end_clerk(&c, pool);
}

/* ---- The end of a pool -------------------------------------------------------------------------------- */

/* guarantees: later.L15 */
TEST(L15_close_cancels_what_is_opened_tested_and_reset_and_awaits_it)
{
    c = (clerk){.at_once = AT_ONCE_OPEN};
    cen_pool *pool = begin_clerk(&c, TESTS_TOO | RESETS_TOO, .max = 3, .test_interval_ns = SECOND);
    cen_lease one = take(pool), two = take(pool);
    give_back(&one);
    pass(2 * SECOND); /* it is tested */
    c.condition = CEN_DIRTY;
    give_back(&two); /* it is reset */
    c.at_once = 0;
    taker third;
    begin_take(&third, pool, CEN_NEVER);
    cen_pool_stats n = look(pool);
    expect(n.testing == 1 && n.resetting == 1 && n.opening == 1);
    cen_close_report report = CEN_SIZED(cen_close_report);
    expect_equal(cen_pool_close(pool, cen_in_ms(10), &report, NULL), CEN_TIMEOUT);
    expect_answer(&third, CEN_CLOSED);
    expect(report.busy == 3 && report.revoked == 0);
    for (unsigned i = 0; i < c.count; i++) expect_equal(c.begun[i].cancels, !c.begun[i].done);
    finish_all(&c);
    n = look(pool);
    expect(n.vacant == n.places && n.opened == 3 && n.closed == 3);
    expect(c.closes[1] + c.closes[2] + c.closes[3] == 3); /* what was opened for nobody, too */
    end_clerk(&c, pool);
}

static void close_for_long(void *argument)
{
    expect_equal(cen_pool_close(argument, cen_in_s(60), NULL, NULL), CEN_OK);
}

/* guarantees: later.L15 */
TEST(L15_close_returns_when_the_last_call_is_done)
{
    c = (clerk){.opened = 0};
    cen_pool *pool = begin_clerk(&c, CLOSES_TOO, .max = 1);
    warm_clerk(&c, pool);
    ceni_thread closer = start("closer", close_for_long, pool);
    pass(SECOND);
    expect_equal(c.started[CALL_CLOSE], 1);
    finish(&c, last_of(&c, CALL_CLOSE), CEN_OK);
    join(closer);
    end_clerk(&c, pool);
}

/* guarantees: later.L15 */
TEST(what_waits_for_its_test_or_reset_when_the_pool_is_closed_is_closed_without)
{
    c = (clerk){.at_once = AT_ONCE_OPEN, .condition = CEN_DIRTY};
    cen_pool *pool = begin_clerk(&c, RESETS_TOO, .max = 5);
    cen_lease leases[5];
    for (int i = 0; i < 5; i++) leases[i] = take(pool);
    for (int i = 0; i < 5; i++) give_back(&leases[i]);
    ceni_world_settle();
    expect_equal(c.started[CALL_RESET], 2); /* two at a time */
    cen_close_report report = CEN_SIZED(cen_close_report);
    expect_equal(cen_pool_close(pool, cen_in_ms(10), &report, NULL), CEN_TIMEOUT);
    finish_all(&c);
    expect_equal(c.started[CALL_RESET], 2);
    cen_pool_stats n = look(pool);
    expect_equal(n.vacant, n.places);
    end_clerk(&c, pool);
}

TEST(a_give_whose_reset_has_not_begun_when_the_pool_is_closed_is_over_all_the_same)
{
    c = (clerk){.at_once = AT_ONCE_OPEN, .condition = CEN_DIRTY};
    cen_pool *pool = begin_clerk(&c, RESETS_TOO, .max = 3);
    cen_lease leases[3];
    cen_future future;
    cen_future_init(&future);
    for (int i = 0; i < 3; i++) leases[i] = take(pool);
    for (int i = 0; i < 2; i++) give_back(&leases[i]);
    expect_equal(cen_pool_give_async(&leases[2], &future), CEN_OK);
    ceni_world_settle();
    expect_equal(cen_pool_close(pool, cen_in_ms(10), NULL, NULL), CEN_TIMEOUT);
    finish_all(&c);
    expect(cen_future_is_done(&future) && c.started[CALL_RESET] == 2);
    expect_equal(future.status, CEN_OK); /* it was closed because the pool is: the driver said nothing */
    end_clerk(&c, pool);
}

TEST(a_close_counts_apart_what_was_idle_and_what_was_given_though_some_are_still_being_closed_later)
{
    c = (clerk){.at_once = AT_ONCE_OPEN};
    cen_pool *pool = begin_clerk(&c, CLOSES_TOO, .max = 3);
    cen_lease one = take(pool), two = take(pool), held = take(pool);
    give_back(&one);
    give_back(&two);
    cen_close_op closing;
    cen_close_report report = CEN_SIZED(cen_close_report);
    cen_close_op_init(&closing, NULL, NULL);
    closing.report = &report;
    expect_equal(cen_pool_close_async(pool, cen_in_ms(100), &closing), CEN_OK);
    ceni_world_settle();
    finish(&c, last_of(&c, CALL_CLOSE), CEN_OK);
    give_back(&held);
    ceni_world_settle();
    finish(&c, last_of(&c, CALL_CLOSE), CEN_OK);
    pass(100 * MS);
    expect(cen_future_is_done(&closing.future) && closing.future.status == CEN_TIMEOUT);
    expect(report.idle == 2 && report.given == 1 && report.busy == 1);
    end_clerk(&c, pool);
}

/* ---- Without any thread --------------------------------------------------------------------------------- */

/* guarantees: later.no-threads */
TEST(a_pool_of_a_driver_that_is_done_later_lives_its_whole_life_without_a_thread)
{
    c = (clerk){.opened = 0};
    cen_pool *pool = begin_alone(&c, TESTS_TOO | RESETS_TOO | CLOSES_TOO, .max = 2, .test_after_idle_ns = SECOND,
                                 .test_interval_ns = 10 * SECOND, .test_timeout_ns = SECOND, .idle_timeout_ns = CEN_OFF,
                                 .max_lifetime_ns = CEN_OFF, .open_timeout_ns = SECOND, .backoff_initial_ns = SECOND,
                                 .backoff_max_ns = SECOND);
    cen_lease lease;
    expect_none(pool);
    expect_equal(c.count, 0); /* only in poll */
    cen_runtime_poll(c.runtime);
    expect_equal(c.started[CALL_OPEN], 1);
    expect_equal(cen_runtime_advance(c.runtime, 2 * SECOND), CEN_OK);
    expect(c.begun[0].cancels == 1 && look(pool).open_failures == 1);
    finish(&c, 0, CEN_DRIVER);
    expect_none(pool);
    cen_runtime_poll(c.runtime);
    finish(&c, last_of(&c, CALL_OPEN), CEN_OK);
    lease = take_now(pool);
    c.condition = CEN_DIRTY;
    give_back(&lease);
    cen_runtime_poll(c.runtime);
    c.condition = CEN_CLEAN;
    finish(&c, last_of(&c, CALL_RESET), CEN_OK);
    expect_equal(look(pool).idle, 1);
    expect_equal(cen_runtime_advance(c.runtime, 11 * SECOND), CEN_OK);
    expect(c.started[CALL_TEST] == 1 && look(pool).testing == 1);
    expect_equal(cen_runtime_advance(c.runtime, SECOND), CEN_OK);
    expect_equal(c.begun[last_of(&c, CALL_TEST)].cancels, 1);
    finish(&c, last_of(&c, CALL_TEST), CEN_OK); /* it works, but took too long */
    cen_runtime_poll(c.runtime);
    expect_equal(look(pool).closing, 1);
    finish(&c, last_of(&c, CALL_CLOSE), CEN_OK);
    expect_equal(look(pool).vacant, look(pool).places);
    for (unsigned i = 0; i < c.count; i++) expect_equal(c.begun[i].thread, cen_thread_number());
    expect_equal(ceni_world_waiting(), 0);
    end_clerk(&c, pool);
}

/* guarantees: later.no-threads */
TEST(who_closes_a_pool_without_threads_begins_what_is_to_be_closed_itself)
{
    c = (clerk){.at_once = AT_ONCE_CLOSE | AT_ONCE_OPEN};
    cen_pool *pool = begin_alone(&c, CLOSES_TOO, .max = 2, .min_idle = 2);
    cen_runtime_poll(c.runtime);
    expect_equal(look(pool).idle, 2);
    expect_equal(cen_pool_close(pool, cen_in_s(1), NULL, NULL), CEN_OK);
    expect(c.closes[1] == 1 && c.closes[2] == 1);
    end_clerk(&c, pool);
}

/* guarantees: later.no-threads */
TEST(a_manual_runtime_refuses_a_driver_that_blocks_though_it_can_be_done_later)
{
    c = (clerk){.opened = 0};
    cen_runtime *alone = make_runtime(.manual = true);
    cen_pool_options o = CEN_POOL_OPTIONS(.max = 1, .runtime = alone, .driver = clerk_driver(&c, 0));
    cen_pool *pool;
    cen_error error;
    c.calls.blocks = true;
    expect_equal(cen_pool_new(&o, &pool, &error), CEN_INVALID);
    expect_error(&error, CEN_INVALID, "manual");
    c.calls.blocks = false;
    o.eager = true;
    expect_equal(cen_pool_new(&o, &pool, &error), CEN_INVALID);
    expect_error(&error, CEN_INVALID, "eager");
    free_runtime(alone);
}

/* guarantees: later.anywhere */
TEST(a_driver_that_is_done_later_works_with_the_process_own_runtime)
{
    c = (clerk){.opened = 0};
    cen_pool *pool = make_pool(.max = 1, .driver = clerk_driver(&c, 0));
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    finish(&c, 0, CEN_OK);
    expect_taken(&one, 1);
    give_back(&one.lease);
    expect_equal(cen_pool_close(pool, cen_in_s(1), NULL, NULL), CEN_OK);
    free_pool(pool);
    ceni_world_settle();
    expect(c.finis == 1 && c.closes[1] == 1);
}

TEST(L15_a_report_counts_no_give_that_never_was_while_idle_objects_are_still_closing)
{
    c = (clerk){.at_once = AT_ONCE_OPEN};
    cen_pool *pool = begin_clerk(&c, CLOSES_TOO, .max = 2);
    warm_up(pool, 2);
    cen_close_report report = CEN_SIZED(cen_close_report);
    expect_equal(cen_pool_close(pool, CEN_NOW, &report, NULL), CEN_TIMEOUT);
    expect(report.idle == 2 && report.given == 0 && report.busy == 2);
    end_clerk(&c, pool);
}
