/* SPDX-License-Identifier: MIT */
/*
 * Pending waiters: waiters without a thread.
 *
 * A pending waiter has no thread that could search, so the pumping thread does everything for it. It grants an idle
 * object under the lock. If an object may be opened, it opens one after the lock is dropped. It repeats that in a
 * loop until nothing more is due.
 *
 * Order table
 * [A1] opened | load of ctl after the slot's word | seq_cst | L1 in waiters.c | whether the pool was closed meanwhile | an object stays idle in a closed pool
 */
#include "base/plant.h"
#include "pool/internal.h"
#include "port/port.h"

/* The opening failed: if the first waiter is pending, it fails with the driver's error. */
static void fail_first_locked(cen_pool *pool, const cen_error *why, ceni_followup *followup)
{
    ceni_pool_waiter *first = ceni_waiters_first_locked(pool->waiters);
    if (!first || !first->pending) return;
    pool->tally.failed++;
    if (first->error) *first->error = *why;
    first->error = NULL; /* it is complete */
    first->code = why->code;
    first->cause = (uint8_t)why->cause;
    ceni_waiters_drop_first_locked(pool, CENI_WAIT_SENT_AWAY, followup);
}

static void opened_in_vain(cen_pool *pool, uint32_t index, const cen_error *why)
{
    ceni_followup followup = {.status = why->status};
    ceni_waiters *waiters = pool->waiters;
    uint64_t id = pool->id;
    ceni_waiters_lock(waiters);
    pool->opening_for_pending -= !ceni_planted(vain_opening_counts_on);
    fail_first_locked(pool, why, &followup);
    ceni_place_vacate_quietly_locked(pool, index, CENI_SLOT_OPENING);
    ceni_waiters_follow_up(waiters, id, pool, &followup); /* it uses the pool only with a hand */
}

static void end_reloaded(cen_pool *pool, uint32_t index)
{
    static const char why[] = "pool reloaded during the opening";
    if (ceni_planted(reloaded_open_pumps)) ceni_place_end(pool, index, why);
    else ceni_place_end_quietly(pool, index, why);
}

/* Never pumps, neither directly nor by closing an object: the caller pumps, in a loop. A pump here could open again,
 * and each reload or resize during an open would add a level to the stack. */
void ceni_pending_open(cen_pool *pool, uint32_t index)
{
    cen_error error;
    ceni_waiters *waiters = pool->waiters;
    uint64_t id = pool->id, generation = ceni_slot_generation(pool, index);
    bool refused = ceni_load_relaxed(&waiters->ctl) & CENI_CTL_CLOSED; /* saves a useless call; carries nothing */
    cen_status status = refused ? ceni_pool_refuse_closed(pool->name, &error) : ceni_place_open(pool, index, &error);
    if (status != CEN_OK) {
        opened_in_vain(pool, index, &error);
        return;
    }
    ceni_waiters_lock(waiters);
    pool->opening_for_pending--;
    pool->opening--;
    bool published = ceni_idle_publish_locked(pool, index, generation, CENI_SLOT_OPENING);
    bool ends =
        !published && ceni_slot_move(ceni_slot_at(pool, index), generation, CENI_SLOT_OPENING, CENI_SLOT_CLOSING);
    if (ends) ceni_place_leaves_locked(pool);
    else ceni_places_counted_locked(pool);
    ceni_waiters_unlock(waiters);
    if (ends) {
        end_reloaded(pool, index);
        return;
    }
    uint64_t ctl = ceni_load_seq_cst(&waiters->ctl); /* [A1] */
    if (ctl & (CENI_CTL_CLOSED | CENI_CTL_SURPLUS)) ceni_pool_retire_quietly(waiters, id, index, generation);
}
