/* SPDX-License-Identifier: MIT */
/* The health check of what a take with a deadline has found is made by a helper, and the take returns by its deadline. */
#include "unit/pool/scripted.h"

static script s;

#define begin_stale(...) begin_stale_of(CEN_POOL_OPTIONS(__VA_ARGS__))

/* A pool whose objects were idle for long. */
static cen_pool *begin_stale_of(cen_pool_options o)
{
    cen_pool *pool = begin_life(&s, HAS_TEST | BLOCKS, .name = "orders", .max = o.max,
                                .max_concurrent_tests = o.max_concurrent_tests, .order = o.order,
                                .test_timeout_ns = o.test_timeout_ns, .test_interval_ns = CEN_OFF,
                                .idle_timeout_ns = CEN_OFF, .max_lifetime_ns = CEN_OFF);
    warm_up(pool, o.max);
    pass(10 * SECOND);
    expect_equal(look(pool).idle, o.max);
    return pool;
}

static void expect_timeout(cen_pool *pool, int64_t ns, cen_error *error)
{
    int64_t began = cen_clock();
    cen_lease lease;
    expect_equal(cen_pool_take(pool, cen_in_ns(ns), &lease, error), CEN_TIMEOUT);
    expect_equal(cen_clock() - began, ns);
}

/* guarantees: life.L7 */
TEST(L7_a_take_returns_by_its_deadline_while_its_health_check_goes_on_and_says_so)
{
    for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
        s = (script){.of[CALL_TEST].takes_ns = 10 * SECOND};
        cen_pool *pool = begin_stale(.max = 1, .order = order, .test_timeout_ns = 20 * SECOND);
        cen_error error;
        expect_timeout(pool, 300 * MS, &error);
        expect_because(&error, CEN_CAUSE_HEALTH_CHECK);
        expect_error(&error, CEN_TIMEOUT,
                     "pool \"orders\": no object after 300 ms. Health check: the test of object 0 has been "
                     "running for 300 ms. max is 1: 0 held, 0 idle, 0 opening, 1 testing; 0 waiting.");
        expect(s.of[CALL_TEST].in_flight == 1 && s.of[CALL_TEST].thread != cen_thread_number());
        /* It is lent to the next who waits when it has passed. */
        taker next;
        begin_take(&next, pool, CEN_NEVER);
        pass(9 * SECOND);
        expect_waiting(&next);
        pass(700 * MS);
        expect_answer(&next, CEN_OK);
        cen_pool_stats n = look(pool);
        expect(s.of[CALL_TEST].calls == 1 && s.opened == 1 && n.tested == 1 && n.held == 1);
        give_back(&next.lease);
        cen_lease lease = take_now(pool); /* and it is trusted */
        give_back(&lease);
        expect_equal(s.of[CALL_TEST].calls, 1);
        end_life(&s, pool);
    }
}

/* guarantees: life-api.helper-test */
TEST(what_passes_after_its_take_has_left_is_idle_and_what_fails_is_closed)
{
    for (int fails = 0; fails < 2; fails++) {
        s = (script){.of[CALL_TEST].takes_ns = 2 * SECOND};
        cen_pool *pool = begin_stale(.max = 1);
        s.things[1].broken = fails;
        expect_timeout(pool, SECOND, NULL);
        expect_equal(look(pool).testing, 1);
        pass(SECOND);
        cen_pool_stats n = look(pool);
        expect(n.testing == 0 && n.held == 0 && n.idle == !fails);
        expect(n.closed == (uint64_t)fails && n.test_failed == (uint64_t)fails);
        cen_lease lease = take(pool);
        expect_equal(number_of(&lease), 1 + fails);
        give_back(&lease);
        end_life(&s, pool);
    }
}

