/* SPDX-License-Identifier: MIT */
/*
 * One thread, one epoll, eight connections to PostgreSQL, and a thousand requests that each want one for a `select 1`, and
 * ask again when they were answered.
 *   hand     a list of idle connections and a list of requests, by hand
 *   cenote   cen_pool_take_async, with a manual runtime and a manual poller
 *
 *     PROGRAM WAY URL REQUESTS CONNECTIONS SECONDS
 */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include <cenote/cenote.h>
#include <cenote/pq.h>

#include "../rules/bench.h"
#include "../rules/lengths.h"

enum { MOST = 10000, DESCRIPTORS = 1024, AT_A_TIME = 64 };

typedef struct request {
    cen_take_op take; /* first: what the pool tells is the request itself */
    struct request *next;
    PGconn *connection;
    int64_t asked_at;
} request;

static request requests[MOST];
static request *user_of[DESCRIPTORS]; /* by descriptor: whose answer it brings */
static bool is_watched[DESCRIPTORS];
static int epoll;
static bool over;
static uint64_t answered;
static unsigned in_flight; /* requests that were asked for and are not over */
static uint64_t lengths[LENGTHS];
static void (*wants_one)(request *r);
static void (*lets_go)(request *r);

/* ---- What both do with a connection --------------------------------------------------------- */

static void send_on(request *r, PGconn *connection)
{
    int fd = PQsocket(connection);
    if (fd < 0 || fd >= DESCRIPTORS) bench_fail("a descriptor is out of bounds");
    r->connection = connection;
    user_of[fd] = r;
    struct epoll_event readable = {.events = EPOLLIN, .data.fd = fd};
    if (!is_watched[fd] && epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &readable) != 0)
        bench_fail("epoll does not watch a connection");
    is_watched[fd] = true;
    if (!PQsendQuery(connection, "select 1") || PQflush(connection) != 0) bench_fail("%s", PQerrorMessage(connection));
}

static void ask(request *r)
{
    in_flight++;
    r->asked_at = bench_now();
    wants_one(r);
}

static void take_answer(int fd)
{
    request *r = user_of[fd];
    PGconn *connection = r->connection;
    if (!PQconsumeInput(connection)) bench_fail("%s", PQerrorMessage(connection));
    while (!PQisBusy(connection)) {
        PGresult *result = PQgetResult(connection);
        if (!result) {
            lengths[length_of(bench_now() - r->asked_at)]++;
            answered++;
            in_flight--;
            lets_go(r);
            if (!over) ask(r);
            return;
        }
        if (PQresultStatus(result) != PGRES_TUPLES_OK || strcmp(PQgetvalue(result, 0, 0), "1") != 0)
            bench_fail("an answer was wrong");
        PQclear(result);
    }
}

/* ---- By hand ------------------------------------------------------------------------------------ */

static PGconn *idle[DESCRIPTORS];
static unsigned idle_count, made;
static request *first, **last = &first;

static void wants_by_hand(request *r)
{
    if (idle_count > 0) {
        send_on(r, idle[--idle_count]);
        return;
    }
    r->next = NULL;
    *last = r;
    last = &r->next;
}

static void lets_go_by_hand(request *r)
{
    request *next = first;
    if (!next) {
        idle[idle_count++] = r->connection;
        return;
    }
    first = next->next;
    if (!first) last = &first;
    send_on(next, r->connection);
}

static void begin_by_hand(const char *url, unsigned connections)
{
    for (made = 0; made < connections; made++) {
        idle[made] = PQconnectdb(url);
        if (PQstatus(idle[made]) != CONNECTION_OK || PQsetnonblocking(idle[made], 1) != 0)
            bench_fail("%s", PQerrorMessage(idle[made]));
    }
    idle_count = made;
}

static void end_by_hand(void)
{
    while (idle_count > 0) PQfinish(idle[--idle_count]);
}

static int turn_by_hand(struct epoll_event *events)
{
    return epoll_wait(epoll, events, AT_A_TIME, 1000);
}

/* ---- By cenote ---------------------------------------------------------------------------------- */

static cen_runtime *runtime;
static cen_poller *poller;
static cen_inbox *inbox;
static cen_pool *pool;

static void on_ready(cen_take_op *take)
{
    if (take->future.status != CEN_OK) bench_fail("an ask ended with %s", cen_status_text(take->future.status));
    send_on((request *)take, take->lease.object);
}

static void wants_by_cenote(request *r)
{
    cen_take_op_init(&r->take, on_ready, cen_inbox_executor(inbox));
    if (cen_pool_take_async(pool, cen_in_s(60), &r->take) != CEN_OK) bench_fail("the pool refuses");
}

