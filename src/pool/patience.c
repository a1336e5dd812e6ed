/* SPDX-License-Identifier: MIT */
/*
 * Patience: until when those who ask are willing to wait.
 *
 * A thread that waits wakes by itself at its deadline; one who asks is told by
 * the keeper. Its deadline is a timer in the pool's own wheel, under the pool's
 * lock like everything else about it: whoever takes it out of the line takes
 * the timer out in the same step. So there is no moment at which a deadline
 * and a grant could both be on their way to it.
 *
 * The naive version gives each its own alarm of the runtime, which may be
 * ringing while the object is granted: then two calls hold the same take, and
 * one of them must not touch it any more without being able to know.
 *
 * Many may expire at one moment. They are told some at a time, and those that
 * are left stand in a list of their own, each still in the line: who is granted
 * something or cancelled meanwhile is taken out of the list in the same step.
 * Every pump plans when the keeper is to come next, so that moment is kept and
 * not looked for: it may be too early, and then the keeper looks in vain once.
 *
 * Memory, and a thread that keeps time, are had when somebody asks with a deadline for the first time, and never again.
 */
#include "base/alloc.h"
#include "base/plant.h"
#include "pool/internal.h"
#include "port/port.h"

enum { MOST_EXPIRED = 64 }; /* without dropping the lock */

/* Under the pool's lock. */
struct ceni_patience {
    ceni_wheel wheel;
    ceni_list expired; /* their deadlines have passed, and they are not told yet */
    int64_t next;      /* no deadline passes before this moment */
};

/* With no lock held: the allocator is the program's. NULL without memory. */
static struct ceni_patience *make(cen_pool *pool)
{
    struct ceni_patience *made = ceni_alloc(pool->allocator, sizeof *made, _Alignof(struct ceni_patience));
    if (!made) return NULL;
    ceni_wheel_init(&made->wheel, ceni_pool_now(pool));
    ceni_list_init(&made->expired);
    made->next = CENI_FOREVER;
    return made;
}

cen_status ceni_patience_need(cen_pool *pool)
{
    ceni_waiters_lock(pool->line);
    bool there = pool->patient;
    ceni_waiters_unlock(pool->line);
    cen_status status = there ? CEN_OK : ceni_pool_need_timekeeper(pool);
    if (there || status != CEN_OK) return status;
    struct ceni_patience *made = make(pool);
    ceni_waiters_lock(pool->line);
    struct ceni_patience *unused = pool->patient ? made : NULL; /* another was first */
    if (!pool->patient) pool->patient = made;
    there = pool->patient;
    ceni_waiters_unlock(pool->line);
    if (unused) ceni_free(pool->allocator, unused, sizeof *unused, _Alignof(struct ceni_patience));
    return there ? CEN_OK : CEN_NO_MEMORY;
}

void ceni_patience_set_locked(cen_pool *pool, ceni_pool_waiter *waiter, int64_t moment)
{
    if (moment == CENI_FOREVER) return;
    ceni_wheel_insert(&pool->patient->wheel, &waiter->timer, moment);
    bool planned = ceni_planted(earlier_deadline_unplanned) && pool->patient->next != CENI_FOREVER;
    if (moment < pool->patient->next && !planned) pool->patient->next = moment;
}

void ceni_patience_drop_locked(cen_pool *pool, ceni_pool_waiter *waiter)
{
    if (pool->patient && !ceni_planted(deadline_outlives_its_ask))
        ceni_wheel_cancel(&pool->patient->wheel, &waiter->timer);
}

int64_t ceni_patience_next_locked(const cen_pool *pool)
{
    return pool->patient ? pool->patient->next : CENI_FOREVER;
}

void ceni_patience_pass_locked(cen_pool *pool, int64_t now, ceni_followup *call)
{
    struct ceni_patience *patient = pool->patient;
    if (!patient || patient->next > now) return;
    ceni_wheel_advance(&patient->wheel, now, &patient->expired);
    call->status = CEN_TIMEOUT;
    for (unsigned count = 0; count < MOST_EXPIRED; count++) {
        ceni_wheel_timer *timer = ceni_timer_take(&patient->expired);
        if (!timer) break;
        pool->tally.timed_out++;
        ceni_waiters_drop_locked(pool, CENI_LIST_ENTRY(timer, ceni_pool_waiter, timer), CENI_WAIT_EXPIRED, call);
    }
    bool all = ceni_list_empty(&patient->expired) || ceni_planted(some_expired_forgotten);
    patient->next = all ? ceni_wheel_next(&patient->wheel) : now;
}

void ceni_patience_end(cen_pool *pool)
{
    if (pool->patient) ceni_free(pool->allocator, pool->patient, sizeof *pool->patient, _Alignof(struct ceni_patience));
    pool->patient = NULL;
}
