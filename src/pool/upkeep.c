/* SPDX-License-Identifier: MIT */
/*
 * Operations of the program on the objects of a pool: reload, reap, pause, resume, a round of tests.
 *
 * Reload. An idle object is closed at once. An object that is lent, being opened, reset or tested is marked: the
 * quick path of its give does not match the marked word, and the slow path closes it. A give that comes before the
 * mark makes the slot idle, where the next check finds it: each slot is checked until it is closed or marked (L12).
 *
 * Reap. No take and no give reads a clock. For how long an object has been idle is known if its last lease was timed,
 * or if it was never lent. Otherwise the time counts from the first reader that saw it idle. Such an object may have
 * been idle for long enough. Closing it at once might close an object that was given a moment ago; leaving it would
 * mean that the first reap of a pool closes nothing. So the pool notes until when the reap lasts (`reaping`), and the
 * keeper closes the object when it is known to have been idle for long enough, unless it is lent before.
 */
#include "base/error.h"
#include "base/plant.h"
#include "pool/internal.h"
#include "port/port.h"
#include "sync/future.h"

static cen_status check(cen_pool *pool, const char *call, const char *what, cen_error *error)
{
    cen_status status = ceni_pool_check(pool, call, error);
    if (status != CEN_OK) return status;
    if (cen_pool_is_closed(pool)) return ceni_pool_refuse_closed(pool->name, error);
    return ceni_callout_inside(pool) ? ceni_pool_misuse(pool, what, error) : CEN_OK;
}

/* ---- Reload and reap ------------------------------------------------------------------- */

static bool close_idle(cen_pool *pool, uint32_t index, uint64_t generation, const char *why)
{
    ceni_waiters_lock(pool->waiters);
    bool ours = ceni_idle_withdraw_locked(pool, index, generation);
    ceni_waiters_unlock(pool->waiters);
    if (ours) ceni_place_end(pool, index, why);
    return ours;
}

/* Returns true if the slot is done. */
static bool reload_slot(cen_pool *pool, uint32_t index, uint64_t word)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    uint64_t generation = ceni_word_generation(word);
    ceni_slot_state state = ceni_word_state(word);
    switch (state) {
    case CENI_SLOT_IDLE: return close_idle(pool, index, generation, "pool reloaded");
    case CENI_SLOT_HELD: return ceni_planted(reload_misses_held) || ceni_slot_mark(slot, generation, CENI_SLOT_HELD);
    case CENI_SLOT_OPENING:
        if (ceni_planted(reload_misses_opening)) return true;
        return ceni_slot_mark(slot, generation, state);
    case CENI_SLOT_RESETTING:
    case CENI_SLOT_TESTING: return ceni_slot_mark(slot, generation, state);
    default: return true; /* empty, or on its way out */
    }
}

/* Give each object a moment of its own; the keeper's rounds do the rest. An object that is being opened is marked,
 * and closed after it is opened, because a moment that is written now would be overwritten. */
static void reload_later(cen_pool *pool, uint32_t index, int64_t now, int64_t spread_ns)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    uint64_t word = ceni_slot_word(slot);
    if (ceni_word_state(word) == CENI_SLOT_OPENING &&
        ceni_slot_mark(slot, ceni_word_generation(word), CENI_SLOT_OPENING))
        return;
    int64_t moment = now + (int64_t)(ceni_random() % (uint64_t)spread_ns);
    int64_t expires = ceni_load_relaxed(&slot->expires_at);              /* a moment; carries nothing */
    if (moment < expires) ceni_store_relaxed(&slot->expires_at, moment); /* likewise; carries nothing */
}

/* Plan rounds in which the objects are found in time, even if no limit needs rounds. */
static cen_status plan_rounds(cen_pool *pool, int64_t until, int64_t period, cen_error *error)
{
    ceni_followup followup = {.more = false};
    cen_status status = ceni_pool_need_runtime(pool);
    if (status != CEN_OK) return ceni_error_set(error, status, 0, "pool \"%s\": cannot use the runtime", pool->name);
    int64_t now = ceni_pool_now(pool);
    ceni_waiters_lock(pool->waiters);
    bool others = now < pool->rounds_until; /* an earlier reload is still spread: its rounds go on */
    if (until > 0 && (!others || period < pool->rounds_period)) pool->rounds_period = period;
    if (until > pool->rounds_until) pool->rounds_until = until;
    pool->next_round = now;
    ceni_keeper_plan_locked(pool, &followup);
    ceni_waiters_unlock(pool->waiters);
    ceni_waiters_follow_up(pool->waiters, pool->id, pool, &followup);
    return CEN_OK;
}

