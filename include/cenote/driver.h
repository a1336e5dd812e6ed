/* SPDX-License-Identifier: MIT */
/*
 * A driver makes and ends one kind of object for a pool.
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
 * A driver value is two pointers, copied by whoever receives it; what they
 * point to must live until `fini` has been called, or, without one, until the
 * pool was freed and all its objects are back; `calls` themselves are copied by cen_pool_new, and what the
 * argument points to is the driver's affair if it has a `prepare`.
 *
 * Where they run. A driver whose functions are quick, as that one's, is called
 * on the thread that needs the object: inline. One that may block, because it
 * speaks with a server, says so in `blocks`: then open, reset, test and close
 * run on helper threads of the pool's runtime, a few at a time for each pool,
 * so that a server that does not answer holds up nobody else. One that works in
 * an event loop begins its calls and says later that they are done: see
 * open_async. `check`, `abandon` and `interrupt` are always called inline and must be quick.
 *
 * Threads: several calls may go on at a time, each for another object, and no
 * lock is held meanwhile. Cancellation of the thread is disabled during the call.
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

/* What a look at an object's memory says about it. */
typedef enum cen_condition {
    CEN_CLEAN = 0, /* as good as new */
    CEN_DIRTY,     /* usable after a reset: a transaction is open, say */
    CEN_BROKEN,    /* to be closed */
} cen_condition;

struct cen_pool;

/* A call of a driver that goes on after its function has returned: a plain
 * value, to be kept until cen_driver_done. Its number is never used again in
 * this process. */
typedef struct cen_ticket {
    struct cen_pool *pool;
    uint64_t number;
    /* cenote's */
    void *line_;
    uint64_t epoch_;
} cen_ticket;

/* Any of the functions may be NULL, but cen_pool_new refuses a table without an open or a close that does not say so
 * (opens_nothing, closes_nothing). Fields are only ever appended; those that a
 * program does not know, because `size` is smaller, are zero. */
