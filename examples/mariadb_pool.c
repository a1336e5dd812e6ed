/* SPDX-License-Identifier: MIT */
/*
 * A pool of MariaDB connections: five lines of code, and then its features.
 *
 *     CENOTE_SERVER_URL=mariadb://ann:secret@127.0.0.1/shop mariadb_pool
 *
 *     the server's connection limit compared with the pool's, reported at the first connection
 *     four threads that run the same prepared statement, which each connection prepares once
 *     a forgotten transaction, and a changed session
 *     a query that takes a minute, with a limit of 0.5 s on holding a connection
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cenote/cenote.h>
#include <cenote/mariadb.h>

enum { CONNECTIONS = 3, THREADS = 4, ROUNDS = 100 };

static atomic_int surprises, answers;

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
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "orders", .driver = cen_mariadb(url), .max = 10);
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) return puts(error.text), NULL;
    return pool;
}

/* ---- More options, for a service -------------------------------------------------------------------- */

static void say_capacity(void *argument, const cen_mariadb_capacity_report *report)
{
    (void)argument;
    printf("  %s\n", report->text);
}

static cen_pool *open_strict_pool(const char *url)
{
    cen_pool *pool;
    cen_error error;
    cen_mariadb_options mariadb =
        CEN_MARIADB_OPTIONS(.url = url, .role = CEN_MARIADB_PRIMARY, .setup = "set time_zone = '+00:00'",
                            .on_capacity = say_capacity, .capacity_max = CONNECTIONS);
    cen_pool_options options =
        CEN_POOL_OPTIONS(.name = "orders", .driver = cen_mariadb_with(&mariadb), .max = CONNECTIONS);
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) return puts(error.text), NULL;
    return pool;
}

/* ---- Threads and statements -------------------------------------------------------------------------- */

/* The square of a number, computed by the server. */
static bool ask_square(MYSQL *mysql, int number, int *answer, cen_error *error)
{
    MYSQL_STMT *square;
    if (cen_mariadb_prepare(mysql, "select ? * ?", &square, error) != CEN_OK) return false;
    MYSQL_BIND in[2] = {{.buffer_type = MYSQL_TYPE_LONG, .buffer = &number},
                        {.buffer_type = MYSQL_TYPE_LONG, .buffer = &number}};
    MYSQL_BIND out = {.buffer_type = MYSQL_TYPE_LONG, .buffer = answer};
    bool good = !mysql_stmt_bind_param(square, in) && !mysql_stmt_execute(square) &&
                !mysql_stmt_bind_result(square, &out) && !mysql_stmt_store_result(square) && !mysql_stmt_fetch(square);
    if (!good) snprintf(error->text, sizeof error->text, "%s", mysql_stmt_error(square));
    mysql_stmt_free_result(square);
    return good;
}

static void *work(void *pool)
{
    for (int i = 0; i < ROUNDS; i++) {
        cen_error error;
        int square = -1;
        CEN_WITH (pool, cen_in_s(20), MYSQL *, mysql, &error) {
            if (expect_that(ask_square(mysql, i, &square, &error), error.text) && expect_that(square == i * i, "i * i"))
                answers++;
        } else {
            expect_that(false, error.text);
        }
    }
    return NULL;
}

static void work_together(cen_pool *pool)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, pool);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    cen_mariadb_cache cache = CEN_SIZED(cen_mariadb_cache);
    CEN_WITH (pool, cen_in_s(20), MYSQL *, mysql, NULL) {
        cen_mariadb_cache_get(mysql, &cache);
    }
    printf("  %d threads got %d correct results; one connection prepared %" PRIu64 " statement and used it %" PRIu64
           " more times.\n",
           THREADS, (int)answers, cache.misses, cache.hits);
    expect_that(answers == THREADS * ROUNDS && cache.misses == 1, "each connection prepared the statement once");
}

/* ---- State left behind ----------------------------------------------------------------------------------- */

static bool run(MYSQL *mysql, const char *sql)
{
    cen_error error = {.text = ""};
    if (mysql_query(mysql, sql) == 0) return true;
    cen_mariadb_error_get(mysql, &error);
    return expect_that(false, error.text);
}

