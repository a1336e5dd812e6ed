/* SPDX-License-Identifier: MIT */
/*
 * A take that another thread of the world makes, and whose outcome can be
 * looked at before it has returned.
 */
#ifndef TESTS_UNIT_POOL_TAKERS_H
#define TESTS_UNIT_POOL_TAKERS_H

#include "support/world.h"
#include "unit/pool/pools.h"

typedef struct taker {
    cen_pool *pool;
    cen_deadline deadline;
    cen_lease lease;
    cen_error error;
    cen_status status;
    cen_priority priority;
    bool returned;
    int64_t returned_at;
    ceni_thread thread;
} taker;

static inline void run_taker(void *argument)
{
    taker *one = argument;
    one->status = cen_pool_take_priority(one->pool, one->priority, one->deadline, &one->lease, &one->error);
    if (one->status == CEN_OK) expect_equal(cen_pool_detach(&one->lease), CEN_OK); /* it outlives this thread */
    one->returned_at = cen_clock();
    one->returned = true;
}

/* Starts the take and lets it run until it waits or has returned. */
static inline void begin_take_as(taker *one, cen_pool *pool, cen_priority priority, cen_deadline deadline)
{
    *one = (taker){.pool = pool, .deadline = deadline, .priority = priority};
    one->thread = start("taker", run_taker, one);
    ceni_world_settle();
}

static inline void begin_take(taker *one, cen_pool *pool, cen_deadline deadline)
{
    begin_take_as(one, pool, CEN_PRIORITY_NORMAL, deadline);
}

static inline void expect_waiting(taker *one)
{
    ceni_world_settle();
    expect(!one->returned);
}

static inline void expect_answer(taker *one, cen_status status)
{
    ceni_world_settle();
    expect(one->returned);
    join(one->thread);
    expect_equal(one->status, status);
}

/* It got the object of this number. */
static inline void expect_taken(taker *one, int number)
{
    expect_answer(one, CEN_OK);
    expect_equal(number_of(&one->lease), number);
}

#endif
