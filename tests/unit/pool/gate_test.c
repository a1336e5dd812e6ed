/* SPDX-License-Identifier: MIT */
/* The gate by itself: back-off, breaker and slow start, with times and random numbers that the test chooses. */
#include "pool/gate.h"

#include "port/port.h"
#include "support/test.h"

static const int64_t ms = 1000000;

static cen_pool_options limits_of(int64_t least, int64_t most, int32_t failures)
{
    return (cen_pool_options){.backoff_least_ns = least, .backoff_most_ns = most, .breaker_failures = failures};
}

static bool fail(ceni_gate *gate, const cen_pool_options *limits, int64_t now, uint64_t random)
{
    cen_error why = {.status = CEN_SYSTEM, .code = 111, .text = "refused"};
    return ceni_gate_fail(gate, limits, now, random, &why);
}

TEST(a_new_gate_is_open_and_admits_any_number)
{
    ceni_gate gate;
    memset(&gate, 0x55, sizeof gate);
    ceni_gate_init(&gate);
    expect(gate.admits == UINT32_MAX && gate.failures == 0 && gate.breaker == CEN_BREAKER_CLOSED);
    expect_equal(ceni_gate_next(&gate), CENI_FOREVER);
    expect(!ceni_gate_pass_time(&gate, INT64_MAX));
    expect(!ceni_gate_succeed(&gate));
    expect_equal(gate.admits, UINT32_MAX);
}

/* Full jitter: the delay is anywhere in (0, least * 2^n], and both ends are reached. */
TEST(L11_the_back_off_after_n_failures_is_random_up_to_least_times_2_to_the_n)
{
    cen_pool_options limits = limits_of(100 * ms, 30000 * ms, CEN_OFF);
    int64_t bound = 100 * ms;
    for (unsigned n = 1; n <= 40; n++) {
        static const uint64_t randoms[] = {0, 1, 99, UINT64_MAX, UINT64_MAX / 3};
        for (unsigned i = 0; i < 7; i++) {
            ceni_gate gate;
            ceni_gate_init(&gate);
            for (unsigned earlier = 1; earlier < n; earlier++) fail(&gate, &limits, 1000, 0);
            gate.until = 0; /* only the last counts here */
            uint64_t random = i < 5 ? randoms[i] : i == 5 ? (uint64_t)bound - 1 : (uint64_t)bound;
            fail(&gate, &limits, 1000, random);
            int64_t delay = ceni_gate_next(&gate) - 1000;
            expect(delay >= 1 && delay <= bound);
            if (i == 0 || i == 6) expect_equal(delay, 1);
            if (i == 5) expect_equal(delay, bound);
        }
        bound = bound * 2 < limits.backoff_most_ns ? bound * 2 : limits.backoff_most_ns;
    }
    expect_equal(bound, limits.backoff_most_ns);
}

TEST(a_back_off_with_equal_bounds_does_not_grow_and_one_at_the_end_of_time_does_not_overflow)
{
    ceni_gate gate;
    ceni_gate_init(&gate);
    cen_pool_options same = limits_of(7, 7, CEN_OFF), huge = limits_of(INT64_MAX, INT64_MAX, CEN_OFF);
    for (int i = 0; i < 200; i++) {
        gate.until = 0;
        fail(&gate, &same, 0, 6);
        expect_equal(ceni_gate_next(&gate), 7);
    }
    ceni_gate_init(&gate);
    for (int i = 0; i < 5; i++) fail(&gate, &huge, INT64_MAX - 10, UINT64_MAX / 2);
    expect(ceni_gate_next(&gate) < CENI_FOREVER && ceni_gate_next(&gate) > INT64_MAX - 10);
}

TEST(a_second_failure_while_it_is_shut_never_opens_the_gate_earlier)
{
    ceni_gate gate;
    ceni_gate_init(&gate);
    cen_pool_options limits = limits_of(100, 1000, CEN_OFF);
    fail(&gate, &limits, 0, 99);
    expect_equal(ceni_gate_next(&gate), 100);
    fail(&gate, &limits, 10, 0);
    expect_equal(ceni_gate_next(&gate), 100);
    fail(&gate, &limits, 10, 399);
    expect_equal(ceni_gate_next(&gate), 410);
}

TEST(L11_the_gate_opens_at_its_moment_and_admits_one)
{
    ceni_gate gate;
    ceni_gate_init(&gate);
    cen_pool_options limits = limits_of(100, 1000, CEN_OFF);
    fail(&gate, &limits, 0, 99);
    expect_equal(gate.admits, 0);
    expect(!ceni_gate_pass_time(&gate, 99));
    expect_equal(gate.admits, 0);
    expect(ceni_gate_pass_time(&gate, 100));
    expect_equal(gate.admits, 1);
    expect(!ceni_gate_pass_time(&gate, 101)); /* once */
    expect_equal(ceni_gate_next(&gate), CENI_FOREVER);
    expect_equal(gate.breaker, CEN_BREAKER_CLOSED);
}

