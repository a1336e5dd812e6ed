/* SPDX-License-Identifier: MIT */
/*
 * The driver's calls, in the order of driver.h, which defines them.
 *
 * After prepare their argument is the pool's ceni_sqlite_base, and their object an sqlite3. An adopted sqlite3, which
 * was not opened here, has no connection record: it is checked and reset as far as SQLite's own state allows.
 */
#include "sqlite/internal.h"

static cen_status prepare_by_path(void *argument, void **state, cen_error *error)
{
    cen_sqlite_options options = CEN_SQLITE_OPTIONS(.path = argument);
    return ceni_sqlite_base_new(&options, (ceni_sqlite_base **)state, error);
}

static cen_status prepare(void *argument, void **state, cen_error *error)
{
    if (!argument) return ceni_sqlite_say(error, CEN_INVALID, "cen_sqlite_with: options is NULL");
    return ceni_sqlite_base_new(argument, (ceni_sqlite_base **)state, error);
}

static void fini(void *base)
{
    ceni_sqlite_base_free(base);
}

static cen_status open_connection(void *base, void **out, cen_error *error)
{
    sqlite3 *db = NULL;
    cen_status status = ceni_sqlite_open(base, &db, error);
    *out = db;
    return status;
}

static void close_connection(void *base, void *db)
{
    (void)base;
    ceni_sqlite_close(db);
}

/* ---- check and reset ----------------------------------------------------------------- */

/* A connection's databases: 0 main, 1 temp, attached ones from 2 on. */
static const char *attached(sqlite3 *db)
{
#if SQLITE_VERSION_NUMBER >= 3039000
    return sqlite3_db_name(db, 2);
#else
    (void)db;
    return NULL;
#endif
}

static bool is_spoilt(sqlite3 *db)
{
    int code = sqlite3_errcode(db) & 0xff;
    return code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_IOERR;
}

static bool is_changed(const ceni_sqlite_base *base, sqlite3 *db)
{
    int keys = 0;
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FKEY, -1, &keys);
    return (keys == 0) != base->options.no_foreign_keys || attached(db);
}

/* Return true if something temporary was ever created: only then SQLite has a database for it. */
static bool has_temporary(sqlite3 *db)
{
    return sqlite3_db_filename(db, "temp") != NULL;
}

static bool is_stepping(sqlite3 *db)
{
    for (sqlite3_stmt *statement = NULL; (statement = sqlite3_next_stmt(db, statement));)
        if (sqlite3_stmt_busy(statement)) return true;
    return false;
}

/* Only reads SQLite's memory. Nothing is finalized here, because that might access the disk. */
static cen_condition check(void *base, void *db)
{
    ceni_sqlite_connection *connection = ceni_sqlite_table_find(db);
    if (connection) connection->turn++; /* statements handed out before are free again */
    ceni_sqlite_unhook(base, connection, db);
    if (is_spoilt(db)) return CEN_BROKEN;
    return !sqlite3_get_autocommit(db) || is_changed(base, db) || has_temporary(db) || is_stepping(db) ? CEN_DIRTY
                                                                                                       : CEN_CLEAN;
}

static int detach_all(sqlite3 *db)
{
    int code = SQLITE_OK;
    for (const char *name; code == SQLITE_OK && (name = attached(db));) {
        char *sql = sqlite3_mprintf("detach \"%w\"", name);
        code = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
        sqlite3_free(sql);
    }
    return code;
}

static int keep_text(void *out, int columns, char **values, char **names)
{
    (void)columns, (void)names;
    *(char **)out = sqlite3_mprintf("%s", values[0]);
    return *(char **)out ? 0 : 1;
}

static int drop_temporary(sqlite3 *db)
{
    static const char next[] = "select 'drop ' || type || ' temp.\"' || replace(name, '\"', '\"\"') || '\"' "
                               "from sqlite_temp_master where type in ('table', 'view', 'trigger') "
                               "and name not like 'sqlite#_%' escape '#' limit 1";
    for (;;) {
        char *sql = NULL;
        int code = sqlite3_exec(db, next, keep_text, &sql, NULL);
        if (code == SQLITE_OK && sql) code = sqlite3_exec(db, sql, NULL, NULL, NULL);
        sqlite3_free(sql);
        if (code != SQLITE_OK || !sql) return code;
    }
}

