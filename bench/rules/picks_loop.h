/* SPDX-License-Identifier: MIT */
/*
 * PICKS(name, use, index) makes name_loop and name_check of
 *
 *     static inline TYPE *use(void *set, struct pick_worker *worker);      one use, answers what was picked
 *     static unsigned index(void *set, const TYPE *picked);                its number
 *
 * so that each contestant's use is compiled into its own loop. What was picked
 * is not touched in the timed one.
 */
#ifndef BENCH_RULES_PICKS_LOOP_H
#define BENCH_RULES_PICKS_LOOP_H

#include "picks.h"

#define PICKS_BATCH 256 /* between looks at the clock */

#define PICKS(name, use, index) \
    static inline __attribute__((always_inline)) void name##_batch(void *set, struct pick_worker *worker) \
    { \
        for (unsigned i = 0; i < PICKS_BATCH; i++) { \
            const void *picked = use(set, worker); \
            __asm__ volatile("" : : "r"(picked)); \
        } \
    } \
    static __attribute__((noinline, aligned(64))) void name##_loop(struct pick_worker *worker) \
    { \
        void *set = worker->set; \
        uint64_t picks = 0; \
        name##_batch(set, worker); /* what a thread's first use needs is not measured */ \
        bench_line_up(); \
        worker->start = worker->end = bench_now(); \
        while (worker->end - worker->start < worker->length) { \
            name##_batch(set, worker); \
            picks += PICKS_BATCH; \
            worker->end = bench_now(); \
        } \
        worker->picks = picks; \
    } \
    static void name##_check(struct pick_worker *worker, uint64_t picks) \
    { \
        for (uint64_t i = 0; i < picks; i++) pick_note(worker, index(worker->set, use(worker->set, worker))); \
    }

#endif
