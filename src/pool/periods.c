/* SPDX-License-Identifier: MIT */
/*
 * The period of the housekeeper's rounds, and the end of an object's lifetime.
 *
 * The period is a fraction of the smallest limit, so that a limit is noticed late by at most this fraction. The ends
 * of lifetimes may be closer together: objects that were opened together end within the jitter, by default a tenth of
 * the lifetime. So there is also a round when the first lifetime ends that the previous round has seen, but not
 * before a fraction of the jitter has passed. So a million objects need no more rounds than a few.
 */
#include "pool/internal.h"

enum {
    SHORTEST_PERIOD_NS = 1000000,
    COUNTING_PERIOD_NS = 1000000000, /* with min_idle or max_idle */
    ENDS_APART = 32,                 /* at most this many rounds for ends of lifetimes, within their jitter */
    ROUNDS_APART = 8,                /* the same within a period of a reload with a spread, or the time of a reap */
};
#define LONGEST_PERIOD_NS INT64_C(30000000000)

static int64_t fraction(int64_t period, int64_t limit, int64_t part)
{
    return limit == CEN_OFF || limit / part > period ? period : limit / part;
}

int64_t ceni_period_of(const cen_pool *pool, const cen_pool_options *o, bool calm)
{
    int64_t period = CENI_FOREVER;
    if (o->min_idle > 0 || o->max_idle != CEN_OFF) period = COUNTING_PERIOD_NS;
    period = fraction(period, o->idle_timeout_ns, 4);
    period = fraction(period, o->max_lifetime_ns, 8);
    period = fraction(period, o->leak_after_ns, 4);
    period = fraction(period, o->max_hold_ns, 4);
    if (ceni_pool_tests(pool)) period = fraction(period, o->test_interval_ns, 4);
    if (ceni_pool_tests(pool) && !calm) period = fraction(period, o->test_after_idle_ns, 2);
    if (period == CENI_FOREVER) return period;
    if (period < SHORTEST_PERIOD_NS) period = SHORTEST_PERIOD_NS;
    return period < LONGEST_PERIOD_NS ? period : LONGEST_PERIOD_NS;
}

int64_t ceni_period_apart_locked(const cen_pool *pool, int64_t now)
{
    const cen_pool_options *o = &pool->options;
    int64_t apart = CENI_FOREVER;
    if (o->max_lifetime_ns != CEN_OFF)
        apart = (o->lifetime_jitter <= 100 ? o->max_lifetime_ns / 100 * o->lifetime_jitter : o->max_lifetime_ns) /
                ENDS_APART;
    if (now < pool->rounds_until) apart = fraction(apart, pool->rounds_period, ROUNDS_APART);
    for (int i = 0; i < CENI_REAPINGS; i++)
        if (pool->reaping[i].idle_ns > 0) apart = fraction(apart, pool->reaping[i].idle_ns, ROUNDS_APART);
    return apart > SHORTEST_PERIOD_NS ? apart : SHORTEST_PERIOD_NS;
}

/* By how much an object's lifetime is shorter than the limit, in thousandths of the jitter. Pseudo-random, but always
 * the same for one object, so that the limit can change during its life. */
static int64_t share_of(uint32_t index, int64_t opened)
{
    uint64_t mixed = ((uint64_t)opened + index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return (int64_t)((mixed >> 32) % 1000);
}

int64_t ceni_period_life_ends(const cen_pool_options *limits, ceni_slot *slot, uint32_t index)
{
    int64_t expires = ceni_load_relaxed(&slot->expires_at); /* a moment; carries nothing */
    int64_t life = limits->max_lifetime_ns,
            opened = ceni_load_relaxed(&slot->opened_at); /* likewise; carries nothing */
    if (life == CEN_OFF || opened == 0) return expires;
    if (limits->lifetime_jitter <= 100)
        life -= (int64_t)((double)life / 1000 * (double)share_of(index, opened) * limits->lifetime_jitter / 100);
    int64_t ends = life < CENI_FOREVER - opened ? opened + life : CENI_FOREVER;
    return ends < expires ? ends : expires;
}
