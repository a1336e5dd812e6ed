/* SPDX-License-Identifier: MIT */
/* The suite that every driver passes, for SQLite: no passwords, no server that could be absent, full or silent. */
#include "drivers/conformance.h"
#include "drivers/sqlite_files.h"

void test_program_begin(void)
{
    sqlite3 *db;
    begin_places();
    make_place();
    expect_equal(sqlite3_open(file, &db), SQLITE_OK);
    run(db, "pragma journal_mode = wal; create table orders (customer text not null)");
    sqlite3_close(db);
}

void test_program_end(void)
{
    end_places();
}

static cen_driver driver(const char *url, int64_t timeout_ns)
{
    (void)timeout_ns;
    return cen_sqlite(url);
}

static const char *good(void)
{
    return file;
}

static bool use(void *db)
{
    return number(db, "select 40 + 2 from sqlite_schema limit 1") == 42;
}

static uint64_t identity(void *db)
{
    return (uint64_t)(uintptr_t)db;
}

static bool make_dirty(void *db)
{
    return sqlite3_exec(db, "begin immediate; insert into orders values ('nobody')", NULL, NULL, NULL) == SQLITE_OK;
}

static bool is_clean(void *db)
{
    return sqlite3_get_autocommit(db) && number(db, "select count(*) from orders") == 0;
}

static bool hang(void *db)
{
    return sqlite3_exec(db, "with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) from n",
                        NULL, NULL, NULL) == SQLITE_INTERRUPT;
}

static const conformance sqlite = {
    .name = "sqlite",
    .driver = driver,
    .good = good,
    .use = use,
    .identity = identity,
    .make_dirty = make_dirty,
    .is_clean = is_clean,
    .hang = hang,
    .cannot_renew = true, /* a file that the parent has open: sqlite_test.c */
};
CONFORMANCE(sqlite)
