/* SPDX-License-Identifier: MIT */
/* The queue of every kind, the sources and select against a plain array, by
 * one thread in virtual time. */
#include "model/queue_ops.h"
#include "support/test.h"

static model queues(unsigned steps, unsigned runs)
{
    return (model){.name = "queues",
                   .ops = queue_ops,
                   .op_count = QUEUE_OPS,
                   .setup = queue_ops_setup,
                   .teardown = queue_ops_teardown,
                   .steps = steps,
                   .runs = runs};
}

/* guarantees: queue.order */
PLAIN_TEST(queues_and_sources_match_a_plain_array_in_short_runs)
{
    model m = queues(50, 10000);
    model_check(&m);
}

/* guarantees: queue.order */
PLAIN_TEST(queues_and_sources_match_a_plain_array_in_long_runs)
{
    model m = queues(1000, 500);
    model_check(&m);
}