static void lets_go_by_cenote(request *r)
{
    cen_pool_give(&r->take.lease);
}

static void watch(int fd)
{
    struct epoll_event readable = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &readable) != 0) bench_fail("epoll does not watch a descriptor");
}

static void begin_by_cenote(const char *url, unsigned connections)
{
    cen_error error;
    cen_runtime_options by_hand = CEN_RUNTIME_OPTIONS(.manual = true);
    cen_poller_options polled = CEN_POLLER_OPTIONS(.manual = true);
    if (cen_runtime_new(&by_hand, &runtime, &error) != CEN_OK || cen_poller_new(&polled, &poller, &error) != CEN_OK ||
        cen_inbox_new(NULL, &inbox, &error) != CEN_OK)
        bench_fail("%s", error.text);
    cen_pq_options server = CEN_PQ_OPTIONS(.uri = url, .poller = poller);
    cen_pool_options options = CEN_POOL_OPTIONS(.driver = cen_pq_with(&server), .max = connections, .runtime = runtime);
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) bench_fail("%s", error.text);
    watch(cen_runtime_fd(runtime));
    watch(cen_poller_fd(poller));
    watch(cen_inbox_fd(inbox));
}

static int turn_by_cenote(struct epoll_event *events)
{
    int64_t ns = cen_runtime_poll(runtime);
    cen_poller_poll(poller, CEN_NOW, NULL, NULL);
    while (cen_inbox_poll(inbox, 0) > 0 || !cen_inbox_arm(inbox)) continue;
    int count = epoll_wait(epoll, events, AT_A_TIME,
                           ns == 0                              ? 0
                           : ns < 0 || ns > INT64_C(1000000000) ? 1000
                                                                : (int)(ns / 1000000) + 1);
    cen_inbox_poll(inbox, 0);
    return count;
}

static void end_by_cenote(void)
{
    cen_pool_free(pool);
    struct epoll_event events[AT_A_TIME];
    for (int i = 0; i < 100 && cen_poller_free(poller) != CEN_OK; i++) turn_by_cenote(events);
    cen_inbox_free(inbox);
    cen_runtime_free(runtime);
}

/* ---- Both ------------------------------------------------------------------------------------------ */

static int (*turn)(struct epoll_event *events);

static void run_until(int64_t moment, uint64_t enough)
{
    struct epoll_event events[AT_A_TIME];
    while (in_flight > 0 && bench_now() < moment && answered < enough) {
        int count = turn(events);
        for (int i = 0; i < count; i++) {
            int fd = events[i].data.fd;
            if (fd < DESCRIPTORS && user_of[fd] && is_watched[fd]) take_answer(fd);
        }
    }
}

static double percentile(double share)
{
    uint64_t seen = 0;
    for (unsigned i = 0; i < LENGTHS; i++)
        if ((double)(seen += lengths[i]) > (double)answered * share) return length_end(i);
    return 0;
}

int main(int count, char **words)
{
    if (count != 6) bench_fail("usage: %s hand|cenote URL REQUESTS CONNECTIONS SECONDS", words[0]);
    bool ours = strcmp(words[1], "cenote") == 0;
    unsigned wanted = (unsigned)bench_number(words[3], 1, MOST), connections = (unsigned)bench_number(words[4], 1, 100);
    int64_t length = (int64_t)(strtod(words[5], NULL) * 1e9);
    epoll = epoll_create1(EPOLL_CLOEXEC);
    wants_one = ours ? wants_by_cenote : wants_by_hand;
    lets_go = ours ? lets_go_by_cenote : lets_go_by_hand;
    turn = ours ? turn_by_cenote : turn_by_hand;
    (ours ? begin_by_cenote : begin_by_hand)(words[2], connections);
    for (unsigned i = 0; i < wanted; i++) ask(&requests[i]);
    run_until(INT64_MAX, 2 * wanted); /* connections and caches are there */
    uint64_t before = answered;
    memset(lengths, 0, sizeof lengths);
    int64_t begun = bench_now(), cpu = bench_cpu();
    run_until(begun + length, UINT64_MAX);
    int64_t took = bench_now() - begun;
    cpu = bench_cpu() - cpu;
    uint64_t asked = answered - before;
    answered = asked;
    printf("elapsed_ms=%.3f asked=%llu per_s=%.1f p50_ns=%.0f p99_ns=%.0f cpu_ns=%.1f\n", (double)took / 1e6,
           (unsigned long long)asked, (double)asked * 1e9 / (double)took, percentile(0.5), percentile(0.99),
           (double)cpu / (double)asked);
    over = true;
    run_until(INT64_MAX, UINT64_MAX);
    (ours ? end_by_cenote : end_by_hand)();
    return 0;
}
