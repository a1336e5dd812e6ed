/* SPDX-License-Identifier: MIT */
/*
 * A histogram that has room for what was recorded, and not for all
 * that could be: the buckets of include/cenote/histogram.h in lines of 16, which
 * come from a stock when the first of a line is counted.
 *
 *     row of 32 buckets     [ line | line ]      a power of two
 *     stripe                row by row: which line of the stock, or none yet
 *     stock                 lines, made with it in one block; more blocks when it runs low
 *
 * If the stock is empty, a record counts in its row as a whole until there is
 * a line: nothing is lost but how exactly the value is known.
 *
 * A histogram may have several stripes, so that threads rarely write to the same
 * lines of memory. They have lines of their own while half of the stock is left;
 * afterwards they share those of the histogram.
 *
 *     ceni_stock stock;
 *     if (!ceni_stock_init(&stock, 16, allocator)) ...
 *     ceni_compact_init(&h);
 *     ceni_compact_record(&h, NULL, &stock, false, waited_ns);
 *     ceni_stock_tend(&stock, allocator);              now and then, with no lock held
 *
 * Threads: record, snapshot, percentile and reset from any thread at any time.
 * With `alone` true nobody else may record with the same stock or reset meanwhile.
 * Tend calls the allocator; everything else allocates nothing.
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

/* Any thread, atomically, but what is fixed. */
typedef struct ceni_stock {
    uint32_t shift;        /* fixed: a block has two to the power of this lines */
    _Atomic uint32_t used; /* lines that were handed out */
    _Atomic uint32_t room; /* lines in all blocks; goes up when a block is there */
    _Atomic(ceni_bucket_row *) blocks[CENI_STOCK_BLOCKS];
} ceni_stock;

typedef struct ceni_compact_stripe {
    _Alignas(CENI_CACHE_LINE) _Atomic uint64_t sum; /* valid while it is below 2^63 and not overflowed */
    _Atomic bool overflowed;                        /* sticky until reset */
    _Atomic int64_t smallest;                       /* INT64_MAX when nothing was recorded */
    _Atomic int64_t largest;                        /* -1 when nothing was recorded */
    _Atomic uint16_t lines[CENI_COMPACT_LINES];     /* number in the stock, from 1; 0: none; CENI_LINE_COMES */
} ceni_compact_stripe;

enum { CENI_LINE_COMES = UINT16_MAX }; /* somebody is about to put a number there */

typedef struct ceni_compact {
    ceni_compact_stripe own;
    _Atomic uint64_t rows[CENI_COMPACT_ROWS]; /* records for which there was no line */
} ceni_compact;

/* A stock in blocks of so many lines, a power of two; false without memory. Renew: nobody else has it, and all lines are free
 * again. */
bool ceni_stock_init(ceni_stock *stock, uint32_t lines, const cen_allocator *allocator);
void ceni_stock_renew(ceni_stock *stock);
void ceni_stock_fini(ceni_stock *stock, const cen_allocator *allocator);

/* Adds a block if few lines are left. Without memory it does nothing, and is to be tried again. */
void ceni_stock_tend(ceni_stock *stock, const cen_allocator *allocator);

void ceni_stripe_init(ceni_compact_stripe *stripe);
void ceni_compact_init(ceni_compact *histogram);

/* Counts a value, in that stripe of the histogram, or in its own (NULL). Never waits. */
void ceni_compact_record(ceni_compact *histogram, ceni_compact_stripe *stripe, ceni_stock *stock, bool alone,
                         int64_t value);

/* Forgets everything but its lines, as ceni_live_histogram_reset does. */
void ceni_compact_reset(ceni_compact *histogram, ceni_compact_stripe *stripes, unsigned count, ceni_stock *stock);

/* Copies the numbers out, those of `count` stripes among them; as exact as ceni_live_histogram_snapshot. */
void ceni_compact_snapshot(const ceni_compact *histogram, const ceni_compact_stripe *stripes, unsigned count,
                           const ceni_stock *stock, cen_histogram *out);

/* What cen_histogram_percentile says of a snapshot without stripes, and its largest and sum. */
int64_t ceni_compact_percentile(const ceni_compact *histogram, const ceni_stock *stock, uint32_t per_million);
int64_t ceni_compact_largest(const ceni_compact *histogram);
int64_t ceni_compact_sum(const ceni_compact *histogram);

#endif
