/* SPDX-License-Identifier: MIT */
/*
 * A checkout pool: a bounded number of objects, each lent to one holder at a
 * time.
 *
 * Life: new, take and give from any thread, close, free.
 *
 *     cen_pool *pool;
 *     cen_error error;
 *     cen_pool_options options = CEN_POOL_OPTIONS(.name = "orders", .driver = driver, .max = 10);
 *     if (cen_pool_new(&options, &pool, &error) != CEN_OK) die(error.text);
 *
 *     CEN_WITH (pool, cen_in_ms(500), struct buffer *, buffer, &error) {
 *         use(buffer);                   // given back on every way out of the block
 *     } else {
 *         puts(error.text);
 *     }
 *
 *     cen_lease lease;                   // or by hand
 *     if (cen_pool_take(pool, cen_in_ms(500), &lease, &error) == CEN_OK) {
 *         use(lease.object);
 *         cen_pool_give(&lease);
 *     }
 *
 *     cen_pool_close(pool, cen_in_s(5), NULL, NULL);
 *     cen_pool_free(pool);
 *
 * Threads: every function may be called from any thread at any time, except
 * cen_pool_free, which says what it needs. What a holder wrote before it gave
 * an object is visible to the next that takes it. The driver's functions and the visitor are called with
 * no lock held; what they may call is said at "Caveats".
 *
 * Cancellation: a take that waits for an object, or for the health check of one, is a cancellation point. A thread that is
 * cancelled there leaves the wait queue, gives back an object that was granted before, and ends. No other function of
 * cenote is a cancellation point: a take that need not wait, a wait for a future, a queue or a close.
 * With cancellation disabled, and in a call that the pool itself made, a take waits on.
 *
 * Progress: see the note at each function. "Never waits" means that it does
 * not sleep for somebody to give an object back. It may still take the pool's
 * one lock, which is held for a few steps at a time and never during a call of
 * the program's code, its allocator included.
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

/* Proof of exclusive use of one object: a plain value, to be copied at will.
 * However many copies there are, it ends once. Read `object`; the rest is
 * cenote's. */
typedef struct cen_lease {
    void *object;
    cen_pool *pool;      /* NULL in a lease that has been given, or was never taken */
    uint64_t generation; /* which lease of its slot this is; the lower 56 bits count */
    void *slot;
} cen_lease;

/* ---- Making one ---------------------------------------------------------- */

/* Which of several idle objects is lent. */
typedef enum cen_order {
    /* The one this thread had last, else the one with the lowest index: the
     * quickest, and load packs low, so that surplus ages at the top. */
    CEN_ORDER_WARM = 0,
    /* Exactly the one that was given last, or has been idle longest. Every
     * take and give then takes the pool's lock. A test is no use: an object that is being tested is passed by,
     * and has the same place afterwards. So is one that must be tested first (test_after_idle_ns), if the take cannot test it
     * itself: it is an ask, or the driver's test is done later. An object that passes its test after its take has timed out
     * counts as lent and given back then. */
    CEN_ORDER_LIFO,
    CEN_ORDER_FIFO,
} cen_order;

/* What happens to a lease whose holder ends without giving it. The holder is the thread or the task that took it. */
typedef enum cen_holder_end_policy {
    /* The lease becomes an orphan: another thread may still be using the object. The driver's interrupt and abandon are called,
     * which cut the object off and leave its memory alone. Its place is free at once. A late give closes the object and
     * returns REVOKED; cen_pool_free closes what was never given. A driver without abandon, or a lack of memory, keeps the
     * place until the give. The lease of a scope (CEN_WITH, cen_pool_enter) cannot be another thread's: its object is closed
     * at once. */
    CEN_HOLDER_END_ORPHAN = 0,
    /* For programs that never hand a lease to another thread; otherwise that thread uses a closed or shared object. */
    CEN_HOLDER_END_CLOSE, /* The object is closed at once. */
    /* The object is checked, reset and tested, as far as the driver can, and lent again if it passes. */
    CEN_HOLDER_END_TEST,
    CEN_HOLDER_END_REUSE, /* The object is given back as it is. */
} cen_holder_end_policy;

/* What is done about an object that was held for longer than leak_after_ns. */
typedef enum cen_leak_policy {
    CEN_LEAK_REPORT = 0, /* it is reported, once for each lease */
    /* The lease ends too, attached, detached or asynchronous. The driver's interrupt and abandon are called, and the place is
     * free for another object, whether the driver has an abandon or not. The holder must not use the object any more. A late
     * give closes it and returns REVOKED; cen_pool_free closes what was never given. */
    CEN_LEAK_RECLAIM,
} cen_leak_policy;

/* What happens to a lease that was held for longer than max_hold_ns. */
typedef enum cen_hold_policy {
    /* It is revoked: the driver's interrupt is called, and the place stays taken until the give. */
    CEN_HOLD_REVOKE = 0,
    CEN_HOLD_RECLAIM, /* It is reclaimed as a leak is (CEN_LEAK_RECLAIM): the place is free at once. */
} cen_hold_policy;

/* A holder that would wait for a pool all of whose objects it holds itself. */
typedef enum cen_self_wait {
    CEN_SELF_WAIT_REPORT = 0, /* the event stream and the text of the timeout say so */
    CEN_SELF_WAIT_FAIL,       /* its take answers MISUSE at once; looks at all slots before a wait */
} cen_self_wait;

