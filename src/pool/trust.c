/* SPDX-License-Identifier: MIT */
/*
 * What was idle for longer than it is trusted, wanted by one who cannot test it
 * itself: a thread whose driver tests later, or a waiter that is no thread.
 *
 * A thread that may call the driver's test takes such an object, tests it, or
 * has a helper test it (checkup.c), and lends it to itself (take.c). For all others a search takes only what need not
 * be tested. If it has passed one by that must be, that one is put to the test
 * instead, and whoever is first in line when it has passed is granted it:
 *
 *     IDLE, marked ▶ TESTING: a chore; or, if the driver does not block, tested by who pumps
 *                  ▶ passed: IDLE, the pump ▶ failed: CLOSING, the pump
 *
 * No more are put to the test than wait, and one for a take that is about to:
 * what is tested cannot be lent; and no more than helpers may test at a time. Who
 * waits for a test needs no opening, until the test takes too long.
 *
 * Why nobody is forgotten (L3). The search that passes one by is made by one
 * who is in line, or will be, or by the pump for it, and leaves it idle only if
 * as many are being tested for those who wait as wait, or as may be. Each of these ends in the
 * pump, which looks again: an object that passes, by becoming idle; one that
 * fails, when the chore is over; one that takes too long, in the keeper's round.
 *
 * Trust ends early, too: with the first object that is found broken.
 *
 * Tested by tests/unit/pool/tested_first_test.c, trust_test.c, tests/explore/pool_driver_later_test.c.
 */
#include "base/plant.h"
#include "pool/internal.h"
#include "port/port.h"

bool ceni_trust_needs_test(const cen_pool *pool, bool pending)
{
    return pool->calls.test_async || (pending && pool->calls.test);
}

/* A server that ends one connection has most likely ended all. Whoever finds one broken has paid for it; the others are to
 * be found by a test. Asked for once in the time that what is idle is trusted, for a driver may break single ones often. */
void ceni_trust_shaken(cen_pool *pool)
{
    if (!ceni_pool_tests(pool) || ceni_planted(broken_one_shakes_nothing)) return;
    ceni_followup call = {.more = false};
    int64_t now = ceni_pool_now(pool);
    ceni_waiters_lock(pool->line);
    int64_t trust = pool->options.test_after_idle_ns;
    if (trust != CEN_OFF && (pool->shaken_at == 0 || now - pool->shaken_at >= trust)) {
        pool->shaken = true;
        pool->shaken_at = now;
        pool->next_round = 0;
        ceni_keeper_plan_locked(pool, &call);
    }
    ceni_waiters_unlock(pool->line);
    if (call.alarm) ceni_hand_alarm(pool);
}

/* Whether another may be put to the test, if so many are wanted. One that had to wait for a helper would be counted on,
 * and never be told to take too long. */
static bool may_test_locked(const cen_pool *pool, uint64_t wanted, const ceni_followup *call)
{
    if (pool->testing_for_waiters >= wanted || (!pool->helped && call->never_opens)) return false;
    return ceni_chores_may_test_locked(pool);
}

static void put_to_test_locked(cen_pool *pool, uint32_t index, uint64_t generation, ceni_followup *call)
{
    if (!ceni_idle_hold_locked(pool, index, generation, CENI_SLOT_TESTING)) return; /* somebody has it */
    ceni_slot *slot = ceni_slot_at(pool, index);
    slot->notes = (ceni_slot_notes){.is_wanted = true};
    pool->testing_for_waiters++;
    ceni_store_relaxed(&slot->tested_at, 0); /* it has not begun, so it does not take long; carries nothing */
    if (!pool->helped) {
        call->tests = call->more = true;
        call->index = index;
    } else {
        ceni_queues_add_locked(pool, CENI_CHORE_TEST, slot);
        ceni_chores_plan_locked(pool, call);
    }
}

/* As many at once as are wanted: only the first in line is looked for, and its test may hang while others wait. What is
 * tested on this thread is tested one at a time. */
bool ceni_trust_take_locked(cen_pool *pool, uint32_t hint, uint32_t newcomers, ceni_grant *out, ceni_followup *call)
{
    /* written under this lock; carries nothing */
    uint64_t waiters = ceni_load_relaxed(&pool->line->ctl) / CENI_CTL_ONE;
    while (!ceni_idle_take_fresh_locked(pool, hint, out)) {
        bool tests =
            out->stale && !ceni_planted(passed_by_in_silence) && may_test_locked(pool, waiters + newcomers, call);
        if (tests) put_to_test_locked(pool, out->index, out->generation, call);
        if (tests && !call->tests) continue;
        *out = (ceni_grant){.slot = NULL};
        return false;
    }
    return true;
}

/* Only publishes, or ends it: its caller pumps again, so that it is not called from within itself. */
void ceni_trust_test_for_pending(cen_pool *pool, uint32_t index)
{
    ceni_waiters *line = pool->line;
    ceni_slot *slot = ceni_slot_at(pool, index);
    uint64_t id = pool->id, generation = ceni_slot_generation(pool, index);
    ceni_keeper_nudge(pool);
    bool works = ceni_chores_works(pool, slot, NULL);
    ceni_waiters_lock(line);
    ceni_chores_unwant_locked(pool, slot);
    bool passes = works && ceni_idle_publish_locked(pool, index, generation, CENI_SLOT_TESTING);
    bool ends = !passes && ceni_slot_move(slot, generation, CENI_SLOT_TESTING, CENI_SLOT_CLOSING);
    if (ends) ceni_idle_unlist_locked(slot);
    if (ends) ceni_place_leaves_locked(pool);
    uint64_t ctl = ceni_load_relaxed(&line->ctl); /* written under this lock; carries nothing */
    ceni_waiters_unlock(line);
    if (ends) ceni_place_end_quietly(pool, index, works ? "it is to be made anew" : "it failed its test");
    else if (ctl & (CENI_CTL_CLOSED | CENI_CTL_SURPLUS)) ceni_pool_retire_quietly(line, id, index, generation);
}
