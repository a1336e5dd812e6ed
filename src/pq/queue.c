/* SPDX-License-Identifier: MIT */
/*
 * How many cancel requests are under way.
 *
 * PQcancel knows no time limit, and libpq does not tell the session's secret, so that nobody else can send the request.
 * Against a server that is silent each of them has a thread for minutes. So there are never more than AT_ONE_SERVER for one
 * server's address and AT_ONCE in the process. Others wait for their turn; whoever waits for them does so until its own
 * deadline and not longer. Beyond WAITING_MOST they are refused: then the connection is cut off at once.
 *
 *   Q1  A stop is in `running`, in `waiting` or in neither, under the lock; in one of them it has a reference, the job's.
 *   Q2  Whoever moves one to `running` posts its job, without the lock, and that job moves the next one when it ends. So
 *       one waits only as long as others are running: those of its server, or AT_ONCE of whatever server.
 *
 * fork: the lock is held across it. The jobs are the parent's: the child begins with empty lists.
 */
#include <stdlib.h>
#include <string.h>

#include "pq/internal.h"

enum { AT_ONE_SERVER = 4, AT_ONCE = 32, WAITING_MOST = 1024 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* under the lock */
static ceni_pq_stop *running, *waiting, **last = &waiting;
static uint32_t running_count, waiting_count;

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

static void after_fork_in_child(void)
{
    running = waiting = NULL;
    last = &waiting;
    running_count = waiting_count = 0;
    pthread_mutex_unlock(&lock);
}

static void hold_for_forks(void)
{
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

static bool has_room_locked(const ceni_pq_stop *stop)
{
    uint32_t same = 0;
    for (const ceni_pq_stop *other = running; other; other = other->next)
        same += other->peer_size == stop->peer_size && memcmp(&other->peer, &stop->peer, stop->peer_size) == 0;
    return same < AT_ONE_SERVER && running_count < AT_ONCE;
}

static void run_locked(ceni_pq_stop *stop)
{
    stop->next = running;
    running = stop;
    running_count++;
}

/* The first one that may run now, moved; NULL: none. */
static ceni_pq_stop *next_locked(void)
{
    ceni_pq_stop **link = &waiting;
    while (*link && !has_room_locked(*link)) link = &(*link)->next;
    ceni_pq_stop *stop = *link;
    if (!stop) return NULL;
    *link = stop->next;
    if (!*link) last = link;
    waiting_count--;
    run_locked(stop);
    return stop;
}

static void post(ceni_pq_stop *stop)
{
    cen_executor *helpers = cen_runtime_executor(NULL);
    helpers->post(helpers, &stop->job);
}

bool ceni_pq_queue_add(ceni_pq_stop *stop)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, hold_for_forks);
    pthread_mutex_lock(&lock);
    bool runs = has_room_locked(stop), is_refused = !runs && waiting_count >= WAITING_MOST;
    if (runs) {
        run_locked(stop);
    } else if (!is_refused) {
        stop->next = NULL;
        *last = stop;
        last = &stop->next;
        waiting_count++;
    }
    pthread_mutex_unlock(&lock);
    if (runs) post(stop);
    return !is_refused;
}

void ceni_pq_queue_ended(ceni_pq_stop *stop)
{
    pthread_mutex_lock(&lock);
    ceni_pq_stop **link = &running;
    while (*link != stop) link = &(*link)->next;
    *link = stop->next;
    running_count--;
    ceni_pq_stop *next = next_locked();
    pthread_mutex_unlock(&lock);
    if (next) post(next);
}
