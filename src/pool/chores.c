/* SPDX-License-Identifier: MIT */
/*
 * Chores: the calls of a driver that may block. Helper threads of the runtime make them, a limited number at a time
 * for each pool. Calls that complete later are only started by a helper (later.c).
 *
 * A slot to be reset, tested or closed waits in a queue of its kind. Openings are not queued: a helper checks whether
 * an opening is still wanted, and only then claims a place. So an opening that is not needed never begins, and one
 * that has begun belongs to the pool, not to the waiter that caused it (L10).
 *
 *     event ▶ plan, under the lock: how many more helpers are needed?
 *           ▶ lock dropped: that many errands are posted (hands.c)
 *     errand ▶ picks a chore, under the lock ▶ does it ▶ picks the next ▶ none: ends
 *
 * Each kind has a capacity. A server that does not respond to closes holds up two helpers of this pool and nothing
 * else. Closes have an errand of their own, which does nothing else: when the runtime has reached its limit of
 * helpers, it reserves one for such errands. The pool's usual errand ends after one chore if others wait for a
 * helper.
 *
 * Invariants
 *  K1 If there is a chore within its kind's capacity, and the pool's share of helpers is not used up, then an errand
 *     is posted that has not begun, or a helper will still look for its next chore. Every event that makes a chore
 *     plans, and so does the end of a helper that leaves one.
 *  K2 A slot is in at most one list, and only in the state of that list:
 *     RESETTING, CLOSING or TESTING.
 *  K3 Running openings and live slots are counted from before the driver is called
 *     until after the call has completed (L2).
 *
 * A driver that does not block is called at once by the thread that finds the chore.
 */
#include <stdio.h>

#include "base/error.h"
#include "base/plant.h"
#include "pool/internal.h"
#include "port/port.h"
#include "port/process_exit.h"

enum { RESETTERS = 2, CLOSERS = 2 };

static void run(ceni_errand *errand);
static void run_closer(ceni_errand *errand);
static void do_chore(cen_pool *pool, ceni_chore chore, uint32_t index, bool for_minimum);

void ceni_chores_init(cen_pool *pool)
{
    ceni_queues_init(pool);
    ceni_errand_init_limited(&pool->errand, run, CENI_ERRAND_UNPROVEN);
    ceni_errand_init_limited(&pool->closer, run_closer, CENI_ERRAND_CLOSING);
}

/* ---- Planning ----------------------------------------------------------------------- */

static uint32_t waiters_locked(const cen_pool *pool)
{
    uint64_t ctl = ceni_load_relaxed(&pool->waiters->ctl); /* written under this lock; carries nothing */
    return (uint32_t)(ctl / CENI_CTL_ONE);
}

/* The first waiter was called and is about to search, and there is an idle object for it: it needs no opening. If it
 * is overtaken it sets READY, which plans again. */
static bool first_will_find_locked(cen_pool *pool)
{
    uint64_t ctl = ceni_load_relaxed(&pool->waiters->ctl); /* written under this lock; carries nothing */
    return (ctl & (CENI_CTL_HEIR | CENI_CTL_READY)) == CENI_CTL_HEIR && ceni_idle_any_locked(pool);
}

/* Openings that should begin for waiters. Running openings reduce the number, except overdue ones, those for
 * min_idle, and, in an outage, all: then the gate limits how many are tried at a time. */
static uint32_t wanted_by_waiters_locked(cen_pool *pool)
{
    uint32_t waiters = waiters_locked(pool), others = pool->overdue + pool->opening_for_minimum; /* one may be both */
    bool relies = pool->opening > others && pool->gate.failures == 0;
    uint32_t coming = (relies ? pool->opening - others : 0) + pool->testing_for_waiters;
    if (waiters <= coming) return 0;
    return waiters - coming - first_will_find_locked(pool);
}

/* Openings that should begin now. */
static uint32_t wanted_locked(cen_pool *pool)
{
    uint32_t room = ceni_place_room_locked(pool);
    if (room == 0) return 0;
    uint32_t wanted = wanted_by_waiters_locked(pool) + pool->top_up + pool->wished;
    return wanted < room ? wanted : room;
}

/* Tests that takes began are added to the capacity, including those that hang: each take has its own. Tests that
 * complete later need no helper: those for waiters are added, and those that hang do not count. */
