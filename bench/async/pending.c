/* SPDX-License-Identifier: MIT */
/*
 * Many who wait for one pool without a thread: what they cost.
 *
 *     async-pending memory COUNT [malloc]
 *     async-pending growth ROUNDS COUNT...
 *
 * "memory": COUNT asks wait; then half are cancelled and the others served. The
 * size of a cen_take_op, by how many bytes the pool's own memory grew, and every
 * allocation of every thread meanwhile, mallocs and mappings included. The last
 * word plants one allocation, which must be noticed.
 * "growth": nanoseconds of processor time of an ask, of serving one (a give that hands over, and
 * the poll that completes) and of a cancel, in random order, while so many wait.
 * The caches are emptied before each is timed, and few takes lie as far
 * apart as many, because a line of a thousand would stay in the caches.
 */
#include <stdio.h>
#include <string.h>

#include <cenote/inbox.h>
#include <cenote/pool_async.h>

#include "../rules/allocations.h"
#include "../rules/bench.h"

#define ROUNDS_MAX 101
#define COUNT_MAX 1000000

static cen_pool *pool;
static cen_inbox *inbox;
static cen_lease kept; /* the only object */

static void must(cen_status status)
{
    if (status != CEN_OK) bench_fail("%s", cen_status_text(status));
}

static void keep(cen_take_op *take)
{
    must(take->future.status);
    kept = take->lease;
}

static void ask(cen_take_op *take)
{
    cen_take_op_init(take, keep, cen_inbox_executor(inbox));
    must(cen_pool_take_async(pool, cen_in_s(600), take));
}

/* The first who waits gets what is given, and keeps it. */
static void serve(void)
{
    must(cen_pool_give(&kept));
    if (cen_inbox_poll(inbox, 1) != 1) bench_fail("nobody was served");
}

static void cancel(cen_take_op *take)
{
    if (!cen_future_cancel(&take->future)) bench_fail("a take could not be cancelled");
}

static void start(const cen_allocator *allocator)
{
    static int object;
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "bench", .max = 1, .allocator = allocator);
    cen_error error;
    if (cen_pool_new(&options, &pool, &error) != CEN_OK || cen_pool_adopt(pool, &object, &error) != CEN_OK ||
        cen_pool_take(pool, CEN_NOW, &kept, &error) != CEN_OK)
        bench_fail("%s", error.text);
    must(cen_inbox_new(NULL, &inbox, NULL));
}

static int memory(unsigned count, bool planted)
{
    cen_take_op *takes = bench_zeroed(count, sizeof *takes);
    start(&seam);
    ask(&takes[0]); /* what a thread, or the runtime's keeper, needs once is there afterwards */
    serve();
    uint64_t bytes = seam_bytes;
    __atomic_store_n(&counting_all, true, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < count; i++) ask(&takes[i]);
    uint64_t grown = seam_bytes - bytes;
    cen_pool_stats stats = CEN_SIZED(cen_pool_stats);
    must(cen_pool_stats_get(pool, &stats));
    for (unsigned i = 0; i < count; i += 2) cancel(&takes[i]);
    for (unsigned i = 1; i < count; i += 2) serve();
    if (planted) *(void *volatile *)&takes[0].future.user = malloc(1);
    __atomic_store_n(&counting_all, false, __ATOMIC_RELAXED);
    if (stats.waiting != count) bench_fail("%u wait, not %u", stats.waiting, count);
    printf("pending=%u take_bytes=%zu grown_bytes=%llu allocations=%llu\n", count, sizeof *takes,
           (unsigned long long)grown, (unsigned long long)allocations);
    return 0;
}

/* ---- Growth -------------------------------------------------------------- */

struct figures {
    int64_t ask[ROUNDS_MAX], serve[ROUNDS_MAX], cancel[ROUNDS_MAX]; /* picoseconds each */
};

static int64_t ask_all(cen_take_op *takes, unsigned count, unsigned apart)
{
    bench_empty_caches();
    int64_t used_ns = bench_cpu();
    for (unsigned i = 0; i < count; i++) ask(&takes[(size_t)i * apart]);
    return (bench_cpu() - used_ns) * 1000 / count;
}

static void round_of(cen_take_op *takes, unsigned count, unsigned apart, unsigned *order, struct figures *out,
                     unsigned round)
{
    static uint64_t noise = 1;
    out->ask[round] = ask_all(takes, count, apart);
    bench_empty_caches();
    int64_t used_ns = bench_cpu();
    for (unsigned i = 0; i < count; i++) serve();
    out->serve[round] = (bench_cpu() - used_ns) * 1000 / count;
    bench_shuffle(order, count, &noise);
    ask_all(takes, count, apart);
    bench_empty_caches();
    used_ns = bench_cpu();
    for (unsigned i = 0; i < count; i++) cancel(&takes[(size_t)order[i] * apart]);
    out->cancel[round] = (bench_cpu() - used_ns) * 1000 / count;
}

static int growth(int argc, char **argv)
{
    static struct figures figures;
    unsigned rounds = (unsigned)bench_number(argv[2], 1, ROUNDS_MAX), most = 0;
    for (int i = 3; i < argc; i++) {
        unsigned count = (unsigned)bench_number(argv[i], 1, COUNT_MAX);
        most = count > most ? count : most;
    }
    cen_take_op *takes = bench_zeroed(most, sizeof *takes);
    unsigned *order = bench_zeroed(most, sizeof *order);
    start(NULL);
    for (int i = 3; i < argc; i++) {
        unsigned count = (unsigned)bench_number(argv[i], 1, COUNT_MAX);
        for (unsigned round = 0; round < rounds; round++) round_of(takes, count, most / count, order, &figures, round);
        printf("ask_%u=%.1f serve_%u=%.1f cancel_%u=%.1f ", count, (double)bench_median(figures.ask, rounds) / 1000,
               count, (double)bench_median(figures.serve, rounds) / 1000, count,
               (double)bench_median(figures.cancel, rounds) / 1000);
    }
    putchar('\n');
    return 0;
}

int main(int argc, char **argv)
{
    if (argc >= 3 && strcmp(argv[1], "memory") == 0)
        return memory((unsigned)bench_number(argv[2], 2, COUNT_MAX), argc > 3);
    if (argc >= 4 && strcmp(argv[1], "growth") == 0) return growth(argc, argv);
    bench_fail("usage: %s memory COUNT [malloc] | growth ROUNDS COUNT...", argv[0]);
}
