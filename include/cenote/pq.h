/* SPDX-License-Identifier: MIT */
/*
 * A driver for pools of PostgreSQL connections, based on libpq. Part of libcenote-pq.
 *
 *     cen_pool *pool;
 *     cen_error error;
 *     cen_driver driver = cen_pq("postgresql://ann@db/shop");
 *     cen_pool_options options = CEN_POOL_OPTIONS(.name = "orders", .driver = driver, .max = 10);
 *     if (cen_pool_new(&options, &pool, &error) != CEN_OK) die(error.text);
 *
 *     CEN_WITH (pool, cen_in_ms(500), PGconn *, conn, &error) {
 *         PGresult *result;
 *         const char *values[] = {"42"};
 *         if (cen_pq_run(conn, "select name from items where id = $1", 1, values, &result, &error) == CEN_OK) {
 *             puts(PQgetvalue(result, 0, 0));
 *             PQclear(result);
 *         }
 *     } else {
 *         puts(error.text);
 *     }
 *
 * A lease holds a PGconn of libpq. It can be used with every function of libpq except PQfinish and PQreset. Before the
 * connection is lent again, the driver cancels any running query, rolls back any open transaction, and resets changed
 * settings as far as it can detect them: see cen_pq_reset_policy. The pool reports a rolled-back transaction as
 * CEN_EVENT_LEFT_OPEN, once per call site.
 *
 * Errors: error->code is the SQLSTATE as a number (see cen_pq_sqlstate), or 0. error->text names the server, the
 * database and the user, and never contains a password.
 * Threads: as for the pool. A connection is used by one thread at a time.
 * Fork: the child drops its copies of the parent's connections and sends nothing to the server.
 */
#ifndef CENOTE_PQ_H
#define CENOTE_PQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/driver.h>
#include <cenote/sized.h>
#include <cenote/status.h>
#include <libpq-fe.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cen_poller;

/* The role that the server must have. It is checked when a connection is opened and when it is tested. On every give,
 * the role is also checked against what the server has reported unprompted. A connection whose server has another role
 * is closed. */
typedef enum cen_pq_role {
    CEN_PQ_ANY = 0,
    CEN_PQ_PRIMARY,    /* not in recovery */
    CEN_PQ_REPLICA,    /* in recovery */
    CEN_PQ_READ_WRITE, /* not in recovery, and transactions may write by default */
} cen_pq_role;

/* How a connection is reset before it is lent again. */
typedef enum cen_pq_reset_policy {
    /* Default: a running query is cancelled, an open transaction is rolled back, and a changed session is reset by
     * DISCARD ALL and `setup`. The driver detects two kinds of change:
     * - A statement run by cen_pq_run: SET, RESET, DISCARD, LISTEN, LOAD, PREPARE, a temporary table, view or sequence,
     *   or a cursor WITH HOLD. SET LOCAL does not count.
     * - A setting that the server reports, however it was set: application_name, client_encoding, DateStyle,
     *   IntervalStyle, session_authorization, standard_conforming_strings, TimeZone; search_path since PostgreSQL 18.
     * NOT detected: any other setting that was changed directly through libpq, by set_config, in a function or in a DO
     * block. */
    CEN_PQ_RESET_CHANGED = 0,
    CEN_PQ_RESET_ALL, /* DISCARD ALL and `setup` after every use: one or two round trips per give */
    /* a connection with an open transaction or query is closed; changed settings carry over to the next holder */
    CEN_PQ_RESET_NOTHING,
    CEN_PQ_RESET_ROLLBACK, /* as the default, but without DISCARD ALL: changed settings carry over */
} cen_pq_reset_policy;

/* A pool's max compared with the connections that the server allows. */
typedef struct cen_pq_capacity_report {
    size_t size;              /* sizeof(cen_pq_capacity_report), set by CEN_SIZED; in on_capacity, by cenote */
    uint32_t pool_max;        /* connections that the pool may open; 0: unknown */
    uint32_t max_connections; /* the server's limit */
    uint32_t reserved;        /* of these, reserved for superusers and other privileged roles */
    uint32_t in_use;          /* open connections of all clients, this one included */
    uint32_t free;            /* connections that an unprivileged role can still open */
    bool fits;                /* the pool can reach its max: pool_max is at most `free` plus this connection */
    char text[320];           /* the same information as one sentence */
} cen_pq_capacity_report;

/* In every field, zero means the default. In a time field, CEN_OFF means no limit. Fields are only ever appended.
 * cen_pool_new copies everything that the fields point to, except the poller and `argument`. The callbacks run on the
 * threads that open connections. These are helper threads, and several of them may run callbacks at the same time. If
 * there is a poller, they also run on the threads that run its watches, so they must be quick. */
