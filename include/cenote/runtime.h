/* SPDX-License-Identifier: MIT */
/*
 * A runtime: the timers and helper threads of pools. It keeps track of their deadlines, and makes driver calls that may
 * block.
 *
 * A program need not create a runtime. Pools that do not name a runtime share the process's own. That runtime has no
 * threads until there is something to do, and no threads once its last pool is freed. An explicit runtime keeps the
 * threads of one part of a program separate:
 *
 *     cen_runtime *runtime;
 *     cen_runtime_options options = CEN_RUNTIME_OPTIONS(.name = "orders");
 *     cen_runtime_new(&options, &runtime, &error);
 *     cen_pool_options orders = CEN_POOL_OPTIONS(.driver = driver, .runtime = runtime);
 *     // ...
 *     cen_runtime_free(runtime);          // after its pools
 *
 * A manual runtime has no threads. The program polls it from its own loop:
 *
 *     struct pollfd fds[] = {{cen_runtime_fd(runtime), POLLIN, 0}, {socket, POLLIN, 0}};
 *     for (;;) {
 *         int64_t ns = cen_runtime_poll(runtime);            // runs what is due; returns when to call again
 *         poll(fds, 2, ns < 0 ? -1 : (int)(ns / 1000000) + 1);
 *     }
 *
 * A pollable (cenote/pollable.h) contains a manual runtime. When a deadline of that runtime passes, the pollable's
 * descriptor becomes readable.
 *
 * While a thread waits in cen_pool_take for a pool of a manual runtime, it runs whatever is due. Drivers that may block
 * need threads, so cen_pool_new refuses such drivers if the runtime is manual.
 *
 * With virtual time, the clock of a manual runtime stands still until the program advances it. This allows timeouts,
 * intervals and back-off to be tested without sleeping.
 *
 * Threads: every function may be called from any thread. The threads of a runtime block all signals and have the
 * system's default stack size.
 * Fork: a forked child has none of the threads. The process's own runtime is created again in the child. Calls for an
 * explicit runtime return FORKED, except that cen_runtime_free frees the runtime's memory.
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

/* In every field, zero means the default. Fields are only ever appended. */
typedef struct cen_runtime_options {
    size_t size;       /* sizeof(cen_runtime_options), set by the macro */
    const char *name;  /* copied; the threads' names begin with it; default "cenote" */
    bool manual;       /* no threads; the program polls */
    bool virtual_time; /* the clock is moved only by cen_runtime_advance; requires `manual` */
    /* idle timeout of a helper thread; default 10 s, CEN_OFF: it never ends, CEN_NONE: it ends immediately */
    int64_t idle_timeout_ns;
    const cen_allocator *allocator; /* default malloc */
    /* maximum number of driver calls on helper threads at a time; default 256, at least 2, CEN_OFF: no limit */
    int32_t max_helpers;
} cen_runtime_options;

/* Options with the given fields: CEN_RUNTIME_OPTIONS(.name = "orders"). All others are zero. */
#define CEN_RUNTIME_OPTIONS(...) CEN_OPTIONS_(cen_runtime_options, __VA_ARGS__)

/* Create a runtime. No thread is started yet.
 * Returns:
 *   OK
 *   INVALID    out is NULL, or an option is invalid; the text names it
 *   NO_MEMORY
 *   SYSTEM     no descriptor could be created for a manual runtime
 */
CEN_API cen_status cen_runtime_new(const cen_runtime_options *options, cen_runtime **out, cen_error *error);

/* End the threads, wait for them and free the memory. NULL is allowed. With any status other than OK, nothing changes.
 * Returns:
 *   OK
 *   BUSY    the runtime is still in use: by a pool that has not been freed or whose objects have not all been given
 *           back, by a pending timer or job, or by another thread that is polling it
 *   MISUSE  called on one of its threads, or from within its poll call
 */
CEN_API cen_status cen_runtime_free(cen_runtime *runtime);

/* Wait until no helper thread of the runtime is in a call and no call is queued. NULL: wait until, in all runtimes and
 * pollers, no thread of the library is in a driver call, a completion callback or a job, none of these threads is
 * ending, and nothing is queued in the process's own runtime.
 *
 * A program that frees its pools and then unloads or finalises a client library must call this function in between,
 * because cen_pool_free does not wait for a driver call that hangs. The exit handler waits in the same way, but with a
 * timeout: see cen_runtime_exit_timeout_set.
 *
 * Blocking: until the runtime is idle, or until the deadline (CEN_DEFAULT: CEN_NEVER).
 * Returns:
 *   OK
 *   TIMEOUT  the deadline passed first
 *   MISUSE   called from a driver call, a completion callback or a job on a thread of the library
 *   INVALID  the runtime is manual, so it has no threads
 *   FORKED   the runtime belongs to the parent process
 */
CEN_API cen_status cen_runtime_wait_idle(cen_runtime *runtime, cen_deadline deadline);

/* Set how long exit waits for threads of the library that are in a call, in nanoseconds. Default (0): 2 s. CEN_NONE:
 * exit does not wait. CEN_OFF: exit waits without a limit. The setting applies to the whole process.
 *
 * Calling exit, or returning from main, runs a handler of the library. Once the handler runs, no driver call, job or
 * watch callback begins on a thread of the library. Calls in progress are cancelled if the driver supports this
 * (cancel_all in cenote/driver.h), and the handler waits for them. It does not wait for a call that has itself called
 * exit. Nothing is closed or freed.
 *
 * Exit handlers run last in, first out. The handler is registered again after the first `prepare` or `init` of each
 * driver, so it runs before any handlers that a client library registers during those calls. A program whose jobs use a
 * library with such a handler (such as OpenSSL) must initialise that library before it creates its first pool or posts
 * its first job. quick_exit and _exit do not run the handler.
 * Returns:
 *   OK
 *   INVALID  ns is negative and neither CEN_OFF nor CEN_NONE, or ns is 1 to 99,999
 */
