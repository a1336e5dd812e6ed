/* SPDX-License-Identifier: MIT */
/*
 * The rules for task pools: what is measured, how it is checked, arguments.
 *
 *     crew-PEER CELL SECONDS [warm=SECONDS]
 *
 * All have two workers. A cell goes in rounds until its time is over, and the
 * figure is the median of the rounds; those of the warm-up are thrown away.
 *
 *   submit1, submit2  one or two threads outside submit 98,304 empty tasks; from
 *                     the first submit until the last has run, by tasks
 *   chain             a task submits the next, 1,000 in a row; by links
 *   pairs             a task submits 1,000 others, each of which submits its
 *                     partner and goes on when that one has answered; by pairs
 *   spawn             a task submits 10,000; by tasks
 *   yield             200 tasks let others go first 1,000 times each; by yields
 *   result, idle10    a thread outside submits one and waits for its result, back
 *                     to back, or after 10 ms in which nothing happened
 *   inside            a task submits another and waits for it
 *   idle              nothing is submitted for SECONDS; what CPU that costs
 *
 * Chain, pairs, spawn and yield are the usual benchmarks of schedulers, as tokio
 * has them. Their times are taken by the tasks themselves, so that nobody
 * outside has to be woken within them. Where a task cannot wait or yield without keeping its
 * worker, it is submitted again instead.
 *
 * An empty task only counts its own run, in its own cache line. So the count is
 * exact, costs nobody but the one who runs it, and tells who ran twice or never.
 * The last one is found by looking at all of them in turn, asleep for 50 us
 * between looks: whoever spins takes a core from the workers.
 *
 * There are 8,192 structs for them, which come round and round as a program's
 * would; a producer that comes to one that is not over sleeps as long. So nobody is
 * measured by how it gets on with a backlog that no cache holds.
 *
 * The Rust, Go and Java contestants follow this in their own words.
 */
#ifndef BENCH_RULES_TASKS_H
#define BENCH_RULES_TASKS_H

#include "bench.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TASKS_WORKERS 2
#define TASKS_SLOTS 8192
#define TASKS_TIMES 12 /* that each is used in a round */
#define TASKS_SUBMITTED (TASKS_SLOTS * TASKS_TIMES)
#define TASKS_CHAINED 1000
#define TASKS_PAIRS 1000
#define TASKS_SPAWNED 10000
#define TASKS_YIELDING 200
#define TASKS_YIELDS 1000
#define TASKS_INSIDE 10000 /* children of one task, one after the other */
#define TASKS_COUNT 10001  /* tasks there are: as many as the largest cell needs */
#define TASKS_LOOK_NS 50000

enum tasks_cell {
    CELL_SUBMIT1,
    CELL_SUBMIT2,
    CELL_CHAIN,
    CELL_PAIRS,
    CELL_SPAWN,
    CELL_YIELD,
    CELL_RESULT,
    CELL_IDLE10,
    CELL_INSIDE,
    CELL_IDLE,
    CELLS
};

/* What tasks_loop.h makes of a contestant. Tasks have numbers. */
struct tasks_contestant {
    void (*make)(enum tasks_cell cell);            /* the pool, and TASKS_COUNT tasks */
    void (*produce)(uint32_t first, uint32_t end); /* outside: submits these, TASKS_TIMES each */
    void (*finish)(void);                          /* outside: whatever must be done until they have run */
    uint32_t (*runs)(uint32_t number);             /* how often that one has run */
    void (*start)(enum tasks_cell cell);           /* submits a round's first task, from outside */
    void (*result)(void);                          /* submits task 0 from outside and waits for it */
    unsigned can;                                  /* cells, by 1 << number */
};

int tasks_main(int argc, char **argv, const struct tasks_contestant *contestant);

/* Sleeps and looks until that task has run so often, or ends the program. */
void tasks_await(uint32_t number, uint32_t runs);

/* Called by the tasks of a round: by the first, and by the last. */
void tasks_began(void);
void tasks_ended(void);

#ifdef __cplusplus
}
#endif
#endif
