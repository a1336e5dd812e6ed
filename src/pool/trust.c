/* SPDX-License-Identifier: MIT */
/*
 * Testing objects that were idle for too long to be trusted, for takes that cannot test themselves: a thread whose
 * driver tests asynchronously, or a pending take.
 *
 * A thread that may call the driver's test takes such an object, tests it or has a helper test it (checkup.c), and
 * gets it then (take.c). For other takes a search takes only objects that need not be tested. If it has passed over
 * one that must be tested, that one is put to the test instead, and the first waiter gets it when it has passed:
 *
 *     IDLE, marked ▶ TESTING: a chore; or, if the driver does not block, tested by the pumping thread
 *                  ▶ passed: IDLE, the pump ▶ failed: CLOSING, the pump
 *
 * There are never more such tests than waiters, plus one for a take that is about to wait, because an object that is
 * being tested cannot be lent. And there are never more than helpers may make at a time. A waiter for a test needs no
 * opening, until the test takes too long.
 *
 * Why no waiter is forgotten (L3). The search that passes over an object is made for a take that is in the queue or
 * will be, by that take or by the pump. It leaves the object idle only if there are already as many tests for waiters
 * as waiters, or as may run. Each of these tests ends in the pump, which searches again: an object that passes, by
 * becoming idle; one that fails, at the end of the chore; one that takes too long, in the keeper's round.
 *
 * Trust also ends when an object is found broken.
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

/* A server that ends one connection has most likely ended all. One take finds a broken object; tests should find the
 * others. A round is requested at most once in test_after_idle_ns, because single objects of a driver may break
 * often. */
void ceni_trust_shaken(cen_pool *pool)
{
    if (!ceni_pool_tests(pool) || ceni_planted(broken_one_shakes_nothing)) return;
    ceni_followup followup = {.more = false};
    int64_t now = ceni_pool_now(pool);
    ceni_waiters_lock(pool->waiters);
    int64_t trust = pool->options.test_after_idle_ns;
    if (trust != CEN_OFF && (pool->shaken_at == 0 || now - pool->shaken_at >= trust)) {
        pool->shaken = true;
        pool->shaken_at = now;
        pool->next_round = 0;
        ceni_keeper_plan_locked(pool, &followup);
    }
    ceni_waiters_unlock(pool->waiters);
    if (followup.alarm) ceni_hand_alarm(pool);
}

/* Whether another object may be put to the test, if `wanted` tests are wanted. A test that had to wait for a helper
 * would be counted on, and would never be reported as overdue. */
static bool may_test_locked(const cen_pool *pool, uint64_t wanted, const ceni_followup *followup)
{
    if (pool->testing_for_waiters >= wanted || (!pool->helped && followup->never_opens)) return false;
    return ceni_chores_may_test_locked(pool);
}

static void put_to_test_locked(cen_pool *pool, uint32_t index, uint64_t generation, ceni_followup *followup)
{
    if (!ceni_idle_hold_locked(pool, index, generation, CENI_SLOT_TESTING)) return; /* another thread has it */
    ceni_slot *slot = ceni_slot_at(pool, index);
    slot->notes = (ceni_slot_notes){.is_wanted = true};
    pool->testing_for_waiters++;
    ceni_store_relaxed(&slot->tested_at, 0); /* not begun yet, so it is not overdue; carries nothing */
    if (!pool->helped) {
        followup->tests = followup->more = true;
        followup->index = index;
    } else {
        ceni_queues_add_locked(pool, CENI_CHORE_TEST, slot);
        ceni_chores_plan_locked(pool, followup);
    }
}

/* Put as many objects to the test as are wanted: the pump runs only for the first waiter, and its test may hang while
 * others wait. Tests on this thread are made one at a time. */
bool ceni_trust_take_locked(cen_pool *pool, uint32_t hint, uint32_t newcomers, ceni_grant *out, ceni_followup *followup)
{
    /* written under this lock; carries nothing */
    uint64_t waiters = ceni_load_relaxed(&pool->waiters->ctl) / CENI_CTL_ONE;
    while (!ceni_idle_take_fresh_locked(pool, hint, out)) {
        bool tests =
            out->stale && !ceni_planted(passed_by_in_silence) && may_test_locked(pool, waiters + newcomers, followup);
        if (tests) put_to_test_locked(pool, out->index, out->generation, followup);
        if (tests && !followup->tests) continue;
        *out = (ceni_grant){.slot = NULL};
        return false;
    }
    return true;
}

/* Only publishes the object, or closes it. The caller pumps again, so that this function does not recurse. */
void ceni_trust_test_for_pending(cen_pool *pool, uint32_t index)
{
    ceni_waiters *waiters = pool->waiters;
    ceni_slot *slot = ceni_slot_at(pool, index);
    uint64_t id = pool->id, generation = ceni_slot_generation(pool, index);
    ceni_keeper_nudge(pool);
    bool works = ceni_chores_works(pool, slot, NULL);
    ceni_waiters_lock(waiters);
    ceni_chores_unwant_locked(pool, slot);
    bool passes = works && ceni_idle_publish_locked(pool, index, generation, CENI_SLOT_TESTING);
    bool ends = !passes && ceni_slot_move(slot, generation, CENI_SLOT_TESTING, CENI_SLOT_CLOSING);
    if (ends) ceni_idle_unlist_locked(slot);
    if (ends) ceni_place_leaves_locked(pool);
    uint64_t ctl = ceni_load_relaxed(&waiters->ctl); /* written under this lock; carries nothing */
    ceni_waiters_unlock(waiters);
    if (ends)
        ceni_place_end_quietly(pool, index,
                               works ? "due for replacement (max lifetime, reload or late health check)"
                                     : "health check failed");
    else if (ctl & (CENI_CTL_CLOSED | CENI_CTL_SURPLUS)) ceni_pool_retire_quietly(waiters, id, index, generation);
}
