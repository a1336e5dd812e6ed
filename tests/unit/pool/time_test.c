/* SPDX-License-Identifier: MIT */
/*
 * Deadlines and patience of the pool, to the nanosecond. The program is linked
 * so that every reading of the clock by the library is counted.
 */
#include "unit/pool/takers.h"
#include "unit/pool/watchers.h"

int64_t __real_ceni_clock_now(void);
int64_t __wrap_ceni_clock_now(void);

static unsigned clock_readings;

int64_t __wrap_ceni_clock_now(void)
{
    clock_readings++;
    return __real_ceni_clock_now();
}

/* A pool with one object, which is lent into *held. */
static cen_pool *make_taken(cen_pool_options options, cen_lease *held)
{
    options.max = 1;
    cen_pool *pool = make_stocked(options, 1);
    *held = take_now(pool);
    return pool;
}

#define taken_pool(held, ...) make_taken(CEN_POOL_OPTIONS(__VA_ARGS__), held)

static void end(cen_pool *pool, cen_lease *held)
{
    give_back(held);
    free_pool(pool);
}

/* ---- When a wait ends ------------------------------------------------------------------- */

/* A take that began now and waits for `ns` ends then, and not one nanosecond earlier. */
static void expect_timeout_after(taker *one, int64_t ns)
{
    ceni_world_advance(ns - 1);
    expect_waiting(one);
    ceni_world_advance(1);
    expect_answer(one, CEN_TIMEOUT);
    expect_sound(one->pool);
}

/* guarantees: pool.L7, pool-bugs.clock */
TEST(a_take_times_out_at_its_deadline_and_not_a_nanosecond_earlier)
{
    for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++)
        for (int strict = 0; strict < 2; strict++) {
            cen_lease held;
            cen_pool *pool = taken_pool(&held, .order = order, .max_barging_ns = strict ? CEN_NONE : 0);
            taker one;
            begin_take(&one, pool, cen_in_s(20));
            expect_timeout_after(&one, 20 * SECOND);
            begin_take(&one, pool, cen_in_ns(1));
            expect_timeout_after(&one, 1);
            end(pool, &held);
        }
}

/* guarantees: pool.L7 */
TEST(an_absolute_deadline_is_kept_to_the_nanosecond)
{
    cen_lease held;
    cen_pool *pool = taken_pool(&held, .max = 1);
    taker one;
    begin_take(&one, pool, cen_at(cen_clock() + 7));
    expect_timeout_after(&one, 7);
    end(pool, &held);
}

/* guarantees: pool.L7 */
TEST(a_past_deadline_takes_what_is_there_and_else_times_out_at_once)
{
    cen_lease held, lease;
    cen_pool *pool = taken_pool(&held, .max = 1);
    int64_t began = cen_clock();
    expect_equal(cen_pool_take(pool, cen_at(1), &lease, NULL), CEN_TIMEOUT);
    expect_equal(cen_pool_take(pool, cen_at(began), &lease, NULL), CEN_TIMEOUT);
    give_back(&held);
    expect_equal(cen_pool_take(pool, cen_at(1), &held, NULL), CEN_OK);
    expect_equal(cen_clock(), began);
    end(pool, &held);
}

TEST(now_does_not_wait_and_never_waits_for_ever)
{
    cen_lease held, lease;
    cen_pool *pool = taken_pool(&held, .max = 1);
    int64_t began = cen_clock();
    expect_equal(cen_pool_take(pool, CEN_NOW, &lease, NULL), CEN_TIMEOUT);
    expect_equal(cen_clock(), began);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    ceni_world_advance(INT64_C(1000000000000000000)); /* thirty years */
    expect_waiting(&one);
    give_back(&held);
    expect_taken(&one, 1);
    end(pool, &one.lease);
}

