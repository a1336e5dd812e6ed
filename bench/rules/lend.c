/* SPDX-License-Identifier: MIT */
/* The cold half of a pool contestant; see lend.h. */
#include "lend.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define ONE_MORE_NS 5000000

struct lend_object *lend_objects;
_Alignas(128) bool lend_over;
static const struct lend_contestant *playing;
static int64_t time_of_run;

/* noipa: a compiler that sees that nothing else is touched would move the work
 * to the other side of a look at the clock, or of a give. */
__attribute__((noipa)) uint64_t lend_spin(uint64_t steps, uint64_t noise)
{
    for (; steps > 0; steps--) noise = (noise ^ noise >> 29) * UINT64_C(6364136223846793005);
    return noise;
}

/* ---- Arguments ----------------------------------------------------------- */

/* Steps of work in a microsecond: the best of some short runs, because whatever
 * disturbs a run only makes it longer. */
static double steps_per_us(void)
{
    const char *given = getenv("BENCH_STEPS_PER_US");
    if (given != NULL) return atof(given);
    uint64_t noise = 1;
    int64_t best = INT64_MAX;
    for (int round = 0; round < 100; round++) {
        int64_t start = bench_now();
        noise = lend_spin(100000, noise);
        int64_t took = bench_now() - start;
        best = took < best ? took : best;
    }
    return 100000 * 1000.0 / (double)best;
}

static void parse_flag(const char *word, struct lend_plan *plan)
{
    if (strcmp(word, "waits") == 0) plan->waits = true;
    else if (strcmp(word, "asleep") == 0) plan->asleep = true;
    else if (strcmp(word, "strict") == 0) plan->max_barging_ns = -1;
    else if (strncmp(word, "overtake=", 9) == 0) plan->max_barging_ns = (int64_t)bench_number(word + 9, 1, INT64_MAX);
    else bench_fail("%s is none of: waits, asleep, strict, overtake=NS", word);
}

struct lend_plan lend_parse(int argc, char **argv)
{
    struct lend_plan plan = {0};
    if (argc < 5) bench_fail("usage: %s THREADS SIZE WORK-NS SECONDS [waits] [asleep] [strict | overtake=NS]", argv[0]);
    plan.threads = (unsigned)bench_number(argv[1], 1, LEND_THREADS_MAX);
    plan.size = (unsigned)bench_number(argv[2], 1, 1000000);
    plan.work_ns = bench_number(argv[3], 0, 1000000000);
    plan.time_ns = (int64_t)(atof(argv[4]) * 1e9);
    if (plan.time_ns <= 0) bench_fail("%s is no time", argv[4]);
    for (int i = 5; i < argc; i++) parse_flag(argv[i], &plan);
    if (plan.work_ns > 0 && !plan.asleep) plan.steps = (uint64_t)((double)plan.work_ns * steps_per_us() / 1000 + 0.5);
    return plan;
}

/* ---- The run ------------------------------------------------------------- */

static void worker_body(void *argument)
{
    struct lend_worker *worker = argument;
    playing->enter(worker);
    bench_line_up();
    playing->loop(worker);
}

static void end_the_run(void)
{
    bench_sleep(time_of_run);
    __atomic_store_n(&lend_over, true, __ATOMIC_RELAXED);
}

