/* SPDX-License-Identifier: MIT */
/* The driver: its tables of calls, and the calls that are the same in all of them. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "pq/internal.h"

static void close_connection(void *state, void *conn)
{
    (void)state;
    ceni_pq_finish(conn);
}

/* Check a connection thoroughly. An idle connection, in a pool without a role and without a reset at every give, passes
 * the short check below. PQtransactionStatus is ACTIVE also if results were not read, and UNKNOWN if libpq has found
 * the connection broken. */
static cen_condition look_closely(const ceni_pq_state *state, PGconn *conn, PGTransactionStatusType transaction)
{
    const ceni_pq_link *link = ceni_pq_book_find(conn);
    if (transaction == PQTRANS_UNKNOWN || (link && link->is_broken)) return CEN_BROKEN;
    if ((!link || link->reports_role) && !ceni_pq_role_fits(conn, state->options.role)) return CEN_BROKEN;
    bool is_clean = transaction == PQTRANS_IDLE && PQpipelineStatus(conn) == PQ_PIPELINE_OFF;
    if (!is_clean && state->options.reset == CEN_PQ_RESET_NOTHING) return CEN_BROKEN;
    if (state->options.reset == CEN_PQ_RESET_ALL || PQisnonblocking(conn) != state->is_nonblocking) return CEN_DIRTY;
    if (is_clean && state->options.reset == CEN_PQ_RESET_CHANGED && link && ceni_pq_session_is_changed(link))
        return CEN_DIRTY;
    return is_clean ? CEN_CLEAN : CEN_DIRTY;
}

/* Called at every give: only reads memory. */
static cen_condition check_connection(void *argument, void *conn)
{
    const ceni_pq_state *state = argument;
    PGTransactionStatusType transaction = PQtransactionStatus(conn);
    if (transaction == PQTRANS_IDLE && state->looks_briefly && state->condemned == 0 &&
        PQpipelineStatus(conn) == PQ_PIPELINE_OFF && PQisnonblocking(conn) == state->is_nonblocking)
        return CEN_CLEAN;
    return look_closely(state, conn, transaction);
}

static void interrupt_connection(void *argument, void *conn)
{
    const ceni_pq_state *state = argument;
    ceni_pq_link *link = ceni_pq_book_find(conn);
    if (link) ceni_pq_interrupt(link->stop, state->options.cancel_timeout_ns);
}

/* In a forked child: replace the parent's socket by /dev/null, so that libpq's closing message goes there. In the same
 * process the pool has given up a holder that may still use the connection: then the connection is shut down, and its
 * memory is left alone. */
static void abandon_connection(void *argument, void *conn)
{
    (void)argument;
    ceni_pq_link *link = ceni_pq_book_find(conn);
    if (!link) return;
    if (link->process == getpid()) {
        ceni_pq_cut(link->stop);
        return;
    }
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing < 0 || (PQsocket(conn) >= 0 && dup2(nothing, PQsocket(conn)) < 0))
        return; /* leave it open rather than send anything to the server */
    close(nothing);
    if (link->is_broken) link->state->condemned--;
    ceni_pq_book_remove(conn);
    ceni_pq_stop_abandon(link->stop);
    ceni_pq_statements_fini(&link->statements);
    free(link);
    PQfinish(conn);
}

/* The pid of the server's process; behind PgBouncer a number that PgBouncer invents. */
static uint64_t identify(void *unused, void *conn)
{
    (void)unused;
    int pid = PQbackendPID(conn);
    return pid > 0 ? (uint64_t)pid : 0;
}

#define SAME \
    .size = sizeof(cen_driver_calls), .close = close_connection, .interrupt = interrupt_connection, \
    .fini = ceni_pq_fini, .check = check_connection, .check_only_reads = true, .abandon = abandon_connection, \
    .system = "postgresql", .says_codes = true, .identify = identify, .identity_prefix = "pid "
#define BLOCKING \
    .blocks = true, .open = ceni_pq_open, .reset = ceni_pq_reset, .test = ceni_pq_test, .cancel_all = ceni_pq_cancel_all

static const cen_driver_calls uri_calls = {SAME, BLOCKING, .prepare = ceni_pq_prepare_uri};
static const cen_driver_calls blocking_calls = {SAME, BLOCKING, .prepare = ceni_pq_prepare_with};
/* There is no asynchronous close, because close never waits: link.c. */
static const cen_driver_calls later_calls = {SAME,
                                             .prepare = ceni_pq_prepare_with,
                                             .open_async = ceni_pq_open_async,
                                             .reset_async = ceni_pq_reset_async,
                                             .test_async = ceni_pq_test_async,
                                             .cancel = ceni_pq_cancel_call};

cen_driver cen_pq(const char *uri)
{
    return (cen_driver){&uri_calls, (void *)(uintptr_t)uri};
}

cen_driver cen_pq_with(const cen_pq_options *options)
{
    bool later =
        options && options->size >= offsetof(cen_pq_options, poller) + sizeof options->poller && options->poller;
    return (cen_driver){later ? &later_calls : &blocking_calls, (void *)(uintptr_t)options};
}
