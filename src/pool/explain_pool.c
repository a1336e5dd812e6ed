/* SPDX-License-Identifier: MIT */
/* cen_pool_explain: the state of a pool in sentences, and why a take would wait or fail now. It reads all slots. */
#include <stdio.h>

#include "base/plant.h"
#include "pool/explain.h"
#include "port/port.h"

static void say_holders(ceni_writer *w, const ceni_picture *p)
{
    if (p->listed == 0) return;
    ceni_say(w, "Held longest:\n");
    for (uint32_t i = 0; i < p->listed; i++) {
        ceni_say(w, "  ");
        ceni_say_holder(w, &p->oldest[i]);
        ceni_say(w, "\n");
    }
    if (p->holders > p->listed) ceni_say(w, "  and %u more\n", p->holders - p->listed);
}

/* "object 3, taken by thread 7 (ended) at orders.c:12" */
static void say_lost(ceni_writer *w, uint32_t index, uint64_t holder, const char *where)
{
    char whose[CENI_HOLDER_ROOM];
    ceni_say(w, "  object %u, taken by %s", index, ceni_holder_say(holder, whose));
    if (where) ceni_say(w, " at %s", where);
}

/* Write the orphans that keep their places, which are REVOKED; or only count them. Returns their number. */
static uint32_t say_kept_orphans(ceni_writer *w, cen_pool *pool, bool counts)
{
    uint32_t count = 0, places = ceni_place_reach(pool);
    for (uint32_t index = 0; index < places; index++) {
        cen_object_view h;
        ceni_slot *slot = ceni_slot_at(pool, index);
        if (ceni_word_state(ceni_word_at(pool, index)) != CENI_SLOT_REVOKED || !ceni_slot_holding(pool, index, &h))
            continue;
        if (h.state != CEN_OBJECT_REVOKED || !ceni_holder_has_ended(slot, h.generation)) continue;
        count++;
        if (counts) continue;
        say_lost(w, index, h.holder, h.where);
        ceni_say(w, "; place taken until the give\n");
    }
    return count;
}

static void say_orphans(ceni_writer *w, cen_pool *pool)
{
    enum { AT_A_TIME = 16 };
    ceni_orphan_seen seen[AT_A_TIME];
    uint32_t kept = say_kept_orphans(w, pool, true);
    size_t count = ceni_orphans_list(pool, 0, seen, AT_A_TIME);
    if (kept + count > 0) ceni_say(w, "Orphaned and reclaimed leases, not given back:\n");
    if (kept > 0) say_kept_orphans(w, pool, false);
    for (size_t told = 0; count > 0; count = ceni_orphans_list(pool, told, seen, AT_A_TIME)) {
        for (size_t i = 0; i < count; i++) {
            say_lost(w, seen[i].index, seen[i].holder, seen[i].where);
            ceni_say(w, "; %s ", seen[i].loss == CENI_LOST_BY_HOLDER ? "holder ended" : "reclaimed");
            ceni_say_time(w, seen[i].ago_ns);
            ceni_say(w, " ago\n");
        }
        told += count;
    }
}

static void say_waits(ceni_writer *w, const cen_pool_stats *s)
{
    if (s->waited == 0) return;
    ceni_say(w, "Takes that waited: %llu; %llu served, %llu timed out, %llu failed otherwise",
             (unsigned long long)s->waited, (unsigned long long)s->served, (unsigned long long)s->timed_out,
             (unsigned long long)(s->sent_away + s->failed + s->shed));
    if (s->cancelled > 0) ceni_say(w, ", %llu cancelled", (unsigned long long)s->cancelled);
    if (s->waiting > 0) {
        ceni_say(w, ", %u still waiting, the first for ", s->waiting);
        ceni_say_time(w, s->oldest_wait_ns);
    }
    if (s->waited > s->waiting) {
        ceni_say(w, "; wait p50 ");
        ceni_say_time(w, s->wait_p50_ns);
        ceni_say(w, ", p99 ");
        ceni_say_time(w, s->wait_p99_ns);
        ceni_say(w, ", max ");
        ceni_say_time(w, s->wait_longest_ns);
    }
    ceni_say(w, ".\n");
}

static void say_overload(ceni_writer *w, const cen_pool_stats *s)
{
    if (s->is_shedding) ceni_say(w, "Load shedding is active: some waiters are refused (shed_target_ns).\n");
    if (s->shed > 0)
        ceni_say(w, "Takes refused by load shedding (shed_target_ns): %llu.\n", (unsigned long long)s->shed);
    if (s->refused > 0)
        ceni_say(w, "Takes refused because the wait queue was full (max_waiters): %llu.\n",
                 (unsigned long long)s->refused);
    if (s->refused_late > 0)
        ceni_say(w, "Takes refused because of their deadlines (refuse_late): %llu.\n",
                 (unsigned long long)s->refused_late);
    if (s->refused_breaker > 0)
        ceni_say(w, "Takes refused by the circuit breaker: %llu.\n", (unsigned long long)s->refused_breaker);
    if (s->missed > 0)
        ceni_say(w, "Takes that found no object and did not wait: %llu.\n", (unsigned long long)s->missed);
}

