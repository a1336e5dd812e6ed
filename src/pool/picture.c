/* SPDX-License-Identifier: MIT */
/*
 * One picture of a pool, taken to explain why there is no object, and the cause that it shows. explain.c has the list of
 * causes and bounds the cost.
 */
#include "base/plant.h"
#include "pool/explain.h"
#include "port/port.h"

#define LONG_NS INT64_C(10000000000) /* a lease of this age may be a leak */

/* ---- The picture -------------------------------------------------------------------------- */

void ceni_picture_count(ceni_picture *p)
{
    cen_pool *pool = p->pool;
    ceni_waiters_lock(pool->waiters);
    uint64_t ctl = ceni_load_relaxed(&pool->waiters->ctl); /* written under this lock, as all here; carries nothing */
    uint32_t max = ceni_load_relaxed(&pool->max), places = ceni_load_relaxed(&pool->places); /* carries nothing */
    p->s = (cen_pool_stats){
        .max = max,
        .places = places,
        .waiting = (uint32_t)(ctl / CENI_CTL_ONE),
        .is_closed = ctl & CENI_CTL_CLOSED,
        .opening = pool->opening,
        .closing = pool->leaving,
        .revoked = pool->revoked,
        .vacant = places - pool->live,
        .held = pool->live - pool->opening - pool->leaving - pool->revoked,
        .is_paused = pool->paused,
    };
    ceni_waiters_unlock(pool->waiters);
    p->partial = true;
}

/* Insert into the list of the oldest leases; of equal ages the lower index comes first. */
static void list(ceni_picture *p, const cen_object_view *h)
{
    uint32_t at = p->listed < CENI_OLDEST ? p->listed++ : CENI_OLDEST;
    for (; at > 0 && p->oldest[at - 1].held_ns < h->held_ns; at--)
        if (at < CENI_OLDEST) p->oldest[at] = p->oldest[at - 1];
    if (at < CENI_OLDEST) p->oldest[at] = *h;
}

static void meet_holder(ceni_picture *p, uint32_t index)
{
    cen_object_view h;
    if (!ceni_slot_holding(p->pool, index, &h)) return;
    ceni_slot *slot = ceni_slot_at(p->pool, index);
    bool names_revoked = p->s.is_closed || p->s.held == 0; /* a close waits for them; so do takes, if none is held */
    if (names_revoked && h.state == CEN_OBJECT_REVOKED && !ceni_holder_has_ended(slot, h.generation)) {
        p->holders++;
        list(p, &h);
    }
    if (h.state != CEN_OBJECT_HELD) return;
    if (ceni_planted(older_lease_blamed)) /* the mark of any lease; carries nothing */
        h.held_ns = ceni_pool_now(p->pool) - ceni_load_relaxed(&slot->met_at);
    ceni_slot_age(p->pool, slot, ceni_word(h.generation, CENI_SLOT_HELD)); /* mark it */
    p->sole = p->holders == 0 || p->sole == h.holder ? h.holder : 0;
    p->holders++;
    p->mine += p->asker && h.holder == p->asker;
    if (h.held_ns < p->youngest) p->youngest = h.held_ns;
    list(p, &h);
}

void ceni_picture_read_gate(ceni_picture *p)
{
    cen_pool *pool = p->pool;
    int64_t now = ceni_pool_now(pool);
    ceni_waiters_lock(pool->waiters);
    const ceni_gate *gate = &pool->gate;
    int64_t next = ceni_gate_next(gate);
    p->last = gate->last;
    p->last_ago = now > gate->failed_at ? now - gate->failed_at : 0;
    p->s.open_failures = gate->failures;
    p->s.breaker = gate->breaker;
    p->crowded = ceni_chores_crowded_locked(pool, &p->limit);
    ceni_waiters_unlock(pool->waiters);
    p->s.next_open_ns = next != CENI_FOREVER && next > now ? next - now : 0;
}

void ceni_picture_take(ceni_picture *p, uint32_t most)
{
    uint32_t places = ceni_place_reach(p->pool);
    p->youngest = CENI_FOREVER;
    p->s = CEN_SIZED(cen_pool_stats);
    if (!p->patient && (places > most || !ceni_pool_look_if_free(p->pool, &p->s))) ceni_picture_count(p);
    if (p->patient && ceni_pool_is_ours(p->pool)) ceni_pool_stats_read(p->pool, &p->s);
    p->full = p->s.places - p->s.vacant >= p->s.max || !ceni_pool_opens(p->pool);
    ceni_picture_read_gate(p);
    if (p->s.held == 0 && p->s.revoked == 0) return;
    for (uint32_t index = 0; index < places && index < most; index++) meet_holder(p, index);
}

