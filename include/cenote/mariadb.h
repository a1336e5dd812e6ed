/* SPDX-License-Identifier: MIT */
/*
 * MariaDB and MySQL connections for a pool: a driver over MariaDB's Connector/C. This header is of libcenote-mariadb.
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
 * What a taker gets is a MYSQL of the client library, to be used with all that it has, blocking or not, except mysql_close and
 * mysql_real_connect. A transaction that is left open is rolled back, and what else was changed in the session (variables,
 * temporary tables, the database) is undone, before anybody else has the connection. An answer that was not read to its end
 * ends the connection.
 *
 * Errors: error->code is the number of the server (1045) or of the client library (2013), or 0; error->text names the server, the
 * database and the user, and never a password.
 * Threads: as the pool says; a connection is used by one thread at a time. mysql_library_init, mysql_thread_init and
 * mysql_thread_end are called for every thread in which the driver is called, and need not be by the program.
 * Fork: the child lets go of the parent's connections without a word to the server.
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

/* What the server must be, by its variable read_only. It is asked when a connection is opened and tested: connections to a server
 * that is not it any more are closed. One whose last statement failed because the server is read-only is closed when it is
 * given back, if it should be a primary's. */
typedef enum cen_mariadb_role {
    CEN_MARIADB_ANY = 0,
    CEN_MARIADB_PRIMARY, /* read_only is off */
    CEN_MARIADB_REPLICA, /* read_only is on */
} cen_mariadb_role;

/* What is done before a connection is lent again. */
typedef enum cen_mariadb_reset_policy {
    /* What was seen to be necessary: "rollback" if nothing but a transaction is left, mysql_reset_connection and `setup` if
     * more is. The server tells of all but GET_LOCK, LOCK TABLES, HANDLER, SELECT ... INTO @variable, @variable := ..., and SET
     * TRANSACTION for the next transaction: end them yourself, or use CEN_MARIADB_RESET_ALL. Nor does it tell that several
     * statements in one text were allowed by mysql_set_server_option: mysql_reset_connection is followed by forbidding them, but
     * if nothing else was changed they stay allowed. */
    CEN_MARIADB_RESET_CHANGED = 0,
    /* whatever it was used for, mysql_reset_connection, which also drops prepared statements, as above */
    CEN_MARIADB_RESET_ALL,
    CEN_MARIADB_RESET_NOTHING, /* one that is not as it was is closed */
} cen_mariadb_reset_policy;

/* Encryption. OFF, and nothing else, keeps the library from it; a certificate or key below means at least ON. */
typedef enum cen_mariadb_tls {
    CEN_MARIADB_TLS_DEFAULT = 0, /* as the client library does it by itself */
    CEN_MARIADB_TLS_OFF,
    CEN_MARIADB_TLS_ON,     /* or there is no connection; whose the server is is not asked */
    CEN_MARIADB_TLS_VERIFY, /* and its certificate must be for that host, by `tls_ca` or the system's authorities */
} cen_mariadb_tls;

/* A pool's max beside what the server has. */
typedef struct cen_mariadb_capacity_report {
    size_t size;              /* sizeof(cen_mariadb_capacity_report), set by CEN_SIZED; in on_capacity, the library's */
    uint32_t pool_max;        /* what the pool may open; 0: unknown */
    uint32_t max_connections; /* the server's; one more is for its administrator */
    uint32_t in_use;          /* connections now, of whatever program, this one included */
    uint32_t free;            /* that can still be opened */
    bool fits;                /* the pool can reach its max: with what it has, pool_max is not more than 1 + free */
    char text[240];           /* all that as one sentence */
} cen_mariadb_capacity_report;

/* Zero means default in every field, and CEN_OFF in a time means no limit. Fields are only ever appended. All that it points to is
 * copied by cen_pool_new, except the poller. Callbacks are called where the pool opens: on helper threads, several at a time, or,
 * with a poller, where that tells, and must then be quick. */
