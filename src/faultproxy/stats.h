/* SPDX-License-Identifier: MIT */
/* The proxy's counters. Tests rely on their names. */
#ifndef FAULTPROXY_STATS_H
#define FAULTPROXY_STATS_H

#include <stddef.h>
#include <stdint.h>

/* The largest number of accepts per second that is counted. */
enum { FP_RECENT = 65536 };

typedef struct fp_stats {
    uint64_t seed;
    uint64_t accepted, open, most_open;
    uint64_t peak_per_second; /* the most accepts within any second */
    uint64_t connected, failed_connects;
    uint64_t to_server, to_client; /* bytes forwarded */
    uint64_t swallowed;            /* bytes dropped */
    uint64_t resets;               /* made by the proxy; forwarded resets do not count */
    uint64_t first, recent;        /* range of accepts whose times are in the ring */
    uint64_t moments[FP_RECENT];
} fp_stats;

void fp_stats_accepted(fp_stats *stats, uint64_t now);
void fp_stats_left(fp_stats *stats);

/* Reset all counters to 0, except the number of open connections. */
void fp_stats_forget(fp_stats *stats);

/* Write "accepted=3 open=1 ...". Refused connects are not counted: the kernel refuses them, and the proxy does not see
 * them. */
void fp_stats_text(const fp_stats *stats, char *out, size_t size);

#endif
