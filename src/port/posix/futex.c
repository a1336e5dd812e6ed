/* SPDX-License-Identifier: MIT */
/*
 * A futex made of mutexes and semaphores, for systems without one.
 *
 *     table[256]     hash of the address
 *       bucket ----- mutex, list of sleepers, FIFO
 *                      sleeper: address, woken, its own semaphore
 *                      (on the sleeping thread's stack)
 *
 * The naive version has one condition variable per bucket. A wake of one sleeper must then wake all sleepers of the
 * bucket. Otherwise it may reach a sleeper of another address, which goes back to sleep, and the wake is lost. Here a
 * wake finds the sleepers of its address and posts exactly those.
 *
 * Comparing and going to sleep are one step with respect to a wake, because the comparison and the entry in the list
 * happen under the bucket's mutex. If the wake takes the mutex first, the comparison sees the store that came before
 * the wake. If the sleeper takes it first, the wake finds the sleeper in the list, and the semaphore keeps the post
 * until the sleeper waits for it.
 *
 * A wake unlinks a sleeper and posts it before it releases the mutex. The sleeper takes the mutex before it returns,
 * so its stack frame stays valid until then. A sleeper whose time ran out while a wake unlinked it returns "woken":
 * the wake was counted and must not be lost.
 *
 * Signals: a wake may come from a signal handler (sync/stop.c). The mutex is held with all signals blocked, so a
 * handler never interrupts the thread that holds it, and at most waits for another thread. Sleepers wait for a
 * semaphore and not for a condition variable, because only a semaphore's post is async-signal-safe.
 *
 * Fork: a child inherits mutexes that were held by other threads of its parent, and sleepers that do not exist in the
 * child. An atfork handler resets the table before the child goes on.
 *
 * Locks: a bucket's mutex is the innermost lock; nothing is called with it held. No order table: the mutex orders
 * everything here.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>

#include "base/atomic.h"
#include "base/fault.h"
#include "base/list.h"
#include "port/port.h"
#include "port/posix/cancel.h"
#include "port/posix/moment.h"

enum { BUCKETS = 256 };

typedef struct bucket {
    _Alignas(CENI_CACHE_LINE) pthread_mutex_t mu;
    /* Under mu. */
    ceni_list sleepers; /* of struct sleeper; all zero until the first sleeper */
} bucket;

typedef struct sleeper {
    const void *address; /* fixed while the sleeper is in the list */
    sem_t wake;
    /* Under the bucket's mu. */
    ceni_list link;
    bool woken; /* unlinked by a wake */
    /* The sleeping thread only. */
    int64_t moment;
    bool late;
    int cancel;            /* the cancel state during the sleep */
    void (*leave)(void *); /* NULL: the wait is no cancellation point */
    void *argument;
} sleeper;

static bucket table[BUCKETS] = {[0 ... BUCKETS - 1] = {.mu = PTHREAD_MUTEX_INITIALIZER}};

static bucket *bucket_of(const void *address)
{
    uint64_t spread = (uint64_t)(uintptr_t)address * 0x9E3779B97F4A7C15u;
    return &table[spread >> 56]; /* the top bits depend on all bits of the address */
}

static void make_table_new(void)
{
    for (int i = 0; i < BUCKETS; i++) table[i] = (bucket){.mu = PTHREAD_MUTEX_INITIALIZER};
}

/* When the library is loaded: later a lock may already be held. */
__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, make_table_new);
}

static void lock_bucket(bucket *bed, sigset_t *signals)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, signals);
    pthread_mutex_lock(&bed->mu);
}

static void unlock_bucket(bucket *bed, const sigset_t *signals)
{
    pthread_mutex_unlock(&bed->mu);
    pthread_sigmask(SIG_SETMASK, signals, NULL);
}

