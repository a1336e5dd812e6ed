/* SPDX-License-Identifier: MIT */
/* What contestants that use libpq share: the address, and the question, which is prepared when a connection is made: that was
 * quicker than PQexec, for both sides. libpq itself has a limit for connecting, of two seconds at least, and none for an answer:
 * who wants one sends, and waits for the socket. */
#ifndef BENCH_RULES_ENDS_PQ_H
#define BENCH_RULES_ENDS_PQ_H

#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "ends.h"

/* Lasts as long as the program. */
static inline const char *ends_pq_address(const ends_plan *plan)
{
    static char address[300];
    snprintf(address, sizeof address, "postgresql://tester:secret@%s:%u/test", plan->host, plan->port);
    if (plan->mode == ENDS_ADVISED)
        snprintf(address + strlen(address), sizeof address - strlen(address), "?connect_timeout=%d", ENDS_CONNECT_S);
    return address;
}

static inline PGconn *ends_pq_connect(const char *address, const char **why)
{
    PGconn *connection = PQconnectdb(address);
    PGresult *prepared =
        PQstatus(connection) == CONNECTION_OK ? PQprepare(connection, "one", "select 1", 0, NULL) : NULL;
    bool fine = PQresultStatus(prepared) == PGRES_COMMAND_OK;
    PQclear(prepared);
    if (fine) return connection;
    *why = ends_why(PQerrorMessage(connection));
    PQfinish(connection);
    return NULL;
}

static inline const char *ends_pq_read(PGconn *connection, PGresult *result, char answer[ENDS_ANSWER])
{
    bool fine = PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 1;
    if (fine) snprintf(answer, ENDS_ANSWER, "%s", PQgetvalue(result, 0, 0));
    PQclear(result);
    return fine ? NULL : ends_why(PQerrorMessage(connection));
}

static inline const char *ends_pq_ask(PGconn *connection, char answer[ENDS_ANSWER])
{
    return ends_pq_read(connection, PQexecPrepared(connection, "one", 0, NULL, NULL, NULL, 0), answer);
}

/* The same with a limit. After a failure nothing is known of the connection, and it is to be closed. */
static inline const char *ends_pq_ask_within(PGconn *connection, int64_t limit_ns, char answer[ENDS_ANSWER])
{
    int64_t until = bench_now() + limit_ns;
    struct pollfd readable = {.fd = PQsocket(connection), .events = POLLIN};
    if (!PQsendQueryPrepared(connection, "one", 0, NULL, NULL, NULL, 0)) return ends_why(PQerrorMessage(connection));
    while (PQisBusy(connection)) {
        int64_t left = until - bench_now();
        if (left <= 0) return "no answer in time";
        if (poll(&readable, 1, (int)(left / 1000000) + 1) < 0 && errno != EINTR) return "poll failed";
        if (readable.revents && !PQconsumeInput(connection)) return ends_why(PQerrorMessage(connection));
    }
    PGresult *result = PQgetResult(connection);
    const char *why = ends_pq_read(connection, result, answer);
    while ((result = PQgetResult(connection))) PQclear(result);
    return why;
}

#endif
