/* SPDX-License-Identifier: MIT */
/* What a holder leaves behind, and what the next one finds: in both forms of the driver. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <cenote/poller.h>

#include "drivers/pq_place.h"

enum { MS = 1000000 };

static cen_driver driver(bool later, cen_pq_options given)
{
    static cen_pq_options options;
    static cen_poller *poller;
    if (later && !poller) expect_equal(cen_poller_new(&CEN_POLLER_OPTIONS(.name = "pq"), &poller, NULL), CEN_OK);
    options = given;
    options.uri = place_good();
    options.poller = later ? poller : NULL;
    return cen_pq_with(&options);
}

#define pool_of(later, ...) \
    place_pool(CEN_POOL_OPTIONS(.name = "pq", .driver = driver(later, CEN_PQ_OPTIONS(__VA_ARGS__)), .max = 1, \
                                .test_after_idle_ns = 3600LL * 1000 * MS))

/* A test of its own for each form. */
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

/* Gives it back as it is and takes it again: the same connection, at rest and in its mode. */
static void pass_on(cen_pool *pool, cen_lease *lease, bool later)
{
    int before = PQbackendPID(lease->object);
    expect_equal(cen_pool_give(lease), CEN_OK);
    *lease = place_take(pool);
    expect_equal(PQbackendPID(lease->object), before);
    expect_equal(PQtransactionStatus(lease->object), PQTRANS_IDLE);
    expect_equal(PQpipelineStatus(lease->object), PQ_PIPELINE_OFF);
    expect_equal(PQisnonblocking(lease->object), later);
    expect(place_use(lease->object));
}

BOTH(what_a_transaction_that_was_left_open_wrote_is_gone)
{
    place_admin("drop table if exists rows; create table rows (a int); grant all on rows to tester");
    cen_pool *pool = pool_of(later);
    cen_lease lease = place_take(pool);
    expect(place_ask(lease.object, "begin; insert into rows values (1)") != NULL);
    pass_on(pool, &lease, later);
    expect_text(place_ask(lease.object, "select count(*) from rows"), "0");
    expect(place_ask(lease.object, "begin") && !place_ask(lease.object, "insert into rows values (1/0)"));
    expect_equal(PQtransactionStatus(lease.object), PQTRANS_INERROR);
    pass_on(pool, &lease, later);
    expect_equal(place_stats(pool).reset, 2);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
}

BOTH(a_query_that_was_left_running_is_cancelled)
{
    cen_pool *pool = pool_of(later);
    cen_lease lease = place_take(pool);
    expect(PQsendQuery(lease.object, "select pg_sleep(60)"));
    while (PQflush(lease.object) > 0) place_pause_ms(1);
    place_soon(atoi(place_admin("select count(*) from pg_stat_activity where usename = 'tester' and query like "
                                "'%%sleep(60)' and state = 'active'")) == 1);
    pass_on(pool, &lease, later);
    expect(place_ask(lease.object, "begin") != NULL); /* and in a transaction */
    expect(PQsendQuery(lease.object, "select pg_sleep(60)"));
    while (PQflush(lease.object) > 0) place_pause_ms(1);
    pass_on(pool, &lease, later);
    expect_equal(place_stats(pool).reset_failed, 0);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
}

static void tell(void *argument, const cen_event *event, uint64_t missed)
{
    (void)argument;
    (void)missed;
    if (event->kind == CEN_EVENT_RESET_FAILED || event->kind == CEN_EVENT_CLOSED) printf("     %s\n", event->text);
}