TEST(L11_the_breaker_opens_at_the_nth_failure_in_a_row_and_says_so_once)
{
    for (int32_t threshold = 1; threshold <= 6; threshold++) {
        ceni_gate gate;
        ceni_gate_init(&gate);
        cen_pool_options limits = limits_of(100, 1000, threshold);
        for (int32_t i = 1; i < threshold; i++) {
            expect(!fail(&gate, &limits, i, 0));
            expect_equal(gate.breaker, CEN_BREAKER_CLOSED);
        }
        expect(fail(&gate, &limits, 50, 0));
        expect_equal(gate.breaker, CEN_BREAKER_OPEN);
        expect(!fail(&gate, &limits, 51, 0));
        expect_equal(gate.breaker, CEN_BREAKER_OPEN);
        expect(ceni_gate_pass_time(&gate, 5000));
        expect(gate.breaker == CEN_BREAKER_PROBING && gate.admits == 1);
        expect(!fail(&gate, &limits, 5001, 0)); /* it was open before: no news */
        expect(gate.breaker == CEN_BREAKER_OPEN && gate.admits == 0);
        ceni_gate_pass_time(&gate, 9000);
        expect(ceni_gate_succeed(&gate));
        expect(gate.breaker == CEN_BREAKER_CLOSED && gate.failures == 0);
        expect(!ceni_gate_succeed(&gate));
    }
}

TEST(a_success_between_failures_starts_the_count_anew)
{
    ceni_gate gate;
    ceni_gate_init(&gate);
    cen_pool_options limits = limits_of(100, 1000, 3);
    for (int i = 0; i < 10; i++) {
        expect(!fail(&gate, &limits, i, 0));
        expect(!fail(&gate, &limits, i, 0));
        expect(!ceni_gate_succeed(&gate));
        expect_equal(gate.failures, 0);
    }
}

/* The one that succeeded was the first: 1, 2, 4, 8 and so on, then as many as the pool allows. */
TEST(L11_after_recovery_2_4_8_are_admitted_and_then_any_number)
{
    ceni_gate gate;
    ceni_gate_init(&gate);
    cen_pool_options limits = limits_of(100, 1000, 2);
    fail(&gate, &limits, 0, 0);
    fail(&gate, &limits, 0, 0);
    ceni_gate_pass_time(&gate, 2000);
    expect_equal(gate.admits, 1);
    static const uint32_t admitted[] = {2, 4, 8, 16, 32, 64, UINT32_MAX, UINT32_MAX};
    for (int i = 0; i < 8; i++) {
        ceni_gate_succeed(&gate);
        expect_equal(gate.admits, admitted[i]);
    }
    fail(&gate, &limits, 3000, 0);
    expect_equal(gate.admits, 0);
}

TEST(a_back_off_that_is_off_never_shuts_the_gate)
{
    ceni_gate gate;
    ceni_gate_init(&gate);
    cen_pool_options limits = limits_of(CEN_OFF, 1000, 3);
    for (int i = 1; i <= 10; i++) {
        expect(!fail(&gate, &limits, i, 7));
        expect(gate.admits == UINT32_MAX && gate.breaker == CEN_BREAKER_CLOSED);
        expect_equal(gate.failures, i);
    }
}

TEST(a_breaker_that_is_off_never_opens)
{
    ceni_gate gate;
    ceni_gate_init(&gate);
    cen_pool_options limits = limits_of(10, 10, CEN_OFF);
    for (int64_t i = 1; i <= 1000; i++) {
        expect(!fail(&gate, &limits, i * 100, 0));
        expect_equal(gate.breaker, CEN_BREAKER_CLOSED);
        ceni_gate_pass_time(&gate, i * 100 + 50);
    }
}

TEST(the_gate_remembers_the_last_failure_after_a_success)
{
    ceni_gate gate;
    ceni_gate_init(&gate);
    cen_pool_options limits = limits_of(10, 10, CEN_OFF);
    expect_equal(gate.failed_at, 0);
    fail(&gate, &limits, 77, 0);
    ceni_gate_succeed(&gate);
    expect_equal(gate.failed_at, 77);
    expect_equal(gate.last.status, CEN_SYSTEM);
    expect_equal(gate.last.code, 111);
    expect_text(gate.last.text, "refused");
}

TEST(a_count_of_failures_that_is_at_its_end_stays_there)
{
    ceni_gate gate;
    ceni_gate_init(&gate);
    cen_pool_options limits = limits_of(10, 1000, 5);
    gate.failures = UINT32_MAX - 1;
    fail(&gate, &limits, 0, 999);
    fail(&gate, &limits, 0, 999);
    expect_equal(gate.failures, UINT32_MAX);
    expect_equal(ceni_gate_next(&gate), 1000);
}
