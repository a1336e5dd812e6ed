/* SPDX-License-Identifier: MIT */
/*
 * Waiting at exit for the library's threads.
 *
 *     one word:  exiting | waiters | leaving threads | running calls
 *
 *     thread:  calls + 1 ─ exiting? no ▶ calls driver or program ▶ calls - 1 ▶ a waiter: wakes it
 *                         └ yes ▶ calls - 1, and does not call
 *     exit:    sets exiting ▶ cancels ▶ waits for calls = own, leaving = 0, or its timeout ▶ the next handler
 *
 * Invariants
 *  X1 A thread is in a call only if it raised the count while `exiting` was not set. Both are in one word. So exit,
 *     which sets the bit, sees every such thread in the count. A count that is raised later does not begin a call.
 *  X2 A thread of the library that runs destructors is in one of three states: it is counted until they have run,
 *     another thread joins it, or it began to leave after `exiting` was set and sleeps forever.
 *  X3 The word is 0 in a forked child (port/posix/fork.c), where there are no threads to count.
 *
 * The naive version keeps the count in one word and the exiting flag in another. A thread that checks the flag before
 * exit sets it, and raises the count after exit has read it, is missed. The naive handler is registered when the
 * library starts. But atexit runs handlers last in, first out, and a client library registers its handler at its
 * first use. So the client library would free its tables before our handler waits. Therefore ceni_exit_register is
 * called again after each driver's prepare; only the first handler that runs does anything.
 *
 * Waiting: `turns` changes after each end that a thread may be waiting for. A waiter reads `turns`, then the word,
 * and sleeps if `turns` is unchanged.
 *
 * Order table
 * tag  site  | operation | order   | pairs with | carries                           | breaks if weakened
 * [X1] begin | add       | acq_rel | [X2]       | nothing but the word itself       | nothing: the word decides
 * [X2] end   | sub       | acq_rel | [X3] [X4]  | all writes of the call            | exit goes on before the call's last writes
 * [X3] run, await | or, add | seq_cst, acq_rel | [X2] | that a thread waits         | nothing: the word decides
 * [X4] nobody_is_busy | load   | acquire | [X2]       | all writes of ended calls         | as [X2]
 * [X5] end   | add of turns  | acq_rel | [X6]   | the word that was lowered         | a waiter sees the turn and not the end, and sleeps on
 * [X6] await | load of turns | acquire | [X5]   | the same                          | the same
 *
 * Tested by tests/explore/process_exit_test.c, tests/unit/runtime/exit_test.c, tests/drivers/exit_tls_test.c.
 */
#include "port/process_exit.h"

#include <cenote/deadline.h>

#include "base/atomic.h"
#include "base/plant.h"
#include "base/statics.h"
#include "port/port.h"

enum { KEYS = 32 };

#define CALL UINT64_C(1)
#define LEAVING (UINT64_C(1) << 24)
#define AWAITS (UINT64_C(1) << 48)
#define EXITING (UINT64_C(1) << 63)
#define COUNT_OF(word, unit) (((word) / (unit)) & 0xffffff)

static const int64_t default_timeout_ns = INT64_C(2000000000);

#ifdef CENI_WATCHED
static CENI_STATIC _Atomic uint64_t world_word; /* in a world no memory is wiped by a fork */
static _Atomic uint64_t *word(void)
{
    return &world_word;
}
#else
static _Atomic uint64_t *word(void)
{
    return &ceni_fork_page[CENI_FORK_EXIT_WORD];
}
#endif

static CENI_STATIC _Atomic uint32_t turns;     /* a futex word */
static CENI_STATIC _Atomic int64_t timeout_ns; /* 0: the default */
static CENI_STATIC _Atomic(const void *) keys[KEYS];
static CENI_STATIC _Atomic uint32_t registered; /* somewhere in the list of handlers */
static CENI_STATIC _Atomic(uintptr_t) cancels;  /* a function; 0: none */

/* ---- Calls and ends of threads --------------------------------------------------------------------- */

void ceni_exit_nudge(void)
{
    ceni_add_acq_rel(&turns, 1u); /* [X5] */
    ceni_futex_wake(&turns, UINT32_MAX);
}

static void lower(uint64_t unit)
{
    uint64_t before = ceni_add_acq_rel(word(), 0 - unit);                            /* [X2] */
    if (before >= AWAITS && !ceni_planted(exit_end_wakes_nobody)) ceni_exit_nudge(); /* or exits */
}

static bool raise_unless_exiting(uint64_t unit)
{
    if (ceni_planted(exit_looks_before_it_counts)) {
        bool exits = ceni_exiting();
        if (!exits) ceni_add_acq_rel(word(), unit); /* [X1] */
        return !exits;
    }
    if (!(ceni_add_acq_rel(word(), unit) & EXITING)) return true; /* [X1] */
    lower(unit);
    return false;
}

