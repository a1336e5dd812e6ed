/* SPDX-License-Identifier: MIT */
/*
 * cenote by its drivers for PostgreSQL and Redis, and by their own functions for questions, which keep statements prepared. As it
 * is without a word: takes wait for up to 30 s, connecting has 5 s, and a holder of a PostgreSQL connection has all the time that
 * it wants. As docs/outages.md advises: a deadline for each take, a limit to holding, after which the query is cancelled and,
 * when not even that gets through, its socket is shut, and four openings at a time, so that a silent host is tried more often.
 */
#include <cenote/cenote.h>
#include <cenote/pq.h>
#include <cenote/redis.h>

#include "../rules/bench.h"
#include "../rules/ends.h"
#include "../rules/ends_pq.h"
#include "../rules/ends_redis.h"

#define SECOND INT64_C(1000000000)
#define CANCEL_NS (SECOND / 2) /* of the time for an answer: to cancel, before the socket is shut */
#define OPENERS 4

static cen_pool *pool;
static bool redis, limited;

static cen_driver pq_driver(const ends_plan *plan, const char *address)
{
    static cen_pq_options server =
        CEN_PQ_OPTIONS(.cancel_timeout_ns = CANCEL_NS, .connect_timeout_ns = ENDS_CONNECT_S * SECOND);
    server.uri = address;
    return plan->mode == ENDS_ADVISED ? cen_pq_with(&server) : cen_pq(address);
}

static cen_driver redis_driver(const ends_plan *plan, const char *address)
{
    static cen_redis_options server =
        CEN_REDIS_OPTIONS(.connect_timeout_ns = ENDS_CONNECT_S * SECOND, .command_timeout_ns = ENDS_ANSWER_S * SECOND);
    server.url = address;
    return plan->mode == ENDS_ADVISED ? cen_redis_with(&server) : cen_redis(address);
}

static void begin(const ends_plan *plan)
{
    char address[300];
    cen_error error;
    redis = plan->redis;
    limited = plan->mode == ENDS_ADVISED;
    snprintf(address, sizeof address, redis ? "redis://:secret@%s:%u/0" : "postgresql://tester:secret@%s:%u/test",
             plan->host, plan->port);
    cen_pool_options options =
        CEN_POOL_OPTIONS(.driver = redis ? redis_driver(plan, address) : pq_driver(plan, address),
                         .max = plan->connections);
    if (limited) {
        options.max_hold_ns = ENDS_ANSWER_S * SECOND - CANCEL_NS;
        options.max_concurrent_opens = OPENERS;
    }
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) bench_fail("%s", error.text);
}

static const char *take(ends_lease *lease)
{
    _Static_assert(sizeof(cen_lease) <= sizeof *lease, "a lease fits");
    cen_error error;
    cen_deadline deadline = limited ? cen_in_s(ENDS_WAIT_S) : (cen_deadline){0};
    return cen_pool_take(pool, deadline, (cen_lease *)lease, &error) == CEN_OK ? NULL : ends_why(error.text);
}

static const char *ask(ends_lease *lease, char answer[ENDS_ANSWER])
{
    void *connection = ((cen_lease *)lease)->object;
    cen_error error;
    PGresult *result;
    if (redis)
        return ends_redis_read(connection, cen_redis_command(connection, "GET cenote-bench"), REDIS_REPLY_STRING,
                               answer);
    if (cen_pq_run(connection, "select 1", 0, NULL, &result, &error) != CEN_OK) return ends_why(error.text);
    return ends_pq_read(connection, result, answer);
}

/* What failed is noticed by the driver. */
static void give(ends_lease *lease, bool failed)
{
    (void)failed;
    cen_pool_give((cen_lease *)lease);
}

int main(int count, char **words)
{
    static const ends_contestant cenote = {true, begin, take, ask, give};
    return ends_main(count, words, &cenote);
}
