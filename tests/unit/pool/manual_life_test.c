/* SPDX-License-Identifier: MIT */
/* Pools of a runtime without threads, and of one whose time the program moves, as a program's own tests would use it. */
#include "unit/pool/scripted.h"

static script s;

static cen_runtime *runtime;

static cen_pool *begin_manual(unsigned kind, cen_pool_options o, bool virtual_time)
{
    s = (script){.opened = 0};
    runtime = make_runtime(.manual = true, .virtual_time = virtual_time);
    o.runtime = runtime;
    return begin_life_of(&s, kind, o);
}

#define manual(kind, ...) begin_manual(kind, CEN_POOL_OPTIONS(__VA_ARGS__), false)
#define virtual(kind, ...) begin_manual(kind, CEN_POOL_OPTIONS(__VA_ARGS__), true)

static void end_manual(cen_pool *pool)
{
    end_life(&s, pool);
    cen_runtime_poll(runtime);
    free_runtime(runtime);
}

/* Comes whenever poll says so, for so long. */
static void poll_for(int64_t ns)
{
    int64_t end = cen_clock() + ns;
    for (int64_t next; (next = cen_runtime_poll(runtime)) >= 0 && cen_clock() + next <= end;) {
        if (next > 0) ceni_sleep_until(cen_clock() + next);
    }
    ceni_sleep_until(end);
    cen_runtime_poll(runtime);
}

/* guarantees: life-api.manual */
TEST(a_driver_that_blocks_is_refused_where_there_are_no_threads)
{
    s = (script){.opened = 0};
    cen_runtime *threadless = make_runtime(.manual = true);
    cen_pool_options o = CEN_POOL_OPTIONS(.max = 1, .runtime = threadless);
    o.driver = scripted_driver(&s, BLOCKS);
    cen_pool *pool = NULL;
    cen_error error;
    expect_equal(cen_pool_new(&o, &pool, &error), CEN_INVALID);
    expect_error(&error, CEN_INVALID, "manual");
    expect(!pool && s.inits == 0);
    free_runtime(threadless);
}

/* guarantees: life-api.manual */
TEST(rounds_of_a_manual_runtime_happen_in_poll_and_nowhere_else)
{
    cen_pool *pool =
        manual(HAS_TEST, .max = 4, .idle_timeout_ns = 100 * SECOND, .test_interval_ns = 10 * SECOND, .min_idle = 2);
    expect_equal(s.opened, 0);
    cen_runtime_poll(runtime);
    expect_equal(s.opened, 2);
    warm_up(pool, 4);
    pass(1000 * SECOND);
    expect(s.of[CALL_TEST].calls == 0 && s.of[CALL_CLOSE].calls == 0);
    expect_equal(ceni_world_waiting(), 0); /* no thread of anybody's */
    poll_for(200 * SECOND);
    expect_equal(look(pool).idle, 2);
    expect(s.of[CALL_TEST].calls > 10);
    expect_equal(s.of[CALL_TEST].thread, cen_thread_number());
    end_manual(pool);
}

/* guarantees: life-api.manual */
TEST(who_waits_for_a_pool_of_a_manual_runtime_runs_what_is_due_itself)
{
    cen_pool *pool = manual(0, .max = 2, .backoff_initial_ns = SECOND, .backoff_max_ns = SECOND);
    s.of[CALL_OPEN].fail_from = s.of[CALL_OPEN].fail_to = 1;
    cen_lease lease;
    expect_equal(cen_pool_take(pool, cen_in_s(9), &lease, NULL), CEN_DRIVER);
    int64_t began = cen_clock(), next = look(pool).next_open_ns;
    expect(next > 0 && next <= SECOND);
    lease = take(pool); /* nobody else polls */
    int64_t took = cen_clock() - began;
    expect(took >= next && took <= next + SECOND / 10);
    give_back(&lease);
    end_manual(pool);
}

/* guarantees: life.L7 */
TEST(who_waits_in_vain_keeps_its_deadline_on_a_manual_runtime)
{
    cen_pool *pool = manual(0, .max = 1);
    cen_lease held = take(pool), lease;
    int64_t began = cen_clock();
    expect_equal(cen_pool_take(pool, cen_in_s(3), &lease, NULL), CEN_TIMEOUT);
    expect_equal(cen_clock() - began, 3 * SECOND);
    give_back(&held);
    end_manual(pool);
}

