/* SPDX-License-Identifier: MIT */
/* A sweep against servers that are formulas, on a clock that is a number. */
#include "tool/sweep.h"

#include <math.h>
#include <stdlib.h>

#include "support/test.h"
#include "tool/noise.h"

typedef struct play {
    double (*curve)(const struct play *self, uint32_t size);
    uint32_t knee, breaks_at;
    double noise, drift; /* shares; drift: of the speed that is lost in a minute */
    double unit;         /* operations a second of one object */
    double overhead;     /* seconds a visit */
    uint64_t state;
    double now;
    uint32_t visits, largest, spoil; /* spoil: so many visits of the check fail */
    uint32_t still_at, still;        /* at that size nothing ends in so many visits */
} play;

static double rises_to_knee(const play *self, uint32_t size)
{
    return self->unit * fmin(size, self->knee);
}

static double falls_beyond(const play *self, uint32_t size)
{
    double rise = fmin(size, self->knee), over = size > self->knee ? size - self->knee : 0;
    return self->unit * rise / (1 + 0.05 * over);
}

static sweep_outcome visit(play *self, const sweep_step *step)
{
    sweep_outcome outcome = {.seconds = step->seconds, .windows = step->windows};
    bool is_spoiled = step->phase == SWEEP_CHECK && self->spoil > 0;
    if (is_spoiled) self->spoil--;
    outcome.failed = is_spoiled || (self->breaks_at && step->size >= self->breaks_at);
    double speed = self->curve(self, step->size) * (1 - self->drift * self->now / 60) *
                   (1 + self->noise / 3 * noise_normal(&self->state));
    for (uint32_t i = 0; i < step->windows; i++)
        outcome.per_second[i] = fmax(speed * (1 + self->noise * noise_normal(&self->state)), 0);
    outcome.operations = (uint64_t)(speed * step->seconds);
    outcome.latency = step->size * 0.001;
    if (step->size == self->still_at && self->still > 0) {
        self->still--;
        outcome.operations = 0;
        memset(outcome.per_second, 0, sizeof outcome.per_second);
    }
    self->now += step->seconds + self->overhead;
    self->visits++;
    if (step->size > self->largest) self->largest = step->size;
    return outcome;
}

static sweep *played(play *self, knee_rule rule, uint32_t max, double time_limit)
{
    sweep *one = sweep_new(rule, max, time_limit);
    expect(one != NULL);
    sweep_step step;
    while (sweep_next(one, self->now, &step)) {
        expect(step.size >= 1 && step.size <= max);
        expect(step.windows >= 1 && step.windows <= KNEE_WINDOWS);
        expect(step.seconds > 0);
        sweep_outcome outcome = visit(self, &step);
        sweep_note(one, self->now, &outcome);
        expect(self->visits < 1000);
    }
    return one;
}

static uint32_t chosen_size(const sweep *one)
{
    uint32_t count;
    const knee_point *points = sweep_points(one, &count);
    knee_answer answer = sweep_answer(one);
    return answer.chosen < 0 ? 0 : points[answer.chosen].size;
}

static const knee_rule five_percent = {.margin = 0.05};

TEST(a_sweep_finds_every_knee_from_1_to_40_in_its_time)
{
    for (uint32_t knee = 1; knee <= 40; knee++) {
        play one = {.curve = rises_to_knee, .knee = knee, .noise = 0.01, .unit = 1000, .overhead = 0.05, .state = knee};
        sweep *result = played(&one, five_percent, 64, 30);
        uint32_t size = chosen_size(result);
        /* 38 of 40 are within the margin: then the next smaller ones are right, too. */
        expect(size <= knee && size >= 0.95 * knee - 1);
        expect(knee > 18 || size == knee);
        expect(one.now <= 30);
        sweep_free(result);
    }
}

TEST(a_sweep_looks_little_beyond_the_knee)
{
    play one = {.curve = rises_to_knee, .knee = 3, .noise = 0.01, .unit = 1000, .overhead = 0.05, .state = 1};
    sweep *result = played(&one, five_percent, 1000, 30);
    expect_equal(chosen_size(result), 3);
    expect_equal(one.largest, 16);
    expect_equal(sweep_ended(result), SWEEP_SETTLED);
    sweep_free(result);
}