BOTH(no_cancel_reaches_the_next_users_query)
{
    cen_pool *pool = pool_of(later);
    cen_lease lease = place_take(pool);
    int first = PQbackendPID(lease.object);
    expect_equal(cen_pool_listen(pool, tell, NULL, NULL), CEN_OK);
    for (int i = 0; i < 100; i++) {
        char sql[40];
        snprintf(sql, sizeof sql, "select pg_sleep(%d.%03d)", i % 3, i % 5); /* some end just when they are cancelled */
        expect(PQsendQuery(lease.object, i % 3 ? sql : "select pg_sleep(0.003)"));
        while (PQflush(lease.object) > 0) place_pause_ms(1);
        if (i % 2) place_pause_ms(i % 4);
        expect_equal(cen_pool_give(&lease), CEN_OK);
        lease = place_take(pool);
        expect(place_ask(lease.object, "select pg_sleep(0.002)") != NULL);
        expect(place_use(lease.object));
    }
    expect_equal(PQbackendPID(lease.object), first);
    expect_equal(place_stats(pool).reset, 100);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
}

BOTH(a_connection_whose_cancel_request_was_not_heard_is_not_lent_again)
{
    int listener;
    cen_pq_options options = CEN_PQ_OPTIONS();
    cen_driver made = driver(later, options);
    ((cen_pq_options *)made.argument)->uri = place_proxy(&listener);
    cen_pool *pool = place_pool(CEN_POOL_OPTIONS(.name = "pq", .driver = made, .max = 1));
    cen_lease lease = place_take(pool);
    expect(PQsendQuery(lease.object, "select pg_sleep(0.3)")); /* which ends by itself: all would look well */
    while (PQflush(lease.object) > 0) place_pause_ms(1);
    shutdown(listener, SHUT_RDWR); /* the request finds nobody */
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_soon(place_stats(pool).closed == 1);
    expect_equal(place_stats(pool).reset_failed, 1);
    place_close(pool);
}

BOTH(results_that_were_left_unread_are_read)
{
    cen_pool *pool = pool_of(later);
    cen_lease lease = place_take(pool);
    expect(PQsendQuery(lease.object, "select 1; select 2; select generate_series(1, 100000)"));
    PGresult *one = PQgetResult(lease.object);
    expect_text(PQgetvalue(one, 0, 0), "1");
    PQclear(one);
    pass_on(pool, &lease, later);
    expect(PQsendQuery(lease.object, "select generate_series(1, 100000)") && PQsetSingleRowMode(lease.object));
    PQclear(PQgetResult(lease.object));
    pass_on(pool, &lease, later);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
}

BOTH(a_copy_that_was_left_unfinished_is_ended)
{
    place_admin("drop table if exists rows; create table rows (a int); grant all on rows to tester");
    cen_pool *pool = pool_of(later);
    cen_lease lease = place_take(pool);
    PGresult *result = PQexec(lease.object, "copy rows from stdin");
    expect_equal(PQresultStatus(result), PGRES_COPY_IN);
    PQclear(result);
    expect_equal(PQputCopyData(lease.object, "1\n2\n", 4), 1);
    pass_on(pool, &lease, later);
    expect_text(place_ask(lease.object, "select count(*) from rows"), "0");
    result = PQexec(lease.object, "copy (select generate_series(1, 100000)) to stdout");
    expect_equal(PQresultStatus(result), PGRES_COPY_OUT);
    PQclear(result);
    pass_on(pool, &lease, later);
    expect_equal(place_stats(pool).reset_failed, 0);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
}

BOTH(modes_that_were_left_on_are_switched_back)
{
    cen_pool *pool = pool_of(later);
    cen_lease lease = place_take(pool);
    expect(PQenterPipelineMode(lease.object));
    pass_on(pool, &lease, later);
    expect_equal(PQsetnonblocking(lease.object, !later), 0);
    pass_on(pool, &lease, later);
    expect_equal(place_stats(pool).reset, 2);
    int before = PQbackendPID(lease.object);
    expect(PQenterPipelineMode(lease.object) &&
           PQsendQueryParams(lease.object, "select 1", 0, NULL, NULL, NULL, NULL, 0));
    expect_equal(cen_pool_give(&lease), CEN_OK); /* a pipeline in use is not worth the trouble: it is closed */
    lease = place_take(pool);
    expect(PQbackendPID(lease.object) != before);
    expect_equal(place_stats(pool).reset_failed, 1);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
}

