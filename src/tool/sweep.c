/* SPDX-License-Identifier: MIT */
#include "tool/sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    VISITS_IN_TIME = 32,    /* roughly the number of visits in a sweep */
    LONGEST_IN_TIME = 12,   /* a visit takes at most this fraction of the time limit */
    OPERATIONS_WANTED = 40, /* per visit; fewer tell little, ... */
    OPERATIONS_LEAST = 8,   /* ... and fewer than these nothing */
    /* per object: how much longer a visit is than one operation; tune_measure.c needs that */
    OPERATIONS_EACH = 9,
    WINDOWS_LEAST = 5,
    PEAKS_MOST = 3,
    BISECTS_MOST = 10, /* noise can be bisected endlessly; the rounds of checks need their time */
    SPOILED_MOST = 3,
    NEIGHBOUR_ROUNDS = 2, /* rounds that include the next larger size */
    QUEUE_MOST = 6,
};

struct sweep {
    /* Constant, except max: a size that fails lowers it. */
    knee_rule rule;
    uint32_t max;
    double time_limit;

    knee_point points[SWEEP_SIZES_MOST];
    uint32_t rooms[SWEEP_SIZES_MOST]; /* capacities of the points' visits */
    uint32_t count, visits;

    sweep_phase phase;
    sweep_end end;
    bool is_high; /* the climb is over */
    uint32_t peaks, bisects, spoiled;
    uint32_t round, queue[QUEUE_MOST], queued, at;

    sweep_step step; /* the last step returned, ... */
    double began;    /* ... and its start */
    /* length of a visit: at least; at most, because operations at the first size are slow */
    double usual_seconds, visit_seconds;
    double rate, overhead;
};

sweep *sweep_new(knee_rule rule, uint32_t max, double time_limit)
{
    sweep *self = calloc(1, sizeof *self);
    if (!self) return NULL;
    self->rule = rule;
    self->max = max ? max : 1;
    self->time_limit = time_limit;
    self->usual_seconds = self->visit_seconds = fmin(fmax(time_limit / VISITS_IN_TIME, 0.15), 3);
    return self;
}

void sweep_free(sweep *self)
{
    if (!self) return;
    for (uint32_t i = 0; i < self->count; i++) free(self->points[i].visits);
    free(self);
}

const knee_point *sweep_points(const sweep *self, uint32_t *count)
{
    *count = self->count;
    return self->points;
}

knee_answer sweep_answer(const sweep *self)
{
    return knee_find(self->points, self->count, self->rule);
}

sweep_end sweep_ended(const sweep *self)
{
    return self->end;
}

uint32_t sweep_visits(const sweep *self)
{
    return self->visits;
}

uint32_t sweep_rounds(const sweep *self)
{
    return self->round;
}

/* ---- Points ------------------------------------------------------------------------------------------ */

static knee_point *point_of(sweep *self, uint32_t size)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (self->points[i].size == size) return &self->points[i];
    return NULL;
}

static knee_point *point_made(sweep *self, uint32_t size)
{
    knee_point *found = point_of(self, size);
    if (found || self->count == SWEEP_SIZES_MOST) return found;
    uint32_t at = self->count;
    while (at > 0 && self->points[at - 1].size > size) {
        self->points[at] = self->points[at - 1];
        self->rooms[at] = self->rooms[at - 1];
        at--;
    }
    self->points[at] = (knee_point){.size = size};
    self->rooms[at] = 0;
    self->count++;
    return &self->points[at];
}

static knee_visit *visit_added(sweep *self, knee_point *point)
{
    uint32_t *room = &self->rooms[point - self->points];
    if (point->count == *room) {
        uint32_t wanted = *room ? *room * 2 : 4;
        knee_visit *larger = realloc(point->visits, wanted * sizeof *larger);
        if (!larger) return NULL;
        point->visits = larger;
        *room = wanted;
    }
    return &point->visits[point->count++];
}

static double mean_at(const sweep *self, uint32_t place)
{
    return knee_throughput(&self->points[place], knee_weather_of(self->points, self->count)).mean;
}

/* ---- The next step ----------------------------------------------------------------------------------- */

/* Neither of the last two sizes gained more than half the margin. During the climb nothing else has been measured. */
static bool is_flat(const sweep *self)
{
    if (self->count < 3) return false;
    double before = 0;
    for (uint32_t i = 0; i + 2 < self->count; i++) before = fmax(before, mean_at(self, i));
    double since = fmax(mean_at(self, self->count - 1), mean_at(self, self->count - 2));
    return since <= before * (1 + self->rule.margin / 2);
}

static uint32_t climb(sweep *self)
{
    if (self->is_high) return 0;
    if (self->count == 0) return 1;
    const knee_point *last = &self->points[self->count - 1];
    if (last->failed || last->size >= self->max || is_flat(self)) {
        self->is_high = true;
        return 0;
    }
    return last->size * 2 < self->max ? last->size * 2 : self->max;
}

