/* SPDX-License-Identifier: MIT */
/*
 * The housekeeper: everything that happens to a pool because time has passed.
 *
 * One alarm per pool rings at the earliest of these moments: the gate opens (gate.h); a waiter has waited for long
 * enough while the circuit breaker is open; a pending take or an asynchronous close reaches its deadline; a driver
 * call may be overdue; the next round. A round visits every slot once, holds no lock from one slot to the next, and
 * does with each what is due:
 *
 *     IDLE     too old, idle too long, too many idle ......... closed
 *              not tested for long ............................ TESTING, a few at a time
 *              idle for longer than it is trusted, or
 *              another was found broken (trust.c) ............. marked: tested before it is lent
 *     HELD     too old ........................................ marked: closed when it comes back
 *              held for long ................................... reported as a leak, revoked or reclaimed
 *     REVOKED  held for long, with a setting that reclaims ..... reclaimed (orphans.c)
 *     OPENING, TESTING for too long ........................... reported; the gate; marked
 *
 * Pieces. A pool may have a million slots, and a thousand objects to close. The runtime's keeper also calls the
 * alarms of other components. So a round runs in pieces of PIECE slots, or of 64 driver calls. Between two pieces the
 * alarm is set for that very moment, and every other alarm that is due is called before it rings again. Small pools
 * have one piece.
 *
 * Ages. No take and no give reads a clock (L17). A round notes the word that it finds in a slot, and when it found it
 * first. A slot with the same generation and state as then has been so all the time. So an age is never too large,
 * and too small by at most one period. The period is a fraction of the smallest limit. A pool is calm if no object is
 * lent and all idle ones are already marked: its rounds are as rare as its other limits allow. periods.c computes the
 * period.
 *
 * Order table
 * [H2] plan | store of alarm_at, under the lock | release | H1 in hands.c | the latest plan | an older plan stays in force, and the alarm rings too late
 */
#include "base/error.h"
#include "base/plant.h"
#include "pool/internal.h"
#include "port/port.h"

enum {
    /* The cost limit of a piece of a round: visiting a slot costs 1, an action that may call the driver or a listener
     * costs ... */
    PIECE = 4096,
    ACT = 64,
};

typedef ceni_tour tour;

/* ---- When ----------------------------------------------------------------------------- */

static int64_t later(int64_t now, int64_t period)
{
    return period < CENI_FOREVER - now ? now + period : CENI_FOREVER;
}

static int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t latest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static bool closed_locked(const cen_pool *pool)
{
    return ceni_load_relaxed(&pool->waiters->ctl) & CENI_CTL_CLOSED; /* written under this lock; carries nothing */
}

void ceni_keeper_plan_locked(cen_pool *pool, ceni_followup *followup)
{
    if (!ceni_pool_runtime(pool)) return;
    int64_t due = sooner(sooner(pool->next_round, pool->next_overdue), ceni_gate_next(&pool->gate));
    due = sooner(due, pool->next_piece);
    due = sooner(sooner(due, ceni_pending_deadline_next_locked(pool)), ceni_opening_hope_ends_locked(pool));
    if (closed_locked(pool)) due = pool->closing_at;
    bool earlier = due < ceni_load_relaxed(&pool->alarm_at); /* written under this lock; carries nothing */
    if (!earlier && !pool->alarm_refused) return;
    if (due == CENI_FOREVER && closed_locked(pool)) return;
    pool->alarm_refused = false;
    if (earlier) ceni_store_release(&pool->alarm_at, due); /* [H2] */
    if (followup->alarm) return;                           /* it has a hand already */
    followup->alarm = true;
    pool->hands++;
}

void ceni_keeper_nudge(cen_pool *pool)
{
    if (!ceni_pool_runtime(pool)) return;
    ceni_followup followup = {.more = false};
    int64_t now = ceni_pool_now(pool);
    ceni_waiters_lock(pool->waiters);
    int64_t next = later(now, ceni_period_of(pool, &pool->options, false));
    if (next < pool->next_round) pool->next_round = next;
    ceni_keeper_plan_locked(pool, &followup);
    ceni_waiters_unlock(pool->waiters);
    if (followup.alarm) ceni_hand_alarm(pool);
}

void ceni_keeper_retry_locked(cen_pool *pool)
{
    int64_t next = ceni_gate_next(&pool->gate);
    /* without back-off the gate opens too soon for openings that no waiter needs */
    bool backs_off = pool->options.backoff_initial_ns != CEN_OFF;
    if (pool->options.min_idle > 0 && backs_off) pool->next_round = sooner(pool->next_round, next);
}

