/* SPDX-License-Identifier: MIT */
/*
 * Ending a query of another thread: by a cancel request, which is a second connection to the server with the session's
 * number and a secret, and, if that does not help, by shutting the socket down.
 *
 * PQcancel waits for the server, for minutes if it does not respond. So it runs as a job of the process's own runtime,
 * and callers wait for it no longer than they want to. Only a few run at a time, see queue.c. A late request does no
 * harm, as shown below. What it needs is here, reference-counted, and may outlive the connection.
 *
 * A cancel request must never hit the query of another user. It cannot:
 *   S1  The server looks for the session with that number *and* that secret. When the connection is closed the session
 *       is gone, and a later one with the same number has another secret. So a request that is late by any time does no
 *       harm to other connections.
 *   S2  It could hit the next user of the same connection. But an interrupted connection is never lent again: the pool
 *       closes what it revoked as soon as it is given back.
 *   S3  A reset cancels a query that was left running, and then the connection is lent again. The reset goes on only
 *       when PQcancel has seen the server close the second connection, which the server does after it has sent the
 *       signal. The session handles that signal before it reads the next message, and drops it if no query runs then.
 *       So everything that is sent afterwards is safe. If PQcancel failed or took too long, the signal may still be to
 *       come: the reset fails, and the connection is closed (S1). A proxy between us and the server may respond
 *       earlier. Then the first statement of the reset may be hit: it is sent once more.
 *
 * The shutdown must not hit another file either. libpq closes its descriptor when it finds the connection broken, on
 * the holder's thread, and the number may be reused at once. So the stop has its own descriptor of the same socket,
 * which is closed under the lock and not used afterwards. That costs a second descriptor per connection.
 *
 * References: the connection's; the job's, from its place in the queue to its end; the timer's, from its start until it
 * has fired or was cancelled.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "pq/internal.h"

enum { NS = 1000000000, CANCEL_AGAIN_NS = 200000000 };

static bool init_waiting(ceni_pq_stop *stop)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes)) return false;
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    bool fine = pthread_cond_init(&stop->ended, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    if (fine && pthread_mutex_init(&stop->lock, NULL)) {
        pthread_cond_destroy(&stop->ended);
        fine = false;
    }
    return fine;
}

ceni_pq_stop *ceni_pq_stop_new(PGconn *conn)
{
    ceni_pq_stop *stop = calloc(1, sizeof *stop);
    if (!stop) return NULL;
    stop->refs = 1;
    stop->cancel = PQgetCancel(conn);
    stop->fd = stop->cancel ? fcntl(PQsocket(conn), F_DUPFD_CLOEXEC, 0) : -1;
    if (stop->fd >= 0 && init_waiting(stop)) {
        stop->peer_size = sizeof stop->peer;
        if (getpeername(stop->fd, (struct sockaddr *)&stop->peer, &stop->peer_size))
            stop->peer_size = 0; /* the socket is broken already; counted with others without a peer */
        return stop;
    }
    int code = errno;
    if (stop->fd >= 0) close(stop->fd);
    PQfreeCancel(stop->cancel);
    free(stop);
    errno = code;
    return NULL;
}

static void drop(ceni_pq_stop *stop, uint32_t count)
{
    pthread_mutex_lock(&stop->lock);
    stop->refs -= count;
    bool is_last = stop->refs == 0;
    pthread_mutex_unlock(&stop->lock);
    if (!is_last) return;
    pthread_mutex_destroy(&stop->lock);
    pthread_cond_destroy(&stop->ended);
    PQfreeCancel(stop->cancel);
    free(stop);
}

static void cut_locked(ceni_pq_stop *stop)
{
    if (stop->fd >= 0) shutdown(stop->fd, SHUT_RDWR);
}

void ceni_pq_cut(ceni_pq_stop *stop)
{
    pthread_mutex_lock(&stop->lock);
    cut_locked(stop);
    pthread_mutex_unlock(&stop->lock);
}

/* ---- The request ------------------------------------------------------------------------------ */

static void send_request(cen_job *job)
{
    ceni_pq_stop *stop = (ceni_pq_stop *)((char *)job - offsetof(ceni_pq_stop, job));
    char words[256];
    bool sent = PQcancel(stop->cancel, words, sizeof words) == 1;
    ceni_pq_queue_ended(stop); /* before the stop may be added again */
    pthread_mutex_lock(&stop->lock);
    stop->was_sent = sent;
    stop->is_running = false;
    void (*then)(void *argument, bool sent) = stop->then;
    void *argument = stop->argument;
    if (!sent && stop->is_interrupted) cut_locked(stop);
    pthread_cond_broadcast(&stop->ended);
    pthread_mutex_unlock(&stop->lock);
    if (then) then(argument, sent);
    drop(stop, 1);
}