/* guarantees: life-api.helper-test */
TEST(L3_a_test_that_hangs_delays_no_other_take)
{
    enum { HANG = 4 };
    s = (script){.of[CALL_TEST] = {.hang_from = 1, .hang_to = HANG}};
    cen_pool *pool = begin_stale(.max = HANG + 1, .max_concurrent_tests = 1, .test_timeout_ns = CEN_OFF);
    taker hung[HANG];
    for (int i = 0; i < HANG; i++) begin_take(&hung[i], pool, cen_in_s(1));
    expect_equal(s.of[CALL_TEST].in_flight, HANG);
    cen_lease lease = take(pool);
    pass(SECOND);
    for (int i = 0; i < HANG; i++) expect_answer(&hung[i], CEN_TIMEOUT);
    give_back(&lease);
    pass(10 * SECOND);
    lease = take(pool); /* nor one that comes when they have left */
    expect_equal(s.of[CALL_TEST].in_flight, HANG);
    let_all_go(&s, CALL_TEST);
    ceni_world_settle();
    expect_equal(look(pool).idle, HANG);
    give_back(&lease);
    end_life(&s, pool);
}

/* guarantees: life-api.helper-test */
TEST(L3_a_take_whose_health_check_takes_too_long_goes_on_with_another_object)
{
    s = (script){.of[CALL_TEST] = {.hang_from = 1, .hang_to = 1}};
    cen_pool *pool = begin_stale(.max = 2, .test_timeout_ns = SECOND);
    taker one;
    begin_take(&one, pool, cen_in_s(5));
    pass(SECOND - 1);
    expect_waiting(&one);
    pass(1);
    expect_answer(&one, CEN_OK);
    expect_equal(s.of[CALL_TEST].calls, 2);
    let_all_go(&s, CALL_TEST);
    ceni_world_settle();
    cen_pool_stats n = look(pool);
    expect(n.closed == 1 && n.held == 1); /* it works, but too late */
    give_back(&one.lease);
    end_life(&s, pool);
}

/* guarantees: life-api.helper-test */
TEST(a_take_that_has_no_time_left_after_a_health_check_that_took_too_long_says_so)
{
    s = (script){.of[CALL_TEST] = {.hang_from = 1, .hang_to = 1}};
    cen_pool *pool = begin_stale(.max = 1, .test_timeout_ns = SECOND);
    cen_error error;
    expect_timeout(pool, 1500 * MS, &error);
    expect_because(&error, CEN_CAUSE_HEALTH_CHECK);
    expect_error(&error, CEN_TIMEOUT,
                 "Health check: object 0 failed its test after 1000 ms: timed out (test_timeout_ns). ");
    let_all_go(&s, CALL_TEST);
    end_life(&s, pool);
}

/* guarantees: life-api.helper-test */
TEST(L15_close_tells_a_take_whose_health_check_goes_on_at_once)
{
    s = (script){.of[CALL_TEST] = {.hang_from = 1, .hang_to = 1}};
    cen_pool *pool = begin_stale(.max = 1);
    taker one;
    begin_take(&one, pool, cen_in_s(5));
    expect_equal(cen_pool_close(pool, cen_in_ms(1), NULL, NULL), CEN_TIMEOUT);
    expect_answer(&one, CEN_CLOSED);
    let_all_go(&s, CALL_TEST);
    ceni_world_settle();
    expect_equal(s.things[1].closes, 1);
    end_life(&s, pool);
}

/* guarantees: life-api.helper-test */
TEST(a_take_without_a_deadline_or_for_now_makes_the_health_check_on_its_own_thread)
{
    const cen_deadline deadlines[] = {CEN_NEVER, CEN_NOW};
    for (int i = 0; i < 2; i++) {
        s = (script){.opened = 0};
        cen_pool *pool = begin_stale(.max = 1);
        cen_lease lease;
        expect_equal(cen_pool_take(pool, deadlines[i], &lease, NULL), CEN_OK);
        expect(s.of[CALL_TEST].calls == 1 && s.of[CALL_TEST].thread == cen_thread_number());
        give_back(&lease);
        end_life(&s, pool);
    }
}

/* ---- The program ends the take -------------------------------------------------------------------- */

typedef struct stopped {
    taker one;
    cen_stop_token *stop;
} stopped;

static void run_stopped(void *argument)
{
    stopped *self = argument;
    taker *one = &self->one;
    one->status = cen_pool_take_stoppable(one->pool, one->deadline, self->stop, &one->lease, &one->error);
    one->returned = true;
}

