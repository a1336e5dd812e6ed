/* SPDX-License-Identifier: MIT */
/*
 * An event count: sleep until another thread has changed a condition.
 *
 *     waiter                                          the other thread
 *     seen = ceni_eventcount_read(&changes);          ... makes it true ...
 *     if (it is not true)                             ceni_eventcount_advance(&changes);
 *         ceni_eventcount_wait(&changes, seen);
 *     ... checks again ...
 *
 * Why not yield: a yielding waiter of real-time priority on a single processor keeps the other thread from running,
 * and waits forever. A sleeping waiter does not.
 *
 * No wake-up is lost. The waiter reads the count before it checks the condition. If it checks too early, the count
 * changes after it was read, and the wait returns.
 *
 * Order table
 * tag  site    | operation     | order   | pairs with | carries       | breaks if weakened
 * [V1] read    | load of count | acquire | [V2]       | the condition | a waiter sees the new count and the old condition, and sleeps forever
 * [V2] advance | add to count  | seq_cst | [V1]       | the condition | as [V1]
 *
 * Tested by tests/unit/record/owned_explored_test.c, tests/unit/record/real_time_test.c, tests/explore/pool_renew_test.c.
 */
#ifndef CENI_PORT_EVENTCOUNT_H
#define CENI_PORT_EVENTCOUNT_H

#include <stdint.h>

#include "base/atomic.h"
#include "base/plant.h"
#include "port/port.h"

typedef struct ceni_eventcount {
    _Atomic uint32_t count; /* any thread, atomically; a futex word */
} ceni_eventcount;

static inline uint32_t ceni_eventcount_read(ceni_eventcount *changes)
{
    return ceni_load_acquire(&changes->count); /* [V1] */
}

/* May return early: check the condition again. */
static inline void ceni_eventcount_wait(ceni_eventcount *changes, uint32_t seen)
{
    ceni_futex_wait(&changes->count, seen, CENI_FOREVER);
}

static inline void ceni_eventcount_advance(ceni_eventcount *changes)
{
    ceni_add_seq_cst(&changes->count, 1u); /* [V2] */
    if (!ceni_planted(eventcount_wakes_nobody)) ceni_futex_wake(&changes->count, UINT32_MAX);
}

#endif
