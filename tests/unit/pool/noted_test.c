/* SPDX-License-Identifier: MIT */
/*
 * The end of a thread that holds something costs what it holds (noted.c). The program is linked so that the slots and
 * directories that the ending thread looks at are counted.
 */
#include <pthread.h>
#include <semaphore.h>

#include "pool/slot.h"
#include "record/directory.h"
#include "unit/pool/pools.h"

enum { LARGE = 4096, POOLS = 40, FEW_LOOKS = 200 };

uint64_t __real_ceni_slot_word(ceni_slot *slot);
uint64_t __wrap_ceni_slot_word(ceni_slot *slot);
void __real_ceni_directory_each(ceni_directory *directory, void (*visit)(void *, ceni_directory_entry *),
                                void *argument);
void __wrap_ceni_directory_each(ceni_directory *directory, void (*visit)(void *, ceni_directory_entry *),
                                void *argument);

static _Thread_local bool counts;
static unsigned looks, walks; /* of the thread that counts */

uint64_t __wrap_ceni_slot_word(ceni_slot *slot)
{
    if (counts) looks++;
    return __real_ceni_slot_word(slot);
}

void __wrap_ceni_directory_each(ceni_directory *directory, void (*visit)(void *, ceni_directory_entry *),
                                void *argument)
{
    if (counts) walks++;
    __real_ceni_directory_each(directory, visit, argument);
}

static workshop shop;
static cen_pool *pool, *pools[POOLS];
static sem_t passed_on, given;
static cen_lease passed;

static cen_lease take_from(cen_pool *from)
{
    cen_lease lease;
    expect_equal(cen_pool_take(from, CEN_NOW, &lease, NULL), CEN_OK);
    return lease;
}

/* A pool all of whose objects are there. */
static cen_pool *make_full(uint32_t max)
{
    static cen_lease leases[LARGE];
    cen_pool *made = make_pool(.max = max, .driver = driver_of(&shop), .on_holder_end = CEN_HOLDER_END_REUSE);
    for (uint32_t i = 0; i < max; i++) leases[i] = take_from(made);
    for (uint32_t i = 0; i < max; i++) expect_equal(cen_pool_give(&leases[i]), CEN_OK);
    return made;
}

static void run_to_the_end(void *(*run)(void *))
{
    pthread_t thread;
    looks = walks = 0;
    expect_equal(pthread_create(&thread, NULL, run, NULL), 0);
    expect_equal(pthread_join(thread, NULL), 0);
}

static uint32_t held_in(cen_pool *of)
{
    cen_pool_stats stats = CEN_SIZED(cen_pool_stats);
    expect_equal(cen_pool_stats_get(of, &stats), CEN_OK);
    return stats.held;
}

static void *take_three(void *unused)
{
    for (int i = 0; i < 3; i++) take_from(pool);
    counts = true;
    return unused;
}

/* guarantees: pool.thread-end-cost */
TEST(the_end_of_a_thread_looks_at_what_it_holds_and_not_at_all_slots)
{
    shop = (workshop){0};
    pool = make_full(LARGE);
    run_to_the_end(take_three);
    expect_equal(held_in(pool), 0);
    expect(looks > 0 && looks < FEW_LOOKS);
    expect_equal(walks, 0);
    free_pool(pool);
}

/* Pools share places for hints. */
static void *take_from_a_third(void *unused)
{
    for (int i = 0; i < POOLS; i += 3) {
        cen_lease lease = take_from(pools[i]);
        if (i % 2) expect_equal(cen_pool_give(&lease), CEN_OK);
        lease = take_from(pools[i + 1 < POOLS ? i + 1 : i]);
        expect_equal(cen_pool_give(&lease), CEN_OK);
    }
    counts = true;
    return unused;
}

/* guarantees: pool.thread-end-cost */
TEST(the_end_of_a_thread_finds_what_it_holds_in_some_of_many_pools)
{
    shop = (workshop){0};
    for (int i = 0; i < POOLS; i++) pools[i] = make_full(2);
    run_to_the_end(take_from_a_third);
    for (int i = 0; i < POOLS; i++) expect_equal(held_in(pools[i]), 0);
    expect(looks < FEW_LOOKS);
    expect_equal(walks, 0);
    for (int i = 0; i < POOLS; i++) free_pool(pools[i]);
}

static void *take_very_many(void *unused)
{
    for (int i = 0; i < 100; i++) take_from(pool);
    return unused;
}

/* guarantees: pool.thread-end-cost */
TEST(the_end_of_a_thread_finds_all_that_it_holds_however_much_that_is)
{
    shop = (workshop){0};
    pool = make_full(128);
    run_to_the_end(take_very_many);
    expect_equal(held_in(pool), 0);
    free_pool(pool);
}

static void *take_from_all(void *unused)
{
    for (int i = 0; i < 2 * POOLS; i++) take_from(pools[i % POOLS]);
    counts = true;
    return unused;
}

TEST(the_end_of_a_thread_finds_all_that_it_holds_in_however_many_pools)
{
    shop = (workshop){0};
    for (int i = 0; i < POOLS; i++) pools[i] = make_full(2);
    run_to_the_end(take_from_all);
    for (int i = 0; i < POOLS; i++) expect_equal(held_in(pools[i]), 0);
    expect(walks > 0);
    for (int i = 0; i < POOLS; i++) free_pool(pools[i]);
}

static void *pass_on_and_keep_two(void *unused)
{
    take_from(pool);
    for (int i = 0; i < 100; i++) {
        passed = take_from(pool);
        sem_post(&passed_on);
        while (sem_wait(&given) != 0) continue;
    }
    take_from(pool);
    counts = true;
    return unused;
}

static void *give_what_is_passed_on(void *unused)
{
    for (int i = 0; i < 100; i++) {
        while (sem_wait(&passed_on) != 0) continue;
        expect_equal(cen_pool_give(&passed), CEN_OK);
        take_from(pool); /* so that the next is another slot */
        sem_post(&given);
    }
    return unused;
}

/* guarantees: pool.thread-end-cost */
TEST(a_thread_whose_leases_others_give_looks_at_few_slots_when_it_ends)
{
    shop = (workshop){0};
    expect(sem_init(&passed_on, 0, 0) == 0 && sem_init(&given, 0, 0) == 0);
    pool = make_full(256);
    pthread_t giver;
    expect_equal(pthread_create(&giver, NULL, give_what_is_passed_on, NULL), 0);
    run_to_the_end(pass_on_and_keep_two);
    expect_equal(pthread_join(giver, NULL), 0);
    expect_equal(held_in(pool), 0);
    expect(looks < FEW_LOOKS);
    expect_equal(walks, 0);
    free_pool(pool);
}

static void *take_from_one_that_is_freed(void *unused)
{
    cen_pool *freed = make_full(4);
    cen_lease lease = take_from(freed), other = take_from(pool);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    free_pool(freed);
    freed = make_full(4); /* most likely in the same memory */
    pools[0] = freed;
    expect_equal(cen_pool_give(&other), CEN_OK);
    take_from(pool);
    return unused;
}

/* guarantees: pool.thread-end-cost */
TEST(the_end_of_a_thread_leaves_the_next_pool_alone_that_has_the_memory_of_one_that_was_freed)
{
    shop = (workshop){0};
    pool = make_full(4);
    run_to_the_end(take_from_one_that_is_freed);
    expect_equal(held_in(pool), 0);
    expect_equal(held_in(pools[0]), 0);
    free_pool(pool);
    free_pool(pools[0]);
}