cen_status cen_pool_reload(cen_pool *pool, int64_t spread_ns, cen_error *error)
{
    CENI_INLINE_AT_END;
    cen_status status = check(pool, "cen_pool_reload", "a reload", error);
    if (status != CEN_OK) return status;
    if (spread_ns < 0 || spread_ns > CENI_FOREVER / 4)
        return ceni_error_set(error, CEN_INVALID, 0,
                              "pool \"%s\": cen_pool_reload: spread_ns is out of range (got %lld)", pool->name,
                              (long long)spread_ns);
    int64_t now = ceni_pool_now(pool);
    if (spread_ns > 0) status = plan_rounds(pool, now + 2 * spread_ns, spread_ns / 8 + 1, error);
    if (status != CEN_OK) return status;
    uint32_t places = ceni_place_reach(pool);
    for (uint32_t index = 0; index < places; index++) {
        if (spread_ns > 0) reload_later(pool, index, now, spread_ns);
        else
            while (!reload_slot(pool, index, ceni_word_at(pool, index))) continue;
    }
    ceni_pool_event_tell(pool, (ceni_occurrence){.kind = CEN_EVENT_RELOADED}, "reloaded");
    return CEN_OK;
}

/* Whether an idle object may have been idle for idle_ns, although that is not known. */
static bool is_doubtful(cen_pool *pool, uint32_t index, uint64_t word, int64_t idle_ns)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    bool exact;
    int64_t age = ceni_slot_age_known(pool, slot, word, &exact);
    int64_t there = ceni_pool_now(pool) - ceni_load_relaxed(&slot->opened_at); /* a moment; carries nothing */
    return !exact && age < idle_ns && there >= idle_ns;
}

static bool any_doubtful(cen_pool *pool, int64_t idle_ns)
{
    bool any = false;
    for (uint32_t index = ceni_place_reach(pool); index-- > 0;) { /* marks all, so that all have an age from now on */
        uint64_t word = ceni_word_at(pool, index);
        any |= ceni_word_state(word) == CENI_SLOT_IDLE && is_doubtful(pool, index, word, idle_ns);
    }
    return any;
}

/* The entry of a reap with the same time, or a free entry, or otherwise the one with the longest time, which the new
 * reap joins. */
static ceni_reaping *reaping_for_locked(cen_pool *pool, int64_t idle_ns)
{
    ceni_reaping *best = &pool->reaping[0];
    for (int i = 0; i < CENI_REAPINGS; i++) {
        ceni_reaping *r = &pool->reaping[i];
        if (r->idle_ns == idle_ns) return r;
        if (best->idle_ns != 0 && (r->idle_ns == 0 || r->idle_ns > best->idle_ns)) best = r;
    }
    return best;
}

/* Have the objects that are idle now closed when they have been idle for idle_ns, unless they are lent before. */
static cen_status reap_later(cen_pool *pool, int64_t idle_ns, cen_error *error)
{
    ceni_followup followup = {.more = false};
    cen_status status = ceni_pool_need_runtime(pool);
    if (status != CEN_OK)
        return ceni_error_set(error, status, 0, "pool \"%s\": cannot use the runtime for a later reap: %s", pool->name,
                              cen_status_text(status));
    int64_t now = ceni_pool_now(pool);
    ceni_waiters_lock(pool->waiters);
    ceni_reaping *r = reaping_for_locked(pool, idle_ns);
    if (r->idle_ns < idle_ns) r->idle_ns = idle_ns;
    r->until = r->idle_ns < CENI_FOREVER - now ? now + r->idle_ns : CENI_FOREVER;
    if (r->until < pool->next_round) pool->next_round = r->until;
    ceni_keeper_plan_locked(pool, &followup);
    ceni_waiters_unlock(pool->waiters);
    ceni_waiters_follow_up(pool->waiters, pool->id, pool, &followup);
    return CEN_OK;
}

