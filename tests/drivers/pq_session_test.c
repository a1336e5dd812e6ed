/* SPDX-License-Identifier: MIT */
/* Settings and other state of the session: what one holder changed does not reach the next. In both forms of the driver. */
#include <stdlib.h>

#include <cenote/poller.h>

#include "drivers/pq_place.h"
#include "pq/internal.h"

enum { MS = 1000000 };

static cen_pool *pool_of(bool later, cen_pq_options options)
{
    static cen_poller *poller;
    if (later && !poller) expect_equal(cen_poller_new(&CEN_POLLER_OPTIONS(.name = "pq"), &poller, NULL), CEN_OK);
    options.size = sizeof options;
    options.uri = place_good();
    options.poller = later ? poller : NULL;
    return place_pool(CEN_POOL_OPTIONS(.name = "orders", .driver = cen_pq_with(&options), .max = 1,
                                       .test_after_idle_ns = 3600LL * 1000 * MS));
}

#define TEST_BOTH_WAYS(sentence) \
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

static void run(PGconn *conn, const char *sql)
{
    PGresult *result;
    cen_error error;
    if (cen_pq_run(conn, sql, 0, NULL, &result, &error) != CEN_OK)
        test_fail(__FILE__, __LINE__, "%s: %s", sql, error.text);
    PQclear(result);
}

/* Gives the connection back, and takes the same one again. */
static void pass_on(cen_pool *pool, cen_lease *lease)
{
    int before = PQbackendPID(lease->object);
    expect_equal(cen_pool_give(lease), CEN_OK);
    *lease = place_take(pool);
    expect_equal(PQbackendPID(lease->object), before);
}

/* ---- Words ------------------------------------------------------------------------------------------ */

/* guarantees: drivers.pq-session */
TEST(statements_that_change_the_session_are_recognised)
{
    static const char *const changing[] = {
        "set work_mem = '5MB'",
        "SET work_mem TO 5000",
        "  set  search_path = x",
        "set session work_mem = 1",
        "set time zone 'UTC'",
        "set role ann",
        "set session authorization ann",
        "set session characteristics as transaction read only",
        "reset all",
        "RESET work_mem",
        "reset role",
        "discard all",
        "discard temp",
        "listen events",
        "load 'auto_explain'",
        "prepare p as select 1",
        "create temp table t (a int)",
        "create temporary view v as select 1",
        "create or replace temp view v as select 1",
        "create local temporary table t (a int)",
        "select 1 into temp t",
        "select 1 into temporary table t",
        "with a as (select 1) select * into temp t from a",
        "declare c cursor with hold for select 1",
        "-- a comment\nset work_mem = 1",
        "/* a /* nested */ one */ set work_mem = 1",
        "select 1; set work_mem = 1",
        "select ';'; set work_mem = 1",
        "begin;set work_mem = 1;commit",
        "select $$;$$; set a.b = 1",
        "select $x$ ; $$ $x$; set a.b = 1",
        "select E'\\';'; set a.b = 1",
        "select \"a;b\"; reset all",
        ";;set a.b = 1",
        "SeT/**/work_mem=1",
        "set local_preload = 1",
        "set \"work_mem\" = 1",
        "/* */set a.b = 1 -- ",
        "/* open comment; */ set x = 1",
    };
    static const char *const harmless[] = {
        "",
        " ",
        ";",
        "--",
        "/*",
        "/* set a = 1",
        "-- set a = 1",
        "select 1",
        "select set from reset",
        "update t set a = 1",
        "insert into t values ('set a = 1')",
        "select 'x; set a = 1'",
        "select $$; set a = 1$$",
        "select $q$; set a = 1; $$ $q$",
        "select \"; set a = 1\"",
        "set local work_mem = 1",
        "SET LOCAL statement_timeout = '1s'",
        "set transaction read only",
        "set constraints all deferred",
        "begin",
        "commit",
        "rollback",
        "prepare transaction 'x'",
        "create table temp_t (a int)",
        "create table t (temp int)",
        "create index on temporary_things (a)",
        "declare c cursor for select 1",
        "unlisten *",
        "select $1",
        "select $1; select $2",
        "deallocate all",
        "notify events",
        "with a as (select 1) select * from a",
        "insert into temp select 1",
        "settle",
        "resetting",
        "(select 1)",
        "select E'\\'; set a = 1'",
        "select 'it''s; set a = 1'",
        "select 1 into t",
        "select 'unterminated ; set a = 1",
    };
    for (size_t i = 0; i < sizeof changing / sizeof *changing; i++)
        if (!ceni_pq_changes_session(changing[i])) test_fail(__FILE__, __LINE__, "\"%s\" is no change", changing[i]);
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (ceni_pq_changes_session(harmless[i])) test_fail(__FILE__, __LINE__, "\"%s\" is a change", harmless[i]);
}

