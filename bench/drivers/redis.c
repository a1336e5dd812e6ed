/* SPDX-License-Identifier: MIT */
/*
 * GET of one key, over and over, by threads that
 *   own      have a connection of their own
 *   pool     take one of cenote's pool for each question
 * redis-benchmark is the peer. BENCH_PASSWORD is what the server wants.
 */
#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

#include <cenote/cenote.h>
#include <cenote/redis.h>

#include "../rules/bench.h"
#include "queries.h"

static cen_pool *pool;
static const char *right = "value";

static bool judge(redisReply *reply)
{
    bool is_right = reply && reply->type == REDIS_REPLY_STRING && strcmp(reply->str, right) == 0;
    freeReplyObject(reply);
    return is_right;
}

static void expect_fine(redisContext *connection, redisReply *reply)
{
    if (!reply || reply->type == REDIS_REPLY_ERROR) bench_fail("%s", reply ? reply->str : connection->errstr);
    freeReplyObject(reply);
}

/* Of the address it needs the port, since the rest is known. */
static void *begin_own(const char *url)
{
    const char *colon = strrchr(url, ':');
    redisContext *connection = redisConnect("127.0.0.1", (int)strtol(colon + 1, NULL, 10));
    if (!connection || connection->err) bench_fail("%s", connection ? connection->errstr : "no memory");
    if (getenv("BENCH_PASSWORD"))
        expect_fine(connection, redisCommand(connection, "AUTH %s", getenv("BENCH_PASSWORD")));
    expect_fine(connection, redisCommand(connection, "SET key value"));
    return connection;
}

static bool ask_own(void *own)
{
    return judge(redisCommand(own, "GET key"));
}

static void end_own(void *own)
{
    redisFree(own);
}

static void set_up_pool(const char *url, unsigned connections)
{
    cen_error error;
    cen_pool_options options =
        CEN_POOL_OPTIONS(.name = "bench", .driver = cen_redis(url), .max = connections, .eager = true);
    end_own(begin_own(url)); /* the key is there */
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) bench_fail("%s", error.text);
}

static bool ask_pool(void *own)
{
    (void)own;
    cen_lease lease;
    cen_error error;
    if (cen_pool_take(pool, cen_in_s(30), &lease, &error) != CEN_OK) bench_fail("%s", error.text);
    bool is_right = judge(cen_redis_command(lease.object, "GET key"));
    return cen_pool_give(&lease) == CEN_OK && is_right;
}

static void tear_down_pool(void)
{
    if (cen_pool_close(pool, cen_in_s(10), NULL, NULL) != CEN_OK) bench_fail("the pool could not be closed");
    cen_pool_free(pool);
}

static const query_way ways[] = {
    {"own", NULL, begin_own, ask_own, end_own, NULL},
    {"pool", set_up_pool, NULL, ask_pool, NULL, tear_down_pool},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};

int main(int count, char **words)
{
    const char *broken = getenv("BENCH_BROKEN");
    if (broken && strcmp(broken, "answer") == 0) right = "another";
    return query_main(count, words, ways, NULL);
}
