/* SPDX-License-Identifier: MIT */
/* Takes in thread-specific destructors of the program's, up to the last round that the libc has (L13). */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>

#include "unit/pool/pools.h"

/* ThreadSanitizer lets no code run in the last round, so a hook that is armed in the one before it cannot run either. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WITHOUT_LAST_ROUND 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define WITHOUT_LAST_ROUND 1
#endif
#ifndef WITHOUT_LAST_ROUND
#define WITHOUT_LAST_ROUND 0
#endif

static cen_pool *pool;
static pthread_key_t key;
static int takes_in_round, round_now;
static cen_status taken;

static void take_in_a_round(void *value)
{
    cen_lease lease;
    round_now++;
    if (round_now < takes_in_round) expect(pthread_setspecific(key, value) == 0);
    else taken = cen_pool_take(pool, cen_in_s(20), &lease, NULL); /* and never gives it */
}

/* A thread that has used the library, and then ends. */
static void *run(void *argument)
{
    cen_lease lease;
    expect_equal(cen_pool_take(pool, cen_in_s(20), &lease, NULL), CEN_OK);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    expect(pthread_setspecific(key, &round_now) == 0);
    return argument;
}

static void take_in(int round)
{
    pthread_t thread;
    cen_lease lease;
    takes_in_round = round;
    round_now = 0;
    taken = CEN_INVALID;
    expect(pthread_create(&thread, NULL, run, NULL) == 0);
    expect(pthread_join(thread, NULL) == 0);
    expect_equal(round_now, round);
    expect_equal(taken, CEN_OK);
    expect_equal(cen_pool_take(pool, cen_in_s(20), &lease, NULL), CEN_OK); /* the only object is back, or will be */
    expect_equal(cen_pool_give(&lease), CEN_OK);
}

/* The library's key is older than the program's: within a round its destructor comes first. */
static void begin(workshop *shop)
{
    *shop = (workshop){0};
    pool = make_pool(.driver = driver_of(shop), .max = 1, .on_holder_end = CEN_HOLDER_END_REUSE);
    cen_lease lease;
    expect_equal(cen_pool_take(pool, CEN_NOW, &lease, NULL), CEN_OK);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    expect(pthread_key_create(&key, take_in_a_round) == 0);
}

static void end(void)
{
    expect(pthread_key_delete(key) == 0);
    free_pool(pool);
}

/* guarantees: pool.L13-destructors */
TEST(what_a_thread_takes_in_a_round_of_destructors_before_the_last_is_taken_back)
{
    workshop shop;
    begin(&shop);
    for (int round = 1; round < PTHREAD_DESTRUCTOR_ITERATIONS - WITHOUT_LAST_ROUND; round++) take_in(round);
    end();
}

/* guarantees: pool.L13-destructors */
TEST(what_a_thread_takes_in_its_last_round_of_destructors_is_taken_back)
{
    workshop shop;
    if (WITHOUT_LAST_ROUND) {
        printf("     skipped: ThreadSanitizer lets no code run in the last round\n");
        return;
    }
    begin(&shop);
    for (int i = 0; i < 10; i++) take_in(PTHREAD_DESTRUCTOR_ITERATIONS);
    end();
}
