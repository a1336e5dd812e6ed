/* SPDX-License-Identifier: MIT */
/* What one writes without a library: connections in an array, a mutex and a condition variable. One that failed is connected
 * again by whoever noticed, as libpq offers. */
#include <pthread.h>

#include "../support/bench.h"
#include "outage.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t given = PTHREAD_COND_INITIALIZER;
static PGconn *idle[OUTAGE_CONNECTIONS];
static unsigned count;

static void begin(const char *url)
{
    for (; count < OUTAGE_CONNECTIONS; count++) {
        idle[count] = PQconnectdb(url);
        if (PQstatus(idle[count]) != CONNECTION_OK) bench_fail("%s", PQerrorMessage(idle[count]));
    }
}

static bool call(void)
{
    pthread_mutex_lock(&mutex);
    while (count == 0) pthread_cond_wait(&given, &mutex);
    PGconn *connection = idle[--count];
    pthread_mutex_unlock(&mutex);
    bool answered = outage_ask(connection);
    if (PQstatus(connection) != CONNECTION_OK) PQreset(connection);
    pthread_mutex_lock(&mutex);
    idle[count++] = connection;
    pthread_mutex_unlock(&mutex);
    pthread_cond_signal(&given);
    return answered;
}

const outage_way mutex_way = {"mutex", begin, call};