/* ---- By cen_pq_run -------------------------------------------------------------------------------------- */

/* guarantees: pool-api.describe */
TEST_BOTH_WAYS(a_connection_is_shown_by_the_pid_of_its_backend)
{
    cen_pool *pool = pool_of(later, (cen_pq_options){.role = CEN_PQ_ANY});
    cen_lease lease = place_take(pool);
    cen_object_view view = CEN_SIZED(cen_object_view);
    size_t count;
    expect_equal(cen_pool_holders(pool, &view, 1, &count), CEN_OK);
    expect_equal(count, 1);
    expect_equal(view.identity, PQbackendPID(lease.object));
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
}

/* guarantees: drivers.pq-session */
TEST_BOTH_WAYS(a_setting_of_one_holder_does_not_reach_the_next)
{
    cen_pool *pool = pool_of(later, (cen_pq_options){.setup = "set statement_timeout = '77s'"});
    cen_lease lease = place_take(pool);
    run(lease.object, "select 1");
    run(lease.object, "set work_mem = '7MB'");
    run(lease.object, "set statement_timeout = '5s'");
    pass_on(pool, &lease);
    expect_equal(place_stats(pool).reset, 1);
    expect_text(place_ask(lease.object, "show work_mem"), "4MB");
    expect_text(place_ask(lease.object, "show statement_timeout"), "77s"); /* setup was run again */
    expect_equal(cen_pq_prepared(lease.object), 0);
    run(lease.object, "select 1"); /* and is prepared again */
    expect_equal(cen_pq_prepared(lease.object), 1);
    pass_on(pool, &lease);
    expect_equal(place_stats(pool).reset, 1);
    expect_equal(cen_pq_prepared(lease.object), 1);
    run(lease.object, "reset statement_timeout");
    pass_on(pool, &lease);
    expect_text(place_ask(lease.object, "show statement_timeout"), "77s");
    expect_equal(place_stats(pool).reset, 2);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
}

/* guarantees: drivers.pq-session */
TEST_BOTH_WAYS(a_setting_is_noticed_each_time_that_its_prepared_statement_runs)
{
    cen_pool *pool = pool_of(later, (cen_pq_options){.reset = CEN_PQ_RESET_CHANGED});
    cen_lease lease = place_take(pool);
    for (int i = 0; i < 3; i++) {
        run(lease.object, "begin");
        run(lease.object, "set work_mem = '7MB'");
        run(lease.object, "commit");
        pass_on(pool, &lease);
        expect_text(place_ask(lease.object, "show work_mem"), "4MB");
    }
    expect_equal(place_stats(pool).reset, 3);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
}

/* guarantees: drivers.pq-session */
TEST_BOTH_WAYS(what_else_a_session_keeps_does_not_reach_the_next)
{
    cen_pool *pool = pool_of(later, (cen_pq_options){.statements = CEN_NONE});
    cen_lease lease = place_take(pool);
    run(lease.object, "create temp table mine (a int)");
    pass_on(pool, &lease);
    expect_text(place_ask(lease.object, "select to_regclass('mine') is null"), "t");
    run(lease.object, "listen hints");
    pass_on(pool, &lease);
    expect_text(place_ask(lease.object, "select count(*) from pg_listening_channels()"), "0");
    run(lease.object, "prepare mine as select 1");
    pass_on(pool, &lease);
    expect_text(place_ask(lease.object, "select count(*) from pg_prepared_statements"), "0");
    run(lease.object, "set role tester");
    pass_on(pool, &lease);
    expect_text(place_ask(lease.object, "show role"), "none");
    expect_equal(place_stats(pool).reset, 4);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
}

