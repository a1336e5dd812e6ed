/* SPDX-License-Identifier: MIT */
/*
 * SQLite connections: one writer, three readers, and nine threads that use them.
 *
 *     four threads write orders, each in its own transaction: they take turns in the writer's wait queue
 *     four threads read and count, and wait for no writer
 *     one thread begins a transaction, writes, and forgets to commit
 *
 * The driver is libcenote-sqlite. It may block, because a disk may be slow, so helper threads open, reset, test and
 * close. It detects open transactions, so a forgotten one is rolled back before the connection is lent again.
 * docs/drivers.md shows how such a driver is written.
 *
 * Then the pool explains why there is no connection, a reader tries to write, and an endless query is interrupted. At
 * the end the program prints statistics.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cenote/cenote.h>
#include <cenote/sqlite.h>

enum { READERS = 3, WRITING = 4, READING = 4, ORDERS = 500, COUNTS = 500 };

/* ---- Threads ------------------------------------------------------------------------------ */

static cen_sqlite_pool *orders;
static atomic_int surprises, written, counted;
static atomic_bool forgotten_once;

static bool expect_that(bool holds, const char *what)
{
    if (!holds) surprises++;
    if (!holds) printf("  FAILED: %s\n", what);
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

/* Write one order in a transaction. The statement is prepared once and cached by the connection. */
static cen_status write_order(sqlite3 *db, const char *customer, cen_error *error)
{
    sqlite3_stmt *insert;
    cen_status status = cen_sqlite_begin(db, error);
    if (status == CEN_OK) status = cen_sqlite_prepare(db, "insert into orders values (?)", &insert, error);
    if (status != CEN_OK) return status;
    sqlite3_bind_text(insert, 1, customer, -1, SQLITE_STATIC);
    status = cen_sqlite_error_get(db, sqlite3_step(insert), error);
    sqlite3_reset(insert);
    return status == CEN_OK ? cen_sqlite_commit(db, error) : status;
}

static void *write_orders(void *customer)
{
    for (int i = 0; i < ORDERS; i++) {
        cen_error error;
        CEN_WITH (cen_sqlite_pool_writer(orders), cen_in_s(20), sqlite3 *, db, &error) {
            if (expect_that(write_order(db, customer, &error) == CEN_OK, error.text)) written++;
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
        CEN_WITH (cen_sqlite_pool_readers(orders), cen_in_s(20), sqlite3 *, db, &error) {
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

/* The bug that every application has somewhere: a return without a commit or a rollback. */
static void *forget_to_commit(void *name)
{
    (void)name;
    for (int i = 0; i < 3; i++) {
        CEN_WITH (cen_sqlite_pool_writer(orders), cen_in_s(20), sqlite3 *, db, NULL) {
            forgotten_once = cen_sqlite_begin(db, NULL) == CEN_OK && run(db, "insert into orders values ('nobody')");
        }
    }
    return NULL;
}

static void work_together(void)
{
    static const char *const customers[WRITING] = {"ada", "grace", "edsger", "barbara"};
    pthread_t threads[WRITING + READING + 1];
    int n = 0;
    int64_t begin = cen_clock();
    for (int i = 0; i < WRITING; i++)
        pthread_create(&threads[n++], NULL, write_orders, (void *)(uintptr_t)customers[i]);
    for (int i = 0; i < READING; i++) pthread_create(&threads[n++], NULL, count_orders, NULL);
    pthread_create(&threads[n++], NULL, forget_to_commit, NULL);
    for (int i = 0; i < n; i++) pthread_join(threads[i], NULL);
    printf("%d threads on a writer and %d readers: %d orders written and %d counts in %.2f s.\n", n, READERS,
           (int)written, (int)counted, (double)(cen_clock() - begin) / 1e9);
}

/* ---- No free connection, and one that is held too long -------------------------------------- */

static void ask_for_a_fourth(void)
{
    cen_lease leases[READERS], fourth;
    cen_pool *readers = cen_sqlite_pool_readers(orders);
    cen_error error;
    for (int i = 0; i < READERS; i++)
        if (!expect_that(cen_pool_take(readers, cen_in_s(20), &leases[i], &error) == CEN_OK, error.text)) return;
    cen_status status = cen_pool_take(readers, cen_in_ms(50), &fourth, &error);
    printf("\nOne thread takes all three readers and a fourth. The fourth take returns %s:\n  %s\n",
           cen_status_name(status), error.text);
    expect_that(status == CEN_TIMEOUT, "it times out");
    for (int i = 0; i < READERS; i++) cen_pool_give(&leases[i]);
}

static void write_through_a_reader(void)
{
    cen_error error;
    CEN_WITH (cen_sqlite_pool_readers(orders), cen_in_s(20), sqlite3 *, db, &error) {
        int code = sqlite3_exec(db, "insert into orders values ('nobody')", NULL, NULL, NULL);
        cen_sqlite_error_get(db, code, &error);
        printf("\nA write by a reader fails:\n  %s\n", error.text);
        expect_that(code == SQLITE_READONLY, "it is refused");
    }
}

static void run_an_endless_query(void)
{
    cen_pool *readers = cen_sqlite_pool_readers(orders);
    cen_pool_options options = CEN_SIZED(cen_pool_options);
    cen_lease lease;
    cen_pool_options_get(readers, &options);
    options.max_hold_ns = CEN_MS(200); /* options may be changed while the pool is in use */
    cen_error error;
    expect_that(cen_pool_options_set(readers, &options, &error) == CEN_OK, error.text);
    if (!expect_that(cen_pool_take(readers, cen_in_s(20), &lease, &error) == CEN_OK, error.text)) return;
    int64_t begin = cen_clock();
    int code = sqlite3_exec(lease.object,
                            "with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) from n",
                            NULL, NULL, NULL);
    double seconds = (double)(cen_clock() - begin) / 1e9;
    cen_status status = cen_pool_give(&lease);
    printf("\nAn endless query, with max_hold_ns at 0.2 s:\n"
           "  SQLite ends it after %.2f s with \"%s\", and the give returns %s.\n",
           seconds, sqlite3_errstr(code), cen_status_name(status));
    expect_that(code == SQLITE_INTERRUPT && status == CEN_REVOKED, "the query was interrupted and the lease revoked");
}

/* ---- Statistics -------------------------------------------------------------------------------- */

static void print_pool(const char *name, const cen_pool_stats *s)
{
    printf("  %-12s %" PRIu64 " opened, %u at most; %" PRIu64 " leases, %" PRIu64 " rolled back\n", name, s->opened,
           s->max, s->taken, s->reset);
    printf("  %-12s %" PRIu64 " waited: %" PRIu64 " served, %" PRIu64
           " timed out; half below %.2f ms, the longest %.0f ms\n",
           "", s->waited, s->served, s->timed_out, (double)s->wait_p50_ns / 1e6, (double)s->wait_longest_ns / 1e6);
    expect_that(s->taken == s->ended && s->held == 0 && s->waiting == 0, "everything was given back");
}

static void report(void)
{
    cen_pool_stats w = CEN_SIZED(cen_pool_stats), r = CEN_SIZED(cen_pool_stats);
    cen_sqlite_pool_stats_get(orders, &w, &r);
    printf("\nThe pools' stats:\n");
    print_pool("the writer", &w);
    print_pool("readers", &r);
    expect_that(w.reset == 3, "three forgotten transactions were rolled back");
    expect_that(w.opened == 1, "there was one writer");
    expect_that(w.timed_out == 0 && r.timed_out == 1, "only the fourth take timed out");

    int all = -1, nobodys = -1;
    CEN_WITH (cen_sqlite_pool_writer(orders), cen_in_s(20), sqlite3 *, db, NULL) {
        all = number(db, "select count(*) from orders");
        nobodys = number(db, "select count(*) from orders where customer = 'nobody'");
    }
    printf("  in the file  %d orders, %d of them forgotten ones\n", all, nobodys);
    expect_that(forgotten_once && all == WRITING * ORDERS && nobodys == 0,
                "no order is lost, and no forgotten one is kept");
}

int main(void)
{
    char place[] = "/tmp/cenote-sqlite-XXXXXX", file[64];
    if (!mkdtemp(place)) return perror(place), 1;
    snprintf(file, sizeof file, "%s/orders.db", place);
    cen_sqlite_pool_options options = CEN_SQLITE_POOL_OPTIONS(.name = "orders", .path = file, .readers = READERS);
    cen_error error;
    if (cen_sqlite_pool_new(&options, &orders, &error) != CEN_OK) return puts(error.text), 1;
    CEN_WITH (cen_sqlite_pool_writer(orders), cen_in_s(20), sqlite3 *, db, &error) {
        run(db, "create table orders (customer text not null)");
    } else {
        expect_that(false, error.text);
    }

    work_together();
    ask_for_a_fourth();
    write_through_a_reader();
    run_an_endless_query();
    report();

    cen_status status = cen_sqlite_pool_close(orders, cen_in_s(10), &error);
    printf("  at the end   close returns %s\n", cen_status_name(status));
    expect_that(status == CEN_OK, error.text);
    cen_sqlite_pool_free(orders);
    expect_that(unlink(file) == 0 && rmdir(place) == 0, "no other file is left beside the database");
    puts(surprises ? "\nSome checks failed." : "\nNo order was lost, and no unfinished transaction was kept.");
    return surprises ? 1 : 0;
}
