/* SPDX-License-Identifier: MIT */
/*
 * Sources: their only state is the time of the next element. There are no pushes, so no waiter needs a wake-up: a
 * waiting pop sleeps until that time.
 *
 * One word, `next`, is changed by compare-and-swap; the pop that changes it takes the element. A tick keeps its
 * phase: the next element is due at the first multiple of the period after now. So missed ticks are dropped, and at
 * most one is ready.
 *
 * Order table
 * [S1] pop | cas of next | acq_rel | S1 | which pop took the element | nothing by its order: the cas as one step decides which pop takes the element, and the word is the whole element
 */
#include "base/plant.h"
#include "port/port.h"
#include "sync/queue_internal.h"

static int64_t after_tick(int64_t due, int64_t period, int64_t now)
{
    if (ceni_planted(ticks_pile_up)) return due + period;
    int64_t missed = (now - due) / period;
    if (missed >= (CENI_FOREVER - due) / period) return CENI_FOREVER;
    return due + (missed + 1) * period;
}

ceni_attempt ceni_source_pop(ceni_source *source, int64_t now, void *element)
{
    int64_t due = ceni_load_relaxed(&source->next); /* carries nothing: the cas compares it */
    while (due != CENI_FOREVER && due <= now) {
        int64_t next = source->period ? after_tick(due, source->period, now) : CENI_FOREVER;
        if (!ceni_cas_acq_rel(&source->next, &due, next)) continue; /* [S1] */
        memcpy(element, &due, sizeof due);
        return CENI_DONE;
    }
    return CENI_BLOCKED;
}

int64_t ceni_source_next(const ceni_source *source)
{
    return ceni_load_relaxed(&((ceni_source *)(uintptr_t)source)->next); /* carries nothing: only how long to sleep */
}
