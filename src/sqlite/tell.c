/* SPDX-License-Identifier: MIT */
/*
 * SQLite's results as statuses and as texts that name the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

#include "sqlite/internal.h"

void ceni_sqlite_write(cen_error *error, cen_status status, const char *format, ...)
{
    if (!error) return;
    *error = (cen_error){.status = status};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
}

static cen_status status_of(int code)
{
    switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE: return CEN_OK;
    case SQLITE_NOMEM: return CEN_NO_MEMORY;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return CEN_BUSY;
    case SQLITE_INTERRUPT: return CEN_INTERRUPTED;
    case SQLITE_MISUSE: return CEN_MISUSE;
    default: return CEN_DRIVER;
    }
}

/* The reason why a file cannot be opened, by errno. */
static const char *reason_of(int number)
{
    switch (number) {
    case ENOENT: return "no such file or directory";
    case EACCES:
    case EPERM: return "permission denied for the file or its directory (SQLite creates files there)";
    case EROFS: return "read-only file system";
    case EISDIR: return "is a directory";
    case ENOTDIR: return "part of the path is not a directory";
    case EMFILE:
    case ENFILE: return "too many open files";
    case ENOSPC:
    case EDQUOT: return "disk full";
    default: return NULL;
    }
}

/* Return errno of a failed open. If SQLite may not create a file, it tries once more to open it for reading, and
 * remembers only that error, that it does not exist. */
static int number_of(const char *path, sqlite3 *db)
{
    int number = sqlite3_system_errno(db);
    const char *slash = strrchr(path, '/');
    char *directory = number != ENOENT || !strncmp(path, "file:", 5) ? NULL
                      : slash                                        ? strndup(path, (size_t)(slash + 1 - path))
                                                                     : strdup(".");
    if (directory && faccessat(AT_FDCWD, directory, W_OK, AT_EACCESS) != 0) number = errno;
    free(directory);
    return number;
}

/* The text after the file's name. NULL: SQLite's own message is enough. */
static const char *words_of(int code)
{
    switch (code & 0xff) {
    case SQLITE_NOTADB: return "not an SQLite database, or encrypted";
    case SQLITE_CORRUPT: return "database corrupted; restore a backup or run .recover of sqlite3";
    case SQLITE_FULL: return "disk full or max_pages reached";
    case SQLITE_READONLY:
        return "read-only connection of a reader, or no write permission for the file or its directory";
    case SQLITE_BUSY: return "locked by another connection for longer than busy_timeout_ns";
    case SQLITE_LOCKED: return "locked by another statement of the same cache";
    case SQLITE_INTERRUPT: return "statement interrupted";
    case SQLITE_NOMEM: return "out of memory";
    default: return NULL;
    }
}

cen_status ceni_sqlite_failed(const char *path, sqlite3 *db, int code, cen_error *error)
{
    cen_status status = status_of(code);
    if (status == CEN_OK || !error) return status;
    /* SQLite remembers the error of its last call. It is taken for this one if it has the same code. */
    bool is_last = db && (sqlite3_errcode(db) & 0xff) == (code & 0xff);
    int exact = is_last ? sqlite3_extended_errcode(db) : code;
    const char *words = words_of(code);
    const char *reason = is_last && (code & 0xff) == SQLITE_CANTOPEN ? reason_of(number_of(path, db)) : NULL;
    const char *theirs = is_last ? sqlite3_errmsg(db) : sqlite3_errstr(code);
    if (reason) ceni_sqlite_write(error, status, "SQLite at \"%s\": cannot open: %s", path, reason);
    else if (words) ceni_sqlite_write(error, status, "SQLite at \"%s\": %s (SQLite: %s)", path, words, theirs);
    else ceni_sqlite_write(error, status, "SQLite at \"%s\": %s", path, theirs);
    error->code = exact;
    return status;
}

cen_status cen_sqlite_error_get(sqlite3 *db, int code, cen_error *error)
{
    if (!db) return ceni_sqlite_say(error, CEN_INVALID, "cen_sqlite_error_get: db is NULL");
    if (ceni_sqlite_is_inherited(db))
        return ceni_sqlite_say(error, CEN_FORKED, "the connection belongs to the parent process");
    ceni_sqlite_connection *connection = ceni_sqlite_table_find(db);
    const char *name = connection ? connection->base->path : sqlite3_db_filename(db, "main");
    return ceni_sqlite_failed(name && *name ? name : "(no file)", db, code, error);
}
