/* SPDX-License-Identifier: MIT */
/*
 * No pool: as many threads as connections, each with one of its own for good. What threads that block can have at most of a
 * server, whatever the pool: nobody waits for a connection and nobody hands one over. A yardstick and no contestant.
 */
#include <stdatomic.h>

#include "../rules/bench.h"
#include "../rules/ends.h"
#include "../rules/ends_pq.h"
#include "../rules/ends_redis.h"

static ends_plan plan;
static const char *address;
static void **connections;
static unsigned opened;     /* by the rules, which take them all at once before the threads start */
static atomic_uint claimed; /* by threads */
static _Thread_local void *own;

static void begin(const ends_plan *wanted)
{
    plan = *wanted;
    if (plan.threads != plan.connections) bench_fail("without a pool there are as many threads as connections");
    address = ends_pq_address(&plan);
    connections = bench_zeroed(plan.connections, sizeof *connections);
}

static const char *take(ends_lease *lease)
{
    const char *why = NULL;
    if (opened < plan.connections) {
        lease->connection = plan.redis ? (void *)ends_redis_connect(&plan, &why) : ends_pq_connect(address, &why);
        connections[opened++] = lease->connection;
        return why;
    }
    if (!own) own = connections[atomic_fetch_add(&claimed, 1)];
    lease->connection = own;
    return NULL;
}

static const char *ask(ends_lease *lease, char answer[ENDS_ANSWER])
{
    return plan.redis ? ends_redis_ask(lease->connection, answer) : ends_pq_ask(lease->connection, answer);
}

static void give(ends_lease *lease, bool failed)
{
    (void)lease, (void)failed;
}

int main(int count, char **words)
{
    static const ends_contestant bare = {true, begin, take, ask, give};
    return ends_main(count, words, &bare);
}