uint64_t ceni_exit_call_begin(void)
{
    uint64_t epoch = ceni_fork_epoch(); /* before the word is used: from now on a fork wipes it */
    if (!raise_unless_exiting(CALL)) return 0;
    ceni_thread_set_in_call(true);
    return epoch;
}

void ceni_exit_call_end(uint64_t call)
{
    if (!ceni_fork_is(call)) return;
    ceni_thread_set_in_call(false);
    lower(CALL);
}

bool ceni_exit_leaving_begin(void)
{
    ceni_fork_epoch(); /* from now on a fork wipes the word */
    if (!raise_unless_exiting(LEAVING)) return false;
    /* the end of its destructors cannot be noticed: counting it off too early is better than never */
    if (!ceni_thread_mark_leaving()) lower(LEAVING);
    return true;
}

void ceni_exit_left(void)
{
    lower(LEAVING);
}

void ceni_exit_sleep(void)
{
    _Atomic uint32_t never = 0;
    for (;;) ceni_futex_wait(&never, 0, CENI_FOREVER);
}

bool ceni_exiting(void)
{
    return ceni_load_relaxed(word()) & EXITING; /* a hint; carries nothing */
}

/* ---- Waiting ----------------------------------------------------------------------------------------- */

static bool nobody_is_busy(void)
{
    uint64_t now = ceni_load_acquire(word()); /* [X4] */
    uint64_t own = ceni_thread_in_call() && !ceni_planted(exit_awaits_itself);
    return COUNT_OF(now, CALL) <= own && (COUNT_OF(now, LEAVING) == 0 || ceni_planted(exit_forgets_the_leaving));
}

static bool await(int64_t moment, bool with_calls, bool (*quiet)(void *), void *argument)
{
    ceni_fork_epoch();                /* from now on a fork wipes the word */
    ceni_add_acq_rel(word(), AWAITS); /* [X3] */
    bool done, late = false;
    for (;;) {
        uint32_t seen = ceni_load_acquire(&turns); /* [X6] */
        /* In this order: a job is counted before it leaves its queue. */
        done = (!quiet || quiet(argument)) && (!with_calls || nobody_is_busy());
        if (done || late) break;
        late = ceni_futex_wait(&turns, seen, moment) == CENI_TIMED_OUT;
    }
    ceni_add_acq_rel(word(), 0 - AWAITS); /* [X3] */
    return done;
}

bool ceni_exit_await(int64_t moment, bool (*quiet)(void *), void *argument)
{
    return await(moment, true, quiet, argument);
}

bool ceni_exit_await_only(int64_t moment, bool (*quiet)(void *), void *argument)
{
    return await(moment, false, quiet, argument);
}

/* ---- The handler --------------------------------------------------------------------------------------- */

void ceni_exit_set_timeout(int64_t ns)
{
    ceni_store_relaxed(&timeout_ns, ns); /* a number; carries nothing */
}

static int64_t last_moment(void)
{
    int64_t ns = ceni_load_relaxed(&timeout_ns), now = ceni_clock_now(); /* a number; carries nothing */
    if (ns == 0) ns = default_timeout_ns;
    if (ns == CEN_NONE) return 0;
    if (ns == CEN_OFF) return CENI_FOREVER;
    return ns < CENI_FOREVER - now ? now + ns : CENI_FOREVER;
}

void ceni_exit_run(void)
{
    ceni_fork_epoch();                                      /* from now on a fork wipes the word */
    if (ceni_or_seq_cst(word(), EXITING) & EXITING) return; /* [X3] */
    void (*cancel)(void) = (void (*)(void))ceni_setting(&cancels);
    if (cancel && !ceni_planted(exit_cancels_nothing)) cancel();
    await(last_moment(), true, NULL, NULL);
}

/* Returns true if the key is new. A full table treats every key as known. */
static bool is_new(const void *key)
{
    for (int i = 0; i < KEYS; i++) {
        const void *found = NULL;
        if (ceni_cas_relaxed(&keys[i], &found, key)) return true; /* decides which thread adds it; carries nothing */
        if (found == key) return false;
    }
    return false;
}

void ceni_exit_register(const void *key, void (*cancel)(void))
{
    if (cancel) ceni_setting_put(&cancels, (uintptr_t)cancel);
    bool first = ceni_load_relaxed(&registered) == 0; /* twice does no harm; carries nothing */
    if (ceni_planted(exit_handler_registered_once)) key = NULL;
    if (key ? !is_new(key) : !first) return;
    ceni_store_relaxed(&registered, 1); /* as above; carries nothing */
    ceni_process_at_exit(ceni_exit_run);
}
