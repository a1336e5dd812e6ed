/* SPDX-License-Identifier: MIT */
/* cen_pq_run: statements that are prepared once for each connection, and what the errors say. */
#include <stdlib.h>

#include "drivers/pq_place.h"

static cen_pool *pool;
static cen_lease lease;
static PGconn *conn;

static void begin_with(cen_pq_options options)
{
    options.uri = place_good();
    pool = place_pool(CEN_POOL_OPTIONS(.name = "pq", .driver = cen_pq_with(&options), .max = 1));
    lease = place_take(pool);
    conn = lease.object;
}
#define begin(...) begin_with(CEN_PQ_OPTIONS(__VA_ARGS__))

static void end(void)
{
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
}

/* Runs it with one parameter: the first field, until the next call. */
static const char *run(const char *sql, const char *value)
{
    static char answer[100];
    PGresult *result = NULL;
    cen_error error = {.text = ""};
    cen_status status = cen_pq_run(conn, sql, value ? 1 : 0, &value, &result, &error);
    if (status != CEN_OK) test_fail(__FILE__, __LINE__, "%s: %s: %s", sql, cen_status_name(status), error.text);
    snprintf(answer, sizeof answer, "%s", PQntuples(result) ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
    return answer;
}

static cen_status refused(const char *sql, const char *sqlstate)
{
    PGresult *result = (PGresult *)1;
    cen_error error = {.text = ""};
    char text[6];
    cen_status status = cen_pq_run(conn, sql, 0, NULL, &result, &error);
    expect(status != CEN_OK);
    expect(result == (PGresult *)1);
    expect_equal(error.status, status);
    expect_text(cen_pq_sqlstate(error.code, text), sqlstate);
    expect(strstr(error.text, "127.0.0.1") && strstr(error.text, "tester"));
    printf("     %s\n", error.text);
    return status;
}

static int on_server(void)
{
    return atoi(place_ask(conn, "select count(*) from pg_prepared_statements"));
}

TEST(a_statement_is_prepared_once_and_then_run_by_name)
{
    begin();
    for (int i = 0; i < 5; i++) {
        expect_text(run("select $1::int + 1", "41"), "42");
        expect_text(run("select $1 || 'y'", "x"), "xy");
        expect_equal(cen_pq_prepared(conn), 2);
        expect_equal(on_server(), 2);
    }
    uint64_t first = place_identity(conn);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    lease = place_take(pool);
    expect_equal(place_identity(lease.object), first);
    expect_equal(on_server(), 2); /* the next user finds them prepared */
    end();
}

TEST(a_null_parameter_is_null)
{
    begin();
    const char *values[] = {NULL, "b"};
    PGresult *result;
    expect_equal(cen_pq_run(conn, "select $1::text is null, $2::text", 2, values, &result, NULL), CEN_OK);
    expect_text(PQgetvalue(result, 0, 0), "t");
    expect_text(PQgetvalue(result, 0, 1), "b");
    PQclear(result);
    end();
}

TEST(the_least_recently_used_statement_goes)
{
    begin(.statements = 2);
    expect_text(run("select 1", NULL), "1");
    expect_text(run("select 2", NULL), "2");
    expect_text(run("select 1", NULL), "1");
    expect_text(run("select 3", NULL), "3"); /* in place of 2 */
    expect_equal(cen_pq_prepared(conn), 2);
    expect_equal(atoi(place_ask(conn, "select count(*) from pg_prepared_statements where statement = 'select 2'")), 0);
    expect_equal(on_server(), 2);
    for (int i = 0; i < 100; i++) {
        char sql[30], answer[10];
        snprintf(sql, sizeof sql, "select %d", i % 7);
        snprintf(answer, sizeof answer, "%d", i % 7);
        expect_text(run(sql, NULL), answer);
        expect_equal(on_server(), 2);
    }
    end();
}

TEST(many_statements_are_kept_and_found)
{
    begin(.statements = 300);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 300; i++) {
            char sql[30], answer[10];
            snprintf(sql, sizeof sql, "select %d", i);
            snprintf(answer, sizeof answer, "%d", i);
            expect_text(run(sql, NULL), answer);
        }
        expect_equal(cen_pq_prepared(conn), 300);
        expect_equal(on_server(), 300);
    }
    end();
}

TEST(switched_off_nothing_is_prepared)
{
    begin(.statements = CEN_NONE);
    expect_text(run("select $1::int + 1", "41"), "42");
    expect_equal(on_server(), 0);
    end();
}

TEST(statements_that_discard_all_dropped_are_prepared_anew)
{
    begin();
    run("select 1", NULL);
    run("discard all", NULL); /* noticed */
    expect_equal(cen_pq_prepared(conn), 0);
    expect_text(run("select 1", NULL), "1");
    run("deallocate all", NULL);
    expect_equal(cen_pq_prepared(conn), 0);
    expect_text(run("select 1", NULL), "1");
    expect(place_ask(conn, "discard all") != NULL); /* behind our back */
    expect_equal(cen_pq_prepared(conn), 1);
    expect_text(run("select 1", NULL), "1");
    expect_equal(cen_pq_prepared(conn), 1);
    expect_equal(on_server(), 1);
    end();
}

TEST(a_statement_whose_table_has_changed_is_prepared_anew)
{
    begin();
    run("create temp table things (a int)", NULL);
    run("insert into things values (1)", NULL);
    expect_text(run("select * from things", NULL), "1");
    run("alter table things add b int", NULL);
    run("alter table things alter a type text", NULL);
    expect_text(run("select * from things", NULL), "1");
    PGresult *result;
    expect_equal(cen_pq_run(conn, "select * from things", 0, NULL, &result, NULL), CEN_OK);
    expect_equal(PQnfields(result), 2);
    PQclear(result);
    expect_equal(on_server(), cen_pq_prepared(conn)); /* the old one is not there any more */
    end();
}

