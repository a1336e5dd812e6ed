/* SPDX-License-Identifier: MIT */
/* A compact histogram says what one with room for everything says. */
#include "record/compact.h"

#include <stdlib.h>

#include "base/fault.h"
#include "port/port.h"
#include "support/test.h"

enum { STRIPES = 3, THREADS = 4, EACH = 20000 };

static ceni_compact histogram;
static ceni_compact_stripe stripes[STRIPES];
static ceni_stock stock;
static cen_histogram seen, whole;

static void begin(uint32_t lines)
{
    expect(ceni_stock_init(&stock, lines, NULL));
    ceni_compact_init(&histogram);
    for (int i = 0; i < STRIPES; i++) ceni_stripe_init(&stripes[i]);
    whole = (cen_histogram){0};
}

static void look(void)
{
    ceni_compact_snapshot(&histogram, stripes, STRIPES, &stock, &seen);
}

/* Numbers of all sizes: as many between 2^n and 2^(n+1) for every n. */
static int64_t any_size(uint64_t *state)
{
    return (int64_t)(test_random(state) >> (1 + test_random(state) % 63));
}

static ceni_compact_stripe *stripe_of(uint64_t number)
{
    return number % (STRIPES + 1) ? &stripes[number % (STRIPES + 1) - 1] : NULL;
}

static void record(int64_t value, uint64_t number, bool alone)
{
    ceni_compact_record(&histogram, stripe_of(number), &stock, alone, value);
    cen_histogram_record(&whole, value);
}

static void expect_numbers(void)
{
    look();
    expect_equal(seen.count, whole.count);
    expect_equal(seen.sum, whole.sum);
    expect_equal(seen.smallest, whole.smallest);
    expect_equal(seen.largest, whole.largest);
}

TEST(with_a_stock_that_is_tended_every_bucket_is_the_one_of_plain_histogram)
{
    uint64_t state = test_seed();
    for (int alone = 0; alone < 2; alone++) {
        begin(16);
        expect_numbers();
        for (int i = 0; i < 20000; i++) {
            record(any_size(&state), (uint64_t)i, alone);
            ceni_stock_tend(&stock, NULL);
        }
        expect_numbers();
        expect(memcmp(&seen, &whole, sizeof seen) == 0);
        ceni_stock_fini(&stock, NULL);
    }
}

TEST(percentiles_largest_and_sum_are_those_of_plain_histogram)
{
    uint64_t state = test_seed();
    begin(16);
    expect_equal(ceni_compact_percentile(&histogram, &stock, 500000), 0);
    expect_equal(ceni_compact_largest(&histogram), 0);
    for (int i = 0; i < 5000; i++) {
        record(any_size(&state) >> 20, 0, true);
        ceni_stock_tend(&stock, NULL);
        if (i % 97 != 0) continue;
        for (uint32_t part = 1; part < 1000000; part = part * 3 + 1)
            expect_equal(ceni_compact_percentile(&histogram, &stock, part), cen_histogram_percentile(&whole, part));
        expect_equal(ceni_compact_largest(&histogram), whole.largest);
        expect_equal(ceni_compact_sum(&histogram), whole.sum);
    }
    ceni_stock_fini(&stock, NULL);
}

TEST(without_memory_nothing_is_lost_but_exactness)
{
    uint64_t state = test_seed();
    begin(8);
    for (int i = 0; i < 5000; i++) {
        record(any_size(&state), (uint64_t)i, false);
        ceni_fault_arm(CENI_FAULT_ALLOC, 1);
        ceni_stock_tend(&stock, NULL);
        ceni_fault_disarm();
    }
    expect_numbers();
    expect_equal(stock.used, 8);
    for (unsigned row = 0; row < CENI_COMPACT_ROWS; row++) { /* each row has what belongs to it */
        uint64_t has = 0, should = 0;
        for (unsigned i = row * 32; i < row * 32 + 32; i++) {
            has += seen.buckets[i];
            should += whole.buckets[i];
        }
        expect_equal(has, should);
    }
    ceni_stock_fini(&stock, NULL);
}

TEST(a_reset_forgets_all_and_keeps_its_lines)
{
    begin(16);
    for (int i = 0; i < 100; i++) record(i * 1000, (uint64_t)i, false);
    uint32_t used = stock.used;
    ceni_compact_reset(&histogram, stripes, STRIPES, &stock);
    whole = (cen_histogram){0};
    expect_numbers();
    for (int i = 0; i < 100; i++) record(i * 1000, (uint64_t)i, false);
    expect_numbers();
    expect_equal(stock.used, used);
    ceni_stock_fini(&stock, NULL);
}

static void record_many(void *argument)
{
    uint64_t number = (uint64_t)(uintptr_t)argument, state = number + 1;
    for (int i = 0; i < EACH; i++) {
        ceni_compact_record(&histogram, stripe_of(number), &stock, false, any_size(&state));
        if (i % 64 == 0) ceni_stock_tend(&stock, NULL);
    }
}

TEST(threads_that_record_and_tend_lose_nothing)
{
    begin(16);
    ceni_thread threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        expect_equal(ceni_thread_start(&threads[i], "record", record_many, (void *)(i / 2), NULL),
                     CEN_OK); /* two to a stripe */
    for (int i = 0; i < THREADS; i++) ceni_thread_join(&threads[i]);
    look();
    expect_equal(seen.count, THREADS * EACH);
    ceni_stock_fini(&stock, NULL);
}
