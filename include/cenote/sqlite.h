/* SPDX-License-Identifier: MIT */
/*
 * Pools of SQLite connections: a driver for one pool, and a writer with its readers as two pools over one file. This is
 * libcenote-sqlite.
 *
 *     cen_pool *pool;
 *     cen_pool_options options = CEN_POOL_OPTIONS(.name = "orders", .driver = cen_sqlite("/var/lib/shop/orders.db"), .max = 4);
 *     if (cen_pool_new(&options, &pool, &error) != CEN_OK) die(error.text);
 *     CEN_WITH (pool, cen_in_ms(500), sqlite3 *, db, &error) {
 *         sqlite3_stmt *insert;
 *         if (cen_sqlite_prepare(db, "insert into orders values (?)", &insert, &error) == CEN_OK) sqlite3_step(insert);
 *     }
 *
 * SQLite lets one connection write at a time. Where many threads read and some write, let the writers wait in the line of a
 * pool of one, which is fair and has deadlines, and not in SQLite's, which polls:
 *
 *     cen_sqlite_pool *orders;
 *     cen_sqlite_pool_options options = CEN_SQLITE_POOL_OPTIONS(.path = "/var/lib/shop/orders.db", .readers = 8);
 *     if (cen_sqlite_pool_new(&options, &orders, &error) != CEN_OK) die(error.text);
 *     CEN_WITH (cen_sqlite_pool_writer(orders), cen_in_s(1), sqlite3 *, db, &error) {
 *         if (cen_sqlite_begin(db, &error) != CEN_OK) die(error.text);
 *         // ...
 *         cen_sqlite_commit(db, &error);
 *     }
 *     CEN_WITH (cen_sqlite_pool_readers(orders), cen_in_s(1), sqlite3 *, db, &error) use(db);
 *     cen_sqlite_pool_close(orders, cen_in_s(5), &error);
 *     cen_sqlite_pool_free(orders);
 *
 * A connection that comes back with a transaction open, a statement in the middle of its rows, a database attached, something
 * temporary, or foreign keys switched the other way is dirty: that is undone before anybody else has it. Hooks, an authorizer and
 * the like are taken out, and the wait for locks is as it was.
 *
 * Threads: a connection belongs to its holder; everything else may be called from any thread.
 * Fork: SQLite's locks are per process, and its notes of them are copied by fork: a child must not touch its parent's
 * connections, nor open a file that the parent had open. Here the first answers FORKED, and so does the second. See docs/sqlite.md.
 */
#ifndef CENOTE_SQLITE_H
#define CENOTE_SQLITE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/deadline.h>
#include <cenote/driver.h>
#include <cenote/pool.h>
#include <cenote/sized.h>
#include <cenote/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The driver ------------------------------------------------------------- */

typedef enum cen_sqlite_journal {
    CEN_SQLITE_WAL = 0,  /* readers and a writer do not hold up one another; not on a network's file system */
    CEN_SQLITE_ROLLBACK, /* a writer excludes readers while it commits */
} cen_sqlite_journal;

typedef enum cen_sqlite_synchronous {
    /* with WAL: nothing is ever corrupted, and the last commits may be lost when the power fails */
    CEN_SQLITE_NORMAL = 0,
    CEN_SQLITE_FULL, /* a commit is on the disk when it returns */
    CEN_SQLITE_EXTRA,
    CEN_SQLITE_NO_SYNC, /* a power failure may corrupt the file */
} cen_sqlite_synchronous;

/* Zero means default in every field. Fields are only ever appended. */
typedef struct cen_sqlite_options {
    size_t size; /* sizeof(cen_sqlite_options), set by the macro */
    /* A file's name; a URI that begins with "file:"; or ":memory:", one database in memory that all connections of the pool
     * share and that lasts as long as the pool. A URI that names a database of each connection's own ("file::memory:" without
     * cache=shared) has room for one connection. */
    const char *path;
    bool read_only;  /* it must be there, and what would write fails with SQLITE_READONLY */
    bool must_exist; /* a file that is not there is not made */
    /* How long a statement waits for a lock that somebody else has; default 5 s, CEN_OFF: no limit, CEN_NONE: it does not wait. It
     * is given up early when the lease is revoked. */
    int64_t busy_timeout_ns;
    cen_sqlite_journal journal; /* means nothing if read_only, or in memory */
    cen_sqlite_synchronous synchronous;
    bool no_foreign_keys; /* default: they are enforced */
    int32_t statements;   /* so many of cen_sqlite_prepare are kept for each connection; default 64, CEN_NONE: none */
    int64_t max_pages;    /* the file may have so many pages; beyond, SQLITE_FULL; default SQLite's own limit */
    const char *setup;    /* SQL for each new connection, after all this */
    const char *vfs;      /* default: the system's */
    /* SQLite does not take a mutex in each call; a little quicker, and then what CEN_LEAK_RECLAIM took away from
     * its holder stays as it is, open transaction included. */
    bool no_mutex;
} cen_sqlite_options;

#define CEN_SQLITE_OPTIONS(...) CEN_OPTIONS_(cen_sqlite_options, __VA_ARGS__)

