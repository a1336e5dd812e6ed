/* SPDX-License-Identifier: MIT */
/*
 * A runtime: the timers and helper threads of pools. It keeps their deadlines, and makes driver calls that may block.
 *
 * A program need not create one. Pools that name none share the process' own runtime. It has no thread until there is
 * something to do, and none once its last pool is freed. An explicit runtime keeps the threads of one part of a program
 * apart:
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
 *         int64_t ns = cen_runtime_poll(runtime);            // runs what is due; when to come again
 *         poll(fds, 2, ns < 0 ? -1 : (int)(ns / 1000000) + 1);
 *     }
 *
 * A pollable (cenote/pollable.h) contains a manual runtime, whose deadlines make its descriptor readable.
 *
 * A thread that waits in cen_pool_take for a pool of a manual runtime runs what is due meanwhile. Drivers that may
 * block need threads: cen_pool_new refuses them with a manual runtime.
 *
 * With virtual time the clock of a manual runtime stands still until the program moves it. So timeouts, intervals and
 * back-off can be tested without sleeping.
 *
 * Threads: every function may be called from any thread. The threads of a runtime block all signals and have the
 * system's stack size.
 * Fork: the child of a fork has none of the threads. The process' own runtime is created again there. The calls of an
 * explicit one return FORKED, and cen_runtime_free frees its memory.
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
    /* idle timeout of a helper thread; default 10 s, CEN_OFF: it never ends, CEN_NONE: it ends at once */
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
 *   SYSTEM     the system has no descriptor for a manual runtime
 */
CEN_API cen_status cen_runtime_new(const cen_runtime_options *options, cen_runtime **out, cen_error *error);

/* End the threads, wait for them and free the memory. NULL is allowed. With any status but OK nothing changes.
 * Returns:
 *   OK
 *   BUSY    something uses it: a pool that has not been freed or whose objects are not all back, a timer or a job that
 *           is pending, or another thread that polls it
 *   MISUSE  called on one of its threads, or from within its poll
 */
CEN_API cen_status cen_runtime_free(cen_runtime *runtime);

/* Wait until no helper thread of the runtime is in a call and no call is queued. NULL: wait until no thread of the
 * library is in a driver call, a completion callback or a job, in any runtime or poller, none of these threads is
 * ending, and nothing is queued in the process' own runtime.
 *
 * A program that frees its pools, and then unloads or finalises a client library, calls this function in between:
 * cen_pool_free does not wait for a driver call that hangs. The exit handler does the same, with a timeout: see
 * cen_runtime_exit_timeout_set.
 *
 * Blocking: until then, or until the deadline (CEN_DEFAULT: CEN_NEVER).
 * Returns:
 *   OK
 *   TIMEOUT  the deadline passed first
 *   MISUSE   called from a driver call, a completion callback or a job on a thread of the library
 *   INVALID  the runtime is manual, and has no threads
 *   FORKED   the runtime belongs to the parent process
 */
CEN_API cen_status cen_runtime_wait_idle(cen_runtime *runtime, cen_deadline deadline);

/* Set how long exit waits for threads of the library that are in a call, in nanoseconds. Default (0): 2 s. CEN_NONE:
 * exit does not wait. CEN_OFF: exit waits without a limit. The setting is for the whole process.
 *
 * exit, and return from main, run a handler of the library. From then on no driver call, job or watch begins on a
 * thread of the library. Calls that run are cancelled if the driver can do that (cancel_all in cenote/driver.h), and
 * awaited. The call that called exit is not awaited. Nothing is closed and nothing is freed.
 *
 * Handlers run last in, first out. The handler is registered again after the first `prepare` or `init` of each driver,
 * so it runs before those that a client library registers there. A program whose jobs use a library with such a handler
 * (OpenSSL) initialises that library before its first pool or job. quick_exit and _exit run no handler.
 * Returns:
 *   OK
 *   INVALID  ns is negative and neither CEN_OFF nor CEN_NONE, or ns is 1 to 99,999
 */
CEN_API cen_status cen_runtime_exit_timeout_set(int64_t ns);

