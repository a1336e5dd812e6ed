/* SPDX-License-Identifier: MIT */
/*
 * Closing and freeing a pool.
 *
 * Close marks the wait queue (no waiter joins, no object is opened), sends the waiters away, closes idle objects, and
 * waits for `live` to become 0. Leases that are still out at the deadline are revoked. Their slots are REVOKING while
 * the driver's interrupt runs, so that a give at that moment does not close the object during the call, and REVOKED
 * afterwards. Every way of closing an object ends in ceni_place_vacate_locked. The last object wakes the closer or,
 * if the pool was freed meanwhile, frees its memory.
 *
 * The naive version sweeps the idle slots and then marks the pool: an object that is given between the two stays idle
 * forever. Here the mark comes first. A give after the mark sees it [T4 in give.c]; a give before it is found by the
 * sweep [S2 in slot.c].
 *
 * Order table
 * [C2] await | load of turns  | acquire | O4 in places.c | nothing: the lock follows | nothing; it is the futex's word
 */
#include "base/error.h"
#include "base/plant.h"
#include "pool/internal.h"
#include "port/deadline.h"
#include "port/port.h"
#include "port/process_exit.h"

/* Close the object if it is still idle. */
static bool close_one(cen_pool *pool, uint32_t index, uint64_t word, bool was_idle)
{
    ceni_waiters_lock(pool->waiters);
    bool ours = ceni_idle_withdraw_locked(pool, index, ceni_word_generation(word));
    if (ours) ceni_slot_at(pool, index)->notes = (ceni_slot_notes){.was_idle = was_idle};
    ceni_waiters_unlock(pool->waiters);
    if (ours) ceni_place_end(pool, index, "pool closed");
    return ours;
}

static uint32_t close_idle(cen_pool *pool)
{
    uint32_t closed = 0, places = ceni_place_reach(pool);
    for (uint32_t index = 0; index < places; index++) {
        uint64_t word = ceni_word_at(pool, index);
        if (ceni_word_state(word) == CENI_SLOT_IDLE) closed += close_one(pool, index, word, true);
    }
    return closed;
}

static uint32_t live_now(cen_pool *pool)
{
    ceni_waiters_lock(pool->waiters);
    uint32_t live = pool->live;
    ceni_waiters_unlock(pool->waiters);
    return live;
}

/* Wait until no object is left. Returns false if some are left at `moment`. With a manual runtime, runs what is due
 * meanwhile. */
static bool await_empty(cen_pool *pool, int64_t moment)
{
    cen_runtime *runtime = ceni_pool_runtime(pool);
    bool tends = pool->helped && runtime && ceni_runtime_is_manual(runtime);
    for (;;) {
        uint32_t seen = ceni_load_acquire(&pool->waiters->turns); /* [C2] */
        int64_t until = tends ? ceni_runtime_tend(runtime) : moment;
        if (live_now(pool) == 0) return true;
        bool late = ceni_futex_wait(&pool->waiters->turns, seen, until < moment ? until : moment) == CENI_TIMED_OUT;
        if (late && (!tends || ceni_clock_now() >= moment)) return live_now(pool) == 0;
    }
}

void ceni_slot_interrupt(cen_pool *pool, ceni_slot *slot)
{
    if (!pool->calls.interrupt) return;
    void *object = ceni_load_relaxed(&slot->object); /* the caller owns the slot, REVOKING; carries nothing */
    ceni_callout callout;
    ceni_callout_begin(&callout, pool);
    pool->calls.interrupt(pool->driver.argument, object);
    ceni_callout_end(&callout);
}

/* Move a HELD slot to REVOKING and call interrupt. Returns true then, and the caller owns the slot. */
static bool begin_revoking(cen_pool *pool, uint32_t index, uint64_t generation)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    if (!ceni_slot_move(slot, generation, CENI_SLOT_HELD, CENI_SLOT_REVOKING)) return false;
    ceni_waiters_lock(pool->waiters);
    pool->revoked++; /* before its holder can give it back */
    ceni_waiters_unlock(pool->waiters);
    ceni_slot_interrupt(pool, slot);
    return true;
}

bool ceni_slot_reclaim(cen_pool *pool, uint32_t index, uint64_t generation)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    if (!begin_revoking(pool, index, generation) &&
        !ceni_slot_move(slot, generation, CENI_SLOT_REVOKED, CENI_SLOT_REVOKING))
        return false;
    ceni_orphan_part(pool, index, generation, CENI_LOST_BY_LIMIT);
    return true;
}

bool ceni_slot_revoke(cen_pool *pool, uint32_t index, uint64_t generation)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    if (!begin_revoking(pool, index, generation)) return false;
    if (ceni_slot_move(slot, generation, CENI_SLOT_REVOKING, CENI_SLOT_REVOKED)) {
        ceni_holder_settle(pool, index, generation);
        return true;
    }
    ceni_slot_move(slot, generation, CENI_SLOT_RETURNED, CENI_SLOT_CLOSING); /* it was given meanwhile */
    ceni_use_ends(pool, slot, generation);
    ceni_revoked_is_back(pool);
    ceni_place_end(pool, index, "revoked, then given back");
    return true;
}

/* The holder is read before the lease ends. */
static void revoke_and_tell(cen_pool *pool, uint32_t index, uint64_t generation)
{
    cen_object_view holding;
    bool known = ceni_slot_holding(pool, index, &holding) && holding.generation == generation;
    if (!ceni_slot_revoke(pool, index, generation) || ceni_planted(close_revokes_in_silence)) return;
    if (!known) holding = (cen_object_view){.index = index};
    ceni_tell_held(pool, CEN_EVENT_REVOKED, &holding, "; lease revoked: pool closed");
}

