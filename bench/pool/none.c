/* SPDX-License-Identifier: MIT */
/*
 * No pool at all: every thread has an object of its own. Its "waits" are what
 * the scheduler alone does to a thread that asks for nothing; no pool on the
 * same machine can be expected to do better. SIZE must be THREADS at least.
 */
#include "../rules/lend.h"

typedef struct lend_object *pool_lease;

static _Thread_local struct lend_object *mine;

static void pool_make(const struct lend_plan *plan)
{
    if (plan->size < plan->threads) bench_fail("every thread needs an object of its own");
}

static void pool_enter(struct lend_worker *worker)
{
    mine = &lend_objects[worker->number];
}

static inline struct lend_object *pool_take(pool_lease *lease)
{
    return *lease = mine;
}

static inline void pool_give(pool_lease *lease)
{
    (void)lease;
}

#define LEND_OWN_MAIN
#include "../rules/lend_loop.h"

int main(int argc, char **argv)
{
    struct lend_contestant nothing = lend_pool();
    nothing.no_pool = true;
    return lend_main(argc, argv, &nothing);
}
