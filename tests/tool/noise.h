/* SPDX-License-Identifier: MIT */
/* Noise for tests of statistics, the same from the same seed. */
#ifndef TESTS_TOOL_NOISE_H
#define TESTS_TOOL_NOISE_H

#include "support/test.h"

static inline double noise_uniform(uint64_t *state)
{
    return (double)(test_random(state) >> 11) / 9007199254740992.0;
}

/* Normal with mean 0 and deviation 1, as nearly as the sum of twelve is. */
static inline double noise_normal(uint64_t *state)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) sum += noise_uniform(state);
    return sum;
}

#endif
