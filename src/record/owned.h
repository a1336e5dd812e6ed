/* SPDX-License-Identifier: MIT */
/*
 * Per-process singletons that a forked child creates again: the directory, the events.
 *
 *     static CENI_STATIC struct { ceni_owned owned; ... } mine;
 *     if (ceni_owned_begin(&mine.owned)) {      true for the first caller in this process
 *         ... make it, whatever the parent has left there ...
 *         ceni_owned_ready(&mine.owned);
 *     }
 *
 * In the child the parent's object may be locked by a thread that does not exist there, or be in the middle of a
 * change. The claim contains the process's epoch, so a child that is forked during a claim does not wait for a thread
 * that it does not have. A caller that finds another thread making the object sleeps until it is ready. That can
 * happen only once in the life of a process.
 *
 * Order table
 * tag  site  | operation              | order   | pairs with | carries       | breaks if weakened
 * [O1] is ready | load of ready_for      | acquire | [O2]       | what was made | a thread uses an object that is half made
 * [O2] ready | store of ready_for     | release | [O1]       | what was made | as [O1]
 */
#ifndef CENI_RECORD_OWNED_H
#define CENI_RECORD_OWNED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/plant.h"
#include "port/eventcount.h"
#include "port/port.h"

typedef struct ceni_owned {
    /* any thread, atomically */
    _Atomic uint64_t claimed_by; /* the epoch of the process that makes it */
    _Atomic uint64_t ready_for;  /* the epoch of the process that has made it */
    ceni_eventcount changes;     /* of ready_for */
} ceni_owned;

static inline bool ceni_owned_is_ready(ceni_owned *owned, uint64_t epoch)
{
    return ceni_load_acquire(&owned->ready_for) == epoch; /* [O1] */
}

/* Returns true if the caller has to make the object and then call ceni_owned_ready; false if it is ready. */
static inline bool ceni_owned_begin(ceni_owned *owned)
{
    uint64_t epoch = ceni_fork_epoch();
    while (!ceni_owned_is_ready(owned, epoch)) {
        uint32_t seen = ceni_eventcount_read(&owned->changes);
        uint64_t claim = ceni_load_relaxed(&owned->claimed_by); /* carries nothing */
        if (claim != epoch) {
            if (ceni_cas_relaxed(&owned->claimed_by, &claim, epoch)) return true; /* picks the maker; carries nothing */
            continue;
        }
        /* Check again: the count was read after the first check. */
        if (ceni_owned_is_ready(owned, epoch) && !ceni_planted(owned_sleeps_without_look)) break;
        ceni_eventcount_wait(&owned->changes, seen);
    }
    return false;
}

static inline void ceni_owned_ready(ceni_owned *owned)
{
    ceni_store_release(&owned->ready_for, ceni_fork_epoch()); /* [O2] */
    ceni_eventcount_advance(&owned->changes);
}

#endif
