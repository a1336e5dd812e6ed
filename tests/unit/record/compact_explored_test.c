/* SPDX-License-Identifier: MIT */
/* The compact histogram under every schedule: nothing is counted twice or lost, whoever has the first of a line. */
#include "record/compact.h"
#include "support/world.h"

static ceni_compact histogram;
static ceni_compact_stripe stripe;
static ceni_stock stock;
static cen_histogram seen;

static void begin(uint32_t lines)
{
    expect(ceni_stock_init(&stock, lines, NULL));
    ceni_compact_init(&histogram);
    ceni_stripe_init(&stripe);
}

static void record_one(void *into)
{
    ceni_compact_record(&histogram, into, &stock, false, 3);
}

static void look_and_end(uint64_t count)
{
    ceni_compact_snapshot(&histogram, &stripe, 1, &stock, &seen);
    expect_equal(seen.count, count);
    expect_equal(seen.sum, 3 * count);
    expect_equal(seen.buckets[3] + seen.buckets[16], count);
    ceni_stock_fini(&stock, NULL);
}

EXPLORE(two_who_count_the_first_of_a_line_are_both_counted, 4)
{
    begin(2);
    ceni_thread other = start("record", record_one, NULL);
    record_one(NULL);
    join(other);
    record_one(NULL);
    expect_equal(stock.used, 1);
    look_and_end(3);
}

EXPLORE(two_stripes_that_have_one_line_left_are_both_counted, 4)
{
    begin(1);
    ceni_thread other = start("record", record_one, &stripe);
    record_one(NULL);
    join(other);
    look_and_end(2);
}

static void tend(void *unused)
{
    (void)unused;
    ceni_stock_tend(&stock, NULL);
}

EXPLORE(two_who_tend_beside_one_who_counts_add_one_block, 3)
{
    begin(1);
    ceni_thread a = start("tend", tend, NULL), b = start("record", record_one, &stripe);
    tend(NULL);
    join(a);
    join(b);
    expect(stock.room >= 2);
    look_and_end(1);
}