static cen_status reset(void *argument, void *db, cen_error *error)
{
    ceni_sqlite_base *base = argument;
    ceni_sqlite_connection *connection = ceni_sqlite_table_find(db);
    for (sqlite3_stmt *statement = NULL; (statement = sqlite3_next_stmt(db, statement));)
        if (sqlite3_stmt_busy(statement)) sqlite3_reset(statement);
    bool is_open = !sqlite3_get_autocommit(db);
    int code = is_open ? sqlite3_exec(db, "rollback", NULL, NULL, NULL) : SQLITE_OK;
    if (code == SQLITE_OK) code = detach_all(db);
    if (code == SQLITE_OK) code = ceni_sqlite_settle(base, connection, db);
    if (code == SQLITE_OK && has_temporary(db)) code = drop_temporary(db);
    if (code == SQLITE_OK && is_open)
        *error = (cen_error){.status = CEN_OK, .text = "transaction left open"}; /* the pool adds the holder */
    return code == SQLITE_OK ? CEN_OK : ceni_sqlite_failed(base->path, db, code, error);
}

/* ---- test -------------------------------------------------------------------------------- */

/* Read the first page of the file, and check that the path still names this file. A locked file counts as working: the
 * caller waits for this test, so the test does not wait for the lock. */
static cen_status test(void *argument, void *db, cen_error *error)
{
    ceni_sqlite_base *base = argument;
    ceni_sqlite_connection *connection = ceni_sqlite_table_find(db);
    int moved = 0;
    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved)
        return ceni_sqlite_say(error, CEN_LOST, "SQLite at \"%s\": file deleted or replaced", base->path);
    if (connection) connection->hurry = true;
    int code = sqlite3_exec(db, "pragma schema_version", NULL, NULL, NULL);
    if (connection) connection->hurry = false;
    return (code & 0xff) == SQLITE_BUSY ? CEN_OK : ceni_sqlite_failed(base->path, db, code, error);
}

/* ---- interrupt and abandon ----------------------------------------------------------------- */

static void interrupt(void *base, void *db)
{
    (void)base;
    ceni_sqlite_connection *connection = ceni_sqlite_table_find(db);
    if (connection) atomic_store(&connection->revoked, true);
    sqlite3_interrupt(db);
}

static int deny(void *argument, int action, const char *a, const char *b, const char *c, const char *d)
{
    (void)argument, (void)action, (void)a, (void)b, (void)c, (void)d;
    return SQLITE_DENY;
}

/* With SQLite's own mutex: each call of the holder comes before or after this, and afterwards every call is refused. */
static void disarm(cen_job *job)
{
    ceni_sqlite_connection *connection =
        (ceni_sqlite_connection *)((char *)job - offsetof(ceni_sqlite_connection, job));
    sqlite3 *db = connection->db;
    sqlite3_mutex_enter(sqlite3_db_mutex(db));
    for (sqlite3_stmt *statement = NULL; (statement = sqlite3_next_stmt(db, statement));) sqlite3_reset(statement);
    if (!sqlite3_get_autocommit(db)) sqlite3_exec(db, "rollback", NULL, NULL, NULL);
    sqlite3_busy_handler(db, NULL, NULL);
    sqlite3_set_authorizer(db, deny, NULL);
    sqlite3_mutex_leave(sqlite3_db_mutex(db));
    if (ceni_sqlite_table_disarmed(connection)) ceni_sqlite_end(connection, db);
}

/* In a child there is nothing to do, as table.c explains. In the same process a holder may still use the connection:
 * its memory and descriptors stay for the close that follows. Its transaction is rolled back, because it would block
 * all other writers. */
static void abandon(void *argument, void *db)
{
    ceni_sqlite_base *base = argument;
    if (ceni_sqlite_is_inherited(db)) return;
    ceni_sqlite_connection *connection = ceni_sqlite_table_find(db);
    if (!connection) return;
    connection->is_disarming = !base->options.no_mutex;
    ceni_sqlite_table_lose(connection);
    atomic_fetch_sub(&base->connections, 1);
    connection->job = (cen_job){.run = disarm};
    if (base->options.no_mutex) return;
    cen_executor *executor = cen_runtime_executor(NULL);
    executor->post(executor, &connection->job);
}

#define CALLS(prepares) \
    { \
        .size = sizeof(cen_driver_calls), .blocks = true, .check_only_reads = true, .prepare = (prepares), \
        .fini = fini, .open = open_connection, .close = close_connection, .check = check, .reset = reset, \
        .test = test, .interrupt = interrupt, .abandon = abandon, .system = "sqlite", \
    }
static const cen_driver_calls calls_by_path = CALLS(prepare_by_path), calls = CALLS(prepare);

cen_driver cen_sqlite(const char *path)
{
    return (cen_driver){&calls_by_path, (void *)(uintptr_t)path};
}

cen_driver cen_sqlite_with(const cen_sqlite_options *options)
{
    return (cen_driver){&calls, (void *)(uintptr_t)options};
}
