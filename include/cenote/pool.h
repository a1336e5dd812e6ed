/* SPDX-License-Identifier: MIT */
/*
 * A connection pool (checkout pool): a bounded number of objects of any kind, each lent to one holder at a time.
 *
 * Life: new, take and give from any thread, close, free.
 *
 *     cen_pool *pool;
 *     cen_error error;
 *     cen_pool_options options = CEN_POOL_OPTIONS(.name = "orders", .driver = driver, .max = 10);
 *     if (cen_pool_new(&options, &pool, &error) != CEN_OK) die(error.text);
 *
 *     CEN_WITH (pool, cen_in_ms(500), struct buffer *, buffer, &error) {
 *         use(buffer);                   // given back however the block is left
 *     } else {
 *         puts(error.text);
 *     }
 *
 *     cen_lease lease;                   // or explicitly
 *     if (cen_pool_take(pool, cen_in_ms(500), &lease, &error) == CEN_OK) {
 *         use(lease.object);
 *         cen_pool_give(&lease);
 *     }
 *
 *     cen_pool_close(pool, cen_in_s(5), NULL, NULL);
 *     cen_pool_free(pool);
 *
 * Threads: every function may be called from any thread at any time, except cen_pool_free, whose comment states its
 * conditions. Writes that a holder makes before it gives an object back are visible to the next holder.
 *
 * Callbacks: the pool holds no lock while it calls its driver, visitors and listeners. "Inside a callback of the pool"
 * means during such a call. "Caveats" at the end of this header lists what a callback may do.
 *
 * Cancellation: a take is a cancellation point while it waits for an object or for an object's health check. A thread
 * that is cancelled there leaves the wait queue, gives back any object already granted to it, and ends. Nothing else in
 * cenote is a cancellation point: neither a take that does not wait, nor a wait for a future, a queue or a close.
 * Cancellation does not end a take if cancellation is disabled, or if the take is made inside a callback of a pool.
 *
 * Progress: "never waits" means that a function does not sleep while it waits for an object to be given back. It may
 * still take the pool's single lock. This lock is held for only a few steps at a time, and never while the program's
 * code, including its allocator, is running.
 *
 * Fork: in the child, every function fails with FORKED unless options.on_fork is CEN_FORK_RENEW. In that case, the
 * first call in the child recreates the pool and may also fail with NO_MEMORY.
 */
#ifndef CENOTE_POOL_H
#define CENOTE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/allocator.h>
#include <cenote/choice.h>
#include <cenote/deadline.h>
#include <cenote/driver.h>
#include <cenote/events.h>
#include <cenote/runtime.h>
#include <cenote/sized.h>
#include <cenote/status.h>
#include <cenote/stop.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cen_pool cen_pool;

/* A lease: the right to use one object exclusively. It is a plain value and may be copied. The lease ends only once,
 * however many copies of it exist. Programs may read `object`; all other fields are private. */
typedef struct cen_lease {
    void *object;
    cen_pool *pool;      /* NULL if the lease was given back or never taken */
    uint64_t generation; /* number of the lease in its slot; only the lower 56 bits are significant */
    void *slot;
} cen_lease;

/* ---- Creating a pool ------------------------------------------------------ */

/* Which idle object is lent next. */
typedef enum cen_order {
    /* The object that the calling thread last held, if it is idle; otherwise the idle object with the lowest index.
     * This is the fastest order. Load stays on the low indexes, so surplus objects with high indexes reach their idle
     * timeout. */
    CEN_ORDER_WARM = 0,
    /* LIFO: always the object that was given back last. FIFO: always the object that has been idle longest. In both
     * orders, every take and every give acquires the pool's lock. A health check does not count as use: takes skip an
     * object that is being tested, and the object keeps its place in the order. An object that must be tested first
     * (test_after_idle_ns) is also skipped by asynchronous takes and, if the driver has test_async, by all takes,
     * because they cannot test it themselves. If an object passes its test after its take has timed out, the object
     * counts as lent and given back at that moment. */
    CEN_ORDER_LIFO,
    CEN_ORDER_FIFO,
} cen_order;

/* Policy for a lease whose holder ends without giving it back. The holder is the thread or task that took it. */
typedef enum cen_holder_end_policy {
    /* The lease becomes an orphan, because another thread may still be using the object. The driver's interrupt and
     * abandon are called. They cut the object off but leave its memory alone. Its place in the pool becomes free for
     * another object immediately. A late give closes the object and returns REVOKED. cen_pool_free closes objects that
     * were never given back. If the driver has no abandon, or if memory runs out, the place stays occupied until the
     * object is given back. The lease of a scope (CEN_WITH, cen_pool_enter) cannot belong to another thread, so its
     * object is closed immediately. */
    CEN_HOLDER_END_ORPHAN = 0,
    /* The other policies are for programs that never hand a lease to another thread. In other programs, another thread
     * could end up using a closed or shared object. */
    CEN_HOLDER_END_CLOSE, /* The object is closed immediately. */
    /* The object is checked, reset and tested, as far as the driver supports this. If it passes, it is lent again. */
    CEN_HOLDER_END_TEST,
    CEN_HOLDER_END_REUSE, /* The object is given back as it is. */
} cen_holder_end_policy;

/* Leak detection: policy for a lease held for longer than leak_after_ns. */
typedef enum cen_leak_policy {
    CEN_LEAK_REPORT = 0, /* the lease is reported once */
    /* The lease is reported and ends, whether it is attached or detached, or was taken asynchronously. The driver's
     * interrupt and abandon are called, and the place becomes free for another object, whether or not the driver has an
     * abandon. The holder must stop using the object. A late give closes the object and returns REVOKED. cen_pool_free
     * closes objects that were never given back. If memory runs out, the place stays occupied and the housekeeper tries
     * again. */
    CEN_LEAK_RECLAIM,
} cen_leak_policy;

/* Policy for a lease held for longer than max_hold_ns. */
typedef enum cen_hold_policy {
    /* The lease is revoked: the driver's interrupt is called, and the place stays occupied until the object is given
     * back. */
    CEN_HOLD_REVOKE = 0,
    CEN_HOLD_RECLAIM, /* The lease is reclaimed like a leak (CEN_LEAK_RECLAIM): the place becomes free immediately. */
} cen_hold_policy;

/* Policy for a take that would wait even though its own holder holds all objects of the pool. */
typedef enum cen_self_wait {
    /* The take waits. A SELF_WAIT event reports this if max is at most 64. In a pool of at most 1024 places, the error
     * text of the timeout reports it as well. */
    CEN_SELF_WAIT_REPORT = 0,
    CEN_SELF_WAIT_FAIL, /* The take fails with MISUSE immediately. Before a take waits, it may read all slots. */
} cen_self_wait;

/* Options of a pool. In every field, zero means the default. CEN_OFF means no limit, and CEN_NONE means none at all: see
 * docs/limits.md. Times are in nanoseconds; write them as CEN_MS(50) or CEN_SECONDS(30).
 *
 * A driver is "blocking" if its calls->blocks is set, or if it has any of the asynchronous calls (open_async and so
 * on). A field marked "fixed" cannot be changed by cen_pool_options_set. Fields are only ever appended. Fields beyond
 * the caller's `size` have their defaults: see cenote/sized.h. */
