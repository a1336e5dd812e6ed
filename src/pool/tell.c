/* SPDX-License-Identifier: MIT */
/*
 * A pool's events among those of the process (include/cenote/events.h). They are written whether the pool has a
 * listener or not.
 *
 *     every event of the pool      as its listener gets it (events.c)
 *     waited                       a take that was served; value: for how long. Only from 1 ms on, and one in 10 ms at most
 *     timed_out                    value: after how long; the text is that of its error, which says why. One in 10 ms at
 *                                  most, with `interrupted`
 *     refused                      by max_waiters, shedding, refuse_late, the breaker; cause and text are those of the
 *                                  error. One in 100 ms at most; value: how many since the last event
 *     interrupted                  value: after how long
 *     taken, given                 with trace_takes only, at the level TRACE
 *
 * Takes that fail because they do not wait write no event: a program may try a thousand times a second. Events that
 * could be as frequent have a rate limit, so that an overload does not overwrite the events that led to it.
 *
 * An uncontended take or give does not run this code. Writing an event takes no lock and never waits, so it is
 * allowed under the pool's lock. In a world nothing is written unless a test asks for it.
 */
#include <stdio.h>

#include "base/probe.h"
#include "pool/internal.h"
#include "port/port.h"
#include "record/events.h"

#ifdef CENI_WATCHED
bool ceni_pool_tells;
#endif

enum {
    LONG_WAIT_NS = 1000000,
    WAITS_APART_NS = 10000000,
    TIMEOUTS_APART_NS = 10000000,
    REFUSALS_APART_NS = 100000000,
};

/* ---- Events ---------------------------------------------------------------------------- */

cen_event_level ceni_tell_level(cen_event_kind kind)
{
    switch (kind) {
    case CEN_EVENT_OPENED:
    case CEN_EVENT_CLOSED:
    case CEN_EVENT_WAITED:
    case CEN_EVENT_INTERRUPTED:
    case CEN_EVENT_BREAKER_HALF_OPEN: return CEN_LEVEL_DETAIL;
    case CEN_EVENT_BREAKER_CLOSED:
    case CEN_EVENT_PAUSED:
    case CEN_EVENT_RESUMED:
    case CEN_EVENT_RELOADED:
    case CEN_EVENT_POOL_CLOSED: return CEN_LEVEL_NOTICE;
    case CEN_EVENT_BREAKER_OPENED: return CEN_LEVEL_ERROR;
    default: return CEN_LEVEL_WARNING;
    }
}

/* ---- Takes that waited ------------------------------------------------------------------- */

/* "a take at orders.c:12 waited 20 ms and ..." */
static void say_take(char *text, size_t room, const cen_pool *pool, const ceni_pool_waiter *waiter, const char *and,
                     int64_t ns)
{
    bool is_short = ns < 10 * INT64_C(1000000);
    snprintf(text, room, "pool \"%s\": %s%s%.80s waited %lld %s and %s", pool->name,
             waiter->pending ? "an asynchronous take" : "a take", waiter->where ? " at " : "",
             waiter->where ? waiter->where : "", (long long)(ns / (is_short ? 1000 : 1000000)), is_short ? "us" : "ms",
             and);
}

static void tell_wait(const cen_pool *pool, cen_event_kind kind, int64_t ns, const char *where, const char *text)
{
    ceni_event_write(
        &(ceni_occurrence){
            .level = ceni_tell_level(kind), .kind = kind, .of = &pool->entry, .value = ns, .where = where},
        text);
}

void ceni_tell_waited_locked(cen_pool *pool, const ceni_pool_waiter *waiter, int64_t now)
{
    int64_t waited = now - waiter->since;
    CENI_PROBE3(served, pool->name, waited, waiter->where);
    if (!ceni_pool_tells || waited < LONG_WAIT_NS || now - pool->wait_told_at < WAITS_APART_NS) return;
    pool->wait_told_at = now;
    char text[sizeof((cen_event *)NULL)->text];
    say_take(text, sizeof text, pool, waiter, "was served", waited);
    tell_wait(pool, CEN_EVENT_WAITED, waited, waiter->where, text);
}

/* Whether the event of a take that timed out or was interrupted is due. A thousand takes may have one deadline; for
 * most of them no text is made, unless the caller wants one. */
static bool timeout_is_due(cen_pool *pool)
{
    if (!ceni_pool_tells) return false;
    /* a hint for the cas; carries nothing */
    int64_t now = ceni_clock_now(), last = ceni_load_relaxed(&pool->timeout_told_at);
    if (last && now - last < TIMEOUTS_APART_NS) return false;
    return ceni_cas_relaxed(&pool->timeout_told_at, &last, now); /* otherwise another writes it; carries nothing */
}

