/* SPDX-License-Identifier: MIT */
/*
 * Lines: more pools alive than the first block of lines is for, and lines that
 * are lent again. On the real seam, where lines are kept for ever.
 */
#include <pthread.h>
#include <stdlib.h>

#include "pool/internal.h"
#include "unit/pool/pools.h"

enum { MANY = 200 };

static cen_pool *pools[MANY];
static ceni_waiters *lines[MANY];

static void use(cen_pool *pool, int number)
{
    cen_lease lease = take_now(pool);
    expect_equal(number_of(&lease), number);
    expect_none(pool);
    give_back(&lease);
    expect_counts(pool, 1, 0);
}

static void make_all(void)
{
    for (int i = 0; i < MANY; i++) {
        pools[i] = make_pool(.max = 1);
        expect_equal(cen_pool_adopt(pools[i], object_of(i), NULL), CEN_OK);
    }
}

static void free_all(void)
{
    for (int i = 0; i < MANY; i++) free_pool(pools[i]);
}

static int by_address(const void *a, const void *b)
{
    uintptr_t left = (uintptr_t) * (ceni_waiters *const *)a, right = (uintptr_t) * (ceni_waiters *const *)b;
    return (left > right) - (left < right);
}

static void sort_lines(ceni_waiters **out)
{
    for (int i = 0; i < MANY; i++) out[i] = pools[i]->waiters;
    qsort(out, MANY, sizeof out[0], by_address);
}

/* guarantees: pool-api.outlives */
TEST(two_hundred_pools_live_side_by_side_each_with_its_own_line)
{
    make_all();
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < MANY; i++) use(pools[(i * 7) % MANY], (i * 7) % MANY);
    sort_lines(lines);
    for (int i = 1; i < MANY; i++) expect(lines[i] != lines[i - 1]);
    free_all();
}

TEST(lines_are_lent_again_and_no_more_are_made_than_there_were_pools_at_a_time)
{
    ceni_waiters *again[MANY];
    make_all();
    sort_lines(lines);
    free_all();
    for (int round = 0; round < 20; round++) {
        make_all();
        for (int i = 0; i < MANY; i += 11) use(pools[i], i);
        sort_lines(again);
        expect(memcmp(again, lines, sizeof again) == 0);
        free_all();
    }
}

TEST(a_place_in_the_middle_is_lent_again_while_the_others_live)
{
    make_all();
    for (int i = 0; i < MANY; i += 3) {
        ceni_waiters *waiters = pools[i]->waiters;
        free_pool(pools[i]);
        pools[i] = make_pool(.max = 1);
        expect(pools[i]->waiters == waiters); /* the lowest that is free */
        expect_equal(cen_pool_adopt(pools[i], object_of(i), NULL), CEN_OK);
    }
    for (int i = 0; i < MANY; i++) use(pools[i], i);
    free_all();
}

/* guarantees: pool-api.outlives */
TEST(the_line_of_a_freed_pool_is_not_lent_while_something_of_it_is_out)
{
    cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.max = 1), 1);
    ceni_waiters *waiters = pool->waiters;
    cen_lease late = take_now(pool);
    free_pool(pool);
    make_all();
    for (int i = 0; i < MANY; i++) expect(pools[i]->waiters != waiters);
    expect_equal(cen_pool_give(&late), CEN_REVOKED);
    for (int i = 0; i < MANY; i++) use(pools[i], i);
    pool = make_pool(.max = 1);
    expect(pool->waiters == waiters);
    free_pool(pool);
    free_all();
}

/* What its last pool left in a line does not show in the next. */
TEST(a_line_that_was_closed_or_had_a_surplus_is_as_new_for_the_next_pool)
{
    for (int i = 0; i < 6; i++) {
        cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.max = 3, .max_barging_ns = i % 2 ? CEN_NONE : 5), 3);
        ceni_waiters *waiters = pool->waiters;
        cen_lease leases[3] = {take_now(pool), take_now(pool), take_now(pool)}, none;
        expect_equal(cen_pool_take(pool, cen_in_us(10), &none, NULL), CEN_TIMEOUT);
        expect_equal(cen_pool_resize(pool, 1, NULL), CEN_OK);
        if (i % 3 == 0) expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_TIMEOUT);
        free_pool(pool);
        for (int j = 0; j < 3; j++) expect_equal(cen_pool_give(&leases[j]), CEN_REVOKED);
        pool = make_stocked(CEN_POOL_OPTIONS(.max = 1), 1);
        expect(pool->waiters == waiters && !cen_pool_is_closed(pool));
        cen_pool_stats s = expect_sound(pool);
        expect(s.waiting == 0 && s.waited == 0 && !s.is_closed);
        use(pool, 1);
        free_pool(pool);
    }
}

/* ---- Threads that make and free pools at the same time ------------------------------------------------ */

static void *make_and_free(void *argument)
{
    int number = (int)(intptr_t)argument;
    for (int round = 0; round < 300; round++) {
        cen_pool *mine[5];
        for (int i = 0; i < 5; i++) mine[i] = make_stocked(CEN_POOL_OPTIONS(.max = 1), 0);
        for (int i = 0; i < 5; i++) expect_equal(cen_pool_adopt(mine[i], object_of(10 * number + i), NULL), CEN_OK);
        for (int i = 0; i < 5; i++) use(mine[i], 10 * number + i);
        for (int i = 0; i < 5; i++) free_pool(mine[i]);
    }
    return NULL;
}

TEST(threads_that_make_pools_at_the_same_time_never_share_a_line)
{
    enum { THREADS = 16 }; /* eighty pools at a time: more than two blocks */
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) expect_equal(pthread_create(&threads[i], NULL, make_and_free, object_of(i)), 0);
    for (int i = 0; i < THREADS; i++) expect_equal(pthread_join(threads[i], NULL), 0);
}