static uint32_t room_for_locked(const cen_pool *pool, ceni_chore kind)
{
    uint32_t most = kind == CENI_CHORE_TEST    ? pool->options.max_concurrent_tests
                    : kind == CENI_CHORE_RESET ? RESETTERS
                                               : CLOSERS;
    uint32_t busy = pool->busy[kind];
    if (kind == CENI_CHORE_TEST && !ceni_planted(checkups_share_the_capacity)) most += pool->awaited_tests;
    if (kind == CENI_CHORE_TEST && pool->calls.test_async) {
        most += pool->testing_for_waiters;
        busy -= pool->tests_given_up;
    }
    return busy < most ? most - busy : 0;
}

bool ceni_chores_may_test_locked(const cen_pool *pool)
{
    return !pool->helped || pool->calls.test_async ||
           pool->waiting[CENI_CHORE_TEST] < room_for_locked(pool, CENI_CHORE_TEST);
}

static uint32_t due_locked(const cen_pool *pool, ceni_chore kind)
{
    uint32_t capacity = room_for_locked(pool, kind);
    return pool->waiting[kind] < capacity ? pool->waiting[kind] : capacity;
}

static uint32_t work_locked(cen_pool *pool)
{
    return wanted_locked(pool) + due_locked(pool, CENI_CHORE_RESET) + due_locked(pool, CENI_CHORE_TEST);
}

/* How many more errands the pool may have, without closes. A pool uses at most half of the runtime's limit, so that a
 * server that does not respond leaves helpers to other pools, however many calls it keeps waiting. */
static uint32_t share_locked(const cen_pool *pool)
{
    uint32_t limit = ceni_runtime_limit(ceni_pool_runtime(pool)), share = limit > 1 ? limit / 2 : 1;
    uint32_t used = pool->hired + pool->working - pool->closers;
    return ceni_planted(pool_takes_all_helpers) ? UINT32_MAX : used < share ? share - used : 0;
}

void ceni_chores_plan_locked(cen_pool *pool, ceni_followup *followup)
{
    if (!pool->helped) return;
    uint32_t work = work_locked(pool), closings = due_locked(pool, CENI_CHORE_CLOSE);
    uint32_t more = work > pool->hired ? work - pool->hired : 0;
    uint32_t share = more > 0 ? share_locked(pool) : 0;
    if (more > share) more = share;
    uint32_t closers = closings > pool->hired_closers ? closings - pool->hired_closers : 0;
    pool->hired += more;
    pool->hired_closers += closers;
    pool->hands += more + closers;
    followup->hire += more;
    followup->hire_close += closers;
}

uint32_t ceni_chores_crowded_locked(cen_pool *pool, uint32_t *limit)
{
    cen_runtime *runtime = ceni_pool_runtime(pool);
    if (!pool->helped || !runtime) return 0;
    *limit = ceni_runtime_limit(runtime);
    uint32_t work = work_locked(pool);
    if (work > pool->hired && share_locked(pool) == 0) return work;
    return ceni_runtime_is_crowded(runtime) ? pool->hired : 0;
}

void ceni_chores_prove(cen_pool *pool, bool succeeded)
{
    if (pool->helped && !ceni_planted(silent_pool_stays_proven))
        ceni_errand_prove(ceni_pool_runtime(pool), &pool->errand, succeeded);
}

void ceni_chores_wish(cen_pool *pool)
{
    if (!pool->helped) return;
    ceni_followup followup = {.more = false};
    ceni_waiters_lock(pool->waiters);
    uint32_t max = ceni_load_relaxed(&pool->max); /* written under this lock; carries nothing */
    /* In a full pool the wish would stay, and an object would be opened later without need. */
    if (pool->top_up + pool->opening_for_minimum + pool->testing_for_waiters == 0 && pool->live < max)
        pool->wished = true;
    ceni_chores_plan_locked(pool, &followup);
    ceni_waiters_unlock(pool->waiters);
    ceni_waiters_follow_up(pool->waiters, pool->id, pool, &followup);
}

/* ---- Opening ------------------------------------------------------------------------- */

/* A call has completed: other calls may begin, or have become unnecessary. */
void ceni_chores_replan(cen_pool *pool, ceni_chore done)
{
    ceni_followup followup = {.more = false};
    ceni_waiters_lock(pool->waiters);
    pool->busy[done]--;
    if (done == CENI_CHORE_TEST && pool->tests_due) pool->next_round = 0;
    /* another object may have to be tested before it is handed over */
    bool next = done == CENI_CHORE_TEST && waiters_locked(pool) > 0;
    if (next) ceni_waiters_pump_locked(pool, CENI_NO_INDEX, &followup);
    ceni_chores_plan_locked(pool, &followup);
    ceni_keeper_plan_locked(pool, &followup);
    ceni_waiters_unlock(pool->waiters);
    ceni_waiters_follow_up(pool->waiters, pool->id, pool, &followup);
}

