/* SPDX-License-Identifier: MIT */
/*
 * Errands, and the helpers that run them.
 *
 *     helper: arrives ▶ an errand is wanted: runs it ▶ looks again
 *                     ▶ none is: idle ▶ called ▶ looks again
 *                                     ▶ lingered ▶ looks again, and else departs
 *     post:   enough are spare or underway ▶ queues, and calls an idle one if the awake are too few
 *             else                         ▶ starts one, and then queues
 *             the limit is reached         ▶ queues: a helper that ends an errand looks
 *
 * The limit. A pool uses few helpers, but a process may have many pools, and a silent server keeps a helper for each
 * call. So only `most` errands that call drivers run at a time, and of these
 *
 *     proven + unproven  <= most - 1          one helper is kept for closings
 *     unproven + closing <= most - most / 4   a quarter is kept for pools whose last call succeeded
 *     unproven           <= most - most / 4 - 1
 *
 * Errands of proven pools begin first, then closings, then the others. Every OTHERS-th that begins is one of the
 * others. A pool itself uses at most half of the limit (chores.c). So a pool with a silent server cannot stop another
 * pool, and many such pools cannot stop those that work.
 *
 * Invariants
 * I1  queued is the sum of `wanted` of all errands in the list of each kind. An errand is in the list of its kind while
 *     it is wanted.
 * I2  A helper that is in no errand looks at the lists, under the mutex, before it sleeps and before it departs. So an
 *     errand that is queued while a helper exists is run, whatever else fails. An errand that the limit holds back may
 *     begin when another limited one ends, and that one's helper looks. Each end lets at most one more begin.
 * I3  The errands that are queued and may begin <= spare + underway, except for errands that were queued although no
 *     thread could be started. So each has a helper of its own to come, and an errand that blocks delays no other. A
 *     helper counts as underway once its starter knows that it was started, so that no errand relies on a start that
 *     fails. The helper may arrive before that. Then `underway` is one too low for a moment, and at worst one helper
 *     more is started.
 * I4  Of the helpers that are spare or underway, as many as there are such errands are awake, or all are.
 *
 * A helper is started before the errand is queued, with the mutex dropped. The naive order, queue and then start, must
 * take the errand back when the start fails. By then another helper may have run it, and its memory may be gone.
 *
 * The word `called` of a helper is a futex word that is written under the mutex and relaxed. `most_told`,
 * `crowded_told` and `proven` are numbers that are read without the mutex and carry nothing. A thread that changes
 * `proven` then takes the mutex and sorts the errand by the value that it reads there, so the last change stays. The
 * mutex orders everything else.
 *
 * Tested by tests/unit/runtime/errand_test.c, tests/explore/runtime_errand_test.c.
 */
#include <string.h>

#include "base/plant.h"
#include "port/process_exit.h"
#include "runtime/internal.h"

enum { OTHERS = 8 }; /* of this number of errands that begin, one is UNPROVEN, if any waits */

void ceni_errand_init_limited(ceni_errand *errand, void (*run)(ceni_errand *errand), ceni_errand_kind kind)
{
    errand->run = run;
    ceni_store_relaxed(&errand->proven, false); /* no other thread knows it yet; carries nothing */
    ceni_list_init(&errand->link);
    errand->wanted = 0;
    errand->kind = kind;
}

void ceni_errand_init(ceni_errand *errand, void (*run)(ceni_errand *errand))
{
    ceni_errand_init_limited(errand, run, CENI_ERRAND_FREE);
}

/* ---- The limit --------------------------------------------------------------------- */

/* How many more errands may begin. A kind may need several of these. */
typedef struct room {
    uint32_t all, pools, doubtful, unproven;
} room;

static uint32_t rest(uint32_t most, uint32_t used)
{
    return used < most ? most - used : 0;
}