typedef struct cen_pool_options {
    size_t size;       /* sizeof(cen_pool_options), set by the macro */
    const char *name;  /* shown in texts, events and metrics; copied and cut to 31 bytes; default "pool"; fixed */
    cen_driver driver; /* opens and closes objects; default none: the pool contains only adopted objects; fixed */
    uint32_t max;      /* maximum number of objects, 1 to CEN_POOL_MAX; default 10 */
    /* If true, cen_pool_new opens all objects, in order, on the calling thread. A driver with open_async is refused.
     * Default false: an object is opened when one is needed and none is idle. */
    bool eager;
    cen_order order;               /* which idle object is lent next; default CEN_ORDER_WARM */
    cen_deadline default_deadline; /* the deadline that CEN_DEFAULT stands for in this pool; default 30 seconds */
    /* Barging: how long running threads may overtake a waiter, in nanoseconds; default 1 ms. CEN_NONE: no waiter is
     * ever overtaken, which costs a context switch for every give to a waiter. CEN_OFF is refused, because a waiter
     * could starve. */
    int64_t max_barging_ns;
    /* If true, the clock is read at every take and every give, which costs about 50 ns per pair. Lists of holders then
     * show exact times, and the histogram "use" records every lease. Default false: one lease in 64 is timed, which
     * costs 1 to 2 ns per pair on average. For the remaining leases, only a lower bound on the time is known. It is
     * counted from when the lease was first listed by cen_pool_holders, by cen_pool_explain, in the error text of a
     * failed take, or by the housekeeper on one of its rounds. Changing this option resets the histogram "use". */
    bool exact_times;
    const cen_allocator *allocator; /* default malloc; fixed */
    cen_runtime *runtime;           /* keeps time and runs blocking driver calls; default the process's own; fixed */
    /* What happens to the pool in the child of a fork; default CEN_FORK_REFUSE; fixed. If this is CEN_FORK_RENEW, the
     * child's pool is empty, in fresh memory, and has the parent's options but no listener. It runs on the process's
     * own runtime, whatever runtime the parent's pool uses. The driver's abandon is called for the parent's objects,
     * idle or held, except for those that the parent was opening or closing when it forked. init and prepare are not
     * called again. Calls with leases from before the fork return FORKED. If there is no memory for the new pool, the
     * call that needed it fails with NO_MEMORY, and the next call tries again. If the pool was closed, its functions
     * keep returning FORKED. */
    cen_fork_policy on_fork;

    /* Opening: concurrency, timeout, back-off and circuit breaker */
    uint32_t max_concurrent_opens; /* maximum concurrent opens of a blocking driver, 1 to 64; default 2 */
    int64_t open_timeout_ns; /* a blocking open that takes longer counts as failed; default 10 s; CEN_OFF: no limit */
    /* Back-off with jitter: after a failed open, the next open is delayed by a random time. The upper bound of this
     * delay is backoff_initial_ns or 1/64 of the time since opens began to fail, whichever is longer. While other
     * objects can be lent, the bound doubles with each failure instead. If the server refused the login
     * (CEN_CAUSE_LOGIN_REFUSED), the bound is backoff_max_ns. Default 50 ms, or backoff_max_ns if that is less; off by
     * default if the driver does not block, unless backoff_max_ns is set. CEN_OFF: no back-off and no circuit breaker;
     * a waiting take fails as soon as an open fails. After a failure, a blocking driver's next open starts at least 1
     * ms later, unless the bound is less than that. */
    int64_t backoff_initial_ns;
    int64_t backoff_max_ns; /* the largest upper bound of the back-off; default 2 s; CEN_OFF is refused */
    /* number of consecutive failed opens after which the circuit breaker opens; default 5; CEN_OFF: it never opens; see
     * breaker_wait_ns */
    int32_t breaker_failures;

    /* Idle objects, idle timeout and max lifetime */
    /* Minimum number of idle objects, as far as max allows; default 0. A missing object is opened within 1 s. After a
     * failed open, it is opened when the back-off allows the next open, or after 1 s if there is no back-off. */
    uint32_t min_idle;
    /* maximum number of idle objects, checked at least every second; default CEN_OFF; CEN_NONE: no object stays idle */
    int32_t max_idle;
    /* an object that has been idle for longer is closed, as long as at least min_idle objects remain idle; default 10
     * min, or CEN_OFF if the driver does not block */
    int64_t idle_timeout_ns;
    /* an object older than this is closed, or, if it is held, closed when it is given back; default 30 min, or CEN_OFF
     * if the driver does not block */
    int64_t max_lifetime_ns;
    /* Each object's lifetime is shortened by a random amount of up to this percentage, 1 to 100; default 10;
     * CEN_NO_JITTER: none. Objects that were opened together are closed in up to 32 steps, at least 1 ms apart. */
    uint32_t lifetime_jitter;
    int64_t max_uses; /* an object lent this many times is closed when it is given back; default CEN_OFF */

    /* Health checks, for drivers with a test */
    /* An object that has been idle for longer is tested before it is lent; in some cases, the test may take place after
     * as little as half this time; default 1 s; CEN_OFF: it is not tested. When an object is found broken, all objects
     * that are idle at that time are tested before they are lent. If the driver blocks and the take has a deadline or a
     * stop token, a helper runs the test: the take still returns by its deadline or when it is stopped. If the object
     * passes the test later, it can be lent to other callers. In all other cases, the test runs on the take's thread,
     * and the take returns only after the test. These cases are a take with CEN_NEVER and no token, a take with
     * CEN_NOW, a driver that does not block, and a manual runtime. If the driver has test_async, the take waits in the
     * wait queue while the object is tested. */
    int64_t test_after_idle_ns;
    int64_t test_interval_ns; /* idle objects are tested this often; default 30 s; CEN_OFF: never */
    /* a test on a helper that takes longer counts as failed, and the object is closed when the test returns; default 5
     * s; CEN_OFF: no limit */
    int64_t test_timeout_ns;
    /* maximum concurrent tests of idle objects, 1 to 64; default 2; tests started by takes are not counted */
    uint32_t max_concurrent_tests;

    /* Holders and waiters */
    int64_t leak_after_ns;               /* leak detection: a lease held for longer is reported; default CEN_OFF */
    cen_leak_policy on_leak;             /* what else happens to a leaked lease; default CEN_LEAK_REPORT */
    int64_t max_hold_ns;                 /* a lease held for longer is revoked; default CEN_OFF */
    cen_holder_end_policy on_holder_end; /* what happens to a lease whose holder ends; default CEN_HOLDER_END_ORPHAN */
    /* queue limit: if there are this many waiters, a take that would wait fails with FULL immediately; default CEN_OFF;
     * CEN_NONE: takes never wait */
    int32_t max_waiters;
    cen_self_wait on_self_wait; /* default CEN_SELF_WAIT_REPORT */
    /* every take records its call stack; costs about 1 us per take and 136 bytes per slot; fixed */
    bool backtraces;

    /* Overload: see docs/overload.md */
    /* a waiter is served before takes of the next higher priority that arrive this much later; default 100 ms; CEN_OFF
     * is refused */
    int64_t aging_ns;
    /* Load shedding (CoDel): if, during the whole of shed_interval_ns, every waiter whose turn came had waited for
     * shed_target_ns or longer, some waiters fail with OVERLOAD. Default CEN_OFF. */
    int64_t shed_target_ns;
    int64_t shed_interval_ns; /* default 100 ms; CEN_OFF is refused */
    bool refuse_late; /* a take that would most likely be served after its deadline fails with OVERLOAD immediately */

    /* Every take and every give also emits an event (cenote/events.h, level TRACE), which costs about 90 ns each time.
     * Implies exact_times. */
    bool trace_takes;

    /* How long the circuit breaker is open before takes fail fast; default 5 s. This applies to takes that can be
     * served only by opening an object. During this time, such a take waits up to its deadline. If its deadline is
     * before the next attempt, however, the take fails immediately with the error of the last open. After
     * breaker_wait_ns, a take fails immediately, with two exceptions: it may start an attempt itself, or an attempt is
     * in progress and the previous attempt failed in less than breaker_wait_ns. In these two cases, the take waits for
     * the attempt, for up to breaker_wait_ns. CEN_OFF: takes fail fast as soon as the circuit breaker opens.
     * CEN_WHOLE_DEADLINE: takes never fail fast. */
    int64_t breaker_wait_ns;

    cen_hold_policy on_max_hold; /* what happens after max_hold_ns; default CEN_HOLD_REVOKE */
} cen_pool_options;

