/* SPDX-License-Identifier: MIT */
/*
 * What waiting costs: three threads wait MILLISECONDS on empty queues, one in
 * pop, one in pop with a far deadline, one in a select over three queues. Each
 * measures its own CPU time from before the call to after it, so going to
 * sleep and waking up are included.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <cenote/queue.h>

#include "../rules/bench.h"

#define WIDTH 3

struct waiter {
    cen_queue *queues[WIDTH]; /* the first is the one that is pushed to */
    int64_t cpu_ns;
    cen_status status;
};

static void *wait_in_pop(void *argument)
{
    struct waiter *waiter = argument;
    uint64_t element;
    int64_t before = bench_cpu();
    waiter->status = cen_queue_pop(waiter->queues[0], &element);
    waiter->cpu_ns = bench_cpu() - before;
    return NULL;
}

static void *wait_in_pop_until(void *argument)
{
    struct waiter *waiter = argument;
    uint64_t element;
    int64_t before = bench_cpu();
    waiter->status = cen_queue_pop_until(waiter->queues[0], cen_in_s(3600), &element);
    waiter->cpu_ns = bench_cpu() - before;
    return NULL;
}

static void *wait_in_select(void *argument)
{
    struct waiter *waiter = argument;
    uint64_t element[WIDTH];
    cen_case cases[WIDTH];
    size_t chosen;
    for (size_t i = 0; i < WIDTH; i++) cases[i] = cen_case_pop(waiter->queues[i], &element[i]);
    int64_t before = bench_cpu();
    waiter->status = cen_select(cases, WIDTH, CEN_NEVER, &chosen);
    waiter->cpu_ns = bench_cpu() - before;
    return NULL;
}

static void make_queues(struct waiter *waiter)
{
    cen_queue_options options = CEN_QUEUE_OPTIONS(.name = "idle", .element_size = sizeof(uint64_t), .capacity = 8);
    for (size_t i = 0; i < WIDTH; i++)
        if (cen_queue_new(&options, &waiter->queues[i], NULL) != CEN_OK) bench_fail("cannot make a queue");
}

int main(int argc, char **argv)
{
    static void *(*const ways[])(void *) = {wait_in_pop, wait_in_pop_until, wait_in_select};
    struct waiter waiters[3] = {0};
    pthread_t threads[3];
    if (argc != 2 || atoi(argv[1]) < 1) bench_fail("usage: %s MILLISECONDS", argv[0]);
    for (int i = 0; i < 3; i++) {
        make_queues(&waiters[i]);
        if (pthread_create(&threads[i], NULL, ways[i], &waiters[i]) != 0) bench_fail("cannot start a thread");
    }
    long ms = atol(argv[1]);
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
    for (int i = 0; i < 3; i++) {
        uint64_t element = 1;
        if (cen_queue_push(waiters[i].queues[0], &element) != CEN_OK) bench_fail("push failed");
        pthread_join(threads[i], NULL);
        if (waiters[i].status != CEN_OK) bench_fail("waiter %d: %s", i, cen_status_text(waiters[i].status));
        for (size_t q = 0; q < WIDTH; q++) cen_queue_free(waiters[i].queues[q]);
    }
    printf("pop_cpu_ns=%lld pop_until_cpu_ns=%lld select_cpu_ns=%lld waited_ms=%ld\n", (long long)waiters[0].cpu_ns,
           (long long)waiters[1].cpu_ns, (long long)waiters[2].cpu_ns, ms);
    return 0;
}
