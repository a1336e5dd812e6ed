/* SPDX-License-Identifier: MIT */
/*
 * What it costs to serve, and to cancel, one of many who wait for cenote's pool without a thread.
 *
 *     growth-waiters ROUNDS WAITERS...
 *
 * WAITERS and SOME more ask. "serve": a give that hands over to who has waited longest, and the poll that
 * completes it; SOME of them, the only object goes from one to the next. "cancel": SOME in the middle of the
 * line, in random order. So as many are timed of ten as of a hundred thousand, and WAITERS are left. The caches are
 * emptied before, because a line of ten would stay in them. Processor time, medians of the rounds.
 *
 * Who is served must be who has waited longest, and nobody may be told anything else. BENCH_BROKEN=overtake
 * cancels the first unseen, which must be noticed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cenote/inbox.h>
#include <cenote/pool_async.h>

#include "../rules/bench.h"

#define SOME 200
#define ROUNDS_MAX 1000
#define WAITERS_MAX 1000000

static cen_pool *pool;
static cen_inbox *inbox;
static cen_lease kept; /* the only object */
static cen_take_op *takes;
static unsigned served, broken;

static void must(cen_status status)
{
    if (status != CEN_OK) bench_fail("%s", cen_status_text(status));
}

static void keep(cen_take_op *take)
{
    must(take->future.status);
    if (take != &takes[served++]) bench_fail("somebody was served out of turn");
    kept = take->lease;
}

static void start(void)
{
    static int object;
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "bench", .max = 1);
    cen_error error;
    if (cen_pool_new(&options, &pool, &error) != CEN_OK || cen_pool_adopt(pool, &object, &error) != CEN_OK ||
        cen_pool_take(pool, CEN_NOW, &kept, &error) != CEN_OK)
        bench_fail("%s", error.text);
    must(cen_inbox_new(NULL, &inbox, NULL));
}

static void stand_in_line(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        cen_take_op_init(&takes[i], keep, cen_inbox_executor(inbox));
        must(cen_pool_take_async(pool, cen_in_s(600), &takes[i]));
    }
    cen_pool_stats stats = CEN_SIZED(cen_pool_stats);
    must(cen_pool_stats_get(pool, &stats));
    if (stats.waiting != count) bench_fail("%u wait, not %u", stats.waiting, count);
    served = 0;
}

static void cancel(cen_take_op *take)
{
    if (!cen_future_cancel(&take->future)) bench_fail("a take could not be cancelled");
}

static void send_home(unsigned first, unsigned end)
{
    for (unsigned i = first; i < end; i++) cancel(&takes[i]);
}

static int64_t serve_some(unsigned waiters)
{
    stand_in_line(waiters + SOME);
    if (broken) cancel(&takes[0]);
    bench_empty_caches();
    int64_t used = bench_cpu();
    for (unsigned i = 0; i < SOME; i++) {
        must(cen_pool_give(&kept));
        if (cen_inbox_poll(inbox, 1) != 1) bench_fail("nobody was served");
    }
    used = bench_cpu() - used;
    send_home(SOME, waiters + SOME);
    return used;
}

static int64_t cancel_some(unsigned waiters, uint64_t *noise)
{
    unsigned before = waiters / 2, order[SOME];
    stand_in_line(waiters + SOME);
    bench_shuffle(order, SOME, noise);
    bench_empty_caches();
    int64_t used = bench_cpu();
    for (unsigned i = 0; i < SOME; i++) cancel(&takes[before + order[i]]);
    used = bench_cpu() - used;
    send_home(0, before);
    send_home(before + SOME, waiters + SOME);
    return used;
}

int main(int argc, char **argv)
{
    static int64_t serving[ROUNDS_MAX], cancelling[ROUNDS_MAX];
    if (argc < 3) bench_fail("usage: %s ROUNDS WAITERS...", argv[0]);
    const char *plant = getenv("BENCH_BROKEN");
    broken = plant != NULL && strcmp(plant, "overtake") == 0;
    unsigned rounds = (unsigned)bench_number(argv[1], 1, ROUNDS_MAX);
    uint64_t noise = 1;
    start();
    for (int i = 2; i < argc; i++) {
        unsigned waiters = (unsigned)bench_number(argv[i], 1, WAITERS_MAX);
        takes = bench_zeroed(waiters + SOME, sizeof *takes);
        for (unsigned round = 0; round < rounds; round++) {
            serving[round] = serve_some(waiters);
            cancelling[round] = cancel_some(waiters, &noise);
        }
        printf("serve_%u=%.1f cancel_%u=%.1f ", waiters, (double)bench_median(serving, rounds) / SOME, waiters,
               (double)bench_median(cancelling, rounds) / SOME);
        free(takes);
    }
    putchar('\n');
    return 0;
}
