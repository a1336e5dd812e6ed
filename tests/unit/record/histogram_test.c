/* SPDX-License-Identifier: MIT */
#include "record/histogram.h"

#include <stdlib.h>

#include "port/port.h"
#include "support/test.h"

static ceni_live_histogram histogram;
static cen_histogram snapshot;

static void look(void)
{
    ceni_live_histogram_snapshot(&histogram, &snapshot);
}

/* Numbers of all sizes: as many between 2^n and 2^(n+1) for every n. */
static int64_t any_size(uint64_t *state)
{
    return (int64_t)(test_random(state) >> (1 + test_random(state) % 63));
}

/* What a percentile that falls into the value's bucket answers is this near to it. */
static void expect_within_three_percent(int64_t answer, int64_t value)
{
    uint64_t off = answer > value ? (uint64_t)answer - (uint64_t)value : (uint64_t)value - (uint64_t)answer;
    if (off > (uint64_t)value / 100 * 3 + (uint64_t)value % 100 * 3 / 100)
        test_fail(__FILE__, __LINE__, "%" PRId64 " stands for %" PRId64, answer, value);
}

/* ---- Buckets ------------------------------------------------------------- */

TEST(buckets_follow_one_another_without_gap_or_overlap)
{
    expect_equal(cen_histogram_bucket_lowest(0), 0);
    for (unsigned i = 0; i < CEN_HISTOGRAM_BUCKETS; i++) {
        int64_t low = cen_histogram_bucket_lowest(i), high = cen_histogram_bucket_highest(i);
        expect(low <= high);
        expect_equal(cen_histogram_bucket_of(low), i);
        expect_equal(cen_histogram_bucket_of(high), i);
        if (i > 0) expect_equal(low, cen_histogram_bucket_highest(i - 1) + 1);
    }
    expect_equal(cen_histogram_bucket_highest(CEN_HISTOGRAM_BUCKETS - 1), INT64_MAX);
}

TEST(every_bucket_stands_for_its_edges_within_three_percent)
{
    for (unsigned i = 0; i < CEN_HISTOGRAM_BUCKETS; i++) {
        int64_t edges[2] = {cen_histogram_bucket_lowest(i), cen_histogram_bucket_highest(i)};
        snapshot = (cen_histogram){0};
        snapshot.buckets[i] = 3;
        snapshot.count = 3;
        snapshot.largest = INT64_MAX; /* so that nothing but the bucket helps */
        int64_t answer = cen_histogram_percentile(&snapshot, 500000);
        expect_within_three_percent(answer, edges[0]);
        expect_within_three_percent(answer, edges[1]);
        if (edges[1] < 64) expect_equal(answer, edges[0]);
    }
}

/* guarantees: record.histogram */
TEST(a_value_of_any_size_is_answered_within_three_percent)
{
    uint64_t state = test_seed();
    snapshot = (cen_histogram){0};
    for (int i = 0; i < 5000; i++) {
        int64_t value = any_size(&state);
        unsigned bucket = cen_histogram_bucket_of(value);
        snapshot.buckets[bucket] = snapshot.count = 1;
        snapshot.largest = INT64_MAX;
        expect_within_three_percent(cen_histogram_percentile(&snapshot, 500000), value);
        snapshot.buckets[bucket] = 0;
    }
}

/* ---- Numbers ------------------------------------------------------------- */

TEST(an_empty_histogram_answers_zero)
{
    ceni_live_histogram_init(&histogram);
    look();
    expect_equal(snapshot.count, 0);
    expect_equal(snapshot.sum, 0);
    expect_equal(snapshot.smallest, 0);
    expect_equal(snapshot.largest, 0);
    for (uint32_t p = 0; p <= 1000000; p += 250000) expect_equal(cen_histogram_percentile(&snapshot, p), 0);
}

/* guarantees: record.histogram */
TEST(count_sum_smallest_and_largest_are_exact)
{
    uint64_t state = test_seed();
    ceni_live_histogram_init(&histogram);
    int64_t sum = 0, smallest = INT64_MAX, largest = 0;
    for (int i = 0; i < 300; i++) {
        int64_t value = any_size(&state) >> 10;
        ceni_live_histogram_record(&histogram, value);
        sum += value;
        if (value < smallest) smallest = value;
        if (value > largest) largest = value;
    }
    look();
    expect_equal(snapshot.count, 300);
    expect_equal(snapshot.sum, sum);
    expect_equal(snapshot.smallest, smallest);
    expect_equal(snapshot.largest, largest);
}

