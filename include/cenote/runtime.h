/* SPDX-License-Identifier: MIT */
/*
 * A runtime: who keeps time for pools and makes the calls of their drivers
 * that may block.
 *
 * Nobody needs to make one. Pools that name none share the process' own, which
 * has no thread until something is to be done, and none after its last pool is
 * gone. An explicit one keeps the threads of one part of a program apart:
 *
 *     cen_runtime *runtime;
 *     cen_runtime_options options = CEN_RUNTIME_OPTIONS(.name = "orders");
 *     cen_runtime_new(&options, &runtime, &error);
 *     cen_pool_options orders = CEN_POOL_OPTIONS(.driver = driver, .runtime = runtime);
 *     // ...
 *     cen_runtime_free(runtime);          // after its pools
 *
 * A manual one has no threads at all: the program calls it from its own loop.
 *
 *     struct pollfd fds[] = {{cen_runtime_fd(runtime), POLLIN, 0}, {socket, POLLIN, 0}};
 *     for (;;) {
 *         int64_t ns = cen_runtime_poll(runtime);            // runs what is due; when to come again
 *         poll(fds, 2, ns < 0 ? -1 : (int)(ns / 1000000) + 1);
 *     }
 *
 * A pollable (cenote/pollable.h) has a manual runtime in it, whose deadlines make its descriptor readable.
 *
 * A thread that waits in cen_pool_take for a pool of a manual runtime runs what
 * is due meanwhile itself. Drivers that may block need threads: cen_pool_new
 * refuses them here.
 *
 * With virtual time a manual runtime's clock stands still until the program
 * moves it: so that timeouts, intervals and back-off can be tested without
 * sleeping.
 *
 * Threads: every function may be called from any thread. A runtime's threads
 * block all signals and have the system's stack size.
 * Fork: the child of a fork has none of the threads. The process' own runtime is
 * made anew there; an explicit one answers FORKED, and free gives its memory back.
 */
#ifndef CENOTE_RUNTIME_H
#define CENOTE_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/allocator.h>
#include <cenote/deadline.h>
#include <cenote/executor.h>
#include <cenote/sized.h>
#include <cenote/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cen_runtime cen_runtime;

/* Zero means default in every field. Fields are only ever appended. */
typedef struct cen_runtime_options {
    size_t size;       /* sizeof(cen_runtime_options), set by the macro */
    const char *name;  /* copied; the threads' names begin with it; default "cenote" */
    bool manual;       /* no threads; the program polls */
    bool virtual_time; /* the clock moves by cen_runtime_advance only; needs manual */
    /* how long a helper thread without work stays; default 10 s, CEN_OFF: for ever, CEN_NONE: it ends at once */
    int64_t idle_timeout_ns;
    const cen_allocator *allocator; /* default malloc */
    int32_t max_helpers; /* driver calls at a time, on helper threads; default 256, at least 2, CEN_OFF: no limit */
} cen_runtime_options;

#define CEN_RUNTIME_OPTIONS(...) CEN_OPTIONS_(cen_runtime_options, __VA_ARGS__)

/* Errors: INVALID (the text names the field), NO_MEMORY, SYSTEM. */
CEN_API cen_status cen_runtime_new(const cen_runtime_options *options, cen_runtime **out, cen_error *error);

/* Ends the threads, waits for them and gives the memory back. NULL is allowed.
 * Errors: BUSY (a pool that uses it has not been freed, something of one is
 * still out, a timer or a job is still to come, or another thread polls it), MISUSE (from one of its own threads, or
 * from within its poll): nothing changes. */
CEN_API cen_status cen_runtime_free(cen_runtime *runtime);

/* Wait until no helper thread of the runtime is in a call and no call is queued.
 * NULL: no thread of cenote is in a call of a driver, a completion callback or a
 * job, in any runtime or poller, none is ending, and nothing is queued in the process' own runtime.
 *
 * A program that frees its pools and then unloads or finalises a client library
 * calls it in between: cen_pool_free does not wait for a driver call that hangs. The exit handler
 * does the same, with a timeout: see cen_runtime_exit_timeout_set.
 *
 * Blocking: until then, or until the deadline (CEN_DEFAULT: CEN_NEVER).
 * Returns:
 *   CEN_OK
 *   CEN_TIMEOUT  the deadline passed first
 *   CEN_MISUSE   called from a driver call, a completion callback or a job on a thread of cenote
 *   CEN_INVALID  a manual runtime has no threads
 *   CEN_FORKED   the runtime is the parent's */
CEN_API cen_status cen_runtime_wait_idle(cen_runtime *runtime, cen_deadline deadline);

