// SPDX-License-Identifier: MIT
// A pool made of oneTBB's concurrent_bounded_queue: idle objects lie in the
// queue. Its pop waits without a limit of time; there is none that has one.
#include <oneapi/tbb/concurrent_queue.h>

#include "../../rules/lend.h"

typedef struct lend_object *pool_lease;

static oneapi::tbb::concurrent_bounded_queue<struct lend_object *> *queue;

static void pool_make(const struct lend_plan *plan)
{
    queue = new oneapi::tbb::concurrent_bounded_queue<struct lend_object *>;
    queue->set_capacity(static_cast<std::ptrdiff_t>(plan->size));
    for (unsigned i = 0; i < plan->size; i++)
        queue->push(&lend_objects[i]);
}

static void pool_enter(struct lend_worker *worker)
{
    (void)worker;
}

static inline struct lend_object *pool_take(pool_lease *lease)
{
    queue->pop(*lease);
    return *lease;
}

static inline void pool_give(pool_lease *lease)
{
    queue->push(*lease);
}

#include "../../rules/lend_loop.h"
