/* SPDX-License-Identifier: MIT */
/*
 * A driver for pools of MariaDB or MySQL connections, based on MariaDB Connector/C. Part of libcenote-mariadb.
 *
 *     cen_pool *pool;
 *     cen_error error;
 *     cen_pool_options options =
 *         CEN_POOL_OPTIONS(.name = "orders", .driver = cen_mariadb("mariadb://ann:secret@db/shop"), .max = 10);
 *     if (cen_pool_new(&options, &pool, &error) != CEN_OK) die(error.text);
 *
 *     CEN_WITH (pool, cen_in_ms(500), MYSQL *, mysql, &error) {
 *         if (mysql_query(mysql, "update items set stock = stock - 1 where id = 7")) puts(mysql_error(mysql));
 *     } else {
 *         puts(error.text);
 *     }
 *
 * A lease holds a MYSQL of the client library. It can be used with every function of the library, blocking or not,
 * except mysql_close and mysql_real_connect. Before the connection is lent again, the driver rolls back any open
 * transaction and undoes any other changes to the session that the server reports (variables, temporary tables, the
 * database). A connection with an unread result is closed.
 *
 * Errors: error->code is the error number of the server (1045) or of the client library (2013), or 0. error->text names
 * the server, the database and the user, and never contains a password.
 * Threads: as for the pool. A connection is used by one thread at a time. The driver calls mysql_library_init, and also
 * mysql_thread_init and mysql_thread_end for every thread that calls the driver, so the program need not call them.
 * Fork: the child drops its copies of the parent's connections and sends nothing to the server.
 */
#ifndef CENOTE_MARIADB_H
#define CENOTE_MARIADB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/driver.h>
#include <cenote/sized.h>
#include <cenote/status.h>
#include <mysql.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cen_poller;

/* The role that the server must have, as shown by its variable read_only. It is checked when a connection is opened and
 * when it is tested. A connection whose server has another role is closed. If the role is CEN_MARIADB_PRIMARY, a
 * connection whose last statement was refused because the server is read-only is also closed when it is given back. */
typedef enum cen_mariadb_role {
    CEN_MARIADB_ANY = 0,
    CEN_MARIADB_PRIMARY, /* read_only is off */
    CEN_MARIADB_REPLICA, /* read_only is on */
} cen_mariadb_role;

/* How a connection is reset before it is lent again. */
typedef enum cen_mariadb_reset_policy {
    /* Default: only what is necessary. If a connection is clean except for an open transaction, the driver sends
     * "rollback". After any other change, it calls mysql_reset_connection, selects the URL's database and runs `setup`.
     * If the URL names no database and the session has selected one, the connection is closed.
     *
     * The server does not report GET_LOCK, LOCK TABLES, HANDLER, SELECT ... INTO @variable, @variable := ..., and SET
     * TRANSACTION for the next transaction. End these yourself, or use CEN_MARIADB_RESET_ALL. Nor does the server
     * report that mysql_set_server_option has allowed several statements in one text. A reset disallows them again, but
     * if nothing else was changed, there is no reset. */
    CEN_MARIADB_RESET_CHANGED = 0,
    /* mysql_reset_connection after every use, regardless of what was done; this also drops prepared statements */
    CEN_MARIADB_RESET_ALL,
    CEN_MARIADB_RESET_NOTHING, /* a connection that was changed is closed */
} cen_mariadb_reset_policy;

/* Encryption. Only OFF disables it. A certificate, key, authority or cipher among the options below implies ON. */
typedef enum cen_mariadb_tls {
    CEN_MARIADB_TLS_DEFAULT = 0, /* the default of the client library */
    CEN_MARIADB_TLS_OFF,
    CEN_MARIADB_TLS_ON,     /* required; the server's identity is not verified */
    CEN_MARIADB_TLS_VERIFY, /* required, with a certificate for the host from `tls_ca` or the system's authorities */
} cen_mariadb_tls;

