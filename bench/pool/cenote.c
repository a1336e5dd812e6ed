/* SPDX-License-Identifier: MIT */
/*
 * cenote's own pool, through the shared library as users link it: an eager pool
 * of cheap objects with default settings, and a deadline with every take.
 *
 *     pool-cenote THREADS SIZE WORK-NS SECONDS [waits] [asleep] [strict | overtake=NS]
 *     pool-cenote floor THREADS SIZE ROUNDS SECONDS
 *
 * The second measures the floors beside the pool, in one process and in turns:
 * every thread has an atomic word of its own, which it takes by compare-and-swap
 * and gives by exchange, or by compare-and-swap too. No pool that looks at its
 * slot before it takes it, and at its lease before it gives it, can do with less.
 *
 * Before anything is measured it is made sure that what costs time is there:
 * see features.h.
 */
#include <stdio.h>
#include <string.h>

#include "features.h"
#include "ours.h"

#define ROUNDS_MAX 101

/* ---- The contestant ------------------------------------------------------ */

static void pool_make(const struct lend_plan *plan)
{
    cen_pool *subject = ours_new(1, plan->max_barging_ns, NULL);
    assert_features(subject);
    cen_pool_free(subject);
    pool = ours_new(plan->size, plan->max_barging_ns, NULL);
}

static void pool_enter(struct lend_worker *worker)
{
    (void)worker;
}

#define LEND_OWN_MAIN
#include "../rules/lend_loop.h"

/* ---- The floors ---------------------------------------------------------- */

struct word {
    uint64_t owner;
} __attribute__((aligned(128)));

static struct word *words;
static _Thread_local uint64_t mine; /* the thread's number: which word, and what is written there */

static void words_make(const struct lend_plan *plan)
{
    if (plan->size < plan->threads) bench_fail("the floor needs a word for every thread");
    words = bench_zeroed(plan->size, sizeof *words);
}

static void words_enter(struct lend_worker *worker)
{
    mine = worker->number;
}

static inline struct lend_object *word_take(cen_lease *lease)
{
    uint64_t none = 0;
    if (!__atomic_compare_exchange_n(&words[mine].owner, &none, mine + 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        bench_fail("somebody else has the word");
    return lease->object = &lend_objects[mine];
}

static inline void word_give_by_exchange(cen_lease *lease)
{
    (void)lease;
    if (__atomic_exchange_n(&words[mine].owner, 0, __ATOMIC_SEQ_CST) != mine + 1)
        bench_fail("somebody else has the word");
}

static inline void word_give_by_compare(cen_lease *lease)
{
    uint64_t expected = mine + 1;
    (void)lease;
    if (!__atomic_compare_exchange_n(&words[mine].owner, &expected, 0, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        bench_fail("somebody else has the word");
}

static void exchange_loop(struct lend_worker *worker)
{
    lend_loop(worker, word_take, word_give_by_exchange);
}

static void compare_loop(struct lend_worker *worker)
{
    lend_loop(worker, word_take, word_give_by_compare);
}

/* The three in turns; medians of the rounds, and the median of the rounds' ratios. */
static int measure_floors(const struct lend_plan *plan, unsigned rounds)
{
    struct lend_contestant runners[3] = {
        lend_pool(),
        {words_make, words_enter, exchange_loop, NULL, sizeof(pool_lease), false, true},
        {words_make, words_enter, compare_loop, NULL, sizeof(pool_lease), false, true}};
    int64_t ps[3][ROUNDS_MAX], ratio[ROUNDS_MAX];
    for (int i = 0; i < 2; i++) /* the floors share their words */
        lend_make(plan, &runners[i]);
    for (unsigned round = 0; round < rounds; round++) {
        for (int i = 0; i < 3; i++) ps[i][round] = (int64_t)(1000 * lend_run(plan, &runners[i]).ns);
        ratio[round] = 1000 * ps[0][round] / ps[1][round];
    }
    printf("cenote_ns=%.2f exchange_ns=%.2f compare_ns=%.2f", (double)bench_median(ps[0], rounds) / 1000,
           (double)bench_median(ps[1], rounds) / 1000, (double)bench_median(ps[2], rounds) / 1000);
    double middle = (double)bench_median(ratio, rounds) / 1000;
    printf(" ratio=%.3f ratio_min=%.3f ratio_max=%.3f\n", middle, (double)ratio[0] / 1000,
           (double)ratio[rounds - 1] / 1000);
    return 0;
}

int main(int argc, char **argv)
{
    struct lend_contestant cenote = lend_pool();
    cenote.overtakes = true;
    if (argc != 6 || strcmp(argv[1], "floor") != 0) return lend_main(argc, argv, &cenote);
    char *words_of_plan[] = {argv[0], argv[2], argv[3], "0", argv[5]};
    struct lend_plan plan = lend_parse(5, words_of_plan);
    return measure_floors(&plan, (unsigned)bench_number(argv[4], 1, ROUNDS_MAX));
}
