/* SPDX-License-Identifier: MIT */
/* What a pool that was large for a while keeps: next to no memory, and no time of a look. */
#include <stdlib.h>
#include <time.h>

#include "unit/pool/pools.h"

enum { LARGE = 200000, SMALL = 10 };

static cen_status open_number(void *argument, void **out, cen_error *error)
{
    uintptr_t *last = argument;
    (void)error;
    *out = (void *)++*last;
    return CEN_OK;
}

static void close_number(void *argument, void *object)
{
    (void)argument, (void)object;
}

static const cen_driver_calls number_calls = {.size = sizeof number_calls, .open = open_number, .close = close_number};

static uintptr_t last;
static cen_lease leases[LARGE];

static cen_pool *make_small(const cen_allocator *allocator)
{
    return make_pool(.max = SMALL, .driver = {&number_calls, &last}, .allocator = allocator);
}

/* All of a larger pool are lent and given, and nearly all of them go. */
static void swell(cen_pool *pool)
{
    expect_equal(cen_pool_resize(pool, LARGE, NULL), CEN_OK);
    for (int i = 0; i < LARGE; i++) leases[i] = take_now(pool);
    expect_sound(pool);
    for (int i = 0; i < LARGE; i++) give_back(&leases[i]);
    expect_equal(cen_pool_resize(pool, SMALL, NULL), CEN_OK);
    expect_counts(pool, SMALL, 0);
}

/* The quickest of many looks. */
static int64_t look_ns(cen_pool *pool)
{
    int64_t best = INT64_MAX;
    for (int i = 0; i < 200; i++) {
        struct timespec from, to;
        clock_gettime(CLOCK_MONOTONIC, &from);
        cen_pool_stats s = CEN_SIZED(cen_pool_stats);
        expect_equal(cen_pool_stats_get(pool, &s), CEN_OK);
        clock_gettime(CLOCK_MONOTONIC, &to);
        int64_t took = (to.tv_sec - from.tv_sec) * INT64_C(1000000000) + (to.tv_nsec - from.tv_nsec);
        if (took < best) best = took;
    }
    return best;
}

/* guarantees: pool.L16-shrink */
TEST(a_look_at_a_pool_that_was_large_costs_what_its_objects_cost)
{
    cen_pool *pool = make_small(NULL), *other = make_small(NULL);
    swell(pool);
    cen_lease lease = take_now(other);
    give_back(&lease);
    int64_t was_large = look_ns(pool), small = look_ns(other);
    if (was_large > 100 * (small + 100)) /* looking at every slot takes some thousand times as long */
        test_fail(__FILE__, __LINE__, "a look takes %lld ns, and %lld ns at a pool that was never large",
                  (long long)was_large, (long long)small);
    free_pool(pool);
    free_pool(other);
}

/* In which only the library's own memory counts: glibc's malloc would do, but sanitizers keep what they like. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif
#if defined(__linux__) && !defined(SANITIZED) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <unistd.h>

static size_t resident(void)
{
    unsigned long size = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    expect(file && fscanf(file, "%lu %lu", &size, &pages) == 2);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* guarantees: pool.L16-shrink */
TEST(a_pool_that_was_large_gives_its_memory_back)
{
    enum { WHOLE = LARGE * 128, FEW = 2 << 20 };
    cen_pool *pool = make_small(NULL);
    memset(leases, 0xA5, sizeof leases);
    size_t before = resident();
    expect_equal(cen_pool_resize(pool, LARGE, NULL), CEN_OK);
    size_t unused = resident();
    expect(unused < before + FEW); /* what is not in use is not touched */
    for (int i = 0; i < LARGE; i++) leases[i] = take_now(pool);
    expect_sound(pool);
    expect(resident() > before + WHOLE);
    for (int i = 0; i < LARGE / 2; i++) give_back(&leases[i]);
    expect_equal(cen_pool_resize(pool, SMALL, NULL), CEN_OK);
    for (int i = LARGE / 2; i < LARGE; i++) give_back(&leases[i]); /* these come back to the smaller pool */
    size_t after = resident();
    if (after > before + FEW) test_fail(__FILE__, __LINE__, "%zu kB before, %zu kB after", before / 1024, after / 1024);
    swell(pool); /* and again */
    after = resident();
    if (after > before + FEW)
        test_fail(__FILE__, __LINE__, "%zu kB before, %zu kB after the second time", before / 1024, after / 1024);
    free_pool(pool);
}
#endif

static void *give_memory(void *unused, size_t size, size_t align)
{
    (void)unused;
    return aligned_alloc(align, (size + align - 1) / align * align);
}

static void take_memory(void *unused, void *memory, size_t size, size_t align)
{
    (void)unused, (void)size, (void)align;
    free(memory);
}

TEST(a_pool_of_a_program_s_own_allocator_swells_and_shrinks_as_well)
{
    const cen_allocator own = {give_memory, take_memory, NULL};
    cen_pool *pool = make_small(&own);
    for (int round = 0; round < 2; round++) swell(pool);
    free_pool(pool);
}
