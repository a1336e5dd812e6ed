/* SPDX-License-Identifier: MIT */
/*
 * Driver calls that complete later: the driver's function only starts them, and their completion is reported with a
 * ticket (cen_driver_done).
 *
 *     helper: picks a chore ▶ issues a ticket, under the lock ▶ start ▶ picks the next
 *     done:   redeems the ticket, under the lock ▶ what follows a call that returns ▶ plans
 *     cancel: withdraws the ticket, under the lock ▶ cancel, with no lock held
 *
 * Everything else is as with a blocking driver: the chore counts in its capacity, the slot is OPENING, RESETTING,
 * TESTING or CLOSING, and its place counts (L2), from before start is called until done. In between the slot belongs
 * to the thread that will redeem its ticket.
 *
 * Invariants
 *  N1 A ticket is redeemed once. Its number is in the notes of its slot from issue
 *     to redemption, both under the lock, and no other ticket of the process has
 *     the same number.
 *  N2 A ticket that was not redeemed has a hand on the pool. Redeeming drops the
 *     hand as its last step. So the pool exists until then, even if it was closed
 *     or freed.
 *  N3 A ticket is withdrawn at most once, and never after it was redeemed. The
 *     driver's cancel may still run just after another thread has reported done.
 *  N4 An object that is opened under a withdrawn ticket is never idle: its slot
 *     goes from OPENING to CLOSING.
 *  N5 In a closed pool tickets are issued only for closes. So a close that withdraws
 *     all tickets has withdrawn all there will be.
 *
 * A ticket may be used by mistake long after its pool is gone. So it names the wait queue, which always exists
 * (waiters.h). The pool is read only under that queue's lock, and only if the queue still belongs to it.
 *
 * Tested by tests/unit/pool/driver_later_test.c, tests/explore/pool_driver_later_test.c,
 * tests/stress/pool_life_stress.c.
 */
#include "base/plant.h"
#include "base/statics.h"
#include "pool/internal.h"
#include "port/port.h"
#include "sync/future.h"

/* ticket.number = the call's number | the slot's index */
enum { INDEX_BITS = 20 };
_Static_assert(CEN_POOL_MAX <= 1 << INDEX_BITS, "an index fits");
#define NUMBERS ((UINT64_C(1) << (64 - INDEX_BITS)) - 1)

/* The index in the ticket of an orphan's close, which has no slot. */
#define NO_SLOT ((UINT64_C(1) << INDEX_BITS) - 1)
_Static_assert(CEN_POOL_MAX <= (1 << INDEX_BITS) - 1, "no slot has that index");

static uint64_t next_number(void)
{
    static CENI_STATIC _Atomic uint64_t last;
    return (ceni_add_relaxed(&last, 1) + 1) & NUMBERS; /* a number; carries nothing */
}

static cen_ticket ticket_of(cen_pool *pool, uint32_t index, uint64_t number)
{
    return (cen_ticket){.pool = pool,
                        .number = number << INDEX_BITS | index,
                        .line_ = pool->waiters,
                        .epoch_ = ceni_setting(&pool->epoch)};
}

bool ceni_later_does(const cen_pool *pool, ceni_chore chore)
{
    switch (chore) {
    case CENI_CHORE_OPEN: return pool->calls.open_async;
    case CENI_CHORE_RESET: return pool->calls.reset_async;
    case CENI_CHORE_CLOSE: return pool->calls.close_async;
    default: return pool->calls.test_async;
    }
}

/* ---- Starting --------------------------------------------------------------------------- */

cen_ticket ceni_later_issue_locked(cen_pool *pool, ceni_chore chore, uint32_t index, bool for_minimum)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    slot->notes = (ceni_slot_notes){
        .has_ticket = true,
        .is_minimum = for_minimum,
        .is_wanted = chore == CENI_CHORE_TEST && slot->notes.is_wanted,
        .was_idle = chore == CENI_CHORE_CLOSE && slot->notes.was_idle,
    };
    slot->notes.call_number = next_number() & NUMBERS; /* a no-op, for the compiler's warning */
    pool->hands++;
    return ticket_of(pool, index, slot->notes.call_number);
}

void ceni_later_start(cen_pool *pool, ceni_chore chore, uint32_t index, cen_ticket ticket)
{
    void *argument = pool->driver.argument;
    void *object = NULL;
    if (chore != CENI_CHORE_OPEN)
        object = ceni_load_relaxed(&ceni_slot_at(pool, index)->object); /* came with the slot; carries nothing */
    ceni_inline_run here; /* inline jobs that the driver's call causes run after it */
    ceni_inline_begin(&here);
    ceni_callout callout;
    ceni_callout_begin(&callout, pool);
    switch (chore) {
    case CENI_CHORE_OPEN: pool->calls.open_async(argument, ticket); break;
    case CENI_CHORE_RESET: pool->calls.reset_async(argument, object, ticket); break;
    case CENI_CHORE_CLOSE: pool->calls.close_async(argument, object, ticket); break;
    default: pool->calls.test_async(argument, object, ticket); break;
    }
    ceni_callout_end(&callout);
    ceni_inline_end(&here);
}

cen_ticket ceni_later_ticket_locked(cen_pool *pool, uint64_t *number)
{
    *number = next_number();
    return ticket_of(pool, (uint32_t)NO_SLOT, *number);
}

