/* SPDX-License-Identifier: MIT */
#include "tool/explain_advice.h"

#include <stdio.h>

explain_verdict explain_judge(const model_pool *pool)
{
    int64_t places = pool->held + pool->revoked + pool->idle + pool->opening + pool->others;
    int64_t line = model_number(pool->description, "max_waiters");
    if (pool->closed) return VERDICT_FAILS;
    if (line > 0 && pool->waiting >= line) return VERDICT_FAILS;
    if (pool->paused) return VERDICT_WAITS;
    /* A holder may still give its object back. Without holders no object will come back. */
    if (pool->idle == 0 && pool->breaker != BREAKER_CLOSED) return pool->held > 0 ? VERDICT_WAITS : VERDICT_FAILS;
    if (pool->waiting > 0) return VERDICT_WAITS;
    return pool->idle == 0 && places >= pool->max ? VERDICT_WAITS : VERDICT_WELL;
}

static const model_holder *oldest_of(const model *m, const model_pool *pool)
{
    for (size_t i = 0; i < m->holder_count; i++)
        if (m->holders[i].pool == pool) return &m->holders[i];
    return NULL;
}

static bool leaks(const model_pool *pool, const model_holder *oldest)
{
    int64_t leak = model_number(pool->description, "leak_after_ns");
    return pool->cause == CEN_CAUSE_LEAK || (oldest && leak > 0 && oldest->held_ns >= leak);
}

static bool cannot_open(const model_pool *pool)
{
    return pool->idle == 0 && (pool->breaker != BREAKER_CLOSED || pool->cause == CEN_CAUSE_OPENING_FAILED ||
                               pool->cause == CEN_CAUSE_BREAKER_OPEN);
}

/* Return the remedy for a cause that the pool's numbers do not show; NULL: another cause. */
static const char *remedy(cen_cause cause)
{
    switch (cause) {
    case CEN_CAUSE_OPENING_SLOW:
        return "find out why the server is slow to accept connections, or keep objects open in advance (min_idle).";
    case CEN_CAUSE_NOT_OPENED:
        return "nothing: an object is about to be opened. min_idle keeps objects open in advance.";
    case CEN_CAUSE_NO_OBJECTS: return "give the pool a driver, or adopt objects.";
    case CEN_CAUSE_REVOKED:
        return "make the holders of revoked objects give them back; on_max_hold = CEN_HOLD_RECLAIM frees the slot at "
               "once.";
    case CEN_CAUSE_HEALTH_CHECK:
        return "find out why the server is slow to respond to health checks, or give them a shorter timeout.";
    case CEN_CAUSE_RESETTING:
    case CEN_CAUSE_CLOSING: return "find out why the server is slow to reset or close connections.";
    default: return NULL;
    }
}

void explain_advise(const model *m, const model_pool *pool, char *text, size_t room)
{
    const model_holder *oldest = oldest_of(m, pool);
    const char *where = oldest && *oldest->where ? oldest->where : "the oldest holder", *last = pool->last_error;
    const char *simple = remedy(pool->cause);
    if (pool->closed) snprintf(text, room, "the program has closed this pool; create a new one.");
    else if (pool->paused)
        snprintf(text, room, "resume the pool with cen_pool_resume or with the key u in \"cenote top\".");
    else if (pool->cause == CEN_CAUSE_SELF_WAIT)
        snprintf(text, room,
                 "give back held objects before taking another one, or set max higher than the number one holder needs "
                 "at once.");
    else if (cannot_open(pool))
        snprintf(text, room, "find out why no object can be opened%s%.200s", *last ? ": " : ".", last);
    else if (leaks(pool, oldest)) snprintf(text, room, "give the object taken at %.120s back on every path.", where);
    else if (simple) snprintf(text, room, "%s", simple);
    else if (explain_judge(pool) == VERDICT_WELL) snprintf(text, room, "nothing.");
    else
        snprintf(text, room,
                 "hold objects for a shorter time, or enlarge the pool if the server can take more load; \"cenote "
                 "tune\" finds the size.");
}
