/* SPDX-License-Identifier: MIT */
/*
 * Gives that come after their pool was freed: of leases that had been reclaimed, or whose holder had ended. The allocator
 * unmaps what is given back, so that a touch of it ends the process.
 */
#include <pthread.h>
#include <sys/mman.h>

#include "unit/pool/pools.h"

static workshop shop;

/* ---- An allocator that unmaps, and has the same place for the same size again ------------------- */

enum { AREAS = 16 };
static struct area {
    void *memory;
    size_t size;
    bool used;
} areas[AREAS];

static size_t whole(size_t size)
{
    return (size + 4095) / 4096 * 4096;
}

static void *map(void *unused, size_t size, size_t align)
{
    (void)unused, (void)align;
    for (int i = 0; i < AREAS; i++) {
        struct area *a = &areas[i];
        if (a->used || (a->memory && a->size != size)) continue;
        int fixed = a->memory ? MAP_FIXED : 0;
        a->memory = mmap(a->memory, whole(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
        expect(a->memory != MAP_FAILED);
        a->size = size;
        a->used = true;
        return a->memory;
    }
    return NULL;
}

static void unmap(void *unused, void *memory, size_t size, size_t align)
{
    (void)unused, (void)align;
    for (int i = 0; i < AREAS; i++)
        if (areas[i].memory == memory) areas[i].used = false;
    /* Nobody else may have the place meanwhile. */
    expect_equal(mprotect(memory, whole(size), PROT_NONE), 0);
}

static const cen_allocator unmapping = {.alloc = map, .free = unmap};

static void abandon_object(void *unused, void *object)
{
    (void)unused, (void)object;
}

static cen_driver_calls calls;

static cen_pool *make_unmapped(void)
{
    shop = (workshop){0};
    calls = workshop_calls;
    calls.abandon = abandon_object;
    return make_pool(.max = 2, .driver = {&calls, &shop}, .allocator = &unmapping);
}

typedef struct producer {
    cen_pool *pool;
    cen_lease leases[4];
    cen_scope scope;
} producer;

static void *take_and_end(void *argument)
{
    producer *one = argument;
    one->leases[0] = take_now(one->pool);
    return NULL;
}

static cen_lease handed_over(cen_pool *pool)
{
    producer one = {.pool = pool};
    pthread_t thread;
    expect_equal(pthread_create(&thread, NULL, take_and_end, &one), 0);
    pthread_join(thread, NULL);
    return one.leases[0];
}

/* guarantees: pool.stale-after-free */
TEST(a_give_after_free_of_a_lease_that_had_ended_is_stale)
{
    cen_pool *pool = make_unmapped();
    cen_lease lease = handed_over(pool), given = take_now(pool), copy = given;
    cen_scope scope;
    expect_equal(cen_pool_give(&given), CEN_OK);
    expect_equal(cen_pool_enter(pool, CEN_NOW, &scope, NULL), CEN_OK);
    cen_scope left = scope;
    expect_equal(cen_pool_leave(&scope), CEN_OK);
    free_pool(pool);
    cen_lease discarded = lease, detached = lease;
    expect_equal(cen_pool_give(&lease), CEN_STALE);
    expect(lease.pool == pool); /* left as it was */
    expect_equal(cen_pool_discard(&discarded), CEN_STALE);
    expect_equal(cen_pool_detach(&detached), CEN_STALE);
    expect_equal(cen_pool_give(&copy), CEN_STALE);
    expect_equal(cen_pool_leave(&left), CEN_STALE);
}

/* guarantees: pool.stale-after-free */
TEST(L8_a_lease_of_a_freed_pool_never_ends_one_of_the_next_pool)
{
    cen_pool *pool = make_unmapped();
    cen_lease old[70]; /* some of them are timed */
    for (int i = 0; i < 70; i++) {
        old[i] = take_now(pool);
        cen_lease copy = old[i];
        give_back(&copy);
    }
    free_pool(pool);
    for (int round = 0; round < 3; round++) {
        cen_pool *next = make_unmapped();
        expect(next == pool);
        for (int i = 0; i < 70; i++) {
            cen_lease mine = take_now(next), late = old[i];
            expect(mine.slot == late.slot);
            expect_equal(cen_pool_give(&late), CEN_STALE);
            expect_equal(cen_pool_discard(&late), CEN_STALE);
            expect_counts(next, 0, 1);
            give_back(&mine);
        }
        cen_pool_stats s = expect_sound(next);
        expect(s.taken == 70 && s.ended == 70);
        free_pool(next);
    }
}
