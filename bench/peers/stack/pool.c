/* SPDX-License-Identifier: MIT */
/*
 * What one writes without a library: a stack of idle objects under a mutex and
 * a condition variable. It signals after the mutex is free, and only if
 * somebody waits.
 */
#include <pthread.h>
#include <time.h>

#include "../../rules/lend.h"

typedef struct lend_object *pool_lease;

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t given;
    unsigned waiting, idle;
    struct lend_object **objects;
} pool = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void pool_make(const struct lend_plan *plan)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&pool.given, &attributes);
    pool.objects = bench_zeroed(plan->size, sizeof *pool.objects);
    for (pool.idle = 0; pool.idle < plan->size; pool.idle++) pool.objects[pool.idle] = &lend_objects[pool.idle];
}

static void pool_enter(struct lend_worker *worker)
{
    (void)worker;
}

/* The clock is read only by those who must wait. */
static __attribute__((noinline)) void wait_for_one(void)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += LEND_PATIENCE_S;
    pool.waiting++;
    while (pool.idle == 0)
        if (pthread_cond_timedwait(&pool.given, &pool.mutex, &until) != 0 && pool.idle == 0)
            bench_fail("a take waited for %d s", LEND_PATIENCE_S);
    pool.waiting--;
}

static inline struct lend_object *pool_take(pool_lease *lease)
{
    pthread_mutex_lock(&pool.mutex);
    if (pool.idle == 0) wait_for_one();
    *lease = pool.objects[--pool.idle];
    pthread_mutex_unlock(&pool.mutex);
    return *lease;
}

static inline void pool_give(pool_lease *lease)
{
    pthread_mutex_lock(&pool.mutex);
    pool.objects[pool.idle++] = *lease;
    bool signal = pool.waiting > 0;
    pthread_mutex_unlock(&pool.mutex);
    if (signal) pthread_cond_signal(&pool.given);
}

#include "../../rules/lend_loop.h"
