/* SPDX-License-Identifier: MIT */
/*
 * One thread, one epoll loop, eight PostgreSQL connections and a thousand queries, none of which blocks.
 *
 *     CENOTE_SERVER_URL=postgresql://ann:secret@127.0.0.1/shop pq_epoll
 *
 *     1,000 takes ▶ [ wait queue of the pool ] ▶ 8 connections ▶ PostgreSQL
 *         ▲                │                          │ the sockets, in the same epoll
 *         └── pollable ◀───┘                          ▼
 *                                                results: give; the next waiter is served
 *
 * Besides the sockets the loop watches one descriptor, that of a pollable. The driver connects, tests and resets over
 * its poller, its runtime has the deadlines, and its executor completes the takes. The last check shows that there is
 * no other thread.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include <cenote/cenote.h>
#include <cenote/pq.h>

enum { CONNECTIONS = 8, REQUESTS = 1000, EVENTS = 32 };
#define MS INT64_C(1000000)
#define PATIENCE CEN_SECONDS(20)

typedef struct request {
    cen_take_op take; /* first member: a completed take is its request */
    int number;
} request;

static request requests[REQUESTS];
static int epoll, answered, failed, surprises, sessions[CONNECTIONS], session_count;
static cen_pollable *pollable;
static cen_pool *pool;

static bool expect_that(bool holds, const char *what)
{
    if (!holds) surprises++;
    if (!holds) printf("  FAILED: %s\n", what);
    return holds;
}

/* ---- One query ----------------------------------------------------------------------------------- */

/* Wait until the socket is readable, or also writable while libpq has unsent data. */
static void await(request *r, bool unsent)
{
    int fd = PQsocket(r->take.lease.object);
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT | (unsent ? EPOLLOUT : 0u), .data.ptr = r};
    if (epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event) == 0) return;
    expect_that(errno == ENOENT && epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0, "the socket can be watched");
}

static void fail(request *r, const char *what)
{
    failed++;
    expect_that(false, what);
    cen_pool_give(&r->take.lease); /* the driver finds out by itself whether it is broken */
}

static void note_session(int session)
{
    for (int i = 0; i < session_count; i++)
        if (sessions[i] == session) return;
    if (expect_that(session_count < CONNECTIONS, "no more than eight connections")) sessions[session_count++] = session;
}

/* A take has its connection: send the query. */
static void on_ready(cen_take_op *take)
{
    request *r = (request *)take;
    char number[20];
    const char *values[] = {number};
    if (take->future.status != CEN_OK) {
        failed++;
        expect_that(false, cen_status_text(take->future.status));
        return;
    }
    PGconn *conn = take->lease.object;
    note_session(PQbackendPID(conn));
    snprintf(number, sizeof number, "%d", r->number);
    if (!PQsendQueryParams(conn, "select $1::int * 2, pg_sleep(0.001)", 1, NULL, values, NULL, NULL, 0))
        return fail(r, PQerrorMessage(conn));
    await(r, PQflush(conn) > 0);
}

/* The socket is readable or writable. */
static void on_socket(request *r)
{
    PGconn *conn = r->take.lease.object;
    if (!PQconsumeInput(conn)) return fail(r, PQerrorMessage(conn));
    int unsent = PQflush(conn);
    while (!PQisBusy(conn)) {
        PGresult *result = PQgetResult(conn);
        if (!result) { /* all results are read: to the next waiter */
            answered++;
            cen_pool_give(&r->take.lease);
            return;
        }
        expect_that(PQresultStatus(result) == PGRES_TUPLES_OK && atoi(PQgetvalue(result, 0, 0)) == 2 * r->number,
                    "the result belongs to the request");
        PQclear(result);
    }
    await(r, unsent > 0);
}

/* ---- The loop --------------------------------------------------------------------------------------- */

static bool is_request(const void *pointer)
{
    return (const request *)pointer >= requests && (const request *)pointer < requests + REQUESTS;
}

static void turn(void)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait(epoll, events, EVENTS, (int)(PATIENCE / MS)); /* deadlines wake it, too */
    for (int i = 0; i < count; i++) {
        if (is_request(events[i].data.ptr)) on_socket(events[i].data.ptr);
        else expect_that(cen_pollable_run_ready(pollable, NULL, NULL) == CEN_OK, "the loop runs what is due");
    }
}

static bool make_all(const char *url, cen_error *error)
{
    epoll = epoll_create1(EPOLL_CLOEXEC);
    if (cen_pollable_new(NULL, &pollable, error) != CEN_OK) return false;
    cen_pq_options pq = CEN_PQ_OPTIONS(.uri = url, .poller = cen_pollable_poller(pollable));
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "loop", .driver = cen_pq_with(&pq),
                                                .runtime = cen_pollable_runtime(pollable), .max = CONNECTIONS);
    if (cen_pool_new(&options, &pool, error) != CEN_OK) return false;
    struct epoll_event readable = {.events = EPOLLIN, .data.ptr = pollable};
    return expect_that(epoll_ctl(epoll, EPOLL_CTL_ADD, cen_pollable_fd(pollable), &readable) == 0,
                       "the loop watches the pollable");
}

static int threads(void)
{
    char line[100];
    int count = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "Threads: %d", &count) == 1) break;
    if (status) fclose(status);
    return count;
}

int main(void)
{
    cen_error error = {.text = ""};
    const char *url = getenv("CENOTE_SERVER_URL");
    if (!url) return puts("Set CENOTE_SERVER_URL to a PostgreSQL server: postgresql://user:password@host/database."), 0;
    if (!make_all(url, &error)) return puts(error.text), 1;
    int64_t begin = cen_clock();
    for (int i = 0; i < REQUESTS; i++) {
        requests[i].number = i;
        cen_take_op_init(&requests[i].take, on_ready, cen_pollable_executor(pollable));
        expect_that(cen_pool_take_async(pool, cen_in_s(10), &requests[i].take) == CEN_OK, "the pool accepts the take");
    }
    while (answered + failed < REQUESTS && cen_clock() - begin < PATIENCE) turn();
    double ms = (double)(cen_clock() - begin) / 1e6;

    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    cen_pool_stats_get(pool, &s);
    int count = threads();
    printf("%d queries of a millisecond over %d connections in %.0f ms, by %d thread; %" PRIu64
           " connections were opened.\n",
           answered, session_count, ms, count, s.opened);
    expect_that(answered == REQUESTS && failed == 0, "every query succeeded");
    expect_that(s.opened <= CONNECTIONS && s.idle == s.opened, "all connections were given back");
    expect_that(count == 1, "there is no other thread");
    expect_that(cen_pool_close(pool, cen_in_s(5), NULL, &error) == CEN_OK, error.text);
    cen_pool_free(pool);
    expect_that(cen_pollable_free(pollable, &error) == CEN_OK, error.text);
    puts(surprises ? "Some checks failed." : "Only the loop waited.");
    return surprises ? 1 : 0;
}