BOTH(discard_all_leaves_nothing_of_the_session_and_runs_setup_again)
{
    cen_pool *pool =
        pool_of(later, .reset = CEN_PQ_RESET_ALL, .setup = "set application_name = 'set up'; set work_mem = '5MB'");
    cen_lease lease = place_take(pool);
    expect_text(place_ask(lease.object, "show application_name"), "set up");
    PGresult *result;
    expect_equal(cen_pq_run(lease.object, "create temp table mine (a int)", 0, NULL, &result, NULL), CEN_OK);
    PQclear(result);
    expect(place_ask(lease.object, "set application_name = 'changed'; set statement_timeout = '1h'; listen hints") !=
           NULL);
    expect_equal(cen_pq_prepared(lease.object), 1);
    pass_on(pool, &lease, later);
    expect_equal(cen_pq_prepared(lease.object), 0);
    expect_text(place_ask(lease.object, "show application_name"), "set up");
    expect_text(place_ask(lease.object, "show statement_timeout"), "0");
    expect_text(place_ask(lease.object, "select count(*) from pg_prepared_statements"), "0");
    expect_text(place_ask(lease.object, "select count(*) from pg_listening_channels()"), "0");
    expect_text(place_ask(lease.object, "select to_regclass('mine') is null"), "t");
    expect(place_ask(lease.object, "begin") != NULL);
    pass_on(pool, &lease, later);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
}

BOTH(without_a_reset_what_is_dirty_is_closed)
{
    cen_pool *pool = pool_of(later, .reset = CEN_PQ_RESET_NOTHING);
    cen_lease lease = place_take(pool);
    pass_on(pool, &lease, later);
    int first = PQbackendPID(lease.object);
    expect(place_ask(lease.object, "begin") != NULL);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    lease = place_take(pool);
    expect(PQbackendPID(lease.object) != first);
    expect_equal(place_stats(pool).reset, 0);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
}

BOTH(a_reset_that_the_server_does_not_answer_ends_in_time)
{
    cen_pool *pool = pool_of(later, .reset_timeout_ns = 200 * MS, .cancel_timeout_ns = 100 * MS);
    cen_lease lease = place_take(pool), other;
    expect(place_ask(lease.object, "begin") != NULL);
    server_pause(place_server());
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_soon(place_stats(pool).reset_failed == 1); /* while the server is still silent */
    server_resume(place_server());
    lease = place_take(pool);
    expect(PQsendQuery(lease.object, "select pg_sleep(60)"));
    while (PQflush(lease.object) > 0) place_pause_ms(1);
    server_pause(place_server()); /* now the cancel request is what is not answered */
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_soon(place_stats(pool).reset_failed == 2);
    expect_equal(cen_pool_take(pool, cen_in_ms(100), &other, NULL), CEN_TIMEOUT);
    server_resume(place_server());
    lease = place_take(pool);
    expect(place_use(lease.object));
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
    place_soon(place_connections() == 0);
}

BOTH(a_test_that_the_server_does_not_answer_ends_in_time)
{
    cen_pq_options options = CEN_PQ_OPTIONS(.test_timeout_ns = 200 * MS);
    cen_pool *pool = place_pool(
        CEN_POOL_OPTIONS(.name = "pq", .driver = driver(later, options), .max = 1, .test_after_idle_ns = CEN_US(100)));
    cen_lease lease = place_take(pool);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_pause_ms(20);
    server_pause(place_server());
    int64_t begin = cen_clock();
    expect_equal(cen_pool_take(pool, cen_in_ms(400), &lease, NULL), CEN_TIMEOUT);
    int64_t took = cen_clock() - begin;
    expect(took >= 390LL * MS);
    place_soon(place_stats(pool).test_failed == 1); /* while the server is still silent */
    server_resume(place_server());
    lease = place_take(pool);
    expect(place_use(lease.object));
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
}

/* ---- Calls that nobody wants any more: over a poller they end at once -------------------------------- */