static void say_opening(ceni_writer *w, const ceni_picture *p)
{
    if (p->s.open_failures > 0) {
        ceni_say(w, "Driver error: ");
        ceni_say_failures(w, p);
        ceni_say(w, "\n");
    } else if (p->last.status != CEN_OK) {
        ceni_say(w, "Opening works again; it last failed ");
        ceni_say_time(w, p->last_ago);
        ceni_say(w, " ago: ");
        ceni_say_last(w, p);
        ceni_say(w, ".\n");
    }
}

/* Whether a lease is held for longer than leak_after_ns, *limit. */
static bool leaks(const ceni_picture *p, int64_t *limit)
{
    cen_pool_options o = CEN_SIZED(cen_pool_options);
    if (p->listed == 0 || cen_pool_options_get(p->pool, &o) != CEN_OK) return false;
    *limit = o.leak_after_ns;
    return o.leak_after_ns > 0 && p->oldest[0].held_ns >= o.leak_after_ns;
}

/* The leak comes first: a take may still be served, but the pool has a problem. */
static void say_leak(ceni_writer *w, const ceni_picture *p, int64_t limit)
{
    ceni_say(w, "Leak: ");
    ceni_say_holder(w, &p->oldest[0]);
    ceni_say(w, " (leak_after_ns is ");
    ceni_say_time(w, limit);
    ceni_say(w, "). ");
}

/* Whether a leak is named before this cause, because it may be the reason for it. */
static bool gives_way_to_leak(cen_cause cause)
{
    switch (cause) {
    case CEN_CAUSE_NONE:
    case CEN_CAUSE_BEHIND_WAITERS:
    case CEN_CAUSE_EXHAUSTED:
    case CEN_CAUSE_REVOKED:
    case CEN_CAUSE_HEALTH_CHECK:
    case CEN_CAUSE_RESETTING:
    case CEN_CAUSE_CLOSING: return true;
    default: return false;
    }
}

/* Write what would happen to a take now, in one sentence. */
static void say_prospect(ceni_writer *w, const ceni_picture *p, cen_cause cause, bool after_leak)
{
    if (cause == CEN_CAUSE_BEHIND_WAITERS)
        ceni_say(w, ceni_pool_has(&p->pool->strict) ? "other waiters come first."
                                                    : "an object is free; a take gets it or joins the wait queue.");
    else if (cause != CEN_CAUSE_NONE) ceni_say_cause(w, p, cause);
    else ceni_say(w, "%s take gets an idle object or opens one.", after_leak ? "A" : "a");
}

/* Write the whole explanation. Returns the cause. */
static cen_cause say_all(ceni_writer *w, cen_pool *pool, bool with_holders)
{
    ceni_picture p = {.pool = pool, .patient = true};
    ceni_picture_take(&p, CEN_POOL_MAX);
    cen_cause cause = ceni_picture_cause(&p);
    int64_t limit = 0;
    bool leak = gives_way_to_leak(cause) && leaks(&p, &limit);
    ceni_say(w, "pool \"%s\": ", pool->name);
    if (leak) say_leak(w, &p, limit);
    say_prospect(w, &p, cause, leak);
    ceni_say(w, "\n");
    ceni_say_counts(w, &p);
    ceni_say_crowd(w, &p);
    ceni_say(w, "\n");
    if (with_holders) say_holders(w, &p);
    say_orphans(w, pool);
    say_waits(w, &p.s);
    say_overload(w, &p.s);
    if (!ceni_cause_is_of_opening(cause)) say_opening(w, &p);
    if (p.s.leaked > 0) ceni_say(w, "Leases reported as leaked: %llu.\n", (unsigned long long)p.s.leaked);
    return leak ? CEN_CAUSE_LEAK : cause;
}

cen_cause ceni_pool_explain_briefly(cen_pool *pool, char *text, size_t room)
{
    ceni_writer w = {.text = text, .room = text ? room : 0};
    return say_all(&w, pool, false);
}

size_t cen_pool_explain(cen_pool *pool, char *text, size_t room)
{
    ceni_writer w = {.text = text, .room = text ? room : 0};
    cen_error refused;
    if (ceni_pool_check(pool, "cen_pool_explain", &refused) == CEN_OK) say_all(&w, pool, true);
    else ceni_say(&w, "%s.\n", refused.text);
    return w.used + 1;
}
