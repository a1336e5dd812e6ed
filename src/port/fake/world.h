/* SPDX-License-Identifier: MIT */
/*
 * A world: threads are fibers, time is a number, and a scheduler decides every switch between threads. It implements
 * port.h and the watched atomics for tests.
 *
 * A world runs one body to its end. At every atomic operation, copy of an element, allocation, futex call, clock
 * reading, thread start and join the running thread stops. These places are called points. At a point a plan chooses
 * one of the possible next steps:
 *     run       a thread that can go on performs the operation it stopped at
 *     drain     the oldest store in a thread's store buffer reaches
 *               memory (only with store buffers)
 *     hold      a store goes to the buffer instead of to memory (only with store buffers)
 *     expire    a sleeping thread's deadline passes; the clock moves to it
 *     spurious  a thread about to sleep is woken at once, spuriously
 *     stale     a load returns an older value, where C11 allows it (only weak)
 * When all threads sleep, the clock moves to the earliest deadline. If there is no deadline, that is a deadlock.
 *
 * Between two points a thread runs undisturbed. So plain memory must be ordered by atomics, as always;
 * ThreadSanitizer checks that part. Counters that a test shares between threads must be watched atomics too, or one
 * variable per thread: pruning considers two schedules equal if all watched operations saw the same values.
 *
 * A world detects: a data race on bytes that are copied or memory that is freed, by C11's happens-before (order.c); a
 * failed expectation; a deadlock, which includes a lost wake-up; too many steps (no progress); an access to freed
 * memory or to a stack frame that has returned; memory that is not freed at the end; threads that are not joined.
 */
#ifndef CENI_PORT_FAKE_WORLD_H
#define CENI_PORT_FAKE_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Running -------------------------------------------------------------- */

/* Run the body once. Each thread runs until it must wait, and time advances by itself. If a check fails, prints a
 * report and ends the process. */
void ceni_world_run(void (*body)(void));

/* The memory model. */
typedef enum ceni_memory {
    CENI_MEMORY_STRONG, /* sequentially consistent */
    CENI_MEMORY_TSO,    /* store buffers, as on x86 */
    CENI_MEMORY_WEAK,   /* loads may return stale values wherever C11 allows it */
} ceni_memory;

typedef struct ceni_exploration {
    void (*body)(void);
    unsigned preemptions; /* bound of the exhaustive search */
    ceni_memory memory;
    uint64_t seed;        /* of the random search */
    unsigned random_runs; /* 0: exhaustive; otherwise the number of random schedules (PCT) */
    unsigned changes;     /* priority changes per random schedule */
    bool unpruned;        /* run the schedules that pruning would skip: to test the pruning */
} ceni_exploration;

typedef struct ceni_explored {
    uint64_t run;    /* schedules run to their end */
    uint64_t pruned; /* schedules abandoned because their state had been seen */
    uint64_t steps;
    unsigned threads; /* the most that were alive at once */
} ceni_explored;

/* Run the body under every schedule of the plan. If a check fails, prints the story of that schedule and ends the
 * process. */
ceni_explored ceni_world_explore(const ceni_exploration *plan);

/* Run one schedule from a trace that was printed with a story, and print its story in any case. Returns false if the
 * trace is malformed. */
bool ceni_world_replay(const ceni_exploration *plan, const char *trace);

/* ---- From inside a body ------------------------------------------------------ */

/* Let all other threads run until they wait. Time stands still. */
void ceni_world_settle(void);

/* Advance the clock; sleepers whose deadline has passed can go on. */
void ceni_world_advance(int64_t ns);

/* The number of threads that wait, without the caller. */
unsigned ceni_world_waiting(void);

/* Bytes allocated through the library's allocator and not yet freed. */
size_t ceni_world_bytes(void);

/* The number of allocations since the world began. */
uint64_t ceni_world_allocations(void);

/* Set the number of processors that ceni_cpu_count returns from now on. */
void ceni_world_set_cpus(unsigned count);

/* Request that a thread ends, as pthread_cancel does with deferred cancellation. Only a wait that is a cancellation
 * point acts upon it. */
struct ceni_thread;
void ceni_world_cancel(struct ceni_thread thread);

/* From now on the world is a forked child: the epoch is different. Everything else, including the threads, is
 * unchanged. */
void ceni_world_fork(void);

/* From now on exit hooks cannot be armed, as in a system that has no key left. It saves steps in tests that are not
 * about the end of holders. */
void ceni_world_without_hooks(void);
void ceni_world_with_hooks(void);

/* Return true if the calling code runs inside a world. */
bool ceni_world_running(void);

/* Print the story so far, one column per thread. */
void ceni_world_story(void);

/* Report a fault that the world itself has detected, with the story, and end the process. */
__attribute__((noreturn, format(printf, 1, 2))) void ceni_world_fail(const char *format, ...);

#endif
