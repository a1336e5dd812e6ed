/* SPDX-License-Identifier: MIT */
#include "port/deadline.h"
#include "port/port.h"
#include "support/test.h"

enum { NOW = 1000000 }; /* a reading of the clock */

static int64_t moment_of(cen_deadline deadline)
{
    return ceni_deadline_moment(deadline, NOW);
}

static const cen_deadline usual = CEN_DEFAULT, soonest = CEN_NOW;

TEST(the_default_is_the_zero_deadline_and_can_begin_a_static_variable)
{
    cen_deadline zero = {0};
    expect(CEN_DEFAULT.ns_ == 0 && usual.ns_ == zero.ns_ && soonest.ns_ != 0);
    expect_equal(ceni_deadline_or(usual, CEN_NEVER).ns_, CEN_NEVER.ns_);
    expect_equal(cen_deadline_fix(CEN_DEFAULT).ns_, 0);
    expect(CEN_OFF != CEN_NONE && CEN_NONE < 0 && CEN_OFF < 0);
}

static const int64_t half_a_second = CEN_SECONDS(0.5), a_minute = CEN_MINUTES(1), too_long = CEN_HOURS(INT64_MAX);

TEST(a_time_with_its_unit_is_a_constant_of_nanoseconds)
{
    expect_equal(half_a_second, 500000000);
    expect_equal(a_minute, INT64_C(60000000000));
    expect_equal(CEN_US(1), 1000);
    expect_equal(CEN_MS(250), 250000000);
    expect_equal(CEN_SECONDS(30), INT64_C(30000000000));
    expect_equal(CEN_HOURS(1), INT64_C(3600000000000));
    int n = 3;
    unsigned long large = 4;
    expect_equal(CEN_MS(n), 3000000);
    expect_equal(CEN_MS(large), 4000000);
    expect_equal(CEN_MS(n + 1), 4000000);
    expect_equal(CEN_MS(2.5), 2500000);
    expect_equal(CEN_SECONDS(0), 0);
    expect_equal(CEN_MS(-1), -1000000);
}

TEST(a_time_with_its_unit_that_cannot_be_written_down_saturates)
{
    expect_equal(too_long, INT64_MAX);
    expect_equal(CEN_US(INT64_MAX), INT64_MAX);
    expect_equal(CEN_SECONDS(UINT64_MAX), INT64_MAX);
    expect_equal(CEN_SECONDS(1e300), INT64_MAX);
    expect_equal(CEN_SECONDS(INT64_MIN), -INT64_MAX);
    expect_equal(CEN_SECONDS(9223372035), INT64_C(9223372035000000000));
    expect_equal(CEN_US(INT64_C(9223372036854774)), INT64_C(9223372036854774000));
}

TEST(a_tiny_time_is_1_to_99999_ns)
{
    expect(!cen_time_is_tiny(0) && cen_time_is_tiny(1) && cen_time_is_tiny(99999) && !cen_time_is_tiny(100000));
    expect(!cen_time_is_tiny(CEN_OFF) && !cen_time_is_tiny(CEN_NONE) && !cen_time_is_tiny(INT64_MAX));
}

TEST(never_is_for_ever_and_now_is_long_ago)
{
    expect_equal(moment_of(CEN_NEVER), CENI_FOREVER);
    expect_equal(moment_of(CEN_NOW), 0);
    expect(ceni_deadline_is_now(CEN_NOW));
    expect(!ceni_deadline_is_now(CEN_NEVER));
}

TEST(a_relative_deadline_counts_from_the_clock_that_is_given)
{
    expect_equal(moment_of(cen_in_ns(1)), NOW + 1);
    expect_equal(moment_of(cen_in_us(1)), NOW + 1000);
    expect_equal(moment_of(cen_in_ms(1)), NOW + 1000000);
    expect_equal(moment_of(cen_in_s(1)), NOW + 1000000000);
    expect_equal(ceni_deadline_moment(cen_in_ms(2), 5), 2000005);
}

TEST(an_absolute_deadline_is_its_moment_whatever_the_clock_says)
{
    expect_equal(moment_of(cen_at(5)), 5);
    expect_equal(moment_of(cen_at(NOW + 7)), NOW + 7);
    expect_equal(ceni_deadline_moment(cen_at(5), 100), 5);
}

