/* SPDX-License-Identifier: MIT */
/*
 * A pool of PostgreSQL connections: five lines of code, and then its features.
 *
 *     CENOTE_SERVER_URL=postgresql://ann:secret@127.0.0.1/shop pq_pool
 *
 *     the server's connection limit compared with the pool's, reported at the first connection
 *     four threads that run the same two statements, each prepared once per connection
 *     a forgotten transaction, and an invalid statement
 *     a query that takes a minute, with a limit of 0.5 s on holding a connection
 *     a connection that the server ends while it is idle
 */
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cenote/cenote.h>
#include <cenote/pq.h>

enum { CONNECTIONS = 3, THREADS = 4, ROUNDS = 100 };

static int surprises;
static atomic_int answers;

static bool expect_that(bool holds, const char *what)
{
    if (!holds) surprises++;
    if (!holds) printf("  FAILED: %s\n", what);
    return holds;
}

/* ---- Five lines ------------------------------------------------------------------------------------ */

static cen_pool *open_pool(const char *url)
{
    cen_pool *pool;
    cen_error error;
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "orders", .driver = cen_pq(url), .max = 10);
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) return puts(error.text), NULL;
    return pool;
}

/* ---- More options, for a service -------------------------------------------------------------------- */

static void say_capacity(void *argument, const cen_pq_capacity_report *report)
{
    (void)argument;
    printf("  %s\n", report->text);
}

static cen_pool *open_strict_pool(const char *url)
{
    cen_pool *pool;
    cen_error error;
    cen_pq_options pq = CEN_PQ_OPTIONS(.uri = url, .role = CEN_PQ_READ_WRITE, .setup = "set statement_timeout = '90s'",
                                       .on_capacity = say_capacity, .capacity_max = CONNECTIONS);
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "orders", .driver = cen_pq_with(&pq), .max = CONNECTIONS,
                                                .max_hold_ns = CEN_MS(500), .test_after_idle_ns = CEN_MS(1));
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) return puts(error.text), NULL;
    return pool;
}

/* ---- Threads and statements --------------------------------------------------------------------------- */

static void *work(void *argument)
{
    cen_pool *pool = argument;
    for (int i = 0; i < ROUNDS; i++) {
        cen_error error;
        CEN_WITH (pool, cen_in_s(5), PGconn *, conn, &error) {
            char number[20];
            const char *values[] = {number};
            PGresult *result;
            snprintf(number, sizeof number, "%d", i);
            const char *sql = i % 2 ? "select $1::int + 1" : "select 1 + $1::int";
            if (!expect_that(cen_pq_run(conn, sql, 1, values, &result, &error) == CEN_OK, error.text)) break;
            if (expect_that(atoi(PQgetvalue(result, 0, 0)) == i + 1, "the result is correct")) answers++;
            PQclear(result);
        } else {
            expect_that(false, error.text);
        }
    }
    return NULL;
}

static void work_together(cen_pool *pool)
{
    pthread_t threads[THREADS];
    printf("\n%d threads want %d connections %d times each:\n", THREADS, CONNECTIONS, ROUNDS);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, pool);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    expect_that(answers == THREADS * ROUNDS, "every query succeeded");
    CEN_WITH (pool, cen_in_s(5), PGconn *, conn, NULL) {
        printf("  %d results; this connection has %u statements prepared\n", (int)answers, cen_pq_prepared(conn));
        expect_that(cen_pq_prepared(conn) <= 2, "each statement is prepared once");
    }
}

/* ---- Failures ------------------------------------------------------------------------------------------- */

static void forget_to_commit(cen_pool *pool)
{
    cen_error error;
    int before = 0;
    CEN_WITH (pool, cen_in_s(5), PGconn *, conn, &error) {
        before = PQbackendPID(conn);
        PQclear(PQexec(conn, "begin"));
        PQclear(PQexec(conn, "create temp table half_done (a int)"));
    }
    CEN_WITH (pool, cen_in_s(5), PGconn *, conn, &error) {
        PGresult *result = PQexec(conn, "select to_regclass('half_done') is null");
        bool is_gone = PQntuples(result) == 1 && PQgetvalue(result, 0, 0)[0] == 't';
        printf("\nA holder begins a transaction and forgets it. The next holder finds it rolled back: %s.\n",
               is_gone ? "yes" : "no");
        expect_that(is_gone || PQbackendPID(conn) != before, "the forgotten transaction is gone");
        PQclear(result);
        char sqlstate[6];
        cen_status status = cen_pq_run(conn, "select nonsense", 0, NULL, &result, &error);
        printf("\nAn invalid statement fails with %s, SQLSTATE %s:\n  %s\n", cen_status_name(status),
               cen_pq_sqlstate(error.code, sqlstate), error.text);
        expect_that(status == CEN_DRIVER && error.code == cen_pq_code("42703"), "the server's SQLSTATE is reported");
    }
}

