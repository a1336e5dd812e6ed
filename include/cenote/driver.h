/* SPDX-License-Identifier: MIT */
/*
 * A driver opens and closes the objects of a pool, such as connections. Each driver handles one kind of object.
 *
 *     static cen_status open_buffer(void *argument, void **out, cen_error *error)
 *     {
 *         (void)argument, (void)error;
 *         *out = malloc(4096);
 *         return *out ? CEN_OK : CEN_NO_MEMORY;
 *     }
 *     static void close_buffer(void *argument, void *object) { (void)argument; free(object); }
 *
 *     static const cen_driver_calls buffers = {.size = sizeof buffers, .open = open_buffer, .close = close_buffer};
 *     cen_driver driver = {&buffers, NULL};
 *
 * Memory: a cen_driver consists of two pointers and is copied. cen_pool_new also copies the table of calls. The
 * argument must stay valid until `fini` has been called or, if there is no `fini`, until the pool is freed and all its
 * objects have been given back. If there is a `prepare`, the driver's documentation states how long the argument must
 * stay valid.
 *
 * Where the calls run:
 *  - Quick: the calls of a driver such as the one above run inline, on the thread that needs the object.
 *  - Blocking: a driver whose calls may block, because they talk to a server, sets `blocks`. Then open, reset, test and
 *    close run on helper threads of the pool's runtime, a few at a time for each pool. A server that does not respond
 *    therefore delays only its own pool. The options eager and test_after_idle_ns (cenote/pool.h) are exceptions.
 *  - Asynchronous: a driver that works in an event loop starts its calls and later reports that they are done (see
 *    open_async).
 * `check`, `abandon` and `interrupt` always run inline and must be quick.
 *
 * Threads: several calls may run at the same time, each for a different object. No lock is held during a call. Thread
 * cancellation is disabled during a call.
 */
#ifndef CENOTE_DRIVER_H
#define CENOTE_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/sized.h>
#include <cenote/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The condition of an object, as far as the driver can tell from memory alone. */
typedef enum cen_condition {
    CEN_CLEAN = 0, /* it can be lent again as it is */
    CEN_DIRTY,     /* it must be reset before it is lent again: for example, a transaction is open */
    CEN_BROKEN,    /* it must be closed */
} cen_condition;

struct cen_pool;

/* A ticket: identifies an asynchronous driver call that has been started and has not been reported as done yet. It is a
 * plain value, to be kept until cen_driver_done is called. Its number is never reused in this process. */
typedef struct cen_ticket {
    struct cen_pool *pool;
    uint64_t number;
    /* private */
    void *line_;
    uint64_t epoch_;
} cen_ticket;

/* The table of a driver's calls. Any function may be NULL, but cen_pool_new refuses a table without an open or a close,
 * unless opens_nothing or closes_nothing states that this is intended. Fields are only ever appended. Fields beyond the
 * driver's `size` are zero. */