void ceni_keeper_retire(cen_pool *pool)
{
    if (!ceni_pool_runtime(pool)) return;
    ceni_waiters_lock(pool->waiters);
    ceni_store_release(&pool->alarm_at, CENI_FOREVER); /* [H2] */
    pool->hands++;
    ceni_waiters_unlock(pool->waiters);
    ceni_hand_alarm(pool);
}

/* ---- One slot --------------------------------------------------------------------------- */

/* An object that became idle since the round began was not counted. */
static void leave_idle(tour *t)
{
    if (t->idle > 0) t->idle--;
}

static bool close_idle(cen_pool *pool, tour *t, uint32_t index, uint64_t generation, const char *why)
{
    ceni_waiters_lock(pool->waiters);
    bool ours = ceni_idle_withdraw_locked(pool, index, generation);
    pool->tally.expired += ours;
    ceni_waiters_unlock(pool->waiters);
    if (!ours) return false;
    t->spent += ACT;
    leave_idle(t);
    ceni_place_end(pool, index, why);
    return true;
}

/* The end of an object that is not too old yet gets a round of its own. If rounds came only with their period, all
 * objects whose ends differ by less would be closed together. */
static bool is_too_old(tour *t, ceni_slot *slot, uint32_t index)
{
    int64_t ends = ceni_period_life_ends(&t->limits, slot, index);
    if (t->now >= ends) return true;
    if (!ceni_planted(lives_end_in_rounds)) t->next_end = sooner(t->next_end, ends);
    return false;
}

/* Whether the object is closed because of an earlier reap, which could not know then for how long it had been idle.
 * An object that
 * became idle after the reap does not count, also in a round that is late or takes long. `now` is not later than the
 * moment of `age`. */
static bool is_reaped(tour *t, int64_t now, int64_t age)
{
    bool reaped = false;
    for (int i = 0; i < CENI_REAPINGS; i++) {
        const ceni_reaping *r = &t->reaping[i];
        if (r->idle_ns == 0) continue;
        int64_t ends = later(now, r->idle_ns - age);
        if (ends > r->until && !ceni_planted(reap_closes_what_came_later)) continue;
        if (age >= r->idle_ns) reaped = true;
        else t->next_end = sooner(t->next_end, ends);
    }
    return reaped;
}

static const char *why_close_idle(tour *t, ceni_slot *slot, uint32_t index, int64_t now, int64_t age)
{
    const cen_pool_options *o = &t->limits;
    if (is_too_old(t, slot, index)) return "max lifetime or reload is due";
    if (is_reaped(t, now, age)) return CENI_WHY_REAPED;
    if (t->idle > ceni_settings_number(o->max_idle)) return "too many idle objects (max_idle)";
    if (o->idle_timeout_ns != CEN_OFF && age >= o->idle_timeout_ns && t->idle > o->min_idle)
        return "idle timeout (idle_timeout_ns)";
    return NULL;
}

/* Returns true if the object is being tested, or cannot be tested now because it is not idle. */
static bool test_idle(cen_pool *pool, tour *t, uint32_t index, uint64_t generation)
{
    if (t->testing >= t->limits.max_concurrent_tests && !ceni_planted(tests_all_at_once)) {
        t->tests_left = true;
        return false;
    }
    ceni_waiters_lock(pool->waiters);
    bool ours = ceni_idle_hold_locked(pool, index, generation, CENI_SLOT_TESTING);
    ceni_waiters_unlock(pool->waiters);
    if (!ours) return true;
    t->spent += ACT;
    t->testing++;
    leave_idle(t);
    t->soon++;
    ceni_chores_test(pool, index);
    return true;
}

static void tend_idle(cen_pool *pool, tour *t, uint32_t index, uint64_t word)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    uint64_t generation = ceni_word_generation(word);
    int64_t now = t->reaps ? ceni_pool_now(pool) : t->now; /* before the age is read */
    int64_t age = ceni_slot_age(pool, slot, word);
    const char *why = why_close_idle(t, slot, index, now, age);
    if (why && close_idle(pool, t, index, generation, why)) return;
    if (!ceni_pool_tests(pool)) return;
    int64_t interval = t->limits.test_interval_ns, trust = t->limits.test_after_idle_ns;
    int64_t tested = ceni_load_relaxed(&slot->tested_at); /* a moment; carries nothing */
    bool wanted = tested == 0 || (interval != CEN_OFF && t->now - tested >= interval && age >= interval / 4);
    if (wanted && test_idle(pool, t, index, generation)) return;
    if (trust != CEN_OFF && (t->shaken || age >= trust / 2)) ceni_slot_mark(slot, generation, CENI_SLOT_IDLE);
    else t->calm = false;
}

