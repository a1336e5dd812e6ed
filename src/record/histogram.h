/* SPDX-License-Identifier: MIT */
/*
 * A histogram of durations, or of any other numbers that are not negative.
 *
 * Buckets are log-linear: 32 to each power of two. A percentile is wrong by
 * at most 1/64 of itself, over the whole range of int64_t; numbers below 64
 * are exact, and so are the count, the sum, the smallest and the largest.
 *
 *     ceni_histogram *h = ceni_alloc(NULL, sizeof *h, CENI_LINE);
 *     ceni_histogram_init(h);
 *     ceni_histogram_record(h, waited_ns);
 *
 *     ceni_histogram_snapshot(h, s);
 *     int64_t p99 = ceni_snapshot_percentile(s, 990000);
 *
 * A histogram and a snapshot take about 15 KiB each: not for the stack of a
 * thread whose size nobody knows.
 *
 * Threads: record, snapshot and reset from any thread at any time; init first.
 * A snapshot is a plain value of whoever made it.
 */
#ifndef CENI_RECORD_HISTOGRAM_H
#define CENI_RECORD_HISTOGRAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/spi.h"

CENI_SPI_BEGIN

enum {
    CENI_HISTOGRAM_FINE_BITS = 5, /* 2^5 buckets to a power of two */
    CENI_HISTOGRAM_FINE = 1 << CENI_HISTOGRAM_FINE_BITS,
    /* The powers 5 to 62, and one more row for the numbers below 32. */
    CENI_HISTOGRAM_BUCKETS = (63 - CENI_HISTOGRAM_FINE_BITS + 1) * CENI_HISTOGRAM_FINE,
};

/* Any thread, atomically. */
typedef struct ceni_histogram {
    _Atomic uint64_t sum;     /* valid while it is below 2^63 and not overflowed */
    _Atomic bool overflowed;  /* sticky until reset */
    _Atomic int64_t smallest; /* INT64_MAX when nothing was recorded */
    _Atomic int64_t largest;  /* -1 when nothing was recorded */
    _Atomic uint64_t buckets[CENI_HISTOGRAM_BUCKETS];
} ceni_histogram;

/* count is the sum of buckets; smallest and largest are 0 when count is 0. */
typedef struct ceni_snapshot {
    uint64_t count;
    int64_t sum; /* INT64_MAX: that or more */
    int64_t smallest, largest;
    uint64_t buckets[CENI_HISTOGRAM_BUCKETS];
} ceni_snapshot;

void ceni_histogram_init(ceni_histogram *histogram);

/* Counts a value; a negative one, which only a clock gone wrong yields,
 * counts as 0. Never waits; see histogram.c for the number of steps. */
void ceni_histogram_record(ceni_histogram *histogram, int64_t value);

/* Forgets everything. A record in progress meanwhile may be forgotten in part:
 * it may be missing in the count and be in the sum, or the other way round. */
void ceni_histogram_reset(ceni_histogram *histogram);

/* Copies the numbers out. Exact while nobody records; otherwise each number
 * was true at some moment during the call, and records in progress may be in
 * some numbers and not yet in others. */
void ceni_histogram_snapshot(const ceni_histogram *histogram, ceni_snapshot *out);

/* Makes an empty snapshot, to merge into. */
void ceni_snapshot_init(ceni_snapshot *snapshot);

/* Adds the records of `other`, as if both had been one histogram. */
void ceni_snapshot_merge(ceni_snapshot *snapshot, const ceni_snapshot *other);

/* A value that at least `per_million` millionths of the records do not exceed:
 * 500000 is the median, 999900 the 99.99th percentile. 0 gives the smallest,
 * 1000000 and more the largest, both exactly. 0 when there are no records. */
int64_t ceni_snapshot_percentile(const ceni_snapshot *snapshot, uint32_t per_million);

/* Which bucket counts a value that is not negative, and the first and last
 * value that a bucket counts. */
unsigned ceni_histogram_bucket(int64_t value);
int64_t ceni_histogram_lowest(unsigned bucket);
int64_t ceni_histogram_highest(unsigned bucket);

CENI_SPI_END

#endif
