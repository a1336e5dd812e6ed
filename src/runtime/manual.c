/* SPDX-License-Identifier: MIT */
/*
 * A runtime without threads: the program's own run what is due.
 *
 * One at a time is the runner: the one who polls, one who waits for something
 * of this runtime and tends it meanwhile, or one who moves virtual time. The
 * mutex is dropped around each call; that `runner` is set keeps the others out,
 * and the thread itself, if it comes again from within a call.
 *
 * Invariants
 * I1  `said` is the moment the last poll answered, and INT64_MIN while one is
 *     under way: it will see for itself what there is.
 * I2  While nobody runs, the bell rings if anything is to be done before `said`.
 *     Who notes such a thing rings it, and a runner that is not a poll does so
 *     before it ends. Poll silences it under the same mutex.
 * I4  A poll of a pollable that meets another runner silences the bell and sets
 *     `said` to FOREVER: it expects nothing any more. So the runner, if it is not
 *     a poll, rings before it ends if there is anything to do, now or later.
 * I3  Virtual time never goes back, and moves only while its mover is the
 *     runner: nobody is called at a moment that is not now.
 *
 * The naive advance moves the clock to its end and runs what is due. Then an
 * alarm that was to go off every second and is set anew by its own call goes
 * off once in an hour, and everything on the way believes it is late. Here time
 * goes from moment to moment as the wheel asks, and stops at each.
 *
 * `runs` is a futex word that is written under the mutex and relaxed; `clock` is
 * a number for whoever asks. All else is ordered by the mutex.
 *
 * The naive I4 leaves both as they are. Then the runner moves the next moment to
 * one behind `said`, which the loop was never told, or has something to do while
 * the bell rings already: the loop sleeps on, the latter if it is edge-triggered.
 *
 * Tested by tests/unit/runtime/manual_test.c, poll_test.c, tests/explore/pollable_test.c.
 */
#include "base/plant.h"
#include "runtime/internal.h"

enum {
    CALLS_IN_A_POLL = 1000,  /* work that makes more work must not keep the program's loop for ever */
    TEND_AGAIN_NS = 5000000, /* nobody wakes one who tends: it looks again, for what others have set meanwhile */
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

/* When there is something to do next; in the past if there is now. */
static int64_t next_locked(const cen_runtime *runtime)
{
    return ceni_errands_queued_locked(runtime) > 0 ? INT64_MIN : ceni_alarms_next_locked(runtime);
}

/* One alarm and one errand in turn, so that neither starves the other. ONE: there may be more. *ran, if it is not NULL: how
 * many. */
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

/* The end of a run that was no poll: the program's loop is told of what it does not expect (I2). */
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

/* The runner's. False: it is now in a forked child. */
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

/* The runner's: false if it is now in a forked child. */
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

/* Waits for those who run; false if that is the caller. */
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
    int64_t now = ceni_runtime_now(runtime), last = CENI_FOREVER - 1; /* FOREVER itself never comes */
    if (move_to_locked(runtime, ns > last - now ? last : now + ns)) end_other_run_locked(runtime);
    return CEN_OK;
}
