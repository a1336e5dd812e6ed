/* SPDX-License-Identifier: MIT */
/*
 * Durations in log-linear buckets.
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
 */
#include <stdbool.h>

#include <cenote/durations.h>

enum { FINE_BITS = 5, FINE = 1 << FINE_BITS, BUCKETS = CEN_DURATIONS_BUCKETS };

/* The powers 5 to 62, and one more row for the numbers below 32. */
_Static_assert(BUCKETS == (63 - FINE_BITS + 1) * FINE, "what the header says");

/* ---- Buckets ------------------------------------------------------------- */

unsigned cen_durations_bucket(int64_t value)
{
    if (value < FINE) return (unsigned)value;
    unsigned power = 63u - (unsigned)__builtin_clzll((uint64_t)value);
    unsigned row = power - FINE_BITS + 1;
    return row * FINE + ((unsigned)(value >> (power - FINE_BITS)) & (FINE - 1));
}

int64_t cen_durations_lowest(unsigned bucket)
{
    unsigned row = bucket / FINE, fine = bucket % FINE;
    return row == 0 ? (int64_t)fine : (int64_t)(FINE + fine) << (row - 1);
}

int64_t cen_durations_highest(unsigned bucket)
{
    return bucket + 1 < BUCKETS ? cen_durations_lowest(bucket + 1) - 1 : INT64_MAX;
}

/* ---- Recording ----------------------------------------------------------- */

void cen_durations_record(cen_durations *durations, int64_t value)
{
    if (value < 0) value = 0;
    bool first = durations->count == 0;
    if (first || value < durations->smallest) durations->smallest = value;
    if (first || value > durations->largest) durations->largest = value;
    durations->sum = durations->sum > INT64_MAX - value ? INT64_MAX : durations->sum + value;
    durations->count++;
    durations->buckets[cen_durations_bucket(value)]++;
}

void cen_durations_merge(cen_durations *durations, const cen_durations *other)
{
    if (other->count == 0) return;
    bool first = durations->count == 0;
    if (first || other->smallest < durations->smallest) durations->smallest = other->smallest;
    if (first || other->largest > durations->largest) durations->largest = other->largest;
    durations->sum = durations->sum > INT64_MAX - other->sum ? INT64_MAX : durations->sum + other->sum;
    durations->count += other->count;
    for (unsigned i = 0; i < BUCKETS; i++) durations->buckets[i] += other->buckets[i];
}

/* The number, from 1, of the record that is asked for in the sorted order:
 * count * per_million / 1000000, rounded up, in steps that cannot overflow. */
static uint64_t rank_of(uint64_t count, uint32_t per_million)
{
    uint64_t whole = count / 1000000 * per_million;
    uint64_t rest = (count % 1000000 * per_million + 999999) / 1000000;
    return whole + rest;
}

int64_t cen_durations_percentile(const cen_durations *durations, uint32_t per_million)
{
    if (per_million == 0) return durations->smallest;
    if (per_million >= 1000000) return durations->largest;
    if (durations->count == 0) return 0;
    uint64_t rank = rank_of(durations->count, per_million), passed = durations->buckets[0];
    unsigned bucket = 0;
    /* the count may be anybody's */
    while (passed < rank && bucket < BUCKETS - 1) passed += durations->buckets[++bucket];
    int64_t low = cen_durations_lowest(bucket), high = cen_durations_highest(bucket);
    int64_t middle = low + (high - low) / 2;
    if (middle < durations->smallest) return durations->smallest;
    return middle > durations->largest ? durations->largest : middle;
}
