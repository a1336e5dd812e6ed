/* SPDX-License-Identifier: MIT */
/*
 * A future: the result of an operation that completes exactly once, with a value or an error.
 *
 * The struct is the program's own, on a stack or in a larger struct. Nothing is allocated. The consumer waits for the
 * result or sets a callback; the producer completes the future through a promise:
 *
 *     cen_future future;
 *     cen_promise promise;
 *     cen_future_init(&future);
 *     cen_promise_init(&promise, &future);
 *     cen_promise_complete(&promise, answer);          // on one thread
 *     cen_future_wait(&future, cen_in_s(1));       // on another
 *     use(future.value);
 *
 * Instead of waiting, the consumer may set a callback. When the future completes, `done` is called exactly once, on the
 * given executor.
 *
 *     cen_future_then(&future, done, cen_inbox_executor(inbox));
 *
 * Consumer: a future has one consumer, which can be a thread that waits, a `done` callback, a group, or code that polls
 * the future with cen_future_is_done.
 *
 * Memory: once the future is promised, the struct belongs to the library and must stay in place until one of these has
 * happened:
 *   - cen_future_cancel has returned true;
 *   - `done` has been entered;
 *   - cen_future_wait has returned OK;
 *   - cen_future_is_done has returned true, and the future has no `done`;
 *   - its group has been left, and the future is done.
 * The struct then belongs to the program again. The program may read status, code and value, and use the future again
 * after cen_future_init.
 *
 * Threads: one thread consumes the future. Any thread may complete it, including the one that consumes it. `done` may
 * run on another thread. If `done` releases the struct, the program must make sure that no thread cancels the future
 * afterwards.
 */
#ifndef CENOTE_FUTURE_H
#define CENOTE_FUTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/deadline.h>
#include <cenote/executor.h>
#include <cenote/status.h>
#include <cenote/stop.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A future. Caller-owned. Initialise it with cen_future_init. */
typedef struct cen_future {
    /* the result, once the future is done */
    cen_status status; /* OK, or why there is no value */
    int code;          /* the driver's own error number, or 0 */
    void *value;
    /* set by the program, after init and before the future is promised */
    cen_error *error; /* receives the full error if the future fails; NULL: not wanted */
    void *user;       /* never touched by the library */
    /* private */
    CEN_ATOMIC_(uint32_t) state_;
    uint32_t reserved_;
    cen_job job_;
    cen_executor *executor_;
    void (*done_)(struct cen_future *future);
    bool (*withdraw_)(struct cen_future *future); /* true: the producer never touches the future again */
    void *source_;
} cen_future;

/* Initialise a future before its first use, and again before each further use. */
CEN_API void cen_future_init(cen_future *future);

/* Set the callback of a future: when the future completes, `done` is called exactly once, on the given executor, with
 * the future as its argument. If the future is already done, the callback is posted to the executor immediately. With
 * any status other than OK, nothing changes.
 * Returns:
 *   OK
 *   INVALID  future, done or executor is NULL
 *   MISUSE   the future already has a consumer, or was cancelled
 */
CEN_API cen_status cen_future_then(cen_future *future, void (*done)(cen_future *future), cen_executor *executor);

/* Return true if the future is done. Never waits. */
CEN_API bool cen_future_is_done(const cen_future *future);

/* Wait until the future is done. A thread that waits for an operation of a manual runtime does not poll that runtime
 * during the wait, so another thread must poll it.
 *
 * Blocking: until the deadline (CEN_DEFAULT: 30 s).
 * Returns:
 *   OK       the future is done; future->status says how it ended
 *   TIMEOUT  the deadline passed first; the future is still pending
 *   INVALID  future is NULL, was never promised, or was cancelled
 *   MISUSE   the future has another consumer
 */
CEN_API cen_status cen_future_wait(cen_future *future, cen_deadline deadline);

/* Wait as cen_future_wait does, or until the token is set (cenote/stop.h). A stopped wait leaves the operation pending.
 * The program may wait for it again, or cancel it with cen_future_cancel. `stop` NULL: no token.
 *
 * Blocking: until the deadline (CEN_DEFAULT: 30 s), or until the token is set.
 * Returns:
 *   INTERRUPTED  the token is set, and the future is not done yet
 *   FORKED       the token belongs to the parent process
 *   others       as cen_future_wait
 */