/* The count goes down before the object is idle, because the next round counts idle objects. */
static void end_for_minimum(cen_pool *pool)
{
    ceni_waiters_lock(pool->waiters);
    pool->opening_for_minimum--;
    ceni_waiters_unlock(pool->waiters);
}

static void opened(cen_pool *pool, uint32_t index, const ceni_call_outcome *how)
{
    uint64_t generation = ceni_slot_generation(pool, index);
    ceni_place_note_opened(pool, index, how, NULL);
    if (how->for_minimum) end_for_minimum(pool);
    if (how->status != CEN_OK) {
        ceni_waiters_lock(pool->waiters);
        if (how->for_minimum) ceni_keeper_retry_locked(pool);
        ceni_place_vacate_locked(pool, index, CENI_SLOT_OPENING);
        return;
    }
    if (how->unwanted && !ceni_planted(late_open_is_lent))
        ceni_place_end_from(pool, index, generation, CENI_SLOT_OPENING, "opened too late, or cancelled");
    else ceni_place_publish_opened(pool, index, generation);
}

/* ---- Check and reset -------------------------------------------------------------------- */

/* The driver's check has found no problem. */
static void pass(cen_pool *pool, uint32_t index, uint64_t generation)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    bool suspect = ceni_pool_tests(pool) && ceni_holder_has_ended(slot, generation);
    bool tested = suspect && ceni_slot_move_unmarked(slot, generation, CENI_SLOT_RESETTING, CENI_SLOT_TESTING);
    if (tested) ceni_chores_test(pool, index);
    else ceni_place_return(pool, index, generation, CENI_SLOT_RESETTING);
}

const char *ceni_outcome_words(const ceni_call_outcome *how)
{
    return how->said->text[0] ? how->said->text : cen_status_text(how->status);
}

static void was_reset(cen_pool *pool, uint32_t index, const ceni_call_outcome *how)
{
    uint64_t generation = ceni_slot_generation(pool, index);
    bool done = how->status == CEN_OK;
    ceni_waiters_lock(pool->waiters);
    if (done) pool->tally.reset++;
    else pool->tally.reset_failed++;
    ceni_waiters_unlock(pool->waiters);
    if (done) {
        /* If the driver has left the error of an earlier try there, its status is not OK. */
        if (how->said->status == CEN_OK && how->said->text[0]) ceni_left_open(pool, index, generation, how->said->text);
        pass(pool, index, generation);
        return;
    }
    ceni_pool_event_tell(
        pool,
        (ceni_occurrence){
            .kind = CEN_EVENT_RESET_FAILED, .status = how->status, .code = how->said->code, .value = index},
        "reset of object %u failed: %.200s", index, ceni_outcome_words(how));
    ceni_place_end_failed(pool, index, generation, CENI_SLOT_RESETTING, "reset failed", how);
}

/* A driver call that returns when it has completed. */
static ceni_call_outcome call_with(cen_pool *pool, uint32_t index, cen_status (*function)(void *, void *, cen_error *),
                                   cen_error *said)
{
    void *object = ceni_load_relaxed(&ceni_slot_at(pool, index)->object); /* the caller owns it; carries nothing */
    *said = (cen_error){.status = CEN_OK};
    ceni_callout callout;
    ceni_callout_begin(&callout, pool);
    cen_status status = function(pool->driver.argument, object, said);
    ceni_callout_end(&callout);
    return (ceni_call_outcome){.status = status, .said = said};
}

static cen_condition check(cen_pool *pool, ceni_slot *slot)
{
    void *object = ceni_load_relaxed(&slot->object); /* the caller owns it; carries nothing */
    ceni_callout callout;
    ceni_callout_begin(&callout, pool);
    cen_condition condition = pool->calls.check(pool->driver.argument, object);
    ceni_callout_end(&callout);
    return condition;
}

static void queue(cen_pool *pool, ceni_chore chore, ceni_slot *slot)
{
    ceni_followup followup = {.more = false};
    ceni_waiters *waiters = pool->waiters;
    uint64_t id = pool->id;
    ceni_waiters_lock(waiters);
    ceni_queues_add_locked(pool, chore, slot);
    ceni_chores_plan_locked(pool, &followup);
    ceni_waiters_unlock(waiters);
    ceni_waiters_follow_up(waiters, id, pool, &followup);
}

