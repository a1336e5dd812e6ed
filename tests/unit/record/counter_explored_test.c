/* SPDX-License-Identifier: MIT */
/* Counters and the histogram under every schedule: nothing is lost. */
#include "record/counter.h"
#include "record/histogram.h"
#include "support/world.h"

static ceni_counters counters;

static void add_twice(void *argument)
{
    (void)argument;
    ceni_counters_add(&counters, 0, 1);
    ceni_counters_add(&counters, 0, 1);
}

EXPLORE(threads_of_one_shard_lose_no_count_and_a_reader_sees_it_grow, 4)
{
    ceni_world_set_cpus(1); /* one shard */
    expect_equal(ceni_counters_init(&counters, 1, NULL), CEN_OK);
    expect_equal(counters.mask, 0);
    ceni_thread a = start("a", add_twice, NULL), b = start("b", add_twice, NULL);
    int64_t early = ceni_counters_sum(&counters, 0), late = ceni_counters_sum(&counters, 0);
    expect(early <= late);
    join(a);
    join(b);
    expect_equal(ceni_counters_sum(&counters, 0), 4);
    ceni_counters_fini(&counters);
}

static ceni_live_histogram histogram;

static void record_up(void *argument)
{
    (void)argument;
    ceni_live_histogram_record(&histogram, 40);
    ceni_live_histogram_record(&histogram, 60);
}

static void record_down(void *argument)
{
    (void)argument;
    ceni_live_histogram_record(&histogram, 50);
    ceni_live_histogram_record(&histogram, 30);
}

static void record_the_same(void *argument)
{
    (void)argument;
    ceni_live_histogram_record(&histogram, 40);
}

/* Without init, whose many stores the search would take for interesting. */
static void begin_histogram(void)
{
    memset(&histogram, 0, sizeof histogram);
    histogram.smallest = INT64_MAX;
    histogram.largest = -1;
}

EXPLORE(two_threads_that_widen_the_limits_lose_neither, 3)
{
    begin_histogram();
    ceni_thread a = start("up", record_up, NULL), b = start("down", record_down, NULL);
    join(a);
    join(b);
    expect_equal(ceni_load_relaxed(&histogram.smallest), 30);
    expect_equal(ceni_load_relaxed(&histogram.largest), 60);
    expect_equal(ceni_load_relaxed(&histogram.sum), 180);
}

EXPLORE(two_records_of_one_bucket_are_two, 4)
{
    begin_histogram();
    ceni_thread a = start("a", record_the_same, NULL), b = start("b", record_the_same, NULL);
    join(a);
    join(b);
    expect_equal(ceni_load_relaxed(&histogram.buckets[cen_histogram_bucket_of(40)]), 2);
    expect_equal(ceni_load_relaxed(&histogram.sum), 80);
}
