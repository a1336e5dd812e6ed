/* SPDX-License-Identifier: MIT */
/* Each allocation of the driver fails once: whoever waits is told, nothing is lost, and the next try works. */
#include <stdlib.h>

#include <cenote/poller.h>

#include "drivers/failing_memory.h"
#include "drivers/pq_place.h"

/* ---- One life of a pool --------------------------------------------------------------------------- */

static cen_status use(cen_pool *pool)
{
    cen_lease lease;
    cen_status status = cen_pool_take(pool, cen_in_s(10), &lease, NULL);
    if (status != CEN_OK) return status;
    PGresult *result = NULL;
    for (int i = 0; i < 3 && status == CEN_OK; i++) {
        char sql[30];
        snprintf(sql, sizeof sql, "select %d", i);
        status = cen_pq_run(lease.object, sql, 0, NULL, &result, NULL);
        if (status == CEN_OK) PQclear(result);
    }
    if (status == CEN_OK && PQsendQuery(lease.object, "select pg_sleep(10)")) PQflush(lease.object);
    expect_equal(cen_pool_give(&lease), CEN_OK); /* with a query that runs: a reset, with a cancel request */
    if (status != CEN_OK) return status;
    place_soon(place_stats(pool).resetting == 0);
    return CEN_OK;
}

static cen_status live(cen_poller *poller, const char *uri)
{
    cen_pq_options pq = CEN_PQ_OPTIONS(.uri = uri, .setup = "select 1", .statements = 2, .poller = poller);
    cen_pool_options options =
        CEN_POOL_OPTIONS(.name = "pq", .driver = cen_pq_with(&pq), .max = 1, .breaker_failures = 1,
                         .backoff_initial_ns = 1000000, .backoff_max_ns = 1000000);
    cen_pool *pool;
    cen_status status = cen_pool_new(&options, &pool, NULL);
    if (status != CEN_OK) return status;
    status = use(pool);
    left = 0; /* from here on all goes well */
    cen_lease lease;
    place_soon(cen_pool_take(pool, cen_in_ms(500), &lease, NULL) == CEN_OK);
    expect(place_use(lease.object));
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
    return status;
}

static void sweep(cen_poller *poller)
{
    char uri[200];
    unsigned port = server_port(place_server());
    snprintf(uri, sizeof uri, "postgresql://tester:secret@127.0.0.1:%u,127.0.0.1:%u/test", port, port);
    place_admin("select 1");
    int failures = 0, n = 0;
    do {
        was_hit = false;
        left = ++n;
        cen_status status = live(poller, uri);
        failures += status != CEN_OK;
        bool is_right =
            status == CEN_OK || (was_hit && (status == CEN_NO_MEMORY || status == CEN_DRIVER || status == CEN_SYSTEM));
        if (!is_right) test_fail(__FILE__, __LINE__, "allocation %d: %s", n, cen_status_name(status));
    } while (was_hit); /* until there are no more */
    printf("     %d of %d allocations failed a call\n", failures, n - 1);
    expect(failures > 10);
    place_soon(place_connections() == 0);
}

TEST(each_allocation_may_fail)
{
    sweep(NULL);
}

TEST(each_allocation_may_fail_over_a_poller)
{
    cen_poller *poller;
    expect_equal(cen_poller_new(NULL, &poller, NULL), CEN_OK);
    sweep(poller);
    expect_equal(cen_poller_free(poller), CEN_OK);
}