/* The procedure commits, and then names a statement that nobody has: its error looks like that of a statement of ours. */
TEST(what_a_procedure_has_failed_with_is_not_run_again)
{
    place_admin("create table if not exists calls (a int)");
    place_admin("grant all on calls to public");
    place_admin(
        "create or replace procedure call_on(fails bool) language plpgsql as $$ "
        "begin insert into calls values (1); commit; if fails then execute 'deallocate nobodys'; end if; end $$");
    begin();
    const char *no = "false", *yes = "true";
    PGresult *result = NULL;
    run("call call_on($1)", no);
    run("select 1", NULL);
    expect_equal(cen_pq_run(conn, "call call_on($1)", 1, &yes, &result, NULL), CEN_DRIVER);
    expect_text(place_admin("select count(*) from calls"), "2");
    expect_equal((int)cen_pq_prepared(conn), 2);
    expect_equal((int)cen_pq_prepared(conn), on_server());
    refused("execute nobodys", "26000");
    expect_equal((int)cen_pq_prepared(conn), on_server());
    end();
}

TEST(in_a_transaction_a_dropped_statement_is_an_error_once)
{
    begin();
    expect_text(run("select 1", NULL), "1");
    expect_text(run("select 2", NULL), "2");
    expect(place_ask(conn, "deallocate all") != NULL);
    run("begin", NULL);
    expect_equal(refused("select 1", "26000"), CEN_DRIVER);
    expect_equal(refused("select 2", "25P02"), CEN_DRIVER); /* the transaction has failed: the server's own word */
    run("rollback", NULL);
    run("begin", NULL);
    expect_text(run("select 1", NULL), "1");
    expect_text(run("select 2", NULL), "2");
    run("commit", NULL);
    end();
}

TEST(a_statement_that_is_refused_is_not_kept_and_the_connection_goes_on)
{
    begin();
    expect_equal(refused("selec 1", "42601"), CEN_DRIVER);
    expect_equal(refused("select * from nowhere", "42P01"), CEN_DRIVER);
    expect_equal(refused("select 1/0", "22012"), CEN_DRIVER);
    expect_text(run("select 1", NULL), "1");
    expect_equal(cen_pq_prepared(conn), 2); /* 1/0 was prepared, and failed when it ran */
    end();
    expect_equal(cen_pq_run(NULL, "select 1", 0, NULL, NULL, NULL), CEN_INVALID);
}

TEST(a_statement_with_a_hundred_thousand_characters_is_prepared_too)
{
    begin();
    size_t size = 100000;
    char *sql = malloc(size + 20);
    memset(sql, ' ', size);
    snprintf(sql + size, 20, "select 7");
    memcpy(sql, "--", 2);
    sql[size - 1] = '\n';
    for (int i = 0; i < 2; i++) expect_text(run(sql, NULL), "7");
    expect_equal(on_server(), 1);
    free(sql);
    end();
}

TEST(a_program_that_deallocates_what_is_not_there_loses_nothing)
{
    begin();
    run("select 1", NULL);
    expect_equal(refused("deallocate nowhere", "26000"), CEN_DRIVER);
    expect_equal(cen_pq_prepared(conn), 2);
    expect_equal(on_server(), 2);
    end();
}

TEST(in_pipeline_mode_nothing_is_run)
{
    begin();
    expect(PQenterPipelineMode(conn));
    PGresult *result;
    expect_equal(cen_pq_run(conn, "select 1", 0, NULL, &result, NULL), CEN_MISUSE);
    expect(PQexitPipelineMode(conn));
    expect_text(run("select 1", NULL), "1");
    end();
}

TEST(a_query_that_was_cancelled_is_interrupted)
{
    begin();
    run("set statement_timeout = '50ms'", NULL);
    expect_equal(refused("select pg_sleep(10)", "57014"), CEN_INTERRUPTED);
    run("set statement_timeout = 0", NULL);
    end();
}

TEST(a_connection_that_the_server_ended_is_down_and_is_replaced)
{
    begin();
    uint64_t first = place_identity(conn);
    expect(place_cut(first));
    expect_equal(refused("select 1", "57P01"), CEN_DOWN);
    expect_equal(refused("select 1", "08006"), CEN_LOST);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    lease = place_take(pool);
    conn = lease.object;
    expect(place_identity(conn) != first);
    expect_text(run("select 1", NULL), "1");
    end();
}

TEST(a_connection_that_is_no_pools_is_asked_directly)
{
    conn = PQconnectdb(place_good());
    expect_text(run("select $1::int + 1", "41"), "42");
    expect_equal(cen_pq_prepared(conn), 0);
    expect_equal(on_server(), 0);
    PQfinish(conn);
}

TEST(a_sqlstate_is_a_number_and_back)
{
    static const char *const states[] = {"00000", "00001", "08006", "28P01", "53300",
                                         "57P01", "XX000", "ZZZZZ", "0A000"};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        char text[6];
        int code = cen_pq_code(states[i]);
        expect(code >= 0);
        expect_text(cen_pq_sqlstate(code, text), i == 0 ? "" : states[i]);
    }
    expect_equal(cen_pq_code("28p01"), 0);
    expect_equal(cen_pq_code("28P0"), 0);
    expect_equal(cen_pq_code("28P011"), 0);
    expect_equal(cen_pq_code(NULL), 0);
    expect_equal(cen_pq_code("28P01"), 3764881);
}
