/* SPDX-License-Identifier: MIT */
/* The histogram under every schedule: nothing is lost. */
#include "record/histogram.h"
#include "support/world.h"

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

/* guarantees: record.histogram */
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

/* guarantees: record.histogram */
EXPLORE(two_records_of_one_bucket_are_two, 4)
{
    begin_histogram();
    ceni_thread a = start("a", record_the_same, NULL), b = start("b", record_the_same, NULL);
    join(a);
    join(b);
    expect_equal(ceni_load_relaxed(&histogram.buckets[cen_histogram_bucket_of(40)]), 2);
    expect_equal(ceni_load_relaxed(&histogram.sum), 80);
}
