/* SPDX-License-Identifier: MIT */
/*
 * A histogram for concurrent writers: the buckets of histogram_buckets.c, each an atomic word.
 *
 * Invariants
 * I1  A record adds one to exactly one bucket. The count is the sum of the
 *     buckets, so a count and a percentile of one snapshot never disagree.
 * I2  smallest only falls and largest only rises, until reset.
 * I3  While overflowed is false and no thread is between the two steps of
 *     add_to_sum, sum is the exact sum and is below 2^63.
 *
 * The naive version keeps the count in a word of its own. A reader between the two adds sees 100 records of which 99
 * are in buckets, and finds no bucket for the 100th percentile. Here there is no second count.
 *
 * The naive saturating sum checks whether there is room and then adds:
 *     A: room for 10    B: room for 10    A: adds 10    B: adds 10, wraps
 * Here the add comes first and its result is checked. The word has one bit more than the values, so the thread whose
 * add passes 2^63 sees it and sets the flag. Between these two steps a reader sees the top bit itself. A reader can
 * see a wrapped sum only if, in that very moment, other threads add another 2^63 in total before the flag is set.
 *
 * Progress: the bucket and the sum are one add each. A limit is a load, unless the value is a new extreme. Then it is
 * a compare-and-swap that is repeated only if another thread has moved the same limit meanwhile. No thread waits for
 * a descheduled one, and limits move rarely. So record is wait-free except for new extremes, where it is lock-free.
 *
 * Order table
 * tag  site | operation | order | pairs with | carries | breaks if weakened
 * (empty: every operation here is relaxed and carries nothing; each word is correct by itself, and no reader infers
 * one from another)
 */
#include "record/histogram.h"

#include "base/atomic.h"

enum { BUCKETS = CEN_HISTOGRAM_BUCKETS };

#define TOP_BIT (UINT64_C(1) << 63)

/* ---- Recording ----------------------------------------------------------- */

void ceni_live_histogram_init(ceni_live_histogram *histogram)
{
    ceni_live_histogram_reset(histogram);
}

static void add_to_sum(ceni_live_histogram *histogram, uint64_t value)
{
    uint64_t after = ceni_add_relaxed(&histogram->sum, value) + value;     /* carries nothing */
    if (after & TOP_BIT) ceni_store_relaxed(&histogram->overflowed, true); /* carries nothing */
}

/* Move the limit to `value` if that is further out. */
static void widen(_Atomic int64_t *limit, int64_t value, bool upwards)
{
    int64_t seen = ceni_load_relaxed(limit); /* carries nothing */
    while (upwards ? value > seen : value < seen)
        if (ceni_cas_relaxed(limit, &seen, value)) break; /* carries nothing */
}

void ceni_live_histogram_record(ceni_live_histogram *histogram, int64_t value)
{
    if (value < 0) value = 0;
    ceni_add_relaxed(&histogram->buckets[cen_histogram_bucket_of(value)], 1); /* carries nothing */
    add_to_sum(histogram, (uint64_t)value);
    widen(&histogram->smallest, value, false);
    widen(&histogram->largest, value, true);
}

/* All stores are relaxed: nothing is promised about records in progress. */
void ceni_live_histogram_reset(ceni_live_histogram *histogram)
{
    for (unsigned i = 0; i < BUCKETS; i++) ceni_store_relaxed(&histogram->buckets[i], 0);
    ceni_store_relaxed(&histogram->sum, 0);
    ceni_store_relaxed(&histogram->overflowed, false);
    ceni_store_relaxed(&histogram->smallest, INT64_MAX);
    ceni_store_relaxed(&histogram->largest, -1);
}

/* ---- Snapshots ----------------------------------------------------------- */

/* Correct the limits of a snapshot that was copied in the middle of a record, as far as its buckets show: the first
 * record may be in a bucket and not yet in the limits. */
static void mend_limits(cen_histogram *snapshot)
{
    unsigned first = 0, last = BUCKETS - 1;
    while (!snapshot->buckets[first]) first++;
    while (!snapshot->buckets[last]) last--;
    if (snapshot->smallest > cen_histogram_bucket_highest(first))
        snapshot->smallest = cen_histogram_bucket_highest(first);
    if (snapshot->largest < cen_histogram_bucket_lowest(last)) snapshot->largest = cen_histogram_bucket_lowest(last);
}

/* All loads are relaxed: the numbers are independent. */
void ceni_live_histogram_snapshot(const ceni_live_histogram *histogram, cen_histogram *out)
{
    *out = (cen_histogram){0};
    for (unsigned i = 0; i < BUCKETS; i++) {
        out->buckets[i] = ceni_load_relaxed(&histogram->buckets[i]);
        out->count += out->buckets[i];
    }
    if (out->count == 0) return;
    uint64_t sum = ceni_load_relaxed(&histogram->sum);
    bool overflowed = ceni_load_relaxed(&histogram->overflowed) || (sum & TOP_BIT);
    out->sum = overflowed ? INT64_MAX : (int64_t)sum;
    out->smallest = ceni_load_relaxed(&histogram->smallest);
    out->largest = ceni_load_relaxed(&histogram->largest);
    mend_limits(out);
}
