/* SPDX-License-Identifier: MIT */
/*
 * A sweep: which size is to be measured next, for how long, until the knee is known or the time is over.
 *
 *     sweep *sweep = sweep_new(rule, max, time_limit);
 *     sweep_step step;
 *     while (sweep_next(sweep, elapsed(), &step)) {
 *         sweep_outcome outcome = ... measure step.size for step.seconds ...;
 *         sweep_note(sweep, elapsed(), &outcome);
 *     }
 *     knee_answer answer = sweep_answer(sweep);
 *
 * It measures nothing and reads no clock: a test can play the server and the time.
 *
 * First it climbs: 1, 2, 4... until twice in a row more did not help, or something failed, or max is reached. Then it
 * bisects between the smallest size that seems to be enough and the next smaller one that was measured, and looks beside the best
 * one if the throughput falls there. Then it checks: rounds of the candidate, its neighbours and the best, forwards and
 * backwards, so that what changes slowly changes all of them, until the intervals separate.
 */
#ifndef CENOTE_TOOL_SWEEP_H
#define CENOTE_TOOL_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/knee.h"

enum { SWEEP_SIZES_MOST = 96, SWEEP_VISITS_MOST = 4096 };

typedef enum sweep_phase { SWEEP_CLIMB, SWEEP_BISECT, SWEEP_CHECK } sweep_phase;

typedef enum sweep_end {
    SWEEP_GOES_ON,
    SWEEP_SETTLED, /* the intervals separate */
    SWEEP_TIME,    /* the time was over first */
    SWEEP_FAILED,  /* not even one object worked, or it went wrong again and again later on */
    SWEEP_FULL,    /* no memory, or too many visits */
} sweep_end;

typedef struct sweep_step {
    uint32_t size;
    double seconds;
    uint32_t windows; /* to cut it into */
    uint32_t round;
    sweep_phase phase;
} sweep_step;

typedef struct sweep_outcome {
    bool failed;         /* it could not be measured, or operations failed */
    uint64_t operations; /* that ended well */
    uint32_t windows;
    double seconds;
    double per_second[KNEE_WINDOWS];
    double latency; /* of all visits of this size: as in knee_point */
} sweep_outcome;

typedef struct sweep sweep;

/* NULL: no memory. max: at least 1. The time_limit is in seconds. */
sweep *sweep_new(knee_rule rule, uint32_t max, double time_limit);
void sweep_free(sweep *self);

/* False: it is over. `elapsed` are seconds since the beginning. */
bool sweep_next(sweep *self, double elapsed, sweep_step *out);

/* What came of the step that sweep_next gave last. True if the outcome counts; false if it is dropped: it was too short to say
 * anything, or it failed where others had not, or nothing ended in it. */
bool sweep_note(sweep *self, double elapsed, const sweep_outcome *outcome);

/* The points so far, sorted by size, valid until the next note. */
const knee_point *sweep_points(const sweep *self, uint32_t *count);
knee_answer sweep_answer(const sweep *self);
sweep_end sweep_ended(const sweep *self);
uint32_t sweep_visits(const sweep *self);
uint32_t sweep_rounds(const sweep *self); /* of checks, begun */

#endif