typedef struct cen_pq_options {
    size_t size;     /* sizeof(cen_pq_options), set by the macro */
    const char *uri; /* "postgresql://..." or "host=... dbname=...", as libpq reads it; default: from the environment */
    cen_pq_role role;
    cen_pq_reset_policy reset;
    const char *setup; /* SQL for each new connection, and after DISCARD ALL: "set statement_timeout = '5s'" */
    /* time limit of an open, for all hosts together; default the uri's connect_timeout, or 5 s */
    int64_t connect_timeout_ns;
    int64_t test_timeout_ns;  /* time limit of a health check; default 2 s */
    int64_t reset_timeout_ns; /* time limit of a reset; default 2 s */
    /* grace period after the cancel request for a revoked connection; the connection is cut off if it has not been
     * given back by the end of this period; default 2 s */
    int64_t cancel_timeout_ns;
    /* number of statements that a connection keeps prepared for cen_pq_run; default 64, at most 4096, CEN_NONE: none */
    int32_t statements;
    /* Writes the password to `password`, as a string of less than `room` bytes. Called for each open, so the password
     * may change. If the status is not OK, the open fails with the text in *error. Default: the password in the uri or
     * in libpq's files. */
    cen_status (*password)(void *argument, char *password, size_t room, cen_error *error);
    /* Receives notices and warnings from the server as text, on the thread that uses the connection. Default: they are
     * dropped. */
    void (*on_notice)(void *argument, const char *text);
    /* Called once, after the first open. */
    void (*on_capacity)(void *argument, const cen_pq_capacity_report *report);
    void *argument;        /* passed to these three callbacks */
    uint32_t capacity_max; /* the pool's max, for on_capacity */
    /* Connections are opened, tested and reset through this poller instead of on helper threads, and lent in libpq's
     * non-blocking mode (PQsetnonblocking). The poller must outlive the pool. Default: none, so the calls block. */
    struct cen_poller *poller;
} cen_pq_options;

/* Options with the given fields set and all others zero. */
#define CEN_PQ_OPTIONS(...) CEN_OPTIONS_(cen_pq_options, __VA_ARGS__)

/* Return a driver for connections to a server, with default options or with the given ones. It always succeeds:
 * cen_pool_new reports an invalid address or option. The string or the options must stay valid until cen_pool_new has
 * returned. */
CEN_API cen_driver cen_pq(const char *uri);
CEN_API cen_driver cen_pq_with(const cen_pq_options *options);

/* Run a statement with `count` parameters ($1 and so on), given as text; NULL stands for the SQL null. The first time a
 * given text is run on a connection, the statement is prepared; later runs execute it by name. The connection keeps at
 * most options.statements prepared statements and deallocates the least recently used ones. If the server has dropped a
 * statement (DISCARD ALL, DEALLOCATE) or one of its tables has changed, the statement is prepared again and retried. In
 * a transaction, there is no retry, because the error has aborted the transaction; the next run prepares the statement
 * again. If the connection was not opened by a pool of this driver, nothing is prepared.
 *
 * After LOST or DOWN, the connection is closed when it is given back. It is also closed after 25006 (the server is
 * read-only), unless the role is REPLICA.
 *
 * Ownership: the result belongs to the caller. Free it with PQclear.
 * Blocking: until the server has answered. The call has no time limit of its own.
 * Returns:
 *   OK           *out is the result
 *   DRIVER       the server refused the statement, and error->code contains the SQLSTATE; or memory ran out, and
 *                error->code is 0
 *   INTERRUPTED  the query was cancelled (57014)
 *   LOST         the connection broke
 *   DOWN         the server is starting up or shutting down, or ended the session (57P01, 57P02, 57P03)
 *   FULL         the server reports that it has no connection left (53300)
 *   INVALID      conn, sql or out is NULL, count is negative, or values is NULL and count is not 0
 *   MISUSE       the connection is in pipeline mode
 */
CEN_API cen_status cen_pq_run(PGconn *conn, const char *sql, int count, const char *const *values, PGresult **out,
                              cen_error *error);

/* Return the number of statements that the connection keeps prepared; 0 if no pool of this driver opened it. */
CEN_API uint32_t cen_pq_prepared(PGconn *conn);

/* Compare a pool of `max` connections (0: unknown) with the server's max_connections. Waits for the server.
 *
 * Returns:
 *   OK           the report is filled in
 *   INVALID      conn or out is NULL, or out->size is wrong
 *   DRIVER       the server refused the query, or its answer does not have the expected form
 *   others       as cen_pq_run
 */
CEN_API cen_status cen_pq_capacity(PGconn *conn, uint32_t max, cen_pq_capacity_report *out, cen_error *error);

/* Convert between error->code and SQLSTATE. cen_pq_sqlstate writes the five characters, such as "28P01", or "" for 0,
 * to `text` and returns `text`. cen_pq_code returns the number, or 0 if the text is NULL or not an SQLSTATE. */
CEN_API const char *cen_pq_sqlstate(int code, char text[6]);
CEN_API int cen_pq_code(const char *sqlstate);

#ifdef __cplusplus
}
#endif
#endif
