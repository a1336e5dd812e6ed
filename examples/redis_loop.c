/* SPDX-License-Identifier: MIT */
/*
 * One thread, one poll() loop, four Redis connections and a thousand requests, none of which blocks.
 *
 *     CENOTE_SERVER_URL=redis://:secret@127.0.0.1/0 redis_loop
 *
 *     1,000 takes ▶ [ wait queue of the pool ] ▶ 4 connections ▶ Redis
 *                                                    │ callbacks of hiredis
 *                                                    ▼
 *                            each sends three commands in a row, then gives: the next waiter is served
 *
 * The driver connects, tests and resets over the poller of a pollable. The poller also carries the requests' commands,
 * because a lent redisAsyncContext is attached to it already. So the loop has one descriptor only, the pollable's.
 * Halfway the server is made to cut all connections: their holders get an error, and take again.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cenote/cenote.h>
#include <cenote/redis.h>

enum { CONNECTIONS = 4, REQUESTS = 1000 };
#define MS INT64_C(1000000)
#define PATIENCE CEN_SECONDS(20)

typedef struct request {
    cen_take_op take; /* first member: a completed take is its request */
    int number, step;
} request;

static request requests[REQUESTS];
static int answered, lost, surprises;
static cen_pollable *pollable;
static cen_pool *pool;

static bool expect_that(bool holds, const char *what)
{
    if (!holds) surprises++;
    if (!holds) printf("  FAILED: %s\n", what);
    return holds;
}

/* ---- A request: three commands, one after the other --------------------------------------------------- */

static void on_reply(redisAsyncContext *redis, void *answer, void *argument);
static void ask_for_one(request *r);

static void next_question(redisAsyncContext *redis, request *r)
{
    int status;
    if (r->step == 0)
        status = cen_redis_command_async(redis, on_reply, r, "SET example:%d %d EX 60", r->number, 2 * r->number);
    else if (r->step == 1) status = cen_redis_command_async(redis, on_reply, r, "GET example:%d", r->number);
    else status = cen_redis_command_async(redis, on_reply, r, "DEL example:%d", r->number);
    if (status != REDIS_OK) on_reply(redis, NULL, r); /* it was lost before */
}

static void on_reply(redisAsyncContext *redis, void *answer, void *argument)
{
    request *r = argument;
    redisReply *reply = answer;
    if (!reply) { /* the connection is lost: the driver notices and closes it */
        lost++;
        cen_pool_give(&r->take.lease);
        ask_for_one(r);
        return;
    }
    expect_that(reply->type != REDIS_REPLY_ERROR, reply->str ? reply->str : "");
    if (r->step == 1)
        expect_that(reply->str && strtol(reply->str, NULL, 10) == 2 * r->number, "the reply belongs to the request");
    if (++r->step < 3) {
        next_question(redis, r);
        return;
    }
    answered++;
    cen_pool_give(&r->take.lease);
}

/* A take has its connection. */
static void on_ready(cen_take_op *take)
{
    request *r = (request *)take;
    if (!expect_that(take->future.status == CEN_OK, cen_status_text(take->future.status))) return;
    next_question(take->lease.object, r);
}

static void ask_for_one(request *r)
{
    r->step = 0;
    cen_take_op_init(&r->take, on_ready, cen_pollable_executor(pollable));
    expect_that(cen_pool_take_async(pool, cen_in_s(10), &r->take) == CEN_OK, "the pool accepts the take");
}

/* ---- The loop --------------------------------------------------------------------------------------- */

static void turn(void)
{
    struct pollfd one = {cen_pollable_fd(pollable), POLLIN, 0};
    poll(&one, 1, (int)(PATIENCE / MS)); /* deadlines wake it, too */
    expect_that(cen_pollable_run_ready(pollable, NULL, NULL) == CEN_OK, "the loop runs what is due");
}

static bool make_all(const char *url, cen_error *error)
{
    if (cen_pollable_new(NULL, &pollable, error) != CEN_OK) return false;
    cen_redis_options redis =
        CEN_REDIS_OPTIONS(.url = url, .name = "redis_loop", .poller = cen_pollable_poller(pollable));
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "loop", .driver = cen_redis_with(&redis),
                                                .runtime = cen_pollable_runtime(pollable), .max = CONNECTIONS);
    return cen_pool_new(&options, &pool, error) == CEN_OK;
}

/* The connection that sent the CLIENT KILL got its reply before it was cut, too. */
static void on_cut(redisAsyncContext *redis, void *answer, void *argument)
{
    cen_take_op *take = argument;
    (void)redis;
    (void)answer;
    cen_pool_discard(&take->lease);
}

static void cut(cen_take_op *take)
{
    if (take->future.status != CEN_OK) return;
    cen_redis_command_async(take->lease.object, on_cut, take, "CLIENT KILL TYPE normal SKIPME no");
}

static void close_all(void)
{
    cen_close_op closing;
    cen_close_op_init(&closing, NULL, NULL);
    expect_that(cen_pool_close_async(pool, cen_in_s(5), &closing) == CEN_OK, "the pool can be closed");
    for (int64_t begin = cen_clock(); !cen_future_is_done(&closing.future) && cen_clock() - begin < PATIENCE;) turn();
    expect_that(closing.future.status == CEN_OK, "all connections were given back");
    cen_pool_free(pool);
    cen_error error = {.text = ""};
    expect_that(cen_pollable_free(pollable, &error) == CEN_OK, error.text);
}

int main(void)
{
    cen_error error = {.text = ""};
    const char *url = getenv("CENOTE_SERVER_URL");
    if (!url) return puts("Set CENOTE_SERVER_URL to a Redis server: redis://user:password@host/database."), 0;
    if (!make_all(url, &error)) return puts(error.text), 1;
    int64_t begin = cen_clock();
    static cen_take_op cutter;
    for (int i = 0; i < REQUESTS; i++) {
        requests[i].number = i;
        ask_for_one(&requests[i]);
        if (i != REQUESTS / 2) continue;
        cen_take_op_init(&cutter, cut, cen_pollable_executor(pollable));
        cen_pool_take_async(pool, cen_in_s(10), &cutter);
    }
    while (answered < REQUESTS && cen_clock() - begin < PATIENCE) turn();

    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    cen_pool_stats_get(pool, &s);
    printf("%d requests of three commands over %d connections in %.0f ms; %d lost their connection; %" PRIu64
           " connections were opened.\n",
           answered, CONNECTIONS, (double)(cen_clock() - begin) / 1e6, lost, s.opened);
    expect_that(answered == REQUESTS, "every request succeeded");
    expect_that(lost >= 1 && s.opened > CONNECTIONS, "cut connections were replaced");
    close_all();
    puts(surprises ? "Some checks failed." : "Only the loop waited.");
    return surprises ? 1 : 0;
}