TEST(a_curve_that_falls_beyond_its_knee_is_swept_as_well)
{
    int wrong = 0;
    for (uint32_t knee = 1; knee <= 12; knee++) {
        play one = {.curve = falls_beyond, .knee = knee, .noise = 0.01, .unit = 1000, .overhead = 0.05, .state = knee};
        sweep *result = played(&one, five_percent, 64, 30);
        wrong += chosen_size(result) != knee;
        sweep_free(result);
    }
    expect_equal(wrong, 0);
}

TEST(a_machine_that_becomes_slower_does_not_move_the_knee)
{
    int wrong = 0;
    for (uint32_t knee = 2; knee <= 12; knee++) {
        play one = {.curve = rises_to_knee,
                    .knee = knee,
                    .noise = 0.01,
                    .drift = 0.4,
                    .unit = 1000,
                    .overhead = 0.05,
                    .state = knee};
        sweep *result = played(&one, five_percent, 64, 30);
        wrong += chosen_size(result) != knee;
        sweep_free(result);
    }
    expect_equal(wrong, 0);
}

TEST(noise_of_a_tenth_moves_the_knee_by_little)
{
    int far = 0;
    for (uint32_t seed = 1; seed <= 40; seed++) {
        play one = {.curve = rises_to_knee, .knee = 6, .noise = 0.10, .unit = 1000, .overhead = 0.05, .state = seed};
        sweep *result = played(&one, five_percent, 64, 30);
        uint32_t size = chosen_size(result);
        far += size < 5 || size > 8;
        expect(one.now <= 30);
        sweep_free(result);
    }
    expect(far <= 2);
}

TEST(a_size_that_fails_ends_the_climb_and_what_works_below_it_is_used)
{
    play one = {.curve = rises_to_knee,
                .knee = 100,
                .breaks_at = 7,
                .noise = 0.005,
                .unit = 1000,
                .overhead = 0.05,
                .state = 2};
    sweep *result = played(&one, five_percent, 64, 30);
    expect_equal(one.largest, 8);
    expect_equal(chosen_size(result), 6);
    uint32_t count;
    const knee_point *points = sweep_points(result, &count);
    expect(points[count - 1].failed);
    sweep_free(result);
}

TEST(a_server_that_never_works_ends_the_sweep_at_once)
{
    play one = {.curve = rises_to_knee, .knee = 4, .breaks_at = 1, .unit = 1000};
    sweep *result = played(&one, five_percent, 64, 30);
    expect_equal(one.visits, 1);
    expect_equal(sweep_ended(result), SWEEP_FAILED);
    expect_equal(chosen_size(result), 0);
    sweep_free(result);
}

TEST(one_failure_during_the_check_is_left_out_and_three_end_it)
{
    play one = {
        .curve = rises_to_knee, .knee = 4, .noise = 0.01, .unit = 1000, .overhead = 0.05, .state = 3, .spoil = 1};
    sweep *result = played(&one, five_percent, 64, 30);
    expect_equal(chosen_size(result), 4);
    expect_equal(sweep_ended(result), SWEEP_SETTLED);
    sweep_free(result);
    play other = {
        .curve = rises_to_knee, .knee = 4, .noise = 0.01, .unit = 1000, .overhead = 0.05, .state = 3, .spoil = 100};
    result = played(&other, five_percent, 64, 30);
    expect_equal(sweep_ended(result), SWEEP_FAILED);
    expect_equal(chosen_size(result), 4);
    sweep_free(result);
}

TEST(a_visit_in_which_nothing_ends_is_made_again_and_three_in_a_row_end_it)
{
    play one = {.curve = rises_to_knee,
                .knee = 4,
                .noise = 0.01,
                .unit = 1000,
                .overhead = 0.05,
                .state = 3,
                .still_at = 4,
                .still = 2};
    sweep *result = played(&one, five_percent, 64, 30);
    expect_equal(chosen_size(result), 4);
    sweep_free(result);
    one = (play){.curve = rises_to_knee,
                 .knee = 9,
                 .noise = 0.01,
                 .unit = 1000,
                 .overhead = 0.05,
                 .state = 3,
                 .still_at = 8,
                 .still = 99};
    result = played(&one, five_percent, 64, 30);
    expect_equal(sweep_ended(result), SWEEP_FAILED);
    expect_equal(chosen_size(result), 4);
    sweep_free(result);
}

