/* SPDX-License-Identifier: MIT */
/*
 * The loops at the exit of the process.
 *
 * exit runs the atexit handlers in reverse order while all threads go on. In one of them OpenSSL, which curl
 * initialises, frees its tables, and a loop in the middle of a handshake would crash. Our handler is registered after
 * curl's initialisation, so it runs first. It makes each loop stop for good at a point outside curl. Requests get no
 * response after that.
 *
 *     exit:  exiting ▶ wakes all loops ▶ waits until no other loop is in curl, TIMEOUT_NS at most
 *     loop:  once around: exiting? ▶ counts itself out ▶ sleeps until the process is gone
 *
 * If the program closes the client later, in an exit handler of its own, the requests are ended on that thread.
 *
 * A loop that runs a function of the program, called inline by a future, is waited for in the same way.
 */
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "curl/http.h"

static const int64_t TIMEOUT_NS = INT64_C(2000000000);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
/* under the mutex */
static ceni_http_loop *loops; /* with running or starting threads that have not stopped */
static atomic_bool exiting;   /* written under the mutex */

static _Thread_local const ceni_http_loop *here; /* the loop of this thread, which may be the one that calls exit */

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
    clock_gettime(CLOCK_REALTIME, &until); /* the clock of a static condition */
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

/* A forked child has none of the threads. */
void ceni_http_exit_forget(void)
{
    pthread_mutex_init(&mutex, NULL);
    pthread_cond_init(&changed, NULL);
    loops = NULL;
    atomic_store(&exiting, false);
}
