/* SPDX-License-Identifier: MIT */
/*
 * libzdb. Its pool answers NULL when all connections are out, so who wants to wait for one brings the waiting: a semaphore with
 * as many units as connections, which is quicker and fairer than to ask again after a while. A query is executed directly: its
 * prepared statements live for one use of the connection. In an outage it cannot limit an answer, since its limit to a query is
 * the server's own; and it gets rid of dead connections by its reaper only, beyond the initial number: so, as advised, there is a
 * reaper, each second, and the initial number is 0.
 */
#include <semaphore.h>
#include <stdio.h>
#include <time.h>
#include <zdb.h>

#include "../../rules/bench.h"
#include "../../rules/ends.h"

static ConnectionPool_T pool;
static sem_t units;
static bool limited;

static void begin(const ends_plan *plan)
{
    char address[300];
    limited = plan->mode == ENDS_ADVISED;
    snprintf(address, sizeof address, "postgresql://%s:%u/test?user=tester&password=secret", plan->host, plan->port);
    if (limited)
        snprintf(address + strlen(address), sizeof address - strlen(address), "&connect-timeout=%d", ENDS_CONNECT_S);
    sem_init(&units, 0, plan->connections);
    pool = ConnectionPool_new(URL_new(address));
    ConnectionPool_setInitialConnections(pool, limited ? 0 : (int)plan->connections);
    ConnectionPool_setMaxConnections(pool, (int)plan->connections);
    if (limited) ConnectionPool_setReaper(pool, 1);
    TRY
    {
        ConnectionPool_start(pool);
    }
    CATCH(SQLException)
    {
        bench_fail("%s", Exception_frame.message);
    }
    END_TRY;
}

static bool wait_for_one(void)
{
    struct timespec until;
    if (!limited) return sem_wait(&units) == 0;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ENDS_WAIT_S;
    return sem_clockwait(&units, CLOCK_MONOTONIC, &until) == 0;
}

static const char *take(ends_lease *lease)
{
    if (!wait_for_one()) return "no connection in time";
    lease->connection = ConnectionPool_getConnection(pool);
    if (lease->connection) {
        if (limited) Connection_setQueryTimeout(lease->connection, ENDS_ANSWER_S * 1000);
        return NULL;
    }
    sem_post(&units);
    return "the pool could not connect";
}

static const char *ask(ends_lease *lease, char answer[ENDS_ANSWER])
{
    const char *volatile why = "there was no row";
    TRY
    {
        ResultSet_T result = Connection_executeQuery(lease->connection, "select 1");
        if (ResultSet_next(result)) {
            snprintf(answer, ENDS_ANSWER, "%s", ResultSet_getString(result, 1));
            why = NULL;
        }
    }
    CATCH(SQLException)
    {
        why = ends_why(Exception_frame.message);
    }
    END_TRY;
    return why;
}

/* What failed is noticed by the pool, which looks at a connection before it lends it. */
static void give(ends_lease *lease, bool failed)
{
    (void)failed;
    Connection_close(lease->connection);
    sem_post(&units);
}

int main(int count, char **words)
{
    static const ends_contestant zdb = {false, begin, take, ask, give};
    return ends_main(count, words, &zdb);
}