static void begin_stopped(stopped *self, cen_pool *pool, cen_deadline deadline, cen_stop_token *stop)
{
    *self = (stopped){.one = {.pool = pool, .deadline = deadline}, .stop = stop};
    self->one.thread = start("taker", run_stopped, self);
    ceni_world_settle();
}

/* The test goes on without its take, which was ended after 300 ms, and the object that passes is idle. */
static void expect_left(cen_pool *pool, taker *one)
{
    expect_answer(one, CEN_INTERRUPTED);
    expect_error(
        &one->error, CEN_INTERRUPTED,
        "pool \"orders\": interrupted after 300 ms. Health check: the test of object 0 has been running for 300 ms. ");
    cen_pool_stats n = look(pool);
    expect(n.testing == 1 && n.missed == 1 && n.cancelled == 0);
    pass(10 * SECOND);
    expect_equal(look(pool).idle, 1);
    end_life(&s, pool);
}

/* guarantees: life-api.stop-test */
TEST(L5_a_stop_token_ends_a_take_whose_health_check_goes_on)
{
    const cen_deadline deadlines[] = {cen_in_s(100), CEN_NEVER};
    for (int i = 0; i < 2; i++) {
        s = (script){.of[CALL_TEST].takes_ns = 10 * SECOND};
        cen_pool *pool = begin_stale(.max = 1, .test_timeout_ns = 20 * SECOND);
        cen_stop_token stop = CEN_STOP_TOKEN_INIT;
        stopped self;
        begin_stopped(&self, pool, deadlines[i], &stop);
        pass(300 * MS);
        expect_waiting(&self.one);
        cen_stop_token_set(&stop);
        cen_stop_token_reset(&stop);
        expect_left(pool, &self.one);
    }
}

/* guarantees: life-api.stop-test */
TEST(L5_a_take_that_is_stopped_during_a_failing_health_check_tests_no_other_object)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_stale(.max = 2);
    s.things[1].broken = s.things[2].broken = true;
    s.of[CALL_TEST].takes_ns = SECOND;
    cen_stop_token stop = CEN_STOP_TOKEN_INIT;
    stopped self;
    begin_stopped(&self, pool, cen_in_s(100), &stop);
    cen_stop_token_set(&stop);
    expect_answer(&self.one, CEN_INTERRUPTED);
    pass(10 * SECOND);
    expect_equal(s.of[CALL_TEST].calls, 1);
    end_life(&s, pool);
}

static uint64_t holder_of_one;

static void run_known(void *one)
{
    holder_of_one = cen_holder_number();
    run_taker(one);
}

/* guarantees: life-api.stop-test */
TEST(L5_an_interrupt_ends_a_take_whose_health_check_goes_on)
{
    s = (script){.of[CALL_TEST].takes_ns = 10 * SECOND};
    cen_pool *pool = begin_stale(.max = 1, .test_timeout_ns = 20 * SECOND);
    taker one = {.pool = pool, .deadline = cen_in_s(100)};
    one.thread = start("taker", run_known, &one);
    ceni_world_settle();
    pass(300 * MS);
    expect(!cen_pool_interrupt(pool, cen_holder_number()));
    expect(cen_pool_interrupt(pool, holder_of_one));
    expect(!cen_pool_interrupt(pool, holder_of_one));
    expect_left(pool, &one);
}

/* guarantees: life-api.stop-test */
TEST(L5_a_thread_that_is_cancelled_while_its_health_check_goes_on_ends_and_the_object_is_idle)
{
    s = (script){.of[CALL_TEST].takes_ns = 10 * SECOND};
    cen_pool *pool = begin_stale(.max = 1, .test_timeout_ns = 20 * SECOND);
    taker one;
    begin_take(&one, pool, cen_in_s(100));
    ceni_world_cancel(one.thread);
    join(one.thread);
    expect(!one.returned);
    expect_equal(look(pool).testing, 1);
    pass(10 * SECOND);
    expect_equal(look(pool).idle, 1);
    end_life(&s, pool);
}
