/* SPDX-License-Identifier: MIT */
/* The faults that a connection has: a copy of the proxy's when it came, changed by commands that mean all. */
#ifndef FAULTPROXY_FAULTS_H
#define FAULTPROXY_FAULTS_H

#include "faultproxy/command.h"

#define FP_NEVER UINT64_MAX

/* Moments are nanoseconds of uv_hrtime. */
enum { FP_MS = 1000000 };

typedef enum fp_hole { FP_NO_HOLE, FP_SWALLOW, FP_HOLD } fp_hole;

/* Of one way of a connection. 0: there is no such fault. */
typedef struct fp_way {
    uint64_t delay, jitter; /* ns */
    uint64_t rate;          /* bytes per second */
    uint64_t slice;         /* bytes */
    uint64_t pause;         /* ns, between slices */
    fp_hole hole;
} fp_way;

/* Ways and sides of a connection have the same numbers: way w is from side w to the other. */
enum { FP_CLIENT = 0, FP_SERVER = 1, FP_SIDES = 2 };

typedef struct fp_faults {
    fp_way way[FP_SIDES];
    uint64_t close_slowly; /* ns */
    /* of connections to come */
    uint64_t reset_share; /* percent */
    uint64_t reset_after; /* bytes */
} fp_faults;

/* Changes what the command speaks of, if that is a connection's. */
void fp_faults_apply(fp_faults *faults, const fp_command *command);

/* The next number of *state. The same seed brings the same numbers. */
uint64_t fp_random(uint64_t *state);

#endif
