/* SPDX-License-Identifier: MIT */
/*
 * Histograms in log-linear buckets.
 *
 * Row 0 has one bucket for each of the numbers 0 to 31. Row r, from 1 on, has the numbers from 2^(r+4) up to 2^(r+5),
 * in 32 buckets of 2^(r-1) numbers each: the five bits after the leading one select the bucket.
 *
 *     value   1 b b b b b x x x ... x        32 * row + bbbbb
 *               +-------+ the bucket in the row
 *
 * A bucket that begins at L is at most L/32 wide, so its middle differs from any value in it by at most 1/64 of the
 * value. The buckets of rows 0 and 1 have one number each.
 */
#include <stdbool.h>

#include <cenote/histogram.h>

enum { FINE_BITS = 5, FINE = 1 << FINE_BITS, BUCKETS = CEN_HISTOGRAM_BUCKETS };

/* The powers 5 to 62, and one more row for the numbers below 32. */
_Static_assert(BUCKETS == (63 - FINE_BITS + 1) * FINE, "what the header says");

/* ---- Buckets ------------------------------------------------------------- */

unsigned cen_histogram_bucket_of(int64_t value)
{
    if (value < FINE) return (unsigned)value;
    unsigned power = 63u - (unsigned)__builtin_clzll((uint64_t)value);
    unsigned row = power - FINE_BITS + 1;
    return row * FINE + ((unsigned)(value >> (power - FINE_BITS)) & (FINE - 1));
}

int64_t cen_histogram_bucket_lowest(unsigned bucket)
{
    unsigned row = bucket / FINE, fine = bucket % FINE;
    return row == 0 ? (int64_t)fine : (int64_t)(FINE + fine) << (row - 1);
}

int64_t cen_histogram_bucket_highest(unsigned bucket)
{
    return bucket + 1 < BUCKETS ? cen_histogram_bucket_lowest(bucket + 1) - 1 : INT64_MAX;
}

/* ---- Recording ----------------------------------------------------------- */

void cen_histogram_record(cen_histogram *histogram, int64_t value)
{
    if (value < 0) value = 0;
    bool first = histogram->count == 0;
    if (first || value < histogram->smallest) histogram->smallest = value;
    if (first || value > histogram->largest) histogram->largest = value;
    histogram->sum = histogram->sum > INT64_MAX - value ? INT64_MAX : histogram->sum + value;
    histogram->count++;
    histogram->buckets[cen_histogram_bucket_of(value)]++;
}

void cen_histogram_merge(cen_histogram *histogram, const cen_histogram *other)
{
    if (other->count == 0) return;
    bool first = histogram->count == 0;
    if (first || other->smallest < histogram->smallest) histogram->smallest = other->smallest;
    if (first || other->largest > histogram->largest) histogram->largest = other->largest;
    histogram->sum = histogram->sum > INT64_MAX - other->sum ? INT64_MAX : histogram->sum + other->sum;
    histogram->count += other->count;
    for (unsigned i = 0; i < BUCKETS; i++) histogram->buckets[i] += other->buckets[i];
}

/* The rank, from 1, of the percentile's record in sorted order: count * per_million / 1000000, rounded up, in steps
 * that cannot overflow. */
static uint64_t rank_of(uint64_t count, uint32_t per_million)
{
    uint64_t whole = count / 1000000 * per_million;
    uint64_t rest = (count % 1000000 * per_million + 999999) / 1000000;
    return whole + rest;
}

int64_t cen_histogram_percentile(const cen_histogram *histogram, uint32_t per_million)
{
    if (per_million == 0) return histogram->smallest;
    if (per_million >= 1000000) return histogram->largest;
    if (histogram->count == 0) return 0;
    uint64_t rank = rank_of(histogram->count, per_million), passed = histogram->buckets[0];
    unsigned bucket = 0;
    /* the program may have written the count itself, so the loop is bounded */
    while (passed < rank && bucket < BUCKETS - 1) passed += histogram->buckets[++bucket];
    int64_t low = cen_histogram_bucket_lowest(bucket), high = cen_histogram_bucket_highest(bucket);
    int64_t middle = low + (high - low) / 2;
    if (middle < histogram->smallest) return histogram->smallest;
    return middle > histogram->largest ? histogram->largest : middle;
}
