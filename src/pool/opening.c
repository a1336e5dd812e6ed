/* SPDX-License-Identifier: MIT */
/*
 * An opening's outcome: what is noted about a new object, what the gate and
 * those who listen are told, and whether anybody need wait for another.
 *
 * Each opening feeds the gate once: when it ends, or before, when it takes too
 * long. `told` of its slot, under the lock, remembers which. One that came too
 * late for a driver that is done later, so that its object is closed, tells the
 * gate nothing more; what a blocking driver opened too late is used, and is a
 * success like any other.
 *
 * While the breaker is open, and nothing is left that could come back, one who
 * waits has hope: until breaker_wait_ns after it came, or its deadline. If no
 * opening can be tried before that, it is told at once what the last one said,
 * by whoever pumps; if its time passes, by the keeper. All who have hope are in
 * line when a try succeeds, and are served by it. Tries that are refused quickly
 * end soon; so one under way that does not is awaited for as long again.
 * To refuse at once whoever comes fails those, too, whom the next try would have
 * served; to let them wait until their deadlines keeps every thread of a program
 * in a line that nothing moves.
 *
 * Order table
 * [K4] done | store of met | release | V4 in look.c | that nobody has met this object yet | a new object has the age of the one before it in its slot
 */
#include "base/plant.h"
#include "pool/inside.h"
#include "port/port.h"

void ceni_opening_done(cen_pool *pool, ceni_slot *slot, int64_t now)
{
    uint64_t generation = ceni_word_generation(ceni_load_relaxed(&slot->word)); /* the caller's own; carries nothing */
    ceni_store_relaxed(&slot->first_generation, generation);                     /* for its holders; carries nothing */
    ceni_store_release(&slot->met, 0); /* [K4] the object before may have been idle in the same generation */
    ceni_store_relaxed(&slot->expires_at, CENI_FOREVER);                           /* likewise; carries nothing */
    ceni_store_relaxed(&slot->opened_at, now);                              /* the caller's own; carries nothing */
    ceni_store_relaxed(&slot->tested_at, now);                              /* likewise; carries nothing */
    ceni_keeper_nudge(pool);
}

/* In `told` of a slot that is opening it is noted that the gate was told already. */
static bool was_overdue_locked(cen_pool *pool, uint32_t index)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    bool overdue = slot->told == CENI_TOLD_OVERDUE;
    slot->told = CENI_TOLD_NOTHING; /* a round may come before the slot is in its next state */
    pool->overdue -= overdue;
    return overdue;
}

/* There are objects that serve, or will again. */
static bool serves_locked(const cen_pool *pool)
{
    return pool->live - pool->opening - pool->leaving > 0;
}

static bool fail_locked(cen_pool *pool, int64_t began, const cen_error *why)
{
    return ceni_gate_fail(&pool->gate, &pool->options, began, ceni_pool_now(pool), serves_locked(pool), ceni_random(), why);
}

/* That are opening, not for too long; not the one that has ended, which still counts. */
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

ceni_opening_news ceni_opening_ended_locked(cen_pool *pool, uint32_t index, int64_t began, const ceni_outcome *how,
                                            const cen_error *why)
{
    bool told = was_overdue_locked(pool, index);
    ceni_opening_news news = {.failures = 0};
    if (how->status == CEN_OK) {
        pool->tally.opened++;
        int64_t now = pool->gate.failures > 0 ? ceni_pool_now(pool) : 0; /* read only in an outage */
        news.breaker_closed = !how->unwanted && ceni_gate_succeed(&pool->gate, now, others_locked(pool, true));
    } else {
        pool->tally.open_failed++;
        news.breaker_opened = (!told || ceni_planted(late_failure_counted_twice)) && fail_locked(pool, began, why);
    }
    news.failures = pool->gate.failures;
    ceni_places_counted_locked(pool);
    return news;
}

ceni_opening_news ceni_opening_overdue_locked(cen_pool *pool, uint32_t index, const cen_error *why)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    if (slot->told & CENI_TOLD_TICKET) slot->told |= CENI_TOLD_LATE; /* it is none of the whole values: see who calls */
    else slot->told = CENI_TOLD_OVERDUE;
    pool->overdue++;
    ceni_opening_news news = {.overdue = true};
    news.breaker_opened = !ceni_planted(overdue_not_told) && fail_locked(pool, ceni_setting(&slot->opened_at), why);
    news.failures = pool->gate.failures;
    ceni_places_counted_locked(pool);
    return news;
}

