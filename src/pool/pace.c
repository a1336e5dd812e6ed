/* SPDX-License-Identifier: MIT */
/*
 * How quickly waiters are served, and the estimate of a wait. Only reads and its own numbers, under the lock.
 *
 * The estimate is the number of waiters that come first, plus one, times the average time between two servings while
 * there are waiters. It is never less than the time since the last serving. A take that finds no waiter is never
 * refused because of the estimate: the pool measures its pace only by the waiters that it serves. Otherwise an
 * average from a bad time would refuse the very takes that would correct it.
 *
 * All times are on the pool's clock.
 *
 * Tested by tests/unit/pool/admission_test.c.
 */
#include "pool/internal.h"
#include "port/port.h"

enum { SMOOTHING = 8 }; /* one serving moves the average by an eighth of the difference */

int64_t ceni_pool_moment(const cen_pool *pool, int64_t now)
{
    const cen_runtime *runtime = ceni_pool_runtime(pool);
    return runtime && ceni_runtime_is_virtual(runtime) ? ceni_pool_now(pool) : now;
}

static uint64_t waiting_locked(const cen_pool *pool)
{
    return ceni_load_relaxed(&pool->waiters->ctl) / CENI_CTL_ONE; /* written under this lock; carries nothing */
}

void ceni_pace_begin_locked(cen_pool *pool, int64_t now)
{
    pool->pace.from = ceni_pool_moment(pool, now);
}

void ceni_pace_served_locked(cen_pool *pool, int64_t now)
{
    ceni_pace *pace = &pool->pace;
    int64_t moment = ceni_pool_moment(pool, now), passed = ceni_at_least_1_ns(moment - pace->from);
    pace->between = pace->between ? ceni_at_least_1_ns(pace->between + (passed - pace->between) / SMOOTHING) : passed;
    pace->from = moment;
}

int64_t ceni_pace_estimate_locked(const cen_pool *pool, const ceni_pool_waiter *waiter, int64_t now)
{
    int64_t moment = ceni_pool_moment(pool, now), between = pool->pace.between;
    int64_t before = (int64_t)ceni_turn_ahead_locked(pool, waiter, moment) + 1;
    int64_t estimate = between < CENI_FOREVER / before ? between * before : CENI_FOREVER;
    int64_t nobody = waiting_locked(pool) > 0 ? moment - pool->pace.from : 0; /* time without a serving */
    return nobody > estimate ? nobody : estimate;
}

bool ceni_shedding_is_active_locked(const cen_pool *pool)
{
    bool active = false;
    for (unsigned class = 0; class < CENI_CLASSES; class ++)
        active = active || pool->waiters->classes[class].shed.active;
    return active;
}