TEST(no_time_and_negative_times_mean_now)
{
    expect(ceni_deadline_is_now(cen_in_ns(0)));
    expect(ceni_deadline_is_now(cen_in_ns(-1)));
    expect(ceni_deadline_is_now(cen_in_ns(INT64_MIN)));
    expect(ceni_deadline_is_now(cen_in_us(INT64_MIN)));
    expect(ceni_deadline_is_now(cen_in_ms(-1)));
    expect(ceni_deadline_is_now(cen_in_s(0)));
    expect(ceni_deadline_is_now(cen_in_s(INT64_MIN)));
    expect(ceni_deadline_is_now(cen_at(0)));
    expect(ceni_deadline_is_now(cen_at(-1)));
    expect(ceni_deadline_is_now(cen_at(INT64_MIN)));
}

/* guarantees: crossbeam-bugs.795 */
TEST(a_time_too_large_to_be_written_down_is_never)
{
    expect_equal(moment_of(cen_in_ns(INT64_MAX)), CENI_FOREVER);
    expect_equal(moment_of(cen_in_us(INT64_MAX)), CENI_FOREVER);
    expect_equal(moment_of(cen_in_ms(INT64_MAX)), CENI_FOREVER);
    expect_equal(moment_of(cen_in_s(INT64_MAX)), CENI_FOREVER);
    expect_equal(moment_of(cen_in_us(INT64_MAX / 1000 + 1)), CENI_FOREVER);
    expect_equal(moment_of(cen_in_s(INT64_MAX / 1000000000 + 1)), CENI_FOREVER);
    expect_equal(moment_of(cen_at(INT64_MAX)), CENI_FOREVER);
}

/* guarantees: crossbeam-bugs.795 */
TEST(a_relative_time_that_would_pass_the_end_of_the_clock_is_never)
{
    expect_equal(moment_of(cen_in_ns(INT64_MAX - 1)), CENI_FOREVER);
    expect_equal(moment_of(cen_in_ns(CENI_FOREVER - NOW)), CENI_FOREVER);
    expect_equal(moment_of(cen_in_ns(CENI_FOREVER - NOW - 1)), CENI_FOREVER - 1);
    expect_equal(ceni_deadline_moment(cen_in_ns(1), CENI_FOREVER), CENI_FOREVER);
}

TEST(a_zero_deadline_is_replaced_by_its_default_and_no_other)
{
    cen_deadline zero = {0};
    expect_equal(ceni_deadline_or(zero, cen_at(5)).ns_, 5);
    expect_equal(ceni_deadline_or(cen_at(7), cen_at(5)).ns_, 7);
    expect_equal(ceni_deadline_or(CEN_NOW, cen_at(5)).ns_, INT64_MIN);
    expect_equal(ceni_deadline_or(CEN_NEVER, cen_at(5)).ns_, INT64_MAX);
}

/* guarantees: queue.relative */
TEST(fix_pins_a_relative_deadline_to_the_present)
{
    int64_t before = cen_clock();
    cen_deadline fixed = cen_deadline_fix(cen_in_s(10));
    int64_t after = cen_clock(), s = 1000000000;
    expect(before > 0 && after >= before);
    expect(moment_of(fixed) >= before + 10 * s && moment_of(fixed) <= after + 10 * s);
    expect_equal(cen_deadline_fix(fixed).ns_, fixed.ns_);
}

/* guarantees: queue.relative */
TEST(fix_leaves_every_other_deadline_as_it_is)
{
    cen_deadline zero = {0};
    expect_equal(cen_deadline_fix(zero).ns_, 0);
    expect_equal(cen_deadline_fix(CEN_NOW).ns_, INT64_MIN);
    expect_equal(cen_deadline_fix(CEN_NEVER).ns_, INT64_MAX);
    expect_equal(cen_deadline_fix(cen_at(123)).ns_, 123);
    expect_equal(cen_deadline_fix(cen_in_ns(INT64_MAX - 1)).ns_, INT64_MAX);
}
