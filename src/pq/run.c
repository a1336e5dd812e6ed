/* SPDX-License-Identifier: MIT */
/*
 * cen_pq_run: a statement by its text, prepared once for each connection.
 *
 * The server may have dropped a statement that we believe it has: DISCARD ALL and DEALLOCATE ALL, which are noticed
 * here if they are run by cen_pq_run, or by libpq's own functions, which are not; then its answer is 26000. And a
 * statement whose tables have changed is refused with 0A000 from the server's RevalidateCachedQuery. Both are prepared
 * and run once more, which is possible only if no transaction has been broken by the refusal. A refused statement has
 * done nothing, so it is never run twice.
 *
 * Statements are sent and their results collected here, and not by PQexec and its kin, which keep the last error: of a
 * connection that the server ended the first one says why, and the last one only that it is gone.
 */
#include <stdio.h>
#include <string.h>

#include "pq/internal.h"

enum { NAME_SIZE = 20 };

static const char *name_of(const ceni_pq_statement *statement, char name[NAME_SIZE])
{
    snprintf(name, NAME_SIZE, "cenote_%u", statement->number);
    return name;
}

static bool is_state(const PGresult *result, const char *sqlstate)
{
    const char *state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    return state && strncmp(state, sqlstate, strlen(sqlstate)) == 0;
}

static bool is_fine(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result); /* of NULL: a fatal error */
    return status != PGRES_FATAL_ERROR && status != PGRES_BAD_RESPONSE && status != PGRES_NONFATAL_ERROR;
}

/* The result of what was sent: the first error, or the last that is fine. NULL: it could not be sent. */
static PGresult *collect(PGconn *conn, int sent)
{
    PGresult *kept = NULL, *result;
    while (sent && (result = PQgetResult(conn))) {
        ExecStatusType status = PQresultStatus(result);
        if (kept && !is_fine(kept)) {
            PQclear(result);
        } else {
            PQclear(kept);
            kept = result;
        }
        if (status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH)
            break; /* the caller's to go on with */
    }
    return kept;
}

/* ---- One statement, prepared ------------------------------------------------------------------------ */

/* Here and in the server. */
static bool drop_statement(ceni_pq_link *link, ceni_pq_statement *statement)
{
    char name[NAME_SIZE], sql[NAME_SIZE + 20];
    snprintf(sql, sizeof sql, "deallocate %s", name_of(statement, name));
    ceni_pq_statements_remove(&link->statements, statement);
    PGresult *result = collect(link->conn, PQsendQuery(link->conn, sql));
    bool fine = is_fine(result) || is_state(result, "26000");
    PQclear(result);
    return fine;
}

/* NULL: *refusal says why, or there is no memory. */
static ceni_pq_statement *prepare(ceni_pq_link *link, const char *sql, int count, PGresult **refusal)
{
    ceni_pq_statement *victim = ceni_pq_statements_victim(&link->statements);
    if (victim && !drop_statement(link, victim)) return NULL;
    ceni_pq_statement *statement = ceni_pq_statements_add(&link->statements, sql);
    if (!statement) return NULL;
    char name[NAME_SIZE];
    PGresult *result = collect(link->conn, PQsendPrepare(link->conn, name_of(statement, name), sql, count, NULL));
    bool fine = is_fine(result);
    if (fine) PQclear(result);
    else *refusal = result;
    if (!fine) ceni_pq_statements_remove(&link->statements, statement);
    return fine ? statement : NULL;
}

/* The server does not have it any more as we know it: forgotten, so that it will be prepared anew. An error of the same kind from
 * within a function that the statement calls has a context; one about a statement of the program's own has another name. */