/* ---- Causes ------------------------------------------------------------------------------------ */

/* Whether all objects that could come back are held by the asker. */
static bool waits_for_itself(const ceni_picture *p)
{
    const cen_pool_stats *s = &p->s;
    uint32_t others = s->idle + s->moving + s->opening + s->resetting + s->testing + s->closing + s->revoked;
    return p->full && p->mine > 0 && p->mine == s->held && others == 0;
}

static bool leak_is_suspected(const ceni_picture *p)
{
    if (p->listed == 0 || p->s.held == 0) return false;
    int64_t oldest = p->oldest[0].held_ns;
    if (oldest >= LONG_NS && oldest / CENI_FAR_OLDER > p->youngest) return true;
    return p->youngest >= CENI_VERY_LONG_NS && p->youngest / CENI_FAR_OLDER > p->waited;
}

/* The cause if an object is idle, or could be opened by the next take. */
static cen_cause cause_beside_idle(const ceni_picture *p)
{
    /* An idle object may wait for the first waiter, or for a thread that barges. */
    bool behind = p->s.waiting > 0 && (ceni_pool_has(&p->pool->strict) || !p->is_for_error);
    if (behind) return CEN_CAUSE_BEHIND_WAITERS;
    return p->is_for_error ? CEN_CAUSE_FREE_AGAIN : CEN_CAUSE_NONE;
}

/* The cause if no object is in use and every place is taken. Objects that a holder must give back come before those
 * that become available by themselves. */
static cen_cause cause_of_unlendable(const cen_pool_stats *s)
{
    if (s->revoked > 0) return CEN_CAUSE_REVOKED;
    if (s->testing > 0) return CEN_CAUSE_HEALTH_CHECK;
    if (s->resetting > 0) return CEN_CAUSE_RESETTING;
    return s->closing > 0 ? CEN_CAUSE_CLOSING : CEN_CAUSE_EXHAUSTED;
}

cen_cause ceni_picture_place_cause(const ceni_picture *p)
{
    const cen_pool_stats *s = &p->s;
    if (s->is_closed) return CEN_CAUSE_CLOSED;
    if (s->is_paused) return CEN_CAUSE_PAUSED;
    if (waits_for_itself(p)) return CEN_CAUSE_SELF_WAIT;
    if (!p->full && s->open_failures > 0)
        return s->breaker == CEN_BREAKER_CLOSED ? CEN_CAUSE_OPENING_FAILED : CEN_CAUSE_BREAKER_OPEN;
    if (s->idle > 0 || (!p->full && !p->pool->helped)) return cause_beside_idle(p);
    if (s->opening > 0) return CEN_CAUSE_OPENING_SLOW;
    if (!p->full) return CEN_CAUSE_NOT_OPENED;
    if (s->vacant == s->places) return CEN_CAUSE_NO_OBJECTS;
    if (leak_is_suspected(p)) return CEN_CAUSE_LEAK;
    return s->held + s->moving > 0 ? CEN_CAUSE_EXHAUSTED : cause_of_unlendable(s);
}

/* Whether the cause ends when the driver has completed a call. */
static bool waits_for_a_call(cen_cause cause)
{
    return cause == CEN_CAUSE_OPENING_SLOW || cause == CEN_CAUSE_NOT_OPENED || cause == CEN_CAUSE_HEALTH_CHECK ||
           cause == CEN_CAUSE_RESETTING || cause == CEN_CAUSE_CLOSING;
}

cen_cause ceni_picture_cause(const ceni_picture *p)
{
    cen_cause cause = ceni_picture_place_cause(p);
    return p->crowded > 0 && waits_for_a_call(cause) ? CEN_CAUSE_NO_HELPER : cause;
}

bool ceni_cause_is_of_opening(cen_cause cause)
{
    return cause == CEN_CAUSE_OPENING_FAILED || cause == CEN_CAUSE_BREAKER_OPEN;
}

cen_cause ceni_picture_told_cause(const ceni_picture *p, cen_cause cause)
{
    return ceni_cause_is_of_opening(cause) && p->last.cause == CEN_CAUSE_LOGIN_REFUSED ? p->last.cause : cause;
}