/* Priority (cen_priority in cenote/choice.h) orders waiters. Waiters of equal priority are served FIFO; aging prevents
 * starvation. A waiter can be overtaken only by takes of higher priority that arrive less than aging_ns after it. If
 * the waiter is LOW and the takes are HIGH, the limit is twice aging_ns. */

/* Value of lifetime_jitter: objects live for exactly max_lifetime_ns. */
#define CEN_NO_JITTER 101

/* Value of breaker_wait_ns: a take waits until its deadline, however long the circuit breaker has been open. */
#define CEN_WHOLE_DEADLINE INT64_MAX

/* The largest value of `max`. */
#define CEN_POOL_MAX 1000000

/* Options with `size` set. In C++ without designated initialisers, begin with
 * `cen_pool_options options = CEN_SIZED(cen_pool_options);` and then set the fields. */
#define CEN_POOL_OPTIONS(...) CEN_OPTIONS_(cen_pool_options, __VA_ARGS__)

/* Create a pool. The memory for max objects is allocated here. More memory is allocated only for a larger max, the
 * first listener, the first asynchronous take with a deadline, an orphan, and histograms that grow. An uncontended take
 * or give allocates nothing.
 * Returns:
 *   OK         *out is the pool
 *   INVALID    out or options is NULL, or an option is invalid; the text names the field
 *   NO_MEMORY  out of memory
 *   FORKED     options.runtime belongs to the parent process
 *   others     the driver's init or prepare failed, or, if eager is set, its open failed: the status is the driver's,
 *              and objects that are already open are closed in reverse order
 */
CEN_API cen_status cen_pool_new(const cen_pool_options *options, cen_pool **out, cen_error *error);

/* Read the current options, with defaults filled in. They can be changed and passed to cen_pool_options_set. Set
 * out->size before the call.
 * Returns:
 *   OK       *out is filled in
 *   INVALID  pool or out is NULL, or out->size is not valid
 *   FORKED   the pool belongs to the parent process
 */
CEN_API cen_status cen_pool_options_get(cen_pool *pool, cen_pool_options *out);

/* Set all options that are not fixed, in one step: no other thread sees a partial change. A smaller struct leaves the
 * options that it does not contain unchanged. `eager` has no effect here. A tighter limit takes effect on the
 * housekeeper's next round. A held object that exceeds max, max_lifetime_ns or max_uses is closed when it is given
 * back. leak_after_ns and max_hold_ns also apply to current leases. If the status is not OK, nothing changes.
 * Returns:
 *   OK         the options are set
 *   INVALID    pool or options is NULL, an option is invalid, or a fixed option differs; the text names the field
 *   NO_MEMORY  out of memory
 *   CLOSED     the pool is closed
 *   FORKED     the pool belongs to the parent process
 *   MISUSE     called inside a callback of the pool
 */
CEN_API cen_status cen_pool_options_set(cen_pool *pool, const cen_pool_options *options, cen_error *error);

/* ---- Take and give --------------------------------------------------------- */

/* The caller's file and line, as a string literal: the `where` argument of the functions below, shown in lists of
 * holders. If a program passes its own `where`, that string must live as long as the pool. */
#define CEN_TEXT_(line) #line
#define CEN_LINE_(line) CEN_TEXT_(line)
#define CEN_HERE __FILE__ ":" CEN_LINE_(__LINE__)

/* Take an object from the pool: an idle one, a new one if the pool has fewer than max, or the next one given back. A
 * caller never receives an object that it already holds. Waiters are served in order of arrival, within the bound set
 * by options.max_barging_ns.
 *
 * Ownership: the lease belongs to the current thread or task until it is given back: see cen_pool_detach.
 * Blocking: until the deadline (CEN_DEFAULT: options.default_deadline). If the driver does not block, it opens objects
 * on this thread, and the take waits for the open even past the deadline. An object that was granted before the
 * deadline is returned with OK, even if the deadline has passed in the meantime.
 * Cost: about ten steps if an object is idle and there are no waiters (CEN_ORDER_WARM). No lock is taken, and the clock
 * is read only for the one lease in 64 that is timed.
 *
 * error->cause states why the take failed, including for TIMEOUT, and error->text explains it in full: see
 * cen_pool_explain. A refusal also sets error->retry_after_ns. A refusal because of max_waiters sets error->current and
 * error->max as well.
 * Returns:
 *   OK           the lease is filled in
 *   TIMEOUT      the deadline passed first
 *   CLOSED       the pool is closed
 *   FULL         the wait queue is full (options.max_waiters)
 *   OVERLOAD     the take was shed (options.shed_target_ns), or would be served too late (options.refuse_late)
 *   INTERRUPTED  cen_pool_interrupt ended the wait
 *   MISUSE       called inside a callback of the pool, and the take would have to wait or open an object; or the holder
 *                holds all objects itself (options.on_self_wait)
 *   INVALID      pool or out is NULL
 *   FORKED       the pool belongs to the parent process
 *   DRIVER       no object can be opened: the last open failed with DRIVER or took too long
 *   others       no object can be opened: the status of the driver's open
 */
#define cen_pool_take(pool, deadline, out, error) cen_pool_take_at((pool), (deadline), (out), (error), CEN_HERE)
CEN_API cen_status cen_pool_take_at(cen_pool *pool, cen_deadline deadline, cen_lease *out, cen_error *error,
                                    const char *where);

