/* SPDX-License-Identifier: MIT */
/*
 * A million objects. Nothing here may cost a look at every slot per take: the
 * test would then not end before its alarm.
 */
#include <stdlib.h>

#include "pool/internal.h"
#include "unit/pool/pools.h"

enum { MOST = CEN_POOL_MAX };

static cen_lease *leases;

/* Objects are numbers from 1; nothing is remembered about each. */
typedef struct counts {
    uint32_t opened, closed;
    uint64_t closed_sum;
} counts;

static cen_status count_open(void *argument, void **out, cen_error *error)
{
    counts *all = argument;
    (void)error;
    *out = (void *)(uintptr_t)++all->opened;
    return CEN_OK;
}

static void count_close(void *argument, void *object)
{
    counts *all = argument;
    all->closed++;
    all->closed_sum += (uintptr_t)object;
}

static const cen_driver_calls count_calls = {
    .size = sizeof(cen_driver_calls), .open = count_open, .close = count_close};

static void take_all(cen_pool *pool, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) leases[i] = take_now(pool);
    expect_none(pool);
}

static void give_all(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) give_back(&leases[i]);
}

/* Every object is lent exactly once. */
static void expect_all_different(uint32_t count)
{
    unsigned char *seen = calloc(count + 1, 1);
    for (uint32_t i = 0; i < count; i++) {
        uintptr_t number = (uintptr_t)leases[i].object;
        expect(number >= 1 && number <= count && !seen[number]);
        seen[number] = 1;
    }
    free(seen);
}

/* guarantees: pool-api.size */
TEST(a_million_objects_are_made_lent_given_and_lent_again)
{
    counts all = {0};
    leases = malloc(MOST * sizeof *leases);
    cen_pool *pool = make_pool(.max = MOST, .driver = {&count_calls, &all});
    for (int round = 0; round < 2; round++) {
        take_all(pool, MOST);
        expect_all_different(MOST);
        expect_counts(pool, 0, MOST);
        give_all(MOST);
        expect_counts(pool, MOST, 0);
    }
    expect_equal(all.opened, MOST);
    free_pool(pool);
    expect_equal(all.closed, MOST);
    expect_equal(all.closed_sum, (uint64_t)MOST * (MOST + 1) / 2);
    free(leases);
}

/* guarantees: pool-api.size */
TEST(one_idle_object_among_a_million_is_found_without_looking_at_all)
{
    enum { ROUNDS = 200000 };
    counts all = {0};
    uint64_t seed = test_seed();
    leases = malloc(MOST * sizeof *leases);
    cen_pool *pool = make_pool(.max = MOST, .driver = {&count_calls, &all}, .eager = true);
    expect_equal(all.opened, MOST);
    take_all(pool, MOST);
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t which = (uint32_t)(test_random(&seed) % MOST);
        void *object = leases[which].object;
        give_back(&leases[which]);
        leases[which] = take_now(pool);
        expect(leases[which].object == object);
        if (round % 10 == 0) expect_none(pool);
    }
    expect_counts(pool, 0, MOST);
    give_all(MOST);
    free_pool(pool);
    expect_equal(all.closed, MOST);
    free(leases);
}

/* guarantees: pool-api.size */
TEST(a_pool_grows_to_a_million_in_the_smallest_steps_and_shrinks_to_one)
{
    counts all = {0};
    leases = malloc(MOST * sizeof *leases);
    cen_pool *pool = make_pool(.max = 1, .driver = {&count_calls, &all});
    uint32_t taken = 0, places = 1;
    while (places < MOST) { /* each resize needs one place more than there are */
        expect_equal(cen_pool_resize(pool, places + 1, NULL), CEN_OK);
        while (taken < places + 1) leases[taken++] = take_now(pool);
        cen_pool_stats s = CEN_SIZED(cen_pool_stats);
        expect_equal(cen_pool_stats_get(pool, &s), CEN_OK);
        expect(s.places > places);
        places = s.places;
    }
    expect_equal(places, MOST);
    expect(pool->chunk_count <= CENI_CHUNKS);
    expect_equal(cen_pool_resize(pool, MOST, NULL), CEN_OK);
    while (taken < MOST) leases[taken++] = take_now(pool);
    expect_none(pool);
    expect_all_different(MOST);
    give_all(MOST);
    expect_equal(cen_pool_resize(pool, 1, NULL), CEN_OK);
    expect_equal(all.closed, MOST - 1);
    expect_equal(all.closed_sum, (uint64_t)MOST * (MOST + 1) / 2 - 1); /* the first has stayed */
    expect_counts(pool, 1, 0);
    free_pool(pool);
    free(leases);
}

TEST(a_million_objects_in_an_exact_order_go_round)
{
    enum { ROUNDS = 100000 };
    counts all = {0};
    cen_pool *pool = make_pool(.max = MOST, .driver = {&count_calls, &all}, .eager = true, .order = CEN_ORDER_FIFO);
    for (int round = 0; round < ROUNDS; round++) {
        cen_lease lease = take_now(pool);
        expect_equal((uintptr_t)lease.object, round + 1);
        give_back(&lease);
    }
    free_pool(pool);
    expect_equal(all.closed, MOST);
}