/* The smallest distance between two sizes worth telling apart. */
static uint32_t least_step(const sweep *self, uint32_t size)
{
    double step = floor(size * self->rule.margin);
    return step > 1 ? (uint32_t)step : 1;
}

static uint32_t between(const sweep *self, uint32_t below, uint32_t above)
{
    return above - below > least_step(self, above) ? below + (above - below) / 2 : 0;
}

static uint32_t below_place(const sweep *self, int place)
{
    return between(self, place > 0 ? self->points[place - 1].size : 0, self->points[place].size);
}

/* Bisect below the smallest size that may be enough, then below the candidate, unless the next smaller size has been
 * measured; then between the best that meets the goal and the next that does not. The checks reveal a size that is too
 * small. A size that is wrongly left out, after one bad visit, would never be measured again, so sizes that may be
 * enough come first. */
static uint32_t bisect(sweep *self)
{
    knee_answer answer = sweep_answer(self);
    if (answer.chosen < 0 || !answer.keeps_goal || self->bisects == BISECTS_MOST) return 0;
    uint32_t size = below_place(self, answer.hope);
    if (!size) size = below_place(self, answer.chosen);
    uint32_t next = (uint32_t)answer.best + 1;
    bool is_beyond = self->rule.goal > 0 && next < self->count && !self->points[next].failed &&
                     self->points[next].latency > self->rule.goal;
    if (!size && is_beyond) size = between(self, self->points[answer.best].size, self->points[next].size);
    if (size) self->bisects++;
    return size;
}

/* Next to the best size the curve falls within one step: the true best may lie in between. */
static uint32_t peak(sweep *self)
{
    knee_answer answer = sweep_answer(self);
    if (answer.best < 0 || self->peaks == PEAKS_MOST) return 0;
    uint32_t at = (uint32_t)answer.best, size = self->points[at].size, found = 0;
    double low = mean_at(self, at) * (1 - self->rule.margin);
    if (at + 1 < self->count && self->points[at + 1].size - size > 1 &&
        (self->points[at + 1].failed || mean_at(self, at + 1) < low))
        found = size + (self->points[at + 1].size - size) / 2;
    else if (at > 0 && size - self->points[at - 1].size > 1 && mean_at(self, at - 1) < low)
        found = size - (size - self->points[at - 1].size) / 2;
    if (found > self->max) found = 0;
    if (found) self->peaks++;
    return found;
}

static void queue_size(sweep *self, uint32_t size)
{
    if (size == 0 || size > self->max || self->queued == QUEUE_MOST) return;
    const knee_point *point = point_of(self, size);
    if (point && point->failed) return;
    for (uint32_t i = 0; i < self->queued; i++)
        if (self->queue[i] == size) return;
    self->queue[self->queued++] = size;
}

static void begin_round(sweep *self)
{
    knee_answer answer = sweep_answer(self);
    self->round++;
    self->queued = self->at = 0;
    if (answer.chosen < 0) return;
    uint32_t chosen = self->points[answer.chosen].size;
    queue_size(self, answer.chosen > 0 ? self->points[answer.chosen - 1].size : 0);
    queue_size(self, chosen);
    if (self->round <= NEIGHBOUR_ROUNDS) queue_size(self, chosen + least_step(self, chosen));
    queue_size(self, self->points[answer.best].size);
    if (answer.rival >= 0) queue_size(self, self->points[answer.rival].size);
    if (answer.doubt >= 0) queue_size(self, self->points[answer.doubt].size);
    if (self->round % 2) return;
    for (uint32_t i = 0; i < self->queued / 2; i++) {
        uint32_t other = self->queue[i];
        self->queue[i] = self->queue[self->queued - 1 - i];
        self->queue[self->queued - 1 - i] = other;
    }
}

static bool is_checked(const sweep *self, int place)
{
    if (place < 0 || self->points[place].failed) return true;
    uint32_t rounds = 0;
    for (uint32_t v = 0; v < self->points[place].count; v++) rounds += self->points[place].visits[v].round > 0;
    return rounds >= KNEE_PAIRED_LEAST;
}

static uint32_t check(sweep *self)
{
    if (self->at < self->queued) return self->queue[self->at++];
    knee_answer answer = sweep_answer(self);
    uint32_t size = bisect(self); /* the candidate may have changed */
    if (size) return size;
    bool is_checked_all =
        is_checked(self, answer.chosen) && is_checked(self, answer.chosen - 1) && is_checked(self, answer.best);
    if (is_checked_all && (answer.is_settled || !answer.keeps_goal)) return 0;
    begin_round(self);
    return self->at < self->queued ? self->queue[self->at++] : 0;
}

static uint32_t choose(sweep *self)
{
    uint32_t size = 0;
    if (self->phase == SWEEP_CLIMB && !(size = climb(self))) self->phase = SWEEP_BISECT;
    if (self->phase == SWEEP_BISECT && !(size = bisect(self)) && !(size = peak(self))) self->phase = SWEEP_CHECK;
    if (self->phase == SWEEP_CHECK) size = check(self);
    return size;
}

