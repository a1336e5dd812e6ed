/* SPDX-License-Identifier: MIT */
/*
 * Start and stop.
 *
 * The libmicrohttpd daemon has neither a listening socket nor a thread. Both are ours, so this room decides which
 * connections are accepted, how long they may take, and what a forked child may touch.
 *
 * Fork: the child does not have the thread, and libmicrohttpd's memory may be in any state. Stop in a child closes
 * descriptors, which are in constant or atomic fields, and leaves the rest alone.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cenote/events.h>

#include "inspect/internal.h"

static cen_status system_refused(cen_error *error, const char *what, int code)
{
    char why[128];
    return ceni_inspect_error(error, CEN_SYSTEM, code, "cen_inspect_start: %s: %s", what,
                              strerror_r(code, why, sizeof why));
}

static void release(cen_inspect *inspect)
{
    ceni_history_free(inspect->history);
    if (inspect->token) explicit_bzero(inspect->token, strlen(inspect->token));
    free(inspect->token);
    free(inspect->title);
    free(inspect);
}

/* Choose the address: the options', or a socket in the user's own directory. */
static cen_status decide_address(cen_inspect *inspect, const cen_inspect_options *options, cen_error *error)
{
    if (options->at) return ceni_inspect_address_read(options->at, options->anywhere, &inspect->at, error);
    char place[80], at[128];
    cen_status status = ceni_inspect_place(place, sizeof place, error);
    if (status != CEN_OK) return status;
    snprintf(at, sizeof at, "unix:%s/%ld.socket", place, (long)inspect->process);
    return ceni_inspect_address_read(at, false, &inspect->at, error);
}

/* Every user of this machine can connect to a TCP port, loopback included. The Unix socket admits its own user only. */
static cen_status check_control(const cen_inspect *inspect, cen_error *error)
{
    if (!inspect->control || inspect->token || inspect->at.is_local) return CEN_OK;
    return ceni_inspect_error(
        error, CEN_INVALID, 0,
        "cen_inspect_start: options.control over TCP needs options.token (any local user could pause and "
        "resize); set a token or use a Unix socket (options.at = NULL or \"unix:/path\")");
}

/* clang-format off */
static struct MHD_Daemon *start_daemon(cen_inspect *inspect)
{
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, ceni_inspect_answer, inspect,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)(inspect->clients + CENI_INSPECT_LOBBY),
        /* 1 s more than our own limit, which reports slow clients. */
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)((inspect->patience_ms + 1999) / 1000),
        /* 4 times the allowed size, so that a moderately large request gets our own error. */
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)4 * CENI_INSPECT_REQUEST_MOST,
        MHD_OPTION_NOTIFY_CONNECTION, ceni_inspect_connection, inspect,
        MHD_OPTION_URI_LOG_CALLBACK, ceni_inspect_asked, inspect,
        MHD_OPTION_NOTIFY_COMPLETED, ceni_inspect_answered, inspect,
        MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
        MHD_OPTION_END);
}
/* clang-format on */

/* Block all signals in the thread: they are the program's. SIGPIPE is ignored there, too. */
static int start_thread(cen_inspect *inspect)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&inspect->thread, NULL, ceni_inspect_serve, inspect);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code == 0) pthread_setname_np(inspect->thread, "cenote-inspect");
    return code;
}

static cen_status furnish(cen_inspect *inspect, cen_error *error)
{
    inspect->waker = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (inspect->waker < 0) return system_refused(error, "cannot create an eventfd", errno);
    inspect->daemon = start_daemon(inspect);
    if (!inspect->daemon) {
        int code = errno ? errno : ENOMEM;
        close(inspect->waker);
        return system_refused(error, "cannot start libmicrohttpd", code);
    }
    inspect->polled = MHD_get_daemon_info(inspect->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    int code = start_thread(inspect);
    if (code == 0) return CEN_OK;
    MHD_stop_daemon(inspect->daemon);
    close(inspect->waker);
    return system_refused(error, "cannot start the thread", code);
}

cen_status ceni_inspect_start(const cen_inspect_options *options, int64_t patience_ms, cen_inspect **out,
                              cen_error *error)
{
    cen_inspect_options known = CEN_SIZED(cen_inspect_options);
    if (!out) return ceni_inspect_error(error, CEN_INVALID, 0, "cen_inspect_start: out is NULL");
    cen_status status =
        options ? cen_sized_read(&known, sizeof known, options, "cen_inspect_start: options", error) : CEN_OK;
    if (status != CEN_OK) return status;
    cen_inspect *inspect = calloc(1, sizeof *inspect);
    if (!inspect) return ceni_inspect_error(error, CEN_NO_MEMORY, 0, "cen_inspect_start: out of memory");
    inspect->process = getpid();
    inspect->began_ns = ceni_inspect_began_ns();
    inspect->patience_ms = patience_ms;
    inspect->listener = -1;
    for (size_t i = 0; i < sizeof inspect->client / sizeof inspect->client[0]; i++)
        atomic_init(&inspect->client[i].socket, -1);
    inspect->history = ceni_history_new();
    if (!inspect->history)
        status = ceni_inspect_error(error, CEN_NO_MEMORY, 0, "cen_inspect_start: out of memory for the history");
    if (status == CEN_OK) status = ceni_inspect_settle(inspect, &known, error);
    if (status == CEN_OK) status = decide_address(inspect, &known, error);
    if (status == CEN_OK) status = check_control(inspect, error);
    if (status == CEN_OK) status = ceni_inspect_listen(inspect, error);
    if (status != CEN_OK) goto undo_memory;
    status = furnish(inspect, error);
    if (status != CEN_OK) goto undo_listener;
    /* Without its file the server cannot be found by pid, but its address still works. */
    cen_error lost;
    if (ceni_inspect_announce(inspect, &lost) != CEN_OK)
        cen_event_emit(CEN_LEVEL_WARNING, "inspect_unlisted", lost.text);
    *out = inspect;
    return CEN_OK;

undo_listener:
    ceni_inspect_unlink(inspect);
    close(inspect->listener);
undo_memory:
    release(inspect);
    return status;
}

cen_status cen_inspect_start(const cen_inspect_options *options, cen_inspect **out, cen_error *error)
{
    return ceni_inspect_start(options, CENI_INSPECT_PATIENCE_MS, out, error);
}

const char *cen_inspect_address(const cen_inspect *inspect)
{
    return inspect->address;
}

/* In a child: close the inherited descriptors, so that it keeps no port, client or file open. */
static void leave_to_parent(cen_inspect *inspect)
{
    for (size_t i = 0; i < sizeof inspect->client / sizeof inspect->client[0]; i++) {
        int socket = atomic_load(&inspect->client[i].socket);
        if (socket >= 0) close(socket);
    }
    close(inspect->listener);
    close(inspect->waker);
    close(inspect->polled);
}

void cen_inspect_stop(cen_inspect *inspect)
{
    if (!inspect) return;
    if (inspect->process != getpid()) {
        leave_to_parent(inspect);
        release(inspect);
        return;
    }
    ceni_inspect_withdraw(inspect);
    uint64_t one = 1;
    while (write(inspect->waker, &one, sizeof one) < 0 && errno == EINTR) continue;
    pthread_join(inspect->thread, NULL);
    ceni_inspect_unlink(inspect);
    shutdown(inspect->listener, SHUT_RDWR); /* a child may have a copy, on which no process would accept */
    close(inspect->listener);
    MHD_stop_daemon(inspect->daemon);
    close(inspect->waker);
    release(inspect);
}