typedef struct cen_driver_calls {
    size_t size; /* sizeof(cen_driver_calls) */

    /* Open an object. The object may be any pointer-sized value, including NULL. On failure, return any status other
     * than OK. `error` is never NULL here, and a code and a text may be stored in it. If the server refused the login,
     * also set error->cause to CEN_CAUSE_LOGIN_REFUSED: the pool then waits longer before it tries again
     * (backoff_max_ns), and takes fail with this cause. If this function is NULL (opens_nothing), the pool opens no
     * objects and contains only those added by cen_pool_adopt. */
    cen_status (*open)(void *argument, void **out, cen_error *error);

    /* Close an object. If this function is NULL (closes_nothing), there is nothing to do. */
    void (*close)(void *argument, void *object);

    /* Make whatever the holder is doing with the object fail soon, because its lease is being revoked. The holder may
     * be using the object at this time. It may also give the object back during this call; the object is closed only
     * after this call has returned. NULL: nothing can be done. */
    void (*interrupt)(void *argument, void *object);

    /* open, close, reset or test may block, so they run on helper threads. */
    bool blocks;

    /* Initialise what all objects share. Called exactly once by cen_pool_new, before any other call. If it fails,
     * cen_pool_new fails with its error, and fini is not called. */
    cen_status (*init)(void *argument, cen_error *error);

    /* Release what init or prepare created. Called exactly once, after all other calls, when the pool's memory is about
     * to be freed. It runs on whichever thread freed the pool, gave back the last object of a freed pool, or reported
     * the last call of a freed pool as done. */
    void (*fini)(void *argument);

    /* Check the object's memory, without asking a server. Called on every give. NULL: an object that is given back
     * counts as clean. */
    cen_condition (*check)(void *argument, void *object);

    /* Make a dirty object clean. If the status is not OK, the object is closed. NULL: dirty objects are closed. A reset
     * that returns OK may leave error->status OK and state in error->text what it ended, such as "transaction left
     * open". The pool then emits CEN_EVENT_LEFT_OPEN with the call site of the lease. */
    cen_status (*reset)(void *argument, void *object, cen_error *error);

    /* Health check: find out whether the object still works, for example by asking the server. Called for idle objects
     * (test_interval_ns), and before an object that has been idle for some time is lent, on a helper or on the taker's
     * thread (test_after_idle_ns). If the status is not OK, the object is closed. NULL: objects count as working. */
    cen_status (*test)(void *argument, void *object, cen_error *error);

    /* Let go of an object without sending anything to the server. There are two cases. A driver tells them apart by the
     * process that opened the object.
     *  - In the child of a fork, for an object of the parent: close the descriptors and free the memory. No close
     *    follows.
     *  - In the process that opened it, for a lease that ended without its holder (an orphan, a reclaimed leak): cut
     *    the object off (shut the socket down) and leave its memory alone, because its holder may still be using it.
     *    interrupt has already been called. close or close_async follows, at the late give or when the pool is freed.
     * Called inline, so it must be quick. NULL: an orphan keeps its place until it is given back. */
    void (*abandon)(void *argument, void *object);

    /* Asynchronous calls, for drivers that talk to a server from an event loop. Each returns immediately, and
     * cen_driver_done is called later or from within the call. Each is used instead of the corresponding call above.
     * They run on the runtime: on a helper or, if the runtime is manual, from within its poll call. The options of a
     * pool treat a driver with any of these calls as blocking. */
    void (*open_async)(void *argument, cen_ticket ticket);
    void (*reset_async)(void *argument, void *object, cen_ticket ticket);
    void (*test_async)(void *argument, void *object, cen_ticket ticket);
    void (*close_async)(void *argument, void *object, cen_ticket ticket);

    /* End an asynchronous call soon, because its result is not needed: an open or a test took too long, or the pool was
     * closed during an open, a test or a reset. cen_driver_done must still be called. Called at most once for each
     * ticket, inline, so it must be quick. It may be called while another thread is reporting the call as done, just
     * after that, or just before the call begins. A driver must therefore remember the latest ticket numbers that it
     * did not recognise. NULL: the pool waits for the call. */
    void (*cancel)(void *argument, cen_ticket ticket);

    /* Initialise a driver that keeps state for each pool. If this is set, init is not called. *state is NULL before the
     * call. The pointer that is stored there replaces the driver's argument in all other calls for that pool, including
     * fini. A driver value is therefore only a description. Several pools may be created from it, and it need not
     * outlive the call to cen_pool_new unless the driver says otherwise. */
    cen_status (*prepare)(void *argument, void **state, cen_error *error);

    /* check only reads memory: it calls nothing in cenote, contains no cancellation point, and always returns. A give
     * then calls it directly, which is several times faster. */
    bool check_only_reads;

    /* The kind of server that the objects connect to, using the names of OpenTelemetry's db.system.name: "postgresql",
     * "mariadb", "sqlite", "redis"; or "http". NULL: there is no such name. The text must live as long as the calls.
     * The pool's metrics and descriptions show it. */
    const char *system;

    /* Make all calls that are running for this pool return soon, with any status, because the process is exiting.
     * Called at most once, on the exiting thread, while the calls are running on helpers. It must be quick, take no
     * lock that a call holds while it waits, and free nothing. NULL: exit waits for the calls
     * (cen_runtime_exit_timeout_set in cenote/runtime.h). */
    void (*cancel_all)(void *argument);

    /* The table intentionally lacks open, close, or both. */
    bool opens_nothing, closes_nothing;

    /* The text of each error contains its code in the server's own form, such as "SQLSTATE 28P01". The pool's texts
     * then omit the number. */
    bool says_codes;

    /* Return a number that identifies the object at its server, such as the pid of a PostgreSQL backend. Texts show it
     * after `identity_prefix`: "pid 4711", ":51234". 0: no identity. Called once, after the object has been opened or
     * adopted, on the thread that opened or adopted it. It must not wait. NULL: objects have no identity. */
    uint64_t (*identify)(void *argument, void *object);
    const char *identity_prefix; /* a text that must live as long as the calls; NULL: none */
} cen_driver_calls;

/* A driver: a table of calls and an argument for them. */
typedef struct cen_driver {
    const cen_driver_calls *calls; /* NULL: no driver */
    void *argument;                /* passed to each of the calls */
} cen_driver;

/* Report that an asynchronous call is done. `status` and `error`, which may be NULL, are those that the synchronous
 * call of the same name would have returned. `object` is the opened object; it is ignored for calls other than
 * open_async. Call this exactly once for each ticket.
 *
 * Ownership: if this returns OK, an opened object belongs to the pool. An object that arrives too late (after
 * open_timeout_ns, or after the pool was closed) is closed and never lent. A late open counts as one failure. If this
 * does not return OK, nothing changes, and the object still belongs to the driver.
 * Threads: any thread.
 * Returns:
 *   OK       the call is done
 *   STALE    the call was already reported as done, or the ticket is not valid
 *   INVALID  status is not a cen_status
 *   FORKED   the call was started in the parent process
 */
CEN_API cen_status cen_driver_done(cen_ticket ticket, cen_status status, void *object, const cen_error *error);

#ifdef __cplusplus
}
#endif
#endif
