/* SPDX-License-Identifier: MIT */
/*
 * Classes of bugs that users of other pools met, as far as the other files of
 * the life cycle have no test of that name: calls out of the pool, its end,
 * clocks, and numbers.
 */
#include "unit/pool/scripted.h"

static script s;

/* ---- Calls out ---------------------------------------------------------------------------------- */

static cen_pool *inside;
static unsigned calls_inside;
static cen_driver_calls plain; /* the scripted ones, which the watched ones call */

static bool visit_none(void *argument, const cen_object_view *holding)
{
    (void)argument;
    (void)holding;
    return true;
}

/* What the header allows works, and all else is refused and changes nothing. */
static void use_the_pool(void)
{
    cen_pool_stats n = CEN_SIZED(cen_pool_stats);
    cen_object_view holding;
    size_t count;
    cen_lease lease;
    calls_inside++;
    expect_equal(cen_pool_stats_get(inside, &n), CEN_OK);
    expect_equal(cen_pool_holders(inside, &holding, 1, &count), CEN_OK);
    expect_equal(cen_pool_each(inside, visit_none, NULL), CEN_OK);
    /* nothing is idle: it would have to wait */
    expect_equal(cen_pool_take(inside, cen_in_s(1), &lease, NULL), CEN_MISUSE);
    expect_equal(cen_pool_adopt(inside, object_of(150), NULL), CEN_MISUSE);
    expect_equal(cen_pool_resize(inside, 9, NULL), CEN_MISUSE);
    expect_equal(cen_pool_reload(inside, 0, NULL), CEN_MISUSE);
    expect_equal(cen_pool_reap(inside, 0, NULL, NULL), CEN_MISUSE);
    expect_equal(cen_pool_close(inside, CEN_NOW, NULL, NULL), CEN_MISUSE);
    expect_equal(cen_pool_free(inside), CEN_MISUSE);
    cen_pool_stats after = CEN_SIZED(cen_pool_stats);
    expect_equal(cen_pool_stats_get(inside, &after), CEN_OK);
    expect(after.max == n.max && after.is_closed == n.is_closed && after.adopted == n.adopted);
}

static cen_status open_inside(void *argument, void **out, cen_error *error)
{
    use_the_pool();
    return plain.open(argument, out, error);
}

static void close_inside(void *argument, void *object)
{
    if (!cen_pool_is_closed(inside)) use_the_pool();
    plain.close(argument, object);
}

static cen_condition check_inside(void *argument, void *object)
{
    use_the_pool();
    return plain.check(argument, object);
}

static cen_status reset_inside(void *argument, void *object, cen_error *error)
{
    use_the_pool();
    return plain.reset(argument, object, error);
}

static cen_status test_inside(void *argument, void *object, cen_error *error)
{
    use_the_pool();
    return plain.test(argument, object, error);
}

/* guarantees: life.L9, life-bugs.E */
TEST(E_every_function_of_a_driver_is_called_with_no_lock_held_and_may_look_at_the_pool)
{
    for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
        s = (script){.opened = 0};
        cen_runtime *runtime = make_runtime(.idle_timeout_ns = CEN_OFF);
        cen_pool_options o = CEN_POOL_OPTIONS(.max = 1, .runtime = runtime);
        o.driver = scripted_driver(&s, HAS_CHECK | HAS_RESET | HAS_TEST | blocks);
        plain = s.calls;
        s.calls.open = open_inside, s.calls.close = close_inside, s.calls.check = check_inside;
        s.calls.reset = reset_inside, s.calls.test = test_inside;
        s.own_runtime = true;
        calls_inside = 0;
        inside = make_from(o);
        cen_lease lease = take(inside);
        s.things[1].condition = CEN_DIRTY;
        give_back(&lease);
        ceni_world_settle();
        expect_equal(cen_pool_test_idle(inside, NULL), CEN_OK);
        pass(1);
        lease = take(inside);
        expect_equal(cen_pool_discard(&lease), CEN_OK);
        look(inside);
        expect_equal(calls_inside, 5);
        end_life(&s, inside);
        free_runtime(runtime);
    }
}

/* ---- The end ---------------------------------------------------------------------------------------- */

/* guarantees: life.L15, life-bugs.L */
TEST(L_close_awaits_a_test_and_closings_under_way_and_a_freed_pool_outlives_what_hangs)
{
    s = (script){.of[CALL_TEST] = {.hang_from = 1, .hang_to = 1}, .of[CALL_CLOSE] = {.hang_from = 1, .hang_to = 99}};
    cen_pool *pool = begin_life(&s, BLOCKS | HAS_TEST, .max = 4, .test_timeout_ns = CEN_OFF);
    cen_lease held = take(pool), copy;
    warm_up(pool, 3);
    expect_equal(cen_pool_test_idle(pool, NULL), CEN_OK);
    ceni_world_settle();
    copy = held;
    cen_close_report report = CEN_SIZED(cen_close_report);
    int64_t began = cen_clock();
    expect_equal(cen_pool_close(pool, cen_in_s(2), &report, NULL), CEN_TIMEOUT);
    expect_equal(cen_clock() - began, 2 * SECOND);
    expect(report.revoked == 1 && report.busy == 3);
    expect_equal(cen_pool_reload(pool, 0, NULL), CEN_CLOSED);
    expect_equal(cen_pool_test_idle(pool, NULL), CEN_CLOSED);
    free_pool(pool);
    expect_equal(cen_pool_give(&held), CEN_REVOKED);
    expect_equal(s.finis, 0); /* what hangs keeps it */
    expect_equal(cen_runtime_free(s.runtime), CEN_BUSY);
    let_all_go(&s, CALL_TEST);
    let_all_go(&s, CALL_CLOSE);
    ceni_world_settle();
    expect_equal(s.finis, 1);
    for (int i = 1; i <= 4; i++) expect_equal(s.things[i].closes, 1);
    free_runtime(s.runtime);
    expect(copy.pool != NULL);
}

