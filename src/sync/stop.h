/* SPDX-License-Identifier: MIT */
/*
 * Stop tokens, for code that waits.
 *
 *     ceni_stop_wait wait;
 *     cen_status status = ceni_stop_join(&wait, stop, &word, PARKED, AWAKE);
 *     if (status != CEN_OK) return status;       the token is set: nothing to leave
 *     ...
 *     word = PARKED                              seq_cst
 *     if (!ceni_stop_is_hit(&wait)) sleep while word == PARKED
 *     ...
 *     ceni_stop_leave(&wait);
 *
 * A set marks the record, then changes the word from PARKED to AWAKE and wakes its sleeper. The sleeper treats this
 * as a spurious wake-up and checks its record.
 */
#ifndef CENI_SYNC_STOP_H
#define CENI_SYNC_STOP_H

#include <stdbool.h>
#include <stdint.h>

#include <cenote/stop.h>

#include "base/atomic.h"
#include "base/plant.h"

/* One wait. On the stack of the waiting thread. */
typedef struct ceni_stop_wait {
    /* fixed before it joins */
    cen_stop_token *stop; /* NULL: a wait without a token, which is never hit */
    _Atomic uint32_t *word;
    uint32_t parked, awake;
    /* any thread, atomically; `next` is written under the token's lock */
    _Atomic(struct ceni_stop_wait *) next;
    _Atomic uint32_t hit;
    /* under the token's lock */
    struct ceni_stop_wait *previous;
} ceni_stop_wait;

/* Join the token's list; `stop` NULL: no token. INTERRUPTED: the token is set. FORKED: it belongs to the parent
 * process. After both errors the record is in no list. No lock may be held. */
cen_status ceni_stop_join(ceni_stop_wait *wait, cen_stop_token *stop, _Atomic uint32_t *word, uint32_t parked,
                          uint32_t awake);

/* Leave the list, and wait for sets that walk it. Afterwards no other thread touches the record. */
void ceni_stop_leave(ceni_stop_wait *wait);

/* Return true if the token was set since the record joined. */
static inline bool ceni_stop_is_hit(ceni_stop_wait *wait)
{
    if (ceni_planted(stop_forgotten_on_reset)) return cen_stop_token_is_set(wait->stop);
    return wait->stop && ceni_load_seq_cst(&wait->hit); /* [S6] row in stop.c */
}

#endif
