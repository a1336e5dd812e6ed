/* SPDX-License-Identifier: MIT */
/*
 * What the pool remembers per thread. A slot is noted by the mark of its pool
 * and its index: nothing here points into a pool, so nothing here needs to
 * hear of a pool's end. Marks come round after four thousand million pools; a
 * note is a guess, and the slot's word is asked before it is believed.
 *
 * Hints are the thread's, whoever its current holder is: they say what is warm
 * here. Whose what is taken is, how much that is, and what has been entered are
 * the current holder's, and go with it.
 *
 * Threads: each touches its own.
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
    CENI_HINTS = 8,       /* by the pool's mark; two pools may share one and lose some speed */
    CENI_MORE_SCOPES = 2, /* notes of a thread that has entered several pools at one time; beyond, slots are searched */
};

#define CENI_NO_INDEX UINT32_MAX

typedef struct ceni_callout ceni_callout;

typedef struct ceni_pool_own {
    ceni_holder current; /* the thread, or the task that it runs */
    /* By the pool's mark: the slot this thread had last, as a note of its offset in bytes, and its word while it had it. */
    uint64_t hints[2 * CENI_HINTS];
    uint64_t scope[CENI_MORE_SCOPES];   /* slots this thread itself has entered beside current.scope; 0: none */
    const struct ceni_callout *callout; /* of a driver or visitor that runs on this thread, on its stack; NULL: none */
    int64_t clock;                      /* read last by this thread when it gave while others waited ... */
    uint32_t counted;                   /* ... for the pool of this mark */
    uint16_t countdown;                 /* gives until it is read again ... */
    uint8_t batch;                      /* ... of so many */
    bool armed;                         /* the thread's end will be noticed */
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

/* Where the hint for a pool is; a pool keeps it ready. */
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

/* The slot that the hint is of; CENI_NO_INDEX: there is none for this pool. */
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

/* The current holder has ended a lease that had this note: one less, if it was its own. Its number is compared with all
 * above the generation: what was detached is nobody's. */
static inline void ceni_held_ends(ceni_pool_own *own, uint64_t note)
{
    own->current.held -= (note ^ own->current.note) >> CENI_HOLDER_SHIFT == 0 || ceni_planted(balance_counts_any_give);
}

/* Counts a give while others wait; false when the clock is to be read. */
static inline bool ceni_give_counted(ceni_pool_own *own, uint32_t mark)
{
    if (own->counted != mark || own->countdown <= 1) return false;
    own->countdown--;
    return true;
}

#endif
