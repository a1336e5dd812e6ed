/* SPDX-License-Identifier: MIT */
/* The checkout pool against a simple model, by main and three fibers in
 * virtual time. */
#include "model/pool_ops.h"
#include "support/test.h"

static model pools(unsigned steps, unsigned runs)
{
    return (model){.name = "pools",
                   .ops = pool_ops,
                   .op_count = POOL_OPS,
                   .setup = pool_ops_setup,
                   .teardown = pool_ops_teardown,
                   .steps = steps,
                   .runs = runs};
}

/* guarantees: pool.L1, pool.L2 */
PLAIN_TEST(pools_match_their_model_in_short_runs)
{
    model m = pools(50, 4000);
    model_check(&m);
}

/* guarantees: pool.L1, pool.L2 */
PLAIN_TEST(pools_match_their_model_in_long_runs)
{
    model m = pools(1000, 200);
    model_check(&m);
}