/* Count a leak, once for each lease. Returns true if it was counted now. */
static bool count_leak(cen_pool *pool, ceni_slot *slot, uint64_t word)
{
    uint64_t generation = ceni_word_generation(word);
    ceni_waiters_lock(pool->waiters);
    /* If a driver call has begun since, the notes were changed under this lock, after the lease ended. */
    bool leaks = ceni_word_bare(ceni_slot_word(slot)) == ceni_word_bare(word);
    leaks = leaks && (slot->notes.leaked_generation != generation || ceni_planted(leak_told_every_round));
    if (leaks) slot->notes = (ceni_slot_notes){.leaked_generation = generation & CENI_GENERATIONS};
    pool->tally.leaked += leaks;
    ceni_waiters_unlock(pool->waiters);
    return leaks;
}

static bool is_over(int64_t limit, int64_t age)
{
    return limit != CEN_OFF && age >= limit;
}

/* A revoked lease keeps its place. Its age is that of the lease. */
static void tend_revoked(cen_pool *pool, tour *t, uint32_t index, uint64_t word)
{
    const cen_pool_options *o = &t->limits;
    uint64_t generation = ceni_word_generation(word);
    int64_t age = ceni_slot_age(pool, ceni_slot_at(pool, index), ceni_word(generation, CENI_SLOT_HELD));
    bool leaks = o->on_leak == CEN_LEAK_RECLAIM && is_over(o->leak_after_ns, age);
    bool over = o->on_max_hold == CEN_HOLD_RECLAIM && is_over(o->max_hold_ns, age);
    if (!(leaks || over) || ceni_planted(revoked_never_reclaimed)) return;
    t->spent += ACT;
    ceni_slot_reclaim(pool, index, generation);
}

static void tend_held(cen_pool *pool, tour *t, uint32_t index, uint64_t word)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    uint64_t generation = ceni_word_generation(word);
    const cen_pool_options *o = &t->limits;
    int64_t age = ceni_slot_age(pool, slot, word);
    t->calm = false;
    if (is_too_old(t, slot, index)) ceni_slot_mark(slot, generation, CENI_SLOT_HELD);
    bool leaks = is_over(o->leak_after_ns, age), over = is_over(o->max_hold_ns, age);
    cen_object_view holding;
    if (!(leaks || over) || !ceni_slot_holding(pool, index, &holding) || holding.generation != generation) return;
    t->spent += ACT;
    leaks = leaks && count_leak(pool, slot, word);
    bool reclaims = leaks && o->on_leak == CEN_LEAK_RECLAIM;
    if (ceni_planted(detached_never_reclaimed)) reclaims = reclaims && !holding.is_detached;
    if (leaks) ceni_tell_held(pool, CEN_EVENT_LEAK, &holding, reclaims ? "; lease ended, place free" : "");
    if (reclaims) {
        ceni_slot_reclaim(pool, index, generation);
    } else if (over) {
        bool frees = o->on_max_hold == CEN_HOLD_RECLAIM;
        bool ended = frees ? ceni_slot_reclaim(pool, index, generation) : ceni_slot_revoke(pool, index, generation);
        const char *fate = frees ? "; lease revoked, place free" : "; lease revoked";
        if (ended) ceni_tell_held(pool, CEN_EVENT_REVOKED, &holding, fate);
    }
}

/* Whether the call that began at `began` is still the running call of that slot. */
static bool goes_on_locked(ceni_slot *slot, uint64_t word, _Atomic int64_t *at, int64_t began)
{
    return ceni_word_bare(ceni_slot_word(slot)) == ceni_word_bare(word) &&
           ceni_load_relaxed(at) == began; /* under this lock; carries nothing */
}

