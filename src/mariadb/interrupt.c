/* SPDX-License-Identifier: MIT */
/*
 * Making a holder's query fail, and letting go of a connection that somebody may still use.
 *
 * interrupt posts a job, which opens a second connection, lets the server end the query, KILL QUERY, and, if the holder does
 * not give the first one back soon after that, or if all this fails, shuts its socket down. It takes cancel_timeout_ns and
 * GRACE_MS at most, and ends at once when the connection is back.
 *
 * Why a KILL never ends anybody else's query. A revoked connection is never lent again: it is closed when its holder gives it
 * back. So the next user has another one, with another number: the server counts its sessions, and comes back to a number after
 * four thousand million others, if it is free then. Close waits until a job that has begun has ended, so that no KILL is said
 * for a session that has been closed for long; one that has not begun says none. Should the server itself have been started
 * anew meanwhile, and count from one again, or should the job have come to another server, then the session of that number
 * comes from another port than this connection's, which is looked at first.
 *
 * The job uses a descriptor of our own for the socket: the client library closes its own the moment that a call fails, and the
 * number may belong to somebody else then.
 */
#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "mariadb/internal.h"

enum { GRACE_MS = 500 }; /* in which a holder whose query was ended may give the connection back by itself */

static bool kill_query(ceni_mariadb_connection *victim)
{
    ceni_mariadb_work work;
    ceni_mariadb_connection *killer = ceni_mariadb_connection_new(victim->server, NULL);
    if (!killer) return false;
    ceni_mariadb_work_init(&work, killer, victim->server->options.cancel_timeout_ns, "the query could not be ended");
    work.victim = victim;
    ceni_mariadb_work_add(&work, CENI_MARIADB_CONNECT);
    ceni_mariadb_work_add(&work, CENI_MARIADB_FIND);
    ceni_mariadb_work_add(&work, CENI_MARIADB_KILL);
    work.status = ceni_mariadb_connection_password(killer, NULL);
    if (work.status == CEN_OK) ceni_mariadb_work_do(&work, &victim->stop->is_back);
    ceni_mariadb_connection_free(killer, true);
    return work.status == CEN_OK;
}

/* Waits until the holder has given it back: false if that takes too long. */
static bool comes_back(ceni_mariadb_stop *stop)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += GRACE_MS % 1000 * 1000000L;
    until.tv_sec += GRACE_MS / 1000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&stop->lock);
    int code = 0;
    while (!atomic_load(&stop->is_back) && code != ETIMEDOUT)
        code = pthread_cond_timedwait(&stop->changed, &stop->lock, &until);
    pthread_mutex_unlock(&stop->lock);
    return atomic_load(&stop->is_back);
}

/* The connection to be stopped; NULL if it was closed already. */
static ceni_mariadb_connection *begin(ceni_mariadb_stop *stop)
{
    pthread_mutex_lock(&stop->lock);
    ceni_mariadb_connection *victim = stop->victim;
    stop->state = CENI_MARIADB_RUNNING;
    pthread_mutex_unlock(&stop->lock);
    return victim;
}

static void end_query(cen_job *job)
{
    ceni_mariadb_stop *stop = (ceni_mariadb_stop *)((char *)job - offsetof(ceni_mariadb_stop, job));
    ceni_mariadb_server *server = stop->server;
    ceni_mariadb_connection *victim = begin(stop);
    if (victim) {
        bool is_over = kill_query(victim) && comes_back(stop);
        if (!is_over && !atomic_load(&stop->is_back)) shutdown(victim->own, SHUT_RDWR);
        pthread_mutex_lock(&stop->lock);
        struct ceni_mariadb_call *call = stop->close;
        stop->state = CENI_MARIADB_QUIET;
        pthread_cond_broadcast(&stop->changed);
        pthread_mutex_unlock(&stop->lock); /* whoever closes the connection may free all of it now */
        if (call) ceni_mariadb_call_begin(call);
    } else {
        ceni_mariadb_stop_free(stop);
    }
    ceni_mariadb_server_drop(server);
}

ceni_mariadb_stop *ceni_mariadb_stop_new(ceni_mariadb_connection *victim)
{
    pthread_condattr_t monotonic;
    ceni_mariadb_stop *stop = calloc(1, sizeof *stop);
    if (!stop) return NULL;
    *stop = (ceni_mariadb_stop){.job.run = end_query, .server = victim->server, .victim = victim};
    pthread_mutex_init(&stop->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&stop->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return stop;
}

void ceni_mariadb_stop_free(ceni_mariadb_stop *stop)
{
    if (!stop) return;
    pthread_cond_destroy(&stop->changed);
    pthread_mutex_destroy(&stop->lock);
    free(stop);
}

void ceni_mariadb_interrupt(void *server, void *object)
{
    ceni_mariadb_stop *stop = ((ceni_mariadb_connection *)object)->stop;
    pthread_mutex_lock(&stop->lock);
    bool is_first = stop->state == CENI_MARIADB_QUIET && !atomic_load(&stop->is_back);
    if (is_first) stop->state = CENI_MARIADB_POSTED;
    pthread_mutex_unlock(&stop->lock);
    if (!is_first) return;
    cen_executor *executor = cen_runtime_executor(NULL);
    ceni_mariadb_server_hold(server);
    executor->post(executor, &stop->job);
}

/* A job that has not begun is not waited for: it might need the very thread that would wait here. */
bool ceni_mariadb_regain(ceni_mariadb_connection *connection, struct ceni_mariadb_call *later)
{
    ceni_mariadb_stop *stop = connection->stop;
    pthread_mutex_lock(&stop->lock);
    atomic_store(&stop->is_back, true);
    pthread_cond_broadcast(&stop->changed);
    if (stop->state == CENI_MARIADB_POSTED) {
        connection->stop = NULL;
        stop->victim = NULL;
        pthread_mutex_unlock(&stop->lock); /* the job frees it */
        return true;
    }
    if (later && stop->state == CENI_MARIADB_RUNNING) stop->close = later;
    while (!later && stop->state == CENI_MARIADB_RUNNING) pthread_cond_wait(&stop->changed, &stop->lock);
    bool is_ours = stop->state == CENI_MARIADB_QUIET;
    pthread_mutex_unlock(&stop->lock);
    return is_ours;
}

/* ---- abandon ------------------------------------------------------------------------------- */

static bool is_same_file(int a, int b)
{
    struct stat of_a, of_b;
    return fstat(a, &of_a) == 0 && fstat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

/* In a child the descriptors are closed, which says nothing to the server as long as the parent has its own. The memory is
 * left: a thread of the parent's may have been changing it when it was copied. Without its socket the library finds that the
 * server has gone, should anybody use it, and writes to no number that belongs to somebody else by then.
 * In the same process a holder may still be using it: its socket is shut down, whereupon the server ends the session. All else
 * is left for the close that follows. */
void ceni_mariadb_abandon(void *server, void *object)
{
    ceni_mariadb_connection *connection = object;
    (void)server;
    if (connection->process != getpid()) {
        if (connection->theirs >= 0 && is_same_file(connection->theirs, connection->own)) close(connection->theirs);
        if (connection->own >= 0) close(connection->own);
        connection->theirs = connection->own = -1;
        connection->mysql.net.pvio = NULL;
        ceni_mariadb_connection_lose(connection);
    } else {
        shutdown(connection->own, SHUT_RDWR);
        pthread_mutex_lock(&connection->stop->lock);
        atomic_store(&connection->stop->is_back, true);
        pthread_cond_broadcast(&connection->stop->changed);
        pthread_mutex_unlock(&connection->stop->lock);
    }
}
