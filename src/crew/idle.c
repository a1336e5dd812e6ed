/* SPDX-License-Identifier: MIT */
/*
 * Which workers sleep and search, and which worker is called: woken or started.
 *
 *     ACTIVE ──finds nothing──▶ SEARCHING ──still nothing──▶ PARKED ──called──▶ SEARCHING ──finds──▶ ACTIVE
 *     ACTIVE ──section that blocks──▶ BLOCKED ──its end──▶ ACTIVE
 *
 * `active` counts the workers that neither sleep nor block, searchers included. At most `target` should be active, and
 * while `target` are, none is called. A worker that returns from a blocking section and is one too many parks after its
 * step.
 *
 * The word `idle` has the number of searchers and one bit, CALLABLE: a worker is parked or could be started, and
 * fewer than `target` are active. A pusher reads the word after its push. It calls a worker only if CALLABLE is set and
 * none searches.
 *
 * Invariants
 *  P1 While a job is visible in a queue, at least one of these holds: a worker searches; a worker is about to look for
 *     a job (it is active and runs a step); a worker is being called; `target` are active; a pusher has not read the
 *     word yet.
 *     - A pusher that finds no searcher calls a worker.
 *     - The last worker that stops searching because it found a job looks again, and calls the next.
 *     - A worker that parks looks again after it can be called. A worker that ends looks too, and calls another.
 *  P2 One worker at a time is called: the calling thread makes the called worker a searcher before another thread can
 *     see that none searches. So a burst of a thousand pushes wakes one worker, which finds a job and wakes the next.
 *  P3 A worker is in the list if and only if it is parked and no thread has called it. Only the thread that takes it
 *     out, under the mutex, sets CALLED, once.
 *
 * One naive version wakes a worker for every push: a storm. Another wakes only if the queue was empty: a worker that
 * took one of two jobs and is slow leaves the second while others sleep.
 *
 * Order table
 * [I2] park, stop searching | add to idle, before the look at the queues | seq_cst | I1 in internal.h, D2, J4 | as I1 | as I1
 * [I3] call       | cas of idle       | seq_cst | itself | which thread may call | two are woken for one job; harmless, but a storm
 * [I4] wake       | or to the word    | seq_cst | I5 in park.c | that it is called, and what was done before | it sleeps on; or reads old memory
 * [I6] tell       | store of told_    | release | I6 in park.c | the future's result | a half-written result is read
 *
 * Tested by tests/explore/crew_idle_test.c, tests/unit/crew/original_test.c, tests/stress/crew_stress.c.
 */
#include "base/plant.h"
#include "crew/internal.h"

/* ---- The word -------------------------------------------------------------------------- */

static bool may_start_locked(const ceni_core *core)
{
    /* If no thread is left, nothing else clears starts_barred. */
    return core->threads < core->max && (!core->starts_barred || core->threads == 0) && !core->over;
}

void ceni_update_locked(ceni_core *core, int searchers)
{
    bool more = core->active < core->target;
    uint32_t callable = more && (core->parked > 0 || may_start_locked(core));
    uint32_t change = callable - core->callable + (uint32_t)(searchers * CENI_IDLE_SEARCHER);
    core->callable = callable;
    if (change != 0) ceni_add_seq_cst(&core->idle, change); /* [I2] */
    /* a hint, decided again under the mutex; carries nothing */
    ceni_store_relaxed(&core->surplus, core->active > core->target);
}

/* ---- Calling ----------------------------------------------------------------------------- */

static void wake(ceni_worker *worker, uint32_t why)
{
    ceni_or_seq_cst(&worker->word, why); /* [I4] */
    ceni_futex_wake(&worker->word, 1);   /* the worker may be gone; only its address is used */
}

void ceni_unlist_locked(ceni_core *core, ceni_worker *worker)
{
    ceni_list_remove(&worker->link);
    worker->is_listed = false;
    core->parked--;
    core->active++;
}

/* A sleeping worker, or a seat for a new one, or neither. */
static ceni_worker *choose_locked(ceni_core *core, ceni_seat_record *record, ceni_worker **seat)
{
    ceni_list *first = ceni_list_first(&core->parked_list);
    if (core->active >= core->target) return NULL;
    if (first) {
        ceni_worker *worker = CENI_LIST_ENTRY(first, ceni_worker, link);
        ceni_unlist_locked(core, worker);
        return worker;
    }
    if (may_start_locked(core)) *seat = ceni_seat_claim_locked(core, record);
    return NULL;
}

/* `word` is the value that was read from idle. While the mutex is dropped for the allocator the call is still under way
 * (P2). */
void ceni_call_one_now(ceni_core *core, uint32_t word)
{
    if (!ceni_cas_seq_cst(&core->idle, &word, word + CENI_IDLE_SEARCHER)) return; /* [I3] */
    ceni_worker *seat = NULL;
    ceni_seat_record record = {.worker = NULL};
    ceni_core_lock(core);
    ceni_worker *worker = choose_locked(core, &record, &seat);
    if (ceni_seat_record_fetch_locked(core, &record)) {
        worker = choose_locked(core, &record, &seat);
        ceni_seat_record_free_locked(core, &record);
    }
    ceni_update_locked(core, worker || seat ? 0 : -1);
    ceni_core_unlock(core);
    if (worker && !ceni_planted(crew_call_without_wake)) wake(worker, CENI_WORD_CALLED);
    if (seat) ceni_thread_begin(core, seat);
}

void ceni_worker_tell(ceni_worker *worker, cen_task *awaiting)
{
    ceni_core *core = worker->core;
    ceni_core_lock(core);
    ceni_store_release(&awaiting->told_, 1u); /* [I6] */
    bool sleeps = worker->is_listed;
    if (sleeps) {
        ceni_unlist_locked(core, worker);
        ceni_update_locked(core, 1);
    }
    ceni_core_unlock(core);
    /* The worker takes the mutex once more before it acts on told_, so its memory has been valid so far. From here on
     * only its address is used, unless it was parked: then it sleeps until this wake. */
    if (sleeps) wake(worker, CENI_WORD_CALLED);
}

void ceni_sleepers_nudge_locked(ceni_core *core)
{
    for (ceni_list *link = core->parked_list.next; link != &core->parked_list; link = link->next)
        wake(CENI_LIST_ENTRY(link, ceni_worker, link), CENI_WORD_EVENTS);
}