/* Take an object as cen_pool_take does, with a priority. The priority matters only if the take has to wait.
 * cen_pool_take uses CEN_PRIORITY_NORMAL.
 * Blocking: as cen_pool_take (CEN_DEFAULT: options.default_deadline).
 * Returns:
 *   INVALID  also: the priority is not valid
 *   others   as cen_pool_take
 */
#define cen_pool_take_priority(pool, priority, deadline, out, error) \
    cen_pool_take_priority_at((pool), (priority), (deadline), (out), (error), CEN_HERE)
CEN_API cen_status cen_pool_take_priority_at(cen_pool *pool, cen_priority priority, cen_deadline deadline,
                                             cen_lease *out, cen_error *error, const char *where);

/* Take an object as cen_pool_take does, but stop when the token is set (cenote/stop.h). A stopped take leaves the wait
 * queue. An object granted before the take was stopped is returned with OK. If `stop` is NULL, there is no token.
 * Blocking: until the deadline (CEN_DEFAULT: options.default_deadline), or until the token is set.
 * Returns:
 *   INTERRUPTED  also: the token was set before the call or while it waited; no object was taken
 *   FORKED       also: the token belongs to the parent process
 *   others       as cen_pool_take
 */
#define cen_pool_take_stoppable(pool, deadline, stop, out, error) \
    cen_pool_take_stoppable_at((pool), (deadline), (stop), (out), (error), CEN_HERE)
CEN_API cen_status cen_pool_take_stoppable_at(cen_pool *pool, cen_deadline deadline, cen_stop_token *stop,
                                              cen_lease *out, cen_error *error, const char *where);

/* Options of one take. In every field, zero means the default. Fields are only ever appended: see cenote/sized.h. */
typedef struct cen_take_options {
    size_t size;           /* sizeof(cen_take_options), set by the macro */
    cen_deadline deadline; /* when the take stops waiting; CEN_DEFAULT: options.default_deadline of the pool */
    cen_priority priority; /* orders waiters; default CEN_PRIORITY_NORMAL */
    cen_stop_token *stop;  /* stops the take when set; default none */
    const char *where;     /* the caller's file and line, set by the macro */
} cen_take_options;

/* Options of a take with `size` and `where` set. */
#define CEN_TAKE_OPTIONS(...) CEN_OPTIONS_(cen_take_options, .where = CEN_HERE, __VA_ARGS__)

/* Take an object as cen_pool_take_stoppable does, with options.
 * Returns:
 *   INVALID  also: options is NULL, or its size or priority is not valid
 *   others   as cen_pool_take_stoppable
 */
CEN_API cen_status cen_pool_take_with(cen_pool *pool, const cen_take_options *options, cen_lease *out,
                                      cen_error *error);

/* Take an object without waiting for one. If the driver does not block, this may open an object. If the driver blocks,
 * only idle objects are lent; if none is idle, a helper opens one for the next take.
 * Blocking: never waits. A health check of the object runs on this thread (options.test_after_idle_ns), and so does the
 * open of a driver that does not block.
 * Returns:
 *   OK       the lease is filled in
 *   EMPTY    all objects are in use or were being handed over during the search; or the pool is paused; or
 *            max_barging_ns is CEN_NONE and other takes are waiting
 *   CLOSED   the pool is closed
 *   MISUSE   called inside a callback of the pool, and the take would have to open an object
 *   INVALID  pool or out is NULL
 *   FORKED   the pool belongs to the parent process
 *   others   the object could not be opened: the status of the driver's open
 */
#define cen_pool_try_take(pool, out, error) cen_pool_try_take_at((pool), (out), (error), CEN_HERE)
CEN_API cen_status cen_pool_try_take_at(cen_pool *pool, cen_lease *out, cen_error *error, const char *where);

/* Give an object back. It goes to the next waiter or becomes idle. Any thread may give any lease. If the pool is closed
 * or has more objects than max, the object is closed instead, in this call or, if the driver blocks, on a helper. The
 * status is still OK.
 *
 * Ownership: the lease ends, and lease->pool is NULL afterwards. Giving this variable, or a copy of it, a second time
 * returns STALE. If the thread or task that took the lease has already ended, the lease is an orphan
 * (options.on_holder_end): this call then closes the object and returns REVOKED. Calling cen_pool_detach before the
 * hand-over prevents this.
 * Blocking: never waits.
 *
 * The macro passes the caller's file and line. A language binding calls the function itself, as
 * `(cen_pool_give)(lease)`, or takes its address. A STALE_GIVE event then names no call site. The same applies to
 * cen_pool_discard, cen_pool_leave and cen_pool_give_async.
 * Returns:
 *   OK       the lease has ended
 *   REVOKED  the lease had already ended because of close, max_hold_ns, leak detection or the end of its holder; the
 *            object is closed now, and a second give returns STALE
 *   STALE    the lease has already ended (its slot may have been lent again), or it was never taken; nothing changes,
 *            but a double give is counted (stale_gives) and reported by a STALE_GIVE event with both call sites
 *   FOREIGN  the fields are not those of a lease from that pool; nothing changes
 *   FORKED   the lease was taken before a fork, in another process; nothing changes
 *   MISUSE   called inside a callback of the pool, and the driver has a check; nothing changes
 *   INVALID  lease is NULL
 */
CEN_API cen_status cen_pool_give(cen_lease *lease);
#define cen_pool_give(lease) cen_pool_give_at((lease), CEN_HERE)

/* Internal parts of cen_pool_give; programs must not call them. */
CEN_API cen_status cen_pool_give_untold_(cen_lease *lease);
CEN_API cen_status cen_pool_give_failed_(const cen_lease *lease, cen_status status, const char *where);

/* Give an object back as cen_pool_give does. `where` is the call site that a STALE_GIVE event names, or NULL for none.
 * Returns:
 *   others  as cen_pool_give
 */
static inline cen_status cen_pool_give_at(cen_lease *lease, const char *where)
{
    cen_status status = cen_pool_give_untold_(lease);
    return __builtin_expect(status == CEN_OK, 1) ? status : cen_pool_give_failed_(lease, status, where);
}

/* Give a lease back and close its object, in this call or, if the driver blocks, on a helper. A new object may be
 * opened in its place. If the pool has no driver, this removes the object from the pool for good.
 * Returns:
 *   MISUSE  called inside a callback of the pool
 *   others  as cen_pool_give
 */
CEN_API cen_status cen_pool_discard(cen_lease *lease);
CEN_API cen_status cen_pool_discard_at(cen_lease *lease, const char *where);
#define cen_pool_discard(lease) cen_pool_discard_at((lease), CEN_HERE)

/* Detach a lease from its holder, so that it may outlive the holder. A lease belongs to its holder. The holder is the
 * thread that took the lease or, if it was taken in a step of a task, that task, even if the task continues on another
 * thread. When a holder ends without giving a lease back, options.on_holder_end decides what happens to the lease. A
 * detached lease belongs to no holder. Lists still show who took it. CEN_LEAK_RECLAIM and CEN_HOLD_RECLAIM also reclaim
 * detached leases.
 * Returns:
 *   OK       the lease is detached
 *   STALE    the lease has ended or was revoked
 *   FOREIGN  the fields are not those of a lease from that pool
 *   FORKED   the lease was taken before a fork, in another process
 *   INVALID  lease is NULL
 */
