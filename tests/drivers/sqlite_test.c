/* SPDX-License-Identifier: MIT */
/* What is SQLite's own: settings, statements, every way to come back dirty, broken files, memory, fork. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "drivers/sqlite_files.h"

void test_program_begin(void)
{
    begin_places();
}

void test_program_end(void)
{
    end_places();
}

/* ---- Settings ------------------------------------------------------------------ */

static void mode_of(sqlite3 *db, char *out, size_t room)
{
    sqlite3_stmt *statement;
    expect_equal(sqlite3_prepare_v2(db, "pragma journal_mode", -1, &statement, NULL), SQLITE_OK);
    expect_equal(sqlite3_step(statement), SQLITE_ROW);
    snprintf(out, room, "%s", (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
}

TEST(a_connection_has_the_documented_defaults)
{
    char mode[20];
    cen_pool *pool = pool_of(cen_sqlite(make_place()), 2);
    cen_lease lease = take(pool);
    mode_of(lease.object, mode, sizeof mode);
    expect_text(mode, "wal");
    expect_equal(number(lease.object, "pragma synchronous"), 1);
    expect_equal(number(lease.object, "pragma foreign_keys"), 1);
    expect_equal(number(lease.object, "pragma query_only"), 0);
    cen_pool_give(&lease);
    end_pool(pool);
}

TEST(options_are_copied_and_kept)
{
    char path[96], setup[64];
    snprintf(path, sizeof path, "%s", make_place());
    snprintf(setup, sizeof setup, "create table if not exists t (a); pragma user_version = 7");
    cen_pool *pool = pool_with(1, .path = path, .setup = setup, .journal = CEN_SQLITE_ROLLBACK,
                               .synchronous = CEN_SQLITE_FULL, .no_foreign_keys = true);
    memset(path, 'x', sizeof path - 1);
    memset(setup, 'x', sizeof setup - 1);
    cen_lease lease = take(pool);
    char mode[20];
    mode_of(lease.object, mode, sizeof mode);
    expect_text(mode, "delete");
    expect_equal(number(lease.object, "pragma synchronous"), 2);
    expect_equal(number(lease.object, "pragma foreign_keys"), 0);
    expect_equal(number(lease.object, "pragma user_version"), 7);
    cen_pool_give(&lease);
    end_pool(pool);
}

TEST(options_that_are_wrong_are_named)
{
    cen_error error;
    expect_equal(refused(cen_sqlite(NULL), &error), CEN_INVALID);
    expect_words(error, "path");
    expect_equal(refused(cen_sqlite_with(NULL), &error), CEN_INVALID);
    expect_equal(refused(cen_sqlite_with(&CEN_SQLITE_OPTIONS(.path = "x", .busy_timeout_ns = -7)), &error),
                 CEN_INVALID);
    expect_words(error, "busy_timeout_ns");
    expect_equal(refused(cen_sqlite_with(&CEN_SQLITE_OPTIONS(.path = "x", .busy_timeout_ns = 5)), &error), CEN_INVALID);
    expect_words(error, "busy_timeout_ns must be at least 100,000 ns (got 5 ns)");
    expect_equal(refused(cen_sqlite_with(&CEN_SQLITE_OPTIONS(.path = "x", .statements = CEN_OFF)), &error),
                 CEN_INVALID);
    expect_words(error, "CEN_NONE");
    expect_equal(refused(cen_sqlite_with(&CEN_SQLITE_OPTIONS(.path = "x", .journal = 9)), &error), CEN_INVALID);
    expect_words(error, "journal");
    expect_equal(refused(cen_sqlite_with(&CEN_SQLITE_OPTIONS(.path = "x", .synchronous = 9)), &error), CEN_INVALID);
    expect_words(error, "synchronous");
}

TEST(a_setup_that_fails_fails_the_opening)
{
    cen_error error;
    make_place();
    expect_equal(refused(cen_sqlite_with(&CEN_SQLITE_OPTIONS(.path = file, .setup = "selekt")), &error), CEN_DRIVER);
    expect_words(error, "selekt");
}

TEST(a_uri_is_read_with_its_parameters)
{
    char uri[200];
    sqlite3 *db;
    expect_equal(sqlite3_open(make_place(), &db), SQLITE_OK);
    run(db, "create table t (a); insert into t values (3)");
    sqlite3_close(db);
    snprintf(uri, sizeof uri, "file://localhost%s/%%64b?mode=ro", place);
    cen_pool *pool = pool_with(1, .path = uri, .read_only = true);
    cen_lease lease = take(pool);
    expect_equal(number(lease.object, "select a from t"), 3);
    cen_pool_give(&lease);
    end_pool(pool);
}

/* ---- Statements ----------------------------------------------------------------- */

static sqlite3_stmt *prepared(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    cen_error error = {.text = ""};
    cen_status status = cen_sqlite_prepare(db, sql, &statement, &error);
    if (status != CEN_OK) test_fail(__FILE__, __LINE__, "%s: %s", sql, error.text);
    return statement;
}

static cen_sqlite_cache cache(sqlite3 *db)
{
    cen_sqlite_cache found = CEN_SIZED(cen_sqlite_cache);
    expect_equal(cen_sqlite_cache_get(db, &found), CEN_OK);
    return found;
}

TEST(a_statement_is_kept_and_comes_without_its_old_bindings)
{
    cen_pool *pool = pool_of(cen_sqlite(make_place()), 1);
    cen_lease lease = take(pool);
    sqlite3_stmt *first = prepared(lease.object, "select ?");
    sqlite3_bind_int(first, 1, 5);
    expect_equal(sqlite3_step(first), SQLITE_ROW);
    expect_equal(sqlite3_step(first), SQLITE_DONE);
    cen_pool_give(&lease);
    lease = take(pool);
    expect(prepared(lease.object, "select ?") == first);
    expect_equal(sqlite3_step(first), SQLITE_ROW);
    expect_equal(sqlite3_column_type(first, 0), SQLITE_NULL);
    sqlite3_reset(first);
    expect_equal(cache(lease.object).hits, 1);
    expect_equal(cache(lease.object).misses, 1);
    cen_pool_give(&lease);
    end_pool(pool);
}

TEST(one_in_the_middle_of_its_rows_is_not_given_again)
{
    cen_pool *pool = pool_of(cen_sqlite(make_place()), 1);
    cen_lease lease = take(pool);
    const char *sql = "values (1), (2), (3)";
    sqlite3_stmt *outer = prepared(lease.object, sql);
    int pairs = 0;
    while (sqlite3_step(outer) == SQLITE_ROW) {
        sqlite3_stmt *inner = prepared(lease.object, sql);
        expect(inner != outer);
        while (sqlite3_step(inner) == SQLITE_ROW) pairs++;
    }
    expect_equal(pairs, 9);
    expect_equal(cache(lease.object).kept, 2);
    cen_pool_give(&lease);
    end_pool(pool);
}

TEST(the_least_recently_used_leaves_but_none_of_this_lease)
{
    cen_pool *pool = pool_with(1, .path = make_place(), .statements = 3);
    cen_lease lease = take(pool);
    sqlite3_stmt *mine[5];
    char sql[40];
    for (int i = 0; i < 5; i++) {
        snprintf(sql, sizeof sql, "select %d", i);
        mine[i] = prepared(lease.object, sql);
    }
    expect_equal(cache(lease.object).kept, 5);
    for (int i = 0; i < 5; i++) {
        expect_equal(sqlite3_step(mine[i]), SQLITE_ROW);
        expect_equal(sqlite3_column_int(mine[i], 0), i);
        sqlite3_reset(mine[i]);
    }
    cen_pool_give(&lease);
    lease = take(pool);
    prepared(lease.object, "select 2"); /* 2, 3 and 4 are left */
    expect_equal(cache(lease.object).kept, 3);
    prepared(lease.object, "select 3");
    prepared(lease.object, "select 4");
    expect_equal(cache(lease.object).hits, 3);
    prepared(lease.object, "select 0");
    expect_equal(cache(lease.object).misses, 6);
    cen_pool_give(&lease);
    end_pool(pool);
}

TEST(without_a_cache_a_statement_lives_as_long_as_the_lease)
{
    cen_pool *pool = pool_with(1, .path = make_place(), .statements = CEN_NONE);
    cen_lease lease = take(pool);
    sqlite3_stmt *first = prepared(lease.object, "select 1"), *second = prepared(lease.object, "select 2");
    expect_equal(sqlite3_step(first), SQLITE_ROW);
    expect_equal(sqlite3_step(second), SQLITE_ROW);
    sqlite3_reset(first), sqlite3_reset(second);
    cen_pool_give(&lease);
    lease = take(pool);
    prepared(lease.object, "select 1");
    expect_equal(cache(lease.object).hits, 0);
    expect_equal(cache(lease.object).kept, 1);
    cen_pool_give(&lease);
    end_pool(pool);
}

TEST(what_is_no_single_statement_is_refused_with_its_text)
{
    cen_pool *pool = pool_of(cen_sqlite(make_place()), 1);
    cen_lease lease = take(pool);
    cen_error error;
    sqlite3_stmt *none = NULL, *statement;
    expect_equal(cen_sqlite_prepare(lease.object, "select 1; select 2", &none, &error), CEN_INVALID);
    expect_words(error, "select 2");
    expect_equal(cen_sqlite_prepare(lease.object, " -- nothing", &none, &error), CEN_INVALID);
    expect_equal(cen_sqlite_prepare(lease.object, "select * from nowhere", &none, &error), CEN_DRIVER);
    expect_words(error, "nowhere");
    expect_words(error, file);
    expect_equal(error.code, SQLITE_ERROR);
    expect_equal(cen_sqlite_prepare(lease.object, "select 1; -- and that was all\n ;", &statement, &error), CEN_OK);
    expect_equal(cen_sqlite_prepare(lease.object, NULL, &statement, &error), CEN_INVALID);
    expect(none == NULL);
    sqlite3 *strange;
    expect_equal(sqlite3_open(":memory:", &strange), SQLITE_OK);
    expect_equal(cen_sqlite_prepare(strange, "select 1", &statement, &error), CEN_INVALID);
    sqlite3_close(strange);
    expect_equal(cache(lease.object).kept, 1);
    cen_pool_give(&lease);
    end_pool(pool);
}

/* ---- Dirty ----------------------------------------------------------------------------- */

static void begin_and_forget(sqlite3 *db)
{
    run(db, "begin; insert into t values (9)");
}

static void leave_rows_of_a_kept_statement(sqlite3 *db)
{
    expect_equal(sqlite3_step(prepared(db, "select a from t")), SQLITE_ROW);
}

static void leave_rows_that_come_from_no_table(sqlite3 *db)
{
    expect_equal(sqlite3_step(prepared(db, "values (1), (2)")), SQLITE_ROW);
}

static void leave_a_database_attached(sqlite3 *db)
{
    run(db, "attach ':memory:' as \"an \"\"other\"; attach ':memory:' as third");
}

static void switch_foreign_keys_off(sqlite3 *db)
{
    run(db, "pragma foreign_keys = off");
}

static void leave_something_temporary(sqlite3 *db)
{
    run(db, "create temp table \"a \"\"b\" (a); create temp table t (a); create temp view v as select * from t;"
            "create temp trigger g after insert on main.t begin select 1; end");
}

static void leave_all_of_it(sqlite3 *db)
{
    switch_foreign_keys_off(db);
    leave_a_database_attached(db);
    begin_and_forget(db);
    leave_rows_of_a_kept_statement(db);
}

static bool is_as_new(sqlite3 *db)
{
    for (sqlite3_stmt *statement = NULL; (statement = sqlite3_next_stmt(db, statement));)
        if (sqlite3_stmt_busy(statement)) return false;
    return sqlite3_get_autocommit(db) && sqlite3_txn_state(db, NULL) == SQLITE_TXN_NONE &&
           number(db, "pragma foreign_keys") == 1 &&
           number(db, "select count(*) from pragma_database_list where name <> 'temp'") == 1 &&
           number(db, "select count(*) from sqlite_temp_master") == 0 && number(db, "select count(*) from t") == 2;
}

TEST(every_kind_of_dirt_is_seen_and_removed)
{
    static const struct {
        const char *name;
        void (*make)(sqlite3 *db);
    } kinds[] = {{"a transaction", begin_and_forget},
                 {"rows of a table", leave_rows_of_a_kept_statement},
                 {"rows of no table", leave_rows_that_come_from_no_table},
                 {"an attached database", leave_a_database_attached},
                 {"foreign keys", switch_foreign_keys_off},
                 {"all of it", leave_all_of_it},
                 {"something temporary", leave_something_temporary}};
    cen_pool *pool = pool_with(1, .path = make_place(), .setup = "create table if not exists t (a)");
    cen_lease lease = take(pool);
    run(lease.object, "insert into t values (1), (2)");
    sqlite3 *first = lease.object;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        cen_pool_stats s = CEN_SIZED(cen_pool_stats);
        kinds[i].make(lease.object);
        cen_pool_give(&lease);
        lease = take(pool);
        cen_pool_stats_get(pool, &s);
        if (s.reset != i + 1) test_fail(__FILE__, __LINE__, "%s: not seen, or not removed", kinds[i].name);
        if (!is_as_new(lease.object)) test_fail(__FILE__, __LINE__, "%s: still there", kinds[i].name);
        expect(lease.object == first);
    }
    cen_pool_give(&lease);
    end_pool(pool);
}

static int deny_all(void *calls, int action, const char *a, const char *b, const char *c, const char *d)
{
    (void)action, (void)a, (void)b, (void)c, (void)d;
    ++*(int *)calls;
    return SQLITE_DENY;
}

static int end_all(void *calls)
{
    ++*(int *)calls;
    return 1;
}

static void count_rows(void *calls, int action, const char *base, const char *table, sqlite3_int64 row)
{
    (void)action, (void)base, (void)table, (void)row;
    ++*(int *)calls;
}

TEST(functions_of_a_holder_are_not_called_for_the_next)
{
    cen_pool *pool =
        pool_with(1, .path = make_place(), .setup = "create table if not exists t (a)", .busy_timeout_ns = 200000000);
    cen_lease lease = take(pool);
    int calls = 0;
    sqlite3_set_authorizer(lease.object, deny_all, &calls);
    sqlite3_progress_handler(lease.object, 1, end_all, &calls);
    sqlite3_commit_hook(lease.object, end_all, &calls);
    sqlite3_update_hook(lease.object, count_rows, &calls);
    sqlite3_busy_timeout(lease.object, 0);
    cen_pool_give(&lease);
    lease = take(pool);
    run(lease.object, "insert into t values (1)");
    expect_equal(calls, 0);
    sqlite3 *other = NULL;
    expect_equal(sqlite3_open(file, &other), SQLITE_OK);
    run(other, "begin immediate");
    int64_t begin = cen_clock();
    expect_equal(sqlite3_exec(lease.object, "insert into t values (2)", NULL, NULL, NULL), SQLITE_BUSY);
    expect(cen_clock() - begin >= 190000000);
    sqlite3_close(other);
    cen_pool_give(&lease);
    end_pool(pool);
}

TEST(a_statement_that_a_holder_forgot_neither_locks_nor_crashes)
{
    cen_pool *pool = pool_with(1, .path = make_place(), .setup = "create table if not exists t (a)");
    cen_lease lease = take(pool);
    run(lease.object, "insert into t values (1), (2)");
    sqlite3_stmt *forgotten;
    expect_equal(sqlite3_prepare_v2(lease.object, "select a from t", -1, &forgotten, NULL), SQLITE_OK);
    expect_equal(sqlite3_step(forgotten), SQLITE_ROW);
    cen_pool_give(&lease);
    end_pool(pool);
    sqlite3 *db;
    expect_equal(sqlite3_open(file, &db), SQLITE_OK);
    run(db, "begin exclusive; drop table t; commit");
    sqlite3_close(db);
    sqlite3_finalize(forgotten); /* ends the connection */
}

/* ---- Broken -------------------------------------------------------------------------------- */

static sqlite3 *tested(cen_pool *pool)
{
    pause_ms(5);
    cen_lease lease = take(pool);
    sqlite3 *db = lease.object;
    expect_equal(number(db, "select 1"), 1);
    cen_pool_give(&lease);
    return db;
}

/* Used until `tests` tests were made: how long it was idle is known from the first look of the housekeeper, which may be late. */
static cen_pool_stats tested_times(cen_pool *pool, uint64_t tests)
{
    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    for (int i = 0; i < 10000 && s.tested < tests; i++) {
        tested(pool);
        cen_pool_stats_get(pool, &s);
    }
    return s;
}

static cen_pool *suspicious_pool(const char *path)
{
    cen_pool *pool = NULL;
    cen_pool_options options =
        CEN_POOL_OPTIONS(.driver = cen_sqlite(path), .max = 1, .test_after_idle_ns = CEN_US(100));
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    return pool;
}

TEST(a_deleted_or_replaced_file_makes_its_connections_broken)
{
    cen_pool *pool = suspicious_pool(make_place());
    char other[120];
    snprintf(other, sizeof other, "%s.other", file);
    sqlite3 *db;
    cen_pool_stats s = tested_times(pool, 1);
    expect(s.tested >= 1 && s.test_failed == 0 && s.opened == 1);
    unlink(file);
    s = tested_times(pool, s.tested + 1); /* on a new file */
    expect_equal(s.test_failed, 1);
    expect_equal(s.opened, 2);
    expect_equal(access(file, F_OK), 0);
    expect_equal(sqlite3_open(other, &db), SQLITE_OK);
    run(db, "create table restored (a)");
    sqlite3_close(db);
    expect_equal(rename(other, file), 0);
    tested_times(pool, s.tested + 1);
    cen_lease lease = take(pool);
    expect_equal(number(lease.object, "select count(*) from restored"), 0);
    cen_pool_give(&lease);
    end_pool(pool);
}

TEST(a_locked_file_is_not_a_broken_one_and_its_test_does_not_wait)
{
    cen_pool *pool = NULL;
    cen_sqlite_options options = CEN_SQLITE_OPTIONS(.path = make_place(), .journal = CEN_SQLITE_ROLLBACK);
    cen_pool_options settings =
        CEN_POOL_OPTIONS(.driver = cen_sqlite_with(&options), .max = 1, .test_after_idle_ns = CEN_US(100));
    expect_equal(cen_pool_new(&settings, &pool, NULL), CEN_OK);
    tested(pool);
    sqlite3 *db;
    expect_equal(sqlite3_open(file, &db), SQLITE_OK);
    run(db, "begin exclusive");
    int64_t quickest = INT64_MAX; /* a busy machine only adds to it */
    for (int tries = 0; tries < 5 && quickest >= 1000000000; tries++) {
        int64_t begin = cen_clock();
        tested(pool);
        if (cen_clock() - begin < quickest) quickest = cen_clock() - begin;
    }
    expect(quickest < 1000000000);
    cen_pool_stats s = tested_times(pool, 1);
    expect(s.tested >= 1);
    expect_equal(s.test_failed, 0);
    run(db, "rollback");
    sqlite3_close(db);
    end_pool(pool);
}

static void write_bytes(const char *path, long offset, const char *bytes, size_t size)
{
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    expect(fd >= 0 && pwrite(fd, bytes, size, offset) == (ssize_t)size);
    close(fd);
}

TEST(a_file_that_is_no_database_is_said_to_be_none)
{
    cen_error error;
    char text[4096];
    memset(text, 'x', sizeof text);
    write_bytes(make_place(), 0, text, sizeof text);
    expect_equal(refused(cen_sqlite(file), &error), CEN_DRIVER);
    expect_equal(error.code, SQLITE_NOTADB);
    expect_words(error, "not an SQLite database");
    expect_words(error, file);
}

TEST(a_corrupted_page_is_reported_and_the_connection_not_lent_again)
{
    cen_pool *pool =
        pool_with(1, .path = make_place(), .journal = CEN_SQLITE_ROLLBACK, .setup = "create table if not exists t (a)");
    cen_lease lease = take(pool);
    run(lease.object, "insert into t with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000) "
                      "select hex(randomblob(20)) from n");
    cen_pool_give(&lease);
    cen_pool_reap(pool, 0, NULL, NULL);
    char junk[4096];
    memset(junk, 0x55, sizeof junk);
    for (long page = 2; page < 20; page++) write_bytes(file, page * 4096, junk, sizeof junk);
    lease = take(pool);
    int code = sqlite3_exec(lease.object, "select count(*), max(a) from t", NULL, NULL, NULL);
    cen_error error;
    expect_equal(cen_sqlite_error_get(lease.object, code, &error), CEN_DRIVER);
    printf("     %s\n", error.text);
    expect_equal(error.code & 0xff, SQLITE_CORRUPT);
    expect_words(error, "corrupted");
    cen_pool_give(&lease);
    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    lease = take(pool);
    cen_pool_stats_get(pool, &s);
    expect_equal(s.opened, 3);
    cen_pool_give(&lease);
    end_pool(pool);
}

TEST(a_full_disk_is_said_to_be_full_and_the_transaction_is_gone)
{
    cen_pool *pool = pool_with(1, .path = make_place(), .max_pages = 10, .setup = "create table if not exists t (a)");
    cen_lease lease = take(pool);
    cen_error error;
    expect_equal(cen_sqlite_begin(lease.object, &error), CEN_OK);
    int code = sqlite3_exec(lease.object, "insert into t values (randomblob(100000))", NULL, NULL, NULL);
    expect_equal(cen_sqlite_error_get(lease.object, code, &error), CEN_DRIVER);
    printf("     %s\n", error.text);
    expect_equal(error.code, SQLITE_FULL);
    expect_words(error, "full");
    cen_pool_give(&lease);
    lease = take(pool);
    expect_equal(number(lease.object, "select count(*) from t"), 0);
    run(lease.object, "insert into t values (1)");
    cen_pool_give(&lease);
    end_pool(pool);
}

TEST(what_cannot_be_opened_says_why)
{
    cen_error error;
    char path[200];
    make_place();
    snprintf(path, sizeof path, "%s/nowhere/orders.db", place);
    expect_equal(refused(cen_sqlite(path), &error), CEN_DRIVER);
    expect_words(error, "no such file or directory");
    expect_words(error, path);
    expect_equal(refused(cen_sqlite_with(&CEN_SQLITE_OPTIONS(.path = file, .must_exist = true)), &error), CEN_ABSENT);
    expect_equal(access(file, F_OK), -1);
    expect_equal(refused(cen_sqlite_with(&CEN_SQLITE_OPTIONS(.path = file, .read_only = true)), &error), CEN_ABSENT);
    expect_equal(refused(cen_sqlite(place), &error), CEN_DRIVER);
    expect_words(error, "is a directory");
}

TEST(a_directory_that_may_not_be_written_is_named)
{
    cen_error error;
    sqlite3 *db;
    make_place();
    expect_equal(sqlite3_open(file, &db), SQLITE_OK);
    run(db, "create table t (a)");
    sqlite3_close(db);
    expect_equal(chmod(place, 0555), 0);
    expect_equal(chmod(file, 0444), 0);
    int status = 0;
    pid_t child = fork();
    if (child == 0) { /* as somebody else: root may write everywhere */
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(9);
        char path[200];
        snprintf(path, sizeof path, "%s/new.db", place);
        if (refused(cen_sqlite(path), &error) != CEN_DRIVER || !strstr(error.text, "permission denied")) _exit(1);
        if (refused(cen_sqlite(file), &error) != CEN_DRIVER || !strstr(error.text, "read-only")) _exit(2);
        _exit(0);
    }
    expect(waitpid(child, &status, 0) == child);
    expect_equal(chmod(place, 0755), 0);
    expect_equal(status, 0);
}

/* ---- Interrupt, reclaim ---------------------------------------------------------------------- */

TEST(a_wait_for_a_lock_is_given_up_when_the_lease_is_revoked)
{
    cen_pool *pool = pool_with(1, .path = make_place(), .busy_timeout_ns = INT64_C(60000000000));
    cen_lease lease = take(pool);
    sqlite3 *db;
    expect_equal(sqlite3_open(file, &db), SQLITE_OK);
    run(db, "begin immediate");
    cen_pool_options options = CEN_SIZED(cen_pool_options);
    cen_pool_options_get(pool, &options);
    options.max_hold_ns = 100000000;
    expect_equal(cen_pool_options_set(pool, &options, NULL), CEN_OK);
    int64_t begin = cen_clock();
    cen_error error;
    expect_equal(cen_sqlite_begin(lease.object, &error), CEN_BUSY);
    expect(cen_clock() - begin < INT64_C(30000000000)); /* half of what it would wait */
    expect_words(error, "locked");
    expect_equal(cen_pool_give(&lease), CEN_REVOKED);
    run(db, "rollback");
    sqlite3_close(db);
    end_pool(pool);
}

static uint64_t reclaimed(cen_pool *pool)
{
    cen_pool_stats stats = CEN_SIZED(cen_pool_stats);
    expect_equal(cen_pool_stats_get(pool, &stats), CEN_OK);
    return stats.reclaimed;
}

TEST(the_transaction_of_a_lost_holder_ends_and_the_holder_is_refused)
{
    cen_pool *pool = NULL;
    cen_pool_options options = CEN_POOL_OPTIONS(.driver = cen_sqlite(make_place()), .max = 1, .leak_after_ns = 50000000,
                                                .on_leak = CEN_LEAK_RECLAIM);
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    cen_lease lost = take(pool);
    run(lost.object, "create table t (a)");
    expect_equal(cen_sqlite_begin(lost.object, NULL), CEN_OK);
    run(lost.object, "insert into t values (1)");
    expect_soon(reclaimed(pool) == 1);
    cen_pool_options patient = CEN_SIZED(cen_pool_options);
    expect_equal(cen_pool_options_get(pool, &patient), CEN_OK);
    patient.leak_after_ns = CEN_OFF; /* the next holder may be slow */
    patient.on_leak = CEN_LEAK_REPORT;
    expect_equal(cen_pool_options_set(pool, &patient, NULL), CEN_OK);
    cen_lease lease = take(pool);
    expect(lease.object != lost.object);
    cen_error error;
    cen_status status;
    for (int i = 0; (status = cen_sqlite_begin(lease.object, &error)) == CEN_BUSY && i < 10; i++) {
    }
    expect_equal(status, CEN_OK);
    expect_equal(number(lease.object, "select count(*) from t"), 0);
    expect_equal(cen_sqlite_commit(lease.object, &error), CEN_OK);
    expect_soon(sqlite3_exec(lost.object, "insert into t values (2)", NULL, NULL, NULL) == SQLITE_AUTH);
    expect_equal(cen_sqlite_prepare(lost.object, "select 1", &(sqlite3_stmt *){NULL}, &error), CEN_INVALID);
    expect_equal(cen_pool_give(&lost), CEN_REVOKED);
    cen_pool_give(&lease);
    end_pool(pool);
}

/* ---- In memory ----------------------------------------------------------------------------------- */

TEST(memory_is_one_database_for_all_connections_and_lasts_as_long_as_the_pool)
{
    cen_pool *pool = pool_of(cen_sqlite(":memory:"), 3), *other = pool_of(cen_sqlite(":memory:"), 1);
    cen_lease a = take(pool), b = take(pool), c = take(other);
    run(a.object, "create table t (a); insert into t values (5)");
    expect_equal(number(b.object, "select a from t"), 5);
    expect_equal(number(c.object, "select count(*) from sqlite_schema"), 0);
    cen_pool_give(&a);
    cen_pool_give(&b);
    cen_pool_give(&c);
    cen_pool_reap(pool, 0, NULL, NULL);
    a = take(pool);
    expect_equal(number(a.object, "select a from t"), 5);
    cen_pool_give(&a);
    end_pool(pool);
    end_pool(other);
}

TEST(a_private_database_in_memory_has_room_for_one_connection)
{
    static const char *const names[] = {"file::memory:", "file:x?mode=memory", "file:x?vfs=memdb"};
    for (size_t i = 0; i < 3; i++) {
        cen_pool *pool = pool_of(cen_sqlite(names[i]), 2);
        cen_lease first = take(pool), second;
        cen_error error = {.text = ""};
        expect_equal(cen_pool_try_take(pool, &second, &error), CEN_EMPTY);
        cen_pool_stats s = CEN_SIZED(cen_pool_stats);
        expect_soon(cen_pool_stats_get(pool, &s) == CEN_OK && s.open_failed == 1);
        expect_equal(cen_pool_take(pool, cen_in_ms(50), &second, &error), CEN_TIMEOUT);
        expect_words(error, "private to one connection");
        cen_pool_give(&first);
        cen_pool_close(pool, cen_in_s(5), NULL, NULL);
        cen_pool_free(pool);
    }
}

TEST(a_shared_cache_by_uri_is_one_database)
{
    cen_pool *pool = pool_of(cen_sqlite("file:together?mode=memory&cache=shared"), 2);
    cen_lease a = take(pool), b = take(pool);
    run(a.object, "create table t (a); insert into t values (5)");
    expect_equal(number(b.object, "select a from t"), 5);
    cen_pool_give(&a);
    cen_pool_give(&b);
    end_pool(pool);
}

/* ---- Fork ------------------------------------------------------------------------------------------ */

static int in_child(int (*child)(cen_pool *pool, cen_lease *lease), cen_pool *pool, cen_lease *lease)
{
    fflush(stdout);
    int status = -1;
    pid_t process = fork();
    if (process == 0) {
        alarm(60);
        _exit(child(pool, lease));
    }
    expect(waitpid(process, &status, 0) == process);
    return status;
}

static int child_is_refused(cen_pool *pool, cen_lease *lease)
{
    cen_error error = {.text = ""};
    cen_lease own;
    sqlite3_stmt *statement;
    if (cen_pool_take(pool, cen_in_s(5), &own, &error) != CEN_FORKED) return 1;
    printf("     %s\n", error.text);
    if (!strstr(error.text, "already open in the parent process")) return 2;
    if (cen_sqlite_prepare(lease->object, "select 1", &statement, &error) != CEN_FORKED) return 3;
    if (cen_sqlite_begin(lease->object, &error) != CEN_FORKED) return 4;
    if (cen_pool_give(lease) != CEN_FORKED) return 5;
    /* Another pool for the same file is refused, too, by whatever name; one for another file is not. */
    char name[200];
    snprintf(name, sizeof name, "file:%s/../%d/db", place, (int)getppid());
    if (refused(cen_sqlite(name), &error) != CEN_FORKED) return 6;
    snprintf(name, sizeof name, "%s.child", file);
    cen_pool *other = pool_of(cen_sqlite(name), 1);
    own = take(other);
    if (number(own.object, "select 1") != 1) return 7;
    cen_pool_give(&own);
    end_pool(other);
    return cen_pool_free(pool) == CEN_OK ? 0 : 8;
}

TEST(a_child_neither_uses_nor_reopens_a_file_that_its_parent_has_open)
{
    cen_pool *pool = NULL;
    cen_pool_options options =
        CEN_POOL_OPTIONS(.driver = cen_sqlite(make_place()), .max = 2, .on_fork = CEN_FORK_RENEW);
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    cen_lease idle = take(pool), held = take(pool);
    run(held.object, "create table t (a)");
    cen_pool_give(&idle);
    expect_equal(cen_sqlite_begin(held.object, NULL), CEN_OK);
    run(held.object, "insert into t values (1)");
    expect_equal(in_child(child_is_refused, pool, &held), 0);
    /* The parent's locks are where they were: nobody else can write, and its transaction is whole. */
    sqlite3 *db;
    expect_equal(sqlite3_open(file, &db), SQLITE_OK);
    expect_equal(sqlite3_exec(db, "begin immediate", NULL, NULL, NULL), SQLITE_BUSY);
    expect_equal(cen_sqlite_commit(held.object, NULL), CEN_OK);
    expect_equal(number(db, "select count(*) from t"), 1);
    sqlite3_close(db);
    cen_pool_give(&held);
    end_pool(pool);
}

static int child_opens(cen_pool *pool, cen_lease *lease)
{
    (void)lease;
    cen_lease own = take(pool);
    run(own.object, "create table t (a); insert into t values (4)");
    cen_pool_give(&own);
    end_pool(pool);
    return 0;
}

TEST(a_child_may_open_what_its_parent_had_not_opened)
{
    cen_pool *pool = NULL;
    cen_pool_options options =
        CEN_POOL_OPTIONS(.driver = cen_sqlite(make_place()), .max = 2, .on_fork = CEN_FORK_RENEW);
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    expect_equal(in_child(child_opens, pool, NULL), 0);
    cen_lease own = take(pool);
    expect_equal(number(own.object, "select a from t"), 4);
    cen_pool_give(&own);
    end_pool(pool);
}

TEST(the_driver_says_what_its_objects_belong_to_in_every_form)
{
    cen_sqlite_options options = {.size = sizeof options};
    expect_text(cen_sqlite("somewhere").calls->system, "sqlite");
    expect_text(cen_sqlite_with(&options).calls->system, "sqlite");
}