void ceni_opening_tell(cen_pool *pool, uint32_t index, cen_status status, ceni_opening_news news, const cen_error *why)
{
    if (status == CEN_OK)
        ceni_event_tell(pool, (cen_event){.kind = CEN_EVENT_OPENED, .index = index}, "object %u was opened", index);
    else
        ceni_event_tell(pool,
                        (cen_event){.kind = news.overdue ? CEN_EVENT_OPEN_OVERDUE : CEN_EVENT_OPEN_FAILED,
                                    .index = index, .status = status, .code = why->code},
                        "%s", why->text);
    if (news.breaker_closed)
        ceni_event_tell(pool, (cen_event){.kind = CEN_EVENT_BREAKER_CLOSED, .index = CEN_NO_SLOT}, "objects can be opened again");
    if (news.breaker_opened)
        ceni_event_tell(pool,
                        (cen_event){.kind = CEN_EVENT_BREAKER_OPENED, .index = CEN_NO_SLOT, .status = status, .code = why->code},
                        "opening failed %u times in a row; the breaker is open", news.failures);
}

/* ---- Who need not wait for one --------------------------------------------------------------- */

/* Nothing will come but what is opened, and that fails. The first who comes when one may be tried lets it be tried. */
static bool comes_only_by_opening_locked(const cen_pool *pool)
{
    bool tries = pool->gate.breaker == CEN_BREAKER_PROBING && pool->opening == 0;
    return pool->gate.breaker != CEN_BREAKER_CLOSED && !tries && !serves_locked(pool);
}

/* A try is under way where tries are refused quickly: it will be known soon, and if it is not, it most likely succeeds. */
static bool knows_soon_locked(const cen_pool *pool)
{
    bool tries = pool->gate.breaker == CEN_BREAKER_PROBING && pool->opening > pool->overdue;
    return tries && pool->gate.took < pool->options.breaker_wait_ns && !ceni_planted(hope_ends_in_a_try);
}

/* Until when one who came then, with that deadline, is kept waiting although the breaker is open; for as long again, if the
 * answer is near. */
static int64_t hopes_until(const cen_pool *pool, int64_t came, int64_t deadline)
{
    int64_t wait = pool->options.breaker_wait_ns == CEN_OFF ? 0 : pool->options.breaker_wait_ns;
    if (knows_soon_locked(pool) && wait < CENI_FOREVER / 2) wait *= 2;
    int64_t until = wait < CENI_FOREVER - came ? came + wait : CENI_FOREVER;
    return until < deadline ? until : deadline;
}

bool ceni_opening_is_vain_locked(const cen_pool *pool, int64_t came, int64_t deadline)
{
    if (!comes_only_by_opening_locked(pool) || ceni_planted(failed_open_wakes_nobody)) return false;
    bool shut = pool->gate.breaker == CEN_BREAKER_OPEN; /* then nothing is tried before the gate opens */
    int64_t next = shut ? pool->gate.until : ceni_pool_now(pool);
    if (pool->options.breaker_wait_ns != CEN_OFF && ceni_planted(hope_has_no_end)) return false;
    if (ceni_planted(hopeful_told_too_early)) return true;
    return hopes_until(pool, came, deadline) <= next;
}

ceni_pool_waiter *ceni_opening_vain_waiter_locked(const cen_pool *pool)
{
    if (pool->gate.breaker == CEN_BREAKER_CLOSED) return NULL;
    for (unsigned class = 0; class < CENI_CLASSES; class++) {
        ceni_pool_waiter *oldest = ceni_turn_oldest_of_locked(pool->line, class);
        if (oldest && ceni_opening_is_vain_locked(pool, oldest->came, oldest->moment)) return oldest;
    }
    return NULL;
}

int64_t ceni_opening_hope_ends_locked(const cen_pool *pool)
{
    int64_t first = CENI_FOREVER;
    bool hopes = pool->gate.breaker != CEN_BREAKER_CLOSED && pool->options.breaker_wait_ns != CEN_OFF;
    if (!hopes || pool->paused || ceni_planted(hope_has_no_end)) return first;
    if (!comes_only_by_opening_locked(pool) || ceni_planted(failed_open_wakes_nobody)) return first;
    for (unsigned class = 0; class < CENI_CLASSES; class++) {
        const ceni_pool_waiter *oldest = ceni_turn_oldest_of_locked(pool->line, class);
        int64_t ends = oldest ? hopes_until(pool, oldest->came, CENI_FOREVER) : CENI_FOREVER;
        if (ends < first) first = ends;
    }
    return first;
}