/* A slot may still become idle by a give, and be lent to a take that began before the close. So each slot is checked
 * until it is neither held nor idle. */
void ceni_close_revoke_all(cen_pool *pool)
{
    uint32_t places = ceni_place_reach(pool);
    for (uint32_t index = 0; index < places; index++) {
        for (;;) {
            uint64_t word = ceni_word_at(pool, index);
            ceni_slot_state state = ceni_word_state(word);
            if (state == CENI_SLOT_HELD) revoke_and_tell(pool, index, ceni_word_generation(word));
            else if (state == CENI_SLOT_IDLE) close_one(pool, index, word, false);
            else break;
        }
    }
}

/* The closer has a hand, because a completion callback that this thread runs for a pending take may free the pool. */
bool ceni_close_mark(cen_pool *pool)
{
    ceni_waiters_lock(pool->waiters);
    /* written under this lock; carries nothing */
    bool first = !(ceni_load_relaxed(&pool->waiters->ctl) & CENI_CTL_CLOSED);
    ceni_waiters_mark_locked(pool->waiters, 0, CENI_CTL_CLOSED);
    pool->closed = true;
    if (first) pool->tally.closed_before = pool->tally.closed;
    pool->hands += first;
    ceni_places_counted_locked(pool);
    ceni_waiters_unlock(pool->waiters);
    return first;
}

void ceni_close_begin(cen_pool *pool, cen_close_report *report)
{
    /* so that every lease has an age at the deadline */
    if (!ceni_planted(close_meets_nobody)) ceni_slots_meet_holders(pool);
    ceni_keeper_retire(pool);
    ceni_pool_event_tell(pool, (ceni_occurrence){.kind = CEN_EVENT_POOL_CLOSED}, "closed");
    ceni_checkups_send_away(pool);
    report->waiting = ceni_planted(close_leaves_waiters) ? 0 : ceni_waiters_send_away(pool);
    report->idle = close_idle(pool);
    ceni_later_cancel_all(pool);
}

void ceni_close_count_locked(const cen_pool *pool, cen_close_report *report)
{
    report->given = (uint32_t)(pool->tally.closed - pool->tally.closed_before);
    report->revoked = pool->revoked;
    report->busy = pool->live - pool->revoked;
}

cen_status ceni_close_answer(cen_pool *pool, const cen_close_report *report, cen_error *error)
{
    return report->revoked + report->busy == 0 ? CEN_OK : ceni_explain_close(pool, report, error);
}

static void let_go(cen_pool *pool)
{
    ceni_waiters_lock(pool->waiters);
    ceni_hand_drop_locked(pool);
}

static cen_close_report close_until(cen_pool *pool, int64_t moment)
{
    cen_close_report report = CEN_SIZED(cen_close_report);
    ceni_close_begin(pool, &report);
    if (ceni_exiting()) ceni_hand_work_here(pool);
    if (!await_empty(pool, moment)) ceni_close_revoke_all(pool);
    ceni_waiters_lock(pool->waiters);
    ceni_close_count_locked(pool, &report);
    ceni_waiters_unlock(pool->waiters);
    return report;
}

cen_status cen_pool_close(cen_pool *pool, cen_deadline deadline, cen_close_report *out, cen_error *error)
{
    cen_status status = ceni_pool_check(pool, "cen_pool_close", error);
    if (status == CEN_OK && out) status = cen_sized_check(out, sizeof *out, "cen_pool_close: out", error);
    if (status != CEN_OK) return status;
    if (ceni_callout_inside(pool)) return ceni_pool_misuse(pool, "a close", error);
    if (!ceni_close_mark(pool)) return ceni_pool_refuse_closed(pool->name, error);
    deadline = ceni_deadline_or(deadline, (cen_deadline){ceni_setting(&pool->default_deadline)});
    cen_close_report report = close_until(pool, ceni_deadline_moment(deadline, ceni_clock_now()));
    if (out) cen_sized_write(out, &report, sizeof report);
    status = ceni_close_answer(pool, &report, error);
    let_go(pool);
    return status;
}

/* Move the pool to the directory of freed pools, if objects are still out: a holder that ends without giving must
 * find the pool in one of the directories at every moment. Leaves a hand on the pool. */
static void bury(cen_pool *pool)
{
    ceni_waiters_lock(pool->waiters);
    pool->hands++;
    bool out = pool->live > 0;
    ceni_waiters_unlock(pool->waiters);
    if (out) {
        pool->freed_entry = (ceni_directory_entry){.kind = "pool", .name = pool->name, .object = pool};
        ceni_directory_join(ceni_directory_freed(), &pool->freed_entry);
    }
    ceni_directory_leave(ceni_directory_process(), &pool->entry);
}

cen_status cen_pool_free(cen_pool *pool)
{
    if (!pool) return CEN_OK;
    if (!ceni_pool_is_ours(pool)) {
        ceni_pool_release_memory(pool); /* the queue and the objects belong to the parent */
        return CEN_OK;
    }
    if (ceni_callout_inside(pool)) return CEN_MISUSE;
    if (ceni_close_mark(pool)) {
        close_until(pool, 0);
        let_go(pool);
    }
    ceni_closing_pass(pool, CENI_FOREVER);
    ceni_pool_events_finish(pool);
    bury(pool);
    ceni_hand_await_work(pool);
    ceni_waiters_lock(pool->waiters);
    pool->freed = true;
    ceni_waiters_unlock(pool->waiters);
    ceni_orphans_end(pool);
    ceni_waiters_lock(pool->waiters);
    ceni_hand_drop_locked(pool);
    return CEN_OK;
}
