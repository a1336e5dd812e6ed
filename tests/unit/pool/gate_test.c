/* SPDX-License-Identifier: MIT */
/* The gate by itself: back-off, breaker and slow start, with times and random numbers that the test chooses. */
#include "pool/gate.h"

#include "port/port.h"
#include "support/test.h"

static const int64_t ms = 1000000;

static cen_pool_options limits_of(int64_t least, int64_t most, int32_t failures)
{
    return (cen_pool_options){.backoff_initial_ns = least, .backoff_max_ns = most, .breaker_failures = failures};
}

/* One that failed at once. */
static bool fail(ceni_gate *gate, const cen_pool_options *limits, int64_t now, uint64_t random)
{
    cen_error why = {.status = CEN_SYSTEM, .code = 111, .text = "refused"};
    return ceni_gate_fail(gate, limits, now, now, false, random, &why);
}

/* guarantees: life.L11 */
TEST(a_new_gate_is_open_and_admits_any_number)
{
    ceni_gate gate;
    memset(&gate, 0x55, sizeof gate);
    ceni_gate_init(&gate, true);
    expect(gate.admits == UINT32_MAX && gate.failures == 0 && gate.breaker == CEN_BREAKER_CLOSED);
    expect_equal(ceni_gate_next(&gate), CENI_FOREVER);
    expect(!ceni_gate_pass_time(&gate, INT64_MAX, 0));
    expect(!ceni_gate_succeed(&gate, 0, 0));
    expect_equal(gate.admits, UINT32_MAX);
}

/* guarantees: life.L11 */
TEST(L11_a_login_that_was_refused_is_tried_again_only_after_the_largest_back_off)
{
    ceni_gate gate;
    cen_pool_options limits = limits_of(50 * ms, 2000 * ms, 5);
    cen_error why = {.status = CEN_DRIVER, .cause = CEN_CAUSE_LOGIN_REFUSED};
    for (int serves = 0; serves <= 1; serves++) {
        ceni_gate_init(&gate, true);
        ceni_gate_fail(&gate, &limits, 0, 0, serves, (uint64_t)(1500 * ms), &why);
        expect_equal(ceni_gate_next(&gate), 1500 * ms + 1);
    }
    why.cause = CEN_CAUSE_OPENING_FAILED; /* the login is accepted now, and the server fails in another way */
    expect(ceni_gate_pass_time(&gate, 1500 * ms + 1, 0));
    ceni_gate_fail(&gate, &limits, 1500 * ms + 1, 1500 * ms + 1, false, (uint64_t)(1500 * ms), &why);
    expect(ceni_gate_next(&gate) <= 1500 * ms + 1 + 50 * ms);
}

/* Full jitter: the delay is anywhere from the floor, or 0, to the bound, and both ends are reached. */
static void expect_bound(ceni_gate gate, const cen_pool_options *limits, int64_t now, int64_t bound)
{
    const uint64_t randoms[] = {0, 1, 99, UINT64_MAX, UINT64_MAX / 3, (uint64_t)bound - 1, (uint64_t)bound};
    for (unsigned i = 0; i < 7; i++) {
        ceni_gate one = gate;
        one.until = 0; /* only the last counts here */
        fail(&one, limits, now, randoms[i]);
        int64_t delay = ceni_gate_next(&one) - now;
        expect(delay >= 1 && delay <= bound);
        if (i == 0 || i == 6) expect_equal(delay, bound < ms ? 1 : ms);
        if (i == 5) expect_equal(delay, bound);
    }
}

