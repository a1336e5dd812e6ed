/* SPDX-License-Identifier: MIT */
/*
 * The futex on mutexes and condition variables, for systems without one.
 *
 *     table[256]     hash of the address
 *       bucket ----- mutex, list of sleepers in the order they came
 *                      sleeper: address, woken, its own condition variable
 *                      (on the sleeping thread's stack)
 *
 * The naive version has one condition variable per bucket and wakes it as a
 * whole: a wake of one sleeper must then wake everybody who hashes there, or
 * may reach only a stranger who goes back to sleep, and is lost. Here a wake
 * finds the sleepers of its own address and signals exactly those.
 *
 * Comparing and going to sleep are one step with respect to a wake because
 * both happen under the bucket's mutex. If the wake has it first, the store
 * that came before the wake is visible to the comparison; if the sleeper has
 * it first, the wake finds it in the list.
 *
 * A wake unlinks a sleeper and signals it before the mutex is released. The
 * sleeper cannot return, and its stack cannot go, before it has the mutex
 * back. A sleeper whose time ran out while a wake unlinked it says "woken":
 * the wake was counted and must not get lost.
 *
 * Fork: a child inherits mutexes that other threads of its parent held and
 * sleepers that do not exist in it. A handler makes the table new before the
 * child goes on.
 *
 * Locks: a bucket's mutex is the innermost lock; nothing is called with it
 * held. No order table: the mutex orders everything here.
 */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>

#include "base/atomic.h"
#include "base/fault.h"
#include "base/list.h"
#include "port/port.h"
#include "port/posix/cancel.h"
#include "port/posix/moment.h"

enum { BUCKETS = 256 };

typedef struct bucket {
    _Alignas(CENI_LINE) pthread_mutex_t mu;
    /* Under mu. */
    ceni_list sleepers; /* of struct sleeper; all zero until the first one comes */
} bucket;

typedef struct sleeper {
    const void *address; /* fixed while it is in the list */
    pthread_cond_t wake;
    /* Under the bucket's mu. */
    ceni_list link;
    bool woken; /* unlinked by a wake */
} sleeper;

static bucket table[BUCKETS] = {[0 ... BUCKETS - 1] = {.mu = PTHREAD_MUTEX_INITIALIZER}};

static bucket *bucket_of(const void *address)
{
    uint64_t spread = (uint64_t)(uintptr_t)address * 0x9E3779B97F4A7C15u;
    return &table[spread >> 56]; /* the top bits depend on all bits of the address */
}

static void make_table_new(void)
{
    for (int i = 0; i < BUCKETS; i++)
        table[i] = (bucket){.mu = PTHREAD_MUTEX_INITIALIZER};
}

/* As the library is loaded: later there may be a lock held already. */
__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, make_table_new);
}

static void init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* Joins the list and sleeps; the bucket's mutex is held on entry and return. */
static ceni_woken sleep_locked(bucket *bed, const void *address, int64_t moment)
{
    sleeper self = {.address = address};
    struct timespec until = ceni_moment_timespec(moment);
    init_condition(&self.wake);
    if (!bed->sleepers.next) ceni_list_init(&bed->sleepers);
    ceni_list_push_back(&bed->sleepers, &self.link);
    int failure = 0;
    while (!self.woken && failure != ETIMEDOUT) {
        if (moment == CENI_FOREVER) pthread_cond_wait(&self.wake, &bed->mu);
        else failure = pthread_cond_timedwait(&self.wake, &bed->mu, &until);
    }
    if (!self.woken) ceni_list_remove(&self.link);
    pthread_cond_destroy(&self.wake);
    return self.woken ? CENI_WOKEN : CENI_TIMED_OUT;
}

ceni_woken ceni_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t moment)
{
    if (ceni_fault(CENI_FAULT_WAIT)) return CENI_WOKEN;
    bucket *bed = bucket_of(word);
    ceni_woken result = CENI_WOKEN;
    int cancel = ceni_cancel_off();
    pthread_mutex_lock(&bed->mu);
    if (ceni_load_relaxed(word) == expected) /* ordered by the mutex; carries nothing */
        result = sleep_locked(bed, word, moment);
    pthread_mutex_unlock(&bed->mu);
    ceni_cancel_restore(cancel);
    return result;
}

static void wake_locked(sleeper *one)
{
    ceni_list_remove(&one->link);
    one->woken = true;
    pthread_cond_signal(&one->wake);
}

void ceni_futex_wake(_Atomic uint32_t *word, uint32_t count)
{
    bucket *bed = bucket_of(word);
    pthread_mutex_lock(&bed->mu);
    ceni_list *end = &bed->sleepers, *next;
    for (ceni_list *link = end->next; link && link != end && count; link = next) {
        sleeper *one = CENI_LIST_ENTRY(link, sleeper, link);
        next = link->next;
        if (one->address != (void *)word) continue;
        wake_locked(one);
        count--;
    }
    pthread_mutex_unlock(&bed->mu);
}
