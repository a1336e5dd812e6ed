/* SPDX-License-Identifier: MIT */
/*
 * Events about something that a holder left open, such as a transaction, and that a reset has ended: one event for
 * each call site.
 *
 * The call site is that of the lease. The slot keeps it until the next lease begins, and the caller owns the slot
 * until then. Call sites are compared as strings, because two copies of one line of a header have different
 * addresses.
 *
 * Tested by tests/unit/pool/left_test.c.
 */
#include <string.h>

#include "base/plant.h"
#include "pool/internal.h"

/* Whether the call site is new. If the table is full, no further site is reported: events must not be written at the
 * rate of gives. */
static bool is_new_locked(cen_pool *pool, const char *where)
{
    if (ceni_planted(left_open_told_each_time)) return true;
    for (uint32_t i = 0; i < pool->left_sites; i++)
        if (strcmp(pool->left_by[i], where) == 0) return false;
    if (pool->left_sites == CENI_LEFT_SITES) return false;
    pool->left_by[pool->left_sites++] = where;
    return true;
}

void ceni_left_open(cen_pool *pool, uint32_t index, uint64_t generation, const char *what)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    const char *where = ceni_load_relaxed(&slot->where); /* came with the slot; carries nothing */
    uint64_t note = ceni_load_relaxed(&slot->note);      /* likewise; carries nothing */
    if (!where) where = "an unknown place";
    ceni_waiters_lock(pool->waiters);
    bool is_new = is_new_locked(pool, where);
    ceni_waiters_unlock(pool->waiters);
    if (!is_new) return;
    ceni_pool_event_tell(pool,
                         (ceni_occurrence){.kind = CEN_EVENT_LEFT_OPEN,
                                           .value = index,
                                           .where = where,
                                           .holder = ceni_slot_holder(note, generation) & ~CENI_HOLDER_DETACHED},
                         "%.100s by %s", what, where);
}
