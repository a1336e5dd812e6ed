/* SPDX-License-Identifier: MIT */
/*
 * A pool of SQLite connections: four of them, and nine threads that want one.
 *
 *     four threads write orders, each in a transaction of its own
 *     four threads read and count
 *     one thread begins a transaction, writes, and forgets to commit
 *
 * The driver is the first half of this file. It may block, because a disk may
 * be slow, so helper threads open, reset, test and close; and because it can
 * look whether a transaction is open, what is forgotten is rolled back before
 * anybody else has the connection.
 *
 * Then the pool is made to say why there is no connection, and a query that
 * would never end is ended. At last, what happened.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cenote/cenote.h>
#include <sqlite3.h>

enum { CONNECTIONS = 4, WRITERS = 4, READERS = 4, ORDERS = 500, COUNTS = 500 };

/* ---- The driver: its argument is the file's name ---------------------------------------- */

static cen_status failed(sqlite3 *db, int code, cen_error *error)
{
    error->code = code;
    snprintf(error->text, sizeof error->text, "SQLite says: %s", db ? sqlite3_errmsg(db) : sqlite3_errstr(code));
    return CEN_DRIVER;
}

static cen_status open_connection(void *file, void **out, cen_error *error)
{
    sqlite3 *db = NULL;
    int code = sqlite3_open_v2(file, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code == SQLITE_OK) code = sqlite3_busy_timeout(db, 10000); /* how long one writer waits for another */
    if (code == SQLITE_OK) code = sqlite3_exec(db, "pragma journal_mode = wal; pragma synchronous = normal", NULL, NULL, NULL);
    if (code == SQLITE_OK) {
        *out = db;
        return CEN_OK;
    }
    cen_status status = failed(db, code, error);
    sqlite3_close_v2(db);
    return status;
}

static void close_connection(void *file, void *db)
{
    (void)file;
    sqlite3_close_v2(db);
}

/* Called whenever a connection is given back. Looks at memory only, and so must be and is quick. */
static cen_condition check_connection(void *file, void *db)
{
    (void)file;
    return sqlite3_get_autocommit(db) ? CEN_CLEAN : CEN_DIRTY; /* dirty: a transaction is open */
}

static cen_status reset_connection(void *file, void *db, cen_error *error)
{
    (void)file;
    int code = sqlite3_exec(db, "rollback", NULL, NULL, NULL);
    return code == SQLITE_OK ? CEN_OK : failed(db, code, error);
}

/* Does the connection still work? Asked of one that has been idle for long. */
static cen_status test_connection(void *file, void *db, cen_error *error)
{
    (void)file;
    int code = sqlite3_exec(db, "select 1", NULL, NULL, NULL);
    return code == SQLITE_OK ? CEN_OK : failed(db, code, error);
}

/* Whoever has it has had it for too long: its query ends with SQLITE_INTERRUPT. */
static void interrupt_connection(void *file, void *db)
{
    (void)file;
    sqlite3_interrupt(db);
}

static const cen_driver_calls sqlite_calls = {
    .size = sizeof sqlite_calls, .blocks = true,
    .open = open_connection,     .close = close_connection, .interrupt = interrupt_connection,
    .check = check_connection,   .reset = reset_connection, .test = test_connection,
};

/* ---- Threads that use it ------------------------------------------------------------------ */

static cen_pool *pool;
static atomic_int surprises, written, counted;
static atomic_bool forgotten_once;

static bool expect_that(bool holds, const char *what)
{
    if (!holds) surprises++;
    if (!holds) printf("  NOT SO: %s\n", what);
    return holds;
}

static bool run(sqlite3 *db, const char *sql)
{
    return expect_that(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, sqlite3_errmsg(db));
}

static int number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int n = -1;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
        n = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    return n;
}

static void *write_orders(void *name)
{
    char insert[100];
    snprintf(insert, sizeof insert, "insert into orders values ('%s')", (const char *)name);
    for (int i = 0; i < ORDERS; i++) {
        cen_error error;
        CEN_WITH (pool, cen_in_s(20), sqlite3 *, db, &error) {
            if (run(db, "begin immediate") && run(db, insert) && run(db, "commit")) written++;
        } else {
            expect_that(false, error.text);
        }
    }
    return NULL;
}

static void *count_orders(void *name)
{
    (void)name;
    for (int i = 0, last = 0; i < COUNTS; i++) {
        cen_error error;
        CEN_WITH (pool, cen_in_s(20), sqlite3 *, db, &error) {
            int now = number(db, "select count(*) from orders where customer <> 'nobody'");
            expect_that(now >= last, "a reader sees no fewer orders than before");
            last = now;
            counted++;
        } else {
            expect_that(false, error.text);
        }
    }
    return NULL;
}

/* The bug that every application has somewhere: a way out without a commit or a rollback. */
static void *forget_to_commit(void *name)
{
    (void)name;
    for (int i = 0; i < 3; i++) {
        CEN_WITH (pool, cen_in_s(20), sqlite3 *, db, NULL) {
            forgotten_once = run(db, "begin immediate") && run(db, "insert into orders values ('nobody')");
        }
    }
    return NULL;
}

static void work_together(void)
{
    static const char *const customers[WRITERS] = {"ada", "grace", "edsger", "barbara"};
    pthread_t threads[WRITERS + READERS + 1];
    int n = 0;
    int64_t begin = cen_clock();
    for (int i = 0; i < WRITERS; i++) pthread_create(&threads[n++], NULL, write_orders, (void *)(uintptr_t)customers[i]);
    for (int i = 0; i < READERS; i++) pthread_create(&threads[n++], NULL, count_orders, NULL);
    pthread_create(&threads[n++], NULL, forget_to_commit, NULL);
    for (int i = 0; i < n; i++) pthread_join(threads[i], NULL);
    printf("%d threads on %d connections: %d orders written and %d times counted in %.2f s.\n", n, CONNECTIONS, (int)written,
           (int)counted, (double)(cen_clock() - begin) / 1e9);
}