static void hold_for_too_long(cen_pool *pool)
{
    cen_lease lease;
    cen_error error = {.text = ""};
    PGresult *result;
    if (!expect_that(cen_pool_take(pool, cen_in_s(5), &lease, &error) == CEN_OK, error.text)) return;
    int64_t begin = cen_clock();
    cen_status status = cen_pq_run(lease.object, "select pg_sleep(60)", 0, NULL, &result, &error);
    printf("\nA query of one minute, with max_hold_ns at half a second, ends after %.1f s "
           "with %s:\n  %s\n",
           (double)(cen_clock() - begin) / 1e9, cen_status_name(status), error.text);
    expect_that(status == CEN_INTERRUPTED, "it was cancelled");
    expect_that(cen_pool_give(&lease) == CEN_REVOKED, "the lease was revoked");
}

static void lose_one(cen_pool *pool)
{
    cen_lease first = {0}, second = {0};
    cen_error error = {.text = ""};
    char sql[80];
    if (!expect_that(cen_pool_take(pool, cen_in_s(5), &first, &error) == CEN_OK &&
                         cen_pool_take(pool, cen_in_s(5), &second, &error) == CEN_OK,
                     error.text))
        return;
    snprintf(sql, sizeof sql, "select pg_terminate_backend(%d, 5000)", PQbackendPID(first.object));
    cen_pool_give(&first);
    PQclear(PQexec(second.object, sql)); /* ends the session that is idle in the pool */
    poll(NULL, 0, 50); /* after more than test_after_idle_ns a connection is tested before it is lent */
    for (int i = 0; i < 2; i++) {
        CEN_WITH (pool, cen_in_s(5), PGconn *, conn, &error) {
            PGresult *result = PQexec(conn, "select 1");
            expect_that(PQresultStatus(result) == PGRES_TUPLES_OK, "no take gets the dead connection");
            PQclear(result);
        } else {
            expect_that(false, error.text);
        }
    }
    cen_pool_give(&second);
    printf("\nThe server ends an idle connection. The next take gets one that works.\n");
}

int main(void)
{
    const char *url = getenv("CENOTE_SERVER_URL");
    if (!url) return puts("Set CENOTE_SERVER_URL to a PostgreSQL server: postgresql://user:password@host/database."), 0;
    cen_pool *pool = open_pool(url);
    if (!pool) return 1;
    CEN_WITH (pool, cen_in_s(5), PGconn *, conn, NULL) {
        printf("Connected to PostgreSQL %d as session %d.\n", PQserverVersion(conn) / 10000, PQbackendPID(conn));
    }
    cen_pool_close(pool, cen_in_s(5), NULL, NULL);
    cen_pool_free(pool);

    if (!(pool = open_strict_pool(url))) return 1;
    work_together(pool);
    forget_to_commit(pool);
    hold_for_too_long(pool);
    lose_one(pool);

    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    cen_pool_stats_get(pool, &s);
    printf("\nThe pool's stats: %" PRIu64 " opened, at most %u at a time; %" PRIu64 " leases, %" PRIu64
           " rolled back, %" PRIu64 " found broken by a test.\n",
           s.opened, s.max, s.taken, s.reset, s.test_failed);
    expect_that(s.reset == 1 && s.held == 0 && s.taken == s.ended, "everything was given back");
    expect_that(s.test_failed == 1, "the dead one was found by a test");
    expect_that(cen_pool_close(pool, cen_in_s(5), NULL, NULL) == CEN_OK, "the pool can be closed");
    cen_pool_free(pool);
    puts(surprises ? "Some checks failed." : "All checks passed.");
    return surprises ? 1 : 0;
}
