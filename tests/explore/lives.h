/* SPDX-License-Identifier: MIT */
/*
 * What the explored tests of the pool's life cycle share beside pools.h: a
 * driver that tests, checks and resets, a runtime without threads whose clock
 * stands still, and the keeper's round as a thread of the test.
 *
 * Helpers are threads of the process' own runtime. All limits are off by
 * default here, so that no keeper is started beside them.
 */
#ifndef TESTS_EXPLORE_LIVES_H
#define TESTS_EXPLORE_LIVES_H

#include "explore/pools.h"

#define SECOND INT64_C(1000000000)

static cen_runtime *runtime; /* NULL: the process' own */
static bool tests_fail;
static cen_condition condition; /* of what is given */

static inline cen_status test_thing(void *unused, void *object, cen_error *error)
{
    (void)unused, (void)error;
    expect_equal(ceni_load_relaxed(&((thing *)object)->is_open), 1);
    return tests_fail ? CEN_DRIVER : CEN_OK;
}

static inline cen_condition check_thing(void *unused, void *object)
{
    (void)unused;
    expect_equal(ceni_load_relaxed(&((thing *)object)->is_open), 1);
    return condition;
}

static inline cen_status reset_thing(void *unused, void *object, cen_error *error)
{
    return test_thing(unused, object, error);
}

static const cen_driver_calls tested_calls = {.size = sizeof tested_calls,
                                              .open = open_thing,
                                              .close = close_thing,
                                              .interrupt = interrupt_thing,
                                              .test = test_thing};
static const cen_driver_calls helped_calls = {.size = sizeof helped_calls,
                                              .open = open_thing,
                                              .close = close_thing,
                                              .interrupt = interrupt_thing,
                                              .blocks = true};
static const cen_driver_calls checked_calls = {.size = sizeof checked_calls,
                                               .open = open_thing,
                                               .close = close_thing,
                                               .interrupt = interrupt_thing,
                                               .blocks = true,
                                               .check = check_thing,
                                               .reset = reset_thing};

/* Nothing happens because time passes. */
#define NO_LIMITS \
    .open_timeout_ns = CEN_OFF, .backoff_initial_ns = CEN_OFF, .idle_timeout_ns = CEN_OFF, .max_lifetime_ns = CEN_OFF, \
    .test_after_idle_ns = CEN_OFF, .test_interval_ns = CEN_OFF, .test_timeout_ns = CEN_OFF

static inline void make_living(const cen_driver_calls *calls, cen_pool_options options)
{
    begin(options.max);
    tests_fail = false;
    condition = CEN_CLEAN;
    runtime = NULL;
    options.size = sizeof options;
    options.driver = (cen_driver){calls, NULL};
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
}

/* The same with a clock that the test moves. */
static inline void make_timed(const cen_driver_calls *calls, cen_pool_options options)
{
    cen_runtime_options manual = CEN_RUNTIME_OPTIONS(.manual = true, .virtual_time = true);
    cen_runtime *made;
    expect_equal(cen_runtime_new(&manual, &made, NULL), CEN_OK);
    options.runtime = made;
    make_living(calls, options);
    runtime = made;
}

static inline void end_timed(void)
{
    end();
    expect_equal(cen_runtime_free(runtime), CEN_OK);
}

/* Helpers may still be closing what the pool had. */
static inline void end_helped(void)
{
    expect_equal(cen_pool_free(pool), CEN_OK);
    ceni_world_settle();
    expect_equal(alive, 0);
}

static inline void keep_once(void *unused)
{
    (void)unused;
    ceni_keeper_round(pool);
}

static inline void reload_now(void *unused)
{
    (void)unused;
    expect_equal(cen_pool_reload(pool, 0, NULL), CEN_OK);
}

static inline cen_pool_stats look_alive(void)
{
    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    expect_equal(cen_pool_stats_get(pool, &s), CEN_OK);
    expect_equal(s.idle + s.held + s.moving + s.revoked + s.opening + s.resetting + s.testing + s.closing + s.vacant,
                 s.places);
    expect_equal(s.waited, s.served + s.timed_out + s.sent_away + s.failed + s.shed + s.cancelled + s.waiting);
    return s;
}

/* All are done: nobody waits, nothing is out or on its way, and all that is counted has come back to nothing. */
static inline void expect_calm(uint32_t idle)
{
    cen_pool_stats s = look_alive();
    expect_equal(s.idle, idle);
    expect_equal(s.held + s.moving + s.revoked + s.opening + s.resetting + s.testing + s.closing + s.waiting, 0);
    expect_equal(pool->live, idle);
    expect_equal(
        pool->opening + pool->overdue + pool->leaving + pool->revoked + pool->hired + pool->top_up + pool->wished, 0);
}

#endif
