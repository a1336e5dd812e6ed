/* SPDX-License-Identifier: MIT */
/*
 * Double gives: a lease that has ended is given, discarded or left again.
 *
 * Such a call changes nothing and returns STALE, but few programs look at what a give returns. So the pool counts the call and
 * tells it with both places: the call that took the object, if its slot was not lent since, and the call that gave it again.
 *
 * A copy of a lease names its pool. The variable that was given itself does not any more: its `pool` is NULL. Its `slot` is left,
 * and the live pools are searched for the one that has it. A lease that was never taken has no slot, and is not told.
 *
 * The place of the give must not cost the quick path a register. So give itself says only STALE, and the inline function that the
 * macro is passes the place when it sees that.
 *
 * Invariants
 *  Y1 A stale lease keeps no memory. The pool is read only with a hand on it, which is taken under the lock of its line, if
 *     the line is still that pool's. The struct and the line of a freed pool stay mapped (heads.c, waiters_memory.c).
 *  Y2 Nothing but the count changes.
 *
 * Tested by tests/unit/pool/stale_test.c.
 */
#include <string.h>

#include "base/plant.h"
#include "pool/internal.h"
#include "port/port.h"

/* Takes a hand on the pool of an ended lease; false if that pool is gone. */
static bool hold(cen_pool *pool)
{
    ceni_waiters *line = pool->line;
    uint64_t id = pool->id;
    if (!line) return false;
    ceni_waiters_lock(line);
    bool live = line->pool == pool && line->pool_id == id && !pool->freed;
    if (live) pool->hands++;
    if (live && !ceni_planted(stale_give_uncounted)) pool->tally.stale_gives++;
    ceni_waiters_unlock(line);
    return live;
}

static void drop(cen_pool *pool)
{
    ceni_waiters_lock(pool->line);
    ceni_hand_drop_locked(pool);
}

/* Where the ended lease was taken; NULL if its slot was lent since. */
static const char *taken_at(ceni_slot *slot, uint64_t generation, uint64_t *holder)
{
    uint64_t word = ceni_slot_word(slot);
    const char *where = ceni_load_relaxed(&slot->where); /* compared below; carries nothing */
    uint64_t note = ceni_load_relaxed(&slot->note);      /* likewise; carries nothing */
    bool same = ceni_word_generation(word) == ceni_word_generation(ceni_word(generation, 0));
    *holder =
        same ? ceni_slot_holder(note, ceni_word_generation(word)) & ~(CENI_HOLDER_DETACHED | CENI_HOLDER_ENDED) : 0;
    return *holder && ceni_slot_word(slot) == word ? where : NULL;
}

static void tell(cen_pool *pool, const cen_lease *lease, uint32_t index, const char *where)
{
    uint64_t holder;
    const char *taken = taken_at(ceni_slot_at(pool, index), lease->generation, &holder);
    ceni_pool_event_tell(pool,
                         (ceni_occurrence){.kind = CEN_EVENT_STALE_GIVE,
                                           .status = CEN_STALE,
                                           .value = index,
                                           .holder = holder,
                                           .where = taken,
                                           .given_where = where},
                         "a lease that has ended was given again at %s; it was taken at %s",
                         where ? where : "an unknown place",
                         taken ? taken : "an unknown place, and its slot was lent since");
}

static void tell_copy(cen_pool *pool, const cen_lease *lease, const char *where)
{
    if (!ceni_pool_is_ours(pool) || ceni_pool_is_newer(pool, lease->generation) || !hold(pool)) return;
    uint32_t index = ceni_slot_index(pool, lease->slot);
    if (index != CENI_NO_INDEX) tell(pool, lease, index, where);
    drop(pool);
}

/* ---- A lease that names no pool ------------------------------------------------------------- */

typedef struct search {
    const cen_lease *lease;
    cen_pool *pool; /* found; has a hand */
    uint32_t index;
} search;

/* The pool cannot vanish during the visit. Memory that a pool gave back may be another's slots by now: its generations tell. */
static void visit(void *argument, ceni_directory_entry *entry)
{
    search *s = argument;
    cen_pool *pool = (cen_pool *)(uintptr_t)entry->object;
    if (s->pool || strcmp(entry->kind, "pool") != 0 || !ceni_pool_is_ours(pool)) return;
    s->index = ceni_slot_index(pool, s->lease->slot);
    if (s->index == CENI_NO_INDEX || ceni_pool_is_newer(pool, s->lease->generation)) return;
    uint64_t generation = ceni_word_generation(ceni_word(s->lease->generation, 0));
    if (ceni_slot_generation(pool, s->index) >= generation && hold(pool)) s->pool = pool;
}

static void tell_variable(const cen_lease *lease, const char *where)
{
    search s = {.lease = lease};
    if (!lease->slot || ceni_planted(stale_variable_unseen)) return;
    ceni_directory_each(ceni_directory_process(), visit, &s);
    if (!s.pool) return;
    tell(s.pool, lease, s.index, where);
    drop(s.pool);
}

/* ---- The way here ------------------------------------------------------------------------------ */

cen_status cen_pool_give_failed_(const cen_lease *lease, cen_status status, const char *where)
{
    if (status != CEN_STALE || !lease) return status;
    if (lease->pool) tell_copy(lease->pool, lease, where);
    else tell_variable(lease, where);
    return status;
}
