/* SPDX-License-Identifier: MIT */
/*
 * The rules of the pool benchmark, for its C and C++ contestants.
 *
 * THREADS workers start together and loop { take; use; work; give } until the
 * time is over. Elapsed is the last worker's end less the first one's start,
 * both read by the workers. "Use" is a plain increment of the object's count,
 * which is looked at again before the give; so afterwards
 *   - the counts of all objects must add up to the pairs of all workers, and no
 *     worker may have seen another's increment: nobody shared an object;
 *   - main takes SIZE objects, which must be different ones, and then there must
 *     be no more: none was lost, and none doubled.
 *
 * A contestant includes lend_loop.h, which compiles the hot loop into it. Its
 * take waits at most LEND_PATIENCE_S, if it can, and then ends the program.
 */
#ifndef BENCH_RULES_LEND_H
#define BENCH_RULES_LEND_H

#include "bench.h"
#include "lengths.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LEND_PATIENCE_S 5
#define LEND_THREADS_MAX 1024

/* What is lent: two cache lines of its own, so that no contestant pays for a
 * neighbour's increments. */
struct lend_object {
    uint64_t uses;
    uint64_t index;
} __attribute__((aligned(128)));

struct lend_plan {
    unsigned threads, size;
    uint64_t work_ns;       /* between take and give */
    uint64_t steps;         /* as many steps of lend_spin take that long */
    int64_t time_ns;        /* of the run */
    bool asleep;            /* the work is sleep */
    bool waits;             /* every take is timed */
    int64_t max_barging_ns; /* cenote's option: 0 its default, -1 off; the others have none */
};

struct lend_worker {
    /* Fixed before the start. */
    const struct lend_plan *plan;
    unsigned number;
    /* Written by the worker when its loop has ended. */
    uint64_t pairs, clashes, noise;
    int64_t start_ns, end_ns;
    int64_t wait_longest_ns, wait_sum_ns;
    uint32_t *lengths; /* LENGTHS counts of waits, if they are timed */
} __attribute__((aligned(128)));

/* What a contestant brings; filled by lend_loop.h. A lease is whatever its take
 * filled and its give wants. */
struct lend_contestant {
    void (*make)(const struct lend_plan *plan); /* fills the pool with lend_objects */
    void (*enter)(struct lend_worker *worker);  /* in each worker before the start */
    void (*loop)(struct lend_worker *worker);
    struct lend_object *(*take)(void *lease);
    size_t lease_size;
    bool overtakes; /* it has the option max_barging_ns */
    bool no_pool;   /* objects belong to threads: nothing is lent, and main cannot take any */
};

struct lend_result {
    int64_t elapsed_ns;
    uint64_t pairs;
    double ns;                            /* elapsed by pairs */
    double smallest_share, largest_share; /* of a worker, in the mean of all */
    double cpus;                          /* used on average */
    double sleeps;                        /* voluntary switches in a second */
    int64_t wait_longest_ns, wait_mean_ns;
    double wait_p50_ns, wait_p99_ns;
};

extern struct lend_object *lend_objects; /* plan.size of them */
extern bool lend_over;                   /* the time is over; read by every turn of the loop */

/* Parses, runs, checks and prints one line of key=value; the result is main's.
 *     THREADS SIZE WORK-NS SECONDS [waits] [asleep] [strict | overtake=NS]
 * The answer has ns, smallest_share, largest_share, pairs, elapsed_ms, and with waits also wait_p50_us, wait_p99_us (counted by
 * length, see lengths.h), wait_max_ms and wait_mean_us. Two looks at the clock take longer than a take that need not wait, so a
 * run with waits says nothing of the cost of a pair.
 * The environment's BENCH_STEPS_PER_US says how much work fits into a
 * microsecond; without it that is measured first, and with the only argument
 * "calibrate" it is printed. */
int lend_main(int argc, char **argv, const struct lend_contestant *contestant);

/* The same in parts, for programs that measure more than one thing. lend_run
 * needs the contestant's pool made and ends the program if the check fails. */
struct lend_plan lend_parse(int argc, char **argv);
void lend_make(const struct lend_plan *plan, const struct lend_contestant *contestant);
struct lend_result lend_run(const struct lend_plan *plan, const struct lend_contestant *contestant);

/* `steps` steps of work; what is returned goes into the next call. Each step
 * needs the result of the one before it, and two of them are no simpler than
 * twice one, so that no compiler and no processor can shorten the chain. The
 * other languages have the same. */
uint64_t lend_spin(uint64_t steps, uint64_t noise);

#ifdef __cplusplus
}
#endif
#endif