static void tend_opening(cen_pool *pool, uint32_t index, uint64_t word, int64_t began, int64_t limit)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    cen_ticket ticket;
    cen_error why;
    ceni_error_set(&why, CEN_TIMEOUT, 0, "pool \"%s\": an opening takes longer than %lld ms (open_timeout_ns)",
                   pool->name, (long long)(limit / 1000000));
    ceni_waiters_lock(pool->waiters);
    bool same = goes_on_locked(slot, word, &slot->opened_at, began);
    bool first = same && !slot->notes.is_between && !slot->notes.is_overdue;
    ceni_opening_events events = {.failures = 0};
    if (first) events = ceni_opening_overdue_locked(pool, index, &why);
    bool cancels = first && ceni_later_withdraw_locked(pool, index, &ticket);
    ceni_waiters_unlock(pool->waiters);
    if (!first) return;
    ceni_opening_tell(pool, index, CEN_TIMEOUT, events, &why);
    ceni_chores_prove(pool, false);
    ceni_waiters_tend(pool->waiters, pool->id, CENI_NO_INDEX);
    if (cancels) ceni_later_cancel(pool, ticket);
}

/* A slot that is already marked, by a reload, is cancelled as well: its test is pointless. */
static void tend_test(cen_pool *pool, uint32_t index, uint64_t word, int64_t began, int64_t limit)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    bool unmarked = !(word & CENI_MARKED) && !ceni_planted(late_test_forgiven);
    bool marked = unmarked && ceni_slot_mark(slot, ceni_word_generation(word), CENI_SLOT_TESTING);
    cen_ticket ticket;
    ceni_waiters_lock(pool->waiters);
    bool same = goes_on_locked(slot, word, &slot->tested_at, began);
    bool unwanted = same && ceni_chores_unwant_locked(pool, slot);
    bool cancels = same && ceni_later_withdraw_locked(pool, index, &ticket);
    _Atomic uint32_t *sleeper = same ? ceni_checkup_overdue_locked(slot) : NULL; /* its take tries another object */
    ceni_waiters_unlock(pool->waiters);
    ceni_checkup_wake(sleeper);
    if (same) ceni_chores_prove(pool, false);
    if (marked)
        ceni_pool_event_tell(pool,
                             (ceni_occurrence){.kind = CEN_EVENT_TEST_OVERDUE, .value = index, .status = CEN_TIMEOUT},
                             "health check of object %u takes longer than %lld ms (test_timeout_ns)", index,
                             (long long)(limit / 1000000));
    /* the waiter may need an opening instead */
    if (unwanted) ceni_waiters_tend(pool->waiters, pool->id, CENI_NO_INDEX);
    if (cancels) ceni_later_cancel(pool, ticket);
}

/* An overdue driver call is reported once. */
static void tend_call(cen_pool *pool, tour *t, uint32_t index, uint64_t word)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    bool opens = ceni_word_state(word) == CENI_SLOT_OPENING;
    int64_t limit = opens ? t->limits.open_timeout_ns : t->limits.test_timeout_ns;
    int64_t began = ceni_load_relaxed(opens ? &slot->opened_at : &slot->tested_at); /* a moment; carries nothing */
    t->calm = false;
    if (!pool->helped || limit == CEN_OFF || began == 0) return;
    int64_t moment = later(began, limit);
    if (t->now < moment) {
        if (moment < t->next_overdue) t->next_overdue = moment;
        return;
    }
    t->spent += ACT;
    if (opens) tend_opening(pool, index, word, began, limit);
    else tend_test(pool, index, word, began, limit);
}

/* ---- A round -------------------------------------------------------------------------------- */

static void begin(cen_pool *pool, tour *t)
{
    *t = (tour){.now = ceni_pool_now(pool), .calm = true, .next_overdue = CENI_FOREVER, .next_end = CENI_FOREVER};
    ceni_waiters_lock(pool->waiters);
    t->limits = pool->options;
    for (int i = 0; i < CENI_REAPINGS; i++) {
        t->reaping[i] = pool->reaping[i];
        t->reaps |= t->reaping[i].idle_ns > 0;
        if (pool->reaping[i].until <= t->now) pool->reaping[i].idle_ns = 0; /* this round is its last */
        else if (pool->reaping[i].idle_ns > 0) t->next_end = sooner(t->next_end, pool->reaping[i].until);
    }
    pool->tests_due = false;
    t->shaken = pool->shaken;
    pool->shaken = false;
    ceni_waiters_unlock(pool->waiters);
    t->part = CENI_TOUR_COUNTS;
    t->at = ceni_place_reach(pool);
}