void ceni_later_close_orphan(cen_pool *pool, void *object, cen_ticket ticket)
{
    ceni_inline_run here; /* as above */
    ceni_inline_begin(&here);
    ceni_callout callout;
    ceni_callout_begin(&callout, pool);
    pool->calls.close_async(pool->driver.argument, object, ticket);
    ceni_callout_end(&callout);
    ceni_inline_end(&here);
}

/* ---- Withdrawing -------------------------------------------------------------------------- */

bool ceni_later_withdraw_locked(cen_pool *pool, uint32_t index, cen_ticket *out)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    if (!slot->notes.has_ticket || slot->notes.is_cancelled) return false;
    slot->notes.is_cancelled = true;
    pool->tests_given_up += ceni_word_state(ceni_slot_word(slot)) == CENI_SLOT_TESTING;
    *out = ticket_of(pool, index, slot->notes.call_number);
    return true;
}

void ceni_later_cancel(cen_pool *pool, cen_ticket ticket)
{
    if (!pool->calls.cancel || ceni_planted(overdue_call_not_cancelled)) return;
    ceni_inline_run here;
    ceni_inline_begin(&here);
    ceni_callout callout;
    ceni_callout_begin(&callout, pool);
    pool->calls.cancel(pool->driver.argument, ticket);
    ceni_callout_end(&callout);
    ceni_inline_end(&here);
}

void ceni_later_cancel_all(cen_pool *pool)
{
    if (!pool->helped) return;
    uint32_t places = ceni_place_reach(pool);
    for (uint32_t index = 0; index < places; index++) {
        cen_ticket ticket;
        ceni_waiters_lock(pool->waiters);
        ceni_slot_state state = ceni_word_state(ceni_word_at(pool, index));
        bool underway = state == CENI_SLOT_OPENING || state == CENI_SLOT_TESTING || state == CENI_SLOT_RESETTING;
        bool cancels = underway && ceni_later_withdraw_locked(pool, index, &ticket);
        ceni_waiters_unlock(pool->waiters);
        if (cancels) ceni_later_cancel(pool, ticket);
    }
}

/* ---- Done ---------------------------------------------------------------------------------- */

/* The call of a slot with an open ticket, by the slot's state. */
static ceni_chore chore_in(ceni_slot_state state)
{
    switch (state) {
    case CENI_SLOT_OPENING: return CENI_CHORE_OPEN;
    case CENI_SLOT_RESETTING: return CENI_CHORE_RESET;
    case CENI_SLOT_CLOSING: return CENI_CHORE_CLOSE;
    default: return CENI_CHORE_TEST;
    }
}

/* Redeem a ticket. Returns false if it is invalid or was redeemed. Otherwise the caller owns the slot, as after a
 * call that returns. */
static bool redeem_locked(cen_pool *pool, uint64_t number, uint32_t *index, ceni_chore *chore, ceni_call_outcome *how)
{
    *index = (uint32_t)(number & ((1u << INDEX_BITS) - 1));
    if (*index >= ceni_place_count(pool)) return false;
    ceni_slot *slot = ceni_slot_at(pool, *index);
    ceni_slot_notes notes = slot->notes;
    bool same = notes.call_number == number >> INDEX_BITS || ceni_planted(done_twice_accepted);
    if (!notes.has_ticket || !same) return false;
    *chore = chore_in(ceni_word_state(ceni_slot_word(slot)));
    how->unwanted = notes.is_overdue || notes.is_cancelled;
    how->for_minimum = notes.is_minimum;
    pool->tests_given_up -= *chore == CENI_CHORE_TEST && notes.is_cancelled;
    slot->notes =
        (ceni_slot_notes){.is_overdue = notes.is_overdue, .is_wanted = notes.is_wanted, .was_idle = notes.was_idle};
    return true;
}

cen_status cen_driver_done(cen_ticket ticket, cen_status status, void *object, const cen_error *error)
{
    static const cen_error silent = {.status = CEN_OK};
    ceni_call_outcome how = {.status = status, .object = object, .said = error ? error : &silent};
    if (strcmp(cen_status_name(status), "CEN_?") == 0) return CEN_INVALID;
    if (!ceni_waiters_is_one(ticket.line_)) return CEN_STALE;
    if (!ceni_fork_is(ticket.epoch_)) return CEN_FORKED;
    ceni_waiters *waiters = ticket.line_;
    ceni_chore chore;
    uint32_t index;
    ceni_orphan *orphan = NULL;
    ceni_waiters_lock(waiters);
    cen_pool *pool = waiters->pool == ticket.pool ? waiters->pool : NULL; /* or it is gone, and this another's */
    bool has_slot = (ticket.number & NO_SLOT) != NO_SLOT;
    bool ours = pool && has_slot && redeem_locked(pool, ticket.number, &index, &chore, &how);
    bool parts = pool && !has_slot && ceni_orphan_redeem_locked(pool, ticket.number >> INDEX_BITS, &orphan);
    ceni_waiters_unlock(waiters);
    if (parts) ceni_orphan_closed(orphan);
    if (!ours) return parts ? CEN_OK : CEN_STALE;
    ceni_inline_run here;
    ceni_inline_begin(&here);
    ceni_chores_follow(pool, chore, index, &how);
    ceni_chores_replan(pool, chore);
    ceni_waiters_lock(waiters);
    ceni_hand_drop_locked(pool);
    ceni_inline_end(&here);
    return CEN_OK;
}