/* Zero means default in every field. CEN_OFF means no limit, and CEN_NONE none at all: see docs/limits.md. Times are
 * nanoseconds, written as CEN_MS(50) or CEN_SECONDS(30). Fields
 * are only ever appended; those that a program does not know, because `size` is
 * smaller, have their defaults: see cenote/sized.h. "Blocking": if driver.calls->blocks is set, or
 * one of its calls is done later. */
typedef struct cen_pool_options {
    size_t size;       /* sizeof(cen_pool_options), set by the macro */
    const char *name;  /* copied, at most 31 bytes kept; default "pool"; fixed */
    cen_driver driver; /* makes and ends objects; default: only what is adopted; fixed */
    uint32_t max;      /* objects at most, 1 to CEN_POOL_MAX; default 10 */
    /* All objects are made by cen_pool_new, in order, on the calling thread; not with a driver that opens later.
     * Default: none is; each is made when it is wanted and none is idle. */
    bool eager;
    cen_order order;
    cen_deadline default_deadline; /* what CEN_DEFAULT means as a deadline of this pool; default 30 seconds */
    /* How long a waiter may be overtaken by threads that happen to be
     * running, in nanoseconds; default 1 ms. CEN_NONE: no waiter is ever
     * overtaken, which costs a switch of threads at every give. CEN_OFF is refused: without a limit a waiter could starve. */
    int64_t max_barging_ns;
    /* Every take and every give reads the clock: holders are listed with the exact time, and the times of use
     * have every lease. Some 50 ns a pair. Default: one lease in 64 is timed, at 1 to 2 ns a pair on average; of the
     * others it is known at least how long, by whoever looked first: cen_pool_holders, cen_pool_explain, the text of
     * a take that failed, the housekeeper's rounds. A change begins the times of use anew. */
    bool exact_times;
    const cen_allocator *allocator; /* default malloc; fixed */
    cen_runtime *runtime;           /* keeps time and runs what blocks; default the process' own; fixed */
    /* RENEW: the child's pool is empty, with fresh memory, the same options, no
     * listener, and on the process' own runtime, whatever the parent's was. The driver's
     * abandon is called for what the parent has, idle or held, except what it was just
     * opening or closing; init is not called again. Old leases answer FORKED.
     * Without memory or a thread for it, every call answers NO_MEMORY or SYSTEM, and the
     * next tries again. What was closed stays FORKED. */
    cen_fork_policy on_fork; /* fixed */

    /* Opening, when it fails, and when it takes too long */
    uint32_t max_concurrent_opens; /* openings at a time of a blocking driver, 1 to 64; default 2 */
    int64_t open_timeout_ns;       /* a blocking open that takes longer counts as failed; default 10 s */
    int64_t backoff_initial_ns;    /* after a failure the next opening waits for a random time up to this, ... */
    /* ... or up to a sixty-fourth of how long nothing could be opened, or, while other objects serve, up to twice as
     * long with each failure, but never for longer than this; default 50 ms and 2 s, and off for a driver that does
     * not block; CEN_OFF in the first: no back-off and no breaker: a waiting take fails with the first opening that
     * fails. After a failure the next opening of a blocking driver begins 1 ms later at the earliest, unless
     * backoff_max_ns is less */
    int64_t backoff_max_ns;
    /* so many failures in a row open the breaker; default 5, CEN_OFF never; breaker_wait_ns */
    int32_t breaker_failures;

    /* How long objects live */
    /* as many are kept idle, if max allows; default 0. A missing one is opened within 1 s; after a failed opening,
     * when the back-off admits the next, or without back-off after 1 s */
    uint32_t min_idle;
    int32_t max_idle; /* no more are kept idle; default CEN_OFF; CEN_NONE: none is kept */
    /* what was idle for so long is closed, down to min_idle; default 10 min, off unless blocking */
    int64_t idle_timeout_ns;
    /* what is so old is closed, or when it is given back; default 30 min, off unless blocking */
    int64_t max_lifetime_ns;
    /* each lives up to so many percent shorter, 1 to 100; default 10; CEN_NO_JITTER: none. Objects that were opened
     * together are closed in up to 32 steps, at least 1 ms apart */
    uint32_t lifetime_jitter;
    int64_t max_uses; /* what was lent so often is closed; default CEN_OFF */

    /* Whether objects work: for drivers with a test */
    /* one that was idle for longer (in part of the cases for half as long) is tested before it is lent, and all that
     * are idle when one is found broken; default 1 s. If the driver blocks and the take has a deadline or a stop token, a
     * helper makes the test and the take returns by its deadline, or when it is stopped: the object is lent to others when
     * it passes. A take with CEN_NEVER and no token, or with CEN_NOW, a driver that does not block, and a manual runtime
     * test on the take's thread: the take ends after the test */
    int64_t test_after_idle_ns;
    int64_t test_interval_ns;      /* idle ones are tested that often; default 30 s */
    int64_t test_timeout_ns;       /* a test that takes longer has failed; default 5 s */
    uint32_t max_concurrent_tests; /* tests of idle objects at a time, 1 to 64; default 2 */

    /* Holders and those who wait */
    int64_t leak_after_ns; /* held for longer: reported as a leak; default CEN_OFF */
    cen_leak_policy on_leak;
    int64_t max_hold_ns; /* held for longer: the lease is revoked; default CEN_OFF */
    cen_holder_end_policy on_holder_end;
    /* beyond, a take that would wait fails with FULL at once; default CEN_OFF; CEN_NONE: no take waits */
    int32_t max_waiters;
    cen_self_wait on_self_wait;
    /* every take notes from where it was called in full; about 1 us a take, 136 bytes a slot; fixed */
    bool backtraces;

    /* Too many who wait: see docs/overload.md */
    int64_t aging_ns;         /* a take of lower priority comes before those of the next higher one that came so much
                               * later; default 100 ms */
    int64_t shed_target_ns;   /* if whoever is served next has waited for so long or longer ... ; default CEN_OFF */
    int64_t shed_interval_ns; /* ... during all of this time, some who wait are told OVERLOAD; default 100 ms */
    bool refuse_late;         /* a take that would most likely be served after its deadline is told OVERLOAD at once */

    /* Every take and every give is in the events, too (cenote/events.h, level TRACE): some 90 ns each. Implies exact_times. */
    bool trace_takes;

    /* How long the breaker is open before takes fail fast. A take that only an opening can serve waits until then, within its
     * deadline, and fails at once with the last opening's error if its deadline comes before the next attempt. Later it
     * fails at once, unless its own attempt may begin or one is under way that has not failed as quickly as the one before.
     * Default 5 s. CEN_OFF: it fails fast from the first moment. CEN_WHOLE_DEADLINE: it never does. */
    int64_t breaker_wait_ns;

    cen_hold_policy on_max_hold; /* what happens at max_hold_ns; default CEN_HOLD_REVOKE */
} cen_pool_options;

