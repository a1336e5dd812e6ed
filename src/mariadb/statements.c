/* SPDX-License-Identifier: MIT */
/*
 * The prepared statements that a connection caches, most recently used first.
 *
 * A holder may use a statement it was given until it gives the connection back. So statements used since then stay in
 * the list: each stores the connection's turn, the number of gives, at its last use. Within one lease the list may
 * therefore grow beyond its limit. The next prepare trims it.
 *
 * To close a statement a message without a response is sent to the server. After a reset or the end of the session no
 * message is needed: the client library has detached the statements, and only their memory is left. The same happens if
 * a program resets the session itself: such a statement is recognised, by its NULL connection, at its next use.
 */
#include "mariadb/internal.h"

static uint64_t hash_of(const char *sql)
{
    uint64_t hash = 14695981039346656037u;
    for (; *sql; sql++) hash = (hash ^ (unsigned char)*sql) * 1099511628211u;
    return hash;
}

static void end(ceni_mariadb_connection *connection, ceni_mariadb_statement *statement)
{
    mysql_stmt_close(statement->handle);
    free(statement);
    connection->kept--;
}

void ceni_mariadb_statements_end(ceni_mariadb_connection *connection)
{
    while (connection->newest) {
        ceni_mariadb_statement *statement = connection->newest;
        connection->newest = statement->next;
        end(connection, statement);
    }
}

/* Trim the list to its limit as far as possible; not while rows of a result are still to be read. */
static void trim(ceni_mariadb_connection *connection)
{
    int32_t bound = connection->server->options.statements;
    uint32_t most = bound > 0 ? (uint32_t)bound : 0, place = 0;
    if (connection->kept <= most || connection->mysql.status != MYSQL_STATUS_READY) return;
    ceni_mariadb_statement **link = &connection->newest;
    while (*link) {
        ceni_mariadb_statement *statement = *link;
        if (place++ < most || statement->turn == connection->turn) {
            link = &statement->next;
            continue;
        }
        *link = statement->next;
        end(connection, statement);
    }
}

/* Return true while the holder still fetches its rows. */
static bool is_busy(const ceni_mariadb_connection *connection, const ceni_mariadb_statement *statement)
{
    int state = (int)statement->handle->state;
    return statement->handle->mysql && statement->turn == connection->turn &&
           state >= MYSQL_STMT_WAITING_USE_OR_STORE && state <= MYSQL_STMT_USER_FETCHING;
}

/* Take a usable statement out of the list. Statements that the session has lost are closed. */
static ceni_mariadb_statement *pull(ceni_mariadb_connection *connection, const char *sql, uint64_t hash)
{
    ceni_mariadb_statement **link = &connection->newest;
    while (*link) {
        ceni_mariadb_statement *statement = *link;
        if (statement->hash != hash || strcmp(statement->sql, sql) != 0 || is_busy(connection, statement)) {
            link = &statement->next;
            continue;
        }
        *link = statement->next;
        if (statement->handle->mysql) return statement;
        end(connection, statement);
    }
    return NULL;
}

/* Return true if another holder has sent data for a parameter, which would be taken for this holder's. */
static bool has_sent_ahead(const MYSQL_STMT *handle)
{
    for (unsigned i = 0; handle->params && i < handle->param_count; i++)
        if (handle->params[i].long_data_used) return true;
    return false;
}

/* Remove the bindings and attributes that another holder has set. */
static void unbind(MYSQL_STMT *handle)
{
    const my_bool off = 0;
    const unsigned long no_cursor = CURSOR_TYPE_NO_CURSOR, rows = 1;
    const unsigned none = 0;
    const size_t size = 0;
    handle->bind_result_done = handle->bind_param_done = 0;
    mysql_stmt_attr_set(handle, STMT_ATTR_UPDATE_MAX_LENGTH, &off);
    mysql_stmt_attr_set(handle, STMT_ATTR_CURSOR_TYPE, &no_cursor);
    mysql_stmt_attr_set(handle, STMT_ATTR_PREFETCH_ROWS, &rows);
    mysql_stmt_attr_set(handle, STMT_ATTR_ARRAY_SIZE, &none);
    mysql_stmt_attr_set(handle, STMT_ATTR_ROW_SIZE, &size);
    mysql_stmt_attr_set(handle, STMT_ATTR_CB_PARAM, NULL);
    mysql_stmt_attr_set(handle, STMT_ATTR_CB_RESULT, NULL);
}

static cen_status make(ceni_mariadb_connection *connection, const char *sql, ceni_mariadb_statement **out,
                       cen_error *error)
{
    size_t size = strlen(sql) + 1;
    ceni_mariadb_statement *statement = malloc(sizeof *statement + size);
    if (!statement) return ceni_mariadb_text(error, CEN_NO_MEMORY, "cen_mariadb_prepare: out of memory");
    *statement = (ceni_mariadb_statement){.hash = hash_of(sql), .handle = mysql_stmt_init(&connection->mysql)};
    memcpy(statement->sql, sql, size);
    cen_status status = CEN_OK;
    if (!statement->handle)
        status = ceni_mariadb_say_mysql(error, connection->server, &connection->mysql, "out of memory");
    else if (mysql_stmt_prepare(statement->handle, sql, (unsigned long)(size - 1)) != 0)
        status = ceni_mariadb_say(error, connection->server, CEN_DRIVER, mysql_stmt_errno(statement->handle),
                                  "cannot prepare the statement", mysql_stmt_error(statement->handle));
    if (status == CEN_OK) {
        connection->kept++;
        *out = statement;
        return CEN_OK;
    }
    if (statement->handle) mysql_stmt_close(statement->handle);
    free(statement);
    return status;
}

cen_status cen_mariadb_prepare(MYSQL *mysql, const char *sql, MYSQL_STMT **out, cen_error *error)
{
    ceni_mariadb_connection *connection;
    if (!sql || !out)
        return ceni_mariadb_text(error, CEN_INVALID, "cen_mariadb_prepare: %s is NULL", sql ? "out" : "sql");
    cen_status status = ceni_mariadb_connection_of(mysql, &connection, error);
    if (status != CEN_OK) return status;
    ceni_mariadb_thread();
    trim(connection);
    ceni_mariadb_statement *statement = pull(connection, sql, hash_of(sql));
    if (statement && has_sent_ahead(statement->handle) && statement->turn != connection->turn) {
        end(connection, statement);
        statement = NULL;
    }
    if (statement) {
        connection->hits++;
        mysql_stmt_free_result(statement->handle);
        if (statement->turn != connection->turn) unbind(statement->handle);
    } else {
        connection->misses++;
        status = make(connection, sql, &statement, error);
        if (status != CEN_OK) return status;
    }
    statement->turn = connection->turn;
    statement->next = connection->newest;
    connection->newest = statement;
    trim(connection);
    *out = statement->handle;
    return CEN_OK;
}

cen_status cen_mariadb_cache_get(MYSQL *mysql, cen_mariadb_cache *out)
{
    ceni_mariadb_connection *connection;
    cen_status status = cen_sized_check(out, sizeof *out, "cen_mariadb_cache_get: out", NULL);
    if (status == CEN_OK) status = ceni_mariadb_connection_of(mysql, &connection, NULL);
    if (status != CEN_OK) return status;
    const cen_mariadb_cache now = {.kept = connection->kept, .hits = connection->hits, .misses = connection->misses};
    cen_sized_write(out, &now, sizeof now);
    return CEN_OK;
}
