/* SPDX-License-Identifier: MIT */
/*
 * What the pool remembers per thread. A slot is noted by the mark of its pool
 * and its index: nothing here points into a pool, so nothing here needs to
 * hear of a pool's end. Marks come round after four thousand million pools; a
 * note is a guess, and the slot's word is asked before it is believed.
 *
 * Threads: each touches its own.
 */
#ifndef CENI_POOL_OWN_H
#define CENI_POOL_OWN_H

#include <stdbool.h>
#include <stdint.h>

#include "port/port.h"

enum {
    CENI_HINTS = 8,       /* by the pool's mark; two pools may share one and lose some speed */
    CENI_SCOPE_NOTES = 4, /* pools that a thread has entered at one time; beyond, slots are searched */
};

typedef struct ceni_callout ceni_callout;

typedef struct ceni_pool_own {
    uint64_t owner_note; /* the thread's number where a slot's note has it; set before the first hint is */
    /* By the pool's mark: the slot this thread had last, and its word while it had it. */
    uint64_t hint[CENI_HINTS];
    uint64_t hint_word[CENI_HINTS];
    uint64_t scope[CENI_SCOPE_NOTES]; /* slots this thread has entered; 0: none */
    const struct ceni_callout *callout; /* of a driver or visitor that runs on this thread, on its stack; NULL: none */
    int64_t clock;      /* read last by this thread when it gave while others waited ... */
    uint32_t counted;   /* ... for the pool of this mark */
    uint16_t countdown; /* gives until it is read again ... */
    uint16_t batch;     /* ... of so many */
    uint32_t scopes_beyond; /* scopes open that found no room among the notes */
    bool armed; /* the thread's end will be noticed */
} ceni_pool_own;

_Static_assert(sizeof(ceni_pool_own) <= (CENI_THREAD_ROOM - 1) * sizeof(uint64_t), "the room that the seam has");

static inline uint64_t ceni_note(uint32_t mark, uint32_t index)
{
    return (uint64_t)mark << 32 | index;
}

static inline ceni_pool_own *ceni_pool_own_get(void)
{
    return (ceni_pool_own *)(void *)ceni_thread_room();
}

/* Counts a give while others wait; false when the clock is to be read. */
static inline bool ceni_give_counted(ceni_pool_own *own, uint32_t mark)
{
    if (own->counted != mark || own->countdown <= 1) return false;
    own->countdown--;
    return true;
}

#endif