/* The call under way has no time limit of its own: the close ends it, or nothing does. */
static void expect_ends_soon(cen_pool *pool)
{
    cen_error error = {.text = ""};
    cen_status status = cen_pool_close(pool, cen_in_s(60), NULL, &error);
    if (status != CEN_OK) test_fail(__FILE__, __LINE__, "%s: %s", cen_status_name(status), error.text);
    expect_equal(cen_pool_free(pool), CEN_OK);
}

TEST(an_opening_under_way_ends_when_the_pool_is_closed)
{
    cen_pool *pool = pool_of(true, .connect_timeout_ns = CEN_OFF);
    cen_lease lease;
    server_pause(place_server());
    expect_equal(cen_pool_take(pool, cen_in_ms(100), &lease, NULL), CEN_TIMEOUT);
    place_soon(place_stats(pool).opening == 1);
    expect_ends_soon(pool);
    server_resume(place_server());
    place_soon(place_connections() == 0);
}

TEST(a_cancel_that_comes_before_its_call_ends_it)
{
    cen_poller *poller;
    expect_equal(cen_poller_new(NULL, &poller, NULL), CEN_OK);
    cen_pq_options options = CEN_PQ_OPTIONS(.uri = place_good(), .connect_timeout_ns = CEN_OFF, .poller = poller);
    cen_driver made = cen_pq_with(&options);
    cen_ticket ticket = {.number = 77}, other = {.number = 78}; /* no pool's: who is told answers STALE */
    void *state = NULL;
    cen_error error;
    expect_equal(made.calls->prepare(made.argument, &state, &error), CEN_OK);
    server_pause(place_server());
    made.calls->cancel(state, ticket);
    made.calls->open_async(state, ticket);
    made.calls->open_async(state, other);
    expect_equal(cen_poller_free(poller), CEN_BUSY); /* the other one is under way */
    made.calls->cancel(state, other);
    expect_equal(cen_poller_free(poller), CEN_OK);
    server_resume(place_server());
    made.calls->fini(state);
}

TEST(an_opening_that_the_pool_gives_up_is_cancelled)
{
    cen_pq_options options = CEN_PQ_OPTIONS(.connect_timeout_ns = CEN_OFF);
    cen_pool *pool =
        place_pool(CEN_POOL_OPTIONS(.name = "pq", .driver = driver(true, options), .max = 1,
                                    .open_timeout_ns = 100 * MS, .breaker_failures = 1, .breaker_wait_ns = CEN_OFF));
    cen_lease lease;
    server_pause(place_server());
    expect_equal(cen_pool_take(pool, cen_in_s(5), &lease, NULL), CEN_DRIVER);
    place_soon(place_stats(pool).opening == 0);
    server_resume(place_server());
    place_soon(cen_pool_take(pool, cen_in_ms(500), &lease, NULL) == CEN_OK);
    expect(place_use(lease.object));
    expect_equal(cen_pool_give(&lease), CEN_OK);
    expect_ends_soon(pool);
}

TEST(a_test_under_way_ends_when_the_pool_is_closed)
{
    cen_pq_options options = CEN_PQ_OPTIONS(.test_timeout_ns = CEN_OFF);
    cen_pool *pool = place_pool(
        CEN_POOL_OPTIONS(.name = "pq", .driver = driver(true, options), .max = 1, .test_after_idle_ns = CEN_US(100)));
    cen_lease lease = place_take(pool);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_pause_ms(20);
    server_pause(place_server());
    expect_equal(cen_pool_take(pool, cen_in_ms(100), &lease, NULL), CEN_TIMEOUT);
    place_soon(place_stats(pool).testing == 1);
    expect_ends_soon(pool);
    server_resume(place_server());
    place_soon(place_connections() == 0);
}

TEST(a_reset_under_way_ends_when_the_pool_is_closed)
{
    for (int runs = 0; runs < 2; runs++) { /* a transaction, and a query whose cancel request is under way */
        cen_pool *pool = pool_of(true, .reset_timeout_ns = CEN_OFF);
        cen_lease lease = place_take(pool);
        expect(place_ask(lease.object, "begin") != NULL);
        if (runs) expect(PQsendQuery(lease.object, "select pg_sleep(60)") && PQflush(lease.object) == 0);
        server_pause(place_server());
        expect_equal(cen_pool_give(&lease), CEN_OK);
        place_soon(place_stats(pool).resetting == 1);
        expect_ends_soon(pool);
        server_resume(place_server());
        place_soon(place_connections() == 0);
    }
}