/* ---- When there is none, and when somebody keeps one ---------------------------------------- */

static void ask_for_a_fifth(void)
{
    cen_lease leases[CONNECTIONS], fifth;
    cen_error error;
    for (int i = 0; i < CONNECTIONS; i++)
        if (!expect_that(cen_pool_take(pool, cen_in_s(20), &leases[i], &error) == CEN_OK, error.text)) return;
    cen_status status = cen_pool_take(pool, cen_in_ms(50), &fifth, &error);
    printf("\nOne thread takes all four and asks for a fifth. The answer is %s:\n  %s\n", cen_status_name(status), error.text);
    expect_that(status == CEN_TIMEOUT, "it times out");
    for (int i = 0; i < CONNECTIONS; i++) cen_pool_give(&leases[i]);
}

static void run_an_endless_query(void)
{
    cen_pool_options options;
    cen_lease lease;
    cen_pool_options_get(pool, &options);
    options.hold_ns = 200000000; /* settings may change while the pool is in use */
    cen_error error;
    expect_that(cen_pool_options_set(pool, &options, &error) == CEN_OK, error.text);
    if (!expect_that(cen_pool_take(pool, cen_in_s(20), &lease, &error) == CEN_OK, error.text)) return;
    int64_t begin = cen_clock();
    int code = sqlite3_exec(lease.object, "with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) from n",
                            NULL, NULL, NULL);
    double seconds = (double)(cen_clock() - begin) / 1e9;
    cen_status status = cen_pool_give(&lease);
    printf("\nAn endless query, where nobody may keep a connection for more than 0.2 s:\n"
           "  SQLite ends it after %.2f s with \"%s\", and giving the connection back answers %s.\n",
           seconds, sqlite3_errstr(code), cen_status_name(status));
    expect_that(code == SQLITE_INTERRUPT && status == CEN_REVOKED, "the query was interrupted and the lease revoked");
}

/* ---- What happened ----------------------------------------------------------------------------- */

static void report(void)
{
    cen_pool_stats s;
    cen_pool_look(pool, &s);
    printf("\nThe pool's numbers:\n");
    printf("  connections   %" PRIu64 " opened, %u at most; now %u idle, %u held; %" PRIu64 " closed, %u being closed\n", s.opened,
           s.max, s.idle, s.held, s.closed, s.closing);
    printf("  leases        %" PRIu64 " taken, %" PRIu64 " ended\n", s.taken, s.ended);
    printf("  rolled back   %" PRIu64 " connections that came back with an open transaction\n", s.reset);
    printf("  waits         %" PRIu64 ": %" PRIu64 " served, %" PRIu64 " timed out; half below %.2f ms, the longest %.0f ms\n",
           s.waited, s.served, s.timed_out, (double)s.wait_p50_ns / 1e6, (double)s.wait_longest_ns / 1e6);
    expect_that(s.reset == 3, "three forgotten transactions were rolled back");
    expect_that(s.taken == s.ended && s.held == 0 && s.waiting == 0, "everything was given back");
    expect_that(s.timed_out == 1, "only the fifth take timed out");

    int orders = -1, nobodys = -1;
    CEN_WITH (pool, cen_in_s(20), sqlite3 *, db, NULL) {
        orders = number(db, "select count(*) from orders");
        nobodys = number(db, "select count(*) from orders where customer = 'nobody'");
    }
    printf("  in the file   %d orders, %d of them nobody's\n", orders, nobodys);
    expect_that(forgotten_once && orders == WRITERS * ORDERS && nobodys == 0, "nothing is lost and nothing forgotten is kept");
}

/* The last connection removes what SQLite keeps beside the file, but not when two are closed at the same moment. */
static void remove_database(const char *file)
{
    static const char *const endings[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char name[80];
        snprintf(name, sizeof name, "%s%s", file, endings[i]);
        unlink(name);
    }
}

int main(void)
{
    char place[] = "/tmp/cenote-sqlite-XXXXXX", file[64];
    if (!mkdtemp(place)) return perror(place), 1;
    snprintf(file, sizeof file, "%s/orders.db", place);
    cen_pool_options options =
        CEN_POOL_OPTIONS(.name = "orders", .driver = {&sqlite_calls, file}, .max = CONNECTIONS);
    cen_error error;
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) return puts(error.text), 1;
    CEN_WITH (pool, cen_in_s(20), sqlite3 *, db, &error) {
        run(db, "create table orders (customer text not null)");
    } else {
        expect_that(false, error.text);
    }

    work_together();
    ask_for_a_fifth();
    run_an_endless_query();
    report();

    cen_close_report end;
    cen_status status = cen_pool_close(pool, cen_in_s(10), &end, &error);
    printf("  at the end    close answers %s: %u connections were idle, %u had to be awaited\n", cen_status_name(status), end.idle,
           end.given);
    expect_that(status == CEN_OK, error.text);
    cen_pool_free(pool);
    remove_database(file);
    expect_that(rmdir(place) == 0, "nothing is left behind");
    puts(surprises ? "\nThat is not what was promised." : "\nNothing was lost, nothing half done was kept, nobody was forgotten.");
    return surprises ? 1 : 0;
}