/* ---- Virtual time ------------------------------------------------------------------------------------ */

/* guarantees: life-api.manual */
TEST(a_program_can_test_its_limits_by_moving_time)
{
    cen_pool *pool = virtual(HAS_TEST, .max = 4, .idle_timeout_ns = 600 * SECOND, .test_interval_ns = 30 * SECOND);
    warm_up(pool, 2);
    pass(10000 * SECOND); /* real time means nothing here */
    cen_runtime_poll(runtime);
    expect_equal(s.of[CALL_TEST].calls, 0);
    expect_equal(cen_runtime_advance(runtime, 60 * SECOND), CEN_OK);
    expect(s.of[CALL_TEST].calls >= 2 && s.of[CALL_TEST].calls <= 4);
    expect_equal(look(pool).idle, 2);
    expect_equal(cen_runtime_advance(runtime, 900 * SECOND), CEN_OK);
    expect_equal(look(pool).closed, 2);
    end_manual(pool);
}

/* guarantees: life-api.manual */
TEST(a_program_can_test_its_back_off_and_its_breaker_by_moving_time)
{
    cen_pool *pool = virtual(0, .max = 2, .backoff_initial_ns = SECOND, .backoff_max_ns = 8 * SECOND,
                             .breaker_failures = 3);
    fail_all(&s, CALL_OPEN);
    cen_lease lease;
    for (unsigned failures = 1; failures <= 3; failures++) {
        expect_equal(cen_pool_take(pool, CEN_NOW, &lease, NULL), CEN_DRIVER);
        cen_pool_stats n = look(pool);
        expect(n.open_failures == failures && n.next_open_ns > 0 && n.next_open_ns <= SECOND << (failures - 1));
        expect_equal(n.breaker, failures < 3 ? CEN_BREAKER_CLOSED : CEN_BREAKER_OPEN);
        expect_equal(cen_runtime_advance(runtime, n.next_open_ns - 1), CEN_OK);
        expect_equal(look(pool).next_open_ns, 1);
        expect_equal(cen_runtime_advance(runtime, 1), CEN_OK);
    }
    expect_equal(look(pool).breaker, CEN_BREAKER_HALF_OPEN);
    recover(&s, CALL_OPEN);
    lease = take_now(pool);
    expect_equal(look(pool).breaker, CEN_BREAKER_CLOSED);
    give_back(&lease);
    end_manual(pool);
}

static void advance_later(void *ns)
{
    ceni_sleep_until(cen_clock() + SECOND);
    expect_equal(cen_runtime_advance(runtime, *(int64_t *)ns), CEN_OK);
}

/* guarantees: life-api.manual */
TEST(a_wait_ends_when_virtual_time_reaches_its_deadline_whatever_the_real_clock_says)
{
    cen_pool *pool = virtual(0, .max = 1);
    cen_lease held = take(pool);
    taker one;
    begin_take(&one, pool, cen_in_s(20));
    pass(1000 * SECOND);
    expect_waiting(&one);
    int64_t ns = 20 * SECOND - 1;
    ceni_thread mover = start("mover", advance_later, &ns);
    pass(2 * SECOND);
    join(mover);
    expect_waiting(&one);
    ns = 1;
    mover = start("mover", advance_later, &ns);
    pass(2 * SECOND);
    join(mover);
    expect_answer(&one, CEN_TIMEOUT);
    give_back(&held);
    end_manual(pool);
}

/* guarantees: life-api.manual */
TEST(a_program_can_test_its_leaks_by_moving_time)
{
    cen_pool *pool = virtual(HAS_ABANDON, .max = 1, .leak_after_ns = 60 * SECOND, .on_leak = CEN_LEAK_RECLAIM);
    cen_lease lost = take(pool);
    expect_equal(cen_runtime_advance(runtime, 60 * SECOND - 1), CEN_OK);
    expect_equal(look(pool).leaked, 0);
    expect_equal(cen_runtime_advance(runtime, 30 * SECOND + 1), CEN_OK);
    expect_equal(look(pool).reclaimed, 1);
    expect_equal(cen_pool_give(&lost), CEN_REVOKED);
    end_manual(pool);
}