/* Of a cen_priority: who is served first of those who wait. Each class keeps its order, and none starves: one is passed
 * only by those of higher priority who come within less than aging_ns after it, or twice that if it is LOW and they HIGH. */

#define CEN_NO_JITTER 101

/* breaker_wait_ns: each take waits for its whole deadline, however long the breaker has been open. */
#define CEN_WHOLE_DEADLINE INT64_MAX

#define CEN_POOL_MAX 1000000

/* In C++, where a designated initialiser is not for everybody: start from
 * `cen_pool_options options = CEN_SIZED(cen_pool_options);` and set what is needed. */
#define CEN_POOL_OPTIONS(...) CEN_OPTIONS_(cen_pool_options, __VA_ARGS__)

/* Makes a pool; all memory that it will use is had here. Errors: INVALID (the
 * text names the field), NO_MEMORY, and, if eager, what the driver's open
 * answered: then the objects already made are closed, last one first. */
CEN_API cen_status cen_pool_new(const cen_pool_options *options, cen_pool **out, cen_error *error);

/* All options as they are now, defaults filled in; to be changed and set. out->size is set before the call. Errors: FORKED,
 * INVALID. */
CEN_API cen_status cen_pool_options_get(cen_pool *pool, cen_pool_options *out);

/* Sets all that is not said to be fixed, in one step: nobody sees half of it.
 * What is tighter now takes hold with the next round of the housekeeper, and
 * objects in use are never taken away on that account. `eager` means nothing
 * here. A smaller struct leaves the options that it does not have as they are.
 * Errors: INVALID (the text names the field, also one that is fixed and differs), NO_MEMORY, CLOSED, FORKED, MISUSE:
 * nothing changes. */
CEN_API cen_status cen_pool_options_set(cen_pool *pool, const cen_pool_options *options, cen_error *error);

/* ---- Take and give --------------------------------------------------------- */

/* Where the program called from, for the list of holders: a text that lives as
 * long as the pool. */
#define CEN_TEXT_(line) #line
#define CEN_LINE_(line) CEN_TEXT_(line)
#define CEN_HERE __FILE__ ":" CEN_LINE_(__LINE__)

/* Lends an object into *out: an idle one, else a new one if there are fewer
 * than max, else the next that is given back. Always another object than
 * those the caller holds already. Waits until `deadline` (CEN_DEFAULT: options.default_deadline), and an opening that
 * this call began is awaited too. Those who wait are served in the order they
 * came, within the bound of options.max_barging_ns. An object that came before
 * the deadline is yours even if the deadline has passed since.
 * With an idle object and nobody waiting: some ten steps, no lock, and no clock but for
 * one lease in 64, whose time is taken (CEN_ORDER_WARM).
 * Errors: TIMEOUT, CLOSED, FORKED, what the driver's open answered, INVALID
 * (NULL), FULL (options.max_waiters wait), OVERLOAD (options.shed_target_ns,
 * options.refuse_late), INTERRUPTED, MISUSE (it would have
 * to wait or to open an object, inside a call that the pool itself made; or
 * options.on_self_wait). error->cause says why, also of TIMEOUT, and the text says it in full: see cen_pool_explain. One
 * that was refused has error->retry_after_ns, and, of max_waiters, error->current and error->max. */
#define cen_pool_take(pool, deadline, out, error) cen_pool_take_at((pool), (deadline), (out), (error), CEN_HERE)
CEN_API cen_status cen_pool_take_at(cen_pool *pool, cen_deadline deadline, cen_lease *out, cen_error *error,
                                    const char *where);

/* The same with a priority, which counts if it has to wait; cen_pool_take is NORMAL. CEN_DEFAULT: options.default_deadline.
 * Errors: also INVALID (no priority). */
#define cen_pool_take_priority(pool, priority, deadline, out, error) \
    cen_pool_take_priority_at((pool), (priority), (deadline), (out), (error), CEN_HERE)
