/* SPDX-License-Identifier: MIT */
/*
 * Histograms of durations and other numbers, in plain memory owned by the caller.
 *
 * Buckets are log-linear: 32 for each power of two. The error of a percentile is at most 1/64 of its value, over the
 * whole range of int64_t. Numbers below 64 are exact, and so are the count, the sum, the smallest and the largest
 * value.
 *
 *     cen_histogram *d = calloc(1, sizeof *d);        // zeroed: empty
 *     cen_histogram_record(d, ended - began);
 *     cen_histogram_merge(all, d);                    // as if both had been one
 *     int64_t p99 = cen_histogram_percentile(all, 990000);
 *
 * A histogram takes about 15 KiB, so do not put it on a stack of unknown size.
 *
 * Threads: one thread at a time, unless all threads only read.
 */
#ifndef CENOTE_HISTOGRAM_H
#define CENOTE_HISTOGRAM_H

#include <stdint.h>

#include <cenote/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The number of buckets. */
#define CEN_HISTOGRAM_BUCKETS 1888

/* A histogram. `count` is the sum of the buckets. smallest and largest are 0 if count is 0. */
typedef struct cen_histogram {
    uint64_t count;
    int64_t sum; /* INT64_MAX: this or more */
    int64_t smallest, largest;
    uint64_t buckets[CEN_HISTOGRAM_BUCKETS];
} cen_histogram;

/* Record a value. A negative value, which only a faulty clock can yield, counts as 0. */
CEN_API void cen_histogram_record(cen_histogram *histogram, int64_t value);

/* Add the records of `other`, as if all had been recorded in one histogram. */
CEN_API void cen_histogram_merge(cen_histogram *histogram, const cen_histogram *other);

/* Return a value that at least `per_million` millionths of the records do not exceed: 500000 gives the median, 999900
 * the 99.99th percentile. 0 gives the smallest value, and 1000000 or more the largest; both are exact. Return 0 if
 * there are no records. */
CEN_API int64_t cen_histogram_percentile(const cen_histogram *histogram, uint32_t per_million);

/* Return the bucket of a value, which must not be negative; the lowest value of a bucket; or the highest value of a
 * bucket. */
CEN_API unsigned cen_histogram_bucket_of(int64_t value);
CEN_API int64_t cen_histogram_bucket_lowest(unsigned bucket);
CEN_API int64_t cen_histogram_bucket_highest(unsigned bucket);

#ifdef __cplusplus
}
#endif
#endif
