/* SPDX-License-Identifier: MIT */
/* The link: what belongs to a connection from its open to its close. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pq/internal.h"

cen_status ceni_pq_link_new(ceni_pq_state *state, PGconn *conn, ceni_pq_link **out, cen_error *error)
{
    ceni_pq_link *link = calloc(1, sizeof *link);
    if (!link) return ceni_pq_say(error, conn, CEN_NO_MEMORY, "", "out of memory", NULL);
    *link = (ceni_pq_link){.conn = conn, .state = state, .process = getpid()};
    errno = 0;
    link->stop = ceni_pq_stop_new(conn);
    int code = errno;
    if (link->stop && ceni_pq_statements_init(&link->statements, (uint32_t)state->options.statements) == CEN_OK &&
        ceni_pq_book_add(link) == CEN_OK) {
        link->reports_role = true;
        *out = link;
        return CEN_OK;
    }
    cen_status status = link->stop || !code ? CEN_NO_MEMORY : CEN_SYSTEM;
    ceni_pq_say(error, conn, status, "", status == CEN_SYSTEM ? "out of file descriptors" : "out of memory", NULL);
    if (link->stop) ceni_pq_stop_release(link->stop, false);
    ceni_pq_statements_fini(&link->statements);
    free(link);
    return status;
}

/* Close a connection without waiting. libpq sends a Terminate message of 5 bytes, and would wait until the socket takes
 * it, which is at once unless other output is pending. So a connection that is not idle is shut down before, and its
 * query is cancelled by a helper. */
void ceni_pq_finish(PGconn *conn)
{
    ceni_pq_link *link = ceni_pq_book_find(conn);
    if (!link) {
        PQfinish(conn);
        return;
    }
    PGTransactionStatusType state = PQtransactionStatus(conn);
    if (state == PQTRANS_UNKNOWN) ceni_pq_cut(link->stop);
    if (link->is_broken) link->state->condemned--;
    ceni_pq_book_remove(conn);
    ceni_pq_stop_release(link->stop, state == PQTRANS_ACTIVE);
    ceni_pq_statements_fini(&link->statements);
    free(link);
    PQfinish(conn);
}

static bool is_on(const char *value)
{
    return value && strcmp(value, "on") == 0;
}

bool ceni_pq_role_fits(PGconn *conn, cen_pq_role role)
{
    if (role == CEN_PQ_ANY) return true;
    const char *standby = PQparameterStatus(conn, "in_hot_standby");
    if (role == CEN_PQ_REPLICA) return !standby || is_on(standby);
    if (is_on(standby)) return false;
    return role == CEN_PQ_PRIMARY || !is_on(PQparameterStatus(conn, "default_transaction_read_only"));
}
