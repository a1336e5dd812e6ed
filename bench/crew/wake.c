/* SPDX-License-Identifier: MIT */
/*
 * The yardstick: what a wake-up across two cores costs here and now, with two
 * futex words and nothing else.
 *
 *     crew-wake ROUNDS IDLE-ROUNDS
 *
 * One thread wakes the other and sleeps until that one has woken it: two
 * wake-ups, which is also the least that a result from a sleeping worker can cost
 * a caller that sleeps meanwhile. Back to back, and with 10 ms of sleep before
 * each. Both are pinned, to a core each, and never spin.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../rules/bench.h"

#define ROUNDS_MAX 1000000
#define WARM_UP 100

static struct {
    _Alignas(128) atomic_uint word;
} there, here;
static int64_t took[ROUNDS_MAX];

static void wake(atomic_uint *word)
{
    atomic_store_explicit(word, 1, memory_order_release);
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void await(atomic_uint *word)
{
    while (atomic_load_explicit(word, memory_order_acquire) == 0)
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    atomic_store_explicit(word, 0, memory_order_release);
}

static void *partner(void *argument)
{
    const unsigned *rounds = argument;
    bench_pin(1);
    for (unsigned i = 0; i < *rounds; i++) {
        await(&there.word);
        wake(&here.word);
    }
    return NULL;
}

static void measure(unsigned rounds, int64_t pause_ns)
{
    for (unsigned i = 0; i < rounds; i++) {
        if (pause_ns > 0) bench_sleep(pause_ns);
        int64_t start = bench_now();
        wake(&there.word);
        await(&here.word);
        took[i] = bench_now() - start;
    }
}

static double share(unsigned rounds, double part)
{
    bench_median(took, rounds); /* sorts them */
    return (double)took[(unsigned)(part * rounds)];
}

int main(int argc, char **argv)
{
    if (argc != 3) bench_fail("usage: %s ROUNDS IDLE-ROUNDS", argv[0]);
    unsigned often = (unsigned)bench_number(argv[1], 1, ROUNDS_MAX),
             idle = (unsigned)bench_number(argv[2], 1, ROUNDS_MAX);
    unsigned all = WARM_UP + often + idle;
    struct rusage before, after;
    pthread_t thread;
    if (pthread_create(&thread, NULL, partner, &all) != 0) bench_fail("cannot start a thread");
    bench_pin(0);
    measure(WARM_UP, 0);
    getrusage(RUSAGE_THREAD, &before);
    int64_t start = bench_now();
    measure(often, 0);
    getrusage(RUSAGE_THREAD, &after);
    printf("wake_ns=%.1f wake_p99_ns=%.1f", share(often, 0.5) / 2, share(often, 0.99) / 2);
    measure(idle, 10000000);
    pthread_join(thread, NULL);
    printf(" idle_wake_ns=%.1f idle_wake_p99_ns=%.1f slept=%.3f elapsed_ms=%.1f\n", share(idle, 0.5) / 2,
           share(idle, 0.99) / 2, (double)(after.ru_nvcsw - before.ru_nvcsw) / often,
           (double)(bench_now() - start) / 1e6);
    return 0;
}
