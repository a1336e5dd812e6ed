/* SPDX-License-Identifier: MIT */
/* The faults of a connection: a copy of the proxy's at the accept, changed by commands that apply to all
 * connections. */
#ifndef FAULTPROXY_FAULTS_H
#define FAULTPROXY_FAULTS_H

#include "faultproxy/command.h"

#define FP_NEVER UINT64_MAX

/* Moments are nanoseconds of uv_hrtime. */
enum { FP_MS = 1000000 };

typedef enum fp_hole { FP_NO_HOLE, FP_SWALLOW, FP_HOLD } fp_hole;

/* Faults of one direction of a connection. 0: no such fault. */
typedef struct fp_way {
    uint64_t delay, jitter; /* ns */
    uint64_t rate;          /* bytes per second */
    uint64_t slice;         /* bytes */
    uint64_t pause;         /* ns, between slices */
    fp_hole hole;
} fp_way;

/* Directions and sides of a connection have the same numbers: direction w goes from side w to the other. */
enum { FP_CLIENT = 0, FP_SERVER = 1, FP_SIDES = 2 };

typedef struct fp_faults {
    fp_way way[FP_SIDES];
    uint64_t close_slowly; /* ns */
    /* for new connections */
    uint64_t reset_share; /* percent */
    uint64_t reset_after; /* bytes */
} fp_faults;

/* Apply a command that is about connections; ignore others. */
void fp_faults_apply(fp_faults *faults, const fp_command *command);

/* Return the next number of *state. The same seed gives the same sequence. */
uint64_t fp_random(uint64_t *state);

#endif