CEN_API cen_status cen_future_wait_stoppable(cen_future *future, cen_deadline deadline, cen_stop_token *stop);

/* Cancel a future. Return true if the future will never complete; its `done` is then never called. This includes a
 * future that was never promised, and one that was already cancelled. Return false if the future is done, or will
 * complete as if it had not been cancelled; the caller must then handle its result. There is no third outcome.
 *
 * Also return false if future is NULL, if a thread is waiting for it, or if its operation cannot be cancelled.
 *
 * Blocking: never waits for the producer to do its work. */
CEN_API bool cen_future_cancel(cen_future *future);

/* ---- The producer --------------------------------------------------------------- */

/* A promise: the producer's side of a future. It belongs to the producer, and must stay in place until
 * cen_promise_complete or cen_promise_fail has returned, or cen_promise_is_wanted has returned false. */
typedef struct cen_promise {
    CEN_ATOMIC_(uintptr_t) future_;
} cen_promise;

/* Make a promise for an initialised future.
 * Returns:
 *   OK
 *   INVALID  promise or future is NULL
 *   MISUSE   the future was promised or cancelled before, and has not been initialised again
 */
CEN_API cen_status cen_promise_init(cen_promise *promise, cen_future *future);

/* Complete the future with a value, or fail it with an error. The error's status must not be OK. An error that is NULL,
 * or whose status is OK, is treated as DRIVER.
 *
 * Return true if this call completed the future. Return false if the future was cancelled, or if the promise was
 * already kept. In either case, nothing was changed, and the value still belongs to the caller. */
CEN_API bool cen_promise_complete(cen_promise *promise, void *value);
CEN_API bool cen_promise_fail(cen_promise *promise, const cen_error *error);

/* Return true if the future is still pending, and false if it was cancelled or completed. The producer may then skip
 * work that is no longer needed. */
CEN_API bool cen_promise_is_wanted(const cen_promise *promise);

/* ---- Groups --------------------------------------------------------------------- */

/* A group: a future that depends on other futures, its members. Caller-owned. The group, the members and the array must
 * stay in place until the group is left; until then, members must not be initialised again. A member may be cancelled,
 * in which case it never counts as completed for its group. */
typedef struct cen_group {
    cen_future future;
    /* private */
    cen_future *const *members_;
    size_t count_;
    CEN_ATOMIC_(size_t) missing_; /* members that may still touch the group */
    CEN_ATOMIC_(size_t) undone_;
    CEN_ATOMIC_(cen_future *) first_; /* the first member that completed, or that failed */
    cen_executor executor_;           /* of the members */
    bool any_;
} cen_group;

/* Make a group whose future completes as soon as one of the members does. The future's value is that member, and its
 * status is OK. The group becomes the consumer of all members. Members may already be done, or be promised later. With
 * any status other than OK, nothing changes.
 * Returns:
 *   OK
 *   INVALID  group, members or a member is NULL, count is 0, or a member is in the array twice
 *   MISUSE   a member has a consumer, or was cancelled
 */
CEN_API cen_status cen_any_of(cen_group *group, cen_future *const members[], size_t count);

/* Make a group whose future completes when all members have completed. If all succeeded, its status is OK and its value
 * is NULL. Otherwise, its value is the member that failed first, and its status is that member's status.
 * Returns:
 *   OK
 *   others  as cen_any_of
 */
CEN_API cen_status cen_all_of(cen_group *group, cen_future *const members[], size_t count);

/* Leave a group. This releases the group's members. Afterwards, none of the members has a consumer, whether or not the
 * member is done. Once the call has returned, no member touches the group. If group->future is not done by then, it
 * never completes. If group->future is done but its `done` has not been called yet, the group must stay in place until
 * `done` is entered. This function may be called in `done`, and more than once. */
CEN_API void cen_group_leave(cen_group *group);

#ifdef __cplusplus
}
#endif
#endif
