/* SPDX-License-Identifier: MIT */
/*
 * What a process has one of, and a forked child has anew: a directory, its events.
 *
 *     static CENI_STATIC struct { ceni_owned owned; ... } mine;
 *     if (ceni_owned_begin(&mine.owned)) {      the first who comes in this process
 *         ... make it, from whatever the parent has left there ...
 *         ceni_owned_ready(&mine.owned);
 *     }
 *
 * In the child the parent's may be locked by a thread that does not exist, or in the
 * middle of a change. The claim names the process: a child that is forked in the
 * middle of it does not wait for a thread that it does not have. A thread that comes while
 * another makes it sleeps until it is ready, once in a process' life.
 *
 * Order table
 * tag  site  | operation              | order   | pairs with | carries       | breaks if weakened
 * [O1] is ready | load of ready_for      | acquire | [O2]       | what was made | a thread uses what is half made
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
    _Atomic uint64_t claimed_by; /* the epoch of the process whose it is to be */
    _Atomic uint64_t ready_for;  /* and of the one whose it is */
    ceni_eventcount changes;     /* of ready_for */
} ceni_owned;

static inline bool ceni_owned_is_ready(ceni_owned *owned, uint64_t epoch)
{
    return ceni_load_acquire(&owned->ready_for) == epoch; /* [O1] */
}

/* True: the caller is to make it and then to say that it is ready. False: it is. */
static inline bool ceni_owned_begin(ceni_owned *owned)
{
    uint64_t epoch = ceni_fork_epoch();
    while (!ceni_owned_is_ready(owned, epoch)) {
        uint32_t seen = ceni_eventcount_read(&owned->changes);
        uint64_t claim = ceni_load_relaxed(&owned->claimed_by); /* carries nothing */
        if (claim != epoch) {
            if (ceni_cas_relaxed(&owned->claimed_by, &claim, epoch)) return true; /* carries nothing: decides who */
            continue;
        }
        /* Again, since the count was read only after the first look. */
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
