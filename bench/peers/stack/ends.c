/* SPDX-License-Identifier: MIT */
/*
 * What one writes without a library: a stack of idle connections under a mutex and a condition variable. One that failed is
 * closed, and its place is filled by whoever needs it next and finds no other idle. Without a word there is no limit to anything;
 * as a careful programmer has it, the condition is waited for so long, connecting has its limit, and so has an answer.
 */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "../../rules/bench.h"
#include "../../rules/ends.h"
#include "../../rules/ends_pq.h"
#include "../../rules/ends_redis.h"

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t given;
    unsigned waiting, idle, missing;
    void **connections; /* the idle ones */
} pool = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static ends_plan plan;
static const char *address;

static void *connect_one(const char **why)
{
    return plan.redis ? (void *)ends_redis_connect(&plan, why) : ends_pq_connect(address, why);
}

static void close_one(void *connection)
{
    if (plan.redis) redisFree(connection);
    else PQfinish(connection);
}

static void begin(const ends_plan *wanted)
{
    pthread_condattr_t attributes;
    plan = *wanted;
    address = ends_pq_address(&plan);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&pool.given, &attributes);
    pool.connections = bench_zeroed(plan.connections, sizeof *pool.connections);
    pool.missing = plan.connections;
}

/* Under the mutex; false: there was none in time. The clock is read only by those who must wait. */
static bool wait_for_one(void)
{
    struct timespec until;
    int status = 0;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ENDS_WAIT_S;
    pool.waiting++;
    while (pool.idle + pool.missing == 0 && status == 0) {
        if (plan.mode == ENDS_ADVISED) status = pthread_cond_timedwait(&pool.given, &pool.mutex, &until);
        else pthread_cond_wait(&pool.given, &pool.mutex);
    }
    pool.waiting--;
    return pool.idle + pool.missing > 0;
}

/* An idle connection, or the place of one that is missing. */
static void put(void *connection)
{
    pthread_mutex_lock(&pool.mutex);
    if (connection) pool.connections[pool.idle++] = connection;
    else pool.missing++;
    bool signal = pool.waiting > 0;
    pthread_mutex_unlock(&pool.mutex);
    if (signal) pthread_cond_signal(&pool.given);
}

static const char *take(ends_lease *lease)
{
    const char *why = NULL;
    pthread_mutex_lock(&pool.mutex);
    if (pool.idle + pool.missing == 0 && !wait_for_one()) {
        pthread_mutex_unlock(&pool.mutex);
        return "no connection in time";
    }
    bool must_connect = pool.idle == 0;
    if (must_connect) pool.missing--;
    else lease->connection = pool.connections[--pool.idle];
    pthread_mutex_unlock(&pool.mutex);
    if (must_connect) lease->connection = connect_one(&why);
    if (must_connect && why) put(NULL);
    return why;
}

static const char *ask(ends_lease *lease, char answer[ENDS_ANSWER])
{
    if (plan.redis) return ends_redis_ask(lease->connection, answer);
    if (plan.mode != ENDS_ADVISED) return ends_pq_ask(lease->connection, answer);
    return ends_pq_ask_within(lease->connection, ENDS_ANSWER_S * INT64_C(1000000000), answer);
}

static void give(ends_lease *lease, bool failed)
{
    if (failed) close_one(lease->connection);
    put(failed ? NULL : lease->connection);
}

int main(int count, char **words)
{
    static const ends_contestant stack = {true, begin, take, ask, give};
    return ends_main(count, words, &stack);
}
