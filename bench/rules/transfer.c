/* SPDX-License-Identifier: MIT */
/*
 * The cold half of a queue contestant; see transfer.h. The atomics here are
 * C11's own, because a contestant stands outside the library.
 */
#include "transfer.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define WARM_UP_ROUNDS 16
#define ACK_SPIN_NS 1000000 /* then the waker yields, in case both share a core */

static const struct bench_contestant *playing;

/* ---- Transfer ------------------------------------------------------------ */

static void worker_body(void *argument)
{
    struct bench_worker *worker = argument;
    playing->enter(worker->producing);
    bench_line_up();
    int64_t start = bench_now();
    if (worker->producing) playing->produce(worker);
    else playing->consume(worker);
    worker->end_ns = bench_now();
    worker->start_ns = start;
}

/* The share of one of `count` workers in `total`, without a remainder lost. */
static uint64_t share(uint64_t total, unsigned count, unsigned number)
{
    return total / count + (number < total % count);
}

/* The sum of all elements, modulo 2^64 like the consumers' sums. */
static uint64_t expected_sum(const struct bench_plan *plan)
{
    uint64_t sum = 0;
    for (uint64_t p = 0; p < plan->producers; p++)
        sum += (p << BENCH_SEQUENCE_BITS) * plan->elements + plan->elements * (plan->elements + 1) / 2;
    return sum;
}

static int report_transfer(const struct bench_plan *plan, const struct bench_worker *workers, uint64_t total)
{
    uint64_t sum = 0, disorder = 0;
    int64_t start = INT64_MAX, end = INT64_MIN;
    for (unsigned i = 0; i < plan->producers + plan->consumers; i++) {
        const struct bench_worker *worker = &workers[i];
        sum += worker->sum;
        disorder += worker->disorder;
        start = worker->start_ns < start ? worker->start_ns : start;
        end = worker->end_ns > end ? worker->end_ns : end;
    }
    if (sum != expected_sum(plan))
        bench_fail("elements were lost or doubled: their sum differs by %llu",
                   (unsigned long long)(sum - expected_sum(plan)));
    if (disorder != 0)
        bench_fail("%llu elements overtook an older one of the same producer", (unsigned long long)disorder);
    printf("elapsed_ns=%lld elements=%llu\n", (long long)(end - start), (unsigned long long)total);
    return 0;
}

static int run_transfer(const struct bench_plan *plan)
{
    unsigned count = plan->producers + plan->consumers;
    uint64_t total = plan->elements * plan->producers;
    struct bench_worker *workers = bench_zeroed(count, sizeof *workers);
    for (unsigned i = 0; i < count; i++) {
        struct bench_worker *worker = &workers[i];
        worker->producing = i < plan->producers;
        worker->number = worker->producing ? i : i - plan->producers;
        worker->quota = worker->producing ? plan->elements : share(total, plan->consumers, worker->number);
    }
    bench_together(count, workers, sizeof *workers, worker_body, NULL);
    int result = report_transfer(plan, workers, total);
    free(workers);
    return result;
}

/* ---- Wake-up ------------------------------------------------------------- */

struct sleeper {
    unsigned rounds;
    int64_t *took_ns;
    long slept; /* voluntary context switches: shows that it did sleep */
    atomic_uint acknowledged;
};

static long voluntary_switches(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

static void *sleeper_main(void *argument)
{
    struct sleeper *sleeper = argument;
    bench_pin(1);
    playing->enter(false);
    long before = voluntary_switches();
    for (unsigned i = 0; i < sleeper->rounds; i++) {
        int64_t stamp = (int64_t)playing->pop();
        sleeper->took_ns[i] = bench_now() - stamp;
        atomic_store(&sleeper->acknowledged, i + 1);
    }
    sleeper->slept = voluntary_switches() - before;
    return NULL;
}

/* The waker spins through the pause: its core stays awake, the sleeper's does
 * not, and the sleeper has long left whatever spinning it does before sleep. */
static void wake_once(struct sleeper *sleeper, unsigned round, int64_t pause_ns)
{
    int64_t until = bench_now() + pause_ns;
    while (bench_now() < until)
        ;
    int64_t stamp = bench_now();
    playing->push((uint64_t)stamp);
    while (atomic_load(&sleeper->acknowledged) <= round)
        if (bench_now() > stamp + ACK_SPIN_NS) sched_yield();
}

static int run_wake(const struct bench_plan *plan)
{
    struct sleeper sleeper = {.rounds = plan->rounds + WARM_UP_ROUNDS};
    pthread_t thread;
    sleeper.took_ns = bench_zeroed(sleeper.rounds, sizeof *sleeper.took_ns);
    if (pthread_create(&thread, NULL, sleeper_main, &sleeper) != 0) bench_fail("cannot start a thread");
    bench_pin(0);
    playing->enter(true);
    for (unsigned i = 0; i < sleeper.rounds; i++) wake_once(&sleeper, i, (int64_t)plan->pause_us * 1000);
    pthread_join(thread, NULL);
    int64_t *took = sleeper.took_ns + WARM_UP_ROUNDS;
    unsigned n = plan->rounds;
    int64_t median = bench_median(took, n);
    printf("p50_ns=%lld p99_ns=%lld max_ns=%lld rounds=%u slept=%ld\n", (long long)median,
           (long long)took[(uint64_t)n * 99 / 100], (long long)took[n - 1], sleeper.rounds, sleeper.slept);
    free(sleeper.took_ns);
    return 0;
}

/* ---- Arguments ----------------------------------------------------------- */

static struct bench_plan parse(int argc, char **argv)
{
    struct bench_plan plan = {0};
    plan.wake = argc == 6 && strcmp(argv[1], "wake") == 0;
    if (!plan.wake && !(argc == 7 && strcmp(argv[1], "transfer") == 0))
        bench_fail("usage: %s transfer KIND CAPACITY PRODUCERS CONSUMERS ELEMENTS | wake KIND CAPACITY ROUNDS PAUSE-US",
                   argv[0]);
    plan.bounded = strcmp(argv[2], "bounded") == 0;
    if (!plan.bounded && strcmp(argv[2], "unbounded") != 0) bench_fail("%s is neither bounded nor unbounded", argv[2]);
    plan.capacity = (size_t)bench_number(argv[3], plan.bounded, 1 << 24);
    if (plan.wake) {
        plan.rounds = (unsigned)bench_number(argv[4], 1, 1000000);
        plan.pause_us = (unsigned)bench_number(argv[5], 0, 1000000);
    } else {
        plan.producers = (unsigned)bench_number(argv[4], 1, BENCH_PRODUCERS_MAX);
        plan.consumers = (unsigned)bench_number(argv[5], 1, 1024);
        plan.elements = bench_number(argv[6], 1, UINT64_C(1) << 40);
    }
    return plan;
}

int bench_main(int argc, char **argv, const struct bench_contestant *contestant)
{
    struct bench_plan plan = parse(argc, argv);
    playing = contestant;
    contestant->make(&plan);
    return plan.wake ? run_wake(&plan) : run_transfer(&plan);
}
