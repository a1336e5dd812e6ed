/* SPDX-License-Identifier: MIT */
/* The rules of an outage: 16 threads ask PostgreSQL through one of several pools of ten, and see what they see. */
#ifndef BENCH_OUTAGE_H
#define BENCH_OUTAGE_H

#include <libpq-fe.h>
#include <stdbool.h>

enum { OUTAGE_CONNECTIONS = 10 };

typedef struct outage_way {
    const char *name;
    void (*begin)(const char *url);
    bool (*call)(void); /* takes a connection, asks, gives it back; whether the question was answered */
} outage_way;

extern const outage_way mutex_way, apr_way, cenote_way, cenote_held_way;

/* `select 1` on that connection. */
bool outage_ask(PGconn *connection);

#endif
