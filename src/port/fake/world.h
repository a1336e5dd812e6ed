/* SPDX-License-Identifier: MIT */
/*
 * A world: threads as fibers, time as a number, and a scheduler that decides
 * every switch. It implements port.h and the watched atomics for tests.
 *
 * A world runs one body to its end. At every atomic operation, copy of an
 * element, allocation, futex call, clock reading, thread start and join the running thread stops and a plan
 * chooses one of the possible next steps:
 *     run       a thread that can go on does the operation it stopped at
 *     drain     the oldest store waiting in a thread's store buffer reaches
 *               memory (only with store buffers)
 *     hold      a store goes to the buffer instead of to memory (only with store buffers)
 *     expire    a sleeping thread's deadline passes; the clock moves to it
 *     spurious  a thread about to sleep is woken at once, for no reason
 *     stale     a load returns an older value, where C11 lets it (only weak)
 * Whoever has nothing else to do sleeps; when all sleep, the clock moves to
 * the earliest deadline; when there is none, that is a deadlock.
 *
 * Between two such points a thread runs undisturbed, so plain memory must be
 * ordered by atomics, as it must be anyway; ThreadSanitizer checks that part.
 * What a test counts across threads belongs into watched atomics too, or into
 * one variable per thread: pruning takes two schedules for the same when all
 * watched operations saw the same.
 *
 * A world notices: a data race on bytes that are copied or memory that is
 * freed, by C11's happens-before (order.c); a failed expectation; deadlock (a
 * lost wake-up is one); too many steps (no progress); a touch of freed memory
 * or of a stack frame that is gone; memory not freed at the end; threads not
 * joined.
 */
#ifndef CENI_PORT_FAKE_WORLD_H
#define CENI_PORT_FAKE_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Running -------------------------------------------------------------- */

/* Runs the body once, each thread until it must wait, time moving by itself.
 * Ends the process with a report if anything is wrong. */
void ceni_world_run(void (*body)(void));

/* What memory does. */
typedef enum ceni_memory {
    CENI_MEMORY_STRONG, /* sequentially consistent */
    CENI_MEMORY_TSO,    /* store buffers, as x86 has them */
    CENI_MEMORY_WEAK,   /* loads may return stale values wherever C11 lets them */
} ceni_memory;

typedef struct ceni_exploration {
    void (*body)(void);
    unsigned preemptions; /* bound of the exhaustive search */
    ceni_memory memory;
    uint64_t seed;        /* of the random search */
    unsigned random_runs; /* 0: exhaustive; else so many random schedules (PCT) */
    unsigned changes;     /* priority changes per random schedule */
    bool unpruned;        /* runs what pruning would leave out: to test the pruning */
} ceni_exploration;

typedef struct ceni_explored {
    uint64_t run;    /* schedules run to their end */
    uint64_t pruned; /* schedules given up because their state had been seen */
    uint64_t steps;
    unsigned threads; /* the most that were alive at once */
} ceni_explored;

/* Runs the body under every schedule of the plan. Ends the process with the
 * story of the first schedule in which something is wrong. */
ceni_explored ceni_world_explore(const ceni_exploration *plan);

/* Runs one schedule from a trace as printed with a story, and prints its
 * story whatever the outcome. False if the trace cannot be read. */
bool ceni_world_replay(const ceni_exploration *plan, const char *trace);

/* ---- From inside a body ------------------------------------------------------ */

/* Lets everybody else run until all of them wait. Time stands still. */
void ceni_world_settle(void);

/* Moves the clock; those whose deadline has come can go on. */
void ceni_world_advance(int64_t ns);

/* Threads that wait at the moment, the caller not counted. */
unsigned ceni_world_waiting(void);

/* Bytes allocated through the library's allocator and not yet freed. */
size_t ceni_world_bytes(void);

/* Allocations made since the world began. */
uint64_t ceni_world_allocations(void);

/* Processors the world pretends to have from now on. */
void ceni_world_set_cpus(unsigned count);

/* Asks a thread to end, as pthread_cancel does with a thread whose requests are deferred. Only a wait that is a
 * cancellation point heeds it. */
struct ceni_thread;
void ceni_world_cancel(struct ceni_thread thread);

/* From now on the world is the child of a fork: the epoch is another, and
 * everything else, threads too, is as it was. */
void ceni_world_fork(void);

/* Hooks for the end of a thread cannot be armed from now on, as in a system
 * that has no key left: fewer steps, in tests that are not about owners. */
void ceni_world_without_hooks(void);
void ceni_world_with_hooks(void);

/* Whether the calling code runs inside a world. */
bool ceni_world_running(void);

/* Prints what happened so far, one column per thread. */
void ceni_world_story(void);

/* Reports a fault that the world itself noticed, with the story, and ends the process. */
__attribute__((noreturn, format(printf, 1, 2))) void ceni_world_fail(const char *format, ...);

#endif
