/* SPDX-License-Identifier: MIT */
/* Times are counted by length, in 32 steps for each power of two: so a percentile is right within 3 %. */
#ifndef BENCH_RULES_LENGTHS_H
#define BENCH_RULES_LENGTHS_H

#include <stdint.h>

#define LENGTH_STEPS 32
#define LENGTHS (64 * LENGTH_STEPS)

/* Which of LENGTHS counts it belongs to. */
static inline unsigned length_of(int64_t ns)
{
    uint64_t length = ns > 0 ? (uint64_t)ns : 1;
    unsigned power = 63 - (unsigned)__builtin_clzll(length);
    uint64_t step = (power < 5 ? length << (5 - power) : length >> (power - 5)) & (LENGTH_STEPS - 1);
    return power * LENGTH_STEPS + (unsigned)step;
}

/* The time that nothing in this count exceeds. */
static inline double length_end(unsigned length)
{
    return (double)(UINT64_C(1) << length / LENGTH_STEPS) * (1 + (double)(length % LENGTH_STEPS + 1) / LENGTH_STEPS);
}

#endif
