/* SPDX-License-Identifier: MIT */
/*
 * Whether a cancel in the middle of the line costs more when more wait.
 *
 *     pool-cancel ROUNDS WAITERS...
 *
 * Nobody can cancel by a public call yet, so this program is linked with the
 * static library and asks as the asynchronous calls will: with waiters that do
 * not park. Half of them join, then CANCELLED more, then the other half; what is
 * timed is the cancelling of those in the middle, in random order. The caches
 * are emptied before each round, because a line of ten would stay in them.
 */
#include <cenote/pool.h>
#include <stdio.h>
#include <stdlib.h>

#include "../support/bench.h"
#include "pool/inside.h"

#define CANCELLED 100
#define CACHES (64 << 20)
#define ROUNDS_MAX 1000

static unsigned delivered;

static void deliver(ceni_pool_waiter *waiter, cen_status status)
{
    (void)waiter, (void)status;
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

static void ask(cen_pool *pool, ceni_pool_waiter *waiters, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        waiters[i] = (ceni_pool_waiter){.pending = true, .deliver = deliver};
        if (ceni_line_ask(pool, &waiters[i]) != CEN_OK)
            bench_fail("a closed pool");
    }
}

static void cancel(cen_pool *pool, ceni_pool_waiter *waiter)
{
    if (!ceni_line_cancel(pool, waiter))
        bench_fail("a waiter was not in line");
}

static void empty_caches(void)
{
    static volatile unsigned char large[CACHES];
    for (size_t i = 0; i < sizeof large; i += 64)
        large[i]++;
}

static void shuffle(unsigned *order, uint64_t *noise)
{
    for (unsigned i = 0; i < CANCELLED; i++)
        order[i] = i;
    for (unsigned i = CANCELLED - 1; i > 0; i--) {
        *noise = *noise * 6364136223846793005u + 1442695040888963407u;
        unsigned j = (unsigned)(*noise >> 33) % (i + 1), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

static int64_t round_of(cen_pool *pool, ceni_pool_waiter *waiters, unsigned count, uint64_t *noise)
{
    unsigned before = count / 2, order[CANCELLED];
    ask(pool, waiters, count + CANCELLED);
    shuffle(order, noise);
    empty_caches();
    int64_t start = bench_now();
    for (unsigned i = 0; i < CANCELLED; i++)
        cancel(pool, &waiters[before + order[i]]);
    int64_t end = bench_now();
    for (unsigned i = 0; i < count + CANCELLED; i++)
        if (i < before || i >= before + CANCELLED)
            cancel(pool, &waiters[i]);
    return end - start;
}

int main(int argc, char **argv)
{
    static int64_t samples[ROUNDS_MAX];
    if (argc < 3)
        bench_fail("usage: pool-cancel ROUNDS WAITERS...");
    unsigned rounds = (unsigned)bench_number(argv[1], 1, ROUNDS_MAX);
    cen_lease held;
    cen_pool *pool = empty_pool(&held);
    uint64_t noise = 1;
    for (int i = 2; i < argc; i++) {
        unsigned count = (unsigned)bench_number(argv[i], 1, 1000000);
        ceni_pool_waiter *waiters = bench_zeroed(count + CANCELLED, sizeof *waiters);
        for (unsigned round = 0; round < rounds; round++)
            samples[round] = round_of(pool, waiters, count, &noise);
        printf("%sns_%u=%.1f", i > 2 ? " " : "", count, (double)bench_median(samples, rounds) / CANCELLED);
        free(waiters);
    }
    printf("\n");
    if (delivered > 0)
        bench_fail("%u waiters were told something", delivered);
    cen_pool_give(&held);
    cen_pool_free(pool);
    return 0;
}