CEN_API cen_status cen_pool_take_priority_at(cen_pool *pool, cen_priority priority, cen_deadline deadline,
                                             cen_lease *out, cen_error *error, const char *where);

/* Take an object as cen_pool_take does, until the token is set (cenote/stop.h). A stopped take leaves the
 * wait queue. An object that was granted before the take was stopped is returned with OK. `stop` NULL: no
 * token. CEN_DEFAULT: options.default_deadline.
 * Returns: as cen_pool_take, and
 *   INTERRUPTED  the token is set, before the call or while it waits; no object was taken
 *   FORKED       also: the token belongs to the parent process */
#define cen_pool_take_stoppable(pool, deadline, stop, out, error) \
    cen_pool_take_stoppable_at((pool), (deadline), (stop), (out), (error), CEN_HERE)
CEN_API cen_status cen_pool_take_stoppable_at(cen_pool *pool, cen_deadline deadline, cen_stop_token *stop,
                                              cen_lease *out, cen_error *error, const char *where);

/* All that a take can be told. Zero means default in every field; fields are only appended: see cenote/sized.h. */
typedef struct cen_take_options {
    size_t size;           /* sizeof(cen_take_options), set by the macro */
    cen_deadline deadline; /* when the take stops waiting; CEN_DEFAULT: options.default_deadline of the pool */
    cen_priority priority; /* orders waiters; default CEN_PRIORITY_NORMAL */
    cen_stop_token *stop;  /* stops the take when set; default none */
    const char *where;     /* the caller's file and line, set by the macro */
} cen_take_options;

#define CEN_TAKE_OPTIONS(...) CEN_OPTIONS_(cen_take_options, .where = CEN_HERE, __VA_ARGS__)

/* Take an object as cen_pool_take_stoppable does, with options. Returns: as cen_pool_take_stoppable, and INVALID
 * (options is NULL, its size is not set, no such priority). */
CEN_API cen_status cen_pool_take_with(cen_pool *pool, const cen_take_options *options, cen_lease *out,
                                      cen_error *error);

/* The same as cen_pool_take and never waits; it may open an object. With a driver that blocks it
 * lends what is idle only, and lets one be opened for whoever comes next. Errors: also EMPTY (all are
 * in use, or changed hands while they were looked at, or, with max_barging_ns = CEN_NONE,
 * others wait), never TIMEOUT. */
#define cen_pool_try_take(pool, out, error) cen_pool_try_take_at((pool), (out), (error), CEN_HERE)
CEN_API cen_status cen_pool_try_take_at(cen_pool *pool, cen_lease *out, cen_error *error, const char *where);

/* Ends a lease: the object goes to whoever waits, or is idle. Any thread may
 * give any lease. If the thread or task that took it ends before, the lease becomes an orphan: this call then closes the
 * object and returns REVOKED (options.on_holder_end); cen_pool_detach before the hand-over prevents that.
 * Never waits. lease->pool is NULL afterwards, so that giving
 * the same variable again is STALE, as giving a copy is.
 * If the pool is closed, or has more objects than its max, the object is
 * closed instead, by this call, or, if the driver blocks, on a helper; the
 * answer is still OK.
 * Errors, which leave the lease and all else as it was:
 *   STALE    the lease has ended, or is none; even if its slot was lent again. A double give is counted (stale_gives)
 *            and told as a STALE_GIVE event with both places
 *   FOREIGN  the fields are not those of a lease of that pool
 *   FORKED   it was taken before a fork, in another process
 *   INVALID  lease is NULL
 * Not quite an error: REVOKED. The lease had ended before: by close, by max_hold_ns, as a leak, or with its holder. The object is
 * closed now. A second give is STALE.
 * The macro passes the caller's file and line. A binding calls the function, `(cen_pool_give)(lease)`, or takes its
 * address; the event then names no place. The same holds for cen_pool_discard, cen_pool_leave and cen_pool_give_async. */
CEN_API cen_status cen_pool_give(cen_lease *lease);
#define cen_pool_give(lease) cen_pool_give_at((lease), CEN_HERE)

CEN_API cen_status cen_pool_give_untold_(cen_lease *lease);
CEN_API cen_status cen_pool_give_failed_(const cen_lease *lease, cen_status status, const char *where);

static inline cen_status cen_pool_give_at(cen_lease *lease, const char *where)
{
    cen_status status = cen_pool_give_untold_(lease);
    return __builtin_expect(status == CEN_OK, 1) ? status : cen_pool_give_failed_(lease, status, where);
}

/* Ends a lease and closes the object, by this call or, if the driver blocks, on
 * a helper; a new one may be made in its place. Without a driver, it takes the object out for good. Errors: as
 * cen_pool_give, and MISUSE. */
CEN_API cen_status cen_pool_discard(cen_lease *lease);
CEN_API cen_status cen_pool_discard_at(cen_lease *lease, const char *where);
#define cen_pool_discard(lease) cen_pool_discard_at((lease), CEN_HERE)

/* A lease belongs to its holder: the thread that took it or, if that was running a
 * step of a task, the task, on whatever thread that goes on. When the holder ends
 * without giving it, it goes the way of options.on_holder_end. A detached one belongs
 * to nobody: it may outlive its holder, and still says who took it. CEN_LEAK_RECLAIM and CEN_HOLD_RECLAIM reclaim it, too.
 * Errors: STALE, FOREIGN, FORKED, INVALID. */
CEN_API cen_status cen_pool_detach(const cen_lease *lease);