static bool forget_stale(ceni_pq_link *link, ceni_pq_statement *statement, const PGresult *result)
{
    char name[NAME_SIZE];
    const char *primary = result ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    const char *function = result ? PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION) : NULL;
    if (!primary || PQresultErrorField(result, PG_DIAG_CONTEXT)) return false;
    if (is_state(result, "26000") && strstr(primary, name_of(statement, name))) {
        ceni_pq_statements_clear(&link->statements); /* it is hardly the only one */
        return true;
    }
    if (!is_state(result, "0A000") || !function || strcmp(function, "RevalidateCachedQuery") != 0) return false;
    if (PQtransactionStatus(link->conn) == PQTRANS_IDLE) drop_statement(link, statement);
    /* the server keeps it, unused, to the end of the session */
    else ceni_pq_statements_remove(&link->statements, statement);
    return true;
}

static PGresult *run_prepared(ceni_pq_link *link, const char *sql, int count, const char *const *values, bool *changes)
{
    PGresult *result = NULL;
    ceni_pq_statement *statement = ceni_pq_statements_find(&link->statements, sql);
    bool is_old = statement != NULL;
    for (;;) {
        if (!statement) statement = prepare(link, sql, count, &result);
        if (!statement) return result;
        *changes = statement->changes_session;
        char name[NAME_SIZE];
        result = collect(link->conn,
                         PQsendQueryPrepared(link->conn, name_of(statement, name), count, values, NULL, NULL, 0));
        if (is_fine(result) || !forget_stale(link, statement, result)) return result;
        if (!is_old || PQtransactionStatus(link->conn) != PQTRANS_IDLE) return result;
        PQclear(result);
        result = NULL;
        statement = NULL;
        is_old = false;
    }
}

/* ---- What the result says about the connection --------------------------------------------------------- */

static void note(ceni_pq_link *link, PGresult *result, bool changes)
{
    if (is_fine(result)) {
        link->is_changed |= changes;
        const char *tag = PQcmdStatus(result);
        if (strcmp(tag, "DISCARD ALL") == 0 || strcmp(tag, "DEALLOCATE ALL") == 0)
            ceni_pq_statements_clear(&link->statements);
        return;
    }
    bool was_demoted = is_state(result, "25006") && link->state->options.role != CEN_PQ_REPLICA;
    bool is_lost = is_state(result, "57P0") || is_state(result, "08") || PQstatus(link->conn) != CONNECTION_OK;
    if (link->is_broken || !(was_demoted || is_lost)) return;
    link->is_broken = true;
    link->state->condemned++; /* so that check looks for it */
}

cen_status cen_pq_run(PGconn *conn, const char *sql, int count, const char *const *values, PGresult **out,
                      cen_error *error)
{
    if (!conn || !sql || !out || count < 0 || (count && !values)) {
        if (error)
            *error =
                (cen_error){.status = CEN_INVALID,
                            .text = "cen_pq_run was given no connection, no statement or no place for its result."};
        return CEN_INVALID;
    }
    if (PQpipelineStatus(conn) != PQ_PIPELINE_OFF)
        return ceni_pq_say(error, conn, CEN_MISUSE, "", "cen_pq_run waits, and the connection is in pipeline mode",
                           NULL);
    ceni_pq_link *link = ceni_pq_book_find(conn);
    bool is_plain = !link || link->statements.room == 0 ||
                    PQtransactionStatus(conn) == PQTRANS_INERROR; /* nothing can be prepared then */
    bool changes = is_plain && link && ceni_pq_changes_session(sql);
    PGresult *result = is_plain ? collect(conn, PQsendQueryParams(conn, sql, count, NULL, values, NULL, NULL, 0))
                                : run_prepared(link, sql, count, values, &changes);
    if (link) note(link, result, changes);
    if (is_fine(result)) {
        *out = result;
        return CEN_OK;
    }
    cen_status status = ceni_pq_say_result(error, conn, result, "it refused a statement");
    PQclear(result);
    return status;
}

uint32_t cen_pq_prepared(PGconn *conn)
{
    ceni_pq_link *link = conn ? ceni_pq_book_find(conn) : NULL;
    return link ? link->statements.count : 0;
}
