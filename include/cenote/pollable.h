/* SPDX-License-Identifier: MIT */
/*
 * A pollable: everything that an event loop needs from cenote, behind one file descriptor.
 *
 *     cen_pollable *pollable;
 *     cen_pollable_new(NULL, &pollable, &error);
 *     epoll_ctl(loop, EPOLL_CTL_ADD, cen_pollable_fd(pollable), &readable);
 *     cen_pool_options orders = CEN_POOL_OPTIONS(.driver = driver, .runtime = cen_pollable_runtime(pollable));
 *     // ... make the pool; cen_take_op_init(&take, on_ready, cen_pollable_executor(pollable));
 *     for (;;) {
 *         int count = epoll_wait(loop, events, 64, -1);
 *         for (int i = 0; i < count; i++)
 *             if (events[i].data.ptr == pollable) cen_pollable_run_ready(pollable, NULL, NULL);
 *     }
 *     // ... close and free the pool
 *     cen_pollable_free(pollable, &error);
 *
 * A pollable combines a manual poller, a manual runtime and an inbox. Together, they have one descriptor, one function
 * that runs them, and one that frees them:
 *     cen_pollable_executor   runs completion callbacks, from within run_ready
 *     cen_pollable_runtime    for pools: deadlines, idle timeouts and health checks, without a thread
 *     cen_pollable_poller     for drivers that connect without threads: cen_pq_options.poller and so on
 * A program may use only some of them.
 *
 * The descriptor is readable whenever there is something to run: a job was posted, a watched descriptor is ready, or a
 * deadline has passed. The program need not arm anything or keep a timer, and must never read the descriptor. The
 * descriptor may be watched level-triggered or edge-triggered (EPOLLET), by poll, epoll, libuv, libevent, GLib or
 * io_uring.
 *
 * Threads: every function may be called from any thread. Only one thread at a time may run what is ready, but it need
 * not always be the same thread. Other threads may post to the executor and use the pools.
 * Fork: in a forked child, the pollable runs nothing: calls return FORKED, and the descriptor is -1. cen_pollable_free
 * frees the memory there.
 * Systems: Linux. On other systems, cen_pollable_new fails with SYSTEM.
 *
 * Caveats
 *  - Do not poll, run or free the three parts with their own functions, because the pollable does not notice those
 *    calls.
 *  - A pool whose driver blocks needs a runtime with threads, so leave out .runtime for such a pool. The pool's
 *    completion callbacks can still go to the pollable's executor.
 *  - A callback that run_ready runs delays the loop, so it must not block.
 */
#ifndef CENOTE_POLLABLE_H
#define CENOTE_POLLABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/allocator.h>
#include <cenote/executor.h>
#include <cenote/poller.h>
#include <cenote/runtime.h>
#include <cenote/sized.h>
#include <cenote/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cen_pollable cen_pollable;

/* In every field, zero means the default. Fields are only ever appended. */
typedef struct cen_pollable_options {
    size_t size;                    /* sizeof(cen_pollable_options), set by the macro */
    const char *name;               /* for error texts and as the name of the poller; copied; default "pollable" */
    const cen_allocator *allocator; /* default malloc */
} cen_pollable_options;

/* Options with the given fields: CEN_POLLABLE_OPTIONS(.name = "main loop"). All others are zero. */
#define CEN_POLLABLE_OPTIONS(...) CEN_OPTIONS_(cen_pollable_options, __VA_ARGS__)

/* Create a pollable. `options` NULL: defaults.
 * Returns:
 *   OK
 *   INVALID    out is NULL, or an option is invalid; the text names it
 *   NO_MEMORY
 *   SYSTEM     no descriptor could be created for it, or the system is not Linux
 */
CEN_API cen_status cen_pollable_new(const cen_pollable_options *options, cen_pollable **out, cen_error *error);

/* Free the pollable, its parts and its descriptor. NULL is allowed. Remove the descriptor from the loop first.
 *
 * Free the pools, timers and actors that use its runtime first. A closed pool need not be freed first if all its
 * objects have been given back; the memory of the pollable is then kept until the last such pool is freed. After this
 * call, nothing may be posted to the executor. With any status other than OK, nothing changes, and the call may be
 * repeated.
 * Returns:
 *   OK
 *   BUSY    the pollable is still in use, and the text says by what and by how many; or another thread is in run_ready
 *   MISUSE  called from a callback that run_ready runs
 */
CEN_API cen_status cen_pollable_free(cen_pollable *pollable, cen_error *error);

/* Return the descriptor to watch for reading. It is valid until cen_pollable_free. Never read, write or close it.
 * Return -1 for NULL and in a forked child. */
CEN_API int cen_pollable_fd(const cen_pollable *pollable);

/* Run what is due: completion callbacks and other jobs, timers, and driver calls for descriptors that are ready. Call
 * it when the descriptor is readable; calling it at any other time is also allowed.
 *
 * This function returns after making a few thousand calls, even if those calls create more work. The descriptor then
 * becomes readable again, with a new edge, so the loop will call this function again. *ran, if not NULL, is the number
 * of calls made. *more, if not NULL, says whether anything is left to run. Both are written only if OK is returned.
 *
 * Blocking: never waits.
 * Callbacks: they run on this thread, with no lock held. They may call every function except cen_pollable_free.
 * Returns:
 *   OK
 *   BUSY     another thread is in run_ready; when that call ends, the descriptor becomes readable once more, so that
 *            nothing that woke the caller is missed
 *   MISUSE   called from a callback that it runs itself; the descriptor also becomes readable once more in this case
 *   FORKED   the pollable belongs to the parent process
 *   INVALID  pollable is NULL
 */
CEN_API cen_status cen_pollable_run_ready(cen_pollable *pollable, size_t *ran, bool *more);

/* Return the number of nanoseconds until a deadline gives run_ready something to do. Return 0 if something is due now,
 * and -1 if no deadline is pending. The descriptor becomes readable by itself when that deadline passes, so a loop that
 * watches it needs no timeout. Round up for poll and epoll_wait: (ns + 999999) / 1000000. Return -1 for NULL and in a
 * forked child. */
CEN_API int64_t cen_pollable_next_deadline(cen_pollable *pollable);

/* Return the parts, for use in options and calls. They belong to the pollable. Return NULL for NULL. */
CEN_API cen_executor *cen_pollable_executor(cen_pollable *pollable);
CEN_API cen_runtime *cen_pollable_runtime(cen_pollable *pollable);
CEN_API cen_poller *cen_pollable_poller(cen_pollable *pollable);

#ifdef __cplusplus
}
#endif
#endif
