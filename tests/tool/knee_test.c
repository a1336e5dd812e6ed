/* SPDX-License-Identifier: MIT */
/* The knee of curves that are known, with noise from a fixed seed: what is asked of an interval is how often it has the truth. */
#include "tool/knee.h"

#include <math.h>
#include <stdlib.h>

#include "support/test.h"
#include "tool/noise.h"

enum { VISITS = 8, POINTS = 16, TRIALS = 2000 };

typedef struct curve_case {
    knee_visit visits[POINTS][VISITS];
    knee_point points[POINTS];
    uint32_t count;
    uint64_t state;
} curve_case;

/* `along` is how much a window is like the one before it, `between` how much visits differ, both as shares of the mean. */
static knee_visit visit_made(uint64_t *state, double mean, double within, double along, double between,
                             uint32_t windows)
{
    knee_visit visit = {.windows = windows, .seconds = 1};
    double level = mean * (1 + between * noise_normal(state)), last = noise_normal(state);
    for (uint32_t i = 0; i < windows; i++) {
        visit.per_second[i] = level + mean * within * last;
        last = along * last + sqrt(1 - along * along) * noise_normal(state);
    }
    return visit;
}

static void add(curve_case *self, uint32_t size, double mean, uint32_t visits, double noise)
{
    knee_point *point = &self->points[self->count];
    *point = (knee_point){.size = size, .visits = self->visits[self->count], .count = visits};
    for (uint32_t v = 0; v < visits; v++) point->visits[v] = visit_made(&self->state, mean, noise, 0.2, noise / 4, 16);
    self->count++;
}

static curve_case *begin(uint64_t seed)
{
    curve_case *self = calloc(1, sizeof *self);
    expect(self != NULL);
    self->state = seed;
    return self;
}

static const knee_weather still = {0};
static const knee_rule five_percent = {.margin = 0.05};

static bool is_near(double number, double expected, double by)
{
    return fabs(number - expected) <= by;
}

TEST(students_t_is_what_tables_say)
{
    const double known[][2] = {{1, 12.706}, {2, 4.303},  {3, 3.182},  {9, 2.262},
                               {10, 2.228}, {15, 2.131}, {30, 2.042}, {120, 1.980}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        expect(is_near(knee_student(known[i][0]), known[i][1], 0.002));
    expect(knee_student(0.3) > 12);
    for (double degrees = 1; degrees < 40; degrees += 0.1)
        expect(knee_student(degrees) >= knee_student(degrees + 0.1) - 0.002);
}

/* Of TRIALS intervals, the share that has the true mean. */
static double coverage(uint32_t visits, uint32_t windows, double along, double between)
{
    uint64_t state = 71;
    int hits = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        knee_visit all[VISITS];
        for (uint32_t v = 0; v < visits; v++) all[v] = visit_made(&state, 1000, 0.05, along, between, windows);
        knee_interval interval = knee_throughput(&(knee_point){.visits = all, .count = visits}, still);
        hits += interval.low <= 1000 && 1000 <= interval.high;
    }
    printf("coverage with %u visits of %u windows, %.1f alike, visits %.2f apart: %.3f\n", visits, windows, along,
           between, (double)hits / TRIALS);
    return (double)hits / TRIALS;
}

TEST(an_interval_has_the_truth_in_about_95_of_100_cases)
{
    double share = coverage(1, 16, 0, 0);
    expect(share > 0.91 && share < 0.985);
    share = coverage(6, 16, 0, 0);
    expect(share > 0.92 && share < 0.985);
}

TEST(an_interval_knows_that_neighbouring_windows_are_alike)
{
    expect(coverage(6, 16, 0.5, 0) > 0.90);
    expect(coverage(8, 20, 0.8, 0) > 0.88);
}

TEST(an_interval_knows_that_visits_differ)
{
    double share = coverage(8, 16, 0, 0.1);
    expect(share > 0.90 && share < 0.99);
    share = coverage(4, 16, 0.3, 0.1);
    expect(share > 0.88 && share < 0.995);
}

TEST(windows_that_alternate_say_more_than_their_spread)
{
    knee_visit waves = {.windows = 20, .seconds = 1};
    for (uint32_t i = 0; i < 20; i++) waves.per_second[i] = i % 2 ? 120 : 80;
    knee_interval interval = knee_throughput(&(knee_point){.visits = &waves, .count = 1}, still);
    expect(is_near(interval.mean, 100, 1e-9));
    expect(interval.high - interval.low < 12);
}

TEST(nothing_measured_is_zero_and_one_window_knows_nothing)
{
    knee_visit one = {.windows = 1, .seconds = 1, .per_second = {50}};
    expect(knee_throughput(&(knee_point){.size = 1}, still).mean == 0);
    knee_interval interval = knee_throughput(&(knee_point){.visits = &one, .count = 1}, still);
    expect(interval.mean == 50 && interval.low == 0 && interval.high >= 100);
}