void ceni_chores_check(cen_pool *pool, uint32_t index, uint64_t generation)
{
    ceni_chores_checked(pool, index, generation,
                        pool->calls.check ? check(pool, ceni_slot_at(pool, index)) : CEN_CLEAN);
}

/* The caller owns the slot, so the pool cannot be gone. */
static void end_broken(cen_pool *pool, uint32_t index, uint64_t generation)
{
    ceni_trust_shaken(pool);
    ceni_place_end_from(pool, index, generation, CENI_SLOT_RESETTING, "found broken by the driver's check");
}

void ceni_chores_checked(cen_pool *pool, uint32_t index, uint64_t generation, cen_condition condition)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    if (condition == CEN_CLEAN || ceni_planted(dirty_is_lent)) pass(pool, index, generation);
    else if (condition != CEN_DIRTY) end_broken(pool, index, generation);
    else if (pool->helped && (pool->calls.reset || pool->calls.reset_async)) queue(pool, CENI_CHORE_RESET, slot);
    else if (!pool->helped && pool->calls.reset) do_chore(pool, CENI_CHORE_RESET, index, false);
    else
        ceni_place_end_from(pool, index, generation, CENI_SLOT_RESETTING,
                            "found dirty by the driver's check; the driver has no reset");
}

/* ---- Test ------------------------------------------------------------------------------------ */

/* Returns true if a waiter waited for the test. */
bool ceni_chores_unwant_locked(cen_pool *pool, ceni_slot *slot)
{
    if (!slot->notes.is_wanted) return false;
    slot->notes.is_wanted = false;
    pool->testing_for_waiters--;
    return true;
}

static bool has_passed(cen_pool *pool, ceni_slot *slot, const ceni_call_outcome *how)
{
    bool works = how->status == CEN_OK;
    ceni_store_relaxed(&slot->tested_at, ceni_pool_now(pool)); /* a moment, for later tests; carries nothing */
    ceni_waiters_lock(pool->waiters);
    pool->tally.tested++;
    pool->tally.test_failed += !works;
    ceni_waiters_unlock(pool->waiters);
    if (works) return true;
    ceni_trust_shaken(pool);
    uint32_t index = ceni_slot_index(pool, slot);
    ceni_pool_event_tell(
        pool,
        (ceni_occurrence){
            .kind = CEN_EVENT_TEST_FAILED, .status = how->status, .code = how->said->code, .value = index},
        "health check of object %u failed: %.200s", index, ceni_outcome_words(how));
    return false;
}

void ceni_checks_add(ceni_checks *checks, uint32_t index, int64_t took_ns, const char *said)
{
    checks->failed++;
    checks->index = index;
    checks->last_ns = took_ns;
    checks->spent_ns += took_ns;
    snprintf(checks->said, sizeof checks->said, "%.*s", (int)sizeof checks->said - 1, said);
}

bool ceni_chores_works(cen_pool *pool, ceni_slot *slot, ceni_checks *checks)
{
    if (!pool->calls.test) return true;
    cen_error said;
    int64_t began = ceni_pool_now(pool);
    ceni_store_relaxed(&slot->tested_at, began); /* for the search for overdue calls; carries nothing */
    ceni_call_outcome how = call_with(pool, ceni_slot_index(pool, slot), pool->calls.test, &said);
    if (has_passed(pool, slot, &how)) return true;
    if (checks)
        ceni_checks_add(checks, ceni_slot_index(pool, slot), ceni_pool_now(pool) - began, ceni_outcome_words(&how));
    return false;
}

/* An object whose test took too long is marked, and is closed although it works. */
static void was_tested(cen_pool *pool, uint32_t index, const ceni_call_outcome *how)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    uint64_t generation = ceni_slot_generation(pool, index);
    bool works = has_passed(pool, slot, how);
    if (ceni_checkup_ends(pool, index, generation, works ? NULL : ceni_outcome_words(how))) return;
    ceni_waiters_lock(pool->waiters);
    bool wanted = ceni_chores_unwant_locked(pool, slot);
    ceni_waiters_unlock(pool->waiters);
    if (wanted) ceni_keeper_nudge(pool); /* it will be lent; rounds must go on, so that trust in it ends again */
    if (works) ceni_place_return(pool, index, generation, CENI_SLOT_TESTING);
    else ceni_place_end_failed(pool, index, generation, CENI_SLOT_TESTING, "health check failed", how);
}

