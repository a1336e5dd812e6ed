/* SPDX-License-Identifier: MIT */
/*
 * The outcome of openings: the fields of a new object, the reports to the gate and to listeners, and whether a take
 * should wait for another opening.
 *
 * Each opening reports to the gate once: when it ends, or before that, when it takes too long. The notes of its slot,
 * under the lock, show whether it has reported. If an asynchronous driver has opened an object too late, so that the
 * object is closed, nothing more is reported to the gate. If a blocking driver has opened an object too late, the
 * object is used, and the opening counts as a success.
 *
 * While the breaker is open and no object is left that could come back, a waiter keeps waiting until the breaker has
 * been open for breaker_wait_ns. If no opening can be tried before its deadline, it fails at once. The pump fails
 * such a waiter with the error of the last opening; when the time passes, the keeper does. All other waiters are in
 * the queue when a try succeeds, and are served by it. After breaker_wait_ns the breaker fails fast: a take fails at
 * once, unless it comes when a try may begin, which then begins for it, or while one is running. If tries are refused
 * quickly, a running try ends soon; so all takes wait for it, for at most breaker_wait_ns. Two simpler rules are
 * worse. Refusing every take from the first moment also fails those that the next try would have served. Letting them
 * wait until their deadlines keeps every thread of a program in the queue for the whole outage.
 *
 * Without back-off there is no breaker and no such wait. A waiter fails with the first opening that fails while it
 * waits, just as a take of a driver that does not block fails with its own opening. The waiter's `failed_before`
 * shows which failures came before it.
 *
 * Order table
 * [K4] done | store of met | release | V4 in holding.c | that no reader has marked this object yet | a new object has the age of the previous one in its slot
 */
#include "base/plant.h"
#include "pool/internal.h"
#include "port/port.h"

void ceni_opening_done(cen_pool *pool, ceni_slot *slot, int64_t now)
{
    uint64_t generation = ceni_word_generation(ceni_load_relaxed(&slot->word)); /* the caller's; carries nothing */
    ceni_store_relaxed(&slot->first_generation, generation);                    /* for its holders; carries nothing */
    ceni_store_release(&slot->met, 0); /* [K4] the previous object may have been idle in the same generation */
    ceni_store_relaxed(&slot->expires_at, CENI_FOREVER); /* likewise; carries nothing */
    ceni_store_relaxed(&slot->opened_at, now);           /* likewise; carries nothing */
    ceni_store_relaxed(&slot->tested_at, now);           /* likewise; carries nothing */
    ceni_keeper_nudge(pool);
}

/* Whether the gate was already told of this opening, by the notes of its slot. */
static bool was_overdue_locked(cen_pool *pool, uint32_t index)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    bool overdue = slot->notes.is_overdue;
    slot->notes = (ceni_slot_notes){.is_between = true}; /* a round may visit the slot before its next state */
    pool->overdue -= overdue;
    return overdue;
}

/* Whether there are objects that can be lent, now or later. */
static bool serves_locked(const cen_pool *pool)
{
    return pool->live - pool->opening - pool->leaving > 0;
}

static bool fail_locked(cen_pool *pool, int64_t began, const cen_error *why)
{
    return ceni_gate_fail(&pool->gate, &pool->options, began, ceni_pool_now(pool), serves_locked(pool), ceni_random(),
                          why);
}

/* The number of running openings that are not overdue, without the one that has ended and is still counted. */
static uint32_t others_locked(const cen_pool *pool, bool ended_counts)
{
    uint32_t counted = pool->opening - pool->overdue;
    return counted - (ended_counts && counted > 0);
}

bool ceni_opening_pass_time_locked(cen_pool *pool, int64_t now)
{
    if (!ceni_gate_pass_time(&pool->gate, now, others_locked(pool, false))) return false;
    ceni_places_counted_locked(pool);
    return true;
}

void ceni_opening_begins_locked(cen_pool *pool)
{
    if (pool->gate.failures == 0) return;
    ceni_gate_begin(&pool->gate, &pool->options, ceni_pool_now(pool), others_locked(pool, true), serves_locked(pool));
}

ceni_opening_events ceni_opening_ended_locked(cen_pool *pool, uint32_t index, int64_t began,
                                              const ceni_call_outcome *how, const cen_error *why)
{
    bool told = was_overdue_locked(pool, index);
    ceni_opening_events events = {.failures = 0};
    if (how->status == CEN_OK) {
        pool->tally.opened++;
        int64_t now = pool->gate.failures > 0 ? ceni_pool_now(pool) : 0; /* read only in an outage */
        events.breaker_closed = !how->unwanted && ceni_gate_succeed(&pool->gate, now, others_locked(pool, true));
    } else {
        pool->tally.open_failed++;
        events.breaker_opened = (!told || ceni_planted(late_failure_counted_twice)) && fail_locked(pool, began, why);
    }
    events.failures = pool->gate.failures;
    ceni_places_counted_locked(pool);
    return events;
}

ceni_opening_events ceni_opening_overdue_locked(cen_pool *pool, uint32_t index, const cen_error *why)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    slot->notes.is_overdue = true;
    pool->overdue++;
    ceni_opening_events events = {.overdue = true};
    events.breaker_opened = !ceni_planted(overdue_not_told) && fail_locked(pool, ceni_setting(&slot->opened_at), why);
    events.failures = pool->gate.failures;
    ceni_places_counted_locked(pool);
    return events;
}

