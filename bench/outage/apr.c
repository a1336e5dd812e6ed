/* SPDX-License-Identifier: MIT */
/* APR's resource list: connections are made by its constructor, takes wait for up to 30 seconds, one that failed is invalidated. */
#include <apr_general.h>
#include <apr_pools.h>
#include <apr_reslist.h>

#include "../support/bench.h"
#include "outage.h"

static apr_reslist_t *list;

static apr_status_t construct(void **resource, void *url, apr_pool_t *pool)
{
    (void)pool;
    PGconn *connection = PQconnectdb(url);
    *resource = connection;
    if (PQstatus(connection) == CONNECTION_OK) return APR_SUCCESS;
    PQfinish(connection);
    return APR_EGENERAL;
}

static apr_status_t destruct(void *resource, void *url, apr_pool_t *pool)
{
    (void)url, (void)pool;
    PQfinish(resource);
    return APR_SUCCESS;
}

static void begin(const char *url)
{
    apr_pool_t *memory;
    if (apr_initialize() != APR_SUCCESS || apr_pool_create(&memory, NULL) != APR_SUCCESS ||
        apr_reslist_create(&list, 0, OUTAGE_CONNECTIONS, OUTAGE_CONNECTIONS, 0, construct, destruct, (void *)(uintptr_t)url,
                           memory) != APR_SUCCESS)
        bench_fail("APR could not make the list");
    apr_reslist_timeout_set(list, apr_time_from_sec(30));
}

static bool call(void)
{
    void *connection;
    if (apr_reslist_acquire(list, &connection) != APR_SUCCESS) return false;
    bool answered = outage_ask(connection);
    if (answered) apr_reslist_release(list, connection);
    else apr_reslist_invalidate(list, connection);
    return answered;
}

const outage_way apr_way = {"apr", begin, call};
