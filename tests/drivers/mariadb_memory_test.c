/* SPDX-License-Identifier: MIT */
/* Each allocation of the driver fails once: whoever waits is told, nothing is lost, and the next try works. */
#include "drivers/failing_memory.h"
#include "drivers/mariadb_server.h"

void test_program_begin(void)
{
    mariadb = server_start(SERVER_MARIADB, NULL);
}

void test_program_end(void)
{
    server_stop(mariadb);
}

static cen_status use(cen_pool *pool)
{
    cen_lease lease;
    cen_status status = cen_pool_take(pool, cen_in_s(10), &lease, NULL);
    if (status != CEN_OK) return status;
    for (int i = 0; i < 3 && status == CEN_OK; i++) {
        char sql[30];
        MYSQL_STMT *statement;
        snprintf(sql, sizeof sql, "select %d", i);
        status = cen_mariadb_prepare(lease.object, sql, &statement, NULL);
    }
    run(lease.object, "set @a = 1");
    expect_equal(cen_pool_give(&lease), CEN_OK);
    if (status != CEN_OK) return status;
    expect_soon(stats(pool).resetting == 0);
    return CEN_OK;
}

static cen_status live(cen_poller *poller, const char *url)
{
    cen_mariadb_options driver =
        CEN_MARIADB_OPTIONS(.url = url, .setup = "set @b = 1", .statements = 2, .poller = poller);
    cen_pool_options options = CEN_POOL_OPTIONS(.driver = cen_mariadb_with(&driver), .max = 1, .breaker_failures = 1,
                                                .backoff_initial_ns = 1000000, .backoff_max_ns = 1000000);
    cen_pool *pool;
    cen_status status = cen_pool_new(&options, &pool, NULL);
    if (status != CEN_OK) return status;
    status = use(pool);
    left = 0; /* from here on all goes well */
    cen_lease lease = take_after_outage(pool);
    expect_equal(number(lease.object, "select 1"), 1);
    expect_equal(number(lease.object, "select @a"), -1);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    end_pool(pool);
    return status;
}

static void sweep(cen_poller *poller)
{
    char url[200];
    snprintf(url, sizeof url, "%s?role=primary&charset=utf8mb4", server_url(mariadb));
    admin();
    int failures = 0, n = 0;
    do {
        was_hit = false;
        left = ++n;
        cen_status status = live(poller, url);
        left = 0;
        failures += status != CEN_OK;
        bool is_right =
            status == CEN_OK || (was_hit && (status == CEN_NO_MEMORY || status == CEN_DRIVER || status == CEN_SYSTEM));
        if (!is_right) test_fail(__FILE__, __LINE__, "allocation %d: %s", n, cen_status_name(status));
    } while (was_hit); /* until there are no more */
    printf("     %d of %d allocations failed a call\n", failures, n - 1);
    expect(failures > 10);
    expect_soon(connections() == 0);
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
