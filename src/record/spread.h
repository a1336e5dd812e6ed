/* SPDX-License-Identifier: MIT */
/*
 * A spread of durations: a small histogram for whoever has a lock anyway.
 *
 * 8 buckets to each power of two: a percentile is wrong by at most 1/16 of
 * itself; numbers below 16 are exact, and so are the count, the sum and the
 * largest. 4 KiB, a quarter of the histogram that any thread may write
 * (record/histogram.h). Zeroed memory is an empty one.
 *
 * Threads: its owner's lock.
 */
#ifndef CENI_RECORD_SPREAD_H
#define CENI_RECORD_SPREAD_H

#include <stdint.h>

#include "base/spi.h"

CENI_SPI_BEGIN

enum {
    CENI_SPREAD_FINE_BITS = 3,
    CENI_SPREAD_FINE = 1 << CENI_SPREAD_FINE_BITS,
    CENI_SPREAD_BUCKETS = (63 - CENI_SPREAD_FINE_BITS + 1) * CENI_SPREAD_FINE,
};

typedef struct ceni_spread {
    uint64_t count;
    int64_t sum; /* INT64_MAX: that or more */
    int64_t largest;
    uint64_t buckets[CENI_SPREAD_BUCKETS];
} ceni_spread;

/* Counts a value; a negative one counts as 0. */
void ceni_spread_record(ceni_spread *spread, int64_t value);

/* A value that at least `per_million` millionths of the records do not exceed,
 * and never more than the largest; 0 when there are no records. */
int64_t ceni_spread_percentile(const ceni_spread *spread, uint32_t per_million);

CENI_SPI_END

#endif