/* guarantees: pool.L7 */
TEST(an_object_that_came_in_time_is_lent_although_the_deadline_has_passed_since)
{
    for (int strict = 0; strict < 2; strict++) {
        cen_lease held;
        cen_pool *pool = taken_pool(&held, .max_barging_ns = strict ? CEN_NONE : 0);
        taker one;
        begin_take(&one, pool, cen_in_s(30));
        ceni_world_advance(30 * SECOND - 1);
        give_back(&held);
        ceni_world_advance(SECOND);
        expect_taken(&one, 1);
        cen_pool_stats s = expect_sound(pool);
        expect(s.served == 1 && s.timed_out == 0);
        end(pool, &one.lease);
    }
}

/* guarantees: pool.L5 */
TEST(an_expired_take_is_forgotten_and_the_object_goes_to_the_next)
{
    for (int strict = 0; strict < 2; strict++) {
        cen_lease held;
        cen_pool *pool = taken_pool(&held, .max_barging_ns = strict ? CEN_NONE : 0);
        taker brief, patient;
        begin_take(&brief, pool, cen_in_s(1));
        begin_take(&patient, pool, CEN_NEVER);
        ceni_world_advance(SECOND);
        expect_answer(&brief, CEN_TIMEOUT);
        expect(brief.lease.pool == NULL);
        give_back(&held);
        expect_taken(&patient, 1);
        expect_none(pool);
        end(pool, &patient.lease);
    }
}

/* What is given in the very moment of the deadline, before the sleeper runs, goes to it. */
/* guarantees: pool.L5 */
TEST(an_expiring_take_looks_once_more)
{
    cen_lease held;
    cen_pool *pool = taken_pool(&held, .max = 1);
    taker one;
    begin_take(&one, pool, cen_in_s(1));
    ceni_world_advance(SECOND);
    give_back(&held);
    expect_taken(&one, 1);
    end(pool, &one.lease);
}

TEST(a_relative_deadline_starts_anew_in_every_call_and_a_fixed_one_does_not)
{
    cen_lease held, lease;
    cen_pool *pool = taken_pool(&held, .max = 1);
    const cen_deadline relative = cen_in_s(2);
    int64_t began = cen_clock();
    expect_equal(cen_pool_take(pool, relative, &lease, NULL), CEN_TIMEOUT);
    expect_equal(cen_pool_take(pool, relative, &lease, NULL), CEN_TIMEOUT);
    expect_equal(cen_clock() - began, 4 * SECOND);
    const cen_deadline fixed = cen_deadline_fix(relative);
    expect_equal(cen_pool_take(pool, fixed, &lease, NULL), CEN_TIMEOUT);
    expect_equal(cen_pool_take(pool, fixed, &lease, NULL), CEN_TIMEOUT);
    expect_equal(cen_clock() - began, 6 * SECOND);
    end(pool, &held);
}

/* guarantees: pool-bugs.clock */
TEST(a_huge_timeout_saturates_and_waits_instead_of_overflowing)
{
    const cen_deadline huge[] = {cen_in_ns(INT64_MAX),
                                 cen_in_ns(INT64_MAX - 1),
                                 cen_in_us(INT64_MAX),
                                 cen_in_s(INT64_MAX),
                                 cen_at(INT64_MAX),
                                 cen_at(INT64_MAX - 1),
                                 CEN_NEVER};
    enum { COUNT = sizeof huge / sizeof huge[0] };
    cen_lease held;
    cen_pool *pool = taken_pool(&held, .max = 1);
    taker takers[COUNT];
    for (int i = 0; i < COUNT; i++) begin_take(&takers[i], pool, huge[i]);
    ceni_world_advance(INT64_C(1000000000000000000));
    for (int i = 0; i < COUNT; i++) expect_waiting(&takers[i]);
    give_back(&held);
    for (int i = 0; i < COUNT; i++) {
        expect_taken(&takers[i], 1);
        give_back(&takers[i].lease);
    }
    free_pool(pool);
}

/* ---- Patience ------------------------------------------------------------------------------- */

TEST(a_zero_deadline_waits_thirty_seconds_unless_the_pool_says_otherwise)
{
    cen_lease held;
    cen_pool *pool = taken_pool(&held, .max = 1);
    taker one;
    begin_take(&one, pool, ZERO);
    expect_timeout_after(&one, 30 * SECOND);
    end(pool, &held);
}

