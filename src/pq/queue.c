/* SPDX-License-Identifier: MIT */
/*
 * Limits of concurrent cancel requests.
 *
 * PQcancel has no timeout, and libpq does not reveal the session's secret, so no other code can send the request.
 * Against a server that does not respond each request occupies a thread for minutes. So there are at most AT_ONE_SERVER
 * requests per server address and AT_ONCE in the process. Others wait in a queue. A caller waits for them only until
 * its own deadline. Beyond WAITING_MOST requests are refused, and the connection is shut down at once.
 *
 *   Q1  Under the lock a stop is in `running`, in `waiting` or in neither. In one of them it has the job's reference.
 *   Q2  The thread that moves a stop to `running` posts its job, without the lock, and that job moves the next one when
 *       it ends. So a stop waits only while others run: those of its server, or AT_ONCE of any servers.
 *
 * fork: the lock is held across it. The jobs are the parent's, so the child begins with empty lists.
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

/* Move the first one that may run now to `running`. NULL: none. */
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