/* guarantees: life.L11 */
TEST(L11_the_back_off_is_random_up_to_a_part_of_how_long_the_outage_has_lasted)
{
    static const struct {
        int64_t least, most, lasted, bound;
    } cases[] = {
        {100 * ms, 2000 * ms, 0, 100 * ms},
        {100 * ms, 2000 * ms, 1, 100 * ms},
        {100 * ms, 2000 * ms, 6400 * ms, 100 * ms},
        {100 * ms, 2000 * ms, 6464 * ms, 101 * ms},
        {100 * ms, 2000 * ms, 12800 * ms, 200 * ms},
        {100 * ms, 2000 * ms, 127999 * ms, 127999 * ms / 64},
        {100 * ms, 2000 * ms, 128000 * ms, 2000 * ms},
        {100 * ms, 2000 * ms, 1280000 * ms, 2000 * ms},
        {1, 1000, 0, 1},
        {1, 1000, 128, 2},
        {7, 7, 1000000, 7},
        {100, 30000 * ms, INT64_MAX / 2, 30000 * ms},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        cen_pool_options limits = limits_of(cases[i].least, cases[i].most, CEN_OFF);
        ceni_gate gate;
        ceni_gate_init(&gate, true);
        expect_bound(gate, &limits, 1000, cases[i].least); /* the first */
        fail(&gate, &limits, 10, 0);
        for (int more = 0; more < 3; more++) { /* how often it was tried does not matter */
            expect_bound(gate, &limits, 10 + cases[i].lasted, cases[i].bound);
            fail(&gate, &limits, 10, 0);
        }
    }
}

/* guarantees: life.L11 */
TEST(L11_beside_objects_that_serve_the_back_off_is_doubled_with_each_failure)
{
    static const struct {
        int64_t least, most, bounds[7];
    } cases[] = {
        {50, 2000, {50, 100, 200, 400, 800, 1600, 2000}},
        {7, 7, {7, 7, 7, 7, 7, 7, 7}},
        {1, 3, {1, 2, 3, 3, 3, 3, 3}},
        {INT64_MAX / 3,
         INT64_MAX,
         {INT64_MAX / 3, INT64_MAX / 3 * 2, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX}},
    };
    cen_error why = {.status = CEN_SYSTEM};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        cen_pool_options limits = limits_of(cases[i].least, cases[i].most, CEN_OFF);
        ceni_gate gate;
        ceni_gate_init(&gate, true);
        for (int n = 0; n < 7; n++) {
            ceni_gate one = gate;
            one.until = 0;
            int64_t bound = cases[i].bounds[n];
            ceni_gate_fail(&one, &limits, 0, 0, true, (uint64_t)bound - 1, &why);
            expect_equal(ceni_gate_next(&one), bound < CENI_FOREVER ? bound : CENI_FOREVER - 1);
            ceni_gate_fail(&gate, &limits, 0, 0, n % 2, 0, &why); /* whether those before served does not matter */
        }
    }
}

/* It has lasted since the first of the openings that failed in a row began. */
/* guarantees: life.L11-hanging */
TEST(a_try_that_takes_long_to_fail_is_part_of_the_outage_and_a_success_ends_it)
{
    cen_pool_options limits = limits_of(1, 1000, CEN_OFF);
    cen_error why = {.status = CEN_TIMEOUT};
    ceni_gate gate;
    ceni_gate_init(&gate, true);
    ceni_gate_fail(&gate, &limits, 1000, 1640, false, 9, &why);
    expect_equal(ceni_gate_next(&gate), 1650);
    expect_equal(gate.took, 640);
    ceni_gate_pass_time(&gate, 2000, 0);
    ceni_gate_succeed(&gate, 2000, 0);
    fail(&gate, &limits, 3000, 0);
    expect_equal(gate.since, 3000);
    expect_equal(ceni_gate_next(&gate), 3001);
}

/* guarantees: life.L11 */
TEST(a_back_off_at_the_end_of_time_does_not_overflow)
{
    ceni_gate gate;
    ceni_gate_init(&gate, true);
    cen_pool_options huge = limits_of(INT64_MAX, INT64_MAX, CEN_OFF);
    for (int i = 0; i < 5; i++) fail(&gate, &huge, INT64_MAX - 10, UINT64_MAX / 2);
    expect(ceni_gate_next(&gate) < CENI_FOREVER && ceni_gate_next(&gate) > INT64_MAX - 10);
    ceni_gate_pass_time(&gate, CENI_FOREVER - 1, 0);
    gate.took = INT64_MAX;
    ceni_gate_begin(&gate, &(cen_pool_options){.backoff_initial_ns = 1, .backoff_max_ns = 1, .max_concurrent_opens = 2},
                    INT64_MAX - 5, 0, false);
    expect(ceni_gate_next(&gate) < CENI_FOREVER && ceni_gate_next(&gate) > INT64_MAX - 5);
}

