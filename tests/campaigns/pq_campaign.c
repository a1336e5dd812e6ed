/* SPDX-License-Identifier: MIT */
#include "campaigns/pq_campaign.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- Questions --------------------------------------------------------------------------------------- */

bool ask_one(void *object, cen_error *error)
{
    PGresult *result = NULL;
    if (cen_pq_run(object, "select 1", 0, NULL, &result, error) != CEN_OK) return false;
    bool right = strcmp(PQgetvalue(result, 0, 0), "1") == 0;
    PQclear(result);
    if (!right) test_fail(__FILE__, __LINE__, "the answer is another's");
    return true;
}

bool write_note(void *object, cen_error *error)
{
    PGresult *result = NULL;
    cen_status status = cen_pq_run(object, "insert into notes values (1)", 0, NULL, &result, error);
    PQclear(result);
    return status == CEN_OK;
}

static PGconn *admin_at(const char *admin_url)
{
    PGconn *admin = PQconnectdb(admin_url);
    if (PQstatus(admin) != CONNECTION_OK) test_fail(__FILE__, __LINE__, "%s", PQerrorMessage(admin));
    return admin;
}

void administer(const char *admin_url, const char *sql)
{
    PGconn *admin = admin_at(admin_url);
    PQclear(PQexec(admin, "set default_transaction_read_only = off")); /* whatever was done to the server */
    PGresult *result = PQexec(admin, sql);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        test_fail(__FILE__, __LINE__, "%s: %s", sql, PQerrorMessage(admin));
    PQclear(result);
    PQfinish(admin);
}

void make_notes(const char *admin_url)
{
    administer(admin_url, "create table if not exists notes (n integer)");
    administer(admin_url, "grant all on notes to tester");
}

int connections_at(const char *admin_url)
{
    PGconn *admin = admin_at(admin_url);
    PGresult *result = PQexec(admin, "select count(*) from pg_stat_activity where usename = 'tester'");
    if (PQresultStatus(result) != PGRES_TUPLES_OK) test_fail(__FILE__, __LINE__, "%s", PQerrorMessage(admin));
    int count = (int)strtol(PQgetvalue(result, 0, 0), NULL, 10);
    PQclear(result);
    PQfinish(admin);
    return count;
}

void connections_end_at(const char *admin_url)
{
    int count = connections_at(admin_url);
    for (int i = 0; i < 6000 && count > 0; i++) {
        campaign_sleep(10 * MS);
        count = connections_at(admin_url);
    }
    if (count > 0) test_fail(__FILE__, __LINE__, "%d connections stay", count);
}

/* ---- Pools --------------------------------------------------------------------------------------------- */

cen_pool *pool_of(const cen_pq_options *target, const cen_pool_options *more)
{
    cen_pool *pool;
    cen_error error;
    cen_pool_options o = *more;
    o.size = sizeof o;
    o.driver = cen_pq_with(target);
    if (!o.max) o.max = CONNECTIONS;
    if (!o.backoff_initial_ns) o.backoff_initial_ns = 20 * MS;
    if (!o.backoff_max_ns) o.backoff_max_ns = 500 * MS;
    if (!o.test_after_idle_ns) o.test_after_idle_ns = 100 * MS;
    if (!o.open_timeout_ns) o.open_timeout_ns = 2 * SECOND;
    if (cen_pool_new(&o, &pool, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
    return pool;
}

cen_pool *pool_at(const char *url, const cen_pool_options *more)
{
    cen_pq_options target = CEN_PQ_OPTIONS(.uri = url, .connect_timeout_ns = SECOND, .test_timeout_ns = 500 * MS,
                                           .reset_timeout_ns = 500 * MS, .cancel_timeout_ns = 200 * MS);
    return pool_of(&target, more);
}

/* ---- Openings --------------------------------------------------------------------------------------------- */

struct openings {
    cen_pool *pool;
    pthread_t looker;
    _Atomic bool over, was_open;
    _Atomic uint64_t failed;
    _Atomic uint32_t most, probes;
};

static void hear(void *argument, const cen_event *event, uint64_t missed)
{
    (void)missed;
    openings *self = argument;
    if (event->kind == CEN_EVENT_OPEN_FAILED) atomic_fetch_add(&self->failed, 1);
    if (event->kind == CEN_EVENT_BREAKER_OPENED) atomic_store(&self->was_open, true);
}

static void *look_often(void *argument)
{
    openings *self = argument;
    while (!atomic_load(&self->over)) {
        cen_pool_stats now = CEN_SIZED(cen_pool_stats);
        if (cen_pool_stats_get(self->pool, &now) == CEN_OK) {
            if (now.opening > atomic_load(&self->most)) atomic_store(&self->most, now.opening);
            bool open = now.breaker != CEN_BREAKER_CLOSED;
            if (open && now.opening > atomic_load(&self->probes)) atomic_store(&self->probes, now.opening);
        }
        campaign_sleep(MS / 2);
    }
    return NULL;
}

openings *openings_watch(cen_pool *pool)
{
    openings *self = calloc(1, sizeof *self);
    expect(self != NULL);
    self->pool = pool;
    expect_equal(cen_pool_listen(pool, hear, self, NULL), CEN_OK);
    expect_equal(pthread_create(&self->looker, NULL, look_often, self), 0);
    return self;
}

uint64_t openings_failed(openings *self)
{
    return atomic_load(&self->failed);
}

uint32_t openings_most(openings *self)
{
    return atomic_load(&self->most);
}

bool openings_breaker(openings *self)
{
    return atomic_load(&self->was_open);
}

uint32_t openings_probes(openings *self)
{
    return atomic_load(&self->probes);
}

void openings_end(openings *self)
{
    atomic_store(&self->over, true);
    pthread_join(self->looker, NULL);
    expect_equal(cen_pool_listen(self->pool, NULL, NULL, NULL), CEN_OK);
    free(self);
}
