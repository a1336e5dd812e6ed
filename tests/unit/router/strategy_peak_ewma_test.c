/* SPDX-License-Identifier: MIT */
/*
 * Peak EWMA in virtual time. Of two members both are looked at by every pick, so what
 * is picked is known exactly, but for ties; with more it is picked out of pairs.
 */
#include "unit/router/strategies.h"

/* A use of that one of two members. */
static void use_of(unsigned number, int64_t latency, cen_outcome outcome)
{
    cen_route route;
    cen_route_hint pick = {.avoid = members[1 - number]};
    expect_equal(route_with(&pick, &route), number);
    expect_equal(cen_route_done(&route, outcome, latency), CEN_OK);
}

static void pass(int64_t ns)
{
    expect_equal(cen_runtime_advance(runtime, ns), CEN_OK);
}

/* How many of so many uses go to that member; each takes its member's latency, and one begins every `interval`. */
static unsigned count_of(unsigned number, const int64_t *latencies, unsigned times, int64_t interval)
{
    unsigned count = 0;
    for (unsigned i = 0; i < times; i++) {
        cen_route route;
        unsigned now = route_with(NULL, &route);
        pass(interval);
        expect_equal(cen_route_done(&route, CEN_OUTCOME_OK, latencies[now]), CEN_OK);
        count += now == number;
    }
    return count;
}

static void begin_two(int64_t one, int64_t two)
{
    seed_thread();
    begin_with(cen_strategy_peak_ewma(), 2);
    use_of(0, one, CEN_OUTCOME_OK);
    use_of(1, two, CEN_OUTCOME_OK);
}

TEST(one_that_answers_slowly_once_is_left_alone_at_once)
{
    const int64_t latencies[] = {ms, ms};
    begin_two(ms, ms);
    use_of(0, second, CEN_OUTCOME_OK);
    expect_equal(count_of(0, latencies, 1000, ms), 0);
    end_router();
}

/* From 1 s to 1 ms are ten halvings of seven seconds. */
TEST(one_that_was_slow_is_tried_again_and_is_as_good_as_before_if_it_answers_fast)
{
    const int64_t latencies[] = {ms, ms};
    begin_two(ms, ms);
    use_of(0, second, CEN_OUTCOME_OK);
    expect_equal(count_of(0, latencies, 60 * 100, 10 * ms), 0); /* one minute */
    expect(count_of(0, latencies, 20 * 100, 10 * ms) > 0);      /* by 80 s */
    expect(count_of(0, latencies, 1000, 10 * ms) > 300);        /* alike: 12 deviations below 500 */
    end_router();
}

TEST(one_that_is_still_slow_when_it_is_tried_again_is_left_alone_again)
{
    const int64_t latencies[] = {second, ms};
    begin_two(second, ms);
    /* Half an hour: at most every 60 seconds. */
    unsigned tries = count_of(0, latencies, 1800 * 10, 100 * ms);
    expect(tries >= 10);
    expect(tries <= 30);
    end_router();
}

TEST(the_one_that_is_twice_as_fast_has_nearly_all_while_neither_is_used)
{
    const int64_t latencies[] = {ms, 2 * ms};
    begin_two(ms, 2 * ms);
    unsigned faster = count_of(0, latencies, 1000, 10 * ms);
    expect(faster > 500);
    expect(faster < 1000); /* the other is tried when it has been half forgotten */
    end_router();
}

TEST(uses_in_flight_multiply_the_cost)
{
    cen_route held[4];
    begin_two(ms, 5 * ms / 2);
    /* 1 ms x (uses + 1) against 2.5 ms x (uses + 1): 1, 2 | 2.5, 3 -> the second, 3 -> the first */
    const unsigned expected[] = {0, 0, 1, 0};
    for (int i = 0; i < 4; i++) expect_equal(route_with(NULL, &held[i]), expected[i]);
    for (int i = 0; i < 4; i++) expect_equal(cen_route_done(&held[i], CEN_OUTCOME_CANCELLED, 0), CEN_OK);
    end_router();
}

