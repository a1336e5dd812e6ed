/* SPDX-License-Identifier: MIT */
/*
 * The hot loops and main of a C or C++ contestant. Include it last, after
 * these four static functions:
 *
 *     queue_make(plan)        makes the one queue, before any worker runs
 *     queue_enter(producing)  in each worker before the start, for per-thread tokens
 *     queue_push(element)     waits for room if the queue has a limit
 *     queue_pop()             waits for an element
 *
 * A consumer stops after its quota, because not every contestant can be
 * closed. Both loops pay the same few instructions for the check.
 */
#ifndef BENCH_RULES_TRANSFER_LOOP_H
#define BENCH_RULES_TRANSFER_LOOP_H

#include "transfer.h"

static void transfer_produce(struct bench_worker *worker)
{
    uint64_t base = (uint64_t)worker->number << BENCH_SEQUENCE_BITS;
    for (uint64_t sequence = 1; sequence <= worker->quota; sequence++) queue_push(base | sequence);
}

static void transfer_consume(struct bench_worker *worker)
{
    uint64_t newest[BENCH_PRODUCERS_MAX] = {0};
    uint64_t sum = 0, disorder = 0;
    for (uint64_t left = worker->quota; left > 0; left--) {
        uint64_t element = queue_pop();
        uint64_t *before = &newest[(element >> BENCH_SEQUENCE_BITS) % BENCH_PRODUCERS_MAX];
        sum += element;
        disorder += element <= *before;
        *before = element;
    }
    worker->sum = sum;
    worker->disorder = disorder;
}

static void transfer_push(uint64_t element)
{
    queue_push(element);
}

static uint64_t transfer_pop(void)
{
    return queue_pop();
}

int main(int argc, char **argv)
{
    static const struct bench_contestant contestant = {queue_make,       queue_enter,   transfer_produce,
                                                       transfer_consume, transfer_push, transfer_pop};
    return bench_main(argc, argv, &contestant);
}

#endif