TEST(rounds_that_drift_together_leave_their_share_known)
{
    curve_case *self = begin(5);
    self->points[0] = (knee_point){.size = 3, .visits = self->visits[0], .count = VISITS};
    self->points[1] = (knee_point){.size = 4, .visits = self->visits[1], .count = VISITS};
    for (uint32_t v = 0; v < VISITS; v++) {
        double speed = 1000 * (1 - 0.07 * v); /* the machine loses half its speed */
        self->visits[0][v] = visit_made(&self->state, 0.90 * speed, 0.01, 0, 0, 16);
        self->visits[1][v] = visit_made(&self->state, speed, 0.01, 0, 0, 16);
    }
    knee_interval alone = knee_share(&self->points[0], &self->points[1], still);
    for (uint32_t v = 0; v < VISITS; v++) self->visits[0][v].round = self->visits[1][v].round = v + 1;
    knee_interval paired = knee_share(&self->points[0], &self->points[1], still);
    expect(is_near(paired.mean, 0.90, 0.01));
    expect(paired.low > 0.88 && paired.high < 0.92);
    expect(alone.high - alone.low > 5 * (paired.high - paired.low));
    expect(alone.mean == paired.mean);
    free(self);
}

/* Sizes 1 and 2 in turns, a second each; the second does 5 % more, and the machine loses 1 % a second. */
static curve_case *drifting(double drift)
{
    curve_case *self = begin(11);
    for (uint32_t i = 0; i < 2; i++)
        self->points[i] = (knee_point){.size = i + 1, .visits = self->visits[i], .count = VISITS};
    for (uint32_t v = 0; v < VISITS; v++)
        for (uint32_t i = 0; i < 2; i++) {
            double when = 2 * v + 10 * i; /* the second was measured much later */
            self->visits[i][v] =
                visit_made(&self->state, 1000 * (1 + 0.05 * i) * exp(drift * when), 0.01, 0, 0.002, 16);
            self->visits[i][v].when = when;
        }
    self->count = 2;
    return self;
}

TEST(a_drift_that_all_sizes_share_is_taken_out)
{
    curve_case *self = drifting(-0.01);
    knee_weather weather = knee_weather_of(self->points, 2);
    expect(is_near(weather.drift, -0.01, 0.001));
    expect(weather.spread < 0.01);
    expect(is_near(knee_share(&self->points[1], &self->points[0], weather).mean, 1.05, 0.01));
    expect(knee_share(&self->points[1], &self->points[0], still).mean < 0.97);
    expect(is_near(knee_throughput(&self->points[0], weather).mean, 1000 * exp(-0.01 * weather.middle), 10));
    free(self);
}

TEST(noise_is_no_drift)
{
    curve_case *self = drifting(0);
    knee_weather weather = knee_weather_of(self->points, 2);
    expect(fabs(weather.drift) < 0.0005);
    expect(weather.spread > 0 && weather.spread < 0.01);
    free(self);
}

TEST(a_curve_that_rises_to_k_and_stays_there_has_its_knee_at_k)
{
    const uint32_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32};
    int wrong = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        curve_case *self = begin(seed);
        uint32_t knee = sizes[seed % 12];
        for (size_t i = 0; i < 12; i++) add(self, sizes[i], 1000.0 * fmin(sizes[i], knee), 3, 0.02);
        knee_answer answer = knee_find(self->points, self->count, five_percent);
        expect(answer.chosen >= 0);
        wrong += self->points[answer.chosen].size != knee;
        free(self);
    }
    expect_equal(wrong, 0);
}

TEST(a_smooth_curve_is_cut_where_the_margin_says)
{
    int far = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        curve_case *self = begin(seed);
        /* Half of all at 1; 95 % of what 40 yields is reached at 8, where it is 0.967. */
        for (uint32_t size = 1; size <= 40; size = size < 10 ? size + 1 : size + 6)
            add(self, size, 1000.0 * (1 - 1 / (1.0 + size * size / 2.0)), 3, 0.02);
        knee_answer answer = knee_find(self->points, self->count, five_percent);
        uint32_t size = self->points[answer.chosen].size;
        far += size < 6 || size > 7;
        free(self);
    }
    expect(far <= 10);
}

TEST(a_curve_that_falls_beyond_its_knee_keeps_the_knee)
{
    curve_case *self = begin(9);
    const double per_second[] = {400, 750, 1000, 990, 900, 700, 400};
    for (uint32_t i = 0; i < 7; i++) add(self, 1u << i, per_second[i], 3, 0.01);
    knee_answer answer = knee_find(self->points, self->count, five_percent);
    expect_equal(self->points[answer.chosen].size, 4);
    expect(answer.best == 2 || answer.best == 3);
    expect(answer.is_settled);
    free(self);
}

