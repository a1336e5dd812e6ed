/* SPDX-License-Identifier: MIT */
/*
 * Double gives: a lease that has ended is given, discarded or left again.
 *
 * Such a call changes nothing and returns STALE, but few programs check the result of a give. So the pool counts the
 * call, and writes an event with both call sites: the take, if the slot was not lent since, and the second give.
 *
 * A copy of a lease names its pool. The variable that was given does not: its `pool` is NULL. Its `slot` is kept, and
 * the live pools are searched for the one that has the slot. A lease that was never taken has no slot, and is not
 * reported.
 *
 * The call site of the give must not cost the quick path a register. So the function only returns STALE, and the
 * inline function behind the macro passes the call site when it sees that.
 *
 * Invariants
 *  Y1 A stale lease keeps no memory alive. The pool is read only with a hand on it, which is taken under the lock of
 *     its queue, if the queue still belongs to that pool. The struct and the wait queue of a freed pool stay mapped
 *     (heads.c, waiters_memory.c).
 *  Y2 Only the count changes.
 *
 * Tested by tests/unit/pool/stale_test.c.
 */
#include <string.h>

#include "base/plant.h"
#include "pool/internal.h"
#include "port/port.h"

/* Take a hand on the pool of an ended lease. Returns false if that pool is gone. */
static bool hold(cen_pool *pool)
{
    ceni_waiters *waiters = pool->waiters;
    uint64_t id = pool->id;
    if (!waiters) return false;
    ceni_waiters_lock(waiters);
    bool live = waiters->pool == pool && waiters->pool_id == id && !pool->freed;
    if (live) pool->hands++;
    if (live && !ceni_planted(stale_give_uncounted)) pool->tally.stale_gives++;
    ceni_waiters_unlock(waiters);
    return live;
}

static void drop(cen_pool *pool)
{
    ceni_waiters_lock(pool->waiters);
    ceni_hand_drop_locked(pool);
}

/* The call site of the take; NULL if the slot was lent since. */
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
                         "ended lease given again at %s; it was taken at %s", where ? where : "an unknown place",
                         taken ? taken : "an unknown place (slot lent again since)");
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

/* The pool exists during the visit. The slot's memory may belong to another pool now; the generations show that. */
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

/* ---- Entry point ---------------------------------------------------------------------------------- */

cen_status cen_pool_give_failed_(const cen_lease *lease, cen_status status, const char *where)
{
    if (status != CEN_STALE || !lease) return status;
    if (lease->pool) tell_copy(lease->pool, lease, where);
    else tell_variable(lease, where);
    return status;
}
