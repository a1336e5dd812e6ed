/* SPDX-License-Identifier: MIT */
/* What the proxy counts. Tests rely on the names. */
#ifndef FAULTPROXY_STATS_H
#define FAULTPROXY_STATS_H

#include <stddef.h>
#include <stdint.h>

/* More accepts in one second than that are counted as so many. */
enum { FP_RECENT = 65536 };

typedef struct fp_stats {
    uint64_t seed;
    uint64_t accepted, open, most_open;
    uint64_t peak_per_second; /* the most accepts within any second */
    uint64_t connected, failed_connects;
    uint64_t to_server, to_client; /* bytes passed on */
    uint64_t swallowed;            /* bytes that were not */
    uint64_t resets;               /* that the proxy made, without those it passed on */
    uint64_t first, recent;        /* accepts whose moments are in the ring: first.. */
    uint64_t moments[FP_RECENT];
} fp_stats;

void fp_stats_accepted(fp_stats *stats, uint64_t now);
void fp_stats_left(fp_stats *stats);

/* Begins anew: all are 0, but for what is open. */
void fp_stats_forget(fp_stats *stats);

/* "accepted=3 open=1 ..." Refused connects are the system's doing, and are not among them: it answers for a port that
 * nobody listens on, and tells nobody. */
void fp_stats_text(const fp_stats *stats, char *out, size_t size);

#endif