TEST(a_zero_deadline_is_the_patience_of_the_pool)
{
    cen_lease held, lease;
    cen_pool *pool = taken_pool(&held, .default_deadline = cen_in_s(5));
    taker one;
    begin_take(&one, pool, ZERO);
    expect_timeout_after(&one, 5 * SECOND);
    int64_t began = cen_clock();
    cen_scope scope;
    expect_equal(cen_pool_enter(pool, ZERO, &scope, NULL), CEN_TIMEOUT);
    expect_equal(cen_clock() - began, 5 * SECOND);
    expect_equal(cen_pool_take(pool, cen_in_s(1), &lease, NULL), CEN_TIMEOUT); /* what is given is stronger */
    expect_equal(cen_clock() - began, 6 * SECOND);
    end(pool, &held);
}

TEST(patience_can_be_without_limit_or_not_to_wait_at_all)
{
    cen_lease held, lease;
    cen_pool *pool = taken_pool(&held, .default_deadline = CEN_NOW);
    int64_t began = cen_clock();
    expect_equal(cen_pool_take(pool, ZERO, &lease, NULL), CEN_TIMEOUT);
    expect_equal(cen_clock(), began);
    end(pool, &held);
    pool = taken_pool(&held, .default_deadline = CEN_NEVER);
    taker one;
    begin_take(&one, pool, ZERO);
    ceni_world_advance(INT64_C(1000000000000000000));
    expect_waiting(&one);
    give_back(&held);
    expect_taken(&one, 1);
    end(pool, &one.lease);
}

/* ---- Reading the clock, and memory ------------------------------------------------------------- */

/* guarantees: pool.L17, pool-api.timed-lease */
TEST(L17_an_uncontended_take_and_give_allocates_nothing_and_reads_a_clock_only_if_it_is_the_one_in_64)
{
    const cen_deadline deadlines[] = {ZERO, CEN_NOW, CEN_NEVER, cen_in_ms(5), cen_at(12345)};
    for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
        cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.name = "quick", .max = 3, .order = order), 3);
        uint64_t allocations = ceni_world_allocations();
        clock_readings = 0;
        for (int i = 0; i < 100; i++) {
            cen_lease lease, second;
            expect_equal(cen_pool_take(pool, deadlines[i % 5], &lease, NULL), CEN_OK);
            expect_equal(cen_pool_try_take(pool, &second, NULL), CEN_OK);
            give_back(i % 2 ? &lease : &second);
            give_back(i % 2 ? &second : &lease);
            cen_scope outer, inner;
            expect_equal(cen_pool_enter(pool, deadlines[i % 5], &outer, NULL), CEN_OK);
            expect_equal(cen_pool_enter(pool, deadlines[i % 5], &inner, NULL), CEN_OK);
            expect_equal(cen_pool_leave(&inner), CEN_OK);
            expect_equal(cen_pool_leave(&outer), CEN_OK);
        }
        expect_equal(ceni_world_allocations(), allocations);
        uint64_t read = clock_readings, timed = times_of(pool, "use")->histogram.count;
        expect_equal(read, 2 * timed);
        expect(timed > 0 && timed <= 300 / 64 + 3); /* there are three slots */
        free_pool(pool);
    }
}

/* guarantees: pool.L17 */
TEST(a_take_that_does_not_wait_reads_no_clock_but_before_and_after_an_opening)
{
    workshop shop = {0};
    cen_pool *pool = make_pool(.max = 2, .driver = driver_of(&shop));
    clock_readings = 0;
    cen_lease a = take_now(pool), b = take_now(pool), lease;
    expect_equal(cen_pool_try_take(pool, &lease, NULL), CEN_EMPTY);
    expect_equal(cen_pool_take(pool, CEN_NOW, &lease, NULL), CEN_TIMEOUT);
    expect_equal(cen_pool_discard(&a), CEN_OK);
    give_back(&b);
    expect_equal(clock_readings, 4); /* two were opened */
    expect_equal(cen_pool_adopt(pool, NULL, NULL), CEN_OK);
    expect_equal(clock_readings, 5); /* how long it has been there */
    free_pool(pool);
}

