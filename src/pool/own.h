/* SPDX-License-Identifier: MIT */
/*
 * The pool's thread-local words. A note of a slot is the mark of its pool and its index. No word points into a pool,
 * so a pool may end without updating them. Marks repeat after 2^32 pools: a note is only a hint, and the slot's word
 * is checked before it is used.
 *
 * Hints belong to the thread, whatever its current holder is: they name slots that are warm here. The number of the
 * current holder, the count of its leases and its scopes belong to the holder, and move with it.
 *
 * Threads: each thread touches only its own words.
 */
#ifndef CENI_POOL_OWN_H
#define CENI_POOL_OWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/plant.h"
#include "pool/slot.h"
#include "port/port.h"
#include "sync/holder.h"

enum {
    CENI_HINTS = 8,       /* indexed by the pool's mark; two pools may share one and lose some speed */
    CENI_MORE_SCOPES = 2, /* more notes of a thread that has entered several pools; beyond that, slots are searched */
};

#define CENI_NO_INDEX UINT32_MAX

typedef struct ceni_callout ceni_callout;

typedef struct ceni_pool_own {
    ceni_holder current; /* the thread, or the task that it runs */
    /* By the pool's mark: the slot this thread had last, as a note of its offset in bytes, and the word it had then. */
    uint64_t hints[2 * CENI_HINTS];
    uint64_t scope[CENI_MORE_SCOPES];   /* notes of slots that this thread has entered, beside current.scope; 0: none */
    const struct ceni_callout *callout; /* the innermost callout that runs on this thread, on its stack; NULL: none */
    int64_t clock;                      /* the clock at the last give that read it because there were waiters ... */
    uint32_t counted;                   /* ... in the pool of this mark */
    uint16_t countdown;                 /* gives until the clock is read again ... */
    uint8_t batch;                      /* ... which one give in `batch` does */
    bool armed;                         /* the thread's exit hook is armed */
} ceni_pool_own;

_Static_assert(CENI_ROOM_HOLDER == 0, "the current holder is where the pool's words begin");
_Static_assert(sizeof(ceni_pool_own) <= CENI_ROOM_NUMBERS * sizeof(uint64_t), "the room that the seam has");

static inline uint64_t ceni_note(uint32_t mark, uint32_t index)
{
    return (uint64_t)mark << 32 | index;
}

static inline ceni_pool_own *ceni_pool_own_get(void)
{
    return (ceni_pool_own *)(void *)ceni_thread_room();
}

/* The index of the hint for a pool; each pool stores it. */
static inline uint32_t ceni_hint_at(uint32_t mark)
{
    return 2 * (mark % CENI_HINTS);
}

/* Only for ceni_note_slot. */
static inline void ceni_hint_put(ceni_pool_own *own, uint32_t mark, uint32_t index, uint64_t word)
{
    own->hints[ceni_hint_at(mark)] = ceni_note(mark, index << CENI_SLOT_SHIFT);
    own->hints[ceni_hint_at(mark) + 1] = word;
}

/* The slot of the hint; CENI_NO_INDEX: there is no hint for this pool. */
static inline uint32_t ceni_hint_get(const ceni_pool_own *own, uint32_t mark)
{
    uint64_t hint = own->hints[ceni_hint_at(mark)];
    return hint >> 32 == mark ? (uint32_t)hint >> CENI_SLOT_SHIFT : CENI_NO_INDEX;
}

/* The current holder has one more lease, attached. */
static inline void ceni_held_counts(ceni_pool_own *own)
{
    own->current.held++;
}

/* The current holder has ended a lease with this note: count one less if the lease was its own. The comparison
 * includes all bits above the generation, so a detached lease belongs to no holder. */
static inline void ceni_held_ends(ceni_pool_own *own, uint64_t note)
{
    own->current.held -= (note ^ own->current.note) >> CENI_HOLDER_SHIFT == 0 || ceni_planted(balance_counts_any_give);
}

/* Count a give while there are waiters. Returns false when the clock must be read. */
static inline bool ceni_give_counted(ceni_pool_own *own, uint32_t mark)
{
    if (own->counted != mark || own->countdown <= 1) return false;
    own->countdown--;
    return true;
}

#endif