TEST(slow_operations_make_visits_longer_but_never_the_sweep)
{
    play one = {.curve = rises_to_knee, .knee = 3, .unit = 4, .noise = 0.02, .overhead = 0.05, .state = 5};
    sweep *result = played(&one, five_percent, 64, 30);
    uint32_t count;
    const knee_point *points = sweep_points(result, &count);
    expect(points[0].visits[0].seconds > 1.5);
    expect(one.now <= 30);
    sweep_free(result);
}

/* Twenty a second of one object, as of a server that keeps a worker for 50 ms. */
static play slow_workers(uint32_t workers, uint64_t seed)
{
    return (play){.curve = rises_to_knee, .knee = workers, .unit = 20, .noise = 0.03, .overhead = 0.4, .state = seed};
}

TEST(of_slow_workers_as_many_objects_are_recommended_and_never_fewer)
{
    uint32_t more = 0;
    for (uint32_t workers = 2; workers <= 8; workers++)
        for (uint64_t seed = 1; seed <= 100; seed++) {
            play one = slow_workers(workers, seed);
            sweep *result = played(&one, five_percent, 64, 30);
            expect(chosen_size(result) >= workers);
            more += chosen_size(result) > workers;
            sweep_free(result);
        }
    expect(more <= 7); /* of 700 */
}

TEST(where_several_objects_do_more_than_one_visits_are_shorter)
{
    play one = slow_workers(8, 1);
    sweep *result = played(&one, five_percent, 64, 30);
    uint32_t count;
    const knee_point *points = sweep_points(result, &count);
    expect_equal(points[1].size, 2);
    double slow = points[1].visits[0].seconds; /* when only one object had been seen, with fewer than were wanted */
    expect(slow > 1.5);
    for (uint32_t i = 0; i < count; i++)
        if (points[i].size >= 4 && points[i].size <= 16)
            expect(points[i].visits[points[i].count - 1].seconds < slow / 1.5);
    expect(one.now <= 30);
    sweep_free(result);
}

TEST(operations_that_never_end_are_no_knee)
{
    play one = {.curve = rises_to_knee, .knee = 3, .unit = 0, .overhead = 0.05};
    sweep *result = played(&one, five_percent, 64, 10);
    expect_equal(chosen_size(result), 0);
    expect(one.now <= 10);
    sweep_free(result);
}

TEST(a_time_that_is_too_small_gives_what_there_is)
{
    play one = {.curve = rises_to_knee, .knee = 20, .noise = 0.01, .unit = 1000, .overhead = 0.2, .state = 5};
    sweep *result = played(&one, five_percent, 64, 1);
    expect_equal(sweep_ended(result), SWEEP_TIME);
    expect(chosen_size(result) >= 1);
    expect(one.now <= 1.5);
    sweep_free(result);
}

TEST(a_limit_of_one_measures_one)
{
    play one = {.curve = rises_to_knee, .knee = 20, .noise = 0.01, .unit = 1000, .overhead = 0.05, .state = 5};
    sweep *result = played(&one, five_percent, 1, 30);
    expect_equal(chosen_size(result), 1);
    expect_equal(one.largest, 1);
    expect_equal(sweep_ended(result), SWEEP_SETTLED);
    sweep_free(result);
}

TEST(a_goal_stops_at_the_size_that_keeps_it)
{
    play one = {.curve = rises_to_knee, .knee = 30, .noise = 0.005, .unit = 1000, .overhead = 0.05, .state = 5};
    sweep *result = played(&one, (knee_rule){.margin = 0.05, .goal = 0.0065}, 64, 60);
    expect_equal(chosen_size(result), 6); /* a millisecond for each object */
    sweep_free(result);
}
