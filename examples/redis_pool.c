/* SPDX-License-Identifier: MIT */
/*
 * A pool of Redis connections: five lines of code, and then its features.
 *
 *     CENOTE_SERVER_URL=redis://:secret@127.0.0.1/0 redis_pool
 *
 *     the server's connection limit compared with the pool's, reported at the first connection
 *     four threads that count together, with a transaction that watches its key
 *     a forgotten MULTI, and unread replies
 *     a BLPOP that takes a minute, with a limit of 0.5 s on holding a connection
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cenote/cenote.h>
#include <cenote/redis.h>

enum { CONNECTIONS = 3, THREADS = 4, ROUNDS = 50 };
#define MS INT64_C(1000000)

static int surprises;

static bool expect_that(bool holds, const char *what)
{
    if (!holds) __atomic_add_fetch(&surprises, 1, __ATOMIC_RELAXED); /* carries nothing */
    if (!holds) printf("  FAILED: %s\n", what);
    return holds;
}

/* ---- Five lines ------------------------------------------------------------------------------------ */

static cen_pool *open_pool(const char *url)
{
    cen_pool *pool;
    cen_error error;
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "cache", .driver = cen_redis(url), .max = 10);
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) return puts(error.text), NULL;
    return pool;
}

/* ---- More options, for a service -------------------------------------------------------------------- */

static void say_capacity(void *argument, const cen_redis_capacity_report *report)
{
    (void)argument;
    printf("  %s\n", report->text);
}

static cen_pool *open_strict_pool(const char *url)
{
    cen_pool *pool;
    cen_error error;
    cen_redis_options redis = CEN_REDIS_OPTIONS(.url = url, .name = "example", .role = CEN_REDIS_PRIMARY,
                                                .on_capacity = say_capacity, .capacity_max = CONNECTIONS);
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "counts", .driver = cen_redis_with(&redis), .max = CONNECTIONS,
                                                .max_hold_ns = CEN_MS(500));
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) return puts(error.text), NULL;
    return pool;
}

/* Run a command with an integer reply. Returns -1 if there is none, -2 on failure. */
static long long number(redisContext *redis, const char *command)
{
    redisReply *reply = cen_redis_command(redis, command);
    if (!reply) return -2;
    long long answer = reply->type == REDIS_REPLY_INTEGER                    ? reply->integer
                       : reply->type == REDIS_REPLY_STRING                   ? strtoll(reply->str, NULL, 10)
                       : reply->type == REDIS_REPLY_ARRAY && reply->elements ? reply->element[0]->integer
                                                                             : -1;
    freeReplyObject(reply);
    return answer;
}

static void run(redisContext *redis, const char *command)
{
    redisReply *reply = cen_redis_command(redis, command);
    if (expect_that(reply && reply->type != REDIS_REPLY_ERROR, command) || reply) freeReplyObject(reply);
}

/* Add 1, unless another thread has changed the key meanwhile: then EXEC has no result, and the thread retries. */
static void *count(void *argument)
{
    cen_pool *pool = argument;
    for (int i = 0; i < ROUNDS; i++) {
        cen_error error;
        CEN_WITH (pool, cen_in_s(5), redisContext *, redis, &error) {
            long long now, then;
            do {
                char command[60];
                run(redis, "WATCH example:count");
                now = number(redis, "GET example:count");
                snprintf(command, sizeof command, "SET example:count %lld", (now < 0 ? 0 : now) + 1);
                run(redis, "MULTI");
                run(redis, command);
                then = number(redis, "EXEC");
            } while (then == -1);
        } else {
            expect_that(false, error.text);
        }
    }
    return NULL;
}

