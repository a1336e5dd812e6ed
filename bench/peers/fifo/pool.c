/* SPDX-License-Identifier: MIT */
/*
 * The yardstick of waiting: strict first come, first served, and nothing else.
 * A give hands its object to whoever has waited longest and wakes that thread
 * alone; one who comes while others wait goes behind them. All under one small
 * lock; a waiter sleeps on a futex word of its own. It is no peer: strict order
 * makes it slow wherever objects are held for a short time.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../rules/lend.h"

typedef struct lend_object *pool_lease;

struct waiter {
    struct waiter *next;
    struct lend_object *object; /* written before `served` */
    uint32_t served;
};

static struct {
    pthread_mutex_t mutex;
    struct waiter *first, **last;
    unsigned idle;
    struct lend_object **objects;
} pool;

static void pool_make(const struct lend_plan *plan)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(&pool.mutex, &attributes);
    pool.last = &pool.first;
    pool.objects = bench_zeroed(plan->size, sizeof *pool.objects);
    for (pool.idle = 0; pool.idle < plan->size; pool.idle++) pool.objects[pool.idle] = &lend_objects[pool.idle];
}

static void pool_enter(struct lend_worker *worker)
{
    (void)worker;
}

static void sleep_until_served(struct waiter *me)
{
    struct timespec limit = {LEND_PATIENCE_S, 0};
    int64_t until = bench_now() + INT64_C(1000000000) * LEND_PATIENCE_S;
    while (__atomic_load_n(&me->served, __ATOMIC_ACQUIRE) == 0) {
        syscall(SYS_futex, &me->served, FUTEX_WAIT_PRIVATE, 0, &limit, NULL, 0);
        if (bench_now() > until) bench_fail("a take waited for %d s", LEND_PATIENCE_S);
    }
}

static inline struct lend_object *pool_take(pool_lease *lease)
{
    pthread_mutex_lock(&pool.mutex);
    if (pool.idle > 0) { /* then nobody waits */
        *lease = pool.objects[--pool.idle];
        pthread_mutex_unlock(&pool.mutex);
        return *lease;
    }
    struct waiter me = {0};
    *pool.last = &me;
    pool.last = &me.next;
    pthread_mutex_unlock(&pool.mutex);
    sleep_until_served(&me);
    return *lease = me.object;
}

static inline void pool_give(pool_lease *lease)
{
    pthread_mutex_lock(&pool.mutex);
    struct waiter *head = pool.first;
    if (head == NULL) {
        pool.objects[pool.idle++] = *lease;
    } else {
        pool.first = head->next;
        if (pool.first == NULL) pool.last = &pool.first;
    }
    pthread_mutex_unlock(&pool.mutex);
    if (head != NULL) {
        head->object = *lease;
        __atomic_store_n(&head->served, 1, __ATOMIC_RELEASE);
        /* It may have left, and its stack be used for something else: the wake only names an address. */
        syscall(SYS_futex, &head->served, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}

#include "../../rules/lend_loop.h"
