/* SPDX-License-Identifier: MIT */
/*
 * Planted bugs for the harness: a pool that once, chosen by BENCH_BROKEN, lends
 * an object that it has lent already (double), forgets one that is given (lose)
 * or puts another in its place (confuse). The driver runs it first and goes on
 * only if each is refused and the sound one passes.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "../rules/lend.h"

#define VICTIM 100 /* which take or give goes wrong */
#define PATIENCE_NS 300000000

typedef struct lend_object *pool_lease;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct lend_object **objects; /* idle ones lie in a ring, so that a doubled one meets itself */
static unsigned size, room, head, idle, takes, gives;
static const char *fault;

static void put(struct lend_object *object)
{
    objects[(head + idle++) % room] = object;
}

static void pool_make(const struct lend_plan *plan)
{
    fault = getenv("BENCH_BROKEN");
    fault = fault != NULL ? fault : "";
    size = plan->size;
    room = size + 1;
    objects = bench_zeroed(room, sizeof *objects);
    for (unsigned i = 0; i < size; i++) put(&lend_objects[i]);
}

static void pool_enter(struct lend_worker *worker)
{
    (void)worker;
}

static struct lend_object *pool_take(pool_lease *lease)
{
    int64_t until = bench_now() + PATIENCE_NS;
    for (*lease = NULL; *lease == NULL; sched_yield()) {
        pthread_mutex_lock(&mutex);
        if (idle > 0) {
            *lease = objects[head++ % room];
            idle--;
            if (++takes == VICTIM && strcmp(fault, "double") == 0) put(*lease);
        }
        pthread_mutex_unlock(&mutex);
        if (bench_now() > until) bench_fail("a take waited too long");
    }
    return *lease;
}

static void pool_give(pool_lease *lease)
{
    pthread_mutex_lock(&mutex);
    if (++gives != VICTIM) put(*lease);
    else if (strcmp(fault, "confuse") == 0) put(&lend_objects[((*lease)->index + 1) % size]);
    else if (strcmp(fault, "lose") != 0) put(*lease);
    pthread_mutex_unlock(&mutex);
}

#include "../rules/lend_loop.h"
