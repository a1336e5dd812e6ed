/* SPDX-License-Identifier: MIT */
/*
 * Whether a cancel in the middle of the line costs more when more wait.
 *
 *     pool-cancel ROUNDS WAITERS...
 *
 * Half of them ask, then CANCELLED more, then the other half; what is timed is
 * the cancelling of those in the middle, in random order. The caches are emptied
 * before each round, because a line of ten would stay in them.
 */
#include <cenote/pool_async.h>
#include <stdio.h>
#include <stdlib.h>

#include "../rules/bench.h"

#define CANCELLED 100
#define ROUNDS_MAX 1000

static unsigned delivered;

static void count_delivered(cen_take_op *take)
{
    (void)take;
    delivered++;
}

static cen_pool *empty_pool(cen_lease *held)
{
    cen_pool *pool;
    cen_error error;
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "bench", .max = 1);
    if (cen_pool_new(&options, &pool, &error) != CEN_OK || cen_pool_adopt(pool, &delivered, &error) != CEN_OK ||
        cen_pool_try_take(pool, held, &error) != CEN_OK)
        bench_fail("%s", error.text);
    return pool;
}

static void ask(cen_pool *pool, cen_take_op *takes, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        cen_take_op_init(&takes[i], count_delivered, cen_inline());
        if (cen_pool_take_async(pool, CEN_NEVER, &takes[i]) != CEN_OK) bench_fail("a closed pool");
    }
}

static void cancel(cen_take_op *take)
{
    if (!cen_future_cancel(&take->future)) bench_fail("a waiter was not in line");
}

static int64_t round_of(cen_pool *pool, cen_take_op *takes, unsigned count, uint64_t *noise)
{
    unsigned before = count / 2, order[CANCELLED];
    ask(pool, takes, count + CANCELLED);
    bench_shuffle(order, CANCELLED, noise);
    bench_empty_caches();
    int64_t start = bench_now();
    for (unsigned i = 0; i < CANCELLED; i++) cancel(&takes[before + order[i]]);
    int64_t end = bench_now();
    for (unsigned i = 0; i < count + CANCELLED; i++)
        if (i < before || i >= before + CANCELLED) cancel(&takes[i]);
    return end - start;
}

int main(int argc, char **argv)
{
    static int64_t samples[ROUNDS_MAX];
    if (argc < 3) bench_fail("usage: pool-cancel ROUNDS WAITERS...");
    unsigned rounds = (unsigned)bench_number(argv[1], 1, ROUNDS_MAX);
    cen_lease held;
    cen_pool *pool = empty_pool(&held);
    uint64_t noise = 1;
    for (int i = 2; i < argc; i++) {
        unsigned count = (unsigned)bench_number(argv[i], 1, 1000000);
        cen_take_op *takes = bench_zeroed(count + CANCELLED, sizeof *takes);
        for (unsigned round = 0; round < rounds; round++) samples[round] = round_of(pool, takes, count, &noise);
        printf("%sns_%u=%.1f", i > 2 ? " " : "", count, (double)bench_median(samples, rounds) / CANCELLED);
        free(takes);
    }
    printf("\n");
    if (delivered > 0) bench_fail("%u waiters were told something", delivered);
    cen_pool_give(&held);
    cen_pool_free(pool);
    return 0;
}