static long number(MYSQL *mysql, const char *sql)
{
    if (!run(mysql, sql)) return -1;
    MYSQL_RES *result = mysql_store_result(mysql);
    MYSQL_ROW row = result ? mysql_fetch_row(result) : NULL;
    long n = row && row[0] ? strtol(row[0], NULL, 10) : -1;
    mysql_free_result(result);
    return n;
}

static void leave_things_behind(cen_pool *pool)
{
    cen_error error;
    cen_lease lease;
    if (!expect_that(cen_pool_take(pool, cen_in_s(20), &lease, &error) == CEN_OK, error.text)) return;
    unsigned long id = mysql_thread_id(lease.object);
    run(lease.object, "create temporary table basket (item int)");
    run(lease.object, "set @customer = 7, time_zone = '+09:00'");
    run(lease.object, "begin");
    cen_pool_give(&lease); /* without cleaning up */
    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    for (int i = 0; i < 500 && cen_pool_stats_get(pool, &s) == CEN_OK && s.reset == 0;
         i++) /* a helper does it in the background */
        nanosleep(&(struct timespec){.tv_nsec = CEN_MS(10)}, NULL);
    for (int i = 0; i < CONNECTIONS; i++) {
        CEN_WITH (pool, cen_in_s(20), MYSQL *, mysql, &error) {
            expect_that(number(mysql, "select @customer is null and @@time_zone = '+00:00' and not @@in_transaction") ==
                            1,
                        "it is as new");
        }
    }
    cen_pool_stats_get(pool, &s);
    printf("  Session %lu was given back with a transaction, a variable, another time zone and a table: %" PRIu64
           " reset, none closed.\n",
           id, s.reset);
    expect_that(s.reset == 1 && s.closed == 0, "one session was reset");
}

/* ---- A long query ------------------------------------------------------------------------------------------- */

static void run_a_long_query(cen_pool *pool)
{
    cen_pool_options options = CEN_SIZED(cen_pool_options);
    cen_lease lease;
    cen_error error;
    cen_pool_options_get(pool, &options);
    options.max_hold_ns = CEN_MS(500);
    expect_that(cen_pool_options_set(pool, &options, &error) == CEN_OK, error.text);
    if (!expect_that(cen_pool_take(pool, cen_in_s(20), &lease, &error) == CEN_OK, error.text)) return;
    int64_t begin = cen_clock();
    if (mysql_query(lease.object, "select sleep(60)") == 0) mysql_free_result(mysql_store_result(lease.object));
    cen_status status = cen_mariadb_error_get(lease.object, &error);
    printf("  After %.1f s the query ends with %s:\n    %s.\n", (double)(cen_clock() - begin) / 1e9,
           cen_status_name(status), error.text);
    expect_that(status == CEN_INTERRUPTED, "the server has ended the query");
    expect_that(cen_pool_give(&lease) == CEN_REVOKED, "the lease was revoked");
}

int main(void)
{
    const char *url = getenv("CENOTE_SERVER_URL");
    if (!url || (strncmp(url, "mariadb://", 10) != 0 && strncmp(url, "mysql://", 8) != 0)) {
        puts("This example needs a MariaDB server: CENOTE_SERVER_URL=mariadb://user:password@host/database "
             "mariadb_pool");
        return 0;
    }
    cen_pool *pool = open_pool(url);
    if (!pool) return 1;
    cen_error error;
    CEN_WITH (pool, cen_in_s(20), MYSQL *, mysql, &error) {
        printf("MariaDB %s.\n", mysql_get_server_info(mysql));
    } else {
        expect_that(false, error.text);
    }
    cen_pool_close(pool, cen_in_s(5), NULL, NULL);
    cen_pool_free(pool);

    pool = open_strict_pool(url);
    if (!pool) return 1;
    work_together(pool);
    leave_things_behind(pool);
    run_a_long_query(pool);
    cen_status status = cen_pool_close(pool, cen_in_s(10), NULL, &error);
    expect_that(status == CEN_OK, error.text);
    cen_pool_free(pool);
    puts(surprises ? "Some checks failed." : "All checks passed.");
    return surprises ? 1 : 0;
}
