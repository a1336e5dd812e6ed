/* SPDX-License-Identifier: MIT */
/*
 * A pool that the threads of a child make anew (L14). The world forks by another
 * epoch: everything that the parent left is there, and none of it may be used.
 */
#include "base/alloc.h"
#include "explore/pools.h"

static _Atomic uint32_t abandoned;

static void abandon_thing(void *unused, void *object)
{
    (void)unused;
    thing *others = object;
    uint32_t is_open = 1;
    expect(ceni_cas_relaxed(&others->is_open, &is_open, 0)); /* once */
    ceni_add_relaxed(&abandoned, 1);
}

static void close_own(void *unused, void *object)
{
    expect(object != &things[0] && object != &things[1]);
    close_thing(unused, object);
}

static _Atomic uint32_t failures; /* allocations of the child that fail */

static void *alloc_or_fail(void *unused, size_t size, size_t align)
{
    (void)unused;
    uint32_t one = 1;
    if (ceni_cas_seq_cst(&failures, &one, 0u)) return NULL;
    return ceni_alloc(NULL, size, align);
}

static void free_it(void *unused, void *memory, size_t size, size_t align)
{
    (void)unused;
    ceni_free(NULL, memory, size, align);
}

static const cen_allocator failing = {.alloc = alloc_or_fail, .free = free_it};

/* One object was held by main at the fork, and one is idle. */
static cen_lease fork_with_two(void)
{
    static const cen_driver_calls calls = {
        .size = sizeof calls, .open = open_thing, .close = close_own, .abandon = abandon_thing};
    begin(4);
    abandoned = 0;
    ceni_store_seq_cst(&failures, 0u); /* a schedule that was cut off may have left one */
    cen_pool_options options =
        CEN_POOL_OPTIONS(.max = 2, .driver = {&calls, NULL}, .on_fork = CEN_FORK_RENEW, .allocator = &failing);
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    cen_lease held = take_one(), idle = take_one();
    give_one(idle);
    ceni_world_fork();
    return held;
}

static void expect_anew(const taker *one)
{
    expect_equal(one->status, CEN_OK);
    expect(one->lease.object != &things[0] && one->lease.object != &things[1]);
}

static void end_anew(uint32_t idle)
{
    expect_equal(abandoned, 2);
    expect_rest(idle);
    expect_equal(cen_pool_free(pool), CEN_OK);
}

/* guarantees: pool.L14 */
EXPLORE(L14_two_threads_of_a_child_that_both_come_first_make_the_pool_anew_once, 3)
{
    fork_with_two();
    taker mine = {.deadline = CEN_NOW}, other = mine;
    ceni_thread taking = start("take", take_and_give, &other);
    take_and_give(&mine); /* with the hints of before the fork */
    join(taking);
    expect_anew(&mine);
    expect_anew(&other);
    end_anew(opens - 2);
}

/* guarantees: pool.L14 */
EXPLORE(L14_an_old_lease_that_is_given_while_the_pool_is_made_anew_answers_forked, 3)
{
    cen_lease held = fork_with_two();
    taker other = {.deadline = CEN_NOW};
    ceni_thread taking = start("take", take_and_give, &other);
    expect_equal(cen_pool_give(&held), CEN_FORKED);
    expect_equal(cen_pool_detach(&held), CEN_FORKED);
    join(taking);
    expect_anew(&other);
    expect_equal(cen_pool_give(&held), CEN_FORKED);
    end_anew(1);
}

/* The first that renews the pool has no memory. The other one finds that out, although it sleeps. */
/* guarantees: park.owned */
EXPLORE(L14_one_who_waits_for_a_renewal_that_fails_renews_the_pool_itself, 2)
{
    fork_with_two();
    ceni_store_seq_cst(&failures, 1u);
    taker mine = {.deadline = CEN_NOW}, other = mine;
    ceni_thread taking = start("take", take_and_give, &other);
    take_and_give(&mine);
    join(taking);
    expect((mine.status == CEN_NO_MEMORY) != (other.status == CEN_NO_MEMORY));
    expect_anew(mine.status == CEN_OK ? &mine : &other);
    end_anew(1);
}
