/* SPDX-License-Identifier: MIT */
/*
 * The same work over a poller. A call begins in its start function, continues on the poller's thread whenever its
 * socket is ready, and ends there.
 *
 * One thread at a time has a call: first the one that begins it, then the poller's thread during each callback. Between
 * a watch and its callback no thread has it, and cancel may come on any thread. Cancel then shuts the socket down, so
 * that the poller calls back at once, and leaves the rest to that callback. The server's lock makes this safe:
 *     a call is in the list from its beginning until before it is done, so cancel never finds a call that is gone;
 *     call->fd is the socket while it is watched or about to be, and -1 while any thread executes a step: the client
 *     library may close one socket and open another within a step, and a closed number must not be shut down;
 *     is_cancelled is checked when call->fd is set, so that a cancel during a step is not missed. A later cancel, even
 *     before the watch, finds the socket, and the poller reports a socket that was shut down at once. So the watch
 *     itself needs no lock, and the poller may call the program's allocator;
 *     a cancel that finds no call is remembered, because the pool may withdraw a ticket before its call has begun.
 *
 * An open that would block in the client library, for a name lookup or a TLS handshake, runs as a job instead, as with
 * a blocking driver. The job checks for a cancel several times per second.
 */
#include <sys/socket.h>
#include <unistd.h>

#include "mariadb/internal.h"

typedef enum call_kind { OPEN, TEST, RESET, CLOSE } call_kind;

typedef struct ceni_mariadb_call {
    call_kind kind;
    cen_ticket ticket;
    ceni_mariadb_server *server;
    ceni_mariadb_work work;
    cen_watch watch;
    cen_job job;
    int64_t since; /* the start of the current wait */
    int wait;      /* what it waits for */
    atomic_bool is_cancelled;
    /* under the server's lock */
    int fd;
    struct ceni_mariadb_call *next;
} ceni_mariadb_call;

/* ---- The list ------------------------------------------------------------------------------ */

/* Return true if a cancel without a match came for this call. It cannot be told whether such a cancel came before the
 * beginning or after the end of its call, so the last few are remembered. A call whose number was dropped runs to its
 * own timeout. */
static bool was_cancelled_locked(const ceni_mariadb_server *server, uint64_t number)
{
    for (int i = 0; i < CENI_MARIADB_UNKNOWN; i++)
        if (server->unknown[i] == number) return true;
    return false;
}

static void enlist(ceni_mariadb_call *call)
{
    pthread_mutex_lock(&call->server->lock);
    call->next = call->server->calls;
    call->server->calls = call;
    if (was_cancelled_locked(call->server, call->ticket.number)) atomic_store(&call->is_cancelled, true);
    pthread_mutex_unlock(&call->server->lock);
}

static void strike(ceni_mariadb_call *call)
{
    pthread_mutex_lock(&call->server->lock);
    ceni_mariadb_call **link = &call->server->calls;
    while (*link != call) link = &(*link)->next;
    *link = call->next;
    pthread_mutex_unlock(&call->server->lock);
}

void ceni_mariadb_cancel(void *argument, cen_ticket ticket)
{
    ceni_mariadb_server *server = argument;
    if (server->process != getpid()) return;
    pthread_mutex_lock(&server->lock);
    ceni_mariadb_call *call = server->calls;
    while (call && call->ticket.number != ticket.number) call = call->next;
    if (call) {
        atomic_store(&call->is_cancelled, true);
        if (call->fd >= 0) shutdown(call->fd, SHUT_RDWR);
    } else {
        server->unknown[server->unknown_count++ % CENI_MARIADB_UNKNOWN] = ticket.number;
    }
    pthread_mutex_unlock(&server->lock);
}

/* ---- Steps ------------------------------------------------------------------------------------ */

/* The server may be gone once the pool was told. */
static void done(ceni_mariadb_call *call)
{
    void *object = NULL;
    cen_status status = call->work.status;
    strike(call);
    if (call->kind == OPEN) object = ceni_mariadb_opened(&call->work);
    if (call->kind == CLOSE) ceni_mariadb_connection_free(call->work.connection, false);
    cen_driver_done(call->ticket, call->kind == CLOSE ? CEN_OK : status, object, &call->work.error);
    free(call);
}

/* Set what a cancel shuts down from now on; -1: nothing. Returns false if the call was cancelled before. */
static bool set_socket(ceni_mariadb_call *call, int fd)
{
    pthread_mutex_lock(&call->server->lock);
    bool goes_on = !atomic_load(&call->is_cancelled);
    call->fd = goes_on ? fd : -1;
    pthread_mutex_unlock(&call->server->lock);
    return goes_on;
}

/* Watch the socket until the call can continue. Returns false, with work.given_up set, if that fails or the call was
 * cancelled. */
static bool watch(ceni_mariadb_call *call)
{
    MYSQL *mysql = &call->work.connection->mysql;
    unsigned events =
        (call->wait & MYSQL_WAIT_READ ? CEN_READABLE : 0u) | (call->wait & MYSQL_WAIT_WRITE ? CEN_WRITABLE : 0u);
    int64_t due = call->work.due;
    call->since = cen_clock();
    if (call->wait & MYSQL_WAIT_TIMEOUT) {
        int64_t theirs = call->since + (int64_t)mysql_get_timeout_value_ms(mysql) * 1000000;
        if (theirs < due) due = theirs;
    }
    cen_deadline deadline = due == INT64_MAX ? CEN_NEVER : cen_at(due);
    int fd = mysql_get_socket(mysql);
    cen_status status = CEN_INTERRUPTED;
    if (set_socket(call, fd))
        status = cen_poller_watch(call->server->options.poller, &call->watch, fd, events ? events : CEN_READABLE,
                                  deadline, NULL);
    if (status == CEN_OK) return true; /* from here on the poller has it */
    (void)set_socket(call, -1);
    call->work.given_up = status;
    return false;
}