CEN_API cen_status cen_pool_detach(const cen_lease *lease);

/* Interrupt the take in which a holder is waiting for an object of this pool or for an object's health check. The take
 * returns INTERRUPTED. `holder` is the holder's cen_holder_number. Return true if a take was interrupted. Return false
 * if the holder was not waiting in such a take, or if pool is NULL or belongs to the parent process. Searches the whole
 * wait queue. Asynchronous takes are not interrupted. Only a take that is already waiting is interrupted. A take that
 * starts to wait a moment later is not affected, because the interrupt is not remembered. To end a take reliably, use a
 * stop token (cen_pool_take_stoppable). */
CEN_API bool cen_pool_interrupt(cen_pool *pool, uint64_t holder);

/* Add an object that the caller created. It counts towards max. It is lent, given back and, if the driver has a close,
 * closed like any other object.
 *
 * Ownership: if the status is OK, the object belongs to the pool; otherwise, it still belongs to the caller.
 * Blocking: never waits.
 * Returns:
 *   OK       the object is in the pool
 *   FULL     the pool has max objects
 *   CLOSED   the pool is closed
 *   MISUSE   called inside a callback of the pool
 *   INVALID  pool is NULL
 *   FORKED   the pool belongs to the parent process
 */
CEN_API cen_status cen_pool_adopt(cen_pool *pool, void *object, cen_error *error);

/* ---- Scopes ---------------------------------------------------------------- */

/* A scope: a single entry of a holder into a pool. The program owns it and must not copy it. */
typedef struct cen_scope {
    cen_lease lease; /* read its object */
    uint64_t holder;
    cen_status status;
    uint32_t reserved[5];
} cen_scope;

/* Enter a pool. The current holder is the calling thread or the task that it is running. If the holder is not in
 * another scope of this pool, this takes an object as cen_pool_take does. Otherwise, it borrows the object of that
 * scope and never waits. A task that runs while another task awaits it is a different holder and borrows nothing from
 * that task.
 * Blocking: as cen_pool_take (CEN_DEFAULT: options.default_deadline). A scope that borrows does not wait.
 * Returns:
 *   OK       the scope has an object
 *   REVOKED  the object to be borrowed was revoked
 *   INVALID  pool or scope is NULL
 *   others   as cen_pool_take
 */
#define cen_pool_enter(pool, deadline, scope, error) cen_pool_enter_at((pool), (deadline), (scope), (error), CEN_HERE)
CEN_API cen_status cen_pool_enter_at(cen_pool *pool, cen_deadline deadline, cen_scope *scope, cen_error *error,
                                     const char *where);

/* Enter a pool as cen_pool_enter does, with take options. A scope that borrows ignores them.
 * Returns:
 *   INVALID  also: options is NULL, or its size is not valid
 *   REVOKED  the object to be borrowed was revoked
 *   others   as cen_pool_take_with
 */
CEN_API cen_status cen_pool_enter_with(cen_pool *pool, const cen_take_options *options, cen_scope *scope,
                                       cen_error *error);

/* Leave a scope. The object is given back when the holder's last scope in this pool ends, in whatever order the scopes
 * end.
 * Returns:
 *   OK       the scope has ended
 *   STALE    the scope has already ended, or was never entered
 *   MISUSE   another holder entered the scope; or as cen_pool_give
 *   INVALID  scope is NULL
 *   others   as cen_pool_give
 */
CEN_API cen_status cen_pool_leave(cen_scope *scope);
CEN_API cen_status cen_pool_leave_at(cen_scope *scope, const char *where);
#define cen_pool_leave(scope) cen_pool_leave_at((scope), CEN_HERE)

/* CEN_WITH (pool, deadline, type, name, error) { ... } else { ... }
 *
 * Enter a pool, run the block, and leave the pool. The block runs with `type name` set to the object; the type must be
 * the size of a pointer. The else part is optional. It runs if no object was taken. The deadline is passed to
 * cen_pool_enter.
 *
 * The scope ends however the block is left: at its end, or by break, continue, goto, return or a C++ exception.
 * pthread_exit and pthread_cancel end it only in code compiled with -fexceptions; otherwise options.on_holder_end
 * decides what happens to the object. longjmp does not end the scope: the object stays held.
 *
 * The block is a loop that runs once, so break and continue leave the block, not an enclosing loop. Two blocks with the
 * same `name` must not begin on the same line. */
