/* SPDX-License-Identifier: MIT */
/*
 * Histograms: how many there were of each length, as plain memory of whoever has it.
 *
 * Buckets are log-linear: 32 to each power of two. A percentile is wrong by at
 * most 1/64 of itself, over the whole range of int64_t; numbers below 64 are
 * exact, and so are the count, the sum, the smallest and the largest.
 *
 *     cen_histogram *d = calloc(1, sizeof *d);        // zeroed: none yet
 *     cen_histogram_record(d, ended - began);
 *     cen_histogram_merge(all, d);                    // as if both had been one
 *     int64_t p99 = cen_histogram_percentile(all, 990000);
 *
 * One takes about 15 KiB: not for the stack of a thread whose size nobody knows.
 *
 * Threads: plain memory; one thread at a time, unless all only read.
 */
#ifndef CENOTE_HISTOGRAM_H
#define CENOTE_HISTOGRAM_H

#include <stdint.h>

#include <cenote/version.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CEN_HISTOGRAM_BUCKETS 1888

/* count is the sum of buckets; smallest and largest are 0 when count is 0. */
typedef struct cen_histogram {
    uint64_t count;
    int64_t sum; /* INT64_MAX: that or more */
    int64_t smallest, largest;
    uint64_t buckets[CEN_HISTOGRAM_BUCKETS];
} cen_histogram;

/* Counts a value; a negative one, which only a clock gone wrong yields, counts as 0. */
CEN_API void cen_histogram_record(cen_histogram *histogram, int64_t value);

/* Adds those of `other`, as if both had been recorded in one. */
CEN_API void cen_histogram_merge(cen_histogram *histogram, const cen_histogram *other);

/* A value that at least `per_million` millionths of the records do not exceed:
 * 500000 is the median, 999900 the 99.99th percentile. 0 gives the smallest,
 * 1000000 and more the largest, both exactly. 0 when there are no records. */
CEN_API int64_t cen_histogram_percentile(const cen_histogram *histogram, uint32_t per_million);

/* Which bucket counts a value that is not negative, and the first and last value that a bucket counts. */
CEN_API unsigned cen_histogram_bucket_of(int64_t value);
CEN_API int64_t cen_histogram_bucket_lowest(unsigned bucket);
CEN_API int64_t cen_histogram_bucket_highest(unsigned bucket);

#ifdef __cplusplus
}
#endif
#endif