/* Set how many driver calls a runtime makes at a time on helper threads. NULL: the process' own runtime, now and
 * whenever it is created again. Values are those of cen_runtime_options.max_helpers; 0 is the default, 256. Calls that
 * run are not ended.
 *
 * At the limit calls wait, and begin in this order:
 *   - calls of pools whose last call succeeded
 *   - closings
 *   - calls of pools whose last call failed or takes too long, or that have made none; one call in eight is one of
 *     these
 * One helper is kept for closings, and a quarter of the helpers for pools whose last call succeeded. One pool makes at
 * most half as many calls at a time as the limit allows, closings aside. So a server that does not reply cannot stop
 * another pool. A take that times out meanwhile names the lack of a helper in its error text.
 *
 * Jobs of the executor, listeners and name lookups are not limited.
 * Returns:
 *   OK
 *   INVALID  max_helpers is 1, or negative and not CEN_OFF
 *   FORKED   the runtime belongs to the parent process
 */
CEN_API cen_status cen_runtime_max_helpers_set(cen_runtime *runtime, int32_t max_helpers);

/* Run everything that is due in a manual runtime, on this thread. Return in how many nanoseconds to call it again: when
 * something will be due, or a little earlier if that is far away. 0: call it again at once. -1: no deadline is pending.
 *
 * Work that creates more work does not keep the call: it returns 0 after some thousand calls. One thread at a time runs
 * what is due. A second thread that polls meanwhile, or a call from within, runs nothing and returns 0. For a runtime
 * with threads, or one of the parent process, the call does nothing and returns -1. */
CEN_API int64_t cen_runtime_poll(cen_runtime *runtime);

/* Return the descriptor of a manual runtime. It is readable when there is something to do earlier than the last poll
 * returned. cen_runtime_poll makes it unreadable. -1 if the runtime has no descriptor. */
CEN_API int cen_runtime_fd(cen_runtime *runtime);

/* Return the time of the runtime's clock, in nanoseconds: that of cen_clock, or virtual time. NULL: the process' own
 * runtime. */
CEN_API int64_t cen_runtime_now(const cen_runtime *runtime);

/* Move virtual time by `ns`, and run everything that becomes due on the way, each at its moment. Threads that wait for
 * a pool of this runtime notice within some milliseconds.
 *
 * Blocking: while another thread polls.
 * Returns:
 *   OK
 *   INVALID  runtime is NULL or has no virtual clock, or ns is negative
 *   MISUSE   called from within what cen_runtime_advance or cen_runtime_poll runs
 *   FORKED   the runtime belongs to the parent process
 */
CEN_API cen_status cen_runtime_advance(cen_runtime *runtime, int64_t ns);

/* Return the runtime as an executor. Jobs run on its helper threads, where they may block: no job holds up another, and
 * jobs have no order. In a manual runtime they run in poll and advance, one after the other, in the order in which they
 * were posted. Posting allocates nothing and cannot fail. If no thread can be started, the job waits for the helpers
 * that exist, for the next post, or for the thread that keeps time, which tries ten times a second.
 *
 * NULL: the process' own runtime. Each job counts as one of its users from post until it has returned. So the runtime
 * exists while there are jobs, and ends with the last. A program that has no pool or actor, and posts now and then, has
 * threads started and ended for each job. If there is no memory to create the runtime, the job waits for the next post,
 * or for the next pool or actor that uses the runtime.
 *
 * An explicit runtime can be freed when no job is queued. cen_runtime_free waits for jobs that run; these may post
 * more. In the child of a fork, jobs that are posted to the parent's runtime run on the child's own. Jobs from before
 * the fork are the parent's. */
CEN_API cen_executor *cen_runtime_executor(cen_runtime *runtime);

/* Stats of a runtime. */
typedef struct cen_runtime_stats {
    size_t size;          /* sizeof(cen_runtime_stats), set by CEN_SIZED */
    uint32_t users;       /* pools, actors, crews, timers and others; and jobs posted to the process' own runtime */
    uint32_t helpers;     /* helper threads, for calls that may block */
    uint32_t busy;        /* helper threads in a call */
    uint32_t queued;      /* calls that wait for a helper */
    uint32_t timers;      /* deadlines that are pending */
    bool has_keeper;      /* the thread that keeps time exists */
    uint32_t waiting;     /* queued calls that wait because max_helpers is reached */
    uint32_t max_helpers; /* the limit; UINT32_MAX: none */
} cen_runtime_stats;

/* Get the numbers of a runtime. NULL: the process' own; all are zero while it does not exist.
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