TEST(a_negative_value_counts_as_zero)
{
    ceni_live_histogram_init(&histogram);
    ceni_live_histogram_record(&histogram, INT64_MIN);
    ceni_live_histogram_record(&histogram, -1);
    look();
    expect_equal(snapshot.count, 2);
    expect_equal(snapshot.sum, 0);
    expect_equal(snapshot.largest, 0);
}

TEST(the_sum_stops_at_its_largest_value_and_stays_there)
{
    ceni_live_histogram_init(&histogram);
    ceni_live_histogram_record(&histogram, INT64_MAX);
    look();
    expect(snapshot.sum == INT64_MAX);
    for (int i = 0; i < 10; i++) { /* past 2^63, past 2^64, and on */
        ceni_live_histogram_record(&histogram, i % 2 ? INT64_MAX : 2);
        look();
        expect(snapshot.sum == INT64_MAX);
    }
    expect_equal(snapshot.count, 11);
    expect_equal(snapshot.smallest, 2);
    expect(snapshot.largest == INT64_MAX);
    ceni_live_histogram_reset(&histogram);
    ceni_live_histogram_record(&histogram, 3);
    look();
    expect_equal(snapshot.sum, 3);
}

/* ---- In the middle of a record: the states between its steps, set by hand - */

TEST(a_sum_past_its_largest_value_is_seen_before_the_flag_is_set)
{
    ceni_live_histogram_init(&histogram);
    ceni_live_histogram_record(&histogram, INT64_MAX);
    histogram.sum += 5;
    look();
    expect(snapshot.sum == INT64_MAX);
}

TEST(a_record_that_is_in_its_bucket_only_gives_limits_within_that_bucket)
{
    ceni_live_histogram_init(&histogram);
    unsigned bucket = cen_histogram_bucket_of(123456);
    histogram.buckets[bucket]++;
    look();
    expect_equal(snapshot.count, 1);
    expect_equal(cen_histogram_bucket_of(snapshot.smallest), bucket);
    expect_equal(cen_histogram_bucket_of(snapshot.largest), bucket);
    expect_equal(cen_histogram_bucket_of(cen_histogram_percentile(&snapshot, 500000)), bucket);
}

TEST(reset_forgets_everything)
{
    ceni_live_histogram_init(&histogram);
    for (int64_t value = 1; value < INT64_MAX / 3; value *= 3) ceni_live_histogram_record(&histogram, value);
    ceni_live_histogram_reset(&histogram);
    look();
    expect_equal(snapshot.count, 0);
    ceni_live_histogram_record(&histogram, 1000);
    look();
    expect_equal(snapshot.count, 1);
    expect_equal(snapshot.sum, 1000);
    expect_equal(snapshot.smallest, 1000);
    expect_equal(snapshot.largest, 1000);
    expect_equal(cen_histogram_percentile(&snapshot, 500000), 1000);
}

/* ---- Percentiles --------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return left < right ? -1 : left > right;
}

enum { VALUES = 1000 };
static int64_t values[VALUES];

/* The definition, applied to the sorted array. */
static int64_t sorted_percentile(uint32_t per_million)
{
    uint64_t rank = ((uint64_t)VALUES * per_million + 999999) / 1000000;
    return values[rank ? rank - 1 : 0];
}

/* guarantees: record.histogram */
TEST(percentiles_agree_with_a_sorted_array)
{
    uint64_t state = test_seed();
    ceni_live_histogram_init(&histogram);
    for (int i = 0; i < VALUES; i++) {
        values[i] = any_size(&state);
        ceni_live_histogram_record(&histogram, values[i]);
    }
    qsort(values, VALUES, sizeof values[0], by_value);
    look();
    for (uint32_t p = 0; p <= 1000000; p += 500)
        expect_within_three_percent(cen_histogram_percentile(&snapshot, p), sorted_percentile(p));
    expect_equal(cen_histogram_percentile(&snapshot, 0), values[0]);
    expect_equal(cen_histogram_percentile(&snapshot, 1000000), values[VALUES - 1]);
    expect_equal(cen_histogram_percentile(&snapshot, UINT32_MAX), values[VALUES - 1]);
}

TEST(percentiles_of_small_numbers_are_exact)
{
    ceni_live_histogram_init(&histogram);
    for (int i = 1; i <= 60; i++) ceni_live_histogram_record(&histogram, i);
    look();
    expect_equal(cen_histogram_percentile(&snapshot, 500000), 30);
    expect_equal(cen_histogram_percentile(&snapshot, 500001), 31);
    expect_equal(cen_histogram_percentile(&snapshot, 1), 1);
    expect_equal(cen_histogram_percentile(&snapshot, 999999), 60);
}

