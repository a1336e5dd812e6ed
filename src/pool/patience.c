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
 * The wheel is had when somebody asks with a deadline for the first time.
 */
#include "base/alloc.h"
#include "base/plant.h"
#include "pool/inside.h"
#include "port/port.h"

enum { MOST_EXPIRED = 64 }; /* without dropping the lock */

cen_status ceni_patience_need(cen_pool *pool)
{
    cen_status status = ceni_pool_need_runtime(pool);
    if (status != CEN_OK) return status;
    ceni_line_lock(pool->line);
    if (!pool->patient) {
        pool->patient = ceni_alloc(pool->allocator, sizeof *pool->patient, _Alignof(ceni_wheel));
        if (pool->patient) ceni_wheel_init(pool->patient, ceni_pool_now(pool));
    }
    status = pool->patient ? CEN_OK : CEN_NO_MEMORY;
    ceni_line_unlock(pool->line);
    return status;
}

void ceni_patience_set_locked(cen_pool *pool, ceni_pool_waiter *waiter, int64_t moment)
{
    if (moment != CENI_FOREVER) ceni_wheel_insert(pool->patient, &waiter->timer, moment);
}

void ceni_patience_drop_locked(cen_pool *pool, ceni_pool_waiter *waiter)
{
    if (pool->patient && !ceni_planted(deadline_outlives_its_ask)) ceni_wheel_cancel(pool->patient, &waiter->timer);
}

int64_t ceni_patience_next_locked(const cen_pool *pool)
{
    return pool->patient ? ceni_wheel_next(pool->patient) : CENI_FOREVER;
}

/* What has expired and is not told now stays in the wheel's next advance: it is put back. */
void ceni_patience_pass_locked(cen_pool *pool, int64_t now, ceni_call *call)
{
    if (!pool->patient || ceni_wheel_next(pool->patient) > now) return;
    ceni_list expired;
    ceni_list_init(&expired);
    ceni_wheel_advance(pool->patient, now, &expired);
    unsigned count = 0;
    call->status = CEN_TIMEOUT;
    for (ceni_timer *timer; (timer = ceni_timer_take(&expired)); count++) {
        ceni_pool_waiter *waiter = CENI_LIST_ENTRY(timer, ceni_pool_waiter, timer);
        if (count >= MOST_EXPIRED) {
            ceni_wheel_insert(pool->patient, timer, timer->moment);
            continue;
        }
        pool->tally.timed_out++;
        ceni_line_drop_locked(pool, waiter, CENI_WAIT_EXPIRED, call);
    }
}

void ceni_patience_end(cen_pool *pool)
{
    if (pool->patient) ceni_free(pool->allocator, pool->patient, sizeof *pool->patient, _Alignof(ceni_wheel));
    pool->patient = NULL;
}
