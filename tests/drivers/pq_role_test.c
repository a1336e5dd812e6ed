/* SPDX-License-Identifier: MIT */
/* A pool that wants a server of one kind has connections to no other: while servers are demoted and promoted under it. */
#include <fcntl.h>
#include <unistd.h>

#include <cenote/poller.h>

#include "drivers/pq_place.h"

enum { MS = 1000000 };

static cen_driver driver(bool later, cen_pq_role role)
{
    static cen_pq_options options;
    static cen_poller *poller;
    if (later && !poller) expect_equal(cen_poller_new(&CEN_POLLER_OPTIONS(.name = "pq"), &poller, NULL), CEN_OK);
    options = CEN_PQ_OPTIONS(.uri = place_good(), .role = role, .setup = "select 'f', 'off'",
                             .poller = later ? poller : NULL);
    return cen_pq_with(&options);
}

#define pool_of(later, role, ...) \
    place_pool(CEN_POOL_OPTIONS(.name = "pq", .driver = driver(later, role), .max = 2, .backoff_initial_ns = 1 * MS, \
                                .backoff_max_ns = 10 * MS, __VA_ARGS__))

#define BOTH(sentence) \
    static void sentence##_in(bool later); \
    TEST(sentence) \
    { \
        sentence##_in(false); \
    } \
    TEST(later_##sentence) \
    { \
        sentence##_in(true); \
    } \
    static void sentence##_in(bool later)

static void expect_no_such_server(cen_pool *pool, const char *words)
{
    cen_lease lease;
    cen_error error = {.text = ""};
    cen_status status;
    int64_t begin = cen_clock();
    do status = cen_pool_take(pool, cen_in_ms(500), &lease, &error);
    while (status == CEN_TIMEOUT && cen_clock() - begin < 60000LL * MS); /* the breaker needs five failures */
    if (status != CEN_DRIVER) test_fail(__FILE__, __LINE__, "%s: %s", cen_status_name(status), error.text);
    expect_equal(error.code, cen_pq_code("25006"));
    if (!strstr(error.text, words)) test_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", error.text, words);
}

static void make_read_only(bool is)
{
    place_admin("alter system set default_transaction_read_only = %s", is ? "on" : "off");
    server_reload(place_server());
    place_soon(strcmp(place_admin("show default_transaction_read_only"), is ? "on" : "off") == 0);
    place_pause_ms(50); /* the other sessions have the signal by then */
}

BOTH(a_server_that_became_read_only_has_its_connections_closed)
{
    cen_pool *pool = pool_of(later, CEN_PQ_READ_WRITE, .test_after_idle_ns = CEN_US(100));
    cen_lease held = place_take(pool), idle = place_take(pool);
    expect_equal(cen_pool_give(&idle), CEN_OK);
    make_read_only(true);
    expect(place_use(held.object)); /* its answer tells by the way that the server has changed */
    expect_equal(cen_pool_give(&held), CEN_OK);
    place_soon(place_stats(pool).closed == 1); /* from memory, when it was given back */
    expect_equal(place_stats(pool).test_failed, 0);
    expect_no_such_server(pool, "server is read-only"); /* the other one was tested before it was lent */
    expect_equal(place_stats(pool).test_failed, 1);
    expect_equal(place_stats(pool).closed, 2);
    make_read_only(false);
    cen_lease lease;
    place_soon(cen_pool_take(pool, cen_in_ms(500), &lease, NULL) == CEN_OK);
    expect(place_use(lease.object));
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
}

BOTH(idle_connections_to_a_demoted_server_are_found_in_a_round)
{
    cen_pool *pool =
        pool_of(later, CEN_PQ_READ_WRITE, .test_after_idle_ns = 3600LL * 1000 * MS, .test_interval_ns = 20 * MS);
    cen_lease leases[] = {place_take(pool), place_take(pool)};
    for (int i = 0; i < 2; i++) expect_equal(cen_pool_give(&leases[i]), CEN_OK);
    place_pause_ms(60);
    expect_equal(place_stats(pool).closed, 0);
    make_read_only(true);
    place_soon(place_stats(pool).closed == 2);
    expect_equal(place_connections(), 0);
    make_read_only(false);
    place_close(pool);
}

TEST(a_primary_pool_does_not_mind_a_read_only_default)
{
    make_read_only(true);
    cen_pool *pool = pool_of(false, CEN_PQ_PRIMARY, .test_after_idle_ns = CEN_US(100));
    for (int i = 0; i < 3; i++) {
        cen_lease lease = place_take(pool);
        expect(place_use(lease.object));
        expect_equal(cen_pool_give(&lease), CEN_OK);
    }
    expect_equal(place_stats(pool).opened, 1);
    place_close(pool);
    make_read_only(false);
}

TEST(a_write_that_the_server_refuses_as_read_only_ends_the_connection)
{
    place_admin("drop table if exists rows; create table rows (a int); grant all on rows to tester");
    cen_pool *pool = pool_of(false, CEN_PQ_ANY, .test_after_idle_ns = 3600LL * 1000 * MS);
    cen_lease lease = place_take(pool);
    int first = PQbackendPID(lease.object);
    make_read_only(true);
    PGresult *result;
    cen_error error;
    expect_equal(cen_pq_run(lease.object, "insert into rows values (1)", 0, NULL, &result, &error), CEN_DRIVER);
    expect_equal(error.code, cen_pq_code("25006"));
    expect_equal(cen_pool_give(&lease), CEN_OK);
    make_read_only(false);
    lease = place_take(pool);
    expect(PQbackendPID(lease.object) != first);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
}

BOTH(no_replica_is_found_where_there_is_a_primary)
{
    cen_pool *pool = pool_of(later, CEN_PQ_REPLICA);
    expect_no_such_server(pool, "server is not a replica");
    place_close(pool);
    place_soon(place_connections() == 0);
}

/* A server that finds this file starts as a standby, which here has nobody to follow. */
static void become_standby(void)
{
    char file[300];
    snprintf(file, sizeof file, "%s/data/standby.signal", server_directory(place_server()));
    server_shutdown(place_server());
    int fd = open(file, O_CREAT | O_WRONLY, 0666);
    expect(fd >= 0);
    close(fd);
    server_restart(place_server());
    expect_text(place_admin("select pg_is_in_recovery()"), "t");
}

BOTH(a_primary_that_became_a_replica_and_one_again_is_followed)
{
    cen_pool *primary = pool_of(later, CEN_PQ_PRIMARY, .test_after_idle_ns = CEN_US(100)),
             *replica = pool_of(later, CEN_PQ_REPLICA, .test_after_idle_ns = CEN_US(100));
    cen_lease lease = place_take(primary);
    become_standby();
    expect(!place_use(lease.object));
    expect_equal(cen_pool_give(&lease), CEN_OK);
    expect_no_such_server(primary, "server is not a primary");
    place_soon(cen_pool_take(replica, cen_in_ms(500), &lease, NULL) == CEN_OK);
    expect(place_use(lease.object));
    place_admin("select pg_promote()"); /* while a reader has a connection */
    place_soon(place_use(lease.object) && strcmp(PQparameterStatus(lease.object, "in_hot_standby"), "off") == 0);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_soon(place_stats(replica).closed == 1);
    expect_no_such_server(replica, "server is not a replica");
    place_soon(cen_pool_take(primary, cen_in_ms(500), &lease, NULL) == CEN_OK);
    expect(place_use(lease.object));
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(primary);
    place_close(replica);
}

/* ---- Behind a proxy -------------------------------------------------------------------------------------------- */

TEST(a_server_behind_a_proxy_that_repeats_old_reports_is_asked)
{
    cen_pq_options options = CEN_PQ_OPTIONS(.uri = place_proxy(NULL), .role = CEN_PQ_READ_WRITE);
    cen_pool *pool = place_pool(CEN_POOL_OPTIONS(.name = "pq", .driver = cen_pq_with(&options), .max = 1,
                                                 .test_after_idle_ns = CEN_US(100), .backoff_initial_ns = 1 * MS,
                                                 .backoff_max_ns = 10 * MS));
    cen_lease lease = place_take(pool);
    make_read_only(true);
    expect(place_use(lease.object));
    expect_text(PQparameterStatus(lease.object, "default_transaction_read_only"), "off"); /* so it says */
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_pause_ms(20);
    expect_no_such_server(pool, "server is read-only");
    expect_equal(place_stats(pool).test_failed, 1);
    make_read_only(false);
    place_soon(cen_pool_take(pool, cen_in_ms(500), &lease, NULL) == CEN_OK);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
}

TEST(reports_that_are_known_to_be_old_condemn_nothing)
{
    char uri[200];
    snprintf(uri, sizeof uri, "%s&options=-c%%20default_transaction_read_only%%3Don", place_proxy(NULL));
    cen_pq_options options =
        CEN_PQ_OPTIONS(.uri = uri, .role = CEN_PQ_READ_WRITE, .setup = "set default_transaction_read_only = off");
    cen_pool *pool = place_pool(CEN_POOL_OPTIONS(.name = "pq", .driver = cen_pq_with(&options), .max = 1));
    for (int i = 0; i < 3; i++) {
        cen_lease lease = place_take(pool);
        expect_text(PQparameterStatus(lease.object, "default_transaction_read_only"), "on");
        expect_text(place_ask(lease.object, "show default_transaction_read_only"), "off");
        expect_equal(cen_pool_give(&lease), CEN_OK);
    }
    expect_equal(place_stats(pool).opened, 1);
    place_close(pool);
}
