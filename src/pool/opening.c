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
 * Order table
 * [K4] done | store of met | release | V4 in look.c | that nobody has met this object yet | a new object has the age of the one before it in its slot
 */
#include "base/plant.h"
#include "pool/inside.h"
#include "port/port.h"

void ceni_opening_done(cen_pool *pool, ceni_slot *slot)
{
    uint64_t generation = ceni_word_generation(ceni_load_relaxed(&slot->word)); /* the caller's own; carries nothing */
    ceni_store_relaxed(&slot->first_generation, generation);                     /* for its holders; carries nothing */
    ceni_store_release(&slot->met, 0); /* [K4] the object before may have been idle in the same generation */
    ceni_store_relaxed(&slot->expires_at, CENI_FOREVER);                           /* likewise; carries nothing */
    if (!ceni_pool_runtime(pool)) return; /* nobody asks for its age, so no clock is read */
    int64_t now = ceni_pool_now(pool);
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

static bool fail_locked(cen_pool *pool, const cen_error *why)
{
    return ceni_gate_fail(&pool->gate, &pool->options, ceni_pool_now(pool), ceni_random(), why);
}

ceni_opening_news ceni_opening_ended_locked(cen_pool *pool, uint32_t index, const ceni_outcome *how, const cen_error *why)
{
    bool told = was_overdue_locked(pool, index);
    ceni_opening_news news = {.failures = 0};
    if (how->status == CEN_OK) {
        pool->tally.opened++;
        news.breaker_closed = !how->unwanted && ceni_gate_succeed(&pool->gate);
    } else {
        pool->tally.open_failed++;
        news.breaker_opened = (!told || ceni_planted(late_failure_counted_twice)) && fail_locked(pool, why);
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
    news.breaker_opened = !ceni_planted(overdue_not_told) && fail_locked(pool, why);
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

/* While one opening is tried, whoever comes is told what the last one said; the first who comes lets it be tried. */
bool ceni_opening_is_vain_locked(const cen_pool *pool)
{
    bool tries = pool->gate.breaker == CEN_BREAKER_PROBING && pool->opening == 0;
    return pool->gate.breaker != CEN_BREAKER_CLOSED && !tries && pool->live - pool->opening - pool->leaving == 0;
}