static void count(tour *t, ceni_slot_state state)
{
    t->idle += state == CENI_SLOT_IDLE;
    t->soon += state == CENI_SLOT_TESTING || state == CENI_SLOT_RESETTING;
    t->testing += state == CENI_SLOT_TESTING;
}

static void tend(cen_pool *pool, tour *t, uint32_t index, uint64_t word)
{
    switch (ceni_word_state(word)) {
    case CENI_SLOT_IDLE: tend_idle(pool, t, index, word); break;
    case CENI_SLOT_HELD: tend_held(pool, t, index, word); break;
    case CENI_SLOT_REVOKED: tend_revoked(pool, t, index, word); break;
    case CENI_SLOT_OPENING:
    case CENI_SLOT_TESTING: tend_call(pool, t, index, word); break;
    default: break;
    }
}

/* All slots have been visited: plan the openings for min_idle and the next round. */
static void end(cen_pool *pool, tour *t)
{
    uint32_t there = t->idle + t->soon;
    uint32_t missing = t->limits.min_idle > there ? t->limits.min_idle - there : 0;
    ceni_followup followup = {.more = false};
    ceni_waiters *waiters = pool->waiters;
    ceni_waiters_lock(waiters);
    pool->top_up = pool->helped && missing > pool->opening_for_minimum ? missing - pool->opening_for_minimum : 0;
    if (pool->live >= ceni_load_relaxed(&pool->max) || ceni_planted(round_forgets_wish))
        pool->wished = false; /* otherwise an object would be opened later without need */
    pool->tests_due |= t->tests_left;
    /* the last test that ends requests a round */
    uint32_t tests = pool->busy[CENI_CHORE_TEST] + pool->waiting[CENI_CHORE_TEST];
    bool again = t->tests_left && tests == 0;
    /* Sooner, if that was requested while the round was running. */
    pool->next_overdue = sooner(pool->next_overdue, t->next_overdue);
    int64_t period = ceni_period_of(pool, &pool->options, t->calm);
    if (t->now < pool->rounds_until) period = sooner(period, pool->rounds_period);
    int64_t next =
        sooner(later(t->now, period), latest(t->next_end, later(t->now, ceni_period_apart_locked(pool, t->now))));
    pool->next_round = sooner(pool->next_round, again ? t->now : next);
    if (missing > 0 && !pool->helped) ceni_keeper_retry_locked(pool); /* the gate may be shut */
    ceni_chores_plan_locked(pool, &followup);
    ceni_keeper_plan_locked(pool, &followup);
    ceni_waiters_unlock(waiters);
    ceni_waiters_follow_up(waiters, pool->id, pool, &followup);
    ceni_times_tend(pool);
    t->part = pool->helped || missing == 0 ? CENI_TOUR_OVER : CENI_TOUR_OPENS;
    t->at = missing;
}

/* Visit the slots below `at`, from the top, where surplus objects are. Slots beyond are left to the next round. */
static void pass_slots(cen_pool *pool, tour *t)
{
    uint32_t places = ceni_place_reach(pool); /* may be smaller now */
    if (t->at > places) t->at = places;
    for (; t->at > 0 && t->spent < PIECE; t->spent++) {
        uint32_t index = --t->at;
        uint64_t word = ceni_word_at(pool, index);
        if (t->part == CENI_TOUR_COUNTS) count(t, ceni_word_state(word));
        else tend(pool, t, index, word);
    }
    if (t->at > 0) return;
    bool counted = t->part == CENI_TOUR_COUNTS;
    t->part = CENI_TOUR_TENDS;
    t->at = places;
    if (!counted) end(pool, t);
}

/* If the driver does not block, the keeper itself opens the missing objects. */
static void open_missing(cen_pool *pool, tour *t)
{
    uint32_t index;
    for (; t->at > 0 && t->spent < PIECE && ceni_place_claim(pool, &index); t->at--, t->spent += ACT) {
        cen_error error;
        uint64_t generation = ceni_slot_generation(pool, index);
        if (ceni_place_open(pool, index, &error) != CEN_OK) {
            ceni_waiters_lock(pool->waiters);
            ceni_keeper_retry_locked(pool);
            ceni_place_vacate_locked(pool, index, CENI_SLOT_OPENING);
            break;
        }
        ceni_place_publish_opened(pool, index, generation);
    }
    if (t->at == 0 || t->spent < PIECE) t->part = CENI_TOUR_OVER;
}