/* guarantees: life.L15, life-bugs.L */
TEST(L_a_pool_that_is_closed_while_its_keeper_has_much_to_do_ends_and_leaves_no_alarm)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, BLOCKS | HAS_TEST, .max = 8, .min_idle = 4, .max_idle = 5,
                                .idle_timeout_ns = SECOND, .max_lifetime_ns = 2 * SECOND, .test_interval_ns = SECOND,
                                .leak_after_ns = SECOND, .test_after_idle_ns = 100 * MS);
    for (int i = 0; i < 5; i++) {
        cen_lease lease = take(pool);
        pass(777 * MS);
        give_back(&lease);
    }
    expect_equal(cen_pool_close(pool, cen_in_s(5), NULL, NULL), CEN_OK);
    ceni_world_settle();
    expect_equal(look_at(s.runtime).timers, 0);
    unsigned opens = s.of[CALL_OPEN].calls;
    pass(100 * SECOND);
    expect_equal(s.of[CALL_OPEN].calls, opens);
    end_life(&s, pool);
}

/* ---- Clocks ------------------------------------------------------------------------------------------- */

/* guarantees: life-bugs.P */
TEST(P_back_off_ages_and_deadlines_follow_the_runtimes_clock_whatever_any_other_says)
{
    s = (script){.opened = 0};
    cen_runtime *runtime = make_runtime(.manual = true, .virtual_time = true);
    cen_pool *pool =
        begin_life(&s, HAS_TEST, .max = 2, .runtime = runtime, .backoff_initial_ns = SECOND,
                   .idle_timeout_ns = 10 * SECOND, .max_lifetime_ns = 100 * SECOND, .leak_after_ns = 5 * SECOND);
    s.of[CALL_OPEN].fail_from = s.of[CALL_OPEN].fail_to = 1;
    cen_lease lease;
    expect_equal(cen_pool_take(pool, CEN_NOW, &lease, NULL), CEN_DRIVER);
    int64_t next = look(pool).next_open_ns;
    pass(86400 * SECOND); /* the machine slept, or somebody set its clock */
    cen_runtime_poll(runtime);
    expect_equal(look(pool).next_open_ns, next);
    expect_equal(cen_pool_take(pool, CEN_NOW, &lease, NULL), CEN_TIMEOUT);
    expect_equal(cen_runtime_advance(runtime, next), CEN_OK);
    lease = take_now(pool);
    pass(86400 * SECOND);
    cen_runtime_poll(runtime);
    expect_equal(look(pool).leaked, 0);
    give_back(&lease);
    pass(86400 * SECOND);
    cen_runtime_poll(runtime);
    expect_equal(look(pool).closed, 0);
    end_life(&s, pool);
    cen_runtime_poll(runtime);
    free_runtime(runtime);
}

/* ---- Numbers -------------------------------------------------------------------------------------------- */

/* guarantees: life-bugs.Q */
TEST(Q_every_number_says_what_happened_and_failed_waits_are_in_the_times)
{
    s = (script){.of[CALL_OPEN] = {.fail_from = 3, .fail_to = 3}};
    cen_pool *pool = begin_life(&s, BLOCKS | HAS_CHECK | HAS_RESET | HAS_TEST, .max = 2, .max_waiters = 1,
                                .breaker_failures = CEN_OFF);
    cen_lease a = take(pool), b = take(pool), lease;
    taker one;
    begin_take(&one, pool, cen_in_s(4));
    expect_equal(cen_pool_take(pool, cen_in_s(9), &lease, NULL), CEN_FULL);
    pass(SECOND);
    cen_pool_stats n = look(pool);
    expect(n.oldest_wait_ns == SECOND && n.waiting == 1 && n.refused == 1);
    pass(3 * SECOND);
    expect_answer(&one, CEN_TIMEOUT);
    s.things[1].condition = CEN_DIRTY;
    give_back(&a);
    expect_equal(cen_pool_discard(&b), CEN_OK);
    look(pool);
    expect_equal(cen_pool_test_idle(pool, NULL), CEN_OK);
    pass(1);
    a = take(pool);
    b = take(pool); /* its opening fails once */
    n = look(pool);
    expect(n.opened == 3 && n.open_failed == 1 && n.closed == 1 && n.discarded == 1 && n.held == 2);
    expect(n.taken == 4 && n.ended == 2 && n.reset == 1 && n.reset_failed == 0);
    expect(n.tested == 1 && n.test_failed == 0 && n.timed_out == 1 && n.sent_away == 0 && n.failed == 0);
    expect(n.waited == 4 && n.served == 3 && n.waiting == 0 && n.oldest_wait_ns == 0);
    expect_equal(n.wait_longest_ns, 4 * SECOND); /* of the one that got nothing */
    expect(n.wait_total_ns >= 4 * SECOND && n.wait_total_ns < 5 * SECOND);
    expect(n.breaker == CEN_BREAKER_CLOSED && n.open_failures == 0 && n.next_open_ns == 0);
    give_back(&a);
    give_back(&b);
    end_life(&s, pool);
}
