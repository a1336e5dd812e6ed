/* SPDX-License-Identifier: MIT */
/*
 * The deadlines of pending takes.
 *
 * A waiting thread wakes by itself at its deadline; a pending take is ended by the keeper. Its deadline is a timer in
 * the pool's own wheel, under the pool's lock like everything else about it. A thread that removes the take from the
 * queue removes the timer in the same step. So a grant and a deadline can never both happen.
 *
 * The naive version gives each take an alarm of the runtime, which may be ringing while the object is granted. Then
 * two calls have the same take, and one of them must not touch it, but cannot know that.
 *
 * Many takes may expire at one moment. They are completed some at a time. The rest wait in a list, and are still in
 * the queue: a take that is granted or cancelled meanwhile leaves the list in the same step. Every pump plans when
 * the keeper comes next, so that moment is stored, not searched. It may be too early; then the keeper comes once
 * without need.
 *
 * Memory and a timer thread are allocated for the first pending take with a deadline, and only then.
 */
#include "base/alloc.h"
#include "base/plant.h"
#include "pool/internal.h"
#include "port/port.h"

enum { MOST_EXPIRED = 64 }; /* without dropping the lock */

/* Under the pool's lock. */
struct ceni_pending_deadlines {
    ceni_wheel wheel;
    ceni_list expired; /* takes whose deadlines have passed and that are not completed yet */
    int64_t next;      /* no deadline passes before this moment */
};

/* Called with no lock held, because the allocator may be the program's. NULL if there is no memory. */
static struct ceni_pending_deadlines *make(cen_pool *pool)
{
    struct ceni_pending_deadlines *made =
        ceni_alloc(pool->allocator, sizeof *made, _Alignof(struct ceni_pending_deadlines));
    if (!made) return NULL;
    ceni_wheel_init(&made->wheel, ceni_pool_now(pool));
    ceni_list_init(&made->expired);
    made->next = CENI_FOREVER;
    return made;
}

cen_status ceni_pending_deadline_need(cen_pool *pool)
{
    ceni_waiters_lock(pool->waiters);
    bool there = pool->pending_deadlines;
    ceni_waiters_unlock(pool->waiters);
    cen_status status = there ? CEN_OK : ceni_pool_need_timekeeper(pool);
    if (there || status != CEN_OK) return status;
    struct ceni_pending_deadlines *made = make(pool);
    ceni_waiters_lock(pool->waiters);
    struct ceni_pending_deadlines *unused = pool->pending_deadlines ? made : NULL; /* another was first */
    if (!pool->pending_deadlines) pool->pending_deadlines = made;
    there = pool->pending_deadlines;
    ceni_waiters_unlock(pool->waiters);
    if (unused) ceni_free(pool->allocator, unused, sizeof *unused, _Alignof(struct ceni_pending_deadlines));
    return there ? CEN_OK : CEN_NO_MEMORY;
}

void ceni_pending_deadline_set_locked(cen_pool *pool, ceni_pool_waiter *waiter, int64_t moment)
{
    if (moment == CENI_FOREVER) return;
    ceni_wheel_insert(&pool->pending_deadlines->wheel, &waiter->timer, moment);
    bool planned = ceni_planted(earlier_deadline_unplanned) && pool->pending_deadlines->next != CENI_FOREVER;
    if (moment < pool->pending_deadlines->next && !planned) pool->pending_deadlines->next = moment;
}

void ceni_pending_deadline_drop_locked(cen_pool *pool, ceni_pool_waiter *waiter)
{
    if (pool->pending_deadlines && !ceni_planted(deadline_outlives_its_ask))
        ceni_wheel_cancel(&pool->pending_deadlines->wheel, &waiter->timer);
}

int64_t ceni_pending_deadline_next_locked(const cen_pool *pool)
{
    return pool->pending_deadlines ? pool->pending_deadlines->next : CENI_FOREVER;
}

void ceni_pending_deadline_pass_locked(cen_pool *pool, int64_t now, ceni_followup *followup)
{
    struct ceni_pending_deadlines *deadlines = pool->pending_deadlines;
    if (!deadlines || deadlines->next > now) return;
    ceni_wheel_advance(&deadlines->wheel, now, &deadlines->expired);
    followup->status = CEN_TIMEOUT;
    for (unsigned count = 0; count < MOST_EXPIRED; count++) {
        ceni_wheel_timer *timer = ceni_timer_take(&deadlines->expired);
        if (!timer) break;
        pool->tally.timed_out++;
        ceni_waiters_drop_locked(pool, CENI_LIST_ENTRY(timer, ceni_pool_waiter, timer), CENI_WAIT_EXPIRED, followup);
    }
    bool all = ceni_list_empty(&deadlines->expired) || ceni_planted(some_expired_forgotten);
    deadlines->next = all ? ceni_wheel_next(&deadlines->wheel) : now;
}

void ceni_pending_deadline_end(cen_pool *pool)
{
    if (pool->pending_deadlines)
        ceni_free(pool->allocator, pool->pending_deadlines, sizeof *pool->pending_deadlines,
                  _Alignof(struct ceni_pending_deadlines));
    pool->pending_deadlines = NULL;
}
