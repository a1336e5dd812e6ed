/* SPDX-License-Identifier: MIT */
/*
 * A driver for pools of SQLite connections, and a pair of pools: one writer and its readers. Part of libcenote-sqlite.
 *
 *     cen_pool *pool;
 *     cen_pool_options options = CEN_POOL_OPTIONS(.name = "orders", .driver = cen_sqlite("/var/lib/shop/orders.db"), .max = 4);
 *     if (cen_pool_new(&options, &pool, &error) != CEN_OK) die(error.text);
 *     CEN_WITH (pool, cen_in_ms(500), sqlite3 *, db, &error) {
 *         sqlite3_stmt *insert;
 *         if (cen_sqlite_prepare(db, "insert into orders values (?)", &insert, &error) == CEN_OK) sqlite3_step(insert);
 *     }
 *
 * SQLite lets only one connection write at a time. If many threads read and some write, give the writers a pool with
 * one connection: its wait queue is fair and supports deadlines. SQLite itself waits by polling.
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
 * A connection is reset before it is lent again if it is given back with an open transaction, a statement that still
 * has rows, an attached database, temporary objects, or a changed foreign-key setting. On every give, any hooks and any
 * authorizer are removed, and the busy timeout is restored.
 *
 * Threads: a connection is used only by its holder. All other functions may be called from any thread.
 * Fork: SQLite's locks are per process, and fork copies its record of them. A child must therefore neither touch its
 * parent's connections nor open a file that the parent had open. Both fail with FORKED. See docs/sqlite.md.
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

/* How SQLite keeps its journal (journal_mode). */
typedef enum cen_sqlite_journal {
    CEN_SQLITE_WAL = 0,  /* readers and the writer do not block each other; not for network file systems */
    CEN_SQLITE_ROLLBACK, /* the writer blocks readers while it commits */
} cen_sqlite_journal;

/* When SQLite waits for the disk (synchronous). */
typedef enum cen_sqlite_synchronous {
    /* with WAL: the file is never corrupted, but a power failure may lose the last commits */
    CEN_SQLITE_NORMAL = 0,
    CEN_SQLITE_FULL,    /* a commit is on disk when it returns */
    CEN_SQLITE_EXTRA,   /* as FULL; with CEN_SQLITE_ROLLBACK, the directory is synchronised as well */
    CEN_SQLITE_NO_SYNC, /* a power failure may corrupt the file */
} cen_sqlite_synchronous;

/* In every field, zero means the default. Fields are only ever appended. */
typedef struct cen_sqlite_options {
    size_t size; /* sizeof(cen_sqlite_options), set by the macro */
    /* Required: a file name; a URI that begins with "file:"; or ":memory:", an in-memory database that all connections
     * of the pool share and that lives as long as the pool. If the URI gives each connection its own database
     * ("file::memory:" without cache=shared), only one connection is allowed. */
    const char *path;
    bool read_only;  /* the file must exist; writes fail with SQLITE_READONLY */
    bool must_exist; /* a missing file is not created: an open fails with ABSENT */
    /* How long a statement waits for a lock held by another connection; default 5 s, CEN_OFF: no limit, CEN_NONE: it
     * does not wait. The wait ends early when the lease is revoked. */
    int64_t busy_timeout_ns;
    cen_sqlite_journal journal; /* ignored if read_only is set or the database is in memory */
    cen_sqlite_synchronous synchronous;
    bool no_foreign_keys; /* foreign keys are not enforced; default: they are */
    /* number of statements that a connection caches for cen_sqlite_prepare; default 64, CEN_NONE: none */
    int32_t statements;
    /* limit on the file's size in pages; writes beyond it fail with SQLITE_FULL; default SQLite's own */
    int64_t max_pages;
    const char *setup; /* SQL for each new connection, after the settings above; default none */
    const char *vfs;   /* name of SQLite's VFS; default: the system's */
    /* SQLite takes no mutex in its calls, which is slightly faster. A connection that CEN_LEAK_RECLAIM takes away from
     * its holder then stays as it is, including any open transaction. */
    bool no_mutex;
} cen_sqlite_options;

