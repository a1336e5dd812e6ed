/* SPDX-License-Identifier: MIT */
/* Each allocation of the driver fails once: whoever waits is told, nothing is lost, and the next try works. */
#include "drivers/failing_memory.h"
#include "drivers/sqlite_files.h"

void test_program_begin(void)
{
    begin_places();
}

void test_program_end(void)
{
    end_places();
}

static cen_status use(cen_sqlite_pool *both)
{
    cen_lease lease;
    cen_error error;
    cen_status status = cen_pool_take(cen_sqlite_pool_readers(both), cen_in_s(10), &lease, &error);
    if (status != CEN_OK) return status;
    expect_equal(number(lease.object, "select count(*) from t"), 0);
    cen_pool_give(&lease);
    status = cen_pool_take(cen_sqlite_pool_writer(both), cen_in_s(10), &lease, &error);
    if (status != CEN_OK) return status;
    for (int i = 0; i < 3 && status == CEN_OK; i++) {
        char sql[30];
        sqlite3_stmt *statement;
        snprintf(sql, sizeof sql, "select %d from t", i);
        status = cen_sqlite_prepare(lease.object, sql, &statement, &error);
    }
    run(lease.object, "begin; insert into t values (1)");
    expect_equal(cen_pool_give(&lease), CEN_OK);
    return status;
}

static cen_status live(void)
{
    cen_sqlite_options database = CEN_SQLITE_OPTIONS(.setup = "select 1", .statements = 2);
    cen_sqlite_pool_options options = CEN_SQLITE_POOL_OPTIONS(.path = file, .readers = 1, .database = &database);
    cen_pool_options pool =
        CEN_POOL_OPTIONS(.breaker_failures = 1, .backoff_initial_ns = 1000000, .backoff_max_ns = 1000000);
    cen_sqlite_pool *both;
    options.pool = &pool;
    cen_status status = cen_sqlite_pool_new(&options, &both, NULL);
    if (status != CEN_OK) return status;
    status = use(both);
    left = 0; /* from here on all goes well */
    cen_lease lease = take(cen_sqlite_pool_writer(both));
    expect_equal(number(lease.object, "select count(*) from t"), 0);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    expect_equal(cen_sqlite_pool_close(both, cen_in_s(10), NULL), CEN_OK);
    expect_equal(cen_sqlite_pool_free(both), CEN_OK);
    return status;
}

TEST(each_allocation_may_fail)
{
    sqlite3 *db;
    expect_equal(sqlite3_open(make_place(), &db), SQLITE_OK);
    run(db, "pragma journal_mode = wal; create table t (a)");
    sqlite3_close(db);
    int failures = 0, n = 0;
    do {
        was_hit = false;
        left = ++n;
        cen_status status = live();
        left = 0;
        failures += status != CEN_OK;
        bool is_right =
            status == CEN_OK || (was_hit && (status == CEN_NO_MEMORY || status == CEN_DRIVER || status == CEN_SYSTEM));
        if (!is_right) test_fail(__FILE__, __LINE__, "allocation %d: %s", n, cen_status_name(status));
    } while (was_hit);
    printf("     %d of %d allocations failed a call\n", failures, n - 1);
    expect(failures > 10);
}
