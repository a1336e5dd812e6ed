/* SPDX-License-Identifier: MIT */
/* A pending waiter joins the wait queue: the middle of an asynchronous take, without all that is around it. */
#ifndef TESTS_SUPPORT_PENDING_H
#define TESTS_SUPPORT_PENDING_H

#include "pool/internal.h"
#include "port/port.h"

static inline cen_status join_pending(cen_pool *pool, ceni_pool_waiter *waiter)
{
    int64_t now = ceni_clock_now();
    ceni_waiters_lock(pool->waiters);
    bool closed =
        ceni_load_relaxed(&pool->waiters->ctl) & CENI_CTL_CLOSED; /* written under this lock; carries nothing */
    if (!closed) ceni_waiters_join_locked(pool, waiter, now);
    ceni_waiters_unlock(pool->waiters);
    if (closed) return CEN_CLOSED;
    ceni_waiters_tend(pool->waiters, pool->id, CENI_NO_INDEX);
    return CEN_OK;
}

#endif
