// SPDX-License-Identifier: MIT
// A pool made of moodycamel::BlockingConcurrentQueue: idle objects lie in the
// queue. Every worker has both tokens, which its documentation names as the
// fast way.
#include <concurrentqueue/blockingconcurrentqueue.h>

#include "../../rules/lend.h"

using Queue = moodycamel::BlockingConcurrentQueue<struct lend_object *>;
typedef struct lend_object *pool_lease;

static Queue *queue;
static thread_local moodycamel::ProducerToken *producer;
static thread_local moodycamel::ConsumerToken *consumer;

static void pool_enter(struct lend_worker *worker)
{
    (void)worker;
    producer = new moodycamel::ProducerToken(*queue);
    consumer = new moodycamel::ConsumerToken(*queue);
}

static void pool_make(const struct lend_plan *plan)
{
    queue = new Queue;
    pool_enter(nullptr);
    for (unsigned i = 0; i < plan->size; i++)
        queue->enqueue(*producer, &lend_objects[i]);
}

static inline struct lend_object *pool_take(pool_lease *lease)
{
    if (!queue->wait_dequeue_timed(*consumer, *lease, INT64_C(1000000) * LEND_PATIENCE_S))
        bench_fail("a take waited for %d s", LEND_PATIENCE_S);
    return *lease;
}

static inline void pool_give(pool_lease *lease)
{
    if (!queue->enqueue(*producer, *lease))
        bench_fail("no memory");
}

#include "../../rules/lend_loop.h"