TEST(percentiles_of_a_huge_count_do_not_overflow)
{
    snapshot = (cen_histogram){0};
    snapshot.buckets[10] = UINT64_MAX / 2;
    snapshot.buckets[20] = UINT64_MAX / 2;
    snapshot.count = UINT64_MAX - 1;
    snapshot.smallest = 10;
    snapshot.largest = 20;
    expect_equal(cen_histogram_percentile(&snapshot, 499999), 10);
    expect_equal(cen_histogram_percentile(&snapshot, 500001), 20);
    expect_equal(cen_histogram_percentile(&snapshot, 999999), 20);
}

TEST(a_percentile_stays_between_the_smallest_and_the_largest)
{
    ceni_live_histogram_init(&histogram);
    ceni_live_histogram_record(&histogram, 1000001);
    look();
    expect_equal(cen_histogram_percentile(&snapshot, 1), 1000001);
    expect_equal(cen_histogram_percentile(&snapshot, 999999), 1000001);
}

/* ---- Merging and threads ------------------------------------------------- */

TEST(merged_snapshots_are_as_one_histogram)
{
    uint64_t state = test_seed();
    static ceni_live_histogram whole, part[2];
    static cen_histogram expected, merged;
    ceni_live_histogram_init(&whole);
    for (int i = 0; i < 2; i++) ceni_live_histogram_init(&part[i]);
    merged = (cen_histogram){0};
    cen_histogram_merge(&merged, &merged);
    expect_equal(merged.count, 0);
    for (int i = 0; i < 300; i++) {
        int64_t value = 1000 + (any_size(&state) >> 9);
        ceni_live_histogram_record(&whole, value);
        ceni_live_histogram_record(&part[i % 2], value);
    }
    for (int i = 0; i < 2; i++) {
        ceni_live_histogram_snapshot(&part[i], &snapshot);
        cen_histogram_merge(&merged, &snapshot);
    }
    ceni_live_histogram_snapshot(&whole, &expected);
    snapshot = (cen_histogram){0};
    cen_histogram_merge(&merged, &snapshot); /* nothing is added by an empty one */
    expect(memcmp(&merged, &expected, sizeof merged) == 0);
    merged.sum = INT64_MAX - 1;
    cen_histogram_merge(&merged, &expected);
    expect(merged.sum == INT64_MAX);
}

enum { THREADS = 4, ROUNDS = 300 };

static void record_many(void *argument)
{
    int64_t step = (int64_t)(intptr_t)argument;
    for (int i = 1; i <= ROUNDS; i++) ceni_live_histogram_record(&histogram, i * step);
}

/* guarantees: record.histogram */
TEST(threads_lose_no_record_and_no_extreme)
{
    ceni_live_histogram_init(&histogram);
    ceni_thread threads[THREADS];
    int code;
    for (intptr_t i = 0; i < THREADS; i++)
        expect_equal(ceni_thread_start(&threads[i], "record", record_many, (void *)(i + 1), &code), CEN_OK);
    uint64_t last = 0;
    for (int i = 0; i < 5; i++) {
        look();
        expect(snapshot.count >= last && snapshot.count <= THREADS * ROUNDS);
        expect(snapshot.count == 0 || snapshot.smallest <= snapshot.largest);
        last = snapshot.count;
    }
    for (int i = 0; i < THREADS; i++) ceni_thread_join(&threads[i]);
    look();
    expect_equal(snapshot.count, THREADS * ROUNDS);
    expect_equal(snapshot.sum, (1 + 2 + 3 + 4) * (ROUNDS * (ROUNDS + 1) / 2));
    expect_equal(snapshot.smallest, 1);
    expect_equal(snapshot.largest, 4 * ROUNDS);
}

/* ---- Histograms from elsewhere ------------------------------------------------ */

TEST(a_percentile_of_histogram_whose_count_is_too_large_looks_at_no_more_than_their_buckets)
{
    static struct {
        cen_histogram histogram;
        uint64_t beyond[8];
    } read;
    read.histogram = (cen_histogram){.count = 5, .sum = 10, .smallest = 1, .largest = 9};
    read.histogram.buckets[1] = 1;
    read.beyond[0] = 10; /* whoever comes here has found what is no bucket */
    expect_equal(cen_histogram_percentile(&read.histogram, 990000), 9);
}
