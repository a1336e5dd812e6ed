/* SPDX-License-Identifier: MIT */
/*
 * Asynchronous takes, gives and closes of a connection pool: start an operation, and receive a callback when it is
 * done.
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
 *     cen_take_op take;                                    // owned by the program; nothing is allocated
 *     cen_take_op_init(&take, on_ready, cen_inbox_executor(inbox));
 *     cen_pool_take_async(pool, cen_in_ms(500), &take);
 *
 * Order: asynchronous takes and waiting threads share one wait queue and follow the same rules. Objects are granted in
 * queue order. If several threads give objects back at the same time, callbacks may be called in a different order.
 *
 * Any driver can be used. A driver that blocks is called on helper threads, as in every pool.
 *
 * Threads: every function may be called from any thread at any time, and none of them waits. future.h states when the
 * memory of an operation belongs to the library.
 */
#ifndef CENOTE_POOL_ASYNC_H
#define CENOTE_POOL_ASYNC_H

#include <cenote/future.h>
#include <cenote/pool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An operation: a caller-owned struct. cen_take_op_init(op, done, executor) initialises it, and
 * cen_future_cancel(&op.future) cancels it. Nothing is allocated for it. It must stay in place from the call that
 * starts it until its future has completed or been cancelled: see future.h.
 *
 * After init, the program may set `priority`, future.error and future.user. future.status is one of:
 *   OK         the lease is filled in
 *   TIMEOUT    the deadline passed first
 *   CLOSED     the pool is closed
 *   FULL       the wait queue is full (options.max_waiters)
 *   OVERLOAD   the take was shed (options.shed_target_ns), or would be served too late (options.refuse_late)
 *   DRIVER     no object can be opened: the last open failed with DRIVER or took too long
 *   NO_MEMORY  there is no memory for a timer that watches the deadline
 *   SYSTEM     no thread could be started to watch the deadline
 * or, if no object can be opened, the status of the driver's open. */
typedef struct cen_take_op {
    cen_future future;
    cen_lease lease;
    cen_priority priority; /* default CEN_PRIORITY_NORMAL */
    /* why the take was refused or failed; after a wait that timed out, set only if future.error is set */
    cen_cause cause;
    int64_t retry_after_ns; /* after a refusal, an estimate of when to try again; otherwise 0 */
    /* private */
    void (*done_)(struct cen_take_op *take);
    uint64_t waiter_[28];
} cen_take_op;

/* Initialise an operation before its first use, and again before each further use. When its future completes, `done` is
 * called exactly once, on the executor. If both are NULL, the program waits for op->future, polls it, or adds it to a
 * group. */
CEN_API void cen_take_op_init(cen_take_op *take, void (*done)(cen_take_op *take), cen_executor *executor);

/* Take an object as cen_pool_take does, but without waiting. The future completes with the result. If an object is
 * idle, or if the driver does not block and can open one, the take completes in this call. Even then, `done` is called
 * on the executor. CEN_DEFAULT stands for the pool's options.default_deadline.
 *
 * Ownership: if the take is made in a step of a task, the lease belongs to that task, as with cen_pool_take. If the
 * task ends without giving the lease back, options.on_holder_end decides what happens to it. In two cases, the lease
 * belongs to no holder: if the take is made outside a task, or if it is still waiting when its task ends. Such a lease
 * is not affected by the end of a thread. Lists of holders show who made the take, and leak_after_ns and max_hold_ns
 * apply to the lease.
 * Blocking: never waits.
 * Returns:
 *   OK       the future will complete or has already completed; with any other status, it does not complete
 *   INVALID  pool or take is NULL, the priority is not valid, or `done` is set without an executor
 *   MISUSE   the operation was used before and has not been initialised again; or called inside a callback of the pool
 *   FORKED   the pool belongs to the parent process
 */
#define cen_pool_take_async(pool, deadline, take) cen_pool_take_async_at((pool), (deadline), (take), CEN_HERE)
CEN_API cen_status cen_pool_take_async_at(cen_pool *pool, cen_deadline deadline, cen_take_op *take, const char *where);

/* Give an object back as cen_pool_give does. This call ends the lease. `future` completes when the driver's check,
 * reset and test have finished. It cannot be cancelled. Its status is one of:
 *   OK      the object can be lent again; or it was closed for a reason other than a failure: the pool is closed or has
 *           more than max objects, or the object has reached max_uses or is due for replacement
 *   DRIVER  the object was closed because the driver's check found it broken; the text says why
 * or, if the object was closed because its reset or its test failed, the driver's status, with its code and text.
 *
 * Blocking: never waits.
 * Returns:
 *   OK       the lease has ended, and the future will complete or has already completed; with any other status, it does
 *            not complete
 *   INVALID  lease or future is NULL
 *   MISUSE   also: the future was already used or cancelled, and has not been initialised again
 *   others   as cen_pool_give, REVOKED included
 */
CEN_API cen_status cen_pool_give_async(cen_lease *lease, cen_future *future);
CEN_API cen_status cen_pool_give_async_at(cen_lease *lease, cen_future *future, const char *where);
#define cen_pool_give_async(lease, future) cen_pool_give_async_at((lease), (future), CEN_HERE)

/* An operation: a caller-owned struct. cen_close_op_init(op, done, executor) initialises it. A close cannot be
 * cancelled: cen_future_cancel(&op.future) returns false. Nothing is allocated for it. It must stay in place from the
 * call that starts it until its future has completed: see future.h.
 *
 * After init, the program may point `report` at its own report, with its size set. The report is filled in when the
 * future completes. */
typedef struct cen_close_op {
    cen_future future;
    cen_close_report *report; /* NULL: no report */
    /* private */
    void (*done_)(struct cen_close_op *closing);
    uint32_t waiting_, idle_;
    uint64_t reserved_[4];
} cen_close_op;

/* Initialise an operation before its first use, and again before each further use. When its future completes, `done` is
 * called exactly once, on the executor. If both are NULL, the program waits for op->future, polls it, or adds it to a
 * group. */
CEN_API void cen_close_op_init(cen_close_op *closing, void (*done)(cen_close_op *closing), cen_executor *executor);

/* Close the pool as cen_pool_close does, but without waiting. The future completes with OK when all objects are closed.
 * It completes with TIMEOUT when the deadline has passed and the remaining leases have been revoked. If the pool is
 * freed first, the deadline is treated as having passed at that moment. CEN_DEFAULT stands for the pool's
 * options.default_deadline.
 *
 * Blocking: never waits for holders. Idle objects of a driver that does not block are closed in this call.
 * Returns:
 *   OK         the future will complete or has already completed; with any other status, it does not complete and
 *              nothing changes
 *   CLOSED     the pool was already closed
 *   FORKED     the pool belongs to the parent process
 *   INVALID    pool or closing is NULL, closing->report->size is not valid, or `done` is set without an executor
 *   MISUSE     called inside a callback of the pool; or the operation was used before and has not been initialised
 *              again
 *   NO_MEMORY  out of memory
 *   SYSTEM     no thread could be started to watch the deadline
 */
CEN_API cen_status cen_pool_close_async(cen_pool *pool, cen_deadline deadline, cen_close_op *closing);

#ifdef __cplusplus
}
#endif
#endif
