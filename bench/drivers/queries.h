/* SPDX-License-Identifier: MIT */
/*
 * The rules for programs that ask a server: threads that ask one question after the other, each answer checked and
 * timed, and another connection that counts how many the server has meanwhile.
 *
 *     PROGRAM WAY URL THREADS CONNECTIONS SECONDS     as many as can be had in that time
 *     PROGRAM WAY URL THREADS CONNECTIONS =COUNT      so many by each thread, nothing timed: for those who count instructions
 */
#ifndef BENCH_DRIVERS_QUERIES_H
#define BENCH_DRIVERS_QUERIES_H

#include <stdbool.h>

typedef struct query_way {
    const char *name;
    void (*set_up)(const char *url, unsigned connections);
    void *(*begin)(const char *url); /* what one thread has of its own; NULL if it has nothing */
    bool (*ask)(void *own);          /* one question; whether the answer was right */
    void (*end)(void *own);
    void (*tear_down)(void);
} query_way;

/* How many connections of the program's user there are, by one of another user; less than 0: it cannot be told. */
typedef int query_counter(void);

int query_main(int count, char **words, const query_way *ways, query_counter *counter);

#endif
