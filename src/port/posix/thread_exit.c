/* SPDX-License-Identifier: MIT */
/*
 * Exit hooks of a thread: they run after the program's own thread-specific destructors.
 *
 * The naive version makes a key whose destructor runs the hooks. The order of destructors within a round is
 * unspecified. So a destructor of the program that runs after ours may still use what the hooks took back: a hook
 * ends a lease that this destructor was about to give.
 *
 * The libc calls destructors in rounds, at most PTHREAD_DESTRUCTOR_ITERATIONS, as long as a destructor has set a key
 * again. So our destructor sets its key again and lets rounds pass:
 *
 *     round 1   program's destructors   ours: sets the key again
 *     round 2   program's second wave   ours: sets the key again
 *     round 3   program's third wave    ours: runs the hooks, by rank
 *     round 4   (kept in reserve)
 *
 * The last round is kept in reserve for two reasons. A thread whose very first use of the library is inside a
 * destructor meets our destructor one round late; without the reserve its hooks would wait for a round that does not
 * follow. And allocators and sanitizers use the same trick and dismantle the thread in the last round; a hook that
 * ran there would use what they have freed.
 *
 * A hook may arm hooks. Those of a higher rank run in the same pass, others in another pass that follows at once. A
 * hook that a destructor of the program arms after the hooks have run is run in the reserve round. A hook that is
 * armed in that round, after the libc has passed our key, is not called. ceni_thread_exit_is_late reports that
 * beforehand, and thread_watch.c notices the end of the thread without a round.
 *
 * The first thread that arms a hook creates the key, without a lock: a fork could leave a lock held in the child
 * forever. A thread that loses the race deletes its key again.
 *
 * Order table
 * [T1] publish_key, cas     | cas     | acq_rel | T1, T2 | the libc's record of the key | a thread sets a key its libc does not know yet
 * [T2] project_key, load    | load    | acquire | T1     | the same                     | the same
 *
 * Tested by tests/unit/port/thread_exit_test.c.
 */
#include <limits.h>
#include <pthread.h>

#include "base/atomic.h"
#include "base/fault.h"
#include "port/posix/own.h"
#include "port/process_exit.h"

#ifndef PTHREAD_DESTRUCTOR_ITERATIONS
#define PTHREAD_DESTRUCTOR_ITERATIONS _POSIX_THREAD_DESTRUCTOR_ITERATIONS
#endif

/* Under ThreadSanitizer no code can run in the last round, not even that of a late thread: one more round is kept in
 * reserve. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LAST_ROUND_IS_TAKEN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define LAST_ROUND_IS_TAKEN 1
#endif
#ifndef LAST_ROUND_IS_TAKEN
#define LAST_ROUND_IS_TAKEN 0
#endif

enum { ROUNDS_TO_LET_PASS = PTHREAD_DESTRUCTOR_ITERATIONS - 2 - LAST_ROUND_IS_TAKEN };
_Static_assert(ROUNDS_TO_LET_PASS >= 1, "a round to wait, a round to run, a round in reserve");

static _Atomic uint64_t made_key; /* the key + 1; 0: not made yet */

static bool run_armed_hooks(void)
{
    bool ran = false;
    for (int rank = 0; rank < CENI_EXIT_RANKS; rank++) {
        void (*hook)(void) = ceni_own.exit_hooks[rank];
        ceni_own.exit_hooks[rank] = NULL; /* before the call, so that the hook can arm itself again */
        if (hook) hook();
        ran |= hook != NULL;
    }
    return ran;
}

static bool set_key(pthread_key_t key)
{
    if (ceni_fault(CENI_FAULT_KEY)) return false;
    return pthread_setspecific(key, &ceni_own) == 0; /* any value that is not NULL */
}

static void thread_ends(void *value)
{
    (void)value;
    /* This thread has used the key before; the load carries nothing. */
    pthread_key_t key = (pthread_key_t)(ceni_load_relaxed(&made_key) - 1);
    bool wait = ceni_own.exit_rounds < ROUNDS_TO_LET_PASS;
    ceni_own.exit_rounds++;
    if (wait && set_key(key)) return; /* otherwise run them now: too early is better than never */
    ceni_own.exit_running = true;
    while (run_armed_hooks()) continue;
    ceni_own.exit_running = false;
    if (ceni_own.id) ceni_thread_forget(ceni_own.id);
    if (!ceni_own.leaving) return;
    ceni_own.leaving = false;
    ceni_exit_left();
}

bool ceni_thread_exit_is_late(void)
{
    return ceni_own.exit_rounds > ROUNDS_TO_LET_PASS && !ceni_own.exit_running;
}

static bool publish_key(pthread_key_t *key)
{
    if (ceni_fault(CENI_FAULT_KEY) || pthread_key_create(key, thread_ends) != 0) return false;
    uint64_t found = 0;
    if (ceni_cas_acq_rel(&made_key, &found, (uint64_t)*key + 1)) return true; /* [T1] */
    pthread_key_delete(*key);
    *key = (pthread_key_t)(found - 1);
    return true;
}

static bool project_key(pthread_key_t *key)
{
    uint64_t made = ceni_load_acquire(&made_key); /* [T2] */
    if (!made) return publish_key(key);
    *key = (pthread_key_t)(made - 1);
    return true;
}

cen_status ceni_thread_at_exit(ceni_exit_rank rank, void (*hook)(void))
{
    if (ceni_own.exit_hooks[rank] == hook) return CEN_OK;
    pthread_key_t key;
    /* A hook that is armed by a hook is found by the running pass. */
    if (!ceni_own.exit_running && (!project_key(&key) || !set_key(key))) return CEN_SYSTEM;
    ceni_own.exit_hooks[rank] = hook;
    return CEN_OK;
}

bool ceni_thread_mark_leaving(void)
{
    pthread_key_t key;
    if (!project_key(&key) || pthread_setspecific(key, &ceni_own) != 0) return false;
    ceni_own.leaving = true;
    return true;
}