static bool is_closed(cen_pool *pool)
{
    ceni_waiters_lock(pool->waiters);
    bool closed = closed_locked(pool);
    ceni_waiters_unlock(pool->waiters);
    return closed;
}

/* Begin a round, or go on with it. Returns true if it is over. */
static bool do_piece(cen_pool *pool, tour *t)
{
    if (is_closed(pool)) t->part = CENI_TOUR_OVER;
    else if (t->part == CENI_TOUR_OVER) begin(pool, t);
    t->spent = 0;
    while (t->part != CENI_TOUR_OVER && t->spent < PIECE) {
        if (t->part == CENI_TOUR_OPENS) open_missing(pool, t);
        else pass_slots(pool, t);
    }
    return t->part == CENI_TOUR_OVER;
}

void ceni_keeper_round(cen_pool *pool)
{
    tour t = {.part = CENI_TOUR_OVER};
    while (!do_piece(pool, &t)) continue;
}

/* Set the alarm for the rest of the round; other due alarms are called first. */
static void go_on_later(cen_pool *pool)
{
    ceni_followup followup = {.more = false};
    int64_t now = ceni_pool_now(pool);
    ceni_waiters_lock(pool->waiters);
    pool->pieces++;
    pool->next_piece = now;
    ceni_keeper_plan_locked(pool, &followup);
    ceni_waiters_unlock(pool->waiters);
    ceni_waiters_follow_up(pool->waiters, pool->id, pool, &followup);
}

/* ---- The alarm -------------------------------------------------------------------------------- */

/* The alarm has a hand, so the pool exists until it is dropped. */
static void ring(ceni_alarm *alarm)
{
    cen_pool *pool = (cen_pool *)(void *)((char *)alarm - offsetof(cen_pool, alarm));
    ceni_waiters *waiters = pool->waiters;
    int64_t now = ceni_pool_now(pool);
    ceni_followup followup = {.more = false};
    ceni_waiters_lock(waiters);
    ceni_store_release(&pool->alarm_at, CENI_FOREVER); /* [H2] */
    bool opened = ceni_opening_pass_time_locked(pool, now),
         probes = opened && pool->gate.breaker == CEN_BREAKER_HALF_OPEN;
    bool hopeless = ceni_opening_hope_ends_locked(pool) <= now;
    ceni_pending_deadline_pass_locked(pool, now, &followup);
    if (opened || hopeless || followup.pending) ceni_waiters_pump_locked(pool, CENI_NO_INDEX, &followup);
    /* a round that was requested since this one began comes after it */
    bool goes_on = pool->next_piece <= now;
    bool round = goes_on || now >= pool->next_round || now >= pool->next_overdue;
    if (goes_on) pool->next_piece = CENI_FOREVER;
    else if (round) pool->next_round = pool->next_overdue = CENI_FOREVER; /* it plans the next itself */
    ceni_keeper_plan_locked(pool, &followup);
    ceni_waiters_unlock(waiters);
    if (probes)
        ceni_pool_event_tell(pool, (ceni_occurrence){.kind = CEN_EVENT_BREAKER_HALF_OPEN},
                             "circuit breaker half-open: trying to open an object");
    ceni_waiters_follow_up(waiters, pool->id, pool, &followup);
    if (round && !do_piece(pool, &pool->tour)) go_on_later(pool);
    ceni_closing_pass(pool, now);
    ceni_pool_events_resume(pool);
    ceni_waiters_lock(waiters);
    ceni_hand_end_ring_locked(pool);
}

void ceni_keeper_init(cen_pool *pool)
{
    ceni_alarm_init(&pool->alarm, ring);
    pool->alarm_at = CENI_FOREVER;
    pool->next_overdue = CENI_FOREVER;
    pool->next_round = CENI_FOREVER;
    pool->next_piece = CENI_FOREVER;
    pool->tour.part = CENI_TOUR_OVER;
    pool->closing_at = CENI_FOREVER;
    if (!ceni_pool_runtime(pool)) return;
    int64_t now = ceni_pool_now(pool);
    pool->next_round = pool->options.min_idle > 0 ? now : later(now, ceni_period_of(pool, &pool->options, true));
}

bool ceni_keeper_is_needed(const cen_pool *pool, const cen_pool_options *options)
{
    return pool->helped || options->backoff_initial_ns != CEN_OFF ||
           ceni_period_of(pool, options, false) != CENI_FOREVER;
}
