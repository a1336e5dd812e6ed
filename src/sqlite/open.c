/* SPDX-License-Identifier: MIT */
/*
 * Opening a connection with all its settings, and closing it.
 */
#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "sqlite/internal.h"

/* The busy handler: returns 1 to try again. SQLite's own cannot be interrupted. */
static int wait_for_lock(void *argument, int count)
{
    ceni_sqlite_connection *connection = argument;
    static const int pauses_ms[] = {1, 1, 2, 5, 10, 15, 20, 25};
    int64_t now = cen_clock();
    if (count == 0) connection->busy_since = now;
    if (connection->hurry || atomic_load(&connection->revoked)) return 0;
    if (now - connection->busy_since >= connection->busy_timeout_ns) return 0;
    sqlite3_sleep(pauses_ms[count < 7 ? count : 7]);
    return 1;
}

static int flags_of(const ceni_sqlite_base *base)
{
    const cen_sqlite_options *o = &base->options;
    int flags = o->no_mutex ? SQLITE_OPEN_NOMUTEX : SQLITE_OPEN_FULLMUTEX;
    if (strncmp(base->name, "file:", 5) == 0) flags |= SQLITE_OPEN_URI;
    if (o->read_only && base->place == CENI_SQLITE_FILE) return flags | SQLITE_OPEN_READONLY;
    return flags | SQLITE_OPEN_READWRITE | (o->must_exist || o->read_only ? 0 : SQLITE_OPEN_CREATE);
}

int ceni_sqlite_settle(const ceni_sqlite_base *base, ceni_sqlite_connection *connection, sqlite3 *db)
{
    if (connection && base->options.busy_timeout_ns > 0) sqlite3_busy_handler(db, wait_for_lock, connection);
    int code = sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FKEY, base->options.no_foreign_keys ? 0 : 1, (int *)NULL);
    if (code == SQLITE_OK)
        code = sqlite3_exec(db, base->options.read_only ? "pragma query_only = on" : "pragma query_only = off", NULL,
                            NULL, NULL);
    return code;
}

/* They would be called on the next holder's thread, with the previous holder's memory. */
void ceni_sqlite_unhook(const ceni_sqlite_base *base, ceni_sqlite_connection *connection, sqlite3 *db)
{
    sqlite3_set_authorizer(db, NULL, NULL);
    sqlite3_progress_handler(db, 0, NULL, NULL);
    sqlite3_trace_v2(db, 0, NULL, NULL);
    sqlite3_commit_hook(db, NULL, NULL);
    sqlite3_rollback_hook(db, NULL, NULL);
    sqlite3_update_hook(db, NULL, NULL);
    if (connection) sqlite3_busy_handler(db, base->options.busy_timeout_ns > 0 ? wait_for_lock : NULL, connection);
}

static int is_wal(void *answer, int columns, char **values, char **names)
{
    (void)names;
    *(bool *)answer = columns == 1 && values[0] && strcmp(values[0], "wal") == 0;
    return 0;
}

/* Apply the settings that are made once. All of them read the file, so a file that is not a database is detected
 * here. */
static cen_status furnish(const ceni_sqlite_base *base, sqlite3 *db, cen_error *error)
{
    static const char *const levels[] = {"normal", "full", "extra", "off"};
    const cen_sqlite_options *o = &base->options;
    char sql[200];
    bool wal = false, wants_wal = !o->read_only && base->place == CENI_SQLITE_FILE && o->journal == CEN_SQLITE_WAL;
    int code = SQLITE_OK;
    if (wants_wal) code = sqlite3_exec(db, "pragma journal_mode = wal", is_wal, &wal, NULL);
    else if (!o->read_only && base->place == CENI_SQLITE_FILE)
        code = sqlite3_exec(db, "pragma journal_mode = delete", NULL, NULL, NULL);
    if (code == SQLITE_OK && wants_wal && !wal)
        return ceni_sqlite_say(error, CEN_DRIVER,
                               "SQLite at \"%s\": no write-ahead log possible here; set cen_sqlite_options.journal to "
                               "CEN_SQLITE_ROLLBACK",
                               base->path);
    snprintf(sql, sizeof sql, "pragma synchronous = %s; pragma schema_version", levels[o->synchronous]);
    if (code == SQLITE_OK) code = sqlite3_exec(db, sql, NULL, NULL, NULL);
    snprintf(sql, sizeof sql, "pragma max_page_count = %" PRId64, o->max_pages);
    if (code == SQLITE_OK && o->max_pages) code = sqlite3_exec(db, sql, NULL, NULL, NULL);
    if (code == SQLITE_OK && o->setup) code = sqlite3_exec(db, o->setup, NULL, NULL, NULL);
    return ceni_sqlite_failed(base->path, db, code, error);
}

