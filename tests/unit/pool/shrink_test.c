/* SPDX-License-Identifier: MIT */
/* The memory of slots beyond a smaller max is given back. In a world each slot is a block of its own. */
#include "pool/internal.h"
#include "unit/pool/pools.h"

enum { MANY = 200 };

static workshop shop;
static cen_pool *pool;
static cen_lease leases[MANY];

static void prepare(uint32_t max)
{
    shop = (workshop){0};
    pool = make_pool(.name = "elastic", .max = max, .driver = driver_of(&shop));
}

static void resize(uint32_t max)
{
    expect_equal(cen_pool_resize(pool, max, NULL), CEN_OK);
    expect_sound(pool);
}

static void take_some(int first, int end)
{
    for (int i = first; i < end; i++) leases[i] = take_now(pool);
}

static void give_some(int first, int end)
{
    for (int i = first; i < end; i++) give_back(&leases[i]);
}

static uint64_t given_back(void)
{
    return ceni_setting(&pool->given_back);
}

TEST(a_smaller_max_gives_back_the_slots_that_were_in_use)
{
    prepare(1);
    resize(MANY);
    expect_equal(given_back(), 0);
    take_some(0, 100);
    give_some(0, 100);
    resize(10);
    expect_equal(given_back(), 90); /* the others were never made */
    expect_equal(ceni_place_reach(pool), 10);
    resize(10);
    expect_equal(given_back(), 90);
    free_pool(pool);
    expect_equal(shop.closed, 100);
}

/* guarantees: pool.L16-shrink */
TEST(slots_that_are_emptied_after_a_smaller_max_are_given_back_one_by_one)
{
    prepare(MANY);
    take_some(0, MANY);
    resize(10);
    expect_equal(given_back(), 0);
    expect_equal(ceni_place_reach(pool), MANY);
    give_some(100, MANY);
    expect_equal(given_back(), MANY - 100);
    expect_equal(ceni_place_reach(pool), 100);
    give_some(0, 100);
    expect_counts(pool, 10, 0);
    expect_equal(given_back(), MANY - 10 - 10); /* ten objects are left beyond max, and ten places below it are free */
    free_pool(pool);
    expect_equal(shop.closed, MANY);
}

/* guarantees: pool.L16-shrink */
TEST(a_slot_in_use_beyond_max_is_not_given_back)
{
    prepare(8);
    take_some(0, 8);
    give_some(0, 7);
    resize(2);
    expect_equal(number_of(&leases[7]), 8);
    give_back(&leases[7]);
    expect(given_back() >= 5);
    free_pool(pool);
}

/* guarantees: pool.L16-shrink */
TEST(L8_a_late_give_into_a_slot_that_was_given_back_is_stale)
{
    prepare(4);
    take_some(0, 4);
    cen_lease late = leases[3];
    give_some(0, 4);
    resize(1);
    cen_lease again = late, third = late;
    expect_equal(cen_pool_give(&again), CEN_STALE);
    expect_equal(again.generation, late.generation);
    resize(4);
    for (int round = 0; round < 3; round++) {
        take_some(0, 4);
        again = late;
        expect_equal(cen_pool_give(&again), CEN_STALE);
        give_some(0, 4);
    }
    expect_equal(cen_pool_discard(&third), CEN_STALE);
    expect_counts(pool, 4, 0);
    free_pool(pool);
}

/* guarantees: pool.L16-shrink */
TEST(leases_are_counted_across_any_number_of_resizes)
{
    prepare(1);
    uint64_t taken = 0;
    for (int round = 0; round < 5; round++) {
        int count = 20 + 30 * round;
        resize((uint32_t)count);
        take_some(0, count);
        taken += (uint64_t)count;
        expect_equal(expect_sound(pool).taken, taken);
        give_some(0, count);
        resize(1 + (uint32_t)round);
        cen_pool_stats s = expect_sound(pool);
        expect_equal(s.taken, taken);
        expect_equal(s.ended, taken);
        expect_equal(s.opened - s.closed, s.idle);
    }
    free_pool(pool);
}

TEST(a_pool_that_follows_in_the_same_struct_begins_above_what_was_given_back)
{
    prepare(3);
    take_some(0, 3);
    cen_lease late = leases[2];
    give_some(0, 3);
    resize(1);
    free_pool(pool);
    prepare(3);
    take_some(0, 3);
    expect(leases[2].generation > late.generation);
    if (late.pool == pool) expect_equal(cen_pool_give(&late), CEN_STALE);
    give_some(0, 3);
    free_pool(pool);
}
