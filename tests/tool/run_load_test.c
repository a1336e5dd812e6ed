/* SPDX-License-Identifier: MIT */
/* The load by itself, on objects that are numbers: clients as threads and as futures, under the sanitizers, too. */
#include "tool/load.h"

#include <stdlib.h>
#include <time.h>

#include "support/test.h"

#define MILLI INT64_C(1000000)

static atomic_uint now, most, calls, fails;
static unsigned fail_every; /* 0: never */

static void nap(int64_t ns)
{
    struct timespec time = {0, (long)ns};
    nanosleep(&time, NULL);
}

static cen_status operate(target *self, void *object, const target_turn *turn, cen_error *error)
{
    unsigned at_once = atomic_fetch_add(&now, 1) + 1, seen = atomic_load(&most),
             number = atomic_fetch_add(&calls, 1) + 1;
    (void)self, (void)object, (void)turn;
    while (at_once > seen && !atomic_compare_exchange_weak(&most, &seen, at_once)) continue;
    nap(MILLI);
    atomic_fetch_sub(&now, 1);
    if (!fail_every || number % fail_every) return CEN_OK;
    atomic_fetch_add(&fails, 1);
    error->code = 42;
    snprintf(error->text, sizeof error->text, "It failed on purpose.");
    return CEN_DRIVER;
}

static cen_status open_number(void *argument, void **out, cen_error *error)
{
    (void)argument, (void)error;
    *out = NULL;
    return CEN_OK;
}

static const cen_driver_calls numbers = {.size = sizeof numbers, .open = open_number, .closes_nothing = true};
static const target_kind kind = {.system = "numbers", .operate = operate};
static target aim = {.kind = &kind};

static load_result *run(load_plan plan, uint32_t max, cen_pool_stats *stats)
{
    cen_error error;
    load_result *result = calloc(1, sizeof *result);
    cen_pool_options options = CEN_POOL_OPTIONS(.driver = {&numbers, NULL}, .max = max);
    expect(result && cen_pool_new(&options, &plan.pool, &error) == CEN_OK);
    plan.target = &aim;
    if (load_run(&plan, result, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
    expect_equal(cen_pool_stats_get(plan.pool, stats), CEN_OK);
    cen_pool_free(plan.pool);
    return result;
}

static void check_sums(const load_result *got, const cen_pool_stats *stats)
{
    expect_equal(got->attempts, got->operations + got->timed_out + got->refused + got->failed + got->unfinished);
    expect_equal(got->whole.count, got->attempts);
    expect_equal(got->wait.count, got->attempts - got->never_begun);
    expect_equal(got->use.count, got->operations + got->failed);
    /* Every object that was had was used once, and given; the pool also counts one granted to a take that found another. */
    expect(stats->taken >= atomic_load(&calls) && stats->taken <= atomic_load(&calls) + stats->waited);
    expect_equal(stats->ended, stats->taken);
    expect(stats->held == 0 && stats->waiting == 0 && got->operations <= atomic_load(&calls));
    expect(got->utilisation > 0 && got->utilisation <= 1 && got->fairness > 0 && got->fairness <= 1.000001);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < got->windows; i++) sum += got->window[i];
    expect_equal(sum, got->operations);
}

static void a_closed_loop(bool futures)
{
    cen_pool_stats stats = CEN_SIZED(cen_pool_stats);
    load_result *got =
        run((load_plan){.clients = 12, .futures = futures, .warm_up_ns = 20 * MILLI, .duration_ns = 200 * MILLI}, 3,
            &stats);
    check_sums(got, &stats);
    expect(got->operations > 20 && got->failed == 0 && atomic_load(&most) <= 3 && got->waiting > 0.3 && !got->stopped);
    expect(got->unfinished <= 12 && got->seconds > 0.199 && got->seconds < 0.201 && got->least <= got->most);
    free(got);
}

TEST(threads_in_a_closed_loop_share_the_objects)
{
    a_closed_loop(false);
}

TEST(futures_in_a_closed_loop_share_the_objects)
{
    a_closed_loop(true);
}

static void an_open_loop(bool futures)
{
    cen_pool_stats stats = CEN_SIZED(cen_pool_stats);
    load_result *got =
        run((load_plan){.clients = 8, .futures = futures, .duration_ns = 200 * MILLI, .rate = 200}, 4, &stats);
    check_sums(got, &stats);
    expect(got->attempts >= 39 && got->attempts <= 41);
    free(got);
}

TEST(threads_in_an_open_loop_begin_what_is_due_and_no_more)
{
    an_open_loop(false);
}

TEST(futures_in_an_open_loop_begin_what_is_due_and_no_more)
{
    an_open_loop(true);
}

static void failures(bool futures)
{
    cen_pool_stats stats = CEN_SIZED(cen_pool_stats);
    fail_every = 3;
    load_result *got =
        run((load_plan){.clients = 4, .futures = futures, .duration_ns = 150 * MILLI, .think_ns = MILLI}, 4, &stats);
    check_sums(got, &stats);
    expect(got->failed > 0 && got->failed <= atomic_load(&fails) && got->operations > got->failed);
    expect(got->causes[0].count == got->failed && got->causes[0].code == 42 && !got->causes[0].in_take);
    expect(strcmp(got->causes[0].text, "It failed on purpose.") == 0 && got->causes[1].count == 0);
    free(got);
}

TEST(operations_of_threads_that_fail_are_a_cause)
{
    failures(false);
}

TEST(operations_of_futures_that_fail_are_a_cause)
{
    failures(true);
}

static atomic_bool stop;

static void stop_at_half(void *argument, const load_progress *progress)
{
    (void)argument;
    expect(progress->share >= 0 && progress->share <= 1 && progress->pool.max == 1);
    if (progress->operations > 3) atomic_store(&stop, true);
}

static void an_early_end(bool futures)
{
    cen_pool_stats stats = CEN_SIZED(cen_pool_stats);
    load_result *got = run((load_plan){.clients = 5,
                                       .futures = futures,
                                       .duration_ns = 60000 * MILLI,
                                       .hold_ns = 20 * MILLI,
                                       .stop = &stop,
                                       .tick = stop_at_half},
                           1, &stats);
    check_sums(got, &stats);
    expect(got->stopped && got->seconds < 30 && got->unfinished > 0 && got->unfinished <= 5);
    free(got);
}

TEST(an_early_end_reaches_threads_that_wait)
{
    an_early_end(false);
}

TEST(an_early_end_reaches_futures_that_wait)
{
    an_early_end(true);
}

TEST(a_plan_that_makes_no_sense_is_refused)
{
    cen_error error;
    load_result *out = calloc(1, sizeof *out);
    cen_pool *pool;
    cen_pool_options options = CEN_POOL_OPTIONS(.driver = {&numbers, NULL});
    expect_equal(cen_pool_new(&options, &pool, &error), CEN_OK);
    load_plan good = {.target = &aim, .pool = pool, .clients = 1, .duration_ns = MILLI}, bad = good;
    expect_equal(load_run(&good, out, &error), CEN_OK);
    bad.clients = 0;
    expect_equal(load_run(&bad, out, &error), CEN_INVALID);
    bad.clients = LOAD_THREADS_MOST + 1;
    expect_equal(load_run(&bad, out, &error), CEN_INVALID);
    bad = good;
    bad.duration_ns = 0;
    expect_equal(load_run(&bad, out, &error), CEN_INVALID);
    expect(error.text[0] && error.status == CEN_INVALID);
    cen_pool_free(pool);
    free(out);
}