typedef struct cen_driver_calls {
    size_t size; /* sizeof(cen_driver_calls) */

    /* Makes an object; any pointer-sized value will do, NULL included. On
     * failure returns any status but OK and may say more in `error`, which is
     * never NULL here. NULL, with opens_nothing: the pool makes no objects, it holds
     * what it is given by cen_pool_adopt. */
    cen_status (*open)(void *argument, void **out, cen_error *error);

    /* Ends an object. NULL, with closes_nothing: there is nothing to do. */
    void (*close)(void *argument, void *object);

    /* The object was taken away from a holder who did not give it back in
     * time: make whatever it is doing with it fail soon. The holder may be
     * using it right now, and may give it back, and so have it closed, only
     * after this returned. NULL: there is nothing that could be done. */
    void (*interrupt)(void *argument, void *object);

    /* open, close, reset or test may block. */
    bool blocks;

    /* Called once by cen_pool_new, before anything else; if it fails so does
     * cen_pool_new, with its error, and fini is not called. */
    cen_status (*init)(void *argument, cen_error *error);

    /* Called once, last of all, when the pool's memory is about to be given
     * back: on the thread that freed the pool, or that brought the last object
     * of a freed pool back, or said that its last call is done. */
    void (*fini)(void *argument);

    /* Looks at the object's memory, never at a server: whenever it is given
     * back. NULL: what is given is clean. */
    cen_condition (*check)(void *argument, void *object);

    /* Makes a dirty object clean. Whatever but OK: it is closed. NULL: dirty objects are closed. A reset that returns OK may
     * say what it ended, in error->text with error->status OK: "transaction left open". The pool then tells
     * CEN_EVENT_LEFT_OPEN with the call site of the lease. */
    cen_status (*reset)(void *argument, void *object, cen_error *error);

    /* Finds out, by asking the server say, whether the object still works:
     * idle ones now and then, and one that has been idle for long before it is
     * lent, on a helper or on the taker's thread (test_after_idle_ns). Whatever but OK: it is closed. NULL:
     * objects are believed to work. */
    cen_status (*test)(void *argument, void *object, cen_error *error);

    /* Let go of an object without a word to the server.
     * In the child of a fork, for an object of the parent: close the descriptors, free the memory, send nothing. No close
     * follows.
     * In the process that opened it, for a lease that ended without its holder (an orphan, a reclaimed leak): cut the object off
     * (shut the socket down) and leave its memory alone, because its holder may still be using it. interrupt was called
     * before. close or close_async follows: at the late give, or when the pool is freed.
     * A driver tells the two apart by the process that opened the object. Called inline, so it must be quick. NULL: an orphan
     * keeps its place until it is given. */
    void (*abandon)(void *argument, void *object);

    /* Drivers that neither block nor are quick, because they speak with a server
     * from an event loop: each of these returns at once, and cen_driver_done is
     * called later, or from within. One that is there is used instead of its
     * namesake above. They are called on the runtime: on a helper, or in poll of a
     * manual one. What the options of a pool say of blocking drivers is said of these, too. */
    void (*open_async)(void *argument, cen_ticket ticket);
    void (*reset_async)(void *argument, void *object, cen_ticket ticket);
    void (*test_async)(void *argument, void *object, cen_ticket ticket);
    void (*close_async)(void *argument, void *object, cen_ticket ticket);

    /* Nobody wants what that call will bring: opening or testing took too long, or
     * the pool was closed while it was opened, tested or reset. It is to end soon, and must
     * still be done. Once for each ticket at most. Inline, and quick; may come while
     * the call is being done on another thread, just after, or just before it begins: a
     * driver remembers the last numbers that it does not know. NULL: it is awaited. */
    void (*cancel)(void *argument, cen_ticket ticket);

    /* As init, which is not called then, for a driver that keeps something of its own for each pool: what it leaves in
     * *state, NULL before, all other calls for that pool, fini included, have as their argument instead of
     * the driver's. So a driver value is a description only, which several pools may be made from, and
     * which need not live longer than cen_pool_new unless the driver says so. */
    cen_status (*prepare)(void *argument, void **state, cen_error *error);

    /* check does nothing but read memory: it calls nothing of cenote, is no cancellation point, and returns. Then a give
     * calls it without further ado, which is several times quicker. */
    bool check_only_reads;

    /* What its objects speak with, in the words of OpenTelemetry's db.system.name: "postgresql", "mariadb", "sqlite",
     * "redis"; or "http". NULL: nothing that has such a name. A text that lives as long as the calls; whoever watches
     * the pool is told it. */
    const char *system;

    /* The process exits: make all calls that run for this pool return soon, with whatever status. Called once at most, on the
     * thread that exits, while the calls run on helpers. Must be quick, take no lock that a call holds while it waits, and free
     * nothing. NULL: exit waits for them (cen_runtime_exit_timeout_set in cenote/runtime.h). */
    void (*cancel_all)(void *argument);

    /* There is no open on purpose, there is no close on purpose. */
    bool opens_nothing, closes_nothing;

    /* The text of each error has its code in the words that people know, "SQLSTATE 28P01". The pool's texts then leave the
     * number out. */
    bool says_codes;

    /* Return a number by which people know the object at its server, such as the pid of PostgreSQL's backend. It is shown after
     * `identity_prefix`: "pid 4711", ":51234". 0: there is none. Called once, when the object has been opened or adopted, on
     * the thread that did it; must not wait. NULL: objects have no identity. */
    uint64_t (*identify)(void *argument, void *object);
    const char *identity_prefix; /* a text that lives as long as the calls; NULL: none */
} cen_driver_calls;

typedef struct cen_driver {
    const cen_driver_calls *calls; /* NULL: no driver */
    void *argument;                /* passed to each of the calls */
} cen_driver;

/* What was started is done: `object` is what was opened, and means nothing
 * otherwise; `status` and `error`, which may be NULL, are as the functions above
 * would answer. Exactly once for each ticket, from any thread. An object that
 * comes too late, after open_timeout_ns or in a closed pool, is closed, and never counts twice.
 * Errors: STALE (it was done before, or is no ticket), FORKED, INVALID (status is none): nothing
 * changes, and the object is still the driver's. */
CEN_API cen_status cen_driver_done(cen_ticket ticket, cen_status status, void *object, const cen_error *error);

#ifdef __cplusplus
}
#endif
#endif
