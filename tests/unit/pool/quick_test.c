/* SPDX-License-Identifier: MIT */
/*
 * What an uncontended take and give cost a pool with all limits at their
 * defaults (L17). The program is linked so that every reading of the clock and
 * every lock of the library is counted.
 */
#include "pool/slot.h"
#include "port/mutex.h"
#include "unit/pool/scripted.h"

int64_t __real_ceni_clock_now(void);
int64_t __wrap_ceni_clock_now(void);
void __real_ceni_mutex_lock(ceni_mutex *m, ceni_rank rank);
void __wrap_ceni_mutex_lock(ceni_mutex *m, ceni_rank rank);

static unsigned clock_readings, locks;

int64_t __wrap_ceni_clock_now(void)
{
    clock_readings++;
    return __real_ceni_clock_now();
}

void __wrap_ceni_mutex_lock(ceni_mutex *m, ceni_rank rank)
{
    locks++;
    __real_ceni_mutex_lock(m, rank);
}

static script s;

/* Takes and gives, and nobody else runs in between. */
static void expect_quick(cen_pool *pool)
{
    uint64_t allocations = ceni_world_allocations();
    clock_readings = locks = 0;
    unsigned sampled = 0;
    for (int i = 0; i < 1000; i++) {
        cen_lease lease;
        if (cen_pool_take(pool, cen_in_s(5), &lease, NULL) != CEN_OK || cen_pool_give(&lease) != CEN_OK) expect(false);
        sampled += ceni_word_is_sampled(ceni_word(lease.generation, CENI_SLOT_HELD | CENI_LISTED));
    }
    expect(sampled >= 14 && sampled <= 17); /* one in 64, whose times are taken */
    expect_equal(clock_readings, 2 * sampled);
    expect_equal(locks, 0);
    expect_equal(ceni_world_allocations(), allocations);
}

/* guarantees: life.L17, life-bugs.H */
TEST(L17_no_clock_no_lock_no_allocation_with_a_blocking_driver_that_has_a_test_and_no_check)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, BLOCKS | HAS_TEST | HAS_RESET, .max = 4);
    warm_up(pool, 1);
    expect_quick(pool);
    for (int i = 0; i < 20; i++) { /* also after rounds, as long as it is trusted */
        pass(300 * MS);
        cen_lease lease = take(pool);
        give_back(&lease);
        expect_quick(pool);
    }
    expect_equal(s.of[CALL_TEST].calls, 0);
    end_life(&s, pool);
}

/* guarantees: life.L17 */
TEST(L17_after_a_test_of_an_object_that_was_idle_for_long_it_is_quick_again)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, BLOCKS | HAS_TEST, .max = 4);
    warm_up(pool, 1);
    pass(20 * SECOND);
    cen_lease lease = take(pool);
    expect(s.of[CALL_TEST].calls > 0);
    give_back(&lease);
    expect_quick(pool);
    end_life(&s, pool);
}

/* guarantees: life.L17 */
TEST(L17_rounds_leak_and_hold_limits_cost_takes_and_gives_nothing)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, BLOCKS | HAS_TEST, .max = 4, .leak_after_ns = SECOND, .max_hold_ns = 2 * SECOND,
                                .max_idle = 2, .min_idle = 1, .max_waiters = 3);
    warm_up(pool, 1);
    for (int i = 0; i < 10; i++) {
        expect_quick(pool);
        pass(100 * MS);
    }
    end_life(&s, pool);
}

/* guarantees: life.L17 */
TEST(L17_a_paused_and_resumed_and_a_reloaded_pool_is_quick_again)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 4);
    warm_up(pool, 1);
    expect_equal(cen_pool_pause(pool, NULL), CEN_OK);
    expect_equal(cen_pool_resume(pool, NULL), CEN_OK);
    expect_quick(pool);
    expect_equal(cen_pool_reload(pool, 0, NULL), CEN_OK);
    warm_up(pool, 1);
    expect_quick(pool);
    end_life(&s, pool);
}

/* Neither those who wait nor the helpers nor the keeper stay awake: a clock is read at every step of theirs. */
/* guarantees: life-api.quiet, life-bugs.F, life-bugs.spinning */
TEST(an_outage_of_ten_minutes_with_four_who_wait_is_slept_through)
{
    s = (script){.opened = 0};
    fail_all(&s, CALL_OPEN);
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 8, .breaker_failures = CEN_OFF, .backoff_max_ns = 30 * SECOND);
    taker takers[4];
    for (int i = 0; i < 4; i++) begin_take(&takers[i], pool, cen_in_s(600));
    clock_readings = 0;
    pass(600 * SECOND);
    for (int i = 0; i < 4; i++) expect_answer(&takers[i], CEN_TIMEOUT);
    expect(s.of[CALL_OPEN].calls < 1200);
    expect(clock_readings < 12 * s.of[CALL_OPEN].calls);
    end_life(&s, pool);
}

/* guarantees: life-api.quiet, life-bugs.spinning */
TEST(a_pool_at_rest_is_looked_at_twice_a_minute_at_most_though_it_has_limits)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 8);
    warm_up(pool, 1);
    clock_readings = 0;
    pass(300 * SECOND);
    expect(clock_readings < 300);
    end_life(&s, pool);
}
