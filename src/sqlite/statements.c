/* SPDX-License-Identifier: MIT */
/*
 * The prepared statements that a connection caches, most recently used first.
 *
 * A holder may use a statement it was given until it gives the connection back. So statements used since then stay in
 * the list: each stores the connection's turn, the number of gives, at its last use. Within one lease the list may
 * therefore grow beyond its limit. The next prepare trims it.
 */
#include "sqlite/internal.h"

static uint64_t hash_of(const char *sql)
{
    uint64_t hash = 14695981039346656037u;
    for (; *sql; sql++) hash = (hash ^ (unsigned char)*sql) * 1099511628211u;
    return hash;
}

void ceni_sqlite_statements_trim(ceni_sqlite_connection *connection, uint32_t most, bool all)
{
    uint32_t place = 0;
    ceni_sqlite_statement **link = &connection->newest;
    while (*link) {
        ceni_sqlite_statement *statement = *link;
        if (place++ < most || (!all && statement->turn == connection->turn)) {
            link = &statement->next;
            continue;
        }
        *link = statement->next;
        sqlite3_finalize(statement->handle);
        free(statement);
        connection->kept--;
    }
}

static void push(ceni_sqlite_connection *connection, ceni_sqlite_statement *statement)
{
    statement->turn = connection->turn;
    statement->next = connection->newest;
    connection->newest = statement;
}

/* Take a statement out of the list that is not in the middle of its rows. */
static ceni_sqlite_statement *pull(ceni_sqlite_connection *connection, const char *sql, uint64_t hash)
{
    for (ceni_sqlite_statement **link = &connection->newest; *link; link = &(*link)->next) {
        ceni_sqlite_statement *statement = *link;
        if (statement->hash != hash || strcmp(statement->sql, sql) != 0 || sqlite3_stmt_busy(statement->handle))
            continue;
        *link = statement->next;
        return statement;
    }
    return NULL;
}

/* Return true if another statement follows. Blanks, semicolons and comments do not count. */
static bool has_more(sqlite3 *db, const char *rest)
{
    sqlite3_stmt *another = NULL;
    while (*rest) {
        const char *tail = rest;
        if (sqlite3_prepare_v2(db, rest, -1, &another, &tail) != SQLITE_OK) return true;
        if (another) return sqlite3_finalize(another), true;
        if (tail == rest) break;
        rest = tail;
    }
    return false;
}

static cen_status make(ceni_sqlite_connection *connection, const char *sql, ceni_sqlite_statement **out,
                       cen_error *error)
{
    size_t size = strlen(sql) + 1;
    ceni_sqlite_statement *statement = malloc(sizeof *statement + size);
    if (!statement) return ceni_sqlite_say(error, CEN_NO_MEMORY, "cen_sqlite_prepare: out of memory");
    *statement = (ceni_sqlite_statement){.hash = hash_of(sql)};
    memcpy(statement->sql, sql, size);
    const char *rest = "";
    int code = sqlite3_prepare_v3(connection->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement->handle, &rest);
    cen_status status = ceni_sqlite_failed(connection->base->path, connection->db, code, error);
    if (status == CEN_OK && !statement->handle)
        status = ceni_sqlite_say(error, CEN_INVALID, "cen_sqlite_prepare: no statement in the text: %.200s", sql);
    if (status == CEN_OK && has_more(connection->db, rest))
        status =
            ceni_sqlite_say(error, CEN_INVALID, "cen_sqlite_prepare: more than one statement in the text: %.200s", sql);
    if (status == CEN_OK) {
        *out = statement;
        return CEN_OK;
    }
    sqlite3_finalize(statement->handle);
    free(statement);
    return status;
}

static cen_status find(sqlite3 *db, ceni_sqlite_connection **out, cen_error *error)
{
    if (db && ceni_sqlite_is_inherited(db))
        return ceni_sqlite_say(error, CEN_FORKED, "the connection belongs to the parent process");
    *out = db ? ceni_sqlite_table_find(db) : NULL;
    return *out ? CEN_OK : ceni_sqlite_say(error, CEN_INVALID, "db is not a connection of this driver's pools");
}

cen_status cen_sqlite_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out, cen_error *error)
{
    ceni_sqlite_connection *connection;
    if (!sql || !out) return ceni_sqlite_say(error, CEN_INVALID, "cen_sqlite_prepare: %s is NULL", sql ? "out" : "sql");
    cen_status status = find(db, &connection, error);
    if (status != CEN_OK) return status;
    int32_t bound = connection->base->options.statements;
    uint32_t most = bound > 0 ? (uint32_t)bound : 0;
    if (connection->kept > most) ceni_sqlite_statements_trim(connection, most, false);
    ceni_sqlite_statement *statement = pull(connection, sql, hash_of(sql));
    if (statement) {
        connection->hits++;
        sqlite3_reset(statement->handle);
        sqlite3_clear_bindings(statement->handle);
    } else {
        connection->misses++;
        status = make(connection, sql, &statement, error);
        if (status != CEN_OK) return status;
        connection->kept++;
    }
    push(connection, statement);
    if (connection->kept > most) ceni_sqlite_statements_trim(connection, most, false);
    *out = statement->handle;
    return CEN_OK;
}

cen_status cen_sqlite_cache_get(sqlite3 *db, cen_sqlite_cache *out)
{
    ceni_sqlite_connection *connection;
    cen_status status = cen_sized_check(out, sizeof *out, "cen_sqlite_cache_get: out", NULL);
    if (status == CEN_OK) status = find(db, &connection, NULL);
    if (status != CEN_OK) return status;
    const cen_sqlite_cache now = {.kept = connection->kept, .hits = connection->hits, .misses = connection->misses};
    cen_sized_write(out, &now, sizeof now);
    return CEN_OK;
}

/* ---- Transactions ------------------------------------------------------------- */

static cen_status run(sqlite3 *db, const char *sql, cen_error *error)
{
    return cen_sqlite_error_get(db, sqlite3_exec(db, sql, NULL, NULL, NULL), error);
}

static cen_status usable(sqlite3 *db, cen_error *error)
{
    if (!db) return ceni_sqlite_say(error, CEN_INVALID, "db is NULL");
    if (ceni_sqlite_is_inherited(db))
        return ceni_sqlite_say(error, CEN_FORKED, "the connection belongs to the parent process");
    return CEN_OK;
}

cen_status cen_sqlite_begin(sqlite3 *db, cen_error *error)
{
    cen_status status = usable(db, error);
    if (status != CEN_OK) return status;
    ceni_sqlite_connection *connection = ceni_sqlite_table_find(db);
    if (connection && connection->base->options.read_only)
        return ceni_sqlite_say(error, CEN_MISUSE,
                               "SQLite at \"%s\": a reader's connection cannot write; take the writer's connection",
                               connection->base->path);
    if (!sqlite3_get_autocommit(db))
        return ceni_sqlite_say(error, CEN_MISUSE, "a transaction is already open; commit it or roll it back");
    return run(db, "begin immediate", error);
}

cen_status cen_sqlite_commit(sqlite3 *db, cen_error *error)
{
    cen_status status = usable(db, error);
    if (status != CEN_OK) return status;
    status = run(db, "commit", error);
    if (status != CEN_OK && !sqlite3_get_autocommit(db)) sqlite3_exec(db, "rollback", NULL, NULL, NULL);
    return status;
}

cen_status cen_sqlite_rollback(sqlite3 *db, cen_error *error)
{
    cen_status status = usable(db, error);
    if (status != CEN_OK || sqlite3_get_autocommit(db)) return status;
    return run(db, "rollback", error);
}
