/* SPDX-License-Identifier: MIT */
/*
 * cenote without a thread for each client: one thread with one epoll, whose clients ask the pool by cen_pool_take_async and the server
 * by libpq's and hiredis' functions that do not wait. The runtime, the poller and the inbox are driven by the same loop. The
 * statement is prepared once for each connection, as cen_pq_run has it for those who wait.
 */
#include <cenote/cenote.h>
#include <cenote/pq.h>
#include <cenote/redis.h>
#include <string.h>
#include <sys/epoll.h>

#include "../rules/bench.h"
#include "../rules/ends.h"

enum { DESCRIPTORS = 1024, AT_A_TIME = 64 };
#define MILLISECOND INT64_C(1000000)

typedef struct client {
    ends_client figures; /* first: the rules know this of it */
    cen_take_op take;
} client;

static cen_runtime *runtime;
static cen_poller *poller;
static cen_inbox *inbox;
static cen_pool *pool;
static bool redis;
static int epoll;
static client *user_of[DESCRIPTORS]; /* by descriptor of a connection to PostgreSQL: whose answer it brings */
static bool is_prepared[DESCRIPTORS];

static void watch(int fd)
{
    struct epoll_event readable = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &readable) != 0) bench_fail("epoll does not watch a descriptor");
}

static void end_turn(client *c, const char *answer)
{
    char copy[ENDS_ANSWER];
    snprintf(copy, sizeof copy, "%s", answer);
    cen_pool_give(&c->take.lease);
    ends_answered(&c->figures, copy);
}

/* ---- PostgreSQL ------------------------------------------------------------------------------------------------------------ */

static void pq_send(client *c, PGconn *connection)
{
    int fd = PQsocket(connection);
    if (fd < 0 || fd >= DESCRIPTORS) bench_fail("a descriptor is out of bounds");
    if (!user_of[fd]) watch(fd);
    user_of[fd] = c;
    int sent = is_prepared[fd] ? PQsendQueryPrepared(connection, "asks", 0, NULL, NULL, NULL, 0)
                               : PQsendPrepare(connection, "asks", "select 1", 0, NULL);
    if (!sent || PQflush(connection) != 0) bench_fail("%s", PQerrorMessage(connection));
}

/* The answer to a preparation is followed by the question, that to a question by its end. */
static void pq_read(int fd)
{
    client *c = user_of[fd];
    PGconn *connection = c->take.lease.object;
    char answer[ENDS_ANSWER] = "";
    if (!PQconsumeInput(connection)) bench_fail("%s", PQerrorMessage(connection));
    while (!PQisBusy(connection)) {
        PGresult *result = PQgetResult(connection);
        if (!result && !is_prepared[fd]) {
            is_prepared[fd] = true;
            pq_send(c, connection);
            return;
        }
        if (!result) {
            end_turn(c, answer);
            return;
        }
        ExecStatusType status = PQresultStatus(result);
        if (status == PGRES_TUPLES_OK) snprintf(answer, sizeof answer, "%s", PQgetvalue(result, 0, 0));
        else if (status != PGRES_COMMAND_OK) bench_fail("%s", PQerrorMessage(connection));
        PQclear(result);
    }
}

/* ---- Redis ----------------------------------------------------------------------------------------------------------------- */

static void redis_read(redisAsyncContext *connection, void *reply, void *argument)
{
    redisReply *answer = reply;
    if (!answer || answer->type != REDIS_REPLY_STRING) bench_fail("Redis: %s", connection->errstr);
    end_turn(argument, answer->str);
}

/* ---- The loop -------------------------------------------------------------------------------------------------------------- */

static void on_lease(cen_take_op *take)
{
    client *c = (client *)(void *)((char *)take - offsetof(client, take));
    if (take->future.status != CEN_OK) bench_fail("an ask ended with %s", cen_status_text(take->future.status));
    ends_had(&c->figures);
    void *connection = take->lease.object;
    if (!redis) pq_send(c, connection);
    else if (cen_redis_command_async(connection, redis_read, c, "GET cenote-bench") != REDIS_OK)
        bench_fail("Redis refuses");
}

static void ask(ends_client *figures)
{
    client *c = (client *)figures;
    cen_take_op_init(&c->take, on_lease, cen_inbox_executor(inbox));
    if (cen_pool_take_async(pool, (cen_deadline){0}, &c->take) != CEN_OK) bench_fail("the pool refuses");
}

static void turn(void)
{
    struct epoll_event events[AT_A_TIME];
    int64_t ns = cen_runtime_poll(runtime);
    cen_poller_poll(poller, CEN_NOW, NULL, NULL);
    while (cen_inbox_poll(inbox, 0) > 0 || !cen_inbox_arm(inbox)) continue;
    bool long_enough = ns < 0 || ns > 10 * MILLISECOND;
    int count = epoll_wait(epoll, events, AT_A_TIME, ns == 0 ? 0 : long_enough ? 10 : (int)(ns / MILLISECOND) + 1);
    for (int i = 0; i < count; i++)
        if (user_of[events[i].data.fd]) pq_read(events[i].data.fd);
}

static void begin(const ends_plan *plan)
{
    char address[300];
    cen_error error;
    cen_runtime_options by_hand = CEN_RUNTIME_OPTIONS(.manual = true);
    cen_poller_options polled = CEN_POLLER_OPTIONS(.manual = true);
    redis = plan->redis;
    if ((epoll = epoll_create1(EPOLL_CLOEXEC)) < 0 || cen_runtime_new(&by_hand, &runtime, &error) != CEN_OK ||
        cen_poller_new(&polled, &poller, &error) != CEN_OK || cen_inbox_new(NULL, &inbox, &error) != CEN_OK)
        bench_fail("a loop cannot be made");
    snprintf(address, sizeof address, redis ? "redis://:secret@%s:%u/0" : "postgresql://tester:secret@%s:%u/test",
             plan->host, plan->port);
    cen_pq_options pq = CEN_PQ_OPTIONS(.uri = address, .poller = poller);
    cen_redis_options server = CEN_REDIS_OPTIONS(.url = address, .poller = poller);
    cen_pool_options options = CEN_POOL_OPTIONS(.driver = redis ? cen_redis_with(&server) : cen_pq_with(&pq),
                                                .max = plan->connections, .runtime = runtime);
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) bench_fail("%s", error.text);
    watch(cen_runtime_fd(runtime));
    watch(cen_poller_fd(poller));
    watch(cen_inbox_fd(inbox));
}

int main(int count, char **words)
{
    static const ends_asker asks = {sizeof(client), begin, ask, turn};
    return ends_main_asking(count, words, &asks);
}