/* Interrupt the take of this pool in which the holder with that number waits for an object, or for the health check of one: it
 * returns INTERRUPTED. Returns whether there was one. Searches the whole wait queue.
 * Only a take that is already waiting is interrupted. A take that starts to wait a moment later is not, and
 * nothing remembers the interrupt: to end a take reliably, use a stop token (cen_pool_take_stoppable). */
CEN_API bool cen_pool_interrupt(cen_pool *pool, uint64_t holder);

/* Puts in an object that the caller made. It counts and is lent, given and, if
 * the driver has a close, closed like any other. Never waits. Errors: FULL (max
 * objects are there), CLOSED, FORKED, INVALID, MISUSE: it stays the caller's. */
CEN_API cen_status cen_pool_adopt(cen_pool *pool, void *object, cen_error *error);

/* ---- Scopes ---------------------------------------------------------------- */

/* One entry of a holder into a pool. Caller-owned; not to be copied. */
typedef struct cen_scope {
    cen_lease lease; /* read its object */
    uint64_t holder;
    cen_status status;
    uint32_t reserved[5];
} cen_scope;

/* Like cen_pool_take if the current holder, the calling thread or the task that it
 * runs, has entered the pool in no other scope; otherwise borrows the object of that
 * scope, at once and always. A task that runs while another awaits it borrows nothing of that one's.
 * CEN_DEFAULT: options.default_deadline.
 * Errors: as cen_pool_take; REVOKED (the object to be borrowed was taken away). */
#define cen_pool_enter(pool, deadline, scope, error) cen_pool_enter_at((pool), (deadline), (scope), (error), CEN_HERE)
CEN_API cen_status cen_pool_enter_at(cen_pool *pool, cen_deadline deadline, cen_scope *scope, cen_error *error,
                                     const char *where);

/* Enter as cen_pool_enter does, with the options of a take. A scope that borrows ignores them.
 * Returns: as cen_pool_enter and cen_pool_take_with. */
CEN_API cen_status cen_pool_enter_with(cen_pool *pool, const cen_take_options *options, cen_scope *scope,
                                       cen_error *error);

/* Ends the scope. The object is given back when the last scope of this holder
 * in the pool has ended, in whatever order they end. Errors: STALE (it has
 * ended, or was never entered), MISUSE (another holder entered it), and as
 * cen_pool_give. */
CEN_API cen_status cen_pool_leave(cen_scope *scope);
CEN_API cen_status cen_pool_leave_at(cen_scope *scope, const char *where);
#define cen_pool_leave(scope) cen_pool_leave_at((scope), CEN_HERE)

/* CEN_WITH (pool, deadline, type, name, error) { ... } else { ... }
 *
 * The block runs with `type name` set to the object, which must be as large as
 * a pointer; the else part, which may be left out, if there was none. The
 * deadline is that of cen_pool_enter. Leaving
 * the block in any way ends the scope: by its end, break, continue, goto or
 * return, and a C++ exception; pthread_exit and pthread_cancel only in code
 * compiled with -fexceptions, otherwise the object goes the way of
 * options.on_holder_end. longjmp does not: the object stays held. The
 * block is a loop that runs once: break and continue leave it, and not a loop
 * around it. Two blocks with one `name` must not begin on the same line. */
