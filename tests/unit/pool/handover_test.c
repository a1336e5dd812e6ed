/* SPDX-License-Identifier: MIT */
/*
 * A producer takes an object, hands its lease to a consumer and ends. The consumer still uses the object. AddressSanitizer
 * sees a use after free here if the object is closed under the consumer.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "unit/pool/pools.h"

enum { BYTES = 4096 };
static cen_pool *pool;
static _Atomic int closed, abandoned;

static cen_status open_buffer(void *unused, void **out, cen_error *error)
{
    (void)unused, (void)error;
    *out = malloc(BYTES);
    return *out ? CEN_OK : CEN_NO_MEMORY;
}

static void close_buffer(void *unused, void *object)
{
    (void)unused;
    closed++;
    free(object);
}

static void abandon_buffer(void *unused, void *object)
{
    (void)unused, (void)object;
    abandoned++;
}

static void *produce(void *out)
{
    expect_equal(cen_pool_take(pool, CEN_NOW, out, NULL), CEN_OK);
    return NULL;
}

static void *produce_and_exit(void *out)
{
    produce(out);
    pthread_exit(NULL);
}

static void *produce_and_be_cancelled(void *out)
{
    produce(out);
    for (;;) pthread_testcancel();
    return NULL;
}

static cen_lease lease;

static void hand_over(void *(*how)(void *), bool cancels)
{
    pthread_t producer;
    closed = 0;
    lease = (cen_lease){.pool = NULL};
    expect_equal(pthread_create(&producer, NULL, how, &lease), 0);
    if (cancels) pthread_cancel(producer);
    pthread_join(producer, NULL);
}

static void expect_usable(bool place_is_free)
{
    memset(lease.object, 7, BYTES);
    expect_equal(closed, 0);
    cen_lease next;
    expect_equal(cen_pool_try_take(pool, &next, NULL), place_is_free ? CEN_OK : CEN_EMPTY);
    if (place_is_free) give_back(&next);
    memset(lease.object, 8, BYTES);
    expect_equal(cen_pool_give(&lease), CEN_REVOKED);
    expect_equal(closed, 1);
}

/* guarantees: pool.L13-orphan */
TEST(L13_a_consumer_may_use_and_give_what_a_producer_took_that_has_ended)
{
    for (int abandons = 0; abandons < 2; abandons++) {
        cen_driver_calls calls = {.size = sizeof calls,
                                  .open = open_buffer,
                                  .close = close_buffer,
                                  .abandon = abandons ? abandon_buffer : NULL};
        abandoned = 0;
        pool = make_pool(.max = 1, .driver = {&calls, NULL});
        hand_over(produce, false);
        expect_usable(abandons);
        hand_over(produce_and_exit, false);
        expect_usable(abandons);
        expect_equal(abandoned, abandons * 2);
        free_pool(pool);
    }
}

/* guarantees: pool.L13-orphan */
TEST(L13_a_consumer_may_use_and_give_what_a_cancelled_producer_took)
{
    cen_driver_calls calls = {
        .size = sizeof calls, .open = open_buffer, .close = close_buffer, .abandon = abandon_buffer};
    pool = make_pool(.max = 1, .driver = {&calls, NULL});
    hand_over(produce_and_be_cancelled, true);
    expect_usable(true);
    free_pool(pool);
}