static void go_on(ceni_mariadb_call *call, int events)
{
    call->wait = ceni_mariadb_work_on(&call->work, events);
    if (call->wait && watch(call)) return;
    if (call->wait) {
        call->work.is_hurried = true;
        ceni_mariadb_work_on(&call->work, MYSQL_WAIT_TIMEOUT); /* run it to its end */
    }
    done(call);
}

static void ready(cen_watch *told, unsigned events)
{
    ceni_mariadb_call *call = told->argument;
    (void)set_socket(call, -1);
    ceni_mariadb_thread();
    int come = (events & CEN_READABLE ? MYSQL_WAIT_READ : 0) | (events & CEN_WRITABLE ? MYSQL_WAIT_WRITE : 0);
    /* hung up: the next read or write reports it */
    if (!come && events) come = call->wait & (MYSQL_WAIT_READ | MYSQL_WAIT_WRITE);
    bool is_cancelled = atomic_load(&call->is_cancelled);
    if (is_cancelled) call->work.given_up = CEN_INTERRUPTED;
    if (is_cancelled || cen_clock() >= call->work.due) call->work.is_hurried = true;
    go_on(call, call->work.is_hurried || !come ? MYSQL_WAIT_TIMEOUT : come);
}

/* ---- Start ---------------------------------------------------------------------------------------- */

static ceni_mariadb_call *call_new(ceni_mariadb_server *server, call_kind kind, cen_ticket ticket)
{
    ceni_mariadb_call *call = calloc(1, sizeof *call);
    ceni_mariadb_thread();
    if (!call) return NULL;
    *call = (ceni_mariadb_call){.kind = kind, .ticket = ticket, .server = server, .fd = -1};
    call->watch.ready = ready;
    call->watch.argument = call;
    return call;
}

static void refuse(const ceni_mariadb_server *server, cen_ticket ticket)
{
    cen_error error;
    cen_status status = ceni_mariadb_say(&error, server, CEN_NO_MEMORY, 0, "out of memory", NULL);
    cen_driver_done(ticket, status, NULL, &error);
}

void ceni_mariadb_call_begin(ceni_mariadb_call *call)
{
    enlist(call);
    go_on(call, 0);
}

static void open_by_job(cen_job *job)
{
    ceni_mariadb_call *call = (ceni_mariadb_call *)((char *)job - offsetof(ceni_mariadb_call, job));
    ceni_mariadb_thread();
    ceni_mariadb_work_do(&call->work, &call->is_cancelled);
    done(call);
}

/* In a forked child the poller watches nothing, and the lock may be held by a thread that does not exist there. */
static bool is_forked(const ceni_mariadb_server *server, cen_ticket ticket)
{
    if (server->process == getpid()) return false;
    cen_error error;
    cen_status status =
        ceni_mariadb_say(&error, server, CEN_FORKED, 0, "the poller belongs to the parent process", NULL);
    cen_driver_done(ticket, status, NULL, &error);
    return true;
}

void ceni_mariadb_open_async(void *server, cen_ticket ticket)
{
    if (is_forked(server, ticket)) return;
    ceni_mariadb_call *call = call_new(server, OPEN, ticket);
    if (!call) return refuse(server, ticket);
    cen_error error = {.text = ""};
    ceni_mariadb_connection *connection = ceni_mariadb_connection_new(server, &error);
    cen_status status = connection ? ceni_mariadb_connection_password(connection, &error) : CEN_NO_MEMORY;
    if (status != CEN_OK) {
        if (connection) ceni_mariadb_connection_free(connection, true);
        free(call);
        cen_driver_done(ticket, status, NULL, &error);
        return;
    }
    ceni_mariadb_plan_open(&call->work, connection);
    if (!call->server->starts_with_a_job) {
        ceni_mariadb_call_begin(call);
        return;
    }
    enlist(call);
    call->job = (cen_job){.run = open_by_job};
    cen_executor *executor = cen_runtime_executor(NULL);
    executor->post(executor, &call->job);
}

void ceni_mariadb_test_async(void *server, void *object, cen_ticket ticket)
{
    ceni_mariadb_call *call = call_new(server, TEST, ticket);
    if (!call) return refuse(server, ticket);
    ceni_mariadb_plan_test(&call->work, object);
    ceni_mariadb_call_begin(call);
}

void ceni_mariadb_reset_async(void *server, void *object, cen_ticket ticket)
{
    ceni_mariadb_call *call = call_new(server, RESET, ticket);
    if (!call) return refuse(server, ticket);
    ceni_mariadb_plan_reset(&call->work, object);
    ceni_mariadb_call_begin(call);
}

void ceni_mariadb_close_async(void *server, void *object, cen_ticket ticket)
{
    ceni_mariadb_call *call = call_new(server, CLOSE, ticket);
    if (!call) { /* out of memory: block, for a few bytes to the server, and perhaps for the job's end */
        ceni_mariadb_regain(object, NULL);
        ceni_mariadb_connection_free(object, true);
        cen_driver_done(ticket, CEN_OK, NULL, NULL);
        return;
    }
    ceni_mariadb_plan_close(&call->work, object);
    if (ceni_mariadb_regain(object, call)) ceni_mariadb_call_begin(call);
}
