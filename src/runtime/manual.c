/* SPDX-License-Identifier: MIT */
/*
 * A runtime without threads: the program's threads run what is due.
 *
 * One thread at a time is the runner: a thread that polls, one that waits for an event of this runtime and tends it
 * meanwhile, or one that moves virtual time. The mutex is dropped around each call. `runner` keeps other threads out,
 * and also a second call of the runner from within a call.
 *
 * Invariants
 * I1  `said` is the moment that the last poll returned, and INT64_MIN while a poll is under way: it will look by
 *     itself.
 * I2  While there is no runner, the bell rings if anything is due before `said`. A thread that sets such an alarm or
 *     posts such an errand rings it. A runner that is no poll rings it before it ends. Poll silences it under the same
 *     mutex.
 * I4  A poll of a pollable that meets another runner silences the bell and sets `said` to FOREVER: it expects nothing.
 *     So the runner, if it is no poll, rings before it ends if anything is due, then or later.
 * I3  Virtual time never goes back. It moves only while its mover is the runner: no call is made at a moment other than
 *     now.
 *
 * The naive advance moves the clock to its end and runs what is due. Then an alarm that is due every second, set again
 * by its own call, is called once in an hour, and everything on the way believes it is late. Here time moves from one
 * moment of the wheel to the next and stops at each.
 *
 * `runs` is a futex word that is written under the mutex and relaxed. `clock` is a number. The mutex orders everything
 * else.
 *
 * The naive I4 leaves `said` and the bell unchanged. Then the loop, which was told FOREVER, sleeps on in two cases. The
 * next moment after the run is not before `said`, so the runner does not ring. Or the bell was ringing already, and the
 * loop is edge-triggered.
 *
 * Tested by tests/unit/runtime/manual_test.c, poll_test.c, tests/explore/pollable_test.c.
 */
#include "base/plant.h"
#include "runtime/internal.h"

enum {
    CALLS_IN_A_POLL = 1000,  /* a bound: calls that make more work must not keep the program's loop */
    TEND_AGAIN_NS = 5000000, /* a tending thread is not woken: it looks again for what others have set meanwhile */
};

/* ---- The bell ---------------------------------------------------------------------- */

static void ring_locked(cen_runtime *runtime)
{
    if (runtime->ringing || ceni_planted(bell_stays_silent)) return;
    runtime->ringing = true;
    ceni_bell_ring(&runtime->bell);
}

static void silence_locked(cen_runtime *runtime)
{
    if (!runtime->ringing) return;
    runtime->ringing = false;
    ceni_bell_silence(&runtime->bell);
}

void ceni_manual_note_locked(cen_runtime *runtime, int64_t moment)
{
    if (!runtime->runner && moment < runtime->said) ring_locked(runtime);
}

/* ---- Running ----------------------------------------------------------------------- */

/* The moment at which something is due next; one in the past if something is due. */
static int64_t next_locked(const cen_runtime *runtime)
{
    return ceni_errands_queued_locked(runtime) > 0 ? INT64_MIN : ceni_alarms_next_locked(runtime);
}

/* One alarm and one errand in turn, so that neither starves the other. CENI_RAN_ONE: more may be due. *ran, if it is
 * not NULL, is raised by the number of calls. */
static ceni_ran run_due_locked(cen_runtime *runtime, unsigned most, unsigned *ran)
{
    for (unsigned calls = 0; calls < most; calls++) {
        ceni_ran alarm = ceni_alarms_run_locked(runtime, ceni_runtime_now(runtime));
        if (alarm == CENI_RAN_AWAY) return alarm;
        ceni_ran errand = ceni_errands_run_locked(runtime);
        if (errand == CENI_RAN_AWAY) return errand;
        if (ran) *ran += (alarm == CENI_RAN_ONE ? 1u : 0u) + (errand == CENI_RAN_ONE ? 1u : 0u);
        if (alarm == CENI_RAN_NOTHING && errand == CENI_RAN_NOTHING) return CENI_RAN_NOTHING;
    }
    return CENI_RAN_ONE;
}

static bool become_runner_locked(cen_runtime *runtime)
{
    if (runtime->runner) return false;
    runtime->runner = ceni_thread_id();
    return true;
}

/* Drops the mutex. */
static void end_run_locked(cen_runtime *runtime)
{
    bool somebody_waits = runtime->queuing > 0;
    runtime->runner = 0;
    ceni_word_turn_locked(&runtime->runs);
    ceni_runtime_unlock(runtime);
    if (somebody_waits) ceni_futex_wake(&runtime->runs, UINT32_MAX);
}

/* End a run that was no poll: ring if anything is due before the program's loop expects it (I2). */
static void end_other_run_locked(cen_runtime *runtime)
{
    if (next_locked(runtime) < runtime->said) ring_locked(runtime);
    end_run_locked(runtime);
}

static bool can_run(const cen_runtime *runtime)
{
    return runtime && runtime->manual && ceni_fork_is(runtime->epoch);
}