static room room_locked(const cen_runtime *runtime)
{
    const uint32_t *running = runtime->running;
    uint32_t kept = !ceni_planted(no_helper_kept_for_closings);
    uint32_t most = ceni_planted(limit_is_none) ? UINT32_MAX : runtime->most;
    uint32_t others = ceni_planted(doubtful_take_all_helpers) ? most : most - most / 4;
    uint32_t proven = running[CENI_ERRAND_PROVEN], unproven = running[CENI_ERRAND_UNPROVEN],
             closing = running[CENI_ERRAND_CLOSING];
    return (room){.all = rest(most, proven + unproven + closing),
                  .pools = rest(most - kept, proven + unproven),
                  .doubtful = rest(others, unproven + closing),
                  .unproven = rest(others - kept, unproven)};
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* How many of a kind may begin. */
static uint32_t fit(const room *r, ceni_errand_kind kind)
{
    switch (kind) {
    case CENI_ERRAND_FREE: return UINT32_MAX;
    case CENI_ERRAND_PROVEN: return least(r->all, r->pools);
    case CENI_ERRAND_CLOSING: return least(r->all, r->doubtful);
    default: return least(least(r->all, r->pools), least(r->doubtful, r->unproven));
    }
}

/* How many of the queued errands, by kind, may begin now. Proven ones and closings first: the others need the room of
 * both. */
static uint32_t ready_of(const cen_runtime *runtime, const uint32_t *queued)
{
    room r = room_locked(runtime);
    uint32_t proven = least(queued[CENI_ERRAND_PROVEN], fit(&r, CENI_ERRAND_PROVEN));
    r.all -= proven;
    r.pools -= proven;
    uint32_t closing = least(queued[CENI_ERRAND_CLOSING], fit(&r, CENI_ERRAND_CLOSING));
    r.all -= closing;
    r.doubtful -= closing;
    uint32_t unproven = least(queued[CENI_ERRAND_UNPROVEN], fit(&r, CENI_ERRAND_UNPROVEN));
    return queued[CENI_ERRAND_FREE] + proven + closing + unproven;
}

uint32_t ceni_errands_ready_locked(const cen_runtime *runtime)
{
    return ready_of(runtime, runtime->queued);
}

uint32_t ceni_errands_queued_locked(const cen_runtime *runtime)
{
    uint32_t sum = 0;
    for (int kind = 0; kind < CENI_ERRAND_KINDS; kind++) sum += runtime->queued[kind];
    return sum;
}

bool ceni_runtime_is_crowded(const cen_runtime *runtime)
{
    return ceni_load_relaxed(&((cen_runtime *)(uintptr_t)runtime)->crowded_told); /* a guess; carries nothing */
}

uint32_t ceni_runtime_limit(const cen_runtime *runtime)
{
    return ceni_load_relaxed(&((cen_runtime *)(uintptr_t)runtime)->most_told); /* a number; carries nothing */
}

/* Called after each change of the queued or running errands. */
static void note_crowd_locked(cen_runtime *runtime)
{
    bool crowded = ceni_errands_queued_locked(runtime) > ceni_errands_ready_locked(runtime);
    if (crowded == runtime->crowded) return;
    runtime->crowded = crowded;
    ceni_store_relaxed(&runtime->crowded_told, crowded); /* carries nothing */
}

/* ---- The lists --------------------------------------------------------------------- */

static void add_locked(cen_runtime *runtime, ceni_errand *errand)
{
    runtime->queued[errand->kind]++;
    if (errand->wanted++ == 0) ceni_list_push_back(&runtime->errands[errand->kind], &errand->link);
    note_crowd_locked(runtime);
}

/* The kind of the next errand; CENI_ERRAND_KINDS: none may begin. */
static ceni_errand_kind next_kind_locked(cen_runtime *runtime)
{
    room r = room_locked(runtime);
    ceni_errand_kind next = CENI_ERRAND_KINDS;
    for (int kind = CENI_ERRAND_KINDS - 1; kind >= 0; kind--)
        if (runtime->queued[kind] > 0 && fit(&r, (ceni_errand_kind)kind) > 0) next = (ceni_errand_kind)kind;
    bool others = runtime->queued[CENI_ERRAND_UNPROVEN] > 0 && fit(&r, CENI_ERRAND_UNPROVEN) > 0;
    if (!others || next == CENI_ERRAND_FREE) return next;
    if (next != CENI_ERRAND_UNPROVEN && (++runtime->passed < OTHERS || ceni_planted(doubtful_wait_for_ever)))
        return next;
    runtime->passed = 0;
    return CENI_ERRAND_UNPROVEN;
}

/* Take the first errand that may begin. If it is wanted again it goes to the end of its list, behind the others. */
static ceni_errand *take_locked(cen_runtime *runtime)
{
    ceni_errand_kind kind = next_kind_locked(runtime);
    if (kind == CENI_ERRAND_KINDS) return NULL;
    ceni_list *link = ceni_list_first(&runtime->errands[kind]);
    ceni_errand *errand = CENI_LIST_ENTRY(link, ceni_errand, link);
    ceni_list_remove(link);
    runtime->queued[kind]--;
    if (--errand->wanted > 0) ceni_list_push_back(&runtime->errands[kind], link);
    return errand;
}

ceni_ran ceni_errands_run_locked(cen_runtime *runtime)
{
    ceni_errand *errand = take_locked(runtime);
    if (!errand) return CENI_RAN_NOTHING;
    ceni_errand_kind kind = errand->kind;
    uint64_t epoch = runtime->epoch;
    runtime->running[kind]++;
    note_crowd_locked(runtime);
    ceni_runtime_unlock(runtime);
    ceni_rank_expect_none("an errand");
    errand->run(errand); /* its memory may be gone when this returns */
    if (!ceni_fork_is(epoch)) return CENI_RAN_AWAY;
    ceni_runtime_lock(runtime);
    runtime->running[kind]--;
    note_crowd_locked(runtime);
    return CENI_RAN_ONE;
}

/* ---- A helper ---------------------------------------------------------------------- */

static int64_t linger_until(const cen_runtime *runtime)
{
    if (runtime->idle_timeout_ns == CENI_FOREVER) return CENI_FOREVER;
    int64_t now = ceni_clock_now();
    return now > CENI_FOREVER - runtime->idle_timeout_ns ? CENI_FOREVER : now + runtime->idle_timeout_ns;
}

/* Sleep until the helper is called, or for the idle timeout. False: the idle timeout has passed. */
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

/* A helper counts as in a call from before it takes an errand until it sleeps or has begun to leave. Each errand is a
 * new call. False: the process exits, and queued errands stay queued. */
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
        if (ceni_errands_ready_locked(runtime) > 0 && begin_call(&self)) {
            runtime->spare--;
            if (ceni_errands_run_locked(runtime) == CENI_RAN_AWAY) return;
            runtime->spare++;
            lingered = false;
        } else {
            if (lingered || runtime->stopping) break;
            ceni_runtime_end_call(&self); /* a thread that awaits that is woken by this, and finds the helper spare */
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

/* The helpers that will look at the lists before they sleep, including the idle ones. */
static int64_t to_come_locked(const cen_runtime *runtime)
{
    return (int64_t)runtime->spare + runtime->underway;
}

static uint32_t ready_with_locked(const cen_runtime *runtime, ceni_errand_kind kind, uint32_t more)
{
    uint32_t queued[CENI_ERRAND_KINDS];
    memcpy(queued, runtime->queued, sizeof queued);
    queued[kind] += more;
    return ready_of(runtime, queued);
}

bool ceni_helpers_have_locked(cen_runtime *runtime, ceni_errand_kind kind, uint32_t more)
{
    if (runtime->manual) return true;
    if (ceni_exiting()) return false; /* no helper would run it */
    while (to_come_locked(runtime) < (int64_t)ready_with_locked(runtime, kind, more)) {
        if (runtime->helpers > 0 && ceni_planted(errand_waits_for_the_busy)) break;
        if (start_helper_locked(runtime) != CEN_OK) return false;
    }
    return true;
}

/* If too few helpers are awake, call an idle one. Return its word, which the caller must wake. */
static _Atomic uint32_t *call_helper_locked(cen_runtime *runtime)
{
    ceni_list *link = ceni_list_first(&runtime->idle);
    if (!link || to_come_locked(runtime) - runtime->idle_count >= ceni_errands_ready_locked(runtime)) return NULL;
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
    bool have = ceni_helpers_have_locked(runtime, errand->kind, 1),
         some = runtime->helpers > 0 || runtime->underway > 0;
    if (!have && (!some || ceni_exiting())) {
        ceni_runtime_unlock(runtime);
        return CEN_SYSTEM;
    }
    _Atomic uint32_t *word = ceni_errand_queue_locked(runtime, errand);
    ceni_runtime_unlock(runtime);
    /* The errand may have been run by now, and the helper may be gone: only the address is used. */
    if (word) ceni_futex_wake(word, 1);
    return CEN_OK;
}

/* More errands may begin than before: start and call helpers for them. Drops the mutex meanwhile. */
static void begin_more_locked(cen_runtime *runtime)
{
    note_crowd_locked(runtime);
    ceni_helpers_have_locked(runtime, CENI_ERRAND_FREE,
                             0); /* if none can be started, a helper looks when it has ended its errand */
    for (_Atomic uint32_t *word; (word = call_helper_locked(runtime));) ceni_futex_wake(word, 1);
}

void ceni_errands_limit_locked(cen_runtime *runtime, uint32_t most)
{
    runtime->most = most;
    ceni_store_relaxed(&runtime->most_told, most); /* a number; carries nothing */
    begin_more_locked(runtime);
}

void ceni_errand_prove(cen_runtime *runtime, ceni_errand *errand, bool proven)
{
    if (ceni_load_relaxed(&errand->proven) == proven) return; /* as above; carries nothing */
    ceni_store_relaxed(&errand->proven, proven);              /* it is read again below; carries nothing */
    ceni_runtime_lock(runtime);
    ceni_errand_kind kind =
        ceni_load_relaxed(&errand->proven) ? CENI_ERRAND_PROVEN : CENI_ERRAND_UNPROVEN; /* likewise */
    if (kind != errand->kind && errand->wanted > 0) {
        runtime->queued[errand->kind] -= errand->wanted;
        runtime->queued[kind] += errand->wanted;
        ceni_list_remove(&errand->link);
        ceni_list_push_back(&runtime->errands[kind], &errand->link);
    }
    errand->kind = kind;
    begin_more_locked(runtime);
    ceni_runtime_unlock(runtime);
}

uint32_t ceni_errand_unpost(cen_runtime *runtime, ceni_errand *errand)
{
    ceni_runtime_lock(runtime);
    uint32_t count = errand->wanted;
    if (count > 0) ceni_list_remove(&errand->link);
    runtime->queued[errand->kind] -= count;
    errand->wanted = 0;
    note_crowd_locked(runtime);
    ceni_runtime_unlock(runtime);
    if (count > 0) ceni_exit_nudge(); /* a thread may wait until nothing is queued */
    return count;
}
