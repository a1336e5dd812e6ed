/* SPDX-License-Identifier: MIT */
/*
 * cen_pq_run: a statement by its text, prepared once per connection.
 *
 * The server may have dropped a statement that this cache still has, by DISCARD ALL or DEALLOCATE ALL. These are
 * noticed here if cen_pq_run runs them, but not if libpq's own functions do; then the server reports 26000. A statement
 * whose tables have changed fails with 0A000 from the server's RevalidateCachedQuery. In both cases it is prepared and
 * run once more, if the failure has not broken a transaction. The failed statement has done nothing, so nothing is ever
 * executed twice.
 *
 * Statements are sent and their results collected here, not by PQexec and its kin, because those return the last error.
 * If the server ended the connection, the first error says why, and the last one only that it is gone.
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
    ExecStatusType status = PQresultStatus(result); /* NULL counts as a fatal error */
    return status != PGRES_FATAL_ERROR && status != PGRES_BAD_RESPONSE && status != PGRES_NONFATAL_ERROR;
}

/* Return the first error among the results, or the last good one. NULL: the statement could not be sent. */
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
            break; /* the caller continues the COPY */
    }
    return kept;
}

/* ---- One prepared statement ------------------------------------------------------------------------- */

/* Drop a statement here and on the server. */
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

/* NULL: *refusal has the server's error, or memory is lacking. */
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

/* Forget a statement that the server has dropped or invalidated, so that it is prepared again. The same error from
 * within a function that the statement calls has a context, and one about a statement of the program's own has another
 * name. */
static bool forget_stale(ceni_pq_link *link, ceni_pq_statement *statement, const PGresult *result)
{
    char name[NAME_SIZE];
    const char *primary = result ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    const char *function = result ? PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION) : NULL;
    if (!primary || PQresultErrorField(result, PG_DIAG_CONTEXT)) return false;
    if (is_state(result, "26000") && strstr(primary, name_of(statement, name))) {
        ceni_pq_statements_clear(&link->statements); /* others are probably gone, too */
        return true;
    }
    if (!is_state(result, "0A000") || !function || strcmp(function, "RevalidateCachedQuery") != 0) return false;
    if (PQtransactionStatus(link->conn) == PQTRANS_IDLE) drop_statement(link, statement);
    /* the server keeps it, unused, until the end of the session */
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

/* ---- Consequences for the connection ------------------------------------------------------------------- */

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
    link->state->condemned++; /* so that check looks for broken links */
}

cen_status cen_pq_run(PGconn *conn, const char *sql, int count, const char *const *values, PGresult **out,
                      cen_error *error)
{
    if (!conn || !sql || !out || count < 0 || (count && !values)) {
        if (error)
            *error = (cen_error){.status = CEN_INVALID,
                                 .text = "cen_pq_run: conn, sql, out and, with count > 0, values must not be NULL; "
                                         "count must not be negative"};
        return CEN_INVALID;
    }
    if (PQpipelineStatus(conn) != PQ_PIPELINE_OFF)
        return ceni_pq_say(error, conn, CEN_MISUSE, "", "cen_pq_run: not allowed in pipeline mode", NULL);
    ceni_pq_link *link = ceni_pq_book_find(conn);
    bool is_plain = !link || link->statements.room == 0 ||
                    PQtransactionStatus(conn) == PQTRANS_INERROR; /* nothing can be prepared in a failed transaction */
    bool changes = is_plain && link && ceni_pq_changes_session(sql);
    PGresult *result = is_plain ? collect(conn, PQsendQueryParams(conn, sql, count, NULL, values, NULL, NULL, 0))
                                : run_prepared(link, sql, count, values, &changes);
    if (link) note(link, result, changes);
    if (is_fine(result)) {
        *out = result;
        return CEN_OK;
    }
    cen_status status = ceni_pq_say_result(error, conn, result, "statement failed");
    PQclear(result);
    return status;
}

uint32_t cen_pq_prepared(PGconn *conn)
{
    ceni_pq_link *link = conn ? ceni_pq_book_find(conn) : NULL;
    return link ? link->statements.count : 0;
}