void ceni_chores_test(cen_pool *pool, uint32_t index)
{
    /* not begun yet, so it is not overdue; carries nothing */
    ceni_store_relaxed(&ceni_slot_at(pool, index)->tested_at, 0);
    if (pool->helped) queue(pool, CENI_CHORE_TEST, ceni_slot_at(pool, index));
    else do_chore(pool, CENI_CHORE_TEST, index, false);
}

/* ---- A helper ---------------------------------------------------------------------------------- */

/* Pick the next chore, if there is one: remove a slot from its queue, or claim a place. */
static bool pick_usual_locked(cen_pool *pool, ceni_chore *chore, uint32_t *index, bool *for_minimum)
{
    *chore = CENI_CHORE_OPEN;
    *for_minimum = wanted_by_waiters_locked(pool) == 0 && pool->top_up + pool->wished > 0;
    bool wanted = wanted_locked(pool) > 0 || ceni_planted(opens_for_nobody);
    bool picked = wanted && ceni_place_claim_for_helper_locked(pool, index);
    if (picked) ceni_slot_at(pool, *index)->notes = (ceni_slot_notes){.number_ = 0};
    if (picked && *for_minimum) {
        if (pool->wished) pool->wished = false;
        else pool->top_up--;
        pool->opening_for_minimum++;
    }
    for (int kind = CENI_CHORE_RESET; kind < CENI_CHORES && !picked; kind++) {
        if (due_locked(pool, (ceni_chore)kind) == 0) continue;
        *chore = (ceni_chore)kind;
        *index = ceni_queues_pop_locked(pool, *chore);
        picked = true;
    }
    return picked;
}

static bool pick_locked(cen_pool *pool, bool closes_only, ceni_chore *chore, uint32_t *index, bool *for_minimum)
{
    bool picked;
    if (closes_only) {
        *chore = CENI_CHORE_CLOSE;
        *for_minimum = false;
        picked = due_locked(pool, CENI_CHORE_CLOSE) > 0;
        if (picked) *index = ceni_queues_pop_locked(pool, CENI_CHORE_CLOSE);
    } else {
        picked = pick_usual_locked(pool, chore, index, for_minimum);
    }
    if (picked) pool->busy[*chore]++;
    return picked;
}

/* Note when the call will be overdue, for the keeper. */
static void expect_locked(cen_pool *pool, ceni_chore chore, uint32_t index)
{
    int64_t limit = chore == CENI_CHORE_OPEN ? pool->options.open_timeout_ns : CEN_OFF;
    if (chore == CENI_CHORE_TEST) limit = pool->options.test_timeout_ns;
    int64_t now = ceni_pool_now(pool), moment = limit < CENI_FOREVER - now ? now + limit : CENI_FOREVER;
    ceni_slot *slot = ceni_slot_at(pool, index);
    if (chore == CENI_CHORE_OPEN) ceni_store_relaxed(&slot->opened_at, now); /* the caller owns it; carries nothing */
    if (chore == CENI_CHORE_TEST) ceni_store_relaxed(&slot->tested_at, now); /* likewise; carries nothing */
    if (limit != CEN_OFF && moment < pool->next_overdue) pool->next_overdue = moment; /* a limit may still be set */
}

void ceni_chores_follow(cen_pool *pool, ceni_chore chore, uint32_t index, const ceni_call_outcome *how)
{
    if (chore != CENI_CHORE_CLOSE) ceni_chores_prove(pool, how->status == CEN_OK);
    switch (chore) {
    case CENI_CHORE_OPEN: opened(pool, index, how); break;
    case CENI_CHORE_RESET: was_reset(pool, index, how); break;
    case CENI_CHORE_CLOSE: ceni_place_ended(pool, index); break;
    default: was_tested(pool, index, how); break;
    }
}

static void do_chore(cen_pool *pool, ceni_chore chore, uint32_t index, bool for_minimum)
{
    cen_error said;
    ceni_call_outcome how = {.said = &said, .for_minimum = for_minimum};
    ceni_slot *slot = ceni_slot_at(pool, index);
    ceni_hand_enter_driver(pool);
    switch (chore) {
    case CENI_CHORE_OPEN: how.status = ceni_place_call_open(pool, index, &how.object, &said); break;
    case CENI_CHORE_RESET: how = call_with(pool, index, pool->calls.reset, &said); break;
    case CENI_CHORE_CLOSE: ceni_place_call_close(pool, index); break;
    default:
        /* for the search for overdue calls; carries nothing */
        ceni_store_relaxed(&slot->tested_at, ceni_pool_now(pool));
        how = call_with(pool, index, pool->calls.test, &said);
        break;
    }
    ceni_hand_leave_driver(pool);
    if (chore == CENI_CHORE_OPEN) ceni_exit_opened(pool); /* the first may have initialised its client library */
    ceni_chores_follow(pool, chore, index, &how);
}

