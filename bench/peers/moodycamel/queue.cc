// SPDX-License-Identifier: MIT
// moodycamel::BlockingConcurrentQueue: unbounded only, in order for each
// producer but not across producers. Every worker has its token, which its
// documentation names as the fast way.
#include <concurrentqueue/blockingconcurrentqueue.h>

#include "../../rules/transfer.h"

using Queue = moodycamel::BlockingConcurrentQueue<uint64_t>;

static Queue *queue;
static thread_local moodycamel::ProducerToken *producer;
static thread_local moodycamel::ConsumerToken *consumer;

static void queue_make(const struct bench_plan *plan)
{
    if (plan->bounded)
        bench_fail("moodycamel's queue has no limit");
    queue = new Queue;
}

static void queue_enter(bool producing)
{
    if (producing)
        producer = new moodycamel::ProducerToken(*queue);
    else
        consumer = new moodycamel::ConsumerToken(*queue);
}

static void queue_push(uint64_t element)
{
    if (!queue->enqueue(*producer, element))
        bench_fail("no memory");
}

static uint64_t queue_pop(void)
{
    uint64_t element;
    queue->wait_dequeue(*consumer, element);
    return element;
}

#include "../../rules/transfer_loop.h"
