/* SPDX-License-Identifier: MIT */
/*
 * Newcomers that become the first in line, under every schedule: whatever the
 * one before them was about to do, nobody sleeps beside an object, and one that
 * was shed has nothing.
 */
#include "explore/pools.h"

#define ONE \
    { \
        .max = 1 \
    }
#define ONE_STRICT \
    { \
        .max = 1, .max_barging_ns = CEN_NONE \
    }

enum { POLLING = 2, NOT_POLLING = 1 };

static void make(cen_pool_options options, unsigned cpus)
{
    ceni_world_set_cpus(cpus);
    make_filled(options);
}

/* ---- Who comes ---------------------------------------------------------------------------- */

static void take_high(void *into)
{
    taker *self = into;
    self->status = cen_pool_take_priority(pool, CEN_PRIORITY_HIGH, self->deadline, &self->lease, NULL);
    if (self->status != CEN_OK) return;
    use(&self->lease);
    self->given = cen_pool_give(&self->lease);
}

static void ask_high(void *into)
{
    taker *self = into;
    asker mine = {
        .waiter = {.pending = true, .holder = ceni_thread_id(), .deliver = tell_asker, .priority = CEN_PRIORITY_HIGH}};
    self->status = join_pending(pool, &mine.waiter);
    if (self->status == CEN_OK) self->status = await(&mine);
    if (self->status != CEN_OK) return;
    cen_lease lease = lease_of(&mine);
    use(&lease);
    self->given = cen_pool_give(&lease);
}

/* ---- L3: both are served ---------------------------------------------------------------------- */

/* The one that waits may be looking, ready, called or asleep, or not yet in line, when the other comes and the object
 * is given. */
static void a_newcomer_meets(void (*who)(void *), void (*newcomer)(void *), cen_pool_options options, unsigned cpus)
{
    make(options, cpus);
    cen_lease mine = take_one();
    taker a = {.deadline = CEN_NEVER}, b = {.deadline = CEN_NEVER};
    ceni_thread first = start("first", who, &a), second = start("high", newcomer, &b);
    give_one(mine);
    join(first);
    join(second);
    expect_equal(a.status, CEN_OK);
    expect_equal(b.status, CEN_OK);
    expect_rest(1);
    end();
}

/* guarantees: overload.L3-new-first */
EXPLORE(L3_a_high_thread_that_passes_a_thread_that_polls_meets_a_give, 2)
{
    a_newcomer_meets(take_and_give, take_high, (cen_pool_options)ONE, POLLING);
}

/* guarantees: overload.L3-new-first */
EXPLORE(L3_a_high_thread_that_passes_a_thread_that_does_not_poll_meets_a_give, 3)
{
    a_newcomer_meets(take_and_give, take_high, (cen_pool_options)ONE, NOT_POLLING);
}

/* guarantees: overload.L3-new-first */
EXPLORE(L3_a_high_thread_that_passes_a_thread_of_a_strict_pool_meets_a_give, 2)
{
    a_newcomer_meets(take_and_give, take_high, (cen_pool_options)ONE_STRICT, POLLING);
}

/* guarantees: overload.L3-new-first */
EXPLORE(L3_a_high_pending_waiter_that_passes_a_thread_meets_a_give, 3)
{
    a_newcomer_meets(take_and_give, ask_high, (cen_pool_options)ONE, NOT_POLLING);
}

/* guarantees: overload.L3-new-first */
EXPLORE(L3_a_high_thread_that_passes_a_pending_waiter_meets_a_give, 3)
{
    a_newcomer_meets(ask_and_give, take_high, (cen_pool_options)ONE, NOT_POLLING);
}

/* The one that is passed may be the heir at that moment, and find, when it says that it is ready, that it is not the
 * first; the newcomer is nobody's heir while the pool is paused. */
/* guarantees: overload.L3-new-first */
EXPLORE(L3_a_high_thread_that_passes_an_heir_while_the_pool_is_paused_is_served_when_it_goes_on, 2)
{
    make((cen_pool_options)ONE, NOT_POLLING);
    cen_lease mine = take_one();
    taker a = {.deadline = CEN_NEVER}, b = {.deadline = CEN_NEVER};
    ceni_thread first = start("first", take_and_give, &a);
    expect_equal(cen_pool_pause(pool, NULL), CEN_OK);
    ceni_thread second = start("high", take_high, &b);
    give_one(mine);
    expect_equal(cen_pool_resume(pool, NULL), CEN_OK);
    join(first);
    join(second);
    expect(a.status == CEN_OK && b.status == CEN_OK);
    expect_rest(1);
    end();
}

