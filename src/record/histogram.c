/* SPDX-License-Identifier: MIT */
/*
 * A log-linear histogram.
 *
 * Row 0 has one bucket for each of the numbers 0 to 31. Row r, from 1 on, is
 * the numbers from 2^(r+4) up to 2^(r+5), in 32 buckets of 2^(r-1) numbers
 * each: the five bits after the leading one choose the bucket.
 *
 *     value   1 b b b b b x x x ... x        32 * row + bbbbb
 *               +-------+ the bucket in the row
 *
 * A bucket that begins at L is at most L/32 wide, so its middle is wrong by at
 * most 1/64 of any value in it. Rows 0 and 1 have buckets of one number.
 *
 * Invariants
 * I1  A record adds one to exactly one bucket. The count is the sum of the
 *     buckets, so a count and a percentile of one snapshot never disagree.
 * I2  smallest only falls and largest only rises, until reset.
 * I3  While overflowed is false and nobody is between the two steps of
 *     add_to_sum, sum is the exact sum and is below 2^63.
 *
 * The naive version keeps the count in a word of its own. A reader that comes
 * between the two adds sees 100 records of which 99 are in buckets, and finds
 * no bucket for the 100th percentile. Here there is nothing to disagree with.
 *
 * The naive saturating sum looks whether there is room and then adds:
 *     A: room for 10    B: room for 10    A: adds 10    B: adds 10, wraps
 * Here the add comes first and its result is looked at: the thread that
 * carries the sum past 2^63 sees so, because the word has one more bit than the
 * numbers, and sets the flag. Between these steps a reader sees the top bit
 * itself. Only if in that very moment others add another 2^63 in total can a
 * reader see a wrapped sum, once, before the flag comes.
 *
 * Progress: the bucket and the sum are one add each. Raising a limit is a load
 * unless the value is a new extreme, and then a compare-and-swap that is
 * repeated only if another thread has moved the same limit meanwhile: no
 * thread ever waits for one that is descheduled, and a limit moves rarely. So
 * record is wait-free but for new extremes, where it is lock-free.
 *
 * Order table
 * tag  site | operation | order | pairs with | carries | breaks if weakened
 * (empty: every operation here is relaxed and carries nothing; each word is
 * right by itself, and no reader concludes from one about another)
 */
#include "record/histogram.h"

#include "base/atomic.h"

enum { FINE_BITS = CENI_HISTOGRAM_FINE_BITS, FINE = CENI_HISTOGRAM_FINE, BUCKETS = CENI_HISTOGRAM_BUCKETS };

#define TOP_BIT (UINT64_C(1) << 63)

/* ---- Buckets ------------------------------------------------------------- */

unsigned ceni_histogram_bucket(int64_t value)
{
    if (value < FINE) return (unsigned)value;
    unsigned power = 63u - (unsigned)__builtin_clzll((uint64_t)value);
    unsigned row = power - FINE_BITS + 1;
    return row * FINE + ((unsigned)(value >> (power - FINE_BITS)) & (FINE - 1));
}

int64_t ceni_histogram_lowest(unsigned bucket)
{
    unsigned row = bucket / FINE, fine = bucket % FINE;
    return row == 0 ? (int64_t)fine : (int64_t)(FINE + fine) << (row - 1);
}

int64_t ceni_histogram_highest(unsigned bucket)
{
    return bucket + 1 < BUCKETS ? ceni_histogram_lowest(bucket + 1) - 1 : INT64_MAX;
}

/* ---- Recording ----------------------------------------------------------- */

void ceni_histogram_init(ceni_histogram *histogram)
{
    ceni_histogram_reset(histogram);
}

static void add_to_sum(ceni_histogram *histogram, uint64_t value)
{
    uint64_t after = ceni_add_relaxed(&histogram->sum, value) + value; /* carries nothing */
    if (after & TOP_BIT) ceni_store_relaxed(&histogram->overflowed, true); /* carries nothing */
}

