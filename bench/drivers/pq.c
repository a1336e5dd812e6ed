/* SPDX-License-Identifier: MIT */
/*
 * `select 1`, over and over, by threads that
 *   new      open a connection for each question
 *   own      have a connection of their own, which they have opened: no pool at all
 *   handed   have one of their own, which another thread has opened before, as those of a pool are: no pool either
 *   pool     take one of cenote's pool for each question
 * Through PgBouncer it is "own" with another address. BENCH_ADMIN is the address of one who may count connections.
 * BENCH_BROKEN=answer expects another answer, which the harness must notice.
 */
#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include <cenote/cenote.h>
#include <cenote/pq.h>

#include "../rules/bench.h"
#include "queries.h"

void bench_take(cen_lease *lease);
bool bench_give(cen_lease *lease);

static cen_pool *pool;
static PGconn *admin;
static const char *right = "1";

static PGconn *opened(const char *url)
{
    PGconn *connection = PQconnectdb(url);
    if (PQstatus(connection) != CONNECTION_OK) bench_fail("%s", PQerrorMessage(connection));
    return connection;
}

static bool ask_by(PGconn *connection)
{
    PGresult *result = PQexec(connection, "select 1");
    bool is_right = PQresultStatus(result) == PGRES_TUPLES_OK && strcmp(PQgetvalue(result, 0, 0), right) == 0;
    PQclear(result);
    return is_right;
}

static void *begin_new(const char *url)
{
    return (void *)(uintptr_t)url;
}

static bool ask_new(void *url)
{
    PGconn *connection = opened(url);
    bool is_right = ask_by(connection);
    PQfinish(connection);
    return is_right;
}

static void *begin_own(const char *url)
{
    return opened(url);
}

static bool ask_own(void *own)
{
    return ask_by(own);
}

static void end_own(void *own)
{
    PQfinish(own);
}

static PGconn *made[1000];
static _Atomic unsigned handed;

static void set_up_handed(const char *url, unsigned connections)
{
    for (unsigned i = 0; i < connections; i++) made[i] = opened(url);
}

static void *begin_handed(const char *url)
{
    (void)url;
    return made[handed++];
}

static void set_up_pool(const char *url, unsigned connections)
{
    cen_error error;
    cen_pool_options options =
        CEN_POOL_OPTIONS(.name = "bench", .driver = cen_pq(url), .max = connections, .eager = true);
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) bench_fail("%s", error.text);
}

/* Functions of their own, by whose names instructions are counted: all that is more than in ask_own. */
__attribute__((noinline)) void bench_take(cen_lease *lease)
{
    cen_error error;
    if (cen_pool_take(pool, cen_in_s(30), lease, &error) != CEN_OK) bench_fail("%s", error.text);
}

__attribute__((noinline)) bool bench_give(cen_lease *lease)
{
    return cen_pool_give(lease) == CEN_OK;
}

static bool ask_pool(void *own)
{
    (void)own;
    cen_lease lease;
    bench_take(&lease);
    bool is_right = ask_by(lease.object);
    return bench_give(&lease) && is_right;
}

static void tear_down_pool(void)
{
    if (cen_pool_close(pool, cen_in_s(10), NULL, NULL) != CEN_OK) bench_fail("the pool could not be closed");
    cen_pool_free(pool);
}

static const query_way ways[] = {
    {"new", NULL, begin_new, ask_new, NULL, NULL},
    {"own", NULL, begin_own, ask_own, end_own, NULL},
    {"handed", set_up_handed, begin_handed, ask_own, end_own, NULL},
    {"pool", set_up_pool, NULL, ask_pool, NULL, tear_down_pool},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};

static int connections(void)
{
    PGresult *result = PQexec(admin, "select count(*) from pg_stat_activity where usename = 'tester'");
    int count = PQresultStatus(result) == PGRES_TUPLES_OK ? (int)strtol(PQgetvalue(result, 0, 0), NULL, 10) : -1;
    PQclear(result);
    return count;
}

int main(int count, char **words)
{
    const char *broken = getenv("BENCH_BROKEN"), *address = getenv("BENCH_ADMIN");
    if (broken && strcmp(broken, "answer") == 0) right = "2";
    if (address) admin = opened(address);
    int status = query_main(count, words, ways, admin ? connections : NULL);
    if (admin) PQfinish(admin);
    return status;
}
