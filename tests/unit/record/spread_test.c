/* SPDX-License-Identifier: MIT */
/* The spread against all values it was given, kept and sorted. */
#include "record/spread.h"

#include <stdlib.h>

#include "support/test.h"

enum { VALUES = 5000 };

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

TEST(an_empty_spread_says_zero)
{
    static ceni_spread spread;
    expect_equal(spread.count, 0);
    expect_equal(ceni_spread_percentile(&spread, 500000), 0);
    expect_equal(ceni_spread_percentile(&spread, 1000000), 0);
}

TEST(small_numbers_are_exact)
{
    static ceni_spread spread;
    for (int64_t value = 0; value < 16; value++) ceni_spread_record(&spread, value);
    for (uint32_t i = 1; i < 16; i++) expect_equal(ceni_spread_percentile(&spread, i * 62500), i - 1);
    expect_equal(spread.largest, 15);
    expect_equal(spread.sum, 120);
}

TEST(a_percentile_is_wrong_by_a_sixteenth_at_most)
{
    static ceni_spread spread;
    static int64_t values[VALUES];
    uint64_t state = test_seed();
    for (int i = 0; i < VALUES; i++) {
        values[i] = (int64_t)(test_random(&state) >> (1 + test_random(&state) % 62));
        ceni_spread_record(&spread, values[i]);
    }
    qsort(values, VALUES, sizeof values[0], compare);
    for (uint32_t per_million = 200; per_million < 1000000; per_million += 200) {
        int64_t truth = values[(uint64_t)VALUES * per_million / 1000000 - 1];
        int64_t said = ceni_spread_percentile(&spread, per_million);
        int64_t off = said > truth ? said - truth : truth - said;
        expect(off <= truth / 16);
    }
    expect_equal(ceni_spread_percentile(&spread, 1000000), values[VALUES - 1]);
    expect_equal(spread.largest, values[VALUES - 1]);
    expect_equal(spread.count, VALUES);
}

TEST(the_ends_of_the_range_are_counted)
{
    static ceni_spread spread;
    ceni_spread_record(&spread, INT64_MIN);
    ceni_spread_record(&spread, INT64_MAX);
    ceni_spread_record(&spread, INT64_MAX);
    expect_equal(spread.count, 3);
    expect_equal(ceni_spread_percentile(&spread, 1), 0);
    expect(ceni_spread_percentile(&spread, 999999) > INT64_MAX - INT64_MAX / 16);
    expect_equal(spread.sum, INT64_MAX);
}
