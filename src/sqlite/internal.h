/* SPDX-License-Identifier: MIT */
/*
 * What the files of this room share: the state that a pool has, and a connection's own.
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

/* Which of the kinds of database a path names. */
typedef enum ceni_sqlite_place {
    CENI_SQLITE_FILE,
    CENI_SQLITE_SHARED_MEMORY,  /* several connections see one database in memory */
    CENI_SQLITE_PRIVATE_MEMORY, /* each would see another, so that there is one connection at most */
} ceni_sqlite_place;

/* One for each pool, from prepare to fini. */
typedef struct ceni_sqlite_base {
    /* fixed by prepare */
    cen_sqlite_options options; /* path, setup and vfs are our own copies */
    char *path;                 /* for people */
    char *name;                 /* what SQLite is given: the path, or the URI of a database in memory */
    char *file;                 /* the file's name in either; "" for a database in memory */
    ceni_sqlite_place place;
    uint64_t number; /* no other base of this process and those it was forked from has it */
    sqlite3 *anchor; /* keeps a database in memory of the pool's own alive; NULL otherwise */
    pid_t process;   /* whose the anchor is */
    /* any thread */
    atomic_uint connections; /* open now: counts for PRIVATE_MEMORY only */
} ceni_sqlite_base;

typedef struct ceni_sqlite_statement {
    sqlite3_stmt *handle;
    struct ceni_sqlite_statement *next; /* the one used before this one */
    uint64_t hash;
    uint64_t turn; /* of the connection when it was had last */
    char sql[];
} ceni_sqlite_statement;

/* One for each sqlite3 that the driver opened; SQLite has no room for it, so the table of table.c leads to it. */
typedef struct ceni_sqlite_connection {
    /* fixed by open */
    sqlite3 *db;
    ceni_sqlite_base *base; /* not for the job below and the busy handler: one that was lost outlives it */
    int64_t busy_timeout_ns;
    uint64_t base_number;
    dev_t device;
    ino_t inode; /* 0: in memory */
    /* under the lock of its part of the table */
    struct ceni_sqlite_connection *next;
    /* any thread */
    atomic_bool revoked; /* waits for locks are given up */
    /* the holder, or the driver's call that has it */
    bool hurry; /* nor does it wait for locks while it is tested */
    int64_t busy_since;
    ceni_sqlite_statement *newest;
    uint32_t kept;
    uint64_t turn; /* how often it was given back */
    uint64_t hits, misses;
    /* whoever abandons it */
    cen_job job;
    /* under the lock of the list of lost ones */
    bool is_disarming; /* the job has not ended */
    bool closes;       /* when it has: its holder gave it back, or the pool is gone */
} ceni_sqlite_connection;

/* ---- table.c: who is behind an sqlite3 ------------------------------------------ */

/* Makes ready for forks; once is enough. */
cen_status ceni_sqlite_table_begin(void);

void ceni_sqlite_table_put(ceni_sqlite_connection *connection);
void ceni_sqlite_table_remove(ceni_sqlite_connection *connection);

/* Removes it, and keeps it in the list of lost ones until it is regained. */
void ceni_sqlite_table_lose(ceni_sqlite_connection *connection);

/* The lost connection with that sqlite3, taken out of the list; NULL if there is none, or its job has not ended: the job closes
 * it then, and *is_left is true. */
ceni_sqlite_connection *ceni_sqlite_table_regain(sqlite3 *db, bool *is_left);

/* The job has ended; true if it is to close the connection, which is in no list then. */
bool ceni_sqlite_table_disarmed(ceni_sqlite_connection *connection);

/* NULL: it is none of a pool's in this process. */
ceni_sqlite_connection *ceni_sqlite_table_find(sqlite3 *db);

/* It was opened by the process that this one was forked from. */
bool ceni_sqlite_is_inherited(sqlite3 *db);

/* The process that this one was forked from had the base's file open, or its database in memory. */
bool ceni_sqlite_was_open(const ceni_sqlite_base *base);

/* ---- base.c: options ------------------------------------------------------------- */

cen_status ceni_sqlite_base_new(const cen_sqlite_options *options, ceni_sqlite_base **out, cen_error *error);
void ceni_sqlite_base_free(ceni_sqlite_base *base);

/* ---- open.c ------------------------------------------------------------------------ */

cen_status ceni_sqlite_open(ceni_sqlite_base *base, sqlite3 **out, cen_error *error);

/* The settings that a holder may have changed, as they were after open. */
int ceni_sqlite_settle(const ceni_sqlite_base *base, ceni_sqlite_connection *connection, sqlite3 *db);

/* Takes out functions of a holder's, and puts the wait for locks back. */
void ceni_sqlite_unhook(const ceni_sqlite_base *base, ceni_sqlite_connection *connection, sqlite3 *db);

/* Closes it with all its statements; those of the holder's own are reset. After an abandon the job that disarms it closes it, if
 * that has not ended. The second: what remains when it is in no list. */
void ceni_sqlite_close(sqlite3 *db);
void ceni_sqlite_end(ceni_sqlite_connection *connection, sqlite3 *db);

/* ---- statements.c ---------------------------------------------------------------------- */

void ceni_sqlite_statements_trim(ceni_sqlite_connection *connection, uint32_t most, bool all);

/* ---- tell.c: sentences --------------------------------------------------------------- */

/* As cen_sqlite_error_get, for a connection that may be none yet. */
cen_status ceni_sqlite_failed(const char *path, sqlite3 *db, int code, cen_error *error);

/* Writes the status and the sentence, if there is an error to write to, and is the status. */
#define ceni_sqlite_say(error, status, ...) (ceni_sqlite_write((error), (status), __VA_ARGS__), (cen_status)(status))
__attribute__((format(printf, 3, 4))) void ceni_sqlite_write(cen_error *error, cen_status status, const char *format,
                                                             ...);

#endif