/* Two of one class, of whom the later was given a shorter time to age; one of a higher class is the heir, and the first
 * of the two leaves. Whoever is first then must have been told so. */
EXPLORE(L3_one_that_leaves_from_behind_an_heir_makes_nobody_else_the_first, 2)
{
    make((cen_pool_options){.max = 1, .aging_ns = 1000000000}, NOT_POLLING);
    cen_lease mine = take_one();
    cen_pool_options options = CEN_SIZED(cen_pool_options);
    asker one, two;
    expect_equal(ask(&one), CEN_OK);
    expect_equal(cen_pool_options_get(pool, &options), CEN_OK);
    options.aging_ns = 1;
    expect_equal(cen_pool_options_set(pool, &options, NULL), CEN_OK);
    expect_equal(ask(&two), CEN_OK);
    ceni_world_advance(1000);
    taker high = {.deadline = CEN_NEVER};
    ceni_thread newcomer = start("high", take_high, &high);
    expect(ceni_waiters_withdraw(pool->waiters, &one.waiter));
    give_one(mine);
    expect_equal(await(&two), CEN_OK);
    give_one(lease_of(&two));
    join(newcomer);
    expect_equal(high.status, CEN_OK);
    expect_rest(1);
    end();
}

/* ---- The first is ready, and asleep ---------------------------------------------------------------- */

/* Main holds the object until both are in line, so the newcomer passes one that is READY. */
static void a_newcomer_passes_one_that_is_ready(void (*newcomer)(void *), unsigned cpus)
{
    make((cen_pool_options)ONE, cpus);
    cen_lease mine = take_one();
    taker a = {.deadline = CEN_NEVER}, b = {.deadline = CEN_NEVER};
    ceni_thread first = start("first", take_and_give, &a);
    ceni_world_settle();
    ceni_thread second = start("high", newcomer, &b);
    give_one(mine);
    join(first);
    join(second);
    expect(a.status == CEN_OK && b.status == CEN_OK);
    expect_rest(1);
    end();
}

/* guarantees: overload.L3-new-first */
EXPLORE(L3_a_high_thread_that_passes_one_that_is_ready_meets_a_give, 3)
{
    a_newcomer_passes_one_that_is_ready(take_high, POLLING);
}

/* guarantees: overload.L3-new-first */
EXPLORE(L3_a_high_pending_waiter_that_passes_one_that_is_ready_meets_a_give, 2)
{
    a_newcomer_passes_one_that_is_ready(ask_high, NOT_POLLING);
}

/* What the newcomer was left is not lost when it gives up in that moment. */
static void a_newcomer_gives_up(unsigned cpus)
{
    make((cen_pool_options)ONE, cpus);
    cen_lease mine = take_one();
    taker a = {.deadline = CEN_NEVER}, b = {.deadline = cen_in_ns(1)};
    ceni_thread first = start("first", take_and_give, &a);
    ceni_world_settle();
    ceni_thread second = start("high", take_high, &b);
    give_one(mine);
    join(first);
    join(second);
    expect_equal(a.status, CEN_OK);
    expect(b.status == CEN_OK || b.status == CEN_TIMEOUT);
    expect_rest(1);
    end();
}

/* guarantees: overload.L5-passed */
EXPLORE(L5_a_high_thread_that_passes_another_and_gives_up_leaves_it_what_was_given, 2)
{
    a_newcomer_gives_up(POLLING);
}

/* guarantees: overload.L5-passed */
EXPLORE(L5_a_high_thread_that_passes_another_and_gives_up_asleep_leaves_it_what_was_given, 3)
{
    a_newcomer_gives_up(NOT_POLLING);
}