/* The tries of a silent server are spread over the time that one takes, and none begins beside another at once. */
/* guarantees: life.L11-hanging */
TEST(L11_beside_a_try_that_hangs_one_more_is_admitted_when_its_time_has_come_and_never_more_than_openers)
{
    static const struct {
        uint32_t max_concurrent_opens, others;
        int64_t took, lasted, after; /* 0: none is admitted */
    } cases[] = {
        {1, 0, 1000, 0, 0},       {2, 0, 1000, 0, 500},      {2, 1, 1000, 0, 0},  {4, 0, 1000, 0, 250},
        {4, 2, 1000, 0, 250},     {4, 3, 1000, 0, 0},        {4, 9, 1000, 0, 0},  {64, 0, 1000, 0, 100},
        {4, 0, 1000, 32000, 500}, {2, 0, 2001, 64000, 1000}, {2, 0, 150, 0, 100}, {2, 0, 0, 0, 0},
        {2, 0, 100, 0, 0},        {4, 0, 500, 32000, 0}, /* the last failed sooner */
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        cen_pool_options limits = limits_of(100, 1000, 1);
        limits.max_concurrent_opens = cases[i].max_concurrent_opens;
        int64_t now = 5000 + cases[i].lasted;
        ceni_gate gate;
        ceni_gate_init(&gate, true);
        ceni_gate_begin(&gate, &limits, 5000, 0, false);
        /* nothing has failed: nothing is to be admitted that is not */
        expect_equal(ceni_gate_next(&gate), CENI_FOREVER);
        fail(&gate, &limits, 5000, 0);
        ceni_gate_pass_time(&gate, now + 1, cases[i].others);
        expect_equal(gate.admits, cases[i].others + 1);
        gate.took = cases[i].took;
        ceni_gate_begin(&gate, &limits, now, cases[i].others, false);
        expect_equal(ceni_gate_next(&gate), cases[i].after ? now + cases[i].after : CENI_FOREVER);
        if (!cases[i].after) continue;
        expect(!ceni_gate_pass_time(&gate, now + cases[i].after - 1, cases[i].others + 1));
        expect(ceni_gate_pass_time(&gate, now + cases[i].after, cases[i].others + 1));
        expect_equal(gate.admits, cases[i].others + 2);
        expect_equal(gate.breaker, CEN_BREAKER_HALF_OPEN);
        expect_equal(ceni_gate_next(&gate), CENI_FOREVER); /* until that one has begun */
    }
}

/* guarantees: life.L11-hanging */
TEST(L11_what_began_before_a_success_and_fails_after_it_does_not_shut_the_gate)
{
    static const struct {
        int64_t began;
        bool counts;
    } cases[] = {{100, false}, {1999, false}, {2000, true}, {2001, true}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        cen_pool_options limits = limits_of(100, 1000, 1);
        cen_error why = {.status = CEN_TIMEOUT, .code = 4};
        ceni_gate gate;
        ceni_gate_init(&gate, true);
        fail(&gate, &limits, 50, 0);
        ceni_gate_pass_time(&gate, 2000, 1);
        expect(ceni_gate_succeed(&gate, 2000, 1));
        expect_equal(gate.admits, 3); /* two beside the one that goes on */
        expect_equal(ceni_gate_fail(&gate, &limits, cases[i].began, 2500, false, 0, &why), cases[i].counts);
        expect_equal(gate.admits, cases[i].counts ? 0 : 3);
        expect_equal(gate.failures, cases[i].counts ? 1 : 0);
        expect(gate.failed_at == 2500 && gate.last.code == 4); /* it is told to those who ask all the same */
    }
}

