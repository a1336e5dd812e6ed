/* SPDX-License-Identifier: MIT */
/* See picks.h. */
#include "picks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTESTANTS_MAX 64
#define ROUNDS_MAX 1000
#define MEMBERS_MAX 1000000
#define SIGMAS 6.5 /* one member of ten thousand is farther from the mean once in a million runs */

struct entry {
    const struct pick_contestant *contestant;
    void *set;
    double ns[ROUNDS_MAX], slowest[ROUNDS_MAX];
};

static struct entry entries[CONTESTANTS_MAX];
static unsigned count, members, threads, rounds;
static struct pick_worker *workers;

void pick_note(struct pick_worker *worker, unsigned index)
{
    if (index >= members) bench_fail("%s picked what is no member", worker->contestant->name);
    worker->counts[index]++;
}

static void prepare(const struct entry *entry, int64_t length)
{
    for (unsigned i = 0; i < threads; i++) {
        uint32_t *counts = workers[i].counts;
        workers[i] = (struct pick_worker){.set = entry->set,
                                          .noise = UINT64_C(0x9e3779b97f4a7c15) * (i + 1),
                                          .number = i,
                                          .turn = i * members / threads,
                                          .length = length,
                                          .counts = counts,
                                          .contestant = entry->contestant};
    }
}

/* ---- The check ---------------------------------------------------------------- */

static uint64_t check_picks(enum pick_kind kind)
{
    if (kind == PICK_ANY) return 1000; /* one that looks at all members takes long enough for these */
    return (uint64_t)members * (members < 1000 ? 100000 / members : 100);
}

static void check_worker(void *argument)
{
    struct pick_worker *worker = argument;
    bench_pin(worker->number);
    bench_line_up();
    worker->contestant->check(worker, check_picks(worker->contestant->kind));
}

static void check_count(const struct pick_contestant *contestant, unsigned index, double found, double wanted)
{
    double limit = contestant->kind == PICK_RANDOM ? SIGMAS * sqrt(wanted) : 0;
    if (fabs(found - wanted) > limit)
        bench_fail("%s is uneven: it picked member %u %.0f times instead of %.0f", contestant->name, index, found,
                   wanted);
}

static void check(const struct entry *entry)
{
    const struct pick_contestant *contestant = entry->contestant;
    prepare(entry, 0);
    for (unsigned i = 0; i < threads; i++) memset(workers[i].counts, 0, members * sizeof *workers[i].counts);
    bench_together(threads, workers, sizeof *workers, check_worker, NULL);
    double mean = (double)check_picks(contestant->kind) / members;
    for (unsigned index = 0; index < members && contestant->kind != PICK_ANY; index++) {
        double sum = 0;
        for (unsigned i = 0; i < threads; i++) {
            if (contestant->kind == PICK_EVEN) check_count(contestant, index, workers[i].counts[index], mean);
            sum += workers[i].counts[index];
        }
        check_count(contestant, index, sum, mean * threads);
    }
    if (contestant->verify != NULL) contestant->verify(entry->set);
}

/* ---- Rounds --------------------------------------------------------------------- */

static void run_worker(void *argument)
{
    struct pick_worker *worker = argument;
    bench_pin(worker->number);
    worker->contestant->loop(worker);
}

static void run(struct entry *entry, unsigned round, int64_t length)
{
    prepare(entry, length);
    bench_together(threads, workers, sizeof *workers, run_worker, NULL);
    int64_t start = INT64_MAX, end = 0;
    uint64_t picks = 0;
    double slowest = 0;
    for (unsigned i = 0; i < threads; i++) {
        double ns = (double)(workers[i].end - workers[i].start) / (double)workers[i].picks;
        start = workers[i].start < start ? workers[i].start : start;
        end = workers[i].end > end ? workers[i].end : end;
        picks += workers[i].picks;
        slowest = ns > slowest ? ns : slowest;
    }
    entry->ns[round] = (double)(end - start) * threads / (double)picks;
    entry->slowest[round] = slowest;
}

/* ---- What came of it --------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static void print(const char *name, const char *key, const double *values)
{
    double sorted[ROUNDS_MAX];
    memcpy(sorted, values, rounds * sizeof *values);
    qsort(sorted, rounds, sizeof *sorted, ascending);
    printf("%s.%s=%.4g %s.%s_min=%.4g %s.%s_max=%.4g\n", name, key, sorted[rounds / 2], name, key, sorted[0], name, key,
           sorted[rounds - 1]);
}

static const struct entry *find(const char *name)
{
    for (unsigned i = 0; name != NULL && i < count; i++)
        if (strcmp(entries[i].contestant->name, name) == 0) return &entries[i];
    return NULL;
}

static void print_entry(const struct entry *entry)
{
    const struct entry *floor = find(entry->contestant->floor);
    print(entry->contestant->name, "ns", entry->ns);
    print(entry->contestant->name, "slowest", entry->slowest);
    if (floor == NULL) return;
    double ratios[ROUNDS_MAX];
    for (unsigned round = 0; round < rounds; round++) ratios[round] = entry->ns[round] / floor->ns[round];
    print(entry->contestant->name, "ratio", ratios);
}

static bool is_wanted(const char *name, char **names)
{
    for (char **each = names; *each != NULL; each++)
        if (strcmp(*each, name) == 0) return true;
    return *names == NULL;
}

static void enter(const struct pick_contestant *table, char **names)
{
    for (const struct pick_contestant *each = table; each->name != NULL && count < CONTESTANTS_MAX; each++)
        if (is_wanted(each->name, names)) {
            entries[count].contestant = each;
            entries[count++].set = each->set_up(members);
        }
}

int main(int argc, char **argv)
{
    if (argc < 5) bench_fail("usage: %s MEMBERS THREADS ROUNDS SECONDS [NAME...]", argv[0]);
    members = (unsigned)bench_number(argv[1], 2, MEMBERS_MAX);
    threads = (unsigned)bench_number(argv[2], 1, PICKS_THREADS_MAX);
    rounds = (unsigned)bench_number(argv[3], 1, ROUNDS_MAX);
    int64_t length = (int64_t)(strtod(argv[4], NULL) * 1e9);
    workers = bench_zeroed(threads, sizeof *workers);
    for (unsigned i = 0; i < threads; i++) workers[i].counts = bench_zeroed(members, sizeof *workers[i].counts);
    for (const struct pick_contestant *const *table = pick_tables; *table != NULL; table++) enter(*table, &argv[5]);
    if (count == 0) bench_fail("there is none of that name");
    for (unsigned i = 0; i < count; i++) check(&entries[i]);
    int64_t begin = bench_now();
    for (unsigned round = 0; round < rounds; round++)
        for (unsigned i = 0; i < count; i++) /* another one first each time */
            run(&entries[(round + i) % count], round, length);
    for (unsigned i = 0; i < count; i++)
        if (entries[i].contestant->verify != NULL) entries[i].contestant->verify(entries[i].set);
    printf("elapsed_ms=%.1f\n", (double)(bench_now() - begin) / 1e6);
    for (unsigned i = 0; i < count; i++) print_entry(&entries[i]);
    return 0;
}