/* Join the list if the word has the expected value. */
static bool join_bucket(bucket *bed, sleeper *self, _Atomic uint32_t *word, uint32_t expected)
{
    sigset_t signals;
    lock_bucket(bed, &signals);
    bool joins = ceni_load_relaxed(word) == expected; /* ordered by the mutex; carries nothing */
    if (joins && !bed->sleepers.next) ceni_list_init(&bed->sleepers);
    if (joins) ceni_list_push_back(&bed->sleepers, &self->link);
    unlock_bucket(bed, &signals);
    return joins;
}

/* Leave the list unless a wake has unlinked the sleeper. Returns true if one has. */
static bool leave_bucket(bucket *bed, sleeper *self)
{
    sigset_t signals;
    lock_bucket(bed, &signals);
    if (!self->woken) ceni_list_remove(&self->link);
    bool woken = self->woken;
    unlock_bucket(bed, &signals);
    return woken;
}

/* Returns true if the moment passed. A handled signal ends the sleep, too. */
static bool sleep_until(sleeper *self, int64_t moment)
{
    struct timespec until = ceni_moment_timespec(moment);
    if (moment == CENI_FOREVER) {
        sem_wait(&self->wake);
        return false;
    }
    return sem_clockwait(&self->wake, CLOCK_MONOTONIC, &until) != 0 && errno == ETIMEDOUT;
}

/* ---- As a cancellation point: sem_wait is one ---------------------------------- */

static void sleep_guarded(void *argument)
{
    sleeper *self = argument;
    ceni_cancel_restore(self->cancel);
    self->late = sleep_until(self, self->moment);
    ceni_cancel_off();
}

/* The thread was cancelled while it slept, and ends. */
static void leave_cancelled(void *argument)
{
    sleeper *self = argument;
    leave_bucket(bucket_of(self->address), self);
    sem_destroy(&self->wake);
    self->leave(self->argument);
}

static void sleep_cancellably(sleeper *self, int cancel)
{
    self->cancel = cancel;
    ceni_thread_run_guarded(sleep_guarded, leave_cancelled, self);
}

static ceni_woken wait_on(_Atomic uint32_t *word, uint32_t expected, int64_t moment, sleeper *self)
{
    if (ceni_fault(CENI_FAULT_WAIT)) return CENI_WOKEN;
    bucket *bed = bucket_of(word);
    int cancel = ceni_cancel_off();
    sem_init(&self->wake, 0, 0);
    bool late = false;
    if (join_bucket(bed, self, word, expected)) {
        if (self->leave) sleep_cancellably(self, cancel);
        else self->late = sleep_until(self, moment);
        late = !leave_bucket(bed, self) && self->late;
    }
    sem_destroy(&self->wake);
    ceni_cancel_restore(cancel);
    return late ? CENI_TIMED_OUT : CENI_WOKEN;
}

ceni_woken ceni_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t moment)
{
    sleeper self = {.address = word, .moment = moment};
    return wait_on(word, expected, moment, &self);
}

ceni_woken ceni_futex_wait_cancellable(_Atomic uint32_t *word, uint32_t expected, int64_t moment, void (*leave)(void *),
                                       void *argument)
{
    sleeper self = {.address = word, .moment = moment, .leave = leave, .argument = argument};
    return wait_on(word, expected, moment, &self);
}

static void wake_locked(sleeper *one)
{
    ceni_list_remove(&one->link);
    one->woken = true;
    sem_post(&one->wake);
}

void ceni_futex_wake(_Atomic uint32_t *word, uint32_t count)
{
    bucket *bed = bucket_of(word);
    sigset_t signals;
    lock_bucket(bed, &signals);
    ceni_list *end = &bed->sleepers, *next;
    for (ceni_list *link = end->next; link && link != end && count; link = next) {
        sleeper *one = CENI_LIST_ENTRY(link, sleeper, link);
        next = link->next;
        if (one->address != (void *)word) continue;
        wake_locked(one);
        count--;
    }
    unlock_bucket(bed, &signals);
}