/* A missing file that must exist has a status of its own. */
static cen_status not_opened(const ceni_sqlite_base *base, sqlite3 *db, int code, cen_error *error)
{
    cen_status status = ceni_sqlite_failed(base->path, db, code, error);
    bool must_be_there = base->options.read_only || base->options.must_exist;
    if ((code & 0xff) == SQLITE_CANTOPEN && must_be_there && db && sqlite3_system_errno(db) == ENOENT)
        status = CEN_ABSENT;
    if (error) error->status = status;
    return status;
}

static cen_status refuse_second(const ceni_sqlite_base *base, cen_error *error)
{
    return ceni_sqlite_say(
        error, CEN_INVALID,
        "SQLite at \"%s\": database private to one connection, empty for a second one; set the pool's max to 1 or use "
        "\":memory:\"",
        base->path);
}

static cen_status refuse_child(const ceni_sqlite_base *base, cen_error *error)
{
    return ceni_sqlite_say(error, CEN_FORKED,
                           "SQLite at \"%s\": already open in the parent process, file locks not usable here; create "
                           "the pool after fork or call exec",
                           base->path);
}

static void note_file(ceni_sqlite_connection *connection)
{
    struct stat file;
    const char *name = sqlite3_db_filename(connection->db, "main");
    if (!name || !*name || stat(name, &file) != 0) return;
    connection->device = file.st_dev;
    connection->inode = file.st_ino;
}

cen_status ceni_sqlite_open(ceni_sqlite_base *base, sqlite3 **out, cen_error *error)
{
    bool is_private = base->place == CENI_SQLITE_PRIVATE_MEMORY;
    if (ceni_sqlite_was_open(base)) return refuse_child(base, error);
    if (atomic_fetch_add(&base->connections, 1) > 0 && is_private) {
        atomic_fetch_sub(&base->connections, 1);
        return refuse_second(base, error);
    }
    ceni_sqlite_connection *connection = calloc(1, sizeof *connection);
    sqlite3 *db = NULL;
    cen_status status;
    if (!connection) {
        status = ceni_sqlite_say(error, CEN_NO_MEMORY, "SQLite at \"%s\": out of memory", base->path);
        goto undo_count;
    }
    connection->base = base;
    connection->base_number = base->number;
    connection->busy_timeout_ns = base->options.busy_timeout_ns;
    /* No file is read and no lock taken before the first statement. */
    int code = sqlite3_open_v2(base->name, &db, flags_of(base), base->options.vfs);
    if (code != SQLITE_OK) {
        status = not_opened(base, db, code, error);
        goto undo_open;
    }
    connection->db = db;
    code = ceni_sqlite_settle(base, connection, db);
    status = code == SQLITE_OK ? furnish(base, db, error) : not_opened(base, db, code, error);
    if (status != CEN_OK) goto undo_open;
    note_file(connection);
    ceni_sqlite_table_put(connection);
    *out = db;
    return CEN_OK;

undo_open:
    sqlite3_close_v2(db);
    free(connection);
undo_count:
    atomic_fetch_sub(&base->connections, 1);
    return status;
}

/* The base may be gone. */
void ceni_sqlite_end(ceni_sqlite_connection *connection, sqlite3 *db)
{
    if (connection) ceni_sqlite_statements_trim(connection, 0, true);
    /* A statement that the holder did not finalize keeps the connection in memory, but after the reset it keeps no lock
     * on the file. */
    for (sqlite3_stmt *statement = NULL; (statement = sqlite3_next_stmt(db, statement));) sqlite3_reset(statement);
    if (!sqlite3_get_autocommit(db)) sqlite3_exec(db, "rollback", NULL, NULL, NULL);
    sqlite3_busy_handler(db, NULL, NULL);
    sqlite3_close_v2(db);
    free(connection);
}

void ceni_sqlite_close(sqlite3 *db)
{
    bool is_left = false;
    ceni_sqlite_connection *connection = ceni_sqlite_table_find(db);
    if (connection) {
        ceni_sqlite_table_remove(connection);
        atomic_fetch_sub(&connection->base->connections, 1);
    } else {
        connection = ceni_sqlite_table_regain(db, &is_left); /* abandon has counted it already */
    }
    if (!is_left) ceni_sqlite_end(connection, db);
}