/* ---- Interrupt --------------------------------------------------------------------------------- */

struct hanger {
    cen_lease lease;
    bool failed; /* the query was ended before it was over */
};

static void *hang(void *argument)
{
    struct hanger *hanger = argument;
    hanger->failed = place_hang(hanger->lease.object);
    return NULL;
}

BOTH(the_query_of_a_holder_is_cancelled_and_its_connection_left_whole)
{
    cen_pq_options options = CEN_PQ_OPTIONS(.cancel_timeout_ns = CEN_OFF);
    cen_pool *pool =
        place_pool(CEN_POOL_OPTIONS(.name = "pq", .driver = driver(later, options), .max = 1, .max_hold_ns = 50 * MS));
    cen_lease lease = place_take(pool);
    PGresult *result;
    cen_error error;
    expect_equal(cen_pq_run(lease.object, "select pg_sleep(60)", 0, NULL, &result, &error), CEN_INTERRUPTED);
    expect_equal(error.code, cen_pq_code("57014"));
    expect(place_use(lease.object)); /* it may still tidy up */
    expect_equal(cen_pool_give(&lease), CEN_REVOKED);
    place_close(pool);
}

BOTH(a_holder_of_a_server_that_is_silent_is_cut_off)
{
    cen_pool *pool = pool_of(later, .cancel_timeout_ns = 200 * MS);
    struct hanger hanger = {.lease = place_take(pool)};
    pthread_t thread;
    expect(pthread_create(&thread, NULL, hang, &hanger) == 0);
    place_pause_ms(100);
    server_pause(place_server());
    expect_equal(cen_pool_close(pool, cen_in_ms(50), NULL, NULL), CEN_TIMEOUT);
    pthread_join(thread, NULL);
    expect(hanger.failed);
    server_resume(place_server());
    expect_equal(cen_pool_give(&hanger.lease), CEN_REVOKED);
    expect_equal(cen_pool_free(pool), CEN_OK);
    place_soon(place_connections() == 0);
}

BOTH(a_holder_that_goes_on_after_its_query_was_cancelled_is_cut_off)
{
    cen_pq_options options = CEN_PQ_OPTIONS(.cancel_timeout_ns = 200 * MS);
    cen_pool *pool =
        place_pool(CEN_POOL_OPTIONS(.name = "pq", .driver = driver(later, options), .max = 1, .max_hold_ns = 50 * MS));
    cen_lease lease = place_take(pool);
    int64_t begin = cen_clock();
    int failures = 0;
    for (;;) {
        if (!place_use(lease.object)) failures++;
        if (PQstatus(lease.object) != CONNECTION_OK) break;
        place_pause_ms(5);
    }
    expect(failures >= 1);
    expect(cen_clock() - begin >= 200LL * MS);
    expect_equal(cen_pool_give(&lease), CEN_REVOKED);
    place_close(pool);
}

TEST(what_a_closed_connection_was_running_is_cancelled_in_the_server)
{
    for (int i = 0; i < 30; i++) { /* sometimes the request is there before the query */
        cen_pool *pool = pool_of(false, .reset = CEN_PQ_RESET_NOTHING);
        cen_lease lease = place_take(pool);
        expect(PQsendQuery(lease.object, "select pg_sleep(60)"));
        expect_equal(i % 2 ? cen_pool_give(&lease) : cen_pool_discard(&lease), CEN_OK);
        place_close(pool);
    }
    place_soon(place_connections() == 0);
}

