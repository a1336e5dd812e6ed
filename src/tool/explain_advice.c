/* SPDX-License-Identifier: MIT */
#include "tool/explain_advice.h"

#include <stdio.h>
#include <string.h>

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

/* The word with which the pool names the cause: "Leak suspected" of 'pool "orders": Leak suspected: ...'. */
static bool names(const model_pool *pool, const char *cause)
{
    const char *after = strstr(pool->explanation, "\": ");
    return after && strncmp(after + 3, cause, strlen(cause)) == 0;
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
    return names(pool, "Leak") || (oldest && leak > 0 && oldest->held_ns >= leak);
}

static const char *advise_opening(const model_pool *pool)
{
    if (names(pool, "Opening takes long"))
        return "see why the server is slow to let in, or keep some open beforehand (min_idle).";
    if (names(pool, "Nothing is there")) return "give it a driver, or adopt objects.";
    return NULL;
}

void explain_advise(const model *m, const model_pool *pool, char *text, size_t room)
{
    const model_holder *oldest = oldest_of(m, pool);
    const char *where = oldest && *oldest->where ? oldest->where : "the oldest holder", *last = pool->last_error;
    if (pool->closed) snprintf(text, room, "the program has closed it; nothing but making another helps.");
    else if (pool->paused) snprintf(text, room, "resume it, by cen_pool_resume or with the key u in \"cenote top\".");
    else if (names(pool, "Self-wait"))
        snprintf(
            text, room,
            "give back what this holder holds before it takes another, or let max be larger than what one needs at "
            "once.");
    else if (pool->idle == 0 && (pool->breaker != BREAKER_CLOSED || names(pool, "Opening fails")))
        snprintf(text, room, "see why no object can be opened%s%.200s", *last ? ": " : ".", last);
    else if (leaks(pool, oldest))
        snprintf(text, room, "see that what was taken at %.120s is given back on every way out.", where);
    else if (advise_opening(pool)) snprintf(text, room, "%s", advise_opening(pool));
    else if (explain_judge(pool) == VERDICT_WELL) snprintf(text, room, "nothing.");
    else
        snprintf(text, room,
                 "hold objects for a shorter time, or let the pool be larger if the server can do more at once: "
                 "\"cenote tune\" finds the size.");
}