/* Nothing is known of it: it is used once, and not again before it has answered, while others are better than one second. */
TEST(a_member_that_is_not_known_is_tried_with_one_use)
{
    cen_route held[10];
    begin_two(ms, ms);
    members[2] = add_to(router, 2, 0);
    expect_equal(cen_member_down(members[1], NULL), CEN_OK);
    unsigned tried = 0;
    for (int i = 0; i < 10; i++) tried += route_with(NULL, &held[i]) == 2;
    expect_equal(tried, 1);
    for (int i = 0; i < 10; i++) expect_equal(cen_route_done(&held[i], CEN_OUTCOME_OK, ms), CEN_OK);
    end_router();
}

/* ---- Failures ------------------------------------------------------------------------------- */

/* One of four fails every use in a microsecond; the others answer in a millisecond. */
static unsigned uses_of_one_that_fails(unsigned times)
{
    unsigned count = 0;
    for (unsigned i = 0; i < times; i++) {
        cen_route route;
        bool fails = route_with(NULL, &route) == 0;
        pass(ms);
        expect_equal(cen_route_done(&route, fails ? CEN_OUTCOME_FAILED : CEN_OUTCOME_OK, fails ? 1000 : ms), CEN_OK);
        count += fails;
    }
    return count;
}

TEST(one_that_fails_fast_draws_nobody)
{
    seed_thread();
    begin_with(cen_strategy_peak_ewma(), 4);
    expect(uses_of_one_that_fails(10000) <= 3);
    end_router();
}

TEST(one_that_begins_to_fail_fast_is_left_alone_after_one_failure)
{
    const int64_t latencies[] = {ms, ms, ms, ms};
    seed_thread();
    begin_with(cen_strategy_peak_ewma(), 4);
    expect(count_of(0, latencies, 1000, ms) > 100);
    expect_equal(uses_of_one_that_fails(1000), 1);  /* in the first second */
    expect(uses_of_one_that_fails(60 * 1000) < 20); /* in the next minute */
    end_router();
}

TEST(what_was_cancelled_says_nothing)
{
    const int64_t latencies[] = {ms, ms};
    begin_two(ms, ms);
    for (int i = 0; i < 100; i++) use_of(0, 100 * second, CEN_OUTCOME_CANCELLED);
    expect(count_of(0, latencies, 1000, 0) > 300);
    end_router();
}

TEST(a_member_that_comes_back_begins_anew)
{
    const int64_t latencies[] = {ms, ms};
    begin_two(ms, ms);
    for (int i = 0; i < 64; i++) use_of(0, 1000, CEN_OUTCOME_FAILED); /* its connection has died with 64 in flight */
    expect_equal(cen_member_down(members[0], NULL), CEN_OK);
    expect_equal(cen_member_up(members[0], NULL), CEN_OK);
    expect(count_of(0, latencies, 1000, ms) > 300);
    end_router();
}

/* ---- The average -------------------------------------------------------------------------------- */

static int64_t seen;

static void see_first(void *argument, const cen_member_stats *member)
{
    (void)argument;
    if (number_of(member->value) == 0) seen = member->latency_ns;
}

static int64_t average_of_first(void)
{
    expect_equal(cen_router_each(router, see_first, NULL), CEN_OK);
    return seen;
}

TEST(the_average_jumps_up_and_comes_down_by_half_in_seven_seconds_however_often_it_is_asked)
{
    static const int64_t intervals[] = {1000, 100 * 1000, 10 * 1000 * 1000, INT64_C(1000) * 1000 * 1000};
    for (size_t i = 0; i < sizeof intervals / sizeof *intervals; i++) {
        begin_two(ms, ms);
        use_of(0, 1000 * ms, CEN_OUTCOME_OK);
        expect_equal(average_of_first(), 1000 * ms);
        /* Its answers take next to nothing; a million of them is enough for the shortest interval. */
        int64_t until = intervals[i] == 1000 ? second : 7 * second;
        for (int64_t passed = 0; passed < until; passed += intervals[i]) {
            pass(intervals[i]);
            use_of(0, 1, CEN_OUTCOME_OK);
        }
        int64_t expected = until == second ? 905724 * 1000 : 500 * ms; /* 2 to the power of -1/7 */
        int64_t off = average_of_first() - expected;
        expect(off > -5 * ms && off < 5 * ms);
        end_router();
    }
}