/* Connections of this process to the server that are open on its side, as the kernel lists them. */
static int sockets_to(unsigned port)
{
    FILE *all = fopen("/proc/self/net/tcp", "r");
    char line[300];
    int count = 0;
    expect(all != NULL);
    while (fgets(line, sizeof line, all)) {
        unsigned to, state;
        count += sscanf(line, " %*[^:]: %*[^ ] %*[^:]:%x %x", &to, &state) == 2 && to == port && state == 1;
    }
    fclose(all);
    return count;
}

/* libpq waits for the answer to each of them for as long as it takes: nobody shall have a hundred threads on that account. */
BOTH(few_cancel_requests_are_under_way_to_a_silent_server_and_all_are_sent_in_the_end)
{
    enum { MANY = 12, FEW = 4 };
    struct hanger hangers[MANY];
    pthread_t threads[MANY];
    cen_pq_options options = CEN_PQ_OPTIONS(.cancel_timeout_ns = CEN_OFF);
    cen_pool *pool = place_pool(CEN_POOL_OPTIONS(.name = "pq", .driver = driver(later, options), .max = MANY));
    for (int i = 0; i < MANY; i++) hangers[i] = (struct hanger){.lease = place_take(pool)};
    for (int i = 0; i < MANY; i++) expect(pthread_create(&threads[i], NULL, hang, &hangers[i]) == 0);
    place_soon(atoi(place_admin("select count(*) from pg_stat_activity where query like '%%pg_sleep(40)' and state = "
                                "'active' and usename = 'tester'")) == MANY);
    server_pause(place_server());
    int before = sockets_to(server_port(place_server()));
    expect_equal(cen_pool_close(pool, cen_in_ms(50), NULL, NULL), CEN_TIMEOUT);
    place_soon(sockets_to(server_port(place_server())) >= before + FEW);
    place_pause_ms(200);
    expect_equal(sockets_to(server_port(place_server())), before + FEW);
    server_resume(place_server());
    for (int i = 0; i < MANY; i++) {
        pthread_join(threads[i], NULL);
        expect(hangers[i].failed);
        expect_equal(PQstatus(hangers[i].lease.object), CONNECTION_OK); /* it was cancelled and not cut off */
        expect_equal(cen_pool_give(&hangers[i].lease), CEN_REVOKED);
    }
    expect_equal(cen_pool_free(pool), CEN_OK);
    place_soon(place_connections() == 0);
}

TEST(a_leak_that_is_reclaimed_is_cut_off_and_its_memory_left_to_its_holder)
{
    cen_pool *pool = place_pool(CEN_POOL_OPTIONS(.name = "pq", .driver = cen_pq(place_good()), .max = 1,
                                                 .leak_after_ns = 100 * MS, .on_leak = CEN_LEAK_RECLAIM));
    expect_equal(cen_pool_listen(pool, tell, NULL, NULL), CEN_OK);
    cen_lease lost = place_take(pool), lease;
    cen_error error = {.text = ""};
    if (cen_pool_take(pool, cen_in_s(10), &lease, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
    expect(place_use(lease.object));
    expect(!place_use(lost.object)); /* which its holder may still try */
    expect_equal(cen_pool_give(&lost), CEN_REVOKED);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
    place_soon(place_connections() == 0);
}

TEST(a_connection_that_the_program_made_may_be_adopted)
{
    cen_pool *pool = place_pool(
        CEN_POOL_OPTIONS(.name = "pq", .driver = cen_pq(place_good()), .max = 1, .test_after_idle_ns = CEN_US(100)));
    PGconn *conn = PQconnectdb(place_good());
    expect_equal(cen_pool_adopt(pool, conn, NULL), CEN_OK);
    for (int i = 0; i < 3; i++) {
        cen_lease lease = place_take(pool);
        expect(lease.object == conn);
        expect(place_make_dirty(conn));
        expect_equal(cen_pool_give(&lease), CEN_OK);
        place_pause_ms(5);
    }
    cen_lease lease = place_take(pool);
    expect(place_is_clean(lease.object));
    expect_equal(cen_pool_give(&lease), CEN_OK);
    expect(place_stats(pool).reset == 3);
    place_close(pool);
    place_soon(place_connections() == 0);
}
