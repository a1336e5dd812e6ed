/* SPDX-License-Identifier: MIT */
/*
 * A load on a pool while something happens to its server, and what must hold meanwhile, whatever that is:
 *
 *   every try ended in one way: it was answered, its question failed, or its take was refused with a status that is allowed
 *   no object had two users at a time
 *   no take came back later than 100 ms after its deadline, and four times as late as a thread that only sleeps
 *   at the end nothing is held, nobody waits, and all that was opened is closed
 *
 *     load *l = load_start(&(load_plan){.pool = pool, .threads = 16, .deadline_ns = 500 * MS, .use = ask});
 *     server_kill(server);
 *     server_restart(server);
 *     int64_t recovery = load_await_answers(l, 100);
 *     load_counts counts = load_stop(l);
 *     load_judge(&counts, "the server is killed", recovery, 2 * SECOND);
 *
 * Times are compared with times of the same machine under the same load: the recovery with how long the first answers took.
 * Everything else waits on conditions.
 *
 * The last prints a row, appends it to the file named by CENOTE_CAMPAIGN_TABLE, and fails the test if something did not hold.
 */
#ifndef TESTS_CAMPAIGNS_LOAD_H
#define TESTS_CAMPAIGNS_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include <cenote/cenote.h>

#include "support/test.h"

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)

/* CENOTE_CAMPAIGN=long: the long form, else the short one. */
bool campaign_is_long(void);

/* `brief` or, in the long form, `whole`. */
int64_t campaign_time(int64_t brief, int64_t whole);

typedef struct load_plan {
    cen_pool *pool;
    unsigned threads;
    int64_t deadline_ns; /* of each take; default 500 ms */
    int64_t pause_ns;    /* between two tries of a thread; default 1 ms */
    /* One question to the server. False, with what went wrong in *error: it failed. */
    bool (*use)(void *object, cen_error *error);
} load_plan;

typedef struct load_counts {
    uint64_t tries;
    uint64_t answered;
    uint64_t broken;   /* a lease was had, and the question failed */
    uint64_t revoked;  /* of the answered and the broken, those whose lease had been taken away meanwhile */
    uint64_t timeouts; /* takes that had to wait for too long */
    uint64_t refused;  /* takes that were told the driver's error, or the server's condition */
    uint64_t strange;  /* takes with another status, gives that were refused: there must be none */
    uint64_t shared;   /* an object that had another user: there must be none */
    cen_status strange_status;
    char strange_text[256];
    char last_text[256];  /* of the last take that was refused */
    int64_t latest_ns;    /* a take came back so long after its deadline */
    int64_t sleeper_ns;   /* and a thread that only slept, after its own */
    int64_t warm_up_ns;   /* how long the first answers took that were awaited */
    cen_pool_stats stats; /* the pool's, at the end */
} load_counts;

typedef struct load load;

load *load_start(const load_plan *plan);

/* As they are now; the latencies and the pool's are filled in at the end only. */
load_counts load_look(load *self);

/* Waits until so many more were answered than now; returns how long that took. */
int64_t load_await_answers(load *self, uint64_t count);

/* Waits until `is_enough` says so of the counts. */
void load_await_trouble(load *self, bool (*is_enough)(const load_counts *counts));

/* Ends the threads and the load; closes and frees the pool. */
load_counts load_stop(load *self);

/* Whether it all held, and `recovery_ns`, if it is not negative, is at most `most_ns` and ten times `warm_up_ns`. */
void load_judge(const load_counts *counts, const char *campaign, int64_t recovery_ns, int64_t most_ns);

/* The same with a remark for the row: what else the campaign saw. */
void load_judge_saying(const load_counts *counts, const char *campaign, int64_t recovery_ns, int64_t most_ns,
                       const char *remark);

void campaign_sleep(int64_t ns);

#endif
