/* SPDX-License-Identifier: MIT */
/*
 * The loops at the end of the process.
 *
 * exit runs the handlers of atexit, last in, first out, while all threads go on. OpenSSL, which curl initialises, frees its tables
 * in one of them, and a loop that is in the middle of a handshake crashes. So our handler is registered after curl has
 * begun: it runs first, and each loop stops where it is outside curl, for good. What is asked is not answered any more.
 *
 *     exit:  exiting ▶ wakes all loops ▶ waits until none is in curl but its own, TIMEOUT_NS at most
 *     loop:  once around: exiting? ▶ counts itself out ▶ sleeps until the process is gone
 *
 * A program that closes the client in a handler of its own, later, ends the requests on that thread.
 *
 * A loop that runs a function of the program's, which a future told inline is, is awaited so long, too.
 */
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "curl/http.h"

static const int64_t TIMEOUT_NS = INT64_C(2000000000);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
/* under the mutex */
static ceni_http_loop *loops; /* whose threads run or are about to, and have not stopped */
static atomic_bool exiting;   /* written under the mutex */

static _Thread_local const ceni_http_loop *here; /* whose thread this is: it may be the one that calls exit */

void ceni_http_exit_enter(ceni_http_loop *loop)
{
    pthread_mutex_lock(&mutex);
    loop->next_running = loops;
    loops = loop;
    pthread_mutex_unlock(&mutex);
}

void ceni_http_exit_is_here(const ceni_http_loop *loop)
{
    here = loop;
}

void ceni_http_exit_leave(ceni_http_loop *loop)
{
    pthread_mutex_lock(&mutex);
    ceni_http_loop **link = &loops;
    while (*link && *link != loop) link = &(*link)->next_running;
    if (*link) *link = loop->next_running;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

void ceni_http_exit_look(ceni_http_loop *loop)
{
    if (!atomic_load(&exiting)) return;
    pthread_mutex_lock(&mutex);
    loop->has_stopped = true;
    pthread_mutex_unlock(&mutex);
    ceni_http_exit_leave(loop);
    for (;;) pause();
}

bool ceni_http_exit_has_stopped(const ceni_http_loop *loop)
{
    pthread_mutex_lock(&mutex);
    bool has_stopped = loop->has_stopped;
    pthread_mutex_unlock(&mutex);
    return has_stopped;
}

static unsigned others_locked(void)
{
    unsigned count = 0;
    for (const ceni_http_loop *loop = loops; loop; loop = loop->next_running) count += loop != here;
    return count;
}

static void at_exit(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until); /* of a condition that is made statically */
    until.tv_sec += TIMEOUT_NS / 1000000000;
    pthread_mutex_lock(&mutex);
    atomic_store(&exiting, true);
    for (const ceni_http_loop *loop = loops; loop; loop = loop->next_running) curl_multi_wakeup(loop->multi);
    while (others_locked() > 0 && pthread_cond_timedwait(&changed, &mutex, &until) != ETIMEDOUT) continue;
    pthread_mutex_unlock(&mutex);
}

bool ceni_http_exit_register(void)
{
    return atexit(at_exit) == 0;
}

/* The child of a fork has none of the threads. */
void ceni_http_exit_forget(void)
{
    pthread_mutex_init(&mutex, NULL);
    pthread_cond_init(&changed, NULL);
    loops = NULL;
    atomic_store(&exiting, false);
}
