/* SPDX-License-Identifier: MIT */
/* The spread. See spread.h for what it offers; histogram.c explains buckets of this kind. */
#include "record/spread.h"

enum { FINE = CENI_SPREAD_FINE, FINE_BITS = CENI_SPREAD_FINE_BITS };

static unsigned bucket_of(int64_t value)
{
    if (value < FINE) return (unsigned)value;
    unsigned power = 63 - (unsigned)__builtin_clzll((unsigned long long)value);
    unsigned row = power - FINE_BITS + 1;
    return row * FINE + ((unsigned)(value >> (power - FINE_BITS)) & (FINE - 1));
}

static int64_t lowest_of(unsigned bucket)
{
    unsigned row = bucket / FINE, fine = bucket % FINE;
    return row == 0 ? (int64_t)fine : (int64_t)(FINE + fine) << (row - 1);
}

void ceni_spread_record(ceni_spread *spread, int64_t value)
{
    if (value < 0) value = 0;
    if (value > spread->largest) spread->largest = value;
    spread->sum = spread->sum > INT64_MAX - value ? INT64_MAX : spread->sum + value;
    spread->count++;
    spread->buckets[bucket_of(value)]++;
}

int64_t ceni_spread_percentile(const ceni_spread *spread, uint32_t per_million)
{
    if (spread->count == 0) return 0;
    if (per_million >= 1000000) return spread->largest;
    /* In two steps, which cannot overflow; at least the first record. */
    uint64_t rank = spread->count / 1000000 * per_million + (spread->count % 1000000 * per_million + 999999) / 1000000;
    if (rank == 0) rank = 1;
    unsigned bucket = 0;
    for (uint64_t passed = spread->buckets[0]; passed < rank; passed += spread->buckets[++bucket]) continue;
    int64_t low = lowest_of(bucket);
    int64_t high = bucket + 1 < CENI_SPREAD_BUCKETS ? lowest_of(bucket + 1) - 1 : INT64_MAX;
    int64_t middle = low + (high - low) / 2;
    return middle < spread->largest ? middle : spread->largest;
}