/* Moves the limit to `value` if that is further out. */
static void widen(_Atomic int64_t *limit, int64_t value, bool upwards)
{
    int64_t seen = ceni_load_relaxed(limit); /* carries nothing */
    while (upwards ? value > seen : value < seen)
        if (ceni_cas_relaxed(limit, &seen, value)) break; /* carries nothing */
}

void ceni_histogram_record(ceni_histogram *histogram, int64_t value)
{
    if (value < 0) value = 0;
    ceni_add_relaxed(&histogram->buckets[ceni_histogram_bucket(value)], 1); /* carries nothing */
    add_to_sum(histogram, (uint64_t)value);
    widen(&histogram->smallest, value, false);
    widen(&histogram->largest, value, true);
}

/* All stores are relaxed: nothing is promised about records in progress. */
void ceni_histogram_reset(ceni_histogram *histogram)
{
    for (unsigned i = 0; i < BUCKETS; i++) ceni_store_relaxed(&histogram->buckets[i], 0);
    ceni_store_relaxed(&histogram->sum, 0);
    ceni_store_relaxed(&histogram->overflowed, false);
    ceni_store_relaxed(&histogram->smallest, INT64_MAX);
    ceni_store_relaxed(&histogram->largest, -1);
}

/* ---- Snapshots ----------------------------------------------------------- */

/* Sets the limits of a snapshot that was copied in the middle of a record to
 * what its buckets allow: a first record may be in a bucket and not yet in the
 * limits. */
static void mend_limits(ceni_snapshot *snapshot)
{
    unsigned first = 0, last = BUCKETS - 1;
    while (!snapshot->buckets[first]) first++;
    while (!snapshot->buckets[last]) last--;
    if (snapshot->smallest > ceni_histogram_highest(first)) snapshot->smallest = ceni_histogram_highest(first);
    if (snapshot->largest < ceni_histogram_lowest(last)) snapshot->largest = ceni_histogram_lowest(last);
}

/* All loads are relaxed: each number stands for itself. */
void ceni_histogram_snapshot(const ceni_histogram *histogram, ceni_snapshot *out)
{
    ceni_snapshot_init(out);
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

void ceni_snapshot_init(ceni_snapshot *snapshot)
{
    *snapshot = (ceni_snapshot){0};
}

void ceni_snapshot_merge(ceni_snapshot *snapshot, const ceni_snapshot *other)
{
    if (other->count == 0) return;
    bool first = snapshot->count == 0;
    if (first || other->smallest < snapshot->smallest) snapshot->smallest = other->smallest;
    if (first || other->largest > snapshot->largest) snapshot->largest = other->largest;
    snapshot->sum = snapshot->sum > INT64_MAX - other->sum ? INT64_MAX : snapshot->sum + other->sum;
    snapshot->count += other->count;
    for (unsigned i = 0; i < BUCKETS; i++) snapshot->buckets[i] += other->buckets[i];
}

/* The number, from 1, of the record that is asked for in the sorted order:
 * count * per_million / 1000000, rounded up, in steps that cannot overflow. */
static uint64_t rank_of(uint64_t count, uint32_t per_million)
{
    uint64_t whole = count / 1000000 * per_million;
    uint64_t rest = (count % 1000000 * per_million + 999999) / 1000000;
    return whole + rest;
}

int64_t ceni_snapshot_percentile(const ceni_snapshot *snapshot, uint32_t per_million)
{
    if (per_million == 0) return snapshot->smallest;
    if (per_million >= 1000000) return snapshot->largest;
    if (snapshot->count == 0) return 0;
    uint64_t rank = rank_of(snapshot->count, per_million), passed = 0;
    unsigned bucket = 0;
    while ((passed += snapshot->buckets[bucket]) < rank) bucket++;
    int64_t low = ceni_histogram_lowest(bucket), high = ceni_histogram_highest(bucket);
    int64_t middle = low + (high - low) / 2;
    if (middle < snapshot->smallest) return snapshot->smallest;
    return middle > snapshot->largest ? snapshot->largest : middle;
}
