// SPDX-License-Identifier: MIT
// oneTBB's concurrent_bounded_queue, the one of its queues whose push and pop
// wait. Without a capacity set it is unbounded.
#include <oneapi/tbb/concurrent_queue.h>

#include "../../rules/transfer.h"

static oneapi::tbb::concurrent_bounded_queue<uint64_t> *queue;

static void queue_make(const struct bench_plan *plan)
{
    queue = new oneapi::tbb::concurrent_bounded_queue<uint64_t>;
    if (plan->bounded)
        queue->set_capacity(static_cast<std::ptrdiff_t>(plan->capacity));
}

static void queue_enter(bool producing)
{
    (void)producing;
}

static void queue_push(uint64_t element)
{
    queue->push(element);
}

static uint64_t queue_pop(void)
{
    uint64_t element;
    queue->pop(element);
    return element;
}

#include "../../rules/transfer_loop.h"