void ceni_opening_tell(cen_pool *pool, uint32_t index, cen_status status, ceni_opening_events events,
                       const cen_error *why)
{
    if (status == CEN_OK)
        ceni_pool_event_tell(pool, (ceni_occurrence){.kind = CEN_EVENT_OPENED, .value = index}, "object %u opened",
                             index);
    else
        ceni_pool_event_tell(pool,
                             (ceni_occurrence){.kind = events.overdue ? CEN_EVENT_OPEN_OVERDUE : CEN_EVENT_OPEN_FAILED,
                                               .value = index,
                                               .status = status,
                                               .code = why->code},
                             "%s", why->text);
    if (events.breaker_closed)
        ceni_pool_event_tell(pool, (ceni_occurrence){.kind = CEN_EVENT_BREAKER_CLOSED},
                             "circuit breaker closed: opening works again");
    if (events.breaker_opened)
        ceni_pool_event_tell(pool,
                             (ceni_occurrence){.kind = CEN_EVENT_BREAKER_OPENED, .status = status, .code = why->code},
                             "circuit breaker open: opening failed %u times in a row", events.failures);
}

/* ---- Takes that need not wait for an opening ---------------------------------------------------- */

/* Whether an opening may begin now for the next take. Openings that hang do not prevent a try, until
 * max_concurrent_opens of them hang. */
static bool may_try_locked(const cen_pool *pool)
{
    uint32_t counted = pool->opening - pool->overdue;
    /* written under this lock; carries nothing */
    uint32_t max = ceni_load_relaxed(&((cen_pool *)(uintptr_t)pool)->max);
    if (pool->gate.breaker != CEN_BREAKER_HALF_OPEN || counted >= pool->gate.admits || pool->live >= max) return false;
    return !pool->helped || pool->opening < pool->options.max_concurrent_opens;
}

/* Whether a take can be served only by an opening, while openings fail. */
static bool comes_only_by_opening_locked(const cen_pool *pool)
{
    return pool->gate.breaker != CEN_BREAKER_CLOSED && !may_try_locked(pool) && !serves_locked(pool);
}

/* Whether a try is running and the last one failed quickly: the result is known soon; if it takes longer, the try
 * most likely succeeds. */
static bool knows_soon_locked(const cen_pool *pool)
{
    bool tries = pool->gate.breaker == CEN_BREAKER_HALF_OPEN && pool->opening > pool->overdue;
    return tries && pool->gate.took < pool->options.breaker_wait_ns && !ceni_planted(hope_ends_in_a_try);
}

/* Until when a waiter with a later deadline keeps waiting although the breaker is open. */
static int64_t hope_ends_locked(const cen_pool *pool)
{
    int64_t wait = pool->options.breaker_wait_ns == CEN_OFF ? 0 : pool->options.breaker_wait_ns;
    int64_t from = knows_soon_locked(pool) ? pool->gate.tried_at : pool->gate.broke_at;
    return wait < CENI_FOREVER - from ? from + wait : CENI_FOREVER;
}

/* Whether a waiter fails with the first opening that fails. */
static bool fails_with_the_first(const cen_pool *pool)
{
    return pool->helped && pool->options.backoff_initial_ns == CEN_OFF && !ceni_planted(backoff_off_is_a_loop);
}

bool ceni_opening_is_vain_locked(const cen_pool *pool, int64_t deadline)
{
    int64_t wait = pool->options.breaker_wait_ns;
    if (!comes_only_by_opening_locked(pool) || wait == CEN_WHOLE_DEADLINE || ceni_planted(failed_open_wakes_nobody))
        return false;
    int64_t now = ceni_pool_now(pool);
    bool shut = pool->gate.breaker == CEN_BREAKER_OPEN; /* then no opening is tried before the gate opens */
    if (deadline <= (shut ? pool->gate.until : now)) return true;
    if (wait != CEN_OFF && ceni_planted(hope_has_no_end)) return false;
    return hope_ends_locked(pool) <= now || ceni_planted(hopeful_told_too_early);
}

ceni_pool_waiter *ceni_opening_vain_waiter_locked(const cen_pool *pool)
{
    bool first_counts = fails_with_the_first(pool);
    if (pool->gate.breaker == CEN_BREAKER_CLOSED && !first_counts) return NULL;
    for (unsigned class = 0; class < CENI_CLASSES; class ++) {
        ceni_pool_waiter *oldest = ceni_turn_oldest_of_locked(pool->waiters, class);
        if (!oldest) continue;
        if (first_counts && oldest->failed_before != pool->gate.failed) return oldest;
        if (ceni_opening_is_vain_locked(pool, oldest->moment)) return oldest;
    }
    return NULL;
}

int64_t ceni_opening_hope_ends_locked(const cen_pool *pool)
{
    bool hopes = pool->gate.breaker != CEN_BREAKER_CLOSED && pool->options.breaker_wait_ns != CEN_OFF;
    if (!hopes || pool->paused || !ceni_waiters_first_locked(pool->waiters)) return CENI_FOREVER;
    if (ceni_planted(hope_has_no_end) || ceni_planted(failed_open_wakes_nobody)) return CENI_FOREVER;
    return comes_only_by_opening_locked(pool) ? hope_ends_locked(pool) : CENI_FOREVER;
}
