/* SPDX-License-Identifier: MIT */
/*
 * A histogram that uses memory only for the lines of buckets that have counts. It has the buckets of
 * include/cenote/histogram.h, in lines of 16. A line is taken from a stock when the first of its buckets is counted.
 *
 *     row of 32 buckets     [ line | line ]      a power of two
 *     stripe                for each line: its number in the stock, or none yet
 *     stock                 lines, in one block at first; more blocks when it runs low
 *
 * While the stock is empty, a record is counted in its row as a whole: only the resolution suffers.
 *
 * A histogram may have several stripes, so that threads rarely write to the same cache lines. Stripes take lines of
 * their own until half of the stock is used. After that they share the histogram's lines.
 *
 *     ceni_stock stock;
 *     if (!ceni_stock_init(&stock, 16, allocator)) ...
 *     ceni_compact_init(&h);
 *     ceni_compact_record(&h, NULL, &stock, false, waited_ns);
 *     ceni_stock_tend(&stock, allocator);              from time to time, with no lock held
 *
 * Threads: any thread may call record, snapshot, percentile and reset at any time. While a record with `alone` true
 * runs, no other thread may record with the same stock or reset. Only tend, init and fini call the allocator.
 */
#ifndef CENI_RECORD_COMPACT_H
#define CENI_RECORD_COMPACT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <cenote/allocator.h>
#include <cenote/histogram.h>

#include "base/atomic.h"

enum {
    CENI_ROW_BUCKETS = CENI_CACHE_LINE / sizeof(uint64_t),
    CENI_COMPACT_LINES = CEN_HISTOGRAM_BUCKETS / CENI_ROW_BUCKETS,
    CENI_COMPACT_ROWS = CEN_HISTOGRAM_BUCKETS / 32,
    CENI_STOCK_BLOCKS = 32,
};

typedef struct ceni_bucket_row {
    _Atomic uint64_t buckets[CENI_ROW_BUCKETS];
} ceni_bucket_row;

/* Any thread, atomically, except the fixed field. */
typedef struct ceni_stock {
    uint32_t shift;        /* fixed: a block has 2^shift lines */
    _Atomic uint32_t used; /* lines that were handed out */
    _Atomic uint32_t room; /* lines in all blocks; raised after a block is allocated */
    _Atomic(ceni_bucket_row *) blocks[CENI_STOCK_BLOCKS];
} ceni_stock;

typedef struct ceni_compact_stripe {
    _Alignas(CENI_CACHE_LINE) _Atomic uint64_t sum; /* valid while it is below 2^63 and not overflowed */
    _Atomic bool overflowed;                        /* sticky until reset */
    _Atomic int64_t smallest;                       /* INT64_MAX: nothing was recorded */
    _Atomic int64_t largest;                        /* -1: nothing was recorded */
    _Atomic uint16_t lines[CENI_COMPACT_LINES];     /* number in the stock, from 1; 0: none; CENI_LINE_COMES */
} ceni_compact_stripe;

enum { CENI_LINE_COMES = UINT16_MAX }; /* a thread is about to store a number there */

typedef struct ceni_compact {
    ceni_compact_stripe own;
    _Atomic uint64_t rows[CENI_COMPACT_ROWS]; /* records for which there was no line */
} ceni_compact;

/* Make a stock with blocks of `lines` lines, a power of two; false if there is no memory. Renew zeroes all lines and
 * makes them free again; no other thread may use the stock meanwhile. */
bool ceni_stock_init(ceni_stock *stock, uint32_t lines, const cen_allocator *allocator);
void ceni_stock_renew(ceni_stock *stock);
void ceni_stock_fini(ceni_stock *stock, const cen_allocator *allocator);

/* Add a block if few lines are left. Does nothing if there is no memory; call it again later. */
void ceni_stock_tend(ceni_stock *stock, const cen_allocator *allocator);

void ceni_stripe_init(ceni_compact_stripe *stripe);
void ceni_compact_init(ceni_compact *histogram);

/* Count a value in a stripe of the histogram; NULL: the histogram's own. Never waits. */
void ceni_compact_record(ceni_compact *histogram, ceni_compact_stripe *stripe, ceni_stock *stock, bool alone,
                         int64_t value);

/* Reset all counts, as ceni_live_histogram_reset does; the lines stay. */
void ceni_compact_reset(ceni_compact *histogram, ceni_compact_stripe *stripes, unsigned count, ceni_stock *stock);

/* Copy the numbers out, including those of `count` stripes; as exact as ceni_live_histogram_snapshot. */
void ceni_compact_snapshot(const ceni_compact *histogram, const ceni_compact_stripe *stripes, unsigned count,
                           const ceni_stock *stock, cen_histogram *out);

/* The percentile, the largest value and the sum of a snapshot without stripes; see cen_histogram_percentile. */
int64_t ceni_compact_percentile(const ceni_compact *histogram, const ceni_stock *stock, uint32_t per_million);
int64_t ceni_compact_largest(const ceni_compact *histogram);
int64_t ceni_compact_sum(const ceni_compact *histogram);

#endif
