/* SPDX-License-Identifier: MIT */
/* APR's resource list with libpq: all connections made at the start, no time to live. One that failed is invalidated, and the
 * next taker has another made. As it is there is no limit to waiting, connecting or an answer; as advised there is one to each. */
#include <apr_general.h>
#include <apr_pools.h>
#include <apr_reslist.h>
#include <stdlib.h>

#include "../../rules/bench.h"
#include "../../rules/ends.h"
#include "../../rules/ends_pq.h"

static apr_reslist_t *list;
static bool limited;

static apr_status_t construct(void **resource, void *address, apr_pool_t *pool)
{
    const char *why;
    (void)pool;
    *resource = ends_pq_connect(address, &why);
    return *resource ? APR_SUCCESS : APR_EGENERAL;
}

static apr_status_t destruct(void *resource, void *address, apr_pool_t *pool)
{
    (void)address, (void)pool;
    PQfinish(resource);
    return APR_SUCCESS;
}

static void begin(const ends_plan *plan)
{
    apr_pool_t *memory;
    int size = (int)plan->connections;
    limited = plan->mode == ENDS_ADVISED;
    if (apr_initialize() != APR_SUCCESS || apr_pool_create(&memory, NULL) != APR_SUCCESS ||
        apr_reslist_create(&list, size, size, size, 0, construct, destruct, (void *)(uintptr_t)ends_pq_address(plan),
                           memory) != APR_SUCCESS)
        bench_fail("APR could not make the list");
    if (limited) apr_reslist_timeout_set(list, apr_time_from_sec(ENDS_WAIT_S));
}

static const char *take(ends_lease *lease)
{
    return apr_reslist_acquire(list, &lease->connection) == APR_SUCCESS ? NULL : "no connection, or not in time";
}

static const char *ask(ends_lease *lease, char answer[ENDS_ANSWER])
{
    if (!limited) return ends_pq_ask(lease->connection, answer);
    return ends_pq_ask_within(lease->connection, ENDS_ANSWER_S * INT64_C(1000000000), answer);
}

static void give(ends_lease *lease, bool failed)
{
    if (failed) apr_reslist_invalidate(list, lease->connection);
    else apr_reslist_release(list, lease->connection);
}

int main(int count, char **words)
{
    static const ends_contestant apr = {false, begin, take, ask, give};
    return ends_main(count, words, &apr);
}