TEST(with_exact_times_every_take_and_every_give_reads_the_clock_once)
{
    for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
        cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.max = 1, .order = order, .exact_times = true), 1);
        for (int i = 0; i < 5; i++) {
            clock_readings = 0;
            cen_lease lease = take_now(pool);
            give_back(&lease);
            expect_equal(clock_readings, 2);
        }
        free_pool(pool);
    }
}

TEST(a_wait_of_an_hour_reads_the_clock_a_few_times_only)
{
    cen_lease held;
    cen_pool *pool = taken_pool(&held, .max = 1);
    taker one;
    clock_readings = 0;
    begin_take(&one, pool, cen_in_s(3600));
    for (int minute = 0; minute < 60; minute++) {
        ceni_world_advance(60 * SECOND);
        ceni_world_settle();
    }
    expect_answer(&one, CEN_TIMEOUT);
    expect(clock_readings <= 12); /* half of them for the text, which says how long who has held what */
    end(pool, &held);
}

/* ---- How long they waited -------------------------------------------------------------------------- */

/* guarantees: pool.L19 */
TEST(wait_times_count_those_who_were_served_and_those_who_gave_up)
{
    cen_lease held;
    cen_pool *pool = taken_pool(&held, .max = 1);
    taker served, expired;
    begin_take(&expired, pool, cen_in_s(3));
    ceni_world_advance(SECOND);
    begin_take(&served, pool, CEN_NEVER);
    ceni_world_advance(SECOND);
    cen_pool_stats s = expect_sound(pool);
    expect(s.waiting == 2 && s.waited == 2 && s.wait_total_ns == 0 && s.wait_longest_ns == 0);
    expect_equal(s.oldest_wait_ns, 2 * SECOND);
    ceni_world_advance(SECOND);
    expect_answer(&expired, CEN_TIMEOUT);
    s = expect_sound(pool);
    expect(s.waiting == 1 && s.timed_out == 1 && s.oldest_wait_ns == 2 * SECOND);
    expect(s.wait_total_ns == 3 * SECOND && s.wait_longest_ns == 3 * SECOND);
    ceni_world_advance(3 * SECOND);
    give_back(&held);
    expect_taken(&served, 1);
    s = expect_sound(pool);
    expect(s.waiting == 0 && s.served == 1 && s.oldest_wait_ns == 0);
    expect(s.wait_total_ns == 8 * SECOND && s.wait_longest_ns == 5 * SECOND);
    expect(s.wait_p50_ns >= 29 * SECOND / 10 && s.wait_p50_ns <= 31 * SECOND / 10);
    expect(s.wait_p99_ns >= 48 * SECOND / 10 && s.wait_p99_ns <= 52 * SECOND / 10);
    end(pool, &served.lease);
}

TEST(wait_times_count_those_who_were_handed_something_and_those_who_were_sent_away)
{
    cen_lease held;
    cen_pool *pool = taken_pool(&held, .max = 1);
    taker handed, sent_away;
    begin_take(&handed, pool, CEN_NEVER);
    ceni_world_advance(2 * SECOND);
    give_back(&held);
    expect_taken(&handed, 1);
    cen_pool_stats s = expect_sound(pool);
    expect(s.wait_total_ns == 2 * SECOND && s.wait_longest_ns == 2 * SECOND);
    begin_take(&sent_away, pool, CEN_NEVER);
    ceni_world_advance(5 * SECOND);
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_TIMEOUT);
    expect_answer(&sent_away, CEN_CLOSED);
    s = expect_sound(pool);
    expect(s.wait_total_ns == 7 * SECOND && s.wait_longest_ns == 5 * SECOND);
    expect_equal(cen_pool_give(&handed.lease), CEN_REVOKED);
    free_pool(pool);
}