/* For a pending take that wants no text: no other code writes its event. */
void ceni_tell_expired_locked(cen_pool *pool, const ceni_pool_waiter *waiter, int64_t now)
{
    if (waiter->error || !timeout_is_due(pool)) return;
    char text[sizeof((cen_event *)NULL)->text];
    say_take(text, sizeof text, pool, waiter, "timed out", now - waiter->since);
    tell_wait(pool, CEN_EVENT_TIMED_OUT, now - waiter->since, waiter->where, text);
}

/* The number of refusals to report now; 0: no event is due, because one was written shortly before. */
static uint64_t refusals_due(cen_pool *pool)
{
    /* a hint for the cas; carries nothing */
    int64_t now = ceni_clock_now(), last = ceni_load_relaxed(&pool->refusal_told_at);
    ceni_add_relaxed(&pool->refusals, 1); /* a number; carries nothing */
    if (last && now - last < REFUSALS_APART_NS) return 0;
    if (!ceni_cas_relaxed(&pool->refusal_told_at, &last, now)) return 0; /* another writes it; carries nothing */
    /* A thread that is delayed here may meet the next one that reports: each refusal is counted by one of them. */
    uint64_t count = ceni_load_relaxed(&pool->refusals);            /* a hint for the cas; carries nothing */
    while (!ceni_cas_relaxed(&pool->refusals, &count, 0)) continue; /* carries nothing */
    return count;
}

static void tell_failure(const cen_pool *pool, cen_event_kind kind, int64_t value, uint64_t holder,
                         const cen_error *error)
{
    ceni_event_write(&(ceni_occurrence){.level = ceni_tell_level(kind),
                                        .kind = kind,
                                        .of = &pool->entry,
                                        .holder = holder,
                                        .value = value,
                                        .status = error->status,
                                        .code = error->code,
                                        .cause = error->cause},
                     error->text);
}

cen_status ceni_tell_refusal(cen_pool *pool, ceni_verdict verdict, int64_t waited_ns, uint64_t holder, cen_error *error)
{
    bool late = verdict.status == CEN_TIMEOUT && waited_ns > 0, interrupted = verdict.status == CEN_INTERRUPTED;
    bool told = (late || interrupted) && timeout_is_due(pool);
    CENI_PROBE3(refused, pool->name, (int)verdict.status, waited_ns);
    uint64_t refusals = ceni_pool_tells && ceni_verdict_refuses(&verdict) ? refusals_due(pool) : 0;
    cen_error unread;
    if ((told || refusals) && !error) error = &unread;
    cen_status status = ceni_explain_refusal(pool, verdict, waited_ns, holder, error);
    if (told) tell_failure(pool, late ? CEN_EVENT_TIMED_OUT : CEN_EVENT_INTERRUPTED, waited_ns, holder, error);
    if (refusals) tell_failure(pool, CEN_EVENT_REFUSED, (int64_t)refusals, holder, error);
    return status;
}

/* ---- Every take and give ------------------------------------------------------------------- */

static bool is_traced(const cen_pool *pool)
{
    return ceni_pool_tells && ceni_pool_has(&pool->trace_takes);
}

static void trace(const cen_pool *pool, cen_event_kind kind, int64_t value, int64_t held_ns, const char *where)
{
    ceni_event_write(&(ceni_occurrence){.level = CEN_LEVEL_TRACE,
                                        .kind = kind,
                                        .of = &pool->entry,
                                        .value = value,
                                        .held_ns = held_ns,
                                        .where = where},
                     where);
}

void ceni_tell_taken(const cen_pool *pool, uint32_t index, const char *where)
{
    if (is_traced(pool)) trace(pool, CEN_EVENT_TAKEN, index, 0, where);
}

void ceni_tell_given(const cen_pool *pool, int64_t held_ns, const char *where)
{
    if (is_traced(pool)) trace(pool, CEN_EVENT_GIVEN, 0, held_ns, where);
}

void ceni_tell_held(cen_pool *pool, cen_event_kind kind, const cen_object_view *h, const char *what)
{
    char holder[CENI_HOLDER_ROOM], held[CENI_HOLDER_ROOM];
    ceni_pool_event_tell(
        pool,
        (ceni_occurrence){
            .kind = kind, .value = h->index, .holder = h->holder, .where = h->where, .held_ns = h->held_ns},
        "object %u, held by %s %s, taken at %s%s", h->index, ceni_holder_say(h->holder, holder),
        ceni_held_say(h->held_ns, held), h->where ? h->where : "an unknown place", what);
}