/* A pool's max compared with the connections that the server allows. */
typedef struct cen_mariadb_capacity_report {
    size_t size;              /* sizeof(cen_mariadb_capacity_report), set by CEN_SIZED; in on_capacity, by cenote */
    uint32_t pool_max;        /* connections that the pool may open; 0: unknown */
    uint32_t max_connections; /* the server's limit; it reserves one more for its administrator */
    uint32_t in_use;          /* open connections of all clients, this one included */
    uint32_t free;            /* connections that can still be opened */
    bool fits;                /* the pool can reach its max: pool_max is at most `free` plus this connection */
    char text[240];           /* the same information as one sentence */
} cen_mariadb_capacity_report;

/* In every field, zero means the default. In a time field, CEN_OFF means no limit. Fields are only ever appended.
 * cen_pool_new copies everything that the fields point to, except the poller and `argument`. The callbacks run on the
 * threads that open connections. These are helper threads, and several of them may run callbacks at the same time. If
 * there is a poller, they may also run on the threads that start opens and on those that run the poller's watches, so
 * they must be quick. */
typedef struct cen_mariadb_options {
    size_t size; /* sizeof(cen_mariadb_options), set by the macro */
    /* Required: mariadb://user:password@host:port/database?name=value&... or mysql://... Each part may be left out. %41
     * stands for A. A host that begins with a slash (%2Frun%2Fmysqld%2Fmysqld.sock), or the parameter `socket`, is the
     * path of a Unix socket. Parameters: socket, connect_timeout, read_timeout, write_timeout (seconds, "0.5"),
     * charset, statements, role (any, primary, replica), reset (changed, all, nothing), tls (default, off, on, verify),
     * tls_ca, tls_cert, tls_key, tls_cipher, local_infile (on, off), compress (on, off). A field below that is not zero
     * overrides its parameter. */
    const char *url;
    cen_mariadb_role role;
    cen_mariadb_reset_policy reset;
    /* one statement, run in each new session and after mysql_reset_connection: "set time_zone = '+00:00'"; default
     * none */
    const char *setup;
    int64_t connect_timeout_ns; /* time limit of an open, including `setup`; default 5 s */
    /* time limits of the holder's own calls, rounded up to whole seconds; default CEN_OFF: no limit */
    int64_t read_timeout_ns;
    int64_t write_timeout_ns;
    int64_t test_timeout_ns;  /* time limit of a health check; default 2 s */
    int64_t reset_timeout_ns; /* time limit of a reset; default 2 s */
    /* time limit of the KILL QUERY for a revoked connection; the connection is cut off if that fails, or if it has not
     * been given back 500 ms later; default 2 s */
    int64_t cancel_timeout_ns;
    /* number of statements that a connection caches for cen_mariadb_prepare; default 64, CEN_NONE: none */
    int32_t statements;
    const char *charset; /* default "utf8mb4" */
    /* the server may request files from this host (LOAD DATA LOCAL); default: it may not */
    bool local_infile;
    bool compress;
    cen_mariadb_tls tls;
    const char *tls_ca, *tls_cert, *tls_key; /* file paths */
    const char *tls_cipher;
    /* Writes the password to `password`, as a string of less than `room` bytes. Called for each open and before each
     * KILL QUERY, so the password may change. If the status is not OK, the open fails with the text in *error. Default:
     * the password in the url. */
    cen_status (*password)(void *argument, char *password, size_t room, cen_error *error);
    /* Called once, after the first open. */
    void (*on_capacity)(void *argument, const cen_mariadb_capacity_report *report);
    void *argument;        /* passed to these two callbacks */
    uint32_t capacity_max; /* the pool's max, for on_capacity */
    /* Connections are opened, tested, reset and closed through this poller instead of on helper threads. The poller
     * must outlive the pool. Host name lookups and TLS block inside the client library, so connections that need them
     * are opened by a job on the process's own runtime. Default: none, so the calls block. */
    struct cen_poller *poller;
} cen_mariadb_options;

/* Options with the given fields set and all others zero. */
#define CEN_MARIADB_OPTIONS(...) CEN_OPTIONS_(cen_mariadb_options, __VA_ARGS__)