/* One that was passed has a deadline of its own. */
/* guarantees: overload.L5-passed */
EXPLORE(L5_one_that_was_passed_and_gives_up_takes_nothing_from_the_one_that_passed_it, 2)
{
    make((cen_pool_options)ONE, NOT_POLLING);
    cen_lease mine = take_one();
    taker a = {.deadline = cen_in_ns(1)}, b = {.deadline = CEN_NEVER};
    ceni_thread first = start("first", take_and_give, &a);
    ceni_thread second = start("high", take_high, &b);
    give_one(mine);
    join(first);
    join(second);
    expect(a.status == CEN_OK || a.status == CEN_TIMEOUT);
    expect_equal(b.status, CEN_OK);
    expect_rest(1);
    end();
}

/* Order: with both in line before anything is given, the higher one has it first. */
/* guarantees: overload.priority-order */
EXPLORE(L4_with_both_in_line_the_high_one_is_served_first, 3)
{
    make((cen_pool_options)ONE_STRICT, NOT_POLLING);
    cen_lease mine = take_one();
    taker a = {.deadline = CEN_NEVER}, b = {.deadline = CEN_NEVER};
    ceni_thread first = start("first", take_and_keep, &a);
    ceni_world_settle();
    ceni_thread second = start("high", take_high, &b);
    ceni_world_settle();
    give_one(mine);
    join(first);
    join(second);
    expect(a.status == CEN_OK && b.status == CEN_OK && b.given == CEN_OK);
    expect(a.lease.generation > b.lease.generation);
    give_one(a.lease);
    expect_rest(1);
    end();
}

/* ---- Shedding ------------------------------------------------------------------------------------------ */

/* One is in line, or about to be, and looks for itself, when the give that it waits for sheds it. */
static void shedding_meets_one_that_looks(unsigned cpus)
{
    make((cen_pool_options){.max = 1, .shed_target_ns = 1, .shed_interval_ns = 1}, cpus);
    cen_lease mine = take_one();
    taker one = {.deadline = CEN_NEVER};
    ceni_waiters_lock(pool->waiters);
    pool->waiters->classes[1].shed = (ceni_shed){.above = true, .since = -1000}; /* of the normal ones, for long */
    ceni_waiters_unlock(pool->waiters);
    ceni_thread looker = start("one", take_and_give, &one);
    asker other;
    expect_equal(ask(&other), CEN_OK);
    ceni_world_advance(1000);
    give_one(mine);
    cen_status status = await(&other);
    if (status == CEN_OK) give_one(lease_of(&other));
    join(looker);
    int shed = (one.status == CEN_OVERLOAD) + (status == CEN_OVERLOAD);
    expect_equal((one.status == CEN_OK) + (status == CEN_OK) + shed, 2);
    expect_equal(look().shed, shed);
    expect_rest(1);
    end();
}

/* guarantees: overload.shed-result */
EXPLORE(one_that_is_shed_while_it_looks_for_itself_has_nothing, 3)
{
    shedding_meets_one_that_looks(POLLING);
}

/* guarantees: overload.shed-result */
EXPLORE(one_that_is_shed_while_it_is_about_to_sleep_has_nothing, 3)
{
    shedding_meets_one_that_looks(NOT_POLLING);
}

/* The thread is called, and objects are left to it; the give that passes its own on to who asked sheds it first. */
EXPLORE(L3_what_was_left_to_one_that_is_shed_reaches_those_behind_it, 2)
{
    make((cen_pool_options){.max = 3, .max_barging_ns = 2000, .shed_target_ns = 1, .shed_interval_ns = 1000},
         NOT_POLLING);
    cen_lease mine = take_one(), left = take_one(), last = take_one();
    taker called = {.deadline = CEN_NEVER};
    asker behind[3];
    expect_equal(cen_pool_pause(pool, NULL), CEN_OK);
    ceni_thread first = start("first", take_and_give, &called);
    ceni_world_settle();
    for (int i = 0; i < 3; i++) expect_equal(ask(&behind[i]), CEN_OK);
    give_one(mine);
    ceni_world_advance(500);
    expect_equal(cen_pool_resume(pool, NULL), CEN_OK); /* it is called, and may run from now on */
    give_one(left);
    ceni_world_advance(1000000);
    give_one(last);
    for (int i = 0; i < 3; i++) expect(await(&behind[i]) == CEN_OK || behind[i].status == CEN_OVERLOAD);
    for (int i = 0; i < 3; i++)
        if (behind[i].status == CEN_OK) give_one(lease_of(&behind[i]));
    join(first);
    expect(called.status == CEN_OK || called.status == CEN_OVERLOAD);
    expect_rest(3);
    end();
}
