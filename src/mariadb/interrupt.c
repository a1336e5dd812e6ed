/* SPDX-License-Identifier: MIT */
/*
 * Ending a holder's query, and giving up a connection that may still be in use.
 *
 * interrupt posts a job. The job opens a second connection and makes the server end the query by KILL QUERY. If the
 * holder does not give its connection back soon after that, or if any of this fails, the job shuts the socket down. It
 * takes at most cancel_timeout_ns and GRACE_MS, and ends at once when the connection is given back.
 *
 * Why a KILL never ends a query of another user: a revoked connection is never lent again. It is closed when its holder
 * gives it back, so the next user has another connection with another id. The server counts its sessions, and reuses an
 * id only after 4 billion others, if it is free then. Close waits for a job that has begun, so that no KILL is sent for
 * a session that was closed long ago; a job that has not begun sends none. If the server was restarted meanwhile and
 * counts from 1 again, or if the job has reached another server, the session with that id comes from another port than
 * this connection's. The port is checked first.
 *
 * The job uses our own descriptor of the socket: the client library closes its own when a call fails, and that number
 * may be reused then.
 */
#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "mariadb/internal.h"

enum { GRACE_MS = 500 }; /* how long the holder may take to give the connection back after its query was ended */

static bool kill_query(ceni_mariadb_connection *victim)
{
    ceni_mariadb_work work;
    ceni_mariadb_connection *killer = ceni_mariadb_connection_new(victim->server, NULL);
    if (!killer) return false;
    ceni_mariadb_work_init(&work, killer, victim->server->options.cancel_timeout_ns, "query cancel failed");
    work.victim = victim;
    ceni_mariadb_work_add(&work, CENI_MARIADB_CONNECT);
    ceni_mariadb_work_add(&work, CENI_MARIADB_FIND);
    ceni_mariadb_work_add(&work, CENI_MARIADB_KILL);
    work.status = ceni_mariadb_connection_password(killer, NULL);
    if (work.status == CEN_OK) ceni_mariadb_work_do(&work, &victim->stop->is_back);
    ceni_mariadb_connection_free(killer, true);
    return work.status == CEN_OK;
}

/* Wait until the holder has given the connection back. Returns false if that takes too long. */
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

/* Return the connection to be stopped; NULL if it was closed already. */
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
        pthread_mutex_unlock(&stop->lock); /* the thread that closes the connection may free everything now */
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
        pthread_mutex_unlock(&stop->lock); /* the job frees the stop */
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

/* In a child the descriptors are closed, which the server does not notice while the parent has its own. The memory is
 * left alone: a thread of the parent may have been changing it at the fork. Should the object be used, the library
 * finds that the connection is gone, and does not write to a descriptor number that may belong to another file by then.
 * In the same process a holder may still use the connection: its socket is shut down, and the server ends the session.
 * The close that follows does the rest. */
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
