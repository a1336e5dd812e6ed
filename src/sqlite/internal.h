/* SPDX-License-Identifier: MIT */
/*
 * The shared declarations of this room: the state of a pool, and a connection.
 */
#ifndef CENI_SQLITE_INTERNAL_H
#define CENI_SQLITE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <cenote/executor.h>
#include <cenote/sqlite.h>

/* The kind of database that a path names. */
typedef enum ceni_sqlite_place {
    CENI_SQLITE_FILE,
    CENI_SQLITE_SHARED_MEMORY,  /* several connections share one database in memory */
    CENI_SQLITE_PRIVATE_MEMORY, /* each connection would have its own database, so there is at most one */
} ceni_sqlite_place;

/* One per pool, from prepare to fini. */
typedef struct ceni_sqlite_base {
    /* fixed by prepare */
    cen_sqlite_options options; /* path, setup and vfs are our own copies */
    char *path;                 /* for messages */
    char *name;                 /* the name passed to SQLite: the path, or the URI of a database in memory */
    char *file;                 /* the file's name in either case; "" for a database in memory */
    ceni_sqlite_place place;
    uint64_t number; /* unique in this process and those it was forked from */
    sqlite3 *anchor; /* keeps a pool's own database in memory alive; NULL for others */
    pid_t process;   /* the process that the anchor belongs to */
    /* any thread */
    atomic_uint connections; /* open ones; only matters for PRIVATE_MEMORY */
} ceni_sqlite_base;

typedef struct ceni_sqlite_statement {
    sqlite3_stmt *handle;
    struct ceni_sqlite_statement *next; /* the next older one */
    uint64_t hash;
    uint64_t turn; /* the connection's turn at its last use */
    char sql[];
} ceni_sqlite_statement;

/* One per sqlite3 that the driver opened. SQLite cannot store a pointer for us, so the table in table.c maps an sqlite3
 * to it. */
typedef struct ceni_sqlite_connection {
    /* constant after open */
    sqlite3 *db;
    ceni_sqlite_base *base; /* not for the job below and the busy handler: a lost connection outlives it */
    int64_t busy_timeout_ns;
    uint64_t base_number;
    dev_t device;
    ino_t inode; /* 0: in memory */
    /* under the lock of its part of the table */
    struct ceni_sqlite_connection *next;
    /* any thread */
    atomic_bool revoked; /* stop waiting for locks */
    /* only the holder, or the driver's call that has it */
    bool hurry; /* do not wait for locks during a test */
    int64_t busy_since;
    ceni_sqlite_statement *newest;
    uint32_t kept;
    uint64_t turn; /* the number of gives */
    uint64_t hits, misses;
    /* the thread that abandons it */
    cen_job job;
    /* under the lock of the list of lost connections */
    bool is_disarming; /* the job is still to end */
    bool closes;       /* the job closes it at its end: the holder gave it back, or the pool is gone */
} ceni_sqlite_connection;

/* ---- table.c: from an sqlite3 to its connection --------------------------------- */

/* Register the fork handlers, on the first call. */
cen_status ceni_sqlite_table_begin(void);

void ceni_sqlite_table_put(ceni_sqlite_connection *connection);
void ceni_sqlite_table_remove(ceni_sqlite_connection *connection);

/* Move a connection from the table to the list of lost ones, until it is regained. */
void ceni_sqlite_table_lose(ceni_sqlite_connection *connection);

/* Take the lost connection of that sqlite3 out of the list. NULL: there is none; or its job has not ended, and *is_left
 * is true: then the job closes it. */
ceni_sqlite_connection *ceni_sqlite_table_regain(sqlite3 *db, bool *is_left);

/* The job has ended. Returns true if it must close the connection, which is in no list then. */
bool ceni_sqlite_table_disarmed(ceni_sqlite_connection *connection);

/* NULL: the sqlite3 is not a pool's in this process. */
ceni_sqlite_connection *ceni_sqlite_table_find(sqlite3 *db);

/* Return true if the parent process opened it. */
bool ceni_sqlite_is_inherited(sqlite3 *db);

/* Return true if the parent process had the base's file, or its database in memory, open. */
bool ceni_sqlite_was_open(const ceni_sqlite_base *base);

/* ---- base.c: options ------------------------------------------------------------- */

cen_status ceni_sqlite_base_new(const cen_sqlite_options *options, ceni_sqlite_base **out, cen_error *error);
void ceni_sqlite_base_free(ceni_sqlite_base *base);

/* ---- open.c ------------------------------------------------------------------------ */

cen_status ceni_sqlite_open(ceni_sqlite_base *base, sqlite3 **out, cen_error *error);

/* Restore the settings that a holder may have changed. */
int ceni_sqlite_settle(const ceni_sqlite_base *base, ceni_sqlite_connection *connection, sqlite3 *db);

/* Remove the holder's callbacks, and restore the busy handler. */
void ceni_sqlite_unhook(const ceni_sqlite_base *base, ceni_sqlite_connection *connection, sqlite3 *db);

/* Close a connection with all its statements; those of the holder are reset. After an abandon the disarming job closes
 * it if it has not ended yet. The second function does the rest for a connection that is in no list. */
void ceni_sqlite_close(sqlite3 *db);
void ceni_sqlite_end(ceni_sqlite_connection *connection, sqlite3 *db);

/* ---- statements.c ---------------------------------------------------------------------- */

void ceni_sqlite_statements_trim(ceni_sqlite_connection *connection, uint32_t most, bool all);

/* ---- tell.c: error texts ------------------------------------------------------------- */

/* As cen_sqlite_error_get, also for a connection that was not opened. */
cen_status ceni_sqlite_failed(const char *path, sqlite3 *db, int code, cen_error *error);

/* Write the status and the text, unless error is NULL. The value is the status. */
#define ceni_sqlite_say(error, status, ...) (ceni_sqlite_write((error), (status), __VA_ARGS__), (cen_status)(status))
__attribute__((format(printf, 3, 4))) void ceni_sqlite_write(cen_error *error, cen_status status, const char *format,
                                                             ...);

#endif
