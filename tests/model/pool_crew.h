/* SPDX-License-Identifier: MIT */
/*
 * Fibers that take from pools while main does something else: each waits for a
 * task, does it, and leaves outcomes behind in the order in which they came.
 */
#ifndef TESTS_MODEL_POOL_CREW_H
#define TESTS_MODEL_POOL_CREW_H

#include "model/pool_twin.h"

/* Takes from the pool; holds the object for a time and gives it back, or, if
 * that time is KEEP, leaves the lease to main. */
typedef struct task {
    cen_pool *pool;
    cen_deadline deadline;
    int64_t hold_ns;
    bool discards;
    const char *where;
} task;

void crew_start(void);
void crew_end(void);

/* To a fiber (1 to FIBERS) that has nothing to do. */
void crew_send(int fiber, task what);

/* The next outcome that has not been asked for yet; NULL if there is none. */
const outcome *crew_outcome(int fiber);

/* Whether there is one. */
bool crew_has_outcome(int fiber);

/* The fiber's number in lists of holders. */
uint64_t crew_number(int fiber);

#endif