typedef struct cen_mariadb_options {
    size_t size; /* sizeof(cen_mariadb_options), set by the macro */
    /* mariadb://user:password@host:port/database?name=value&... or mysql://...; each part may be left out, and %41 means A.
     * A host that begins with a slash (%2Frun%2Fmysqld%2Fmysqld.sock) or the parameter `socket` is a Unix socket's path.
     * Parameters: socket, connect_timeout, read_timeout, write_timeout (seconds, "0.5"), charset, statements, role (any,
     * primary, replica), reset (changed, all, nothing), tls (off, on, verify), tls_ca, tls_cert, tls_key, tls_cipher,
     * local_infile (on, off), compress (on, off). Fields below that are not zero count before them. */
    const char *url;
    cen_mariadb_role role;
    cen_mariadb_reset_policy reset;
    /* a statement for each new session and after mysql_reset_connection: "set time_zone = '+00:00'" */
    const char *setup;
    int64_t connect_timeout_ns; /* until a connection is ready, setup included; default 5 s */
    /* of the holder's own calls, to the second above; default CEN_OFF: they wait for ever */
    int64_t read_timeout_ns;
    int64_t write_timeout_ns;
    int64_t test_timeout_ns;  /* default 2 s */
    int64_t reset_timeout_ns; /* default 2 s */
    /* for KILL QUERY, when a connection is revoked; after that it is cut off; default 2 s */
    int64_t cancel_timeout_ns;
    int32_t statements;  /* that a connection keeps for cen_mariadb_prepare; default 64, CEN_NONE: none */
    const char *charset; /* default "utf8mb4" */
    /* LOAD DATA LOCAL may read files of this host that the server asks for; default: it may not */
    bool local_infile;
    bool compress;
    cen_mariadb_tls tls;
    const char *tls_ca, *tls_cert, *tls_key; /* names of files */
    const char *tls_cipher;
    /* The password, asked for at each opening, so that it may change: written to `password` as a string of less than `room`
     * bytes. Anything but OK fails the opening, with what it said in *error. Default: the url's. */
    cen_status (*password)(void *argument, char *password, size_t room, cen_error *error);
    /* Told once, after the first opening. */
    void (*on_capacity)(void *argument, const cen_mariadb_capacity_report *report);
    void *argument;        /* of these two */
    uint32_t capacity_max; /* the pool's max, for on_capacity */
    /* Connects, tests, resets and closes over that instead of on helper threads. It must outlive the pool. A host that is a
     * name, which must be looked up, and TLS block in the client library: these are opened by a job of the process' own
     * runtime.
     * Default: none, the calls block. */
    struct cen_poller *poller;
} cen_mariadb_options;

#define CEN_MARIADB_OPTIONS(...) CEN_OPTIONS_(cen_mariadb_options, __VA_ARGS__)

/* The driver for connections to that server, with defaults. Never fails: what is wrong is said by cen_pool_new. The string, or
 * the options, must be there until that returned.
 * What opening answers: DRIVER (the server says no: 1045, the credentials are wrong; or it has not the role), FULL (1040: it has
 * no connection left), DOWN (2002, 2003: nobody listens there), TIMEOUT, LOST (2013: it hung up), NO_MEMORY, SYSTEM. */
CEN_API cen_driver cen_mariadb(const char *url);
CEN_API cen_driver cen_mariadb_with(const cen_mariadb_options *options);

/* The prepared statement of that text, ready for mysql_stmt_bind_param and mysql_stmt_execute: from the connection's cache if
 * it was prepared before, else the server is asked. It is the connection's: not to be closed, and not to be used after the
 * connection was given back; bindings and attributes of an earlier holder are forgotten. The same text gives the same statement
 * again, unless rows of that one are still being fetched: then another. Those that were used least recently leave the cache, but
 * none that was had since the connection was taken; a reset of the session empties it.
 * Errors: INVALID (NULL, or a connection that is no pool's), DRIVER (the server says no), LOST, NO_MEMORY, FORKED. */
CEN_API cen_status cen_mariadb_prepare(MYSQL *mysql, const char *sql, MYSQL_STMT **out, cen_error *error);

typedef struct cen_mariadb_cache {
    size_t size;     /* sizeof(cen_mariadb_cache), set by CEN_SIZED */
    uint32_t kept;   /* statements now */
    uint64_t hits;   /* how often one was there already */
    uint64_t misses; /* how often the server was asked */
} cen_mariadb_cache;

/* The cache of a connection that the caller holds. Errors: INVALID, FORKED. */
CEN_API cen_status cen_mariadb_cache_get(MYSQL *mysql, cen_mariadb_cache *out);

/* Asks the server how a pool of `max` connections, 0 if that is unknown, goes with its max_connections. Waits for it, for
 * test_timeout_ns at most. Errors: INVALID, DRIVER, LOST, TIMEOUT, FORKED. */
CEN_API cen_status cen_mariadb_capacity(MYSQL *mysql, uint32_t max, cen_mariadb_capacity_report *out, cen_error *error);

/* What the last call for this connection failed with, as a status and a sentence that names the server. OK, and error is not
 * written, if it did not fail. */
CEN_API cen_status cen_mariadb_error_get(MYSQL *mysql, cen_error *error);

#ifdef __cplusplus
}
#endif
#endif