/* guarantees: life.L11 */
TEST(a_second_failure_while_it_is_shut_never_opens_the_gate_earlier)
{
    ceni_gate gate;
    ceni_gate_init(&gate, true);
    cen_pool_options limits = limits_of(100, 1000, CEN_OFF);
    fail(&gate, &limits, 0, 99);
    expect_equal(ceni_gate_next(&gate), 100);
    fail(&gate, &limits, 10, 0);
    expect_equal(ceni_gate_next(&gate), 100);
    fail(&gate, &limits, 10, 99);
    expect_equal(ceni_gate_next(&gate), 110);
}

/* guarantees: life.L11 */
TEST(L11_the_gate_opens_at_its_moment_and_admits_one)
{
    ceni_gate gate;
    ceni_gate_init(&gate, true);
    cen_pool_options limits = limits_of(100, 1000, CEN_OFF);
    fail(&gate, &limits, 0, 99);
    expect_equal(gate.admits, 0);
    expect(!ceni_gate_pass_time(&gate, 99, 0));
    expect_equal(gate.admits, 0);
    expect(ceni_gate_pass_time(&gate, 100, 0));
    expect_equal(gate.admits, 1);
    expect(!ceni_gate_pass_time(&gate, 101, 0)); /* once */
    expect_equal(ceni_gate_next(&gate), CENI_FOREVER);
    expect_equal(gate.breaker, CEN_BREAKER_CLOSED);
}

/* guarantees: life.L11 */
TEST(L11_the_breaker_opens_at_the_nth_failure_in_a_row_and_says_so_once)
{
    for (int32_t threshold = 1; threshold <= 6; threshold++) {
        ceni_gate gate;
        ceni_gate_init(&gate, true);
        cen_pool_options limits = limits_of(100, 1000, threshold);
        for (int32_t i = 1; i < threshold; i++) {
            expect(!fail(&gate, &limits, i, 0));
            expect_equal(gate.breaker, CEN_BREAKER_CLOSED);
        }
        expect(fail(&gate, &limits, 50, 0));
        expect_equal(gate.breaker, CEN_BREAKER_OPEN);
        expect(!fail(&gate, &limits, 51, 0));
        expect_equal(gate.breaker, CEN_BREAKER_OPEN);
        expect(ceni_gate_pass_time(&gate, 5000, 0));
        expect(gate.breaker == CEN_BREAKER_HALF_OPEN && gate.admits == 1);
        expect(!fail(&gate, &limits, 5001, 0)); /* it was open before: no events */
        expect(gate.breaker == CEN_BREAKER_OPEN && gate.admits == 0);
        ceni_gate_pass_time(&gate, 9000, 0);
        expect(ceni_gate_succeed(&gate, 0, 0));
        expect(gate.breaker == CEN_BREAKER_CLOSED && gate.failures == 0);
        expect(!ceni_gate_succeed(&gate, 0, 0));
    }
}

/* guarantees: life.L11 */
TEST(a_success_between_failures_starts_the_count_anew)
{
    ceni_gate gate;
    ceni_gate_init(&gate, true);
    cen_pool_options limits = limits_of(100, 1000, 3);
    for (int i = 0; i < 10; i++) {
        expect(!fail(&gate, &limits, i, 0));
        expect(!fail(&gate, &limits, i, 0));
        expect(!ceni_gate_succeed(&gate, 0, 0));
        expect_equal(gate.failures, 0);
    }
}

/* The one that succeeded was the first: 1, 2, 4, 8 and so on, then as many as the pool allows. */
/* guarantees: life.L11 */
TEST(L11_after_recovery_2_4_8_are_admitted_and_then_any_number)
{
    ceni_gate gate;
    ceni_gate_init(&gate, true);
    cen_pool_options limits = limits_of(100, 1000, 2);
    fail(&gate, &limits, 0, 0);
    fail(&gate, &limits, 0, 0);
    ceni_gate_pass_time(&gate, 2000, 0);
    expect_equal(gate.admits, 1);
    static const uint32_t admitted[] = {2, 4, 8, 16, 32, 64, UINT32_MAX, UINT32_MAX};
    for (int i = 0; i < 8; i++) {
        ceni_gate_succeed(&gate, 0, 0);
        expect_equal(gate.admits, admitted[i]);
    }
    fail(&gate, &limits, 3000, 0);
    expect_equal(gate.admits, 0);
}

