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
    /* Those who hold something may still give it back; without them nobody does. */
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

/* What helps against a cause that no number of the pool shows; NULL: it is another. */
static const char *remedy(cen_cause cause)
{
    switch (cause) {
    case CEN_CAUSE_OPENING_SLOW:
        return "see why the server is slow to let in, or keep some open beforehand (min_idle).";
    case CEN_CAUSE_NOT_OPENED: return "nothing: an object is about to be opened. min_idle keeps some open beforehand.";
    case CEN_CAUSE_NO_OBJECTS: return "give it a driver, or adopt objects.";
    case CEN_CAUSE_REVOKED:
        return "see that the holders of revoked objects give them back; on_max_hold = CEN_HOLD_RECLAIM frees the place "
               "at once.";
    case CEN_CAUSE_HEALTH_CHECK:
        return "see why the server is slow to answer a test, or give the test a shorter timeout.";
    case CEN_CAUSE_RESETTING:
    case CEN_CAUSE_CLOSING: return "see why the server is slow to reset or to close.";
    default: return NULL;
    }
}

void explain_advise(const model *m, const model_pool *pool, char *text, size_t room)
{
    const model_holder *oldest = oldest_of(m, pool);
    const char *where = oldest && *oldest->where ? oldest->where : "the oldest holder", *last = pool->last_error;
    const char *simple = remedy(pool->cause);
    if (pool->closed) snprintf(text, room, "the program has closed it; nothing but making another helps.");
    else if (pool->paused) snprintf(text, room, "resume it, by cen_pool_resume or with the key u in \"cenote top\".");
    else if (pool->cause == CEN_CAUSE_SELF_WAIT)
        snprintf(
            text, room,
            "give back what this holder holds before it takes another, or let max be larger than what one needs at "
            "once.");
    else if (cannot_open(pool))
        snprintf(text, room, "see why no object can be opened%s%.200s", *last ? ": " : ".", last);
    else if (leaks(pool, oldest))
        snprintf(text, room, "see that what was taken at %.120s is given back on every way out.", where);
    else if (simple) snprintf(text, room, "%s", simple);
    else if (explain_judge(pool) == VERDICT_WELL) snprintf(text, room, "nothing.");
    else
        snprintf(text, room,
                 "hold objects for a shorter time, or let the pool be larger if the server can do more at once: "
                 "\"cenote tune\" finds the size.");
}