/* Options with the given fields set and all others zero. */
#define CEN_SQLITE_OPTIONS(...) CEN_OPTIONS_(cen_sqlite_options, __VA_ARGS__)

/* Return a driver for connections to a database, with default options or with the given ones. The driver blocks, and
 * each object is a sqlite3 pointer. This always succeeds: cen_pool_new reports any errors. The string or the options
 * must stay valid until cen_pool_new, which copies them, has returned.
 *
 * cen_pool_new and opens fail with INVALID (an option is invalid, or a second connection is opened to a database that
 * allows only one), ABSENT (the file must exist but does not), BUSY (the database stayed locked), FORKED (the parent
 * process had the file open), NO_MEMORY or DRIVER. error->code is SQLite's extended code. */
CEN_API cen_driver cen_sqlite(const char *path);
CEN_API cen_driver cen_sqlite_with(const cen_sqlite_options *options);

/* ---- For holders of a connection ----------------------------------------------- */

/* Get the prepared statement for the given SQL text, ready to be bound and stepped. It comes from the connection's
 * cache if it has been prepared before. The same text yields the same statement again, unless that statement still has
 * rows to step to; in that case, it yields a second statement. The least recently used statements leave the cache, but
 * never one that has been used since the connection was taken.
 *
 * Ownership: the statement belongs to the connection. Do not finalize it, and do not use it after giving the connection
 * back.
 * Returns:
 *   OK           *out is the statement, reset and without bindings
 *   INVALID      an argument is NULL, no pool of this driver opened the connection, or the text does not contain
 *                exactly one statement
 *   BUSY         the database stayed locked while its schema was read
 *   INTERRUPTED  the connection was revoked
 *   DRIVER       SQLite refused the text; error->code is its extended code
 *   NO_MEMORY    out of memory
 *   FORKED       the connection belongs to the parent process
 */
CEN_API cen_status cen_sqlite_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out, cen_error *error);

/* Begin, commit and roll back a transaction. cen_sqlite_begin executes "begin immediate": the connection holds the
 * write lock when the call returns, so no statement of the transaction fails because another connection is writing. If
 * cen_sqlite_commit fails, the transaction has been rolled back and none is open. cen_sqlite_rollback also returns OK
 * if no transaction is open.
 *
 * Blocking: until other connections have released their locks, at most options.busy_timeout_ns.
 * Returns:
 *   OK           the operation is done
 *   MISUSE       begin: a transaction is already open, or the connection is a reader
 *   BUSY         the database stayed locked
 *   INTERRUPTED  the connection was revoked
 *   DRIVER       any other SQLite error; error->code is its extended code
 *   NO_MEMORY    out of memory
 *   INVALID      db is NULL
 *   FORKED       the connection belongs to the parent process
 */
CEN_API cen_status cen_sqlite_begin(sqlite3 *db, cen_error *error);
CEN_API cen_status cen_sqlite_commit(sqlite3 *db, cen_error *error);
CEN_API cen_status cen_sqlite_rollback(sqlite3 *db, cen_error *error);

/* Convert the result `code` of the last SQLite call on this connection into a status and a sentence that names the
 * file.
 *
 * Returns:
 *   OK           the code is SQLITE_OK, SQLITE_ROW or SQLITE_DONE; *error is not written
 *   BUSY         SQLITE_BUSY or SQLITE_LOCKED
 *   INTERRUPTED  SQLITE_INTERRUPT
 *   NO_MEMORY    SQLITE_NOMEM
 *   MISUSE       SQLITE_MISUSE
 *   DRIVER       any other code
 *   INVALID      db is NULL
 *   FORKED       the connection belongs to the parent process
 */
CEN_API cen_status cen_sqlite_error_get(sqlite3 *db, int code, cen_error *error);

