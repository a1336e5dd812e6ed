/* SPDX-License-Identifier: MIT */
/*
 * What SQLite answered, as a status and a sentence that names the file.
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

/* Why a file cannot be opened, by the system's number. */
static const char *reason_of(int number)
{
    switch (number) {
    case ENOENT: return "the file or its directory is not there";
    case EACCES:
    case EPERM:
        return "this user may not: look at the rights of the file and of its directory, in which SQLite makes files, "
               "too";
    case EROFS: return "the file system is read-only";
    case EISDIR: return "that is a directory";
    case ENOTDIR: return "part of the path is no directory";
    case EMFILE:
    case ENFILE: return "too many files are open";
    case ENOSPC:
    case EDQUOT: return "the disk is full";
    default: return NULL;
    }
}

/* SQLite tries a file that it may not make once more, for reading, and remembers only that it is not there then. */
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

/* The part of the sentence behind the file's name, or NULL: SQLite's own words will do. */
static const char *words_of(int code)
{
    switch (code & 0xff) {
    case SQLITE_NOTADB: return "is no SQLite database, or it is encrypted";
    case SQLITE_CORRUPT:
        return "is corrupted: restore it from a backup, or save what is there by the command .recover of sqlite3";
    case SQLITE_FULL: return "cannot grow: the disk is full, or it has as many pages as it may";
    case SQLITE_READONLY:
        return "is read-only for this connection: it is a reader's, or this user may not write the file or its "
               "directory";
    case SQLITE_BUSY: return "stayed locked by another connection for longer than busy_timeout_ns";
    case SQLITE_LOCKED: return "is locked by another statement of the same cache";
    case SQLITE_INTERRUPT: return "was not asked to the end: the statement was interrupted";
    case SQLITE_NOMEM: return "could not be used: there is no memory";
    default: return NULL;
    }
}

cen_status ceni_sqlite_failed(const char *path, sqlite3 *db, int code, cen_error *error)
{
    cen_status status = status_of(code);
    if (status == CEN_OK || !error) return status;
    /* What SQLite remembers is of its last call: of this one, as far as it has the same code. */
    bool is_last = db && (sqlite3_errcode(db) & 0xff) == (code & 0xff);
    int exact = is_last ? sqlite3_extended_errcode(db) : code;
    const char *words = words_of(code);
    const char *reason = is_last && (code & 0xff) == SQLITE_CANTOPEN ? reason_of(number_of(path, db)) : NULL;
    const char *theirs = is_last ? sqlite3_errmsg(db) : sqlite3_errstr(code);
    if (reason) ceni_sqlite_write(error, status, "cannot open %s: %s", path, reason);
    else if (words) ceni_sqlite_write(error, status, "%s %s (SQLite: %s)", path, words, theirs);
    else ceni_sqlite_write(error, status, "SQLite says of %s: %s", path, theirs);
    error->code = exact;
    return status;
}

cen_status cen_sqlite_error_get(sqlite3 *db, int code, cen_error *error)
{
    if (!db) return ceni_sqlite_say(error, CEN_INVALID, "cen_sqlite_error_get: the connection is NULL");
    if (ceni_sqlite_is_inherited(db))
        return ceni_sqlite_say(error, CEN_FORKED,
                               "the connection belongs to the process that this one was forked from");
    ceni_sqlite_connection *connection = ceni_sqlite_table_find(db);
    const char *name = connection ? connection->base->path : sqlite3_db_filename(db, "main");
    return ceni_sqlite_failed(name && *name ? name : "the database", db, code, error);
}
