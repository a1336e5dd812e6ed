/* SPDX-License-Identifier: MIT */
/*
 * Sources: the time of the next element is all there is. Nobody pushes, so
 * nobody has to be woken: a pop that waits does so until that time.
 *
 * One word, `next`, is compared and swapped; whoever moves it takes the
 * element. A tick keeps the rhythm of the first: the next is due at the first
 * multiple of the period after now, so that ticks nobody took are dropped and
 * at most one is waiting.
 *
 * Order table
 * [S1] pop | cas of next | acq_rel | S1 | who took the element | nothing by its order: that it is one step decides who takes the element, and the word is all that is taken
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
