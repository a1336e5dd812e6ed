/* SPDX-License-Identifier: MIT */
/* Closes and gives that are told when they are over, under every schedule: told once, and by whoever was last. */
#include <cenote/pool_async.h>

#include "explore/lives.h"

static cen_close_op closing;
static cen_close_report report;
static cen_future future;
static _Atomic uint32_t told;

static void hear(cen_close_op *one)
{
    expect(one == &closing);
    expect_equal(ceni_add_seq_cst(&told, 1), 0); /* once */
}

static void close_then(void *unused)
{
    (void)unused;
    cen_close_op_init(&closing, hear, cen_inline());
    report = CEN_SIZED(cen_close_report);
    closing.report = &report;
    expect_equal(cen_pool_close_async(pool, CEN_NEVER, &closing), CEN_OK);
}

static void begin_with(uint32_t max)
{
    ceni_store_seq_cst(&told, 0);
    make_living(&tested_calls, (cen_pool_options){.max = max, NO_LIMITS});
}

/* guarantees: async.outcome */
EXPLORE(L15_a_close_that_meets_the_last_give_is_told_once, 4)
{
    begin_with(1);
    taker one = {.lease = take_one()};
    ceni_thread giver = start("give", give_lease, &one);
    close_then(NULL);
    join(giver);
    expect_equal(ceni_load_seq_cst(&told), 1);
    expect(closing.future.status == CEN_OK && report.given + report.idle == 1);
    end();
}

/* guarantees: async.outcome */
EXPLORE(L15_a_close_that_meets_two_gives_is_told_once, 2)
{
    begin_with(2);
    taker one = {.lease = take_one()}, two = {.lease = take_one()};
    ceni_thread a = start("give", give_lease, &one), b = start("give too", give_lease, &two);
    close_then(NULL);
    join(a);
    join(b);
    expect_equal(ceni_load_seq_cst(&told), 1);
    expect(closing.future.status == CEN_OK && report.given + report.idle == 2);
    end();
}

static void let_time_pass(void *unused)
{
    (void)unused;
    expect_equal(cen_runtime_advance(runtime, SECOND), CEN_OK);
}

/* guarantees: async.outcome */
EXPLORE(L15_a_close_whose_deadline_meets_the_last_give_is_told_once, 3)
{
    ceni_store_seq_cst(&told, 0);
    make_timed(&tested_calls, (cen_pool_options){.max = 1, NO_LIMITS});
    taker one = {.lease = take_one()};
    cen_close_op_init(&closing, hear, cen_inline());
    report = CEN_SIZED(cen_close_report);
    closing.report = &report;
    expect_equal(cen_pool_close_async(pool, cen_in_ns(SECOND), &closing), CEN_OK);
    ceni_thread time = start("time", let_time_pass, NULL);
    cen_status given = cen_pool_give(&one.lease);
    join(time);
    expect_equal(ceni_load_seq_cst(&told), 1);
    expect(given == CEN_OK || given == CEN_REVOKED);
    expect(closing.future.status == CEN_OK || closing.future.status == CEN_TIMEOUT);
    if (given == CEN_OK) expect(report.revoked == 0);
    end_timed();
}

/* The future may be gone as soon as it is done. */
/* guarantees: async.outcome */
EXPLORE(a_give_that_is_reset_meanwhile_is_told_once_and_then_left_alone, 1)
{
    make_living(&checked_calls, (cen_pool_options){.max = 1, NO_LIMITS});
    cen_lease lease;
    expect_equal(cen_pool_take(pool, CEN_NEVER, &lease, NULL), CEN_OK);
    condition = CEN_DIRTY;
    cen_future_init(&future);
    expect_equal(cen_pool_give_async(&lease, &future), CEN_OK);
    expect_equal(cen_future_wait(&future, CEN_NEVER), CEN_OK);
    expect_equal(future.status, CEN_OK);
    future = (cen_future){.status = CEN_BUSY}; /* the program's again */
    expect_equal(cen_pool_close(pool, CEN_NEVER, NULL, NULL), CEN_OK);
    end_helped();
    expect_equal(future.status, CEN_BUSY);
}
