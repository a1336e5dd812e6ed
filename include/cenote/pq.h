/* SPDX-License-Identifier: MIT */
/*
 * PostgreSQL connections for a pool: a driver over libpq. This header is of libcenote-pq.
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
 * A lease has a PGconn of libpq. Use it with all functions of libpq except PQfinish and PQreset. Before the next holder has the
 * connection, a running query is cancelled, an open transaction is rolled back, and changed settings are reset as far as they
 * are seen: see cen_pq_reset_policy. A rolled back transaction is told as CEN_EVENT_LEFT_OPEN, once for each call site.
 *
 * Errors: error->code is the SQLSTATE as a number, see cen_pq_sqlstate, or 0; error->text names the server, the database and
 * the user, and never a password.
 * Threads: as the pool says; a connection is used by one thread at a time.
 * Fork: the child lets go of the parent's connections without a word to the server.
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

/* What the server must be. It is looked at when a connection is opened and tested, and, from what the server has reported by
 * itself, whenever one is given back: connections to a server that is not it any more are closed. */
typedef enum cen_pq_role {
    CEN_PQ_ANY = 0,
    CEN_PQ_PRIMARY,    /* not in recovery */
    CEN_PQ_REPLICA,    /* in recovery */
    CEN_PQ_READ_WRITE, /* not in recovery, and transactions may write unless they say otherwise */
} cen_pq_role;

/* What is done before a connection is lent again. */
typedef enum cen_pq_reset_policy {
    /* Default: a running query is cancelled, an open transaction is rolled back, and a changed session is reset by DISCARD ALL
     * and `setup`. A session is changed by SET, RESET, DISCARD, LISTEN, LOAD, PREPARE, a temporary table or a WITH HOLD cursor
     * that went through cen_pq_run, and by a setting that the server reports, however it was set: application_name,
     * client_encoding, DateStyle, IntervalStyle, session_authorization, standard_conforming_strings, TimeZone; search_path
     * since PostgreSQL 18. SET LOCAL is no change.
     * NOT seen are other settings that were set by libpq directly, by set_config, in a function or in a DO block. */
    CEN_PQ_RESET_CHANGED = 0,
    CEN_PQ_RESET_ALL,      /* DISCARD ALL and `setup` after every use: one or two round trips per give */
    CEN_PQ_RESET_NOTHING,  /* a connection in a transaction is closed; settings reach the next holder */
    CEN_PQ_RESET_ROLLBACK, /* as the default, but a changed session is left as it is: settings reach the next holder */
} cen_pq_reset_policy;

/* A pool's max beside what the server has. */
typedef struct cen_pq_capacity_report {
    size_t size;              /* sizeof(cen_pq_capacity_report), set by CEN_SIZED; in on_capacity, the library's */
    uint32_t pool_max;        /* what the pool may open; 0: unknown */
    uint32_t max_connections; /* the server's */
    uint32_t reserved;        /* of these, for superusers and other privileged roles */
    uint32_t in_use;          /* connections of clients now, of whatever program, this one included */
    uint32_t free;            /* that a role without privileges can still open */
    bool fits;                /* the pool can reach its max: with what it has, pool_max is not more than 1 + free */
    char text[320];           /* all that as one sentence */
} cen_pq_capacity_report;

/* Zero means default in every field, and CEN_OFF in a time means no limit. Fields are only ever appended. All that it points to is
 * copied by cen_pool_new, except the poller. Callbacks are called where the pool opens: on helper threads, several at a
 * time, or, with a poller, where that tells as well, and must then be quick. */
typedef struct cen_pq_options {
    size_t size;     /* sizeof(cen_pq_options), set by the macro */
    const char *uri; /* "postgresql://..." or "host=... dbname=...", as libpq reads it; default: the environment's */
    cen_pq_role role;
    cen_pq_reset_policy reset;
    const char *setup;          /* SQL for each new connection, and after DISCARD ALL: "set statement_timeout = '5s'" */
    int64_t connect_timeout_ns; /* for all hosts together; default the uri's connect_timeout, or 5 s */
    int64_t test_timeout_ns;    /* default 2 s */
    int64_t reset_timeout_ns;   /* default 2 s */
    int64_t cancel_timeout_ns;  /* a revoked connection that is not back so long after its query was cancelled
                                 * is cut off; default 2 s */
    /* that a connection keeps prepared for cen_pq_run; default 64, at most 4096, CEN_NONE: none */
    int32_t statements;
    /* The password, asked for at each opening, so that it may change: written to `password` as a string of less than `room`
     * bytes. Anything but OK fails the opening, with what it said in *error. Default: the uri's, or libpq's files. */
    cen_status (*password)(void *argument, char *password, size_t room, cen_error *error);
    /* Notices and warnings of the server, as text. Default: they are dropped. On whatever thread uses the connection. */
    void (*on_notice)(void *argument, const char *text);
    /* Told once, after the first opening. */
    void (*on_capacity)(void *argument, const cen_pq_capacity_report *report);
    void *argument;        /* of these three */
    uint32_t capacity_max; /* the pool's max, for on_capacity */
    /* Connects, tests and resets over that instead of on helper threads. Connections are then lent in libpq's non-blocking mode
     * (PQsetnonblocking). It must outlive the pool. Default: none, the calls block. */
    struct cen_poller *poller;
} cen_pq_options;

#define CEN_PQ_OPTIONS(...) CEN_OPTIONS_(cen_pq_options, __VA_ARGS__)

/* The driver for connections to that server, with defaults. Never fails: what is wrong is said by cen_pool_new. The string, or
 * the options, must be there until that returned. */
CEN_API cen_driver cen_pq(const char *uri);
CEN_API cen_driver cen_pq_with(const cen_pq_options *options);

/* Runs a statement with `count` parameters ($1 and so on) given as text, NULL is null, and waits for the result, which the caller
 * clears. The first time that a connection sees the text it is prepared, and then executed by name; options.statements
 * are kept, the least recently used goes. One that the server has dropped (DISCARD ALL, DEALLOCATE) or whose tables
 * have changed is prepared once more, unless that happened in a transaction: its error ends the transaction, and the
 * next run prepares anew. A connection that is no pool's has nothing kept and is asked directly.
 *
 * Errors: DRIVER (the server says no: error->code has the SQLSTATE), INTERRUPTED (the query was cancelled: 57014), LOST
 * (the connection broke), DOWN (the server goes down), FULL, INVALID (NULL, or count is negative), MISUSE (pipeline
 * mode), NO_MEMORY. After LOST and DOWN, and after 25006 (the server has become read-only) unless the role is REPLICA,
 * the connection is closed when it is given back. */
CEN_API cen_status cen_pq_run(PGconn *conn, const char *sql, int count, const char *const *values, PGresult **out,
                              cen_error *error);

/* How many statements the connection keeps prepared now. */
CEN_API uint32_t cen_pq_prepared(PGconn *conn);

/* Asks the server how a pool of `max` connections, 0 if that is unknown, goes with its max_connections. Waits for it. Errors: as
 * cen_pq_run. */
CEN_API cen_status cen_pq_capacity(PGconn *conn, uint32_t max, cen_pq_capacity_report *out, cen_error *error);

/* The five characters of the SQLSTATE that error->code stands for, "28P01", or "" if it is 0, into `text`; and back. */
CEN_API const char *cen_pq_sqlstate(int code, char text[6]);
CEN_API int cen_pq_code(const char *sqlstate);

#ifdef __cplusplus
}
#endif
#endif
