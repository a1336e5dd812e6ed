/* SPDX-License-Identifier: MIT */
#include "queries.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../rules/bench.h"
#include "../rules/lengths.h"

typedef struct worker {
    uint64_t asked;
    int64_t longest;
    uint32_t lengths[LENGTHS];
} worker;

static const query_way *way;
static const char *url;
static query_counter *connections_now;
static int64_t limit;  /* ns, if asked for a time */
static uint64_t quota; /* questions of each thread, otherwise */
static _Atomic bool over;
static _Atomic unsigned left;
static int most; /* connections that were seen at a time */
static int64_t begun, ended;

static void ask_once(worker *self, void *own)
{
    int64_t before = quota ? 0 : bench_now();
    if (!way->ask(own)) bench_fail("an answer was wrong");
    self->asked++;
    if (quota) return;
    int64_t took = bench_now() - before;
    if (took > self->longest) self->longest = took;
    self->lengths[length_of(took)]++;
}

static void work(void *argument)
{
    worker *self = argument;
    void *own = way->begin ? way->begin(url) : NULL;
    if (!quota) /* so that connections and caches are there before the clock runs */
        for (int i = 0; i < 3; i++)
            if (!way->ask(own)) bench_fail("an answer was wrong");
    bench_line_up();
    while (quota ? self->asked < quota : !atomic_load_explicit(&over, memory_order_relaxed)) ask_once(self, own);
    if (way->end) way->end(own);
    atomic_fetch_sub(&left, 1);
}

/* The clock, and who counts connections. */
static void watch(void)
{
    begun = bench_now();
    for (bool late = false; !late;) {
        bench_sleep(INT64_C(20000000));
        int seen = connections_now ? connections_now() : -1;
        if (seen > most) most = seen;
        late = quota ? atomic_load(&left) == 0 : bench_now() >= begun + limit;
    }
    ended = bench_now();
    atomic_store(&over, true);
}

static double percentile(const uint64_t *lengths, uint64_t all, double share)
{
    uint64_t wanted = (uint64_t)((double)all * share), seen = 0;
    for (unsigned i = 0; i < LENGTHS; i++)
        if ((seen += lengths[i]) > wanted) return length_end(i);
    return 0;
}

static void report(const worker *workers, unsigned threads)
{
    static uint64_t lengths[LENGTHS];
    uint64_t asked = 0, least = UINT64_MAX, greatest = 0;
    int64_t longest = 0;
    for (unsigned i = 0; i < threads; i++) {
        const worker *w = &workers[i];
        asked += w->asked;
        if (w->asked < least) least = w->asked;
        if (w->asked > greatest) greatest = w->asked;
        if (w->longest > longest) longest = w->longest;
        for (unsigned k = 0; k < LENGTHS; k++) lengths[k] += w->lengths[k];
    }
    double seconds = (double)(ended - begun) / 1e9;
    printf(
        "elapsed_ms=%.3f asked=%llu per_s=%.1f p50_ns=%.0f p99_ns=%.0f max_ns=%lld least=%llu greatest=%llu most=%d\n",
        seconds * 1e3, (unsigned long long)asked, (double)asked / seconds, percentile(lengths, asked, 0.5),
        percentile(lengths, asked, 0.99), (long long)longest, (unsigned long long)least, (unsigned long long)greatest,
        most);
}

int query_main(int count, char **words, const query_way *ways, query_counter *counter)
{
    if (count != 6) bench_fail("usage: %s WAY URL THREADS CONNECTIONS SECONDS|=COUNT", words[0]);
    for (way = ways; way->name && strcmp(way->name, words[1]) != 0;) way++;
    if (!way->name) bench_fail("there is no way %s", words[1]);
    url = words[2];
    connections_now = counter;
    unsigned threads = (unsigned)bench_number(words[3], 1, 1000);
    unsigned connections = (unsigned)bench_number(words[4], 1, 1000);
    if (words[5][0] == '=') quota = bench_number(words[5] + 1, 1, 100000000);
    else limit = (int64_t)(strtod(words[5], NULL) * 1e9);
    worker *workers = bench_zeroed(threads, sizeof *workers);
    atomic_store(&left, threads);
    if (way->set_up) way->set_up(url, connections);
    bench_together(threads, workers, sizeof *workers, work, watch);
    if (way->tear_down) way->tear_down();
    report(workers, threads);
    return 0;
}