cen_status cen_pool_reap(cen_pool *pool, int64_t idle_ns, uint32_t *out, cen_error *error)
{
    CENI_INLINE_AT_END;
    cen_status status = check(pool, "cen_pool_reap", "a reap", error);
    if (status != CEN_OK) return status;
    if (idle_ns < 0)
        return ceni_error_set(error, CEN_INVALID, 0,
                              "pool \"%s\": cen_pool_reap: idle_ns must not be negative (got %lld)", pool->name,
                              (long long)idle_ns);
    bool later = idle_ns > 0 && any_doubtful(pool, idle_ns) && !ceni_planted(reap_forgets_the_doubtful);
    if (later) status = reap_later(pool, idle_ns, error);
    if (status != CEN_OK) return status;
    uint32_t closed = 0;
    for (uint32_t index = ceni_place_reach(pool); index-- > 0;) {
        uint64_t word = ceni_word_at(pool, index);
        if (ceni_word_state(word) != CENI_SLOT_IDLE || ceni_slot_age(pool, ceni_slot_at(pool, index), word) < idle_ns)
            continue;
        closed += close_idle(pool, index, ceni_word_generation(word), CENI_WHY_REAPED);
    }
    if (out) *out = closed;
    return CEN_OK;
}

/* ---- Pause and resume --------------------------------------------------------------------- */

static cen_status set_paused(cen_pool *pool, bool paused)
{
    ceni_followup followup = {.more = false};
    ceni_waiters *waiters = pool->waiters;
    ceni_waiters_lock(waiters);
    bool changes = pool->paused != paused;
    pool->paused = paused;
    if (changes && !paused) ceni_pace_begin_locked(pool, ceni_clock_now()); /* the pause does not count for the pace */
    bool lends = !paused || ceni_planted(pause_still_lends);
    ceni_setting_put(&pool->by_line, !lends || ceni_pool_has(&pool->strict));
    bool waited_for = ceni_load_relaxed(&waiters->ctl) >= CENI_CTL_ONE; /* written under this lock; carries nothing */
    bool first = !lends || (ceni_pool_has(&pool->strict) && waited_for);
    ceni_waiters_mark_locked(waiters, CENI_CTL_FIRST, first ? CENI_CTL_FIRST : 0);
    ceni_places_counted_locked(pool);
    if (!ceni_planted(resume_tells_nobody)) ceni_waiters_pump_locked(pool, CENI_NO_INDEX, &followup);
    ceni_waiters_unlock(waiters);
    ceni_waiters_follow_up(waiters, pool->id, pool, &followup);
    if (changes)
        ceni_pool_event_tell(pool, (ceni_occurrence){.kind = paused ? CEN_EVENT_PAUSED : CEN_EVENT_RESUMED}, "%s",
                             paused ? "paused" : "resumed");
    return CEN_OK;
}

cen_status cen_pool_pause(cen_pool *pool, cen_error *error)
{
    cen_status status = check(pool, "cen_pool_pause", "a pause", error);
    return status == CEN_OK ? set_paused(pool, true) : status;
}

cen_status cen_pool_resume(cen_pool *pool, cen_error *error)
{
    CENI_INLINE_AT_END;
    cen_status status = check(pool, "cen_pool_resume", "a resume", error);
    return status == CEN_OK ? set_paused(pool, false) : status;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

/* Under the lock: in a slot that is TESTING, tested_at is when the test began, and the timeout counts from it. */
static void forget_test(cen_pool *pool, uint32_t index)
{
    ceni_waiters_lock(pool->waiters);
    if (ceni_word_state(ceni_word_at(pool, index)) == CENI_SLOT_IDLE)
        ceni_store_relaxed(&ceni_slot_at(pool, index)->tested_at, 0); /* never; a moment; carries nothing */
    ceni_waiters_unlock(pool->waiters);
}

cen_status cen_pool_test_idle(cen_pool *pool, cen_error *error)
{
    cen_status status = check(pool, "cen_pool_test_idle", "a round of health checks", error);
    if (status != CEN_OK) return status;
    uint32_t places = ceni_place_reach(pool);
    for (uint32_t index = 0; index < places; index++)
        if (ceni_word_state(ceni_word_at(pool, index)) == CENI_SLOT_IDLE) forget_test(pool, index);
    return plan_rounds(pool, 0, 0, error);
}
