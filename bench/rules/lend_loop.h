/* SPDX-License-Identifier: MIT */
/*
 * The hot loop of a C or C++ pool contestant. Include it last, after a type
 * and these four static functions:
 *
 *     pool_lease              what a holder needs to give back; a pointer to the object will often do
 *     pool_make(plan)         makes the one pool and puts lend_objects[0 .. plan->size - 1] in
 *     pool_enter(worker)      in each worker before the start, for per-thread tokens
 *     pool_take(lease)        waits for an object, fills *lease, returns the object
 *     pool_give(lease)
 *
 * main comes with it, unless LEND_OWN_MAIN is defined; then lend_loop can be
 * used with other functions too.
 */
#ifndef BENCH_RULES_LEND_LOOP_H
#define BENCH_RULES_LEND_LOOP_H

#include "lend.h"

static inline uint64_t lend_work(const struct lend_plan *plan, uint64_t noise)
{
    if (plan->asleep) {
        bench_sleep((int64_t)plan->work_ns);
        return noise;
    }
    return lend_spin(plan->steps, noise);
}

/* Always inlined, with constants for the two functions: they are compiled into the loop. */
static inline __attribute__((always_inline)) void
lend_loop(struct lend_worker *worker, struct lend_object *(*take)(pool_lease *lease), void (*give)(pool_lease *lease))
{
    const struct lend_plan plan = *worker->plan;
    uint64_t pairs = 0, clashes = 0, noise = worker->number + 1;
    uint32_t *const lengths = worker->lengths;
    int64_t longest = 0, sum = 0, asked = 0;
    pool_lease lease;
    int64_t start = bench_now();
    do {
        if (plan.waits) asked = bench_now();
        struct lend_object *object = take(&lease);
        if (plan.waits) {
            int64_t waited = bench_now() - asked;
            longest = waited > longest ? waited : longest;
            sum += waited;
            lengths[length_of(waited)]++;
        }
        uint64_t uses = ++object->uses;
        if (plan.work_ns != 0) noise = lend_work(&plan, noise);
        clashes += *(volatile uint64_t *)&object->uses != uses;
        give(&lease);
        pairs++;
    } while (!__atomic_load_n(&lend_over, __ATOMIC_RELAXED));
    worker->end_ns = bench_now();
    worker->start_ns = start;
    worker->pairs = pairs;
    worker->clashes = clashes;
    worker->noise = noise;
    worker->wait_longest_ns = longest;
    worker->wait_sum_ns = sum;
}

static void lend_pool_loop(struct lend_worker *worker)
{
    lend_loop(worker, pool_take, pool_give);
}

static struct lend_object *lend_pool_take(void *lease)
{
    return pool_take((pool_lease *)lease);
}

static inline struct lend_contestant lend_pool(void)
{
    struct lend_contestant filled = {pool_make,          pool_enter, lend_pool_loop, lend_pool_take,
                                     sizeof(pool_lease), false,      false};
    return filled;
}

#ifndef LEND_OWN_MAIN
int main(int argc, char **argv)
{
    struct lend_contestant contestant = lend_pool();
    return lend_main(argc, argv, &contestant);
}
#endif

#endif
