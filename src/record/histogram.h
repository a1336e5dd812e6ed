/* SPDX-License-Identifier: MIT */
/*
 * A histogram for concurrent writers, of durations or any other numbers that are not negative.
 * include/cenote/histogram.h states how exact it is.
 *
 *     ceni_live_histogram *h = ceni_alloc(NULL, sizeof *h, CENI_CACHE_LINE);
 *     ceni_live_histogram_init(h);
 *     ceni_live_histogram_record(h, waited_ns);
 *
 *     ceni_live_histogram_snapshot(h, s);                  s is a cen_histogram
 *     int64_t p99 = cen_histogram_percentile(s, 990000);
 *
 * Threads: after init, any thread may record, take a snapshot and reset at any time. A snapshot is a plain struct of
 * the caller.
 */
#ifndef CENI_RECORD_HISTOGRAM_H
#define CENI_RECORD_HISTOGRAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <cenote/histogram.h>

#include "base/spi.h"

CENI_SPI_BEGIN

/* Any thread, atomically. */
typedef struct ceni_live_histogram {
    _Atomic uint64_t sum;     /* valid while it is below 2^63 and not overflowed */
    _Atomic bool overflowed;  /* sticky until reset */
    _Atomic int64_t smallest; /* INT64_MAX: nothing was recorded */
    _Atomic int64_t largest;  /* -1: nothing was recorded */
    _Atomic uint64_t buckets[CEN_HISTOGRAM_BUCKETS];
} ceni_live_histogram;

void ceni_live_histogram_init(ceni_live_histogram *histogram);

/* Count a value. A negative value, which only a faulty clock yields, counts as 0. Never waits; histogram.c states the
 * number of steps. */
void ceni_live_histogram_record(ceni_live_histogram *histogram, int64_t value);

/* Set everything to zero. A record in progress may be lost in part: it may be missing in the count and be in the sum,
 * or the other way round. */
void ceni_live_histogram_reset(ceni_live_histogram *histogram);

/* Copy the numbers out. Exact while no thread records. Otherwise each number was true at some moment during the call,
 * and records in progress may be in some numbers and not yet in others. */
void ceni_live_histogram_snapshot(const ceni_live_histogram *histogram, cen_histogram *out);

CENI_SPI_END

#endif
