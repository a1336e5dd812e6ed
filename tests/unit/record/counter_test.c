/* SPDX-License-Identifier: MIT */
#include "record/counter.h"

#include <stdlib.h>

#include "base/fault.h"
#include "support/test.h"

enum { TAKEN, GIVEN, COUNTERS };

static ceni_counters counters;

static void begin(void)
{
    expect_equal(ceni_counters_init(&counters, COUNTERS, NULL), CEN_OK);
}

enum { THREADS = 4, ROUNDS = 500 };

static void add_many(void *argument)
{
    (void)argument;
    for (int i = 0; i < ROUNDS; i++) {
        ceni_counters_add(&counters, TAKEN, 1);
        ceni_counters_add(&counters, GIVEN, -2);
    }
}

static void start(ceni_thread *threads)
{
    int code;
    for (int i = 0; i < THREADS; i++)
        expect_equal(ceni_thread_start(&threads[i], "add", add_many, NULL, &code), CEN_OK);
}

static void join(ceni_thread *threads)
{
    for (int i = 0; i < THREADS; i++) ceni_thread_join(&threads[i]);
}

TEST(a_new_counter_is_zero_and_counters_do_not_touch_one_another)
{
    begin();
    expect_equal(ceni_counters_sum(&counters, TAKEN), 0);
    ceni_counters_add(&counters, TAKEN, 5);
    ceni_counters_add(&counters, GIVEN, -7);
    expect_equal(ceni_counters_sum(&counters, TAKEN), 5);
    expect_equal(ceni_counters_sum(&counters, GIVEN), -7);
    ceni_counters_fini(&counters);
}

TEST(the_sum_is_exact_once_the_adding_threads_are_joined)
{
    begin();
    ceni_thread threads[THREADS];
    start(threads);
    join(threads);
    expect_equal(ceni_counters_sum(&counters, TAKEN), THREADS * ROUNDS);
    expect_equal(ceni_counters_sum(&counters, GIVEN), -2 * THREADS * ROUNDS);
    ceni_counters_fini(&counters);
}

TEST(threads_that_share_a_shard_lose_no_count)
{
    begin();
    size_t mask = counters.mask;
    counters.mask = 0; /* every thread's shard is the first */
    ceni_thread threads[THREADS];
    start(threads);
    join(threads);
    expect_equal(ceni_counters_sum(&counters, TAKEN), THREADS * ROUNDS);
    counters.mask = mask;
    ceni_counters_fini(&counters);
}

TEST(a_growing_counter_never_goes_backwards_for_one_reader)
{
    begin();
    ceni_thread threads[THREADS];
    start(threads);
    int64_t last = 0;
    for (int i = 0; i < ROUNDS; i++) {
        int64_t sum = ceni_counters_sum(&counters, TAKEN);
        expect(sum >= last && sum <= THREADS * ROUNDS);
        last = sum;
    }
    join(threads);
    ceni_counters_fini(&counters);
}

TEST(a_thread_adds_to_one_shard_and_shards_share_no_line)
{
    begin();
    size_t shards = counters.mask + 1;
    expect(shards >= ceni_cpu_count() || shards == CENI_COUNTER_SHARDS);
    expect_equal(shards & (shards - 1), 0);
    expect_equal((uintptr_t)counters.at % CENI_CACHE_LINE, 0);
    expect_equal(counters.stride * sizeof *counters.at % CENI_CACHE_LINE, 0);
    expect(counters.stride >= COUNTERS);
    for (int i = 0; i < 10; i++) ceni_counters_add(&counters, TAKEN, 1);
    size_t touched = 0;
    for (size_t shard = 0; shard < shards; shard++)
        touched += ceni_load_relaxed(&counters.at[shard * counters.stride + TAKEN]) != 0;
    expect_equal(touched, 1);
    ceni_counters_fini(&counters);
}

TEST(values_are_modulo_two_to_the_64)
{
    begin();
    ceni_counters_add(&counters, TAKEN, INT64_MAX);
    ceni_counters_add(&counters, TAKEN, 1);
    expect(ceni_counters_sum(&counters, TAKEN) == INT64_MIN);
    ceni_counters_fini(&counters);
}

TEST(init_without_memory_says_so_and_writes_nothing)
{
    ceni_counters untouched = {.count = 42};
    ceni_fault_arm(CENI_FAULT_ALLOC, 1);
    expect_equal(ceni_counters_init(&untouched, COUNTERS, NULL), CEN_NO_MEMORY);
    expect(ceni_fault_disarm());
    expect_equal(untouched.count, 42);
    ceni_counters zeroed = {0};
    ceni_counters_fini(&zeroed);
    expect(zeroed.at == NULL);
}

static size_t asked, returned;

static void *count_alloc(void *argument, size_t size, size_t align)
{
    (void)argument;
    asked += size;
    return aligned_alloc(align, size);
}

static void count_free(void *argument, void *memory, size_t size, size_t align)
{
    (void)argument;
    (void)align;
    returned += size;
    free(memory);
}

TEST(memory_comes_from_and_goes_back_to_the_given_allocator)
{
    const cen_allocator allocator = {count_alloc, count_free, NULL};
    expect_equal(ceni_counters_init(&counters, 17, &allocator), CEN_OK); /* a line and a bit */
    ceni_counters_add(&counters, 16, 3);
    expect_equal(ceni_counters_sum(&counters, 16), 3);
    ceni_counters_fini(&counters);
    expect(asked > 0);
    expect_equal(returned, asked);
}
