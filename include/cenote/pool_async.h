/* SPDX-License-Identifier: MIT */
/*
 * Asynchronous takes, gives and closes of a connection pool: start an operation now, and have a callback called when it
 * is done.
 *
 *     static void on_ready(cen_take_op *take)              // on the loop's thread
 *     {
 *         if (take->future.status != CEN_OK) {
 *             puts(cen_status_text(take->future.status));
 *             return;
 *         }
 *         use(take->lease.object);
 *         cen_pool_give(&take->lease);
 *     }
 *
 *     cen_take_op take;                                    // the program's own, no allocation
 *     cen_take_op_init(&take, on_ready, cen_inbox_executor(inbox));
 *     cen_pool_take_async(pool, cen_in_ms(500), &take);
 *
 * Order: asynchronous takes and waiting threads share one wait queue, in one order and under the same rules. Objects
 * are granted in that order. If several threads give at the same time, callbacks may be called in another order.
 *
 * Any driver can be used. A driver that blocks is called on helper threads, as in every pool.
 *
 * Threads: every function may be called from any thread at any time, and none of them waits. future.h says when the
 * memory of an operation belongs to the library.
 */
#ifndef CENOTE_POOL_ASYNC_H
#define CENOTE_POOL_ASYNC_H

#include <cenote/future.h>
#include <cenote/pool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An operation: a caller-owned struct. cen_take_op_init(op, done, executor) initializes it, and
 * cen_future_cancel(&op.future) cancels it. Nothing is allocated for it. It must stay in place from the call that
 * starts it until its future is done or cancelled: see future.h.
 *
 * After init the program may set `priority`, future.error and future.user. future.status is one of:
 *   OK         the lease is filled in
 *   TIMEOUT    the deadline passed first
 *   CLOSED     the pool is closed
 *   FULL       the wait queue is full (options.max_waiters)
 *   OVERLOAD   load shedding (options.shed_target_ns), or too late (options.refuse_late)
 *   DRIVER     no object can be opened: the last open failed with DRIVER or took too long
 *   NO_MEMORY  there is no memory to keep the deadline
 *   SYSTEM     the system has no thread to keep the deadline
 * or, if no object can be opened, the status of the driver's open. */
typedef struct cen_take_op {
    cen_future future;
    cen_lease lease;
    cen_priority priority; /* default CEN_PRIORITY_NORMAL */
    /* why the take was refused or failed; after a wait that timed out only if future.error is set */
    cen_cause cause;
    int64_t retry_after_ns; /* after a refusal an estimate of when to try again; else 0 */
    /* private */
    void (*done_)(struct cen_take_op *take);
    uint64_t waiter_[28];
} cen_take_op;

/* Initialize an operation before its first use, and again before each further use. `done` is called once, on the
 * executor. Both NULL: the program waits for op->future, polls it, or puts it into a group. */
CEN_API void cen_take_op_init(cen_take_op *take, void (*done)(cen_take_op *take), cen_executor *executor);

/* Take an object as cen_pool_take does, without waiting. The future completes with the result. If an object is idle, or
 * a driver that does not block can open one, the take is done in this call. `done` is called on the executor even then.
 * CEN_DEFAULT: options.default_deadline of the pool.
 *
 * Ownership: in a step of a task the lease belongs to the task, as with cen_pool_take: if the task ends without giving
 * it back, options.on_holder_end decides what happens to it. In two cases the lease belongs to no holder: the take is
 * made outside of a task, or it still waits when its task ends. Such a lease stays when a thread ends. Lists of holders
 * show who made the take, and leak_after_ns and max_hold_ns apply to it.
 * Blocking: never waits.
 * Returns:
 *   OK       the future will complete, or has; with any other status it does not
 *   INVALID  pool or take is NULL, there is no such priority, or `done` has no executor
 *   MISUSE   the operation was used before and not initialized again, or called inside a callback of the pool
 *   FORKED   the pool belongs to the parent process
 */
#define cen_pool_take_async(pool, deadline, take) cen_pool_take_async_at((pool), (deadline), (take), CEN_HERE)
CEN_API cen_status cen_pool_take_async_at(cen_pool *pool, cen_deadline deadline, cen_take_op *take, const char *where);

/* Give an object back as cen_pool_give does. The lease ends in this call. `future` completes when the driver's check,
 * reset and test are over. It cannot be cancelled. Its status is one of:
 *   OK      the object can be lent again; or it was closed for another reason than a failure: the pool is closed or has
 *           more than max objects, or the object was used often enough or is to be replaced
 *   DRIVER  the object was closed because the driver's check found it broken; the text says why
 * or, if the object was closed because its reset or its test failed, the driver's status, with its code and text.
 *
 * Blocking: never waits.
 * Returns:
 *   OK       the lease has ended, and the future will complete, or has; with any other status it does not
 *   INVALID  lease or future is NULL
 *   MISUSE   also: the future was promised or cancelled before
 *   others   as cen_pool_give, REVOKED included
 */
CEN_API cen_status cen_pool_give_async(cen_lease *lease, cen_future *future);
CEN_API cen_status cen_pool_give_async_at(cen_lease *lease, cen_future *future, const char *where);
#define cen_pool_give_async(lease, future) cen_pool_give_async_at((lease), (future), CEN_HERE)

/* An operation: a caller-owned struct. cen_close_op_init(op, done, executor) initializes it. A close cannot be
 * cancelled: cen_future_cancel(&op.future) returns false. Nothing is allocated for it. It must stay in place from the
 * call that starts it until its future is done: see future.h.
 *
 * After init the program may set `report` to a report of its own, with its size set. It is filled in when the future is
 * done. */
typedef struct cen_close_op {
    cen_future future;
    cen_close_report *report; /* NULL: not wanted */
    /* private */
    void (*done_)(struct cen_close_op *closing);
    uint32_t waiting_, idle_;
    uint64_t reserved_[4];
} cen_close_op;

/* Initialize an operation before its first use, and again before each further use. `done` is called once, on the
 * executor. Both NULL: the program waits for op->future, polls it, or puts it into a group. */
CEN_API void cen_close_op_init(cen_close_op *closing, void (*done)(cen_close_op *closing), cen_executor *executor);

/* Close the pool as cen_pool_close does, without waiting. The future completes with OK when all objects are closed. It
 * completes with TIMEOUT when the deadline has passed, and the leases that were left have been revoked. If the pool is
 * freed first, the deadline counts as passed then. CEN_DEFAULT: options.default_deadline of the pool.
 *
 * Blocking: never waits for holders. Idle objects of a driver that does not block are closed in this call.
 * Returns:
 *   OK         the future will complete, or has; with any other status it does not, and nothing changes
 *   CLOSED     the pool was closed before
 *   FORKED     the pool belongs to the parent process
 *   INVALID    pool or closing is NULL, closing->report->size is not valid, or `done` has no executor
 *   MISUSE     called inside a callback of the pool, or the operation was used before and not initialized again
 *   NO_MEMORY  out of memory
 *   SYSTEM     the system has no thread to keep the deadline
 */
CEN_API cen_status cen_pool_close_async(cen_pool *pool, cen_deadline deadline, cen_close_op *closing);

#ifdef __cplusplus
}
#endif
#endif