#define CEN_WITH(pool, deadline, type, name, error) \
    CEN_WITH_HERE_(pool, deadline, type, name, error, cen_scope_of_##name, cen_after_##name##_, __LINE__)
#define CEN_WITH_HERE_(pool, deadline, type, name, error, scope, after, line) \
    CEN_WITH_(pool, deadline, type, name, error, scope, after, line)
/* The loops have no condition: the compiler sees that nothing follows a block and an else part that both return. */
#define CEN_WITH_(pool, deadline, type, name, error, scope, after, line) \
    if (0) { \
        after##line:; \
    } else \
        for (cen_scope scope __attribute__((cleanup(cen_scope_end_))) = cen_scope_none_();; \
             CEN_LEAVE_(scope, after##line)) \
            for (type name = (type)cen_scope_begin_((pool), (deadline), &scope, (error), CEN_HERE);; \
                 CEN_LEAVE_(scope, after##line)) \
                if (scope.status == CEN_OK)

/* Ends the loops of CEN_WITH. Without optimization gcc leads each way out of a scope through one cleanup, and then takes the
 * way of a return for the way to `after`, and warns. So there the scope is ended by hand, and the jump passes the cleanup by. */
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

typedef struct cen_close_report {
    size_t size;      /* sizeof(cen_close_report), set by CEN_SIZED */
    uint32_t waiting; /* takes that were waiting and were told CLOSED */
    uint32_t idle;    /* objects that were idle and were closed */
    uint32_t given;   /* others closed since: given back or discarded by their holders */
    uint32_t revoked; /* taken away from their holders at the deadline, and still out */
    uint32_t busy;    /* being opened or closed by other threads at the deadline: they will be closed */
} cen_close_report;

/* Refuses takes from now on, tells those who wait, closes what is idle, and
 * awaits the holders until `deadline` (CEN_DEFAULT: options.default_deadline). What is out
 * then is revoked: its lease has ended, the driver's interrupt is called, and
 * the object still counts until its holder gives it back. A REVOKED event is told for each. Fills *out, if
 * it is not NULL, whether OK or TIMEOUT. The text of TIMEOUT names the oldest holders; cen_pool_explain
 * lists what is still out.
 * Errors: TIMEOUT (something that was revoked is still out, or is busy), CLOSED (it was closed before; nothing
 * changes), FORKED, INVALID, MISUSE. */
CEN_API cen_status cen_pool_close(cen_pool *pool, cen_deadline deadline, cen_close_report *out, cen_error *error);

/* Closes the pool, without waiting, if it is not closed, and gives back all
 * memory. What is still held is revoked, with a REVOKED event for each, and the last give, discard or leave
 * of it, or the end of its holder, gives the memory back. Those may be going on
 * meanwhile; no other call may be in progress or come later. NULL is allowed. In a forked child it only gives
 * back memory: the parent's objects are left alone. Orphans are closed: a holder that still uses one must be done before.
 * Blocking: waits for helper threads of the pool that are between two driver calls; the last pool of the process' own
 * runtime ends and joins its threads. A helper that is in a driver call is not awaited: see cen_runtime_wait_idle. A helper that is
 * in a completion callback, a listener or a job of the program is awaited. So hold no lock that such a function takes:
 * each would wait for the other, for ever. Called on a thread of cenote it does not wait.
 * Error: MISUSE, inside a call that the pool itself made; nothing changes. */
CEN_API cen_status cen_pool_free(cen_pool *pool);

/* Sets another max. With a larger one those who wait are served at once; with a
 * smaller one idle objects are closed, the highest first, and those in use when
 * they are given, until no more than max are there. The memory of places beyond
 * max goes back to the system as they become empty, 64 KiB at a time; memory from
 * options.allocator stays until the pool is freed. Never
 * waits. Errors: INVALID (max), NO_MEMORY, CLOSED, FORKED, MISUSE: nothing changes. */
CEN_API cen_status cen_pool_resize(cen_pool *pool, uint32_t max, cen_error *error);

/* ---- Objects come and go ---------------------------------------------------------- */

/* Everything opened before this call is closed and made anew when it is wanted:
 * what is idle now, what is out when it comes back, what is being opened when it
 * is there. With `spread_ns` above 0 each at its own moment within that time, so
 * that a server does not see them all at once. Errors: CLOSED, FORKED, INVALID, MISUSE. */
CEN_API cen_status cen_pool_reload(cen_pool *pool, int64_t spread_ns, cen_error *error);

/* Close the objects that have been idle for at least idle_ns; 0: all idle objects. It closes none that was idle for less.
 * How long an object has been idle is known exactly if it was never lent, or if its last lease was timed: with
 * options.exact_times, else one lease in 64. Otherwise the time counts from the first look after the give: a round of the
 * housekeeper, or this call. An object that may have been idle for long enough, but is not known to, is closed by the
 * housekeeper, at the latest idle_ns after this call, unless it is lent before. (Of calls with more than four different
 * times that overlap, the longest time holds for the fifth.)
 * *out, if it is not NULL: the number of objects that this call closed.
 * Returns: OK, CLOSED, FORKED, INVALID, MISUSE; NO_MEMORY, SYSTEM: an object is in doubt, and there is no runtime to close it
 * later; nothing was closed. */
CEN_API cen_status cen_pool_reap(cen_pool *pool, int64_t idle_ns, uint32_t *out, cen_error *error);

/* Lends nothing and opens nothing until resumed: takes wait. Gives go on.
 * Pausing twice is the same as once. Errors: CLOSED, FORKED, INVALID. */
CEN_API cen_status cen_pool_pause(cen_pool *pool, cen_error *error);
CEN_API cen_status cen_pool_resume(cen_pool *pool, cen_error *error);

/* Starts a round of the housekeeper now, in which every idle object is tested,
 * options.max_concurrent_tests at a time; does not await it. Errors: CLOSED, FORKED, INVALID. */
CEN_API cen_status cen_pool_test_idle(cen_pool *pool, cen_error *error);

/* ---- Events ------------------------------------------------------------------------ */

/* Lets `listener` be called from now on for every event of the pool of the kinds OPENED to STALE_GIVE
 * (cenote/events.h), one at a time, in their order, on the pool's runtime, with no lock held. NULL: nobody any more.
 * When this returns the former one has returned, too, and is not called again,
 * unless this is called from within it. Events never wait for it: what finds the queue of 256 full is left out, and
 * what is in it when the listener is replaced; `missed` says how many were since the call before, of this or the former one.
 * What happens until the pool is closed is told even afterwards, at the latest
 * by cen_pool_free, on its own thread: when that returns the listener has, too.
 * Texts longer than those of a cen_error are cut.
 * Without a listener LEAK events are printed to stderr as "LEAK-DETECTED" lines, and the first ORPHANED event of the pool as
 * an "ORPHANED-LEASE" line, and its first STALE_GIVE event as a "STALE-GIVE" line. All events
 * are in the events of the process, too (cenote/events.h), whether anybody listens here or not.
 * Errors: CLOSED (not if listener is NULL), FORKED, INVALID, NO_MEMORY, MISUSE. */
CEN_API cen_status cen_pool_listen(cen_pool *pool,
                                   void (*listener)(void *argument, const cen_event *event, uint64_t missed),
                                   void *argument, cen_error *error);

/* ---- Stats --------------------------------------------------------------------- */

/* A pool is also a component (cenote/component.h). Its metrics are the numbers below, with min_idle, and max_idle and
 * max_waiters if they are on. Its histograms: "wait", of all takes that had to wait, failures too, `instant` being the
 * leases that did not; "use", from the beginning of a lease to its end, however it ended, of one in 64 or of all (exact_times), a
 * revoked one when it comes back or is given up; "create", of all openings that succeeded. Waits are on the system's clock, the
 * other two on the runtime's. Its actions: pause, resume, resize, reload, evict (cen_pool_reap of all that is idle), test. */

/* Whether objects may be opened. Open: not now, it failed too often; half-open: one at a time. */
typedef enum cen_breaker { CEN_BREAKER_CLOSED = 0, CEN_BREAKER_OPEN, CEN_BREAKER_HALF_OPEN } cen_breaker;

/* Every number was true at a moment of the call that gave it. Always
 *     idle + held + moving + revoked + opening + resetting + testing + closing + vacant = places
 *     places >= max
 *     held + revoked <= taken - ended <= held + revoked + moving
 *     opened + adopted - closed = places - vacant     while moving, opening and closing are 0
 *     waited = served + timed_out + sent_away + failed + shed + cancelled + waiting
 * `idle` to `vacant` were all true at one and the same moment. `moving` are
 * slots that changed while they were looked at, idle or held, say, at that
 * moment: none in a pool at rest. */
typedef struct cen_pool_stats {
    size_t size; /* sizeof(cen_pool_stats), set by CEN_SIZED */
    uint32_t max, places;
    uint32_t idle, held, moving, revoked, opening, resetting, testing, closing, vacant;
    uint32_t waiting; /* takes that wait now */
    /* leases; one that was granted in the moment its take found another, too, and one whose object failed its test
     * before it was lent */
    uint64_t taken, ended;
    uint64_t opened, open_failed, adopted, closed; /* objects */
    uint64_t discarded;                            /* leases that ended by cen_pool_discard */
    /* takes that had to wait, and how it ended; `cancelled`, below. failed: no object could be opened */
    uint64_t waited, served, timed_out, sent_away, failed, shed;
    /* takes that did not wait: told FULL (max_waiters), OVERLOAD (refuse_late) */
    uint64_t refused, refused_late;
    /* what became of objects and leases */
    uint64_t tested, test_failed, reset, reset_failed, leaked, reclaimed, expired;
    cen_breaker breaker;
    uint32_t open_failures; /* in a row, until now */
    int64_t next_open_ns;   /* in which time opening may be tried again; 0: now, or one is under way */
    int64_t wait_p50_ns, wait_p99_ns, wait_longest_ns, wait_total_ns; /* of all that ended, failures too */
    int64_t oldest_wait_ns;                                           /* of those who wait now; 0 if nobody does */
    int64_t estimated_wait_ns; /* of a take that would begin to wait now; 0: nothing is known */
    bool is_closed, is_paused, is_shedding;
    uint64_t orphaned; /* leases whose holder ended without giving them (CEN_HOLDER_END_ORPHAN) */
    /* objects, orphaned or reclaimed, that were cut off and not given back yet */
    uint32_t orphans;
    uint64_t stale_gives; /* leases given, discarded or left again after they had ended */
    /* takes that had to wait until the program ended them: cen_future_cancel, a stop token, cen_pool_interrupt,
     * pthread_cancel. They are not in `failed` */
    uint64_t cancelled;
    /* takes that found no object and did not wait: cen_pool_try_take (EMPTY), CEN_NOW (TIMEOUT), a deadline that
     * passed, a stop token that was set or an interrupt that came during a health check before the wait */
    uint64_t missed;
    /* takes that did not wait: told what the last opening said (CEN_CAUSE_BREAKER_OPEN) */
    uint64_t refused_breaker;
} cen_pool_stats;

/* Reads all slots: up to a million, some milliseconds then. Takes the lock for
 * a moment, or, while objects are opened and closed all the time, for as long
 * as it takes to read up to 4096 slots; in a larger pool whatever is not held
 * may then be counted as moving. Calls take turns. Errors: FORKED, INVALID. */
CEN_API cen_status cen_pool_stats_get(cen_pool *pool, cen_pool_stats *out);

typedef enum cen_object_state {
    CEN_OBJECT_IDLE = 1,
    CEN_OBJECT_HELD,
    CEN_OBJECT_REVOKED,   /* taken away by close, and not yet back */
    CEN_OBJECT_RESETTING, /* was given back; the driver checks or resets it */
    CEN_OBJECT_TESTING,   /* the driver tests it */
    CEN_OBJECT_OPENING,   /* the driver's open has stored it and may not have returned */
    CEN_OBJECT_CLOSING,   /* the driver's close may have returned */
    /* cut off when its lease ended without its holder; `index` was its place, which may have another object */
    CEN_OBJECT_ORPHANED,
} cen_object_state;

/* One object, and who has it. */
#define CEN_BACKTRACE_MAX 16
typedef struct cen_object_view {
    size_t size; /* in cen_pool_each the library's sizeof(cen_object_view), in cen_pool_holders the caller's */
    void *object;
    uint32_t index;
    cen_object_state state;
    uint64_t generation; /* of the lease; of the last one unless it is held or revoked */
    uint64_t holder;     /* the holder's cen_holder_number; 0 unless held or revoked, or taken this very instant */
    const char *where;   /* the call that took it; NULL likewise, or if take_at was given none */
    int64_t held_ns;     /* at least so long, or ... */
    bool is_detached;
    bool is_exact; /* ... exactly: with options.exact_times, or it is one of those in 64 whose time is taken */
    uint32_t backtrace_count;           /* with options.backtraces: ... */
    void *backtrace[CEN_BACKTRACE_MAX]; /* ... return addresses of the calls that led to the take, innermost first */
    uint64_t identity;                  /* what the driver's `identify` returned; 0: none */
} cen_object_view;

/* Call `visit` for every object that exists, in any state, in the order of indexes, orphans last. An object exists from the
 * moment that the driver's open has written it to *out, or that cen_pool_adopt was called with it, until the driver's close or
 * abandon has returned; an orphan exists until its close has returned. One that exists during the whole call is visited
 * exactly once, also if its state changes meanwhile; if it becomes an orphan meanwhile, perhaps twice. One that is opened or
 * closed meanwhile may be visited.
 * A garbage collector may mark through this function: it takes no lock, allocates nothing and delays nobody, so the other
 * threads may be stopped anywhere. In the states OPENING, CLOSING and ORPHANED the object may be incomplete or already
 * closed: mark or compare the pointer, do not follow it. In every other state another thread may take, give or close the
 * object during the visit. The time follows the number of objects, not options.max. The visit ends when `visit` returns
 * false.
 * Returns:
 *   OK
 *   FORKED   the pool belongs to the parent process
 *   INVALID  pool or visit is NULL */
CEN_API cen_status cen_pool_each(cen_pool *pool, bool (*visit)(void *argument, const cen_object_view *holding),
                                 void *argument);

/* Writes up to `room` holdings that are held or revoked, in the order of their
 * indexes, and to *out how many there are. The array need not be initialised: the
 * macro passes the size of an element. Without exact_times, held_ns counts
 * from the first call of this, or whatever else looks at holders, that met the lease: call it now and then. Calls
 * of this take turns; nobody else is held up. Errors: FORKED, INVALID (also: holdings is NULL and room is not 0). */
#define cen_pool_holders(pool, holdings, room, out) \
    cen_pool_holders_sized((pool), (holdings), sizeof(cen_object_view), (room), (out))
CEN_API cen_status cen_pool_holders_sized(cen_pool *pool, cen_object_view *holdings, size_t size, size_t room,
                                          size_t *out);

/* Writes, in plain words and at most `room` bytes with the final zero, how the
 * pool is and why a take would wait or fail now: counts, the oldest holders, who
 * waits, the last failed opening with the driver's number, the breaker, whether
 * it is paused. Several lines, each ended by a newline. Reads all slots twice.
 * Answers how many bytes the whole text needs, the final zero included. Never
 * fails: of a pool that is NULL or another process' it says so. text may be NULL. */
CEN_API size_t cen_pool_explain(cen_pool *pool, char *text, size_t room);

/* The calling thread's number in lists of holders; never 0. */
CEN_API uint64_t cen_thread_number(void);

/* The number of the current holder in lists of holders: cen_thread_number, or, in a step of a task, the task's, which is
 * the same on whatever thread it goes on. A task's has one bit that no thread's has; the others are the number that a
 * text gives it: "task 12". No two holders of a process have or had the same. */
CEN_API uint64_t cen_holder_number(void);
#define CEN_HOLDER_TASK (UINT64_C(1) << 45)
static inline bool cen_holder_is_task(uint64_t holder)
{
    return (holder & CEN_HOLDER_TASK) != 0;
}

/* A pool that is NULL has no name, no room and is closed: these never fail. */
CEN_API const char *cen_pool_name(const cen_pool *pool);
CEN_API uint32_t cen_pool_max(const cen_pool *pool);
CEN_API bool cen_pool_is_closed(const cen_pool *pool);

/* ---- Caveats -------------------------------------------------------------------
 * From the driver's functions, a visitor and a listener one may look, visit, list,
 * explain, read the options, detach, interrupt, and take or enter what is idle or
 * borrowed; give and leave, too, unless the driver has a check; a listener may also
 * be replaced from within itself. Everything else on the same pool
 * answers MISUSE and changes nothing. Other pools are free to use. They must
 * not longjmp out, and a child that they fork must not return from them.
 * A thread that holds an object and takes another from the same pool can wait
 * for ever on others that do the same: use scopes, which borrow, or a deadline.
 * A lease that has ended, because it was given, reclaimed or left by its holder, may be given after cen_pool_free has
 * returned: that is STALE. Until then, while cen_pool_free runs, only leases that are still held may be given. A pool's
 * struct, 3 kB, is kept for that and used for the next pool; all other memory is given back.
 * fork: unless options.on_fork says otherwise, in the child every call answers
 * FORKED and touches nothing. cen_pool_free in a child that has not used the pool
 * gives the child's memory back, and does no more.
 * What a thread holds when it ends, by returning, pthread_exit or pthread_cancel,
 * goes the way of options.on_holder_end, unless it was detached; and so does what a
 * task holds when it is over. The end of a task, or of a thread that holds more than eight leases, looks at all slots of
 * all pools, unless it gave all that it took; the driver may be called there. A thread does so
 * after the thread-specific destructors of the program, which may
 * still give. If such a destructor takes in the last round of destructors, a thread of the process' own runtime does so
 * instead. Where the system has no thread-specific key left, its end is not noticed; nor is it if the thread uses the
 * library for the first time in that last round.
 * Returning from main ends the process: nothing is given back.
 */

#ifdef __cplusplus
}
#endif
#endif
