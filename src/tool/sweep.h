/* SPDX-License-Identifier: MIT */
/*
 * A sweep: decides which size to measure next and for how long, until the knee is known or the time is up.
 *
 *     sweep *sweep = sweep_new(rule, max, time_limit);
 *     sweep_step step;
 *     while (sweep_next(sweep, elapsed(), &step)) {
 *         sweep_outcome outcome = ... measure step.size for step.seconds ...;
 *         sweep_note(sweep, elapsed(), &outcome);
 *     }
 *     knee_answer answer = sweep_answer(sweep);
 *
 * It measures nothing and reads no clock, so a test can simulate the server and the time.
 *
 * It first climbs: 1, 2, 4... until two steps in a row gained nothing, a size failed, or max is reached. Then it
 * bisects between the smallest size that seems to be enough and the next smaller one measured, and looks next to the
 * best size if the throughput falls there. Then it checks: rounds of the candidate, its neighbours and the best,
 * forwards and backwards, so that slow changes affect all of them alike, until the intervals separate.
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
    SWEEP_TIME,    /* the time limit came first */
    SWEEP_FAILED,  /* even one object failed, or later failures were too many */
    SWEEP_FULL,    /* out of memory, or too many visits */
} sweep_end;

typedef struct sweep_step {
    uint32_t size;
    double seconds;
    uint32_t windows; /* the number of windows to cut it into */
    uint32_t round;
    sweep_phase phase;
} sweep_step;

typedef struct sweep_outcome {
    bool failed;         /* the measurement or operations failed */
    uint64_t operations; /* successful ones */
    uint32_t windows;
    double seconds;
    double per_second[KNEE_WINDOWS];
    double latency; /* over all visits to this size: as in knee_point */
} sweep_outcome;

typedef struct sweep sweep;

/* Create a sweep. max: at least 1. time_limit: seconds. NULL: out of memory. */
sweep *sweep_new(knee_rule rule, uint32_t max, double time_limit);
void sweep_free(sweep *self);

/* Get the next step. Returns false at the end. `elapsed`: seconds since the start. */
bool sweep_next(sweep *self, double elapsed, sweep_step *out);

/* Report the result of the last step. Returns true if it counts. Returns false if it is dropped: it was too short to
 * tell anything, failed at a size that had worked, or had no operations. */
bool sweep_note(sweep *self, double elapsed, const sweep_outcome *outcome);

/* Return the points so far, sorted by size, valid until the next note. */
const knee_point *sweep_points(const sweep *self, uint32_t *count);
knee_answer sweep_answer(const sweep *self);
sweep_end sweep_ended(const sweep *self);
uint32_t sweep_visits(const sweep *self);
uint32_t sweep_rounds(const sweep *self); /* rounds of checks begun */

#endif
