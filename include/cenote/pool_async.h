/* SPDX-License-Identifier: MIT */
/*
 * The checkout pool without waiting: ask now, be told later.
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
 * Those who ask and threads that take stand in one line, in one order, under
 * the same rules. (Objects are granted in that order; where several threads give
 * at once, asks may be told of it in another.) Any driver will do: one that blocks is called on helpers, as ever.
 *
 * Threads: every function may be called from any thread at any time, and none
 * of them waits. See cenote/future.h for whose the memory of a take is, and when.
 */
#ifndef CENOTE_POOL_ASYNC_H
#define CENOTE_POOL_ASYNC_H

#include <cenote/future.h>
#include <cenote/pool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One who asks. The program sets `priority`, future.error and future.user, if it
 * wants to, after init. The lease is there when future.status is OK. */
typedef struct cen_take_op {
    cen_future future;
    cen_lease lease;
    cen_priority priority;
    /* why it was refused or failed; of one that timed out known only with future.error, whose text is made from it */
    cen_cause cause;
    int64_t retry_after_ns; /* when to try again, if it was refused */
    /* cenote's */
    void (*done_)(struct cen_take_op *take);
    uint64_t waiter_[28];
} cen_take_op;

/* Makes it ready. `done` is called once on the executor; both NULL: it is waited
 * for, asked or grouped by its future. */
CEN_API void cen_take_op_init(cen_take_op *take, void (*done)(cen_take_op *take), cen_executor *executor);

/* Asks for an object, as cen_pool_take does, and returns at once. In a step of a task the
 * lease belongs to the task, as one that it takes: if the task ends without giving it, it goes the way of
 * options.on_holder_end. An ask that still waits then, and any ask outside of a task, brings a lease that belongs to nobody: it
 * stays when a thread ends, its holder in lists of holders is whoever asked, and leak_after_ns and max_hold_ns hold for it.
 * How it ended is in take->future: OK, TIMEOUT, CLOSED, FULL, OVERLOAD, what the driver's open answered, or
 * NO_MEMORY or SYSTEM (its deadline cannot be kept). CEN_DEFAULT: options.default_deadline of the pool.
 * An object that is idle is taken here and now, a driver that is quick opens one here and
 * now, and `done` still goes to the executor.
 * Errors, after which nothing is told: INVALID (NULL, no such priority, `done` without an executor), MISUSE (it was asked for
 * already and not made ready again; inside a call that the pool itself made), FORKED. */
#define cen_pool_take_async(pool, deadline, take) cen_pool_take_async_at((pool), (deadline), (take), CEN_HERE)
CEN_API cen_status cen_pool_take_async_at(cen_pool *pool, cen_deadline deadline, cen_take_op *take, const char *where);

/* Gives the object back as cen_pool_give does, and `future` is done when that is
 * over: OK when the driver has found it clean, or reset it, and it can be lent again,
 * or was closed because the pool is closed or too large. An object whose reset or test failed is closed: the future has the
 * driver's status, code and text. DRIVER: it was closed because its check said so, and the text says why. Such a future
 * cannot be cancelled. Errors as cen_pool_give, REVOKED
 * included, INVALID (NULL) and MISUSE (the future is promised already): nothing is told then. */
CEN_API cen_status cen_pool_give_async(cen_lease *lease, cen_future *future);
CEN_API cen_status cen_pool_give_async_at(cen_lease *lease, cen_future *future, const char *where);
#define cen_pool_give_async(lease, future) cen_pool_give_async_at((lease), (future), CEN_HERE)

/* A close under way. Caller-owned. After init the program may set `report` to a report of its own, with its size
 * set; it is filled when the future is done. */
typedef struct cen_close_op {
    cen_future future;
    cen_close_report *report;
    /* cenote's */
    void (*done_)(struct cen_close_op *closing);
    uint32_t waiting_, idle_;
    uint64_t reserved_[4];
} cen_close_op;

/* Makes it ready. `done` is called once on the executor; both NULL: it is waited for by its future. */
CEN_API void cen_close_op_init(cen_close_op *closing, void (*done)(cen_close_op *closing), cen_executor *executor);

/* Closes the pool as cen_pool_close does (CEN_DEFAULT: options.default_deadline), and returns at once: the future is done
 * when everything is back (OK), or when the deadline came first and what was out
 * has been revoked (TIMEOUT), or when the pool is freed before, as if the deadline
 * had come then. It cannot be cancelled. What is idle, and the
 * driver does not block, is closed by this call. Errors: CLOSED, FORKED, INVALID (NULL, or `done` without an
 * executor), MISUSE (inside a call that the pool itself made, or promised already), NO_MEMORY and SYSTEM (nobody
 * could keep the deadline): nothing changes, and nothing is told. The size of closing->report is checked, too. */
CEN_API cen_status cen_pool_close_async(cen_pool *pool, cen_deadline deadline, cen_close_op *closing);

#ifdef __cplusplus
}
#endif
#endif