TEST(a_plateau_of_noise_gives_a_small_size_and_says_that_it_is_not_sure)
{
    curve_case *self = begin(3);
    const double per_second[] = {980, 1010, 1040, 1000, 1050};
    for (uint32_t i = 0; i < 5; i++) add(self, 1u << i, per_second[i], 1, 0.25);
    knee_answer answer = knee_find(self->points, self->count, five_percent);
    expect(answer.chosen >= 0);
    expect(!answer.is_settled);
    free(self);
}

TEST(a_doubt_names_the_smaller_size_that_may_do_as_well)
{
    curve_case *self = begin(4);
    add(self, 1, 500, 4, 0.02);
    add(self, 2, 930, 4, 0.01);
    for (uint32_t v = 0; v < 4; v++) /* some of its visits were slow */
        for (uint32_t i = 0; i < 16; i++) self->visits[1][v].per_second[i] += v % 2 ? 50 : -50;
    add(self, 3, 1000, 4, 0.01);
    knee_answer answer = knee_find(self->points, self->count, five_percent);
    expect_equal(self->points[answer.chosen].size, 3);
    expect_equal(answer.doubt, 1);
    expect(!answer.is_settled && answer.is_sure);
    free(self);
}

TEST(a_larger_size_that_may_be_better_is_a_rival)
{
    curve_case *self = begin(4);
    add(self, 1, 1000, 4, 0.01);
    add(self, 2, 950, 2, 0.01);
    for (uint32_t v = 0; v < 2; v++)
        for (uint32_t i = 0; i < 16; i++) self->visits[1][v].per_second[i] += v % 2 ? 300 : -300;
    knee_answer answer = knee_find(self->points, self->count, five_percent);
    expect_equal(answer.chosen, 0);
    expect_equal(answer.rival, 1);
    expect(!answer.is_settled);
    free(self);
}

TEST(a_size_with_many_visits_is_not_the_best_beside_one_that_does_twice_as_much)
{
    curve_case *self = begin(6);
    add(self, 1, 500, 4, 0.01);
    add(self, 2, 1000, 3, 0.01);
    add(self, 3, 1001, 2, 0.01);
    knee_answer answer = knee_find(self->points, self->count, five_percent);
    expect_equal(self->points[answer.chosen].size, 2);
    expect(self->points[answer.best].size >= 2);
    free(self);
}

TEST(one_point_is_the_knee_of_itself)
{
    curve_case *self = begin(6);
    add(self, 1, 100, 2, 0.01);
    knee_answer answer = knee_find(self->points, 1, five_percent);
    expect_equal(answer.chosen, 0);
    expect(answer.share.mean == 1 && answer.is_settled);
    free(self);
}

TEST(points_that_failed_are_never_chosen)
{
    curve_case *self = begin(7);
    add(self, 1, 500, 2, 0.01);
    add(self, 2, 1000, 2, 0.01);
    add(self, 4, 5000, 2, 0.01);
    self->points[2].failed = true;
    knee_answer answer = knee_find(self->points, self->count, five_percent);
    expect_equal(answer.chosen, 1);
    expect_equal(answer.fastest, 1);
    self->points[0].failed = self->points[1].failed = true;
    answer = knee_find(self->points, self->count, five_percent);
    expect_equal(answer.chosen, -1);
    expect_equal(answer.best, -1);
    expect_equal(knee_find(self->points, 0, five_percent).chosen, -1);
    free(self);
}

TEST(a_goal_leaves_out_the_sizes_that_are_too_slow)
{
    curve_case *self = begin(8);
    const double per_second[] = {400, 700, 1000, 1200};
    for (uint32_t i = 0; i < 4; i++) {
        add(self, 1u << i, per_second[i], 3, 0.01);
        self->points[i].latency = 0.010 * (1u << i);
    }
    knee_answer answer = knee_find(self->points, 4, (knee_rule){.margin = 0.05, .goal = 0.025});
    expect_equal(answer.chosen, 1);
    expect_equal(answer.best, 1);
    expect_equal(answer.fastest, 3);
    expect(answer.keeps_goal);
    free(self);
}

TEST(a_goal_that_nobody_keeps_gives_the_size_that_comes_nearest)
{
    curve_case *self = begin(8);
    for (uint32_t i = 0; i < 3; i++) {
        add(self, 1u << i, 100 * (i + 1), 3, 0.01);
        self->points[i].latency = i == 1 ? 0.5 : 1;
    }
    knee_answer answer = knee_find(self->points, 3, (knee_rule){.margin = 0.05, .goal = 0.1});
    expect(!answer.keeps_goal && !answer.is_settled);
    expect_equal(answer.chosen, 1);
    expect_equal(answer.best, 2);
    free(self);
}