/* guarantees: drivers.pq-session */
TEST_BOTH_WAYS(what_ends_with_the_transaction_costs_no_reset)
{
    cen_pool *pool = pool_of(later, (cen_pq_options){.reset = CEN_PQ_RESET_CHANGED});
    cen_lease lease = place_take(pool);
    run(lease.object, "begin");
    run(lease.object, "set local work_mem = '7MB'");
    run(lease.object, "set transaction read only");
    run(lease.object, "commit");
    run(lease.object, "select 'set work_mem = 1'");
    pass_on(pool, &lease);
    expect_text(place_ask(lease.object, "show work_mem"), "4MB");
    expect_equal(place_stats(pool).reset, 0);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
}

/* ---- By the server's reports ------------------------------------------------------------------------------- */

/* guarantees: drivers.pq-session */
TEST_BOTH_WAYS(a_setting_that_the_server_reports_does_not_reach_the_next)
{
    static const char *const settings[][3] = {
        {"set timezone = 'Asia/Tokyo'", "show timezone", "UTC"},
        {"set datestyle = 'German'", "show datestyle", "ISO, MDY"},
        {"set application_name = 'mine'", "show application_name", "set up"},
        {"set client_encoding = 'LATIN1'", "show client_encoding", "UTF8"},
        {"select set_config('IntervalStyle', 'iso_8601', false)", "show intervalstyle", "postgres"},
        {"do $$ begin set standard_conforming_strings = off; end $$", "show standard_conforming_strings", "on"},
    };
    cen_pool *pool = pool_of(later, (cen_pq_options){.setup = "set application_name = 'set up'; set timezone = 'UTC'"});
    cen_lease lease = place_take(pool);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        expect(place_ask(lease.object, settings[i][0]) != NULL); /* by libpq, or where nobody sees it */
        pass_on(pool, &lease);
        expect_text(place_ask(lease.object, settings[i][1]), settings[i][2]);
        expect_equal(place_stats(pool).reset, i + 1);
    }
    pass_on(pool, &lease);
    expect_equal(place_stats(pool).reset, sizeof settings / sizeof *settings);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
}

/* guarantees: drivers.pq-session */
TEST_BOTH_WAYS(with_rollback_alone_settings_stay)
{
    cen_pool *pool = pool_of(later, (cen_pq_options){.reset = CEN_PQ_RESET_ROLLBACK});
    cen_lease lease = place_take(pool);
    run(lease.object, "set work_mem = '7MB'");
    expect(place_ask(lease.object, "set timezone = 'Asia/Tokyo'") != NULL);
    pass_on(pool, &lease);
    expect_equal(place_stats(pool).reset, 0);
    expect_text(place_ask(lease.object, "show work_mem"), "7MB");
    expect(place_ask(lease.object, "begin") != NULL);
    pass_on(pool, &lease);
    expect_equal(place_stats(pool).reset, 1);
    expect_text(place_ask(lease.object, "show work_mem"), "7MB");
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
}

/* ---- A transaction that was left open ------------------------------------------------------------------------ */

static char told[4][CEN_ERROR_TEXT_SIZE];
static unsigned tellings;

static void on_event(void *argument, const cen_event *event, uint64_t missed)
{
    (void)argument;
    (void)missed;
    if (event->kind == CEN_EVENT_LEFT_OPEN && tellings < 4)
        snprintf(told[tellings++], sizeof told[0], "%s", event->text);
}

/* guarantees: drivers.left-open */
TEST_BOTH_WAYS(a_transaction_left_open_is_told_once_with_its_call_site)
{
    char expected[200];
    cen_pool *pool = pool_of(later, (cen_pq_options){.reset = CEN_PQ_RESET_CHANGED});
    expect_equal(cen_pool_listen(pool, on_event, NULL, NULL), CEN_OK);
    int line = 0;
    for (int i = 0; i < 3; i++) {
        cen_lease lease;
        line = __LINE__ + 1;
        expect_equal(cen_pool_take(pool, cen_in_s(10), &lease, NULL), CEN_OK);
        run(lease.object, i == 1 ? "select 1" : "begin");
        expect_equal(cen_pool_give(&lease), CEN_OK);
    }
    place_close(pool); /* by then all is told */
    expect_equal(tellings, 1);
    snprintf(expected, sizeof expected, "pool \"orders\": transaction left open by %s:%d", __FILE__, line);
    expect_text(told[0], expected);
    tellings = 0;
}