CEN_API cen_status cen_runtime_exit_timeout_set(int64_t ns);

/* Set the maximum number of driver calls that a runtime makes at a time on helper threads. NULL: the process's own
 * runtime, both now and whenever it is created again. Takes the same values as cen_runtime_options.max_helpers; 0 means
 * the default, 256. Calls in progress are not interrupted.
 *
 * When the limit is reached, further calls wait. The waiting calls then begin in this order:
 *   - calls of pools whose last call succeeded
 *   - closes
 *   - calls of pools whose last call failed or is taking too long, or that have not made any; one call in eight comes
 *     from this group
 * One helper is reserved for closes. A quarter of the helpers are reserved for pools whose last call succeeded. Apart
 * from closes, one pool makes at most half as many calls at a time as the limit allows. As a result, a server that does
 * not reply cannot bring another pool to a standstill. If a take times out because no helper is free, the error text
 * says so.
 *
 * Jobs of the executor, listeners and name lookups are not limited.
 * Returns:
 *   OK
 *   INVALID  max_helpers is 1, or negative and not CEN_OFF
 *   FORKED   the runtime belongs to the parent process
 */
CEN_API cen_status cen_runtime_max_helpers_set(cen_runtime *runtime, int32_t max_helpers);

/* Run everything that is due in a manual runtime, on this thread. Return the number of nanoseconds after which to call
 * this again. This is the time until something is due, or a little less if that time is long. 0: call this again
 * immediately. -1: no deadline is pending.
 *
 * Work that creates more work does not make the call run forever: it returns 0 after at most 2000 callbacks. One thread
 * at a time runs what is due. If a second thread polls in the meantime, or a callback polls, that call runs nothing and
 * returns 0. For a runtime with threads, or a runtime of the parent process, this function does nothing and returns
 * -1. */
CEN_API int64_t cen_runtime_poll(cen_runtime *runtime);

/* Return the descriptor of a manual runtime. It becomes readable when something must be done earlier than the time that
 * the last poll returned. cen_runtime_poll makes it unreadable again. Return -1 if the runtime has no descriptor. */
CEN_API int cen_runtime_fd(cen_runtime *runtime);

/* Return the time of the runtime's clock, in nanoseconds: that of cen_clock, or virtual time. NULL: the process's own
 * runtime. */
CEN_API int64_t cen_runtime_now(const cen_runtime *runtime);

/* Advance virtual time by `ns`. Run everything that becomes due on the way, each item at its own virtual time. Threads
 * that wait for a pool of this runtime notice within a few milliseconds.
 *
 * Blocking: waits while another thread is polling the runtime.
 * Returns:
 *   OK
 *   INVALID  runtime is NULL or has no virtual clock, or ns is negative
 *   MISUSE   called from within a callback that cen_runtime_advance or cen_runtime_poll runs
 *   FORKED   the runtime belongs to the parent process
 */
CEN_API cen_status cen_runtime_advance(cen_runtime *runtime, int64_t ns);

/* Return the runtime as an executor. Jobs run on its helper threads, where they may block: jobs do not delay each
 * other, and run in no particular order. In a manual runtime, they run within cen_runtime_poll and cen_runtime_advance,
 * one after another, in the order in which they were posted. Posting allocates no memory and cannot fail. If no thread
 * can be started, the job waits for the existing helpers, for the next post, or for the timer thread, which tries ten
 * times a second.
 *
 * NULL: the process's own runtime. Each job counts as one of its users from the post until the job has returned.
 * Therefore, the runtime exists while there are jobs, and ends after the last one if it has no other users. If a
 * program has no pool or actor and posts only occasionally, threads are started and stopped for each job. If there is
 * not enough memory to create the runtime, the job waits for the next post, or for the next pool or actor that uses the
 * runtime.
 *
 * An explicit runtime can be freed when no job is queued. cen_runtime_free waits for running jobs, which may post more
 * jobs. In a forked child, jobs that are posted to the parent's runtime run on the child's own runtime. Jobs from
 * before the fork stay with the parent. */
CEN_API cen_executor *cen_runtime_executor(cen_runtime *runtime);

/* Stats of a runtime. */
typedef struct cen_runtime_stats {
    size_t size;          /* sizeof(cen_runtime_stats), set by CEN_SIZED */
    uint32_t users;       /* pools, actors, crews, timers and others; also jobs posted to the process's own runtime */
    uint32_t helpers;     /* helper threads, for calls that may block */
    uint32_t busy;        /* helper threads in a call */
    uint32_t queued;      /* calls that wait for a helper */
    uint32_t timers;      /* pending deadlines */
    bool has_keeper;      /* the timer thread exists */
    uint32_t waiting;     /* queued calls that wait because max_helpers is reached */
    uint32_t max_helpers; /* the limit; UINT32_MAX: none */
} cen_runtime_stats;

/* Get the stats of a runtime. NULL: the process's own; all values are zero if it does not exist.
 * Returns:
 *   OK
 *   INVALID  out is NULL, or the size of *out is not set
 *   FORKED   the runtime belongs to the parent process
 */
CEN_API cen_status cen_runtime_stats_get(cen_runtime *runtime, cen_runtime_stats *out);

#ifdef __cplusplus
}
#endif
#endif