/* guarantees: life.L11 */
TEST(a_back_off_that_is_off_never_shuts_the_gate_of_a_driver_that_does_not_block)
{
    ceni_gate gate;
    ceni_gate_init(&gate, false);
    cen_pool_options limits = limits_of(CEN_OFF, 1000, 3);
    for (int i = 1; i <= 10; i++) {
        expect(!fail(&gate, &limits, i, 7));
        expect(gate.admits == UINT32_MAX && gate.breaker == CEN_BREAKER_CLOSED);
        expect_equal(gate.failures, i);
    }
}

/* guarantees: life.L11-no-backoff */
TEST(L11_without_back_off_openings_of_a_blocking_driver_are_one_millisecond_apart_and_the_breaker_stays_closed)
{
    ceni_gate gate;
    ceni_gate_init(&gate, true);
    cen_pool_options limits = limits_of(CEN_OFF, 1000, 3);
    limits.max_concurrent_opens = 2;
    for (int64_t i = 1; i <= 10; i++) {
        int64_t now = i * 100 * ms;
        expect(!fail(&gate, &limits, now, UINT64_MAX / 3));
        expect(gate.admits == 0 && gate.breaker == CEN_BREAKER_CLOSED);
        expect_equal(ceni_gate_next(&gate), now + ms);
        expect_equal(gate.failed, i); /* a waiter tells by it that one has failed */
        expect(!ceni_gate_pass_time(&gate, now + ms - 1, 0) && ceni_gate_pass_time(&gate, now + ms, 0));
        expect_equal(gate.admits, 1);
    }
    gate.took = 10 * ms; /* one that hangs does not keep the other opener from trying */
    ceni_gate_begin(&gate, &limits, 2000 * ms, 0, false);
    expect_equal(ceni_gate_next(&gate), 2005 * ms);
    ceni_gate_succeed(&gate, 2001 * ms, 0);
    expect(gate.failures == 0 && ceni_gate_next(&gate) == CENI_FOREVER);
}

/* guarantees: life.L11 */
TEST(a_breaker_that_is_off_never_opens)
{
    ceni_gate gate;
    ceni_gate_init(&gate, true);
    cen_pool_options limits = limits_of(10, 10, CEN_OFF);
    for (int64_t i = 1; i <= 1000; i++) {
        expect(!fail(&gate, &limits, i * 100, 0));
        expect_equal(gate.breaker, CEN_BREAKER_CLOSED);
        ceni_gate_pass_time(&gate, i * 100 + 50, 0);
    }
}

/* guarantees: life.L11 */
TEST(the_gate_remembers_the_last_failure_after_a_success)
{
    ceni_gate gate;
    ceni_gate_init(&gate, true);
    cen_pool_options limits = limits_of(10, 10, CEN_OFF);
    expect_equal(gate.failed_at, 0);
    fail(&gate, &limits, 77, 0);
    ceni_gate_succeed(&gate, 0, 0);
    expect_equal(gate.failed_at, 77);
    expect_equal(gate.last.status, CEN_SYSTEM);
    expect_equal(gate.last.code, 111);
    expect_text(gate.last.text, "refused");
}

/* guarantees: life.L11 */
TEST(a_count_of_failures_that_is_at_its_end_stays_there)
{
    ceni_gate gate;
    ceni_gate_init(&gate, true);
    cen_pool_options limits = limits_of(10, 1000, 5);
    gate.failures = UINT32_MAX - 1;
    fail(&gate, &limits, 80000, 999);
    fail(&gate, &limits, 80000, 999);
    expect_equal(gate.failures, UINT32_MAX);
    expect_equal(ceni_gate_next(&gate), 81000);
}
