/* SPDX-License-Identifier: MIT */
/*
 * Errands, and the helpers that run them.
 *
 *     helper: arrives ▶ an errand is wanted: runs it ▶ looks again
 *                     ▶ none is: idle ▶ called ▶ looks again
 *                                     ▶ lingered ▶ looks again, and else departs
 *     post:   enough are spare or underway ▶ queues, and calls an idle one if the awake are too few
 *             else                         ▶ starts one, and then queues
 *
 * Invariants
 * I1  queued is the sum of `wanted` of all errands in the list; an errand is in
 *     the list while it is wanted.
 * I2  A helper that is not in an errand looks at the list, under the mutex,
 *     before it sleeps and before it departs. So an errand that is queued while
 *     a helper is there is run, whatever else goes wrong.
 * I3  queued <= spare + underway, but for errands that were queued although no
 *     thread could be had: each has a helper of its own to come, and one that
 *     blocks holds up no other. A helper is underway from when its starter knows
 *     that it was started, so that nobody relies on a start that fails. It may
 *     arrive before that, and then `underway` is one too low for a moment, which
 *     errs on the side of one helper more.
 * I4  Of the helpers that are spare or underway, as many as there are errands
 *     are awake, or all.
 *
 * A helper is started before the errand is queued, with the mutex dropped. The
 * naive order, queue and then start, must take the errand back when the start
 * fails, and by then a helper that another thread started may have run it and
 * its memory may be gone.
 *
 * The word `called` of a helper is a futex word that is written under the mutex
 * and relaxed. All else is ordered by the mutex.
 *
 * Tested by tests/unit/runtime/errand_test.c, tests/explore/runtime_errand_test.c.
 */
#include "base/plant.h"
#include "port/process_exit.h"
#include "runtime/inside.h"

void ceni_errand_init(ceni_errand *errand, void (*run)(ceni_errand *errand))
{
    errand->run = run;
    ceni_list_init(&errand->link);
    errand->wanted = 0;
}

/* ---- The list ---------------------------------------------------------------------- */

static void add_locked(cen_runtime *runtime, ceni_errand *errand)
{
    runtime->queued++;
    if (errand->wanted++ == 0) ceni_list_push_back(&runtime->errands, &errand->link);
}

/* The first. If it is wanted more than once it goes to the end: the others come first. */
static ceni_errand *take_locked(cen_runtime *runtime)
{
    ceni_list *link = ceni_list_first(&runtime->errands);
    if (!link) return NULL;
    ceni_errand *errand = CENI_LIST_ENTRY(link, ceni_errand, link);
    ceni_list_remove(link);
    runtime->queued--;
    if (--errand->wanted > 0) ceni_list_push_back(&runtime->errands, link);
    return errand;
}

ceni_ran ceni_errands_run_locked(cen_runtime *runtime)
{
    ceni_errand *errand = take_locked(runtime);
    if (!errand) return CENI_RAN_NOTHING;
    uint64_t epoch = runtime->epoch;
    ceni_runtime_unlock(runtime);
    ceni_rank_expect_none("an errand");
    errand->run(errand); /* its memory may be gone when this returns */
    if (!ceni_fork_is(epoch)) return CENI_RAN_AWAY;
    ceni_runtime_lock(runtime);
    return CENI_RAN_ONE;
}

/* ---- A helper ---------------------------------------------------------------------- */

static int64_t linger_until(const cen_runtime *runtime)
{
    if (runtime->idle_timeout_ns == CENI_FOREVER) return CENI_FOREVER;
    int64_t now = ceni_clock_now();
    return now > CENI_FOREVER - runtime->idle_timeout_ns ? CENI_FOREVER : now + runtime->idle_timeout_ns;
}

/* Sleeps until it is called or has lingered; false: it has lingered. */
static bool idle_locked(cen_runtime *runtime, ceni_runtime_thread *self)
{
    int64_t until = linger_until(runtime);
    ceni_woken woken = CENI_WOKEN;
    ceni_store_relaxed(&self->called, 0); /* under the mutex; carries nothing */
    ceni_list_push_front(&runtime->idle, &self->idle);
    runtime->idle_count++;
    while (woken == CENI_WOKEN && ceni_list_linked(&self->idle)) {
        ceni_runtime_unlock(runtime);
        woken = ceni_futex_wait(&self->called, 0, until);
        ceni_runtime_lock(runtime);
    }
    if (ceni_list_linked(&self->idle)) {
        ceni_list_remove(&self->idle);
        runtime->idle_count--;
    }
    return woken == CENI_WOKEN;
}

