/* SPDX-License-Identifier: MIT */
/*
 * The rules for programs that ask a real server through a pool, end to end; other languages have the same words and answers.
 *
 *     PROGRAM pq|redis HOST PORT THREADS CONNECTIONS SECONDS [warm=SECONDS]
 *
 * THREADS workers share a pool of CONNECTIONS and loop { take; ask; look at the answer; give }: `select 1` of the database `test`
 * as `tester` with the password `secret`, or `GET cenote-bench` of Redis, which wants the password `secret` too, without a user,
 * and where the driver of the benchmark has put `value`. All connections are open before the clock runs, and so is what warm=
 * asks for, whose figures are thrown away. Wait is from asking the pool to having a connection, call from there to the answer;
 * both of all turns that ended since the clock ran, even after its end, or who starves would not be seen. A turn is all of it, from
 * wanting a connection to wanting one again, whatever the worker was kept by. Its percentiles are by time, as a client meets them
 * that comes at any moment: 99 in 100 seconds of the workers were in turns no longer than that. Any failure, and any wrong answer, ends the program with status 1 and a sentence on the standard error. With BENCH_BROKEN=answer in the environment
 * the rules expect another answer than the right one, and must notice: "an answer was wrong". The driver looks at the server's
 * port meanwhile: there are never more connections than CONNECTIONS. The answer is one line:
 *
 *     elapsed_ms= asked= per_s= wait_p50_us= wait_p99_us= wait_p999_us= wait_max_ms= turn_p50_ms= turn_p99_ms= call_p50_us= call_p99_us=
 *     cpu_s= smallest_share=
 *
 * cpu_s is the processor time of the process during elapsed_ms, smallest_share what the slowest worker had in the mean of all.
 *
 *     PROGRAM pq|redis HOST PORT THREADS CONNECTIONS SECONDS outage=default|advised
 *
 * The same with a pause of 20 ms after each turn, while somebody breaks the way to the server. A failure of any kind is counted,
 * the worker goes on. default: the pool and its driver as they are without a word from us, but for the number of connections.
 * advised: with the limits that their documentation advises for such days: 1 s for waiting for a connection, 1 s for connecting,
 * 2 s for an answer, wherever the pool or its driver has such a limit. When all connections are open the line `ready` is printed,
 * the clock starts, and after SECONDS one line follows, whatever the workers are doing, and the program ends:
 *
 *     a0= f0= a1= f1= ... longest_ms= stuck=
 *
 * aN and fN are turns that were answered and that failed in the Nth 25 ms, longest_ms the longest turn, those that are not over
 * included, stuck how many turns are not over after more than 5 s.
 */
#ifndef BENCH_RULES_ENDS_H
#define BENCH_RULES_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ENDS_ANSWER = 64 };

#define ENDS_WAIT_S 1    /* advised, for a connection of the pool */
#define ENDS_CONNECT_S 1 /* for connecting */
#define ENDS_ANSWER_S 2  /* for an answer */

/* How the pool is set: for the figures of a good day, on which a failure ends the program, or for one of the two outages. */
typedef enum ends_mode { ENDS_HEALTHY, ENDS_DEFAULT, ENDS_ADVISED } ends_mode;

typedef struct ends_plan {
    bool redis; /* else PostgreSQL */
    const char *host;
    unsigned port, threads, connections;
    ends_mode mode;
} ends_plan;

/* What a taker has; a contestant keeps there what its give needs. */
typedef struct ends_lease {
    void *connection, *more[3];
} ends_lease;

/* What a contestant brings. take and ask answer NULL, or why not in a sentence that lasts until the thread's next call. */
typedef struct ends_contestant {
    bool has_redis; /* PostgreSQL has each */
    void (*begin)(const ends_plan *plan);
    const char *(*take)(ends_lease *lease);
    const char *(*ask)(ends_lease *lease, char answer[ENDS_ANSWER]);
    void (*give)(ends_lease *lease, bool failed); /* failed: the ask did */
} ends_contestant;

/* Parses, opens all connections by taking them at once, runs and prints; the result is main's. */
int ends_main(int count, char **words, const ends_contestant *contestant);

/* One of THREADS clients of a contestant that asks without waiting. The contestant keeps more behind it. */
typedef struct ends_client {
    struct worker *figures;
    int64_t asked_at, had_at;
} ends_client;

typedef struct ends_asker {
    size_t client_size;
    void (*begin)(const ends_plan *plan);
    void (*ask)(ends_client *client); /* begins a turn, and may not end it before it returns */
    void (*turn)(void);               /* of the loop; waits for at most some milliseconds */
} ends_asker;

/* The same for one thread with a loop, on good days only. Its turns say when a client has a connection, and when it is answered and
 * has given the connection back. */
int ends_main_asking(int count, char **words, const ends_asker *asker);
void ends_had(ends_client *client);
void ends_answered(ends_client *client, const char *answer);

/* A copy that lasts until the thread's next one: for sentences whose owner goes. */
const char *ends_why(const char *sentence);

#endif