/* Returns false if too many wait, and this one is not sent. */
static bool post_locked(ceni_pq_stop *stop, void (*then)(void *argument, bool sent), void *argument)
{
    stop->refs++;
    stop->is_running = true;
    stop->was_sent = false;
    stop->then = then;
    stop->argument = argument;
    stop->job.run = send_request;
    if (ceni_pq_queue_add(stop)) return true;
    stop->refs--; /* the connection's or the caller's reference is left */
    stop->is_running = false;
    if (stop->is_interrupted) cut_locked(stop);
    return false;
}

void ceni_pq_cancel(ceni_pq_stop *stop, void (*then)(void *argument, bool sent), void *argument)
{
    pthread_mutex_lock(&stop->lock);
    bool is_posted = !stop->is_running && post_locked(stop, then, argument);
    pthread_mutex_unlock(&stop->lock);
    if (!is_posted && then) then(argument, false);
}

bool ceni_pq_await_cancel(ceni_pq_stop *stop, int64_t deadline)
{
    struct timespec until = {deadline / NS, deadline % NS};
    pthread_mutex_lock(&stop->lock);
    while (stop->is_running) {
        int code = deadline == INT64_MAX ? pthread_cond_wait(&stop->ended, &stop->lock)
                                         : pthread_cond_timedwait(&stop->ended, &stop->lock, &until);
        if (code) break;
    }
    bool sent = !stop->is_running && stop->was_sent;
    pthread_mutex_unlock(&stop->lock);
    return sent;
}

/* ---- Interrupt ----------------------------------------------------------------------------------- */

/* The grace period is over. The holder's query was cancelled, but the holder has not given the connection back. Or a
 * query reached the server after the request that was to end it, so the request is sent again. */
static void time_is_over(cen_future *future)
{
    ceni_pq_stop *stop = future->user;
    ceni_pq_cancel(stop, NULL, NULL);
    ceni_pq_cut(stop);
    drop(stop, 1);
}

/* Returns true if the caller must set time_is_over on the timer's future, without the lock. */
static bool start_timer_locked(ceni_pq_stop *stop, int64_t ns)
{
    cen_timer_init(&stop->timer);
    stop->timer.future.user = stop;
    stop->has_timer = cen_timer_start(&stop->timer, NULL, cen_in_ns(ns), NULL) == CEN_OK;
    stop->refs += stop->has_timer;
    return stop->has_timer;
}

void ceni_pq_interrupt(ceni_pq_stop *stop, int64_t grace_ns)
{
    pthread_mutex_lock(&stop->lock);
    bool is_first = !stop->is_interrupted, has_timer = false;
    stop->is_interrupted = true;
    if (is_first && !stop->is_running) post_locked(stop, NULL, NULL);
    if (is_first && grace_ns != INT64_MAX) has_timer = start_timer_locked(stop, grace_ns);
    if (is_first && grace_ns != INT64_MAX && !has_timer) cut_locked(stop); /* no timer, no grace period */
    pthread_mutex_unlock(&stop->lock);
    if (has_timer) cen_future_then(&stop->timer.future, time_is_over, cen_inline());
}

/* ---- The end ----------------------------------------------------------------------------------------- */

void ceni_pq_stop_release(ceni_pq_stop *stop, bool is_working)
{
    pthread_mutex_lock(&stop->lock);
    bool had_timer = stop->has_timer, has_timer = false;
    if (is_working && !stop->is_running) post_locked(stop, NULL, NULL);
    if (is_working) cut_locked(stop);
    close(stop->fd);
    stop->fd = -1;
    if (is_working && !had_timer) has_timer = start_timer_locked(stop, CANCEL_AGAIN_NS);
    pthread_mutex_unlock(&stop->lock);
    if (has_timer) cen_future_then(&stop->timer.future, time_is_over, cen_inline());
    bool is_given_up = had_timer && !is_working && cen_future_cancel(&stop->timer.future);
    drop(stop, is_given_up ? 2 : 1); /* the timer's reference, too */
}

/* Without the lock: a thread of the parent may have held it at the fork. Memory that a job or a timer of the parent
 * uses is left alone. */
void ceni_pq_stop_abandon(ceni_pq_stop *stop)
{
    close(stop->fd);
    if (stop->refs > 1 || stop->has_timer || stop->is_running) return;
    PQfreeCancel(stop->cancel);
    free(stop);
}