/* A helper counts as in a call from before it takes an errand until it sleeps or has begun to leave, and anew for each errand.
 * False: the process exits, and what is queued stays there. */
static bool begin_call(ceni_runtime_thread *self)
{
    ceni_runtime_end_call(self);
    if (ceni_planted(errand_begins_at_exit)) return true;
    self->call = ceni_exit_call_begin();
    return self->call != 0;
}

static void help(void *argument)
{
    cen_runtime *runtime = argument;
    ceni_runtime_thread self;
    bool lingered = false;
    ceni_runtime_arrive_and_lock(runtime, &self);
    runtime->underway--;
    runtime->helpers++;
    runtime->spare++;
    for (;;) {
        if (lingered && ceni_planted(errand_left_to_the_departing)) break;
        if (runtime->queued > 0 && begin_call(&self)) {
            runtime->spare--;
            if (ceni_errands_run_locked(runtime) == CENI_RAN_AWAY) return;
            runtime->spare++;
            lingered = false;
        } else {
            if (lingered || runtime->stopping) break;
            ceni_runtime_end_call(&self); /* whoever awaits it is woken by this, and finds it spare */
            lingered = !idle_locked(runtime, &self);
        }
    }
    runtime->helpers--;
    runtime->spare--;
    ceni_runtime_depart_locked(runtime, &self);
}

/* ---- Post -------------------------------------------------------------------------- */

/* Drops the mutex meanwhile. */
static cen_status start_helper_locked(cen_runtime *runtime)
{
    runtime->threads++;
    ceni_runtime_unlock(runtime);
    cen_status status = ceni_runtime_start(runtime, "helper", help);
    ceni_runtime_lock(runtime);
    if (status == CEN_OK) runtime->underway++;
    else runtime->threads--;
    return status;
}

/* Those who will look at the errands before they sleep, the idle ones included. */
static int64_t to_come_locked(const cen_runtime *runtime)
{
    return (int64_t)runtime->spare + runtime->underway;
}

bool ceni_helpers_have_locked(cen_runtime *runtime, uint32_t more)
{
    if (runtime->manual) return true;
    if (ceni_exiting()) return false; /* nobody would run it */
    while (to_come_locked(runtime) < (int64_t)runtime->queued + more) {
        if (runtime->helpers > 0 && ceni_planted(errand_waits_for_the_busy)) break;
        if (start_helper_locked(runtime) != CEN_OK) return false;
    }
    return true;
}

/* The word of an idle helper that is to be woken, if the awake are too few. */
static _Atomic uint32_t *call_helper_locked(cen_runtime *runtime)
{
    ceni_list *link = ceni_list_first(&runtime->idle);
    if (!link || to_come_locked(runtime) - runtime->idle_count >= runtime->queued) return NULL;
    ceni_runtime_thread *helper = CENI_LIST_ENTRY(link, ceni_runtime_thread, idle);
    ceni_list_remove(link);
    runtime->idle_count--;
    ceni_store_relaxed(&helper->called, 1); /* it will take the mutex; carries nothing */
    return &helper->called;
}

_Atomic uint32_t *ceni_errand_queue_locked(cen_runtime *runtime, ceni_errand *errand)
{
    add_locked(runtime, errand);
    if (runtime->manual) ceni_manual_note_locked(runtime, INT64_MIN);
    return call_helper_locked(runtime);
}

cen_status ceni_errand_post(cen_runtime *runtime, ceni_errand *errand)
{
    ceni_runtime_lock(runtime);
    bool have = ceni_helpers_have_locked(runtime, 1), some = runtime->helpers > 0 || runtime->underway > 0;
    if (!have && (!some || ceni_exiting())) {
        ceni_runtime_unlock(runtime);
        return CEN_SYSTEM;
    }
    _Atomic uint32_t *word = ceni_errand_queue_locked(runtime, errand);
    ceni_runtime_unlock(runtime);
    /* The errand may have been run by now, and the helper be gone: the address is only a name. */
    if (word) ceni_futex_wake(word, 1);
    return CEN_OK;
}

uint32_t ceni_errand_unpost(cen_runtime *runtime, ceni_errand *errand)
{
    ceni_runtime_lock(runtime);
    uint32_t count = errand->wanted;
    if (count > 0) ceni_list_remove(&errand->link);
    runtime->queued -= count;
    errand->wanted = 0;
    ceni_runtime_unlock(runtime);
    if (count > 0) ceni_exit_nudge(); /* somebody may await the end of what is queued */
    return count;
}
