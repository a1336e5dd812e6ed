/* SPDX-License-Identifier: MIT */
/*
 * The probe that goes with each repetition: one cache line bounced between
 * two threads for MILLISECONDS. Its round trip tells whether the two threads
 * had two cores that could talk to each other, or one, or a bad neighbour.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

static _Alignas(128) atomic_uint_fast64_t ball; /* odd: the partner's turn */
static _Alignas(128) atomic_bool over;

static void *partner(void *unused)
{
    (void)unused;
    while (!atomic_load_explicit(&over, memory_order_relaxed)) {
        uint_fast64_t seen = atomic_load_explicit(&ball, memory_order_acquire);
        if (seen % 2 == 1) atomic_store_explicit(&ball, seen + 1, memory_order_release);
    }
    return NULL;
}

/* One serve and its return; false if the time was over first. */
static bool bounce(int64_t until)
{
    uint_fast64_t served = atomic_load_explicit(&ball, memory_order_relaxed) + 1;
    atomic_store_explicit(&ball, served, memory_order_release);
    for (unsigned spins = 1; atomic_load_explicit(&ball, memory_order_acquire) == served; spins++)
        if (spins % 4096 == 0 && bench_now() > until) return false;
    return true;
}

int main(int argc, char **argv)
{
    if (argc != 2 || atoi(argv[1]) < 1) bench_fail("usage: %s MILLISECONDS", argv[0]);
    pthread_t thread;
    if (pthread_create(&thread, NULL, partner, NULL) != 0) bench_fail("cannot start a thread");
    while (!bounce(bench_now() + 1000000000)) /* the partner runs now */
        ;
    int64_t start = bench_now();
    int64_t until = start + atoi(argv[1]) * INT64_C(1000000);
    uint64_t trips = 0;
    do {
        for (int i = 0; i < 1000 && bounce(until); i++) trips++;
    } while (bench_now() < until);
    int64_t end = bench_now();
    atomic_store(&over, true);
    pthread_join(thread, NULL);
    /* Not once, on a machine that others keep busy: then it takes so long at least. */
    printf("round_trip_ns=%.2f trips=%llu\n", (double)(end - start) / (double)(trips > 0 ? trips : 1),
           (unsigned long long)trips);
    return 0;
}