/* Set how long exit waits for threads of cenote that are in a call, in
 * nanoseconds; default (0) 2 s, CEN_NONE: exit does not wait, CEN_OFF: it waits without a limit. It holds for the process.
 *
 * exit, and return from main, run a handler of cenote. From then on no driver
 * call, job or watch begins on a thread of cenote. Calls that run are cancelled
 * where the driver can (cancel_all in cenote/driver.h) and awaited. The call that called exit is not
 * awaited. Nothing is closed and nothing is freed.
 * Handlers run last in, first out. The handler is registered again after the
 * first `prepare` or `init` of each driver, so it runs before those that a client
 * library registers there. A program whose jobs use a library with such a handler (OpenSSL)
 * initialises it before its first pool or job. quick_exit and _exit run no handler.
 * Returns:
 *   CEN_OK
 *   CEN_INVALID  ns is negative, and neither CEN_OFF nor CEN_NONE; or it is 1 to 99,999 */
CEN_API cen_status cen_runtime_exit_timeout_set(int64_t ns);

/* Set how many driver calls a runtime makes at a time on helper threads; NULL: the process' own, now and whenever it is made
 * again. Values are those of cen_runtime_options.max_helpers, 0 is the default, 256. Calls that run are not ended.
 *
 * At the limit calls wait, in this order: those of pools whose last call succeeded, closings, and those of pools whose last call
 * failed or takes too long or that have made none; one in eight is one of the last all the same. One helper is kept for closings,
 * and a quarter of them for pools whose last call succeeded. One pool makes at most half as many calls at a time as the
 * limit allows, closings aside. So a server that does not answer cannot stop another pool.
 * A take that times out meanwhile says that it waited for a helper. Jobs of the executor, listeners and name
 * lookups are not limited.
 * Returns:
 *   CEN_OK
 *   CEN_INVALID  max_helpers is 1, or negative and not CEN_OFF
 *   CEN_FORKED   the runtime is the parent's */
CEN_API cen_status cen_runtime_max_helpers_set(cen_runtime *runtime, int32_t max_helpers);

/* Runs everything that is due in a manual runtime, on this thread, and answers
 * in how many nanoseconds to come again: when something will be due, or a little
 * earlier if that is far away; 0 at once, -1 nothing is foreseen. Work that makes
 * ever more work does not keep it: it answers 0 after some thousand calls.
 * One thread at a time runs; a second that polls meanwhile, or a call from within,
 * runs nothing and answers 0. In a runtime with threads, or a parent's, it does
 * nothing and answers -1. */
CEN_API int64_t cen_runtime_poll(cen_runtime *runtime);

/* A descriptor that is readable when a manual runtime has something to do
 * earlier than the last poll said; -1 if it has none. poll makes it unreadable. */
CEN_API int cen_runtime_fd(cen_runtime *runtime);

/* The runtime's clock, in nanoseconds: that of cen_clock, or the virtual one. NULL: the process' own runtime. */
CEN_API int64_t cen_runtime_now(const cen_runtime *runtime);

/* Moves virtual time by `ns` and runs all that becomes due on the way, each at
 * its moment. Threads that wait for a pool of this runtime notice within some
 * milliseconds. Waits while another thread polls.
 * Errors: INVALID (not a virtual clock, or ns is negative), MISUSE (from within
 * what it runs, or what poll runs), FORKED. */
CEN_API cen_status cen_runtime_advance(cen_runtime *runtime, int64_t ns);

/* The runtime as an executor. Jobs run on its helper threads, where they may
 * block: one never holds up another, and none has an order among the others. In
 * a manual runtime they run in poll and advance, one after the other, as they were
 * posted. Posting allocates nothing and cannot fail: if no thread can be had the
 * job waits for the helpers there are, for the next post, or for the keeper,
 * which tries ten times a second.
 *
 * NULL: the process' own runtime. Each job counts as a user of it from post until
 * it has returned, so the runtime is there while there are jobs, and goes
 * with the last: whoever posts now and then, and has no pool or actor, has threads
 * begun and ended for each job. If there is no memory to make it, the job waits for
 * the next post, or for the next pool or actor that uses it.
 *
 * An explicit one is freed when no job is queued; free waits for jobs that run,
 * which may post more. In the child of a fork, jobs that are posted to the
 * parent's runtime run on the child's own; those of before the fork are the parent's. */
CEN_API cen_executor *cen_runtime_executor(cen_runtime *runtime);

typedef struct cen_runtime_stats {
    size_t size;      /* sizeof(cen_runtime_stats), set by CEN_SIZED */
    uint32_t users;   /* pools, actors, timers, and jobs posted to the process' own */
    uint32_t helpers; /* threads for calls that may block */
    uint32_t busy;    /* of these, in a call */
    uint32_t queued;  /* calls that wait for a helper */
    uint32_t timers;
    bool has_keeper;      /* the thread that keeps time is there */
    uint32_t waiting;     /* of the calls that are queued: wait because max_helpers is reached */
    uint32_t max_helpers; /* UINT32_MAX: no limit */
} cen_runtime_stats;

/* NULL: the process' own; all zero if there is none now. Error: INVALID (out is NULL), FORKED. */
CEN_API cen_status cen_runtime_stats_get(cen_runtime *runtime, cen_runtime_stats *out);

#ifdef __cplusplus
}
#endif
#endif