/* ---- Poll --------------------------------------------------------------------------- */

/* Called by the runner. False: the thread is now in the child of a fork. */
static bool run_for_poll_locked(cen_runtime *runtime, unsigned *ran)
{
    silence_locked(runtime);
    runtime->said = INT64_MIN;
    if (run_due_locked(runtime, CALLS_IN_A_POLL, ran) == CENI_RAN_AWAY) return false;
    runtime->said = next_locked(runtime);
    return true;
}

int64_t cen_runtime_poll(cen_runtime *runtime)
{
    if (!can_run(runtime)) return -1;
    ceni_runtime_lock(runtime);
    if (!become_runner_locked(runtime)) {
        ceni_runtime_unlock(runtime);
        return 0;
    }
    if (!run_for_poll_locked(runtime, NULL)) return -1;
    int64_t next = runtime->said, now = ceni_runtime_now(runtime);
    end_run_locked(runtime);
    if (next == CENI_FOREVER) return -1;
    return next > now ? next - now : 0;
}

int64_t ceni_runtime_turn(cen_runtime *runtime, unsigned *ran)
{
    *ran = 0;
    ceni_runtime_lock(runtime);
    if (become_runner_locked(runtime)) {
        if (!run_for_poll_locked(runtime, ran)) return CENI_FOREVER;
        int64_t next = runtime->said;
        end_run_locked(runtime);
        return next;
    }
    if (!ceni_planted(tended_moment_untold)) {
        silence_locked(runtime);
        runtime->said = CENI_FOREVER; /* I4 */
    }
    ceni_runtime_unlock(runtime);
    return CENI_FOREVER;
}

int64_t ceni_runtime_next(cen_runtime *runtime)
{
    ceni_runtime_lock(runtime);
    int64_t next = next_locked(runtime);
    ceni_runtime_unlock(runtime);
    return next;
}

int cen_runtime_fd(cen_runtime *runtime)
{
    return can_run(runtime) ? runtime->bell.read_fd : -1;
}

int64_t ceni_runtime_tend(cen_runtime *runtime)
{
    if (!can_run(runtime)) return CENI_FOREVER;
    int64_t next = CENI_FOREVER;
    ceni_runtime_lock(runtime);
    if (become_runner_locked(runtime)) {
        if (run_due_locked(runtime, CALLS_IN_A_POLL, NULL) == CENI_RAN_AWAY) return CENI_FOREVER;
        next = next_locked(runtime);
        end_other_run_locked(runtime);
    } else {
        ceni_runtime_unlock(runtime);
    }
    int64_t again = ceni_clock_now() + TEND_AGAIN_NS;
    return runtime->virtual_time || again < next ? again : next;
}

/* ---- Virtual time -------------------------------------------------------------------- */

static void move_clock_locked(cen_runtime *runtime, int64_t moment)
{
    if (moment > ceni_runtime_now(runtime)) ceni_store_relaxed(&runtime->clock, moment); /* a number; carries nothing */
}

/* Called by the runner. False: the thread is now in the child of a fork. */
static bool move_to_locked(cen_runtime *runtime, int64_t target)
{
    if (ceni_planted(advance_in_one_step)) move_clock_locked(runtime, target);
    for (;;) {
        ceni_ran ran;
        do ran = run_due_locked(runtime, CALLS_IN_A_POLL, NULL);
        while (ran == CENI_RAN_ONE);
        if (ran == CENI_RAN_AWAY) return false;
        int64_t next = ceni_alarms_next_locked(runtime);
        if (next > target) break;
        move_clock_locked(runtime, next);
    }
    move_clock_locked(runtime, target);
    return true;
}

/* Wait until the caller is the runner. False: it is the runner already, and called from within a call. */
static bool await_turn_locked(cen_runtime *runtime)
{
    if (runtime->runner == ceni_thread_id()) return false;
    runtime->queuing++;
    while (!become_runner_locked(runtime)) {
        uint32_t seen = ceni_word_locked(&runtime->runs);
        ceni_runtime_unlock(runtime);
        ceni_futex_wait(&runtime->runs, seen, CENI_FOREVER);
        ceni_runtime_lock(runtime);
    }
    runtime->queuing--;
    return true;
}

cen_status cen_runtime_advance(cen_runtime *runtime, int64_t ns)
{
    if (!runtime || !runtime->virtual_time || ns < 0) return CEN_INVALID;
    if (!ceni_fork_is(runtime->epoch)) return CEN_FORKED;
    ceni_runtime_lock(runtime);
    if (!await_turn_locked(runtime)) {
        ceni_runtime_unlock(runtime);
        return CEN_MISUSE;
    }
    int64_t now = ceni_runtime_now(runtime), last = CENI_FOREVER - 1; /* the clock never reaches FOREVER */
    if (move_to_locked(runtime, ns > last - now ? last : now + ns)) end_other_run_locked(runtime);
    return CEN_OK;
}
