/* SPDX-License-Identifier: MIT */
/*
 * A future: something that will be done, once, with a value or an error.
 *
 * The struct is the program's own, on a stack or in whatever it is for; nothing
 * is allocated. One side waits for it or is told, the other keeps a promise:
 *
 *     cen_future future;
 *     cen_promise promise;
 *     cen_future_init(&future);
 *     cen_promise_init(&promise, &future);
 *     cen_promise_complete(&promise, answer);          // on one thread
 *     cen_future_wait(&future, cen_in_s(1));       // on another
 *     use(future.value);
 *
 * Or without waiting: `done` is called once, on the executor that is named.
 *
 *     cen_future_then(&future, done, cen_inbox_executor(inbox));
 *
 * One consumer: a future is waited for, or has a `done`, or is asked now and then
 * whether it is done, or is a member of a group.
 *
 * Memory: from the moment it is promised until one of these, the struct is the
 * library's and must stay where it is: cancel said true; `done` was entered; wait
 * answered OK; is_done answered true, and it has no `done`; its group was left,
 * and it is done. Then it is the program's again, who may read status, code and
 * value, and use it once more after cen_future_init.
 *
 * Threads: one thread consumes, and any thread, also the same, keeps the promise.
 * A `done` may run on another thread than the consumer's. If it lets go of the
 * struct, the program itself sees to it that nobody cancels it from then on.
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

typedef struct cen_future {
    /* how it ended, once it is done */
    cen_status status; /* OK, or why there is no value */
    int code;          /* the driver's own number, or 0 */
    void *value;
    /* the program's, set after init and before it is promised */
    cen_error *error; /* the whole text of a failure goes there; NULL: nowhere */
    void *user;       /* never touched */
    /* cenote's */
    CEN_ATOMIC_(uint32_t) state_;
    uint32_t reserved_;
    cen_job job_;
    cen_executor *executor_;
    void (*done_)(struct cen_future *future);
    bool (*withdraw_)(struct cen_future *future); /* whoever promised it gives up: true, and never touches it again */
    void *source_;
} cen_future;

CEN_API void cen_future_init(cen_future *future);

/* Lets `done` be called once with the future, on that executor: soon, if it is
 * done already. Errors: INVALID (NULL), MISUSE (it has a consumer already): nothing changes. */
CEN_API cen_status cen_future_then(cen_future *future, void (*done)(cen_future *future), cen_executor *executor);

/* Whether it is done. Never waits. */
CEN_API bool cen_future_is_done(const cen_future *future);

/* Waits until it is done. CEN_DEFAULT: 30 seconds. A thread that waits for
 * something of a manual runtime does not poll it meanwhile: another one must.
 * Errors: TIMEOUT (it is still pending), INVALID (NULL, or nobody ever promised it, or it was
 * cancelled), MISUSE (it has another consumer). OK says that it is done, and future->status how. */
CEN_API cen_status cen_future_wait(cen_future *future, cen_deadline deadline);

/* Wait as cen_future_wait does (CEN_DEFAULT: 30 seconds), or until the token is set (cenote/stop.h). A stopped wait leaves the
 * operation pending: the next wait continues it, and cen_future_cancel ends it. `stop` NULL: no token.
 * Returns: as cen_future_wait, and
 *   INTERRUPTED  the token is set, and the future is not done yet
 *   FORKED       the token belongs to the parent process */
CEN_API cen_status cen_future_wait_stoppable(cen_future *future, cen_deadline deadline, cen_stop_token *stop);

/* Gives it up. True: it will never be done, and its `done` is never called; so
 * it says of one that nobody has promised, and of one that was given up before.
 * False: it is done, or will be in a moment, as if nothing had been asked; what
 * it brings is yours to deal with. (Also if a thread is just waiting for it, or it
 * is NULL.) Exactly one of the two. Never waits for whoever promised it to do its work. */
CEN_API bool cen_future_cancel(cen_future *future);

/* ---- The other side ----------------------------------------------------------- */

/* Belongs to whoever keeps it, and must stay where it is until keep or fail returned,
 * or is_wanted said false. */
typedef struct cen_promise {
    CEN_ATOMIC_(uintptr_t) future_;
} cen_promise;

/* Promises a future that was made ready. Errors: INVALID (NULL), MISUSE (it has been promised, or is done). */
CEN_API cen_status cen_promise_init(cen_promise *promise, cen_future *future);

/* The future is done with a value, or with an error (its status must not be OK;
 * NULL: DRIVER). True: it was told. False: it had been given up, or the promise
 * was kept before: nothing was touched, and the value is still the caller's. */
CEN_API bool cen_promise_complete(cen_promise *promise, void *value);
CEN_API bool cen_promise_fail(cen_promise *promise, const cen_error *error);

/* Whether it is still to be kept: not if its future was given up. Work that nobody wants can be left. */
CEN_API bool cen_promise_is_wanted(const cen_promise *promise);

/* ---- Several at once ------------------------------------------------------------ */

/* A future over others. Caller-owned; must stay where it is until left, and so must
 * the members and the array: they are not made ready again before. A member may be
 * cancelled, and then never tells its group. */
typedef struct cen_group {
    cen_future future;
    /* cenote's */
    cen_future *const *members_;
    size_t count_;
    CEN_ATOMIC_(size_t) missing_; /* members that may still touch it */
    CEN_ATOMIC_(size_t) undone_;
    CEN_ATOMIC_(cen_future *) first_; /* that is done, or that failed */
    cen_executor executor_;           /* of its members */
    bool any_;
} cen_group;

/* group->future is done as soon as one of the members is; its value is that
 * member, its status OK. The group is the consumer of all of them; they may be
 * done already, or promised later. Errors: INVALID (NULL, or count is 0, or one of
 * them twice), MISUSE (a member has a consumer, or was given up): nothing changes. */
CEN_API cen_status cen_any_of(cen_group *group, cen_future *const members[], size_t count);

/* ... when all of them are; its value is NULL and its status OK, or the member
 * that failed first, and its status. */
CEN_API cen_status cen_all_of(cen_group *group, cen_future *const members[], size_t count);

/* Lets go of the members: none of them has a consumer afterwards, whether it is
 * done or not. When it returns no member will touch the group, and group->future,
 * if it was not done, never will be; if it was, and has a `done` that is still to
 * come, it stays until that is entered. May be called there, and more than once. */
CEN_API void cen_group_leave(cen_group *group);

#ifdef __cplusplus
}
#endif
#endif