/* Stats of the statement cache of a connection. */
typedef struct cen_sqlite_cache {
    size_t size;     /* sizeof(cen_sqlite_cache), set by CEN_SIZED */
    uint32_t kept;   /* statements in the cache */
    uint64_t hits;   /* lookups that found the statement in the cache, in total */
    uint64_t misses; /* lookups that did not, in total */
} cen_sqlite_cache;

/* Read the statistics of the statement cache of a connection that the caller holds.
 *
 * Returns:
 *   OK       *out is filled in
 *   INVALID  out is NULL or its size is wrong, or no pool of this driver opened the connection
 *   FORKED   the connection belongs to the parent process
 */
CEN_API cen_status cen_sqlite_cache_get(sqlite3 *db, cen_sqlite_cache *out);

/* ---- One writer and its readers ----------------------------------------------------- */

typedef struct cen_sqlite_pool cen_sqlite_pool;

/* In every field, zero means the default. Fields are only ever appended. */
typedef struct cen_sqlite_pool_options {
    size_t size;      /* sizeof(cen_sqlite_pool_options), set by the macro */
    const char *name; /* copied, up to 20 bytes; the pools are NAME-writer and NAME-readers; default "sqlite" */
    const char *path; /* as in cen_sqlite_options */
    uint32_t readers; /* maximum number of reader connections; default 4 */
    const cen_sqlite_options *database; /* other driver options, or NULL; its path is used if `path` is NULL */
    const cen_pool_options *pool;       /* options of both pools, or NULL; name, driver, max and eager are ignored */
} cen_sqlite_pool_options;

/* Options with the given fields set and all others zero. */
#define CEN_SQLITE_POOL_OPTIONS(...) CEN_OPTIONS_(cen_sqlite_pool_options, __VA_ARGS__)

/* Create a pool with one writer and a pool of readers. The writer is opened immediately and creates the file if it is
 * missing. Readers are opened on demand. The options are copied.
 *
 * Returns:
 *   OK         *out is the pair of pools
 *   INVALID    out is NULL, or an option is not allowed (database.read_only must be false)
 *   NO_MEMORY  out of memory
 *   others     as cen_pool_new, or as the open of the writer: see cen_sqlite
 */
CEN_API cen_status cen_sqlite_pool_new(const cen_sqlite_pool_options *options, cen_sqlite_pool **out, cen_error *error);

/* Return the writer's pool and the readers' pool, for use with everything in pool.h except close and free. Return NULL
 * for NULL. A reader's connection is opened read-only and has query_only set, so writes fail with SQLITE_READONLY. */
CEN_API cen_pool *cen_sqlite_pool_writer(const cen_sqlite_pool *pool);
CEN_API cen_pool *cen_sqlite_pool_readers(const cen_sqlite_pool *pool);

/* Read the statistics of both pools, as cen_pool_stats_get does. Either `writer` or `readers` may be NULL.
 *
 * Returns:
 *   OK       the stats are filled in
 *   INVALID  pool is NULL, or a size is wrong
 *   FORKED   the pools belong to the parent process
 */
CEN_API cen_status cen_sqlite_pool_stats_get(const cen_sqlite_pool *pool, cen_pool_stats *writer,
                                             cen_pool_stats *readers);

/* Close the readers' pool, then the writer's, each as cen_pool_close does. The writer's connection is therefore the
 * last to be closed, and its close moves the write-ahead log into the file.
 *
 * Blocking: until the deadline, which applies to both together (CEN_DEFAULT: default_deadline of the pools).
 * Returns:
 *   OK       both are closed
 *   INVALID  pool is NULL
 *   others   as cen_pool_close, for the first pool that failed
 */
CEN_API cen_status cen_sqlite_pool_close(cen_sqlite_pool *pool, cen_deadline deadline, cen_error *error);

/* Free both pools, the readers' first, each as cen_pool_free does. NULL is allowed.
 *
 * Returns:
 *   OK      both are freed
 *   others  as cen_pool_free, for the first pool that failed
 */
CEN_API cen_status cen_sqlite_pool_free(cen_sqlite_pool *pool);

#ifdef __cplusplus
}
#endif
#endif