/* Objects are sqlite3 *. Nothing is read before cen_pool_new, which copies all of it; until that returned both the text and the
 * options must be there. The driver blocks. What cen_pool_new and opening answer, with SQLite's extended code in error->code:
 * INVALID (an option; a second connection to a database that has room for one), ABSENT (it must be there and is not), BUSY (it
 * stayed locked), FORKED (the parent process had it open), NO_MEMORY, DRIVER. */
CEN_API cen_driver cen_sqlite(const char *path);
CEN_API cen_driver cen_sqlite_with(const cen_sqlite_options *options);

/* ---- What holders may use ------------------------------------------------------ */

/* The statement of that text, ready to be bound and stepped: from the connection's cache if it was prepared before. It is the
 * connection's: not to be finalized, and not to be used after the connection was given back. The same text gives the same
 * statement again, unless that one is in the middle of its rows: then another. Those that were used least recently leave
 * the cache, but none that was had since the connection was taken.
 * Errors: INVALID (NULL, a connection that is no pool's, more or less than one statement), FORKED, NO_MEMORY, BUSY, DRIVER. */
CEN_API cen_status cen_sqlite_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out, cen_error *error);

/* "begin immediate": has the right to write when it returns, so that no statement in between can fail because somebody else has
 * it. commit: if it fails, nothing of the transaction was kept and none is open any more. rollback: is OK without one, too.
 * Errors: MISUSE (begin: one is open already; or it is a reader's connection), BUSY, INTERRUPTED, FORKED, NO_MEMORY, DRIVER. */
CEN_API cen_status cen_sqlite_begin(sqlite3 *db, cen_error *error);
CEN_API cen_status cen_sqlite_commit(sqlite3 *db, cen_error *error);
CEN_API cen_status cen_sqlite_rollback(sqlite3 *db, cen_error *error);

/* What the last call for this connection, which answered `code`, failed with, as a sentence that names the file. Answers the
 * status it amounts to: OK for SQLITE_OK, SQLITE_ROW and SQLITE_DONE, where error is not written. */
CEN_API cen_status cen_sqlite_error_get(sqlite3 *db, int code, cen_error *error);

typedef struct cen_sqlite_cache {
    size_t size;     /* sizeof(cen_sqlite_cache), set by CEN_SIZED */
    uint32_t kept;   /* statements now */
    uint64_t hits;   /* how often one was there already */
    uint64_t misses; /* how often it had to be made */
} cen_sqlite_cache;

/* The cache of a connection that the caller holds. Errors: INVALID, FORKED. */
CEN_API cen_status cen_sqlite_cache_get(sqlite3 *db, cen_sqlite_cache *out);

/* ---- One writer and its readers ----------------------------------------------------- */

typedef struct cen_sqlite_pool cen_sqlite_pool;

/* Zero means default in every field. Fields are only ever appended. */
typedef struct cen_sqlite_pool_options {
    size_t size;                        /* sizeof(cen_sqlite_pool_options), set by the macro */
    const char *name;                   /* copied; the pools are NAME-writer and NAME-readers; default "sqlite" */
    const char *path;                   /* as in cen_sqlite_options */
    uint32_t readers;                   /* connections for reading at most; default 4 */
    const cen_sqlite_options *database; /* the rest of it, if not NULL; its path counts if this one's is NULL */
    const cen_pool_options *pool; /* what both pools share, if not NULL; its name, driver, max and eager do not count */
} cen_sqlite_pool_options;

#define CEN_SQLITE_POOL_OPTIONS(...) CEN_OPTIONS_(cen_sqlite_pool_options, __VA_ARGS__)

/* Opens the writer, which makes the file if it is not there, at once; readers when they are wanted. Needs nothing of the options
 * when it returned. Errors: INVALID, and what opening and cen_pool_new answer. */
CEN_API cen_status cen_sqlite_pool_new(const cen_sqlite_pool_options *options, cen_sqlite_pool **out, cen_error *error);

/* The pools themselves, for everything in pool.h but close and free. NULL of NULL. A reader's connection is opened read-only
 * and has query_only set: what writes fails with SQLITE_READONLY. */
CEN_API cen_pool *cen_sqlite_pool_writer(const cen_sqlite_pool *pool);
CEN_API cen_pool *cen_sqlite_pool_readers(const cen_sqlite_pool *pool);

/* Read the stats of both pools, as cen_pool_stats_get does. Either may be NULL. Errors: FORKED, INVALID. */
CEN_API cen_status cen_sqlite_pool_stats_get(const cen_sqlite_pool *pool, cen_pool_stats *writer,
                                             cen_pool_stats *readers);

/* Closes the readers, then the writer, each as cen_pool_close does, both by the one deadline
 * (CEN_DEFAULT: options.default_deadline of the pools): so that the writer is the last, and
 * puts what is in the log into the file. Errors: as cen_pool_close, the first that was not OK. */
CEN_API cen_status cen_sqlite_pool_close(cen_sqlite_pool *pool, cen_deadline deadline, cen_error *error);

/* As cen_pool_free, of both. NULL is allowed. */
CEN_API cen_status cen_sqlite_pool_free(cen_sqlite_pool *pool);

#ifdef __cplusplus
}
#endif
#endif