#define CEN_WITH(pool, deadline, type, name, error) \
    CEN_WITH_HERE_(pool, deadline, type, name, error, cen_scope_of_##name, cen_after_##name##_, __LINE__)
#define CEN_WITH_HERE_(pool, deadline, type, name, error, scope, after, line) \
    CEN_WITH_(pool, deadline, type, name, error, scope, after, line)
/* The loops have no condition, so the compiler can tell that nothing follows if the block and the else part both
 * return. */
#define CEN_WITH_(pool, deadline, type, name, error, scope, after, line) \
    if (0) { \
        after##line:; \
    } else \
        for (cen_scope scope __attribute__((cleanup(cen_scope_end_))) = cen_scope_none_();; \
             CEN_LEAVE_(scope, after##line)) \
            for (type name \
                 __attribute__((unused)) = (type)cen_scope_begin_((pool), (deadline), &scope, (error), CEN_HERE); \
                 ; CEN_LEAVE_(scope, after##line)) \
                if (scope.status == CEN_OK)

/* Ends the loops of CEN_WITH. Without optimisation, gcc routes every exit from a scope through one cleanup. It then
 * mistakes the path of a return for the path to `after` and warns. The scope is therefore ended explicitly here, and
 * the jump bypasses the cleanup. */
#if defined(__GNUC__) && !defined(__clang__) && !defined(__OPTIMIZE__) && (defined(__x86_64__) || defined(__aarch64__))
#ifdef __x86_64__
#define CEN_JUMP_ "jmp %l0"
#else
#define CEN_JUMP_ "b %l0"
#endif
#define CEN_LEAVE_(scope, after) \
    __extension__({ \
        cen_scope_end_(&(scope)); \
        __asm__ goto(CEN_JUMP_ : : : "memory" : after); \
        __builtin_unreachable(); \
    })
#else
#define CEN_LEAVE_(scope, after) __extension__({ goto after; })
#endif

/* Internal parts of CEN_WITH; programs must not call them. */
static inline cen_scope cen_scope_none_(void)
{
    cen_scope scope = {{NULL, NULL, 0, NULL}, 0, CEN_OK, {0}};
    return scope;
}

static inline void *cen_scope_begin_(cen_pool *pool, cen_deadline deadline, cen_scope *scope, cen_error *error,
                                     const char *where)
{
    cen_status status = cen_pool_enter_at(pool, deadline, scope, error, where);
    scope->status = status;
    return scope->lease.object;
}

static inline void cen_scope_end_(cen_scope *scope)
{
    if (scope->lease.pool) (cen_pool_leave)(scope);
}

/* ---- Close, free, resize ------------------------------------------------------ */

/* The report of a close. */
typedef struct cen_close_report {
    size_t size;      /* sizeof(cen_close_report), set by CEN_SIZED */
    uint32_t waiting; /* takes that were waiting and failed with CLOSED */
    uint32_t idle;    /* idle objects that were closed */
    uint32_t given;   /* other objects closed since then: given back, discarded, or returned by a driver call */
    uint32_t revoked; /* objects whose lease was revoked and that have not been given back yet */
    uint32_t busy;    /* objects in a driver call at the deadline; they are closed when the call returns */
} cen_close_report;

/* Close the pool. From now on, takes fail with CLOSED, including those already waiting. Idle objects are closed, and
 * the call waits for holders until the deadline. When the deadline passes, the remaining leases are revoked: each lease
 * ends, the driver's interrupt is called, and a REVOKED event is emitted. The object stays in the pool until its holder
 * gives it back. If the status is OK or TIMEOUT and out is not NULL, *out is filled in. The error text of TIMEOUT names
 * the oldest holders; cen_pool_explain lists what is still held.
 * Blocking: until all objects are closed, or until the deadline (CEN_DEFAULT: options.default_deadline).
 * Returns:
 *   OK       all objects are closed
 *   TIMEOUT  a revoked object has not been given back yet, or an object is in a driver call
 *   CLOSED   the pool was already closed; nothing changes
 *   INVALID  pool is NULL, or out->size is not valid; nothing changes
 *   FORKED   the pool belongs to the parent process
 *   MISUSE   called inside a callback of the pool; nothing changes
 */
CEN_API cen_status cen_pool_close(cen_pool *pool, cen_deadline deadline, cen_close_report *out, cen_error *error);

/* Free the pool. If it is not closed yet, this closes it without waiting for holders. NULL is allowed.
 *
 * Ownership: leases that are still held are revoked, with a REVOKED event for each. The memory is freed when the last
 * of them is given back, discarded or left, or when its holder ends. Orphans are closed here, so a holder that is still
 * using an orphan must finish first. In a forked child, this only frees memory and leaves the parent's objects alone.
 * Blocking: waits for helper threads of the pool that are between two driver calls. If this is the last pool of the
 * process's own runtime, the call also ends and joins the threads of that runtime. It does not wait for a helper that
 * is in a driver call: see cen_runtime_wait_idle. It does wait for a helper that is in a completion callback, a
 * listener or a job of the program. To avoid a deadlock, do not call cen_pool_free while holding a lock that such a
 * function takes. If this is called on one of cenote's threads, it does not wait for helpers.
 * Threads: held leases may be given, discarded and left during this call and after it. No other call on the pool may be
 * in progress or follow.
 * Returns:
 *   OK      the pool is freed, or pool is NULL
 *   MISUSE  called inside a callback of the pool; nothing changes
 */
CEN_API cen_status cen_pool_free(cen_pool *pool);

/* Change max. If max grows, waiters are served immediately. If it shrinks, idle objects are closed, highest index
 * first, and held objects are closed when they are given back, until no more than max are left. The memory for places
 * beyond max is returned to the system as they become empty, 64 KiB at a time. Memory from options.allocator stays
 * allocated until the pool is freed. If the status is not OK, nothing changes.
 * Blocking: never waits.
 * Returns:
 *   OK         max is changed
 *   INVALID    pool is NULL, or max is not 1 to CEN_POOL_MAX
 *   NO_MEMORY  out of memory
 *   CLOSED     the pool is closed
 *   FORKED     the pool belongs to the parent process
 *   MISUSE     called inside a callback of the pool
 */
CEN_API cen_status cen_pool_resize(cen_pool *pool, uint32_t max, cen_error *error);

/* ---- Reload, reap, pause, test ----------------------------------------------------- */

/* Replace all objects that were opened before this call. Each of them is closed, and a new one is opened when it is
 * needed. An idle object is closed now, a held object when it is given back, and an object in a driver call when that
 * call has returned. If spread_ns is above 0, each object is due for replacement at its own random moment within that
 * many nanoseconds, so that the server does not receive all reconnects at the same time.
 * Returns:
 *   OK         the objects are closed, or will be
 *   INVALID    pool is NULL, or spread_ns is negative or greater than INT64_MAX / 4
 *   NO_MEMORY  spread_ns is above 0, and there is no memory for a runtime; nothing changes
 *   CLOSED     the pool is closed
 *   FORKED     the pool belongs to the parent process
 *   MISUSE     called inside a callback of the pool
 */
CEN_API cen_status cen_pool_reload(cen_pool *pool, int64_t spread_ns, cen_error *error);

/* Close the objects that have been idle for at least idle_ns. 0 closes all idle objects. Objects that have been idle
 * for a shorter time stay open. If out is not NULL, *out is set to the number of objects that this call closed.
 *
 * An object's idle time is known exactly if the object was never lent or its last lease was timed. If
 * options.exact_times is set, every lease is timed; otherwise, one lease in 64 is. For all other objects, the time
 * counts from the first round of the housekeeper after the give, or from this call. An object that may or may not have
 * been idle for long enough is closed by the housekeeper, at most idle_ns after this call, unless it is lent before
 * then. (If more than four calls with different times overlap, the fifth uses the longest time.)
 * Returns:
 *   OK         the objects are closed
 *   INVALID    pool is NULL, or idle_ns is negative
 *   NO_MEMORY  an object's idle time is uncertain, and there is no memory for a runtime that would close it later;
 *              nothing was closed
 *   CLOSED     the pool is closed
 *   FORKED     the pool belongs to the parent process
 *   MISUSE     called inside a callback of the pool
 */
CEN_API cen_status cen_pool_reap(cen_pool *pool, int64_t idle_ns, uint32_t *out, cen_error *error);

/* Pause or resume the pool. A paused pool lends nothing and opens nothing: takes wait. Objects can still be given back.
 * Pausing twice has the same effect as pausing once.
 * Returns:
 *   OK       the pool is paused, or resumed
 *   CLOSED   the pool is closed
 *   INVALID  pool is NULL
 *   FORKED   the pool belongs to the parent process
 *   MISUSE   called inside a callback of the pool
 */
CEN_API cen_status cen_pool_pause(cen_pool *pool, cen_error *error);
CEN_API cen_status cen_pool_resume(cen_pool *pool, cen_error *error);

/* Start a round of the housekeeper immediately. It tests every idle object, options.max_concurrent_tests at a time.
 * Blocking: does not wait for the round.
 * Returns:
 *   OK         the round is scheduled
 *   CLOSED     the pool is closed
 *   INVALID    pool is NULL
 *   NO_MEMORY  there is no memory for a runtime
 *   FORKED     the pool belongs to the parent process
 *   MISUSE     called inside a callback of the pool
 */
CEN_API cen_status cen_pool_test_idle(cen_pool *pool, cen_error *error);

/* ---- Events ------------------------------------------------------------------------ */

/* Set the pool's listener. NULL removes it. From now on, the listener is called for every event of the pool whose kind
 * is in the range OPENED to STALE_GIVE. These events are also part of the process's event stream (cenote/events.h),
 * whether or not there is a listener.
 *
 * Blocking: when this returns, the previous listener has returned and is not called again, unless that listener itself
 * made the call.
 * Callbacks: events are delivered one at a time and in order, on the pool's runtime, with no lock held. The pool does
 * not wait for the listener; it queues events, at most 256. An event is lost if the queue is full, or if the listener
 * is replaced while the event is in the queue. `missed` is the number of events lost since this listener or the
 * previous one was last called. Events that happened before the pool was closed are still delivered afterwards, at the
 * latest by cen_pool_free on the thread that calls it. When cen_pool_free returns, the listener has returned as well.
 * Texts longer than the text of a cen_error are cut.
 *
 * If there is no listener, some events are printed to stderr: every LEAK event as a "LEAK-DETECTED" line, the pool's
 * first ORPHANED event as an "ORPHANED-LEASE" line, its first STALE_GIVE event as a "STALE-GIVE" line, and its first
 * LEFT_OPEN event as a "LEFT-OPEN" line.
 * Returns:
 *   OK         the listener is set
 *   CLOSED     the pool is closed, and listener is not NULL
 *   NO_MEMORY  out of memory
 *   MISUSE     called inside a callback of the pool other than the listener
 *   INVALID    pool is NULL
 *   FORKED     the pool belongs to the parent process
 */
CEN_API cen_status cen_pool_listen(cen_pool *pool,
                                   void (*listener)(void *argument, const cen_event *event, uint64_t missed),
                                   void *argument, cen_error *error);

/* ---- Stats --------------------------------------------------------------------- */

/* A pool is also a component (cenote/component.h). Its metrics are the numbers below, min_idle and, unless they are
 * CEN_OFF, max_idle and max_waiters. Its histograms are:
 *  - "wait": takes that had to wait, including failed ones; `instant` counts the leases granted without a wait
 *  - "use": the duration of a lease, however it ended, for one lease in 64, or for every lease if exact_times is set; a
 *    revoked lease ends when its object is given back or given up
 *  - "create": opens that succeeded
 * Waits are measured on the system's clock; leases and opens are measured on the runtime's clock. The pool's actions
 * are pause, resume, resize, reload, evict (cen_pool_reap of all idle objects) and test. */

/* State of the circuit breaker. Closed: objects may be opened. Open: opens have failed too often, and nothing is
 * opened. Half-open: one object is opened at a time. */
typedef enum cen_breaker { CEN_BREAKER_CLOSED = 0, CEN_BREAKER_OPEN, CEN_BREAKER_HALF_OPEN } cen_breaker;

/* Each number was correct at some moment during the call that returned it. These equations always hold:
 *     idle + held + moving + revoked + opening + resetting + testing + closing + vacant = places
 *     places >= max
 *     held + revoked <= taken - ended <= held + revoked + moving
 *     opened + adopted - closed = places - vacant     while moving, opening and closing are 0
 *     waited = served + timed_out + sent_away + failed + shed + cancelled + waiting
 * The counts from `idle` to `vacant` are a consistent snapshot. `moving` counts the slots that changed while they were
 * being read, for example between idle and held. It is 0 in a pool at rest. */
typedef struct cen_pool_stats {
    size_t size; /* sizeof(cen_pool_stats), set by CEN_SIZED */
    uint32_t max, places;
    uint32_t idle, held, moving, revoked, opening, resetting, testing, closing, vacant;
    uint32_t waiting; /* takes in the wait queue now */
    /* Numbers of leases that began and that ended. They include a lease granted just as its take found another object,
     * and a lease whose object failed its test before it was lent. */
    uint64_t taken, ended;
    uint64_t opened, open_failed, adopted, closed; /* objects */
    uint64_t discarded;                            /* leases ended by cen_pool_discard */
    /* takes that had to wait, in total and by how the wait ended; sent_away: the pool was closed; failed: no object
     * could be opened; see also `cancelled` below */
    uint64_t waited, served, timed_out, sent_away, failed, shed;
    /* takes refused without a wait: with FULL (max_waiters), with OVERLOAD (refuse_late) */
    uint64_t refused, refused_late;
    /* what became of objects and leases; reclaimed: leases; expired: idle objects that the housekeeper closed */
    uint64_t tested, test_failed, reset, reset_failed, leaked, reclaimed, expired;
    cen_breaker breaker;
    uint32_t open_failures; /* failed opens in a row so far */
    int64_t next_open_ns;   /* time until the next open may be tried; 0: now, or one is in progress */
    /* of all waits that have ended, including failed ones */
    int64_t wait_p50_ns, wait_p99_ns, wait_longest_ns, wait_total_ns;
    int64_t oldest_wait_ns;    /* longest wait of the current waiters; 0: there are none */
    int64_t estimated_wait_ns; /* estimated wait of a take that begins to wait now; 0: unknown */
    bool is_closed, is_paused, is_shedding;
    uint64_t orphaned; /* leases whose holder ended without giving them back (CEN_HOLDER_END_ORPHAN) */
    /* orphaned or reclaimed objects that were cut off and have not been given back yet */
    uint32_t orphans;
    uint64_t stale_gives; /* leases that were given, discarded or left again after they had ended */
    /* takes whose wait the program ended: cen_future_cancel, a stop token, cen_pool_interrupt, pthread_cancel; they are
     * not counted in `failed` */
    uint64_t cancelled;
    /* takes that found no object and did not wait: cen_pool_try_take (EMPTY), takes with CEN_NOW (TIMEOUT), and takes
     * whose deadline passed, or that were stopped or interrupted, during a health check before any wait */
    uint64_t missed;
    /* takes refused without a wait, with the status of the last open (CEN_CAUSE_BREAKER_OPEN) */
    uint64_t refused_breaker;
} cen_pool_stats;

/* Read the stats. This reads all slots; a million slots take a few milliseconds. Set out->size before the call.
 * Blocking: concurrent calls take turns, and each takes the pool's lock for a moment. If objects are constantly being
 * opened and closed, a call holds the lock while it reads up to 4096 slots. In a larger pool, slots that are not held
 * may then be counted as moving.
 * Returns:
 *   OK       *out is filled in
 *   INVALID  pool or out is NULL, or out->size is not valid
 *   FORKED   the pool belongs to the parent process
 */
CEN_API cen_status cen_pool_stats_get(cen_pool *pool, cen_pool_stats *out);

/* State of an object. */
typedef enum cen_object_state {
    CEN_OBJECT_IDLE = 1,
    CEN_OBJECT_HELD,
    CEN_OBJECT_REVOKED,   /* its lease was revoked, and it has not been given back yet */
    CEN_OBJECT_RESETTING, /* it was given back, and the driver is checking or resetting it */
    CEN_OBJECT_TESTING,   /* the driver is testing it */
    CEN_OBJECT_OPENING,   /* the driver's open has stored it and may not have returned yet */
    CEN_OBJECT_CLOSING,   /* the driver's close may already have returned */
    /* it was cut off when its lease ended without its holder; `index` was its place, which another object may have
     * taken */
    CEN_OBJECT_ORPHANED,
} cen_object_state;

/* The maximum number of return addresses in a backtrace. */
#define CEN_BACKTRACE_MAX 16

/* One object and its holder. */
typedef struct cen_object_view {
    size_t size; /* in cen_pool_each the library's sizeof(cen_object_view), in cen_pool_holders the caller's */
    void *object;
    uint32_t index;
    cen_object_state state;
    uint64_t generation; /* of the lease; of the last lease if the object is neither held nor revoked */
    uint64_t holder;     /* the holder's cen_holder_number; 0 if neither held nor revoked, or if only just taken */
    const char *where;   /* the call that took it; NULL if `holder` is 0, or if the take had no `where` */
    int64_t held_ns;     /* how long it has been held: exactly if is_exact, otherwise at least this long */
    bool is_detached;
    bool is_exact; /* held_ns is exact: options.exact_times is set, or this is the one lease in 64 that is timed */
    uint32_t backtrace_count;           /* if options.backtraces is set: number of addresses */
    void *backtrace[CEN_BACKTRACE_MAX]; /* return addresses of the calls that led to the take, innermost first */
    uint64_t identity;                  /* what the driver's `identify` returned; 0: none */
} cen_object_view;

/* Call `visit` for every object that exists, in any state, in the order of their indexes, orphans last. The visit ends
 * when `visit` returns false.
 *
 * An object exists from the time when the driver's open has written it to *out, or cen_pool_adopt was called with it,
 * until the driver's close or abandon has returned. An orphan exists until its close has returned. An object that
 * exists during the whole call is visited exactly once, even if its state changes. The exception is an object that
 * becomes an orphan during the call: it may be visited twice. An object that is opened or closed during the call may or
 * may not be visited.
 *
 * A garbage collector may mark objects through this function. The function takes no lock, allocates nothing and delays
 * no other thread, so all other threads may be stopped at any point. In the states OPENING, CLOSING and ORPHANED, the
 * object may be incomplete or already closed: mark or compare the pointer, but do not dereference it. In every other
 * state, another thread may take, give or close the object during the visit. The time is proportional to the number of
 * objects, not to options.max.
 * Returns:
 *   OK       the visit is over
 *   INVALID  pool or visit is NULL
 *   FORKED   the pool belongs to the parent process
 */
CEN_API cen_status cen_pool_each(cen_pool *pool, bool (*visit)(void *argument, const cen_object_view *holding),
                                 void *argument);

/* List the objects that are held or revoked, in the order of their indexes. Writes up to `room` of them to the array,
 * and their total number to *out. The array need not be initialised, because the macro passes the size of an element.
 *
 * If exact_times is not set, held_ns counts from the time when this or another function first listed the lease, so call
 * this function from time to time. It takes no lock and delays no other thread.
 * Returns:
 *   OK       *out is set
 *   INVALID  pool or out is NULL, holdings is NULL and room is not 0, or the size of an element is not valid
 *   FORKED   the pool belongs to the parent process
 */
#define cen_pool_holders(pool, holdings, room, out) \
    cen_pool_holders_sized((pool), (holdings), sizeof(cen_object_view), (room), (out))
CEN_API cen_status cen_pool_holders_sized(cen_pool *pool, cen_object_view *holdings, size_t size, size_t room,
                                          size_t *out);

/* Explain in words what state the pool is in and why a take would wait or fail now. The text covers counts, the oldest
 * holders, waits, the last failed open with the driver's code, the circuit breaker, and whether the pool is paused.
 * Writes at most `room` bytes to `text`, including the terminating zero. The text has several lines, each ending with a
 * newline. `text` may be NULL. Return the size of the whole text in bytes, including the terminating zero. This never
 * fails: if the pool is NULL or belongs to the parent process, the text says so. It reads all slots more than once. */
CEN_API size_t cen_pool_explain(cen_pool *pool, char *text, size_t room);

/* Return the calling thread's number in lists of holders. The number is never 0. */
CEN_API uint64_t cen_thread_number(void);

/* Return the current holder's number in lists of holders: the task's number in a step of a task, otherwise
 * cen_thread_number. A task keeps its number when it continues on another thread. A number is never reused within a
 * process. */
CEN_API uint64_t cen_holder_number(void);

/* The bit that is set in every task's number and in no thread's number. The other bits are the number shown in texts:
 * "task 12". */
#define CEN_HOLDER_TASK (UINT64_C(1) << 45)

/* Return true if a holder's number is that of a task. */
static inline bool cen_holder_is_task(uint64_t holder)
{
    return (holder & CEN_HOLDER_TASK) != 0;
}

/* Return the pool's name, its max, and whether it is closed. These functions never fail: for NULL they return "", 0 and
 * true. For a pool that belongs to the parent process, cen_pool_is_closed returns true. */
CEN_API const char *cen_pool_name(const cen_pool *pool);
CEN_API uint32_t cen_pool_max(const cen_pool *pool);
CEN_API bool cen_pool_is_closed(const cen_pool *pool);

/* ---- Caveats -------------------------------------------------------------------
 * Callbacks. A function of the driver, a visitor or a listener may call these functions on its pool:
 * cen_pool_stats_get, cen_pool_each, cen_pool_holders, cen_pool_explain, cen_pool_options_get, cen_pool_detach and
 * cen_pool_interrupt. It may call take or enter if an object is idle or can be borrowed. If the driver has no check, it
 * may also call give and leave. A listener may also replace itself. All other calls on the same pool return MISUSE and
 * change nothing. Other pools may be used freely. A callback must not be left by longjmp, and a child that it forks must
 * not return from it.
 *
 * Deadlock. A thread that holds an object and takes another one from the same pool can wait forever for other threads
 * that do the same. To avoid this, use scopes, which borrow, or a deadline.
 *
 * Late gives. A lease that has ended, because it was given back, reclaimed or left by its holder, may be given again
 * even after cen_pool_free has returned: the call returns STALE. While cen_pool_free is running, only leases that are
 * still held may be given. To allow this, a pool's 3 kB struct is kept and reused for the next pool. All other memory
 * is freed.
 *
 * Fork. Unless options.on_fork says otherwise, every call in the child returns FORKED and touches nothing. In a child
 * that has not used the pool, cen_pool_free frees the child's memory and does nothing else.
 *
 * The end of a holder. When a thread ends (by returning, pthread_exit or pthread_cancel) or a task ends,
 * options.on_holder_end decides what happens to the leases that it still holds. Detached leases are not affected.
 *  - Cost: when a task ends, or when a thread holding more than eight leases ends, every slot in every pool is read,
 *    unless the holder has given back everything that it took. The driver may be called at this point.
 *  - Order: a thread's leases end after the program's thread-specific destructors, which may still give objects back.
 *    If such a destructor takes an object in the last round of destructors, a thread of the process's own runtime ends
 *    the lease instead.
 *  - Limits: the end of a thread goes unnoticed if the system has no thread-specific key left, or if the thread uses
 *    the library for the first time in that last round.
 *  - Returning from main ends the process: nothing is given back.
 */

#ifdef __cplusplus
}
#endif
#endif
