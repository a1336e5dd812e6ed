/* SPDX-License-Identifier: MIT */
/*
 * Load shedding: whether a waiter is sent away, because waits have exceeded a target for a whole interval.
 *
 *              waited target or more, for a whole interval
 *     CALM ───────────────────────────────────────────────▶ SHEDDING: one at once, the next after
 *      ▲                                                     │ interval, interval/√2, interval/√3 ...
 *      └──── the next to be served waited less than target, ─┘
 *            or is the only one
 *
 * This is CoDel's control law. A wait queue that is long for a moment does no harm: absorbing bursts is its purpose.
 * But if even the next waiter to be served has always waited for long, all waiters are served late and no more of
 * them are served. If some are sent away, the same number are served, and sooner. Shedding becomes more frequent
 * until the waits become shorter.
 *
 * The decision is made whenever a waiter is about to be served. It reads no clock and is under the pool's lock. Each
 * class of priority has its own state: otherwise the short waits of high-priority waiters would hide the long waits
 * of the others.
 */
#ifndef CENI_POOL_SHED_H
#define CENI_POOL_SHED_H

#include <stdbool.h>
#include <stdint.h>

/* All zero at first. */
typedef struct ceni_shed {
    bool above;     /* the last waiter served had waited for target or more ... */
    int64_t since;  /* ... and so had all since this moment */
    bool active;    /* an episode of shedding is running */
    uint32_t step;  /* the pause between two is interval / √step */
    int64_t next;   /* when the next one is due */
    uint64_t count; /* takes shed in this episode */
} ceni_shed;

/* A waiter that has waited for `waited` is about to be served. Returns true if it must be shed instead. `alone`:
 * there is no other waiter of its class. */
bool ceni_shed_judge(ceni_shed *shed, int64_t target, int64_t interval, int64_t waited, bool alone, int64_t now);

/* A waiter was served without a decision. */
void ceni_shed_note(ceni_shed *shed, int64_t target, int64_t waited, bool alone, int64_t now);

/* The class has no waiters now. */
void ceni_shed_calm(ceni_shed *shed);

#endif