/* Return the length of the next visit to a size. If one object is slow, several objects complete more operations in the
 * same time. A shorter visit then tells as much, and more visits, in turns, tell more. Unknown values are taken from
 * the next smaller size. */
static double seconds_for(const sweep *self, uint32_t size)
{
    double rate = 0;
    for (uint32_t i = 0; i < self->count && self->points[i].size <= size; i++)
        if (!self->points[i].failed) rate = mean_at(self, i);
    if (rate <= 0) return self->visit_seconds;
    double wanted = fmax(OPERATIONS_WANTED, (double)OPERATIONS_EACH * size) / rate;
    return fmin(fmax(wanted, self->usual_seconds), self->visit_seconds);
}

/* Choose windows that contain several operations each. */
static uint32_t windows_for(const sweep *self, double seconds)
{
    double windows = self->rate > 0 ? self->rate * seconds / 4 : KNEE_WINDOWS;
    return (uint32_t)fmin(fmax(windows, WINDOWS_LEAST), KNEE_WINDOWS);
}

bool sweep_next(sweep *self, double elapsed, sweep_step *out)
{
    if (self->end != SWEEP_GOES_ON) return false;
    bool was_measured = self->visits > 0;
    if (was_measured && elapsed + self->visit_seconds + self->overhead > self->time_limit) {
        self->end = sweep_answer(self).is_settled && self->phase == SWEEP_CHECK ? SWEEP_SETTLED : SWEEP_TIME;
        return false;
    }
    uint32_t size = choose(self);
    if (size == 0) {
        self->end = sweep_answer(self).chosen < 0 ? SWEEP_FAILED : SWEEP_SETTLED;
        return false;
    }
    double seconds = seconds_for(self, size);
    bool is_of_round = self->phase == SWEEP_CHECK && self->at > 0 && self->queue[self->at - 1] == size;
    self->step = (sweep_step){.size = size,
                              .seconds = seconds,
                              .phase = self->phase,
                              .windows = windows_for(self, seconds),
                              .round = is_of_round ? self->round : 0};
    self->began = elapsed;
    *out = self->step;
    return true;
}

/* ---- The result of a step ---------------------------------------------------------------------------- */

/* A size that worked before is not given up after one failure, which may have another cause. */
static bool note_failure(sweep *self)
{
    knee_point *point = point_of(self, self->step.size);
    if (point && point->count > 0) {
        if (++self->spoiled >= SPOILED_MOST) self->end = SWEEP_FAILED;
        return false;
    }
    point = point_made(self, self->step.size);
    if (!point) {
        self->end = SWEEP_FULL;
        return false;
    }
    point->failed = true;
    /* If a larger size has worked, the size is not the cause: only this one is left out. */
    if (point == &self->points[self->count - 1]) self->max = self->step.size - 1;
    if (self->max == 0) self->end = SWEEP_FAILED;
    return true;
}

/* Slow operations need longer visits. The first visit shows how long. */
static bool is_too_short(sweep *self, const sweep_outcome *outcome)
{
    if (self->visits > 1 || outcome->operations >= OPERATIONS_WANTED) return false;
    double longest = fmax(self->time_limit / LONGEST_IN_TIME, self->visit_seconds);
    double factor = outcome->operations ? (double)OPERATIONS_WANTED / (double)outcome->operations : OPERATIONS_WANTED;
    double wanted = fmin(self->visit_seconds * factor, longest);
    bool is_longer = wanted > self->visit_seconds * 1.1;
    self->visit_seconds = wanted;
    return is_longer && outcome->operations < OPERATIONS_LEAST;
}

bool sweep_note(sweep *self, double elapsed, const sweep_outcome *outcome)
{
    double extra = fmax(elapsed - self->began - self->step.seconds, 0);
    self->overhead = self->visits ? (self->overhead * 3 + extra) / 4 : extra;
    self->visits++;
    if (outcome->failed) return note_failure(self);
    if (outcome->operations == 0 &&
        /* other visits had operations: the machine or the server stood still */
        self->rate > 0) {
        if (++self->spoiled >= SPOILED_MOST) self->end = SWEEP_FAILED;
        return false;
    }
    if (self->rate <= 0 && outcome->seconds > 0) self->rate = (double)outcome->operations / outcome->seconds;
    if (is_too_short(self, outcome)) return false;
    knee_point *point = point_made(self, self->step.size);
    knee_visit *visit = point && self->visits <= SWEEP_VISITS_MOST ? visit_added(self, point) : NULL;
    if (!visit) {
        self->end = SWEEP_FULL;
        return false;
    }
    *visit = (knee_visit){.round = self->step.round,
                          .windows = outcome->windows,
                          .seconds = outcome->seconds,
                          .when = elapsed - outcome->seconds / 2};
    if (visit->windows > KNEE_WINDOWS) visit->windows = KNEE_WINDOWS;
    memcpy(visit->per_second, outcome->per_second, visit->windows * sizeof visit->per_second[0]);
    point->latency = outcome->latency;
    self->spoiled = 0;
    return true;
}