/* Return a driver for connections to a server, with default options or with the given ones. It always succeeds:
 * cen_pool_new reports an invalid URL or option. The string or the options must stay valid until cen_pool_new has
 * returned.
 *
 * An open fails with DRIVER (the server refuses it, for example with 1045 for wrong credentials, or does not have the
 * required role), FULL (1040: the server has no connection left), DOWN (2002, 2003, 2005: the server cannot be reached;
 * 1053: it is shutting down), TIMEOUT, LOST (2013: the server closed the connection), CLOSED (the process is exiting),
 * NO_MEMORY, SYSTEM, or the status that options.password returned. */
CEN_API cen_driver cen_mariadb(const char *url);
CEN_API cen_driver cen_mariadb_with(const cen_mariadb_options *options);

/* Get the prepared statement for the given SQL text, ready for mysql_stmt_bind_param and mysql_stmt_execute. It comes
 * from the connection's cache or is prepared by the server. The same text yields the same statement again, unless rows
 * of that statement are still being fetched; in that case, it yields a second statement. The least recently used
 * statements leave the cache, but never one that has been used since the connection was taken. mysql_reset_connection
 * empties the cache.
 *
 * Ownership: the statement belongs to the connection. Do not close it, and do not use it after giving the connection
 * back. Bindings and attributes set by an earlier holder are cleared.
 * Blocking: until the server has prepared the statement (options.read_timeout_ns), unless the statement is cached.
 * Returns:
 *   OK           *out is the statement
 *   INVALID      an argument is NULL, or no pool of this driver opened the connection
 *   DRIVER       the server refused the statement
 *   LOST         the connection broke or was killed
 *   DOWN         the server is shutting down
 *   INTERRUPTED  the query was interrupted (1317)
 *   FULL         the user has reached a limit (1226)
 *   NO_MEMORY    out of memory
 *   FORKED       the connection belongs to the parent process
 */
CEN_API cen_status cen_mariadb_prepare(MYSQL *mysql, const char *sql, MYSQL_STMT **out, cen_error *error);

/* Stats of the statement cache of a connection. */
typedef struct cen_mariadb_cache {
    size_t size;     /* sizeof(cen_mariadb_cache), set by CEN_SIZED */
    uint32_t kept;   /* statements in the cache */
    uint64_t hits;   /* lookups that found the statement in the cache, in total */
    uint64_t misses; /* lookups that did not, in total */
} cen_mariadb_cache;

/* Read the statistics of the statement cache of a connection that the caller holds.
 *
 * Returns:
 *   OK       *out is filled in
 *   INVALID  out is NULL or its size is wrong, or no pool of this driver opened the connection
 *   FORKED   the connection belongs to the parent process
 */
CEN_API cen_status cen_mariadb_cache_get(MYSQL *mysql, cen_mariadb_cache *out);

/* Compare a pool of `max` connections (0: unknown) with the server's max_connections.
 *
 * Blocking: until the server has answered, at most options.test_timeout_ns.
 * Returns:
 *   OK       the report is filled in
 *   INVALID  out is NULL or its size is wrong, or no pool of this driver opened the connection
 *   TIMEOUT  the server did not answer in time
 *   CLOSED   the process is exiting
 *   FORKED   the connection belongs to the parent process
 *   others   as cen_mariadb_error_get
 */
CEN_API cen_status cen_mariadb_capacity(MYSQL *mysql, uint32_t max, cen_mariadb_capacity_report *out, cen_error *error);

/* Convert the error of the last call on this connection into a status and a sentence that names the server.
 *
 * Returns:
 *   OK           the last call did not fail; *error is not written
 *   DRIVER       any other error; error->code is its number
 *   LOST         the connection broke or was killed (2006, 2013, 1927)
 *   DOWN         the server is shutting down (1053)
 *   INTERRUPTED  the query was interrupted (1317)
 *   FULL         the server, or the user, has no connection left (1040, 1203), or the user has reached another limit
 *                (1226)
 *   NO_MEMORY    the client library is out of memory
 *   INVALID      no pool of this driver opened the connection
 *   FORKED       the connection belongs to the parent process
 */
CEN_API cen_status cen_mariadb_error_get(MYSQL *mysql, cen_error *error);

#ifdef __cplusplus
}
#endif
#endif