static double cpu_seconds(const struct rusage *usage)
{
    return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
           (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

static bool one_more_asked;

static void *take_one_more(void *lease)
{
    __atomic_store_n(&one_more_asked, true, __ATOMIC_RELAXED);
    playing->take(lease);
    bench_fail("the pool lends more objects than were put in");
}

/* Takes every object, to see that each is there once, and lets them be: the
 * run is over. Whoever wants one more then must wait. */
static void check_all_there(const struct lend_plan *plan)
{
    char *leases = bench_zeroed(plan->size + 1, playing->lease_size);
    bool *seen = bench_zeroed(plan->size, sizeof *seen);
    pthread_t thread;
    for (unsigned i = 0; i < plan->size; i++) {
        struct lend_object *object = playing->take(leases + i * playing->lease_size);
        if (object < lend_objects || object >= lend_objects + plan->size)
            bench_fail("the pool lent something that was never put in");
        if (seen[object->index]) bench_fail("the pool lends object %llu twice", (unsigned long long)object->index);
        seen[object->index] = true;
    }
    if (pthread_create(&thread, NULL, take_one_more, leases + plan->size * playing->lease_size) != 0)
        bench_fail("cannot start a thread");
    while (!__atomic_load_n(&one_more_asked, __ATOMIC_RELAXED)) bench_sleep(ONE_MORE_NS / 10);
    bench_sleep(ONE_MORE_NS);
}

/* The wait that this part of all waits did not exceed. */
static double percentile_ns(const uint64_t *lengths, double part, const struct lend_result *result)
{
    uint64_t wanted = (uint64_t)(part * (double)result->pairs), seen = 0;
    for (unsigned i = 0; i < LENGTHS; i++) {
        seen += lengths[i];
        if (seen > wanted)
            return length_end(i) < (double)result->wait_longest_ns ? length_end(i) : (double)result->wait_longest_ns;
    }
    return (double)result->wait_longest_ns;
}

static void judge_waits(const struct lend_plan *plan, const struct lend_worker *workers, struct lend_result *result)
{
    uint64_t lengths[LENGTHS] = {0}, counted = 0;
    for (unsigned i = 0; i < plan->threads; i++) {
        for (unsigned k = 0; k < LENGTHS; k++) {
            lengths[k] += workers[i].lengths[k];
            counted += workers[i].lengths[k];
        }
    }
    if (counted != result->pairs)
        bench_fail("%llu waits were counted in %llu pairs", (unsigned long long)counted,
                   (unsigned long long)result->pairs);
    result->wait_p50_ns = percentile_ns(lengths, 0.5, result);
    result->wait_p99_ns = percentile_ns(lengths, 0.99, result);
}

static struct lend_result judge(const struct lend_plan *plan, const struct lend_worker *workers)
{
    struct lend_result result = {0};
    int64_t start = INT64_MAX, end = INT64_MIN;
    uint64_t uses = 0, clashes = 0, smallest = UINT64_MAX, largest = 0;
    for (unsigned i = 0; i < plan->threads; i++) {
        const struct lend_worker *worker = &workers[i];
        result.pairs += worker->pairs;
        clashes += worker->clashes;
        smallest = worker->pairs < smallest ? worker->pairs : smallest;
        largest = worker->pairs > largest ? worker->pairs : largest;
        start = worker->start_ns < start ? worker->start_ns : start;
        end = worker->end_ns > end ? worker->end_ns : end;
        result.wait_mean_ns += worker->wait_sum_ns;
        if (worker->wait_longest_ns > result.wait_longest_ns) result.wait_longest_ns = worker->wait_longest_ns;
    }
    for (unsigned i = 0; i < plan->size; i++) {
        uses += lend_objects[i].uses;
        lend_objects[i].uses = 0;
    }
    if (uses != result.pairs || clashes != 0)
        bench_fail("objects were shared: %llu uses in %llu pairs, %llu seen by their holder", (unsigned long long)uses,
                   (unsigned long long)result.pairs, (unsigned long long)clashes);
    double mean = (double)result.pairs / plan->threads;
    result.elapsed_ns = end - start;
    result.ns = (double)result.elapsed_ns / (double)result.pairs;
    result.smallest_share = (double)smallest / mean;
    result.largest_share = (double)largest / mean;
    result.wait_mean_ns /= (int64_t)result.pairs;
    if (plan->waits) judge_waits(plan, workers, &result);
    return result;
}

void lend_make(const struct lend_plan *plan, const struct lend_contestant *contestant)
{
    if (plan->max_barging_ns != 0 && !contestant->overtakes) bench_fail("this contestant has no bound of overtaking");
    if (lend_objects == NULL) lend_objects = bench_zeroed(plan->size, sizeof *lend_objects);
    for (unsigned i = 0; i < plan->size; i++) lend_objects[i].index = i;
    contestant->make(plan);
}

struct lend_result lend_run(const struct lend_plan *plan, const struct lend_contestant *contestant)
{
    struct lend_worker *workers = bench_zeroed(plan->threads, sizeof *workers);
    struct rusage before, after;
    for (unsigned i = 0; i < plan->threads; i++) {
        workers[i].plan = plan;
        workers[i].number = i;
        if (plan->waits) workers[i].lengths = bench_zeroed(LENGTHS, sizeof *workers[i].lengths);
    }
    playing = contestant;
    time_of_run = plan->time_ns;
    lend_over = false;
    getrusage(RUSAGE_SELF, &before);
    bench_together(plan->threads, workers, sizeof *workers, worker_body, end_the_run);
    getrusage(RUSAGE_SELF, &after);
    struct lend_result result = judge(plan, workers);
    double seconds = (double)result.elapsed_ns / 1e9;
    result.cpus = (cpu_seconds(&after) - cpu_seconds(&before)) / seconds;
    result.sleeps = (double)(after.ru_nvcsw - before.ru_nvcsw) / seconds;
    for (unsigned i = 0; i < plan->threads; i++) free(workers[i].lengths);
    free(workers);
    return result;
}

int lend_main(int argc, char **argv, const struct lend_contestant *contestant)
{
    if (argc == 2 && strcmp(argv[1], "calibrate") == 0) {
        printf("steps_per_us=%.3f\n", steps_per_us());
        return 0;
    }
    struct lend_plan plan = lend_parse(argc, argv);
    lend_make(&plan, contestant);
    struct lend_result result = lend_run(&plan, contestant);
    if (!contestant->no_pool) check_all_there(&plan);
    printf("ns=%.2f smallest_share=%.3f largest_share=%.3f", result.ns, result.smallest_share, result.largest_share);
    if (plan.waits)
        printf(" wait_p50_us=%.3f wait_p99_us=%.3f wait_max_ms=%.3f wait_mean_us=%.3f", result.wait_p50_ns / 1e3,
               result.wait_p99_ns / 1e3, (double)result.wait_longest_ns / 1e6, (double)result.wait_mean_ns / 1e3);
    printf(" pairs=%llu elapsed_ms=%.1f cpus=%.2f sleeps_per_s=%.0f\n", (unsigned long long)result.pairs,
           (double)result.elapsed_ns / 1e6, result.cpus, result.sleeps);
    fflush(stdout);
    _Exit(0); /* somebody may be waiting for one more object */
}
