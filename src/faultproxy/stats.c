/* SPDX-License-Identifier: MIT */
#include "faultproxy/stats.h"

#include <inttypes.h>
#include <stdio.h>

static const uint64_t second = 1000000000;

/* The ring keeps the accepts of the last second. The peak is the largest number ever in it. */
static void note_moment(fp_stats *stats, uint64_t now)
{
    stats->moments[(stats->first + stats->recent) % FP_RECENT] = now;
    if (stats->recent < FP_RECENT) stats->recent++;
    else stats->first++;
    while (now - stats->moments[stats->first % FP_RECENT] >= second) {
        stats->first++;
        stats->recent--;
    }
    if (stats->recent > stats->peak_per_second) stats->peak_per_second = stats->recent;
}

void fp_stats_accepted(fp_stats *stats, uint64_t now)
{
    stats->accepted++;
    stats->open++;
    if (stats->open > stats->most_open) stats->most_open = stats->open;
    note_moment(stats, now);
}

void fp_stats_left(fp_stats *stats)
{
    stats->open--;
}

void fp_stats_forget(fp_stats *stats)
{
    stats->accepted = stats->peak_per_second = stats->connected = stats->failed_connects = 0;
    stats->to_server = stats->to_client = stats->swallowed = stats->resets = 0;
    stats->first = stats->recent = 0;
    stats->most_open = stats->open;
}

void fp_stats_text(const fp_stats *stats, char *out, size_t size)
{
    snprintf(out, size,
             "accepted=%" PRIu64 " refused=uncountable open=%" PRIu64 " most_open=%" PRIu64 " peak_per_second=%" PRIu64
             " connected=%" PRIu64 " failed_connects=%" PRIu64 " to_server=%" PRIu64 " to_client=%" PRIu64
             " swallowed=%" PRIu64 " resets=%" PRIu64 " seed=%" PRIu64,
             stats->accepted, stats->open, stats->most_open, stats->peak_per_second, stats->connected,
             stats->failed_connects, stats->to_server, stats->to_client, stats->swallowed, stats->resets, stats->seed);
}
