/* SPDX-License-Identifier: MIT */
/*
 * The same work over a poller: a call begins in its start function, goes on whenever the poller tells of its socket, on the
 * poller's thread, and is done there.
 *
 * One thread at a time has a call: the one that begins it, then the poller's, each time that it tells. Between a watch and what it
 * tells nobody has it, and cancel may come on any thread: then it shuts the socket down, so that the poller tells at once, and
 * leaves the rest to that. The server's lock makes that sure:
 *     the call is in the list from its beginning until before it is done, so that cancel finds none that is gone;
 *     call->fd is the socket while it is watched or about to be, and -1 as soon as anybody is in a step: the client library
 *     may close one socket and open another within a step, and a number that it has closed is not ours to shut down;
 *     is_cancelled is looked at when call->fd is set, so that a cancel which came while somebody had the call is not missed. One
 *     that comes later, be it before the watch, finds the socket, and the poller tells of one that was shut down at once. So the
 *     watch itself needs no lock: the poller may call the program's allocator;
 *     a cancel that finds no call is remembered, since the pool may withdraw a ticket before its call has begun.
 *
 * What would block in the client library, looking up a name or shaking hands for TLS, is opened by a job instead, as by
 * a driver that blocks; it looks for cancel several times a second.
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
    int64_t since; /* the wait began */
    int wait;      /* what for */
    atomic_bool is_cancelled;
    /* under the server's lock */
    int fd;
    struct ceni_mariadb_call *next;
} ceni_mariadb_call;

/* ---- The list ------------------------------------------------------------------------------ */

/* Whether a cancel that found nothing came for that call: nobody can tell whether it came before its beginning or after its end,
 * so the last few are remembered. One that is forgotten runs to its own limit. */
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

/* ---- Going on --------------------------------------------------------------------------------- */

/* The server may be gone when the pool was told. */
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

/* What a cancel shuts down from now on; -1: nothing. False: the call was cancelled before. */
static bool set_socket(ceni_mariadb_call *call, int fd)
{
    pthread_mutex_lock(&call->server->lock);
    bool goes_on = !atomic_load(&call->is_cancelled);
    call->fd = goes_on ? fd : -1;
    pthread_mutex_unlock(&call->server->lock);
    return goes_on;
}

/* Lets the poller tell when it can go on: false if that cannot be, or is not wanted any more, and work.given_up says which. */
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
        status =
            cen_poller_watch(call->server->options.poller, &call->watch, fd, events ? events : CEN_READABLE, deadline);
    if (status == CEN_OK) return true; /* from here on it is the poller's */
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
        ceni_mariadb_work_on(&call->work, MYSQL_WAIT_TIMEOUT); /* to its end */
    }
    done(call);
}

static void ready(cen_watch *told, unsigned events)
{
    ceni_mariadb_call *call = told->argument;
    (void)set_socket(call, -1);
    ceni_mariadb_thread();
    int come = (events & CEN_READABLE ? MYSQL_WAIT_READ : 0) | (events & CEN_WRITABLE ? MYSQL_WAIT_WRITE : 0);
    /* hung up: whoever reads finds out */
    if (!come && events) come = call->wait & (MYSQL_WAIT_READ | MYSQL_WAIT_WRITE);
    bool is_cancelled = atomic_load(&call->is_cancelled);
    if (is_cancelled) call->work.given_up = CEN_INTERRUPTED;
    if (is_cancelled || cen_clock() >= call->work.due) call->work.is_hurried = true;
    go_on(call, call->work.is_hurried || !come ? MYSQL_WAIT_TIMEOUT : come);
}

/* ---- Beginning ------------------------------------------------------------------------------------ */

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
    cen_status status = ceni_mariadb_say(&error, server, CEN_NO_MEMORY, 0, "there is no memory for a call", NULL);
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

/* In a child of a fork the poller watches nothing, and the lock may be nobody's. */
static bool is_forked(const ceni_mariadb_server *server, cen_ticket ticket)
{
    if (server->process == getpid()) return false;
    cen_error error;
    cen_status status = ceni_mariadb_say(&error, server, CEN_FORKED, 0,
                                         "its poller belongs to the process that this one was forked from", NULL);
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
    if (!call) { /* without memory it blocks, for some bytes to the server, and at worst until the job has ended */
        ceni_mariadb_regain(object, NULL);
        ceni_mariadb_connection_free(object, true);
        cen_driver_done(ticket, CEN_OK, NULL, NULL);
        return;
    }
    ceni_mariadb_plan_close(&call->work, object);
    if (ceni_mariadb_regain(object, call)) ceni_mariadb_call_begin(call);
}