/* In a closed pool, tests and resets that would complete later are skipped, and the object is closed: the driver
 * might never complete them. */
static bool is_vain_locked(const cen_pool *pool, ceni_chore chore)
{
    uint64_t ctl = ceni_load_relaxed(&pool->waiters->ctl); /* written under this lock; carries nothing */
    return (ctl & CENI_CTL_CLOSED) && (chore == CENI_CHORE_TEST || chore == CENI_CHORE_RESET) &&
           ceni_later_does(pool, chore);
}

static void end_untried(cen_pool *pool, ceni_chore chore, uint32_t index)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    uint64_t generation = ceni_slot_generation(pool, index);
    cen_future *giving = ceni_giving_claim(slot, generation);
    ceni_waiters_lock(pool->waiters);
    ceni_chores_unwant_locked(pool, slot);
    ceni_waiters_unlock(pool->waiters);
    ceni_place_end_from(pool, index, generation, chore == CENI_CHORE_TEST ? CENI_SLOT_TESTING : CENI_SLOT_RESETTING,
                        "pool closed");
    if (giving) ceni_giving_succeed(giving); /* nothing was found wrong with it */
}

/* Helpers begin no call while the process exits; other callers are threads of the program. */
static bool may_go_on(void)
{
    return !ceni_thread_in_call() || !ceni_exiting();
}

/* Others wait for a helper: the remaining work goes to an errand that waits behind them, within the pool's share. */
static void make_way_locked(cen_pool *pool)
{
    ceni_followup followup = {.more = false};
    pool->working--;
    ceni_chores_plan_locked(pool, &followup);
    pool->working++;
    ceni_waiters_unlock(pool->waiters);
    ceni_waiters_follow_up(pool->waiters, pool->id, pool, &followup);
    ceni_waiters_lock(pool->waiters);
}

/* `makes_way`: it is an errand. */
static void work_on_locked(cen_pool *pool, bool closes_only, bool makes_way)
{
    ceni_waiters *waiters = pool->waiters;
    ceni_chore chore;
    uint32_t index;
    bool for_minimum;
    while (may_go_on() && pick_locked(pool, closes_only, &chore, &index, &for_minimum)) {
        ceni_followup followup = {.more = false};
        cen_ticket ticket;
        bool vain = is_vain_locked(pool, chore), later = !vain && ceni_later_does(pool, chore);
        expect_locked(pool, chore, index);
        if (later) ticket = ceni_later_issue_locked(pool, chore, index, for_minimum);
        ceni_chores_plan_locked(pool, &followup);
        ceni_keeper_plan_locked(pool, &followup);
        ceni_waiters_unlock(waiters);
        ceni_waiters_follow_up(waiters, pool->id, pool, &followup);
        if (later) {
            ceni_later_start(pool, chore, index, ticket); /* its completion plans again */
        } else {
            if (vain) end_untried(pool, chore, index);
            else do_chore(pool, chore, index, for_minimum);
            ceni_chores_replan(pool, chore);
        }
        ceni_waiters_lock(waiters);
        if (makes_way && ceni_runtime_is_crowded(ceni_pool_runtime(pool))) {
            make_way_locked(pool);
            return;
        }
    }
}

void ceni_chores_work_locked(cen_pool *pool)
{
    work_on_locked(pool, false, false);
}

/* The errand has a hand, so the pool exists until it is dropped. */
static void run(ceni_errand *errand)
{
    cen_pool *pool = (cen_pool *)(void *)((char *)errand - offsetof(cen_pool, errand));
    ceni_waiters_lock(pool->waiters);
    pool->hired--;
    pool->working++;
    work_on_locked(pool, false, !ceni_planted(pool_keeps_its_helper));
    ceni_hand_end_work_locked(pool);
}

static void run_closer(ceni_errand *errand)
{
    cen_pool *pool = (cen_pool *)(void *)((char *)errand - offsetof(cen_pool, closer));
    ceni_waiters_lock(pool->waiters);
    pool->hired_closers--;
    pool->working++;
    pool->closers++;
    work_on_locked(pool, true, false);
    pool->closers--;
    ceni_hand_end_work_locked(pool);
}