static void count_together(cen_pool *pool)
{
    pthread_t threads[THREADS];
    cen_lease lease;
    cen_error error = {.text = ""};
    if (!expect_that(cen_pool_take(pool, cen_in_s(5), &lease, &error) == CEN_OK, error.text)) return;
    run(lease.object, "DEL example:count");
    cen_pool_give(&lease);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, count, pool);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    cen_pool_take(pool, cen_in_s(5), &lease, &error);
    long long counted = number(lease.object, "GET example:count");
    printf("  %d threads counted to %lld\n", THREADS, counted);
    expect_that(counted == THREADS * ROUNDS, "every increment counts once");
    cen_pool_give(&lease);
}

/* ---- State left behind ---------------------------------------------------------------------------------- */

static void leave_things(cen_pool *pool)
{
    cen_error error;
    cen_pool_stats before = CEN_SIZED(cen_pool_stats), after = CEN_SIZED(cen_pool_stats);
    cen_pool_stats_get(pool, &before);
    CEN_WITH (pool, cen_in_s(5), redisContext *, redis, &error) {
        run(redis, "MULTI");
        run(redis, "SET example:count 0"); /* without EXEC */
    }
    CEN_WITH (pool, cen_in_s(5), redisContext *, redis, &error) {
        redisReply *reply = NULL;
        cen_redis_append(redis, "ECHO first");
        cen_redis_append(redis, "ECHO second");
        if (redisGetReply(redis, (void **)&reply) == REDIS_OK) freeReplyObject(reply); /* the second one stays unread */
    }
    cen_lease leases[CONNECTIONS]; /* all of them, so the resets are over */
    for (int i = 0; i < CONNECTIONS; i++) {
        if (!expect_that(cen_pool_take(pool, cen_in_s(5), &leases[i], &error) == CEN_OK, "a take gets a connection"))
            return;
        long long counted = number(leases[i].object, "GET example:count");
        expect_that(counted == THREADS * ROUNDS, "the reply is to this command, and outside a transaction");
    }
    for (int i = 0; i < CONNECTIONS; i++) cen_pool_give(&leases[i]);
    cen_pool_stats_get(pool, &after);
    printf("  a forgotten MULTI and an unread reply: %" PRIu64 " resets, %" PRIu64 " new connections\n",
           after.reset - before.reset, after.opened - before.opened);
    expect_that(after.reset - before.reset == 2, "both were reset");
}

static void hold_for_long(cen_pool *pool)
{
    cen_lease lease;
    cen_error error;
    if (!expect_that(cen_pool_take(pool, cen_in_s(5), &lease, &error) == CEN_OK, "a take gets a connection")) return;
    int64_t begin = cen_clock();
    redisReply *reply = cen_redis_command(lease.object, "BLPOP example:nothing 60");
    int64_t ms = (cen_clock() - begin) / MS;
    printf("  BLPOP ended after %" PRId64 " ms: %s\n", ms, reply ? "a reply" : "the lease was revoked");
    expect_that(!reply && ms < 5000, "it was interrupted");
    if (reply) freeReplyObject(reply);
    expect_that(cen_pool_give(&lease) == CEN_REVOKED, "the lease had ended");
}

int main(void)
{
    const char *url = getenv("CENOTE_SERVER_URL");
    if (!url) return puts("Set CENOTE_SERVER_URL to a Redis server: redis://user:password@host/database."), 0;
    cen_error error = {.text = ""};
    cen_pool *pool = open_pool(url);
    if (!pool) return 1;
    CEN_WITH (pool, cen_in_s(5), redisContext *, redis, &error) {
        run(redis, "SET example:hello world");
    } else {
        return puts(error.text), 1;
    }
    cen_pool_free(pool);

    pool = open_strict_pool(url);
    if (!pool) return 1;
    count_together(pool);
    leave_things(pool);
    hold_for_long(pool);
    expect_that(cen_pool_close(pool, cen_in_s(5), NULL, &error) == CEN_OK, error.text);
    cen_pool_free(pool);
    puts(surprises ? "Some checks failed." : "No holder found anything of the previous one.");
    return surprises ? 1 : 0;
}
