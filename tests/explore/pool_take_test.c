/* SPDX-License-Identifier: MIT */
/*
 * Take, give, discard, adopt and opening on demand under every schedule: an
 * object has one holder, a lease ends once, max is kept, and an opening that
 * fails leaves nobody asleep.
 */
#include "explore/pools.h"

#define LAZY_ONE \
    { \
        .max = 1 \
    }
#define LAZY_ONE_STRICT \
    { \
        .max = 1, .max_barging_ns = CEN_NONE \
    }
#define LAZY_ONE_FIFO \
    { \
        .max = 1, .order = CEN_ORDER_FIFO \
    }

static bool one_each(cen_status a, cen_status b, cen_status x, cen_status y)
{
    return (a == x && b == y) || (a == y && b == x);
}

/* ---- L1, L2: one object, one holder; never more than max -------------------------------- */

static void two_takers(cen_pool_options options, unsigned cpus)
{
    ceni_world_set_cpus(cpus);
    make_opening(options);
    taker a = {.deadline = CEN_NEVER}, b = {.deadline = CEN_NEVER};
    ceni_thread other = start("other", take_and_give, &a);
    take_and_give(&b);
    join(other);
    expect(a.status == CEN_OK && a.given == CEN_OK);
    expect(b.status == CEN_OK && b.given == CEN_OK);
    expect_rest(alive);
    expect(opens <= options.max);
    end();
}

/* guarantees: pool.L1 */
EXPLORE(L1_two_takers_share_one_place_and_poll, 4)
{
    two_takers((cen_pool_options)LAZY_ONE, 2);
}

/* guarantees: pool.L1 */
EXPLORE(L1_two_takers_share_one_place_and_do_not_poll, 4)
{
    two_takers((cen_pool_options)LAZY_ONE, 1);
}

/* guarantees: pool.L1 */
EXPLORE(L1_two_takers_share_one_place_of_a_strict_pool, 4)
{
    two_takers((cen_pool_options)LAZY_ONE_STRICT, 2);
}

/* guarantees: pool.L1 */
EXPLORE(L1_two_takers_share_one_place_of_a_fifo_pool, 4)
{
    two_takers((cen_pool_options)LAZY_ONE_FIFO, 1);
}

/* guarantees: pool.L2, pool-bugs.limit */
EXPLORE(L2_two_takers_of_a_pool_of_two_open_two, 4)
{
    ceni_world_set_cpus(1);
    make_opening((cen_pool_options){.max = 2});
    taker a = {.deadline = CEN_NEVER}, b = {.deadline = CEN_NEVER};
    ceni_thread other = start("other", take_only, &a);
    take_only(&b);
    join(other);
    expect(a.status == CEN_OK && b.status == CEN_OK);
    expect(a.lease.object != b.lease.object);
    expect_equal(opens, 2);
    give_one(a.lease);
    give_one(b.lease);
    end();
}

/* There are two places, and one of them may be used. */
/* guarantees: pool.L2 */
EXPLORE(L2_two_takers_of_a_pool_that_was_made_smaller_open_one, 4)
{
    ceni_world_set_cpus(1);
    make_opening((cen_pool_options){.max = 2});
    expect_equal(cen_pool_resize(pool, 1, NULL), CEN_OK);
    alive_at_most = 1;
    taker a = {.deadline = CEN_NEVER}, b = {.deadline = CEN_NOW};
    ceni_thread other = start("other", take_and_give, &a);
    take_and_give(&b);
    join(other);
    expect_equal(a.status, CEN_OK);
    expect(b.status == CEN_OK || b.status == CEN_TIMEOUT);
    expect_rest(1);
    end();
}

/* Main's takes go the quick way, to the slot it had last. */
/* guarantees: pool.L1 */
EXPLORE(L1_the_slot_a_thread_had_last_is_its_own_only_if_it_is_idle, 4)
{
    ceni_world_set_cpus(1);
    make_filled((cen_pool_options){.max = 1});
    give_one(take_one());
    taker a = {.deadline = CEN_NEVER}, b = {.deadline = CEN_NEVER};
    ceni_thread other = start("other", take_and_give, &a);
    take_and_give(&b);
    take_and_give(&b);
    join(other);
    expect(a.status == CEN_OK && a.given == CEN_OK);
    expect(b.status == CEN_OK && b.given == CEN_OK);
    expect_rest(1);
    end();
}

/* guarantees: pool.L2 */
EXPLORE(L2_a_taker_and_a_pending_waiter_share_one_place, 4)
{
    ceni_world_set_cpus(1);
    make_opening((cen_pool_options)LAZY_ONE);
    taker a = {.deadline = CEN_NEVER}, b = {.deadline = CEN_NEVER};
    ceni_thread other = start("ask", ask_and_give, &a);
    take_and_give(&b);
    join(other);
    expect(a.status == CEN_OK && b.status == CEN_OK);
    expect_rest(1);
    expect_equal(opens, 1);
    end();
}

/* ---- Opening that fails --------------------------------------------------------------------- */

/* The first opening fails: whoever asked for it hears why, and the other opens one. */
static void first_opening_fails(void (*one)(void *), void (*two)(void *), cen_pool_options options)
{
    ceni_world_set_cpus(1);
    make_opening(options);
    opens_that_fail = 1;
    taker a = {.deadline = CEN_NEVER}, b = {.deadline = CEN_NEVER};
    ceni_thread other = start("other", one, &a);
    two(&b);
    join(other);
    expect(one_each(a.status, b.status, CEN_DRIVER, CEN_OK));
    give_one(a.status == CEN_OK ? a.lease : b.lease);
    expect_equal(look().open_failed, 1);
    expect_rest(1);
    end();
}

/* guarantees: pool.L3, pool-bugs.capacity-wakeup */
EXPLORE(L3_a_place_whose_opening_failed_goes_to_the_thread_that_waits, 4)
{
    first_opening_fails(take_only, take_only, (cen_pool_options)LAZY_ONE);
}

/* guarantees: pool.L3, pool-bugs.capacity-wakeup */
EXPLORE(L3_a_place_of_a_strict_pool_whose_opening_failed_goes_to_the_thread_that_waits, 4)
{
    first_opening_fails(take_only, take_only, (cen_pool_options)LAZY_ONE_STRICT);
}

/* guarantees: pool.L3, pool-bugs.capacity-wakeup */
EXPLORE(L3_a_place_whose_opening_failed_goes_to_who_is_pending, 4)
{
    first_opening_fails(ask_only, take_only, (cen_pool_options)LAZY_ONE);
}

/* guarantees: pool.L3, pool-bugs.capacity-wakeup */
EXPLORE(L3_a_place_whose_opening_failed_for_one_pending_goes_to_the_next, 4)
{
    first_opening_fails(ask_only, ask_only, (cen_pool_options)LAZY_ONE);
}

/* Two objects are held, and no more can be opened. */
static cen_lease make_with_two_held(taker *discarder)
{
    ceni_world_set_cpus(1);
    make_opening((cen_pool_options){.max = 2});
    cen_lease mine = take_one();
    *discarder = (taker){.lease = take_one()};
    opens_that_fail = THINGS;
    return mine;
}

static void give_what_it_got(const asker *self)
{
    expect(self->status == CEN_OK || self->status == CEN_DRIVER);
    if (self->status == CEN_OK) give_one(lease_of(self));
}

/* Two are pending, one object is discarded and its successor cannot be opened,
 * and the other object comes back in the same moment: each of the two is told something. */
/* guarantees: pool.L3 */
EXPLORE(L3_two_pending_waiters_are_both_told_when_an_opening_fails_and_an_object_comes_back, 3)
{
    taker discarder;
    cen_lease mine = make_with_two_held(&discarder);
    asker first, second;
    expect_equal(ask(&first), CEN_OK);
    expect_equal(ask(&second), CEN_OK);
    ceni_thread opener = start("discard", discard_lease, &discarder);
    give_one(mine);
    await(&first);
    await(&second);
    join(opener);
    give_what_it_got(&first);
    give_what_it_got(&second);
    expect_equal(look().waiting, 0);
    end();
}

/* The same with a thread behind the pending waiter: what the thread is granted
 * is not reported to the other. */
/* guarantees: pool.L3 */
EXPLORE(L3_a_pending_waiter_hears_of_its_failed_opening_when_a_thread_gets_what_comes_back, 3)
{
    taker discarder;
    cen_lease mine = make_with_two_held(&discarder);
    asker first;
    expect_equal(ask(&first), CEN_OK);
    taker second = {.deadline = CEN_NEVER};
    ceni_thread waiter = start("wait", take_only, &second);
    ceni_world_settle();
    ceni_thread opener = start("discard", discard_lease, &discarder);
    give_one(mine);
    await(&first);
    join(waiter);
    join(opener);
    give_what_it_got(&first);
    expect(second.status == CEN_OK || second.status == CEN_DRIVER);
    if (second.status == CEN_OK) give_one(second.lease);
    expect_equal(look().waiting, 0);
    end();
}

/* ---- Discard and adopt ------------------------------------------------------------------------ */

static void a_discard_lets_another_open(void (*who)(void *), cen_pool_options options, unsigned cpus)
{
    ceni_world_set_cpus(cpus);
    make_opening(options);
    cen_lease mine = take_one();
    taker other = {.deadline = CEN_NEVER};
    ceni_thread waiter = start("wait", who, &other);
    expect_equal(cen_pool_discard(&mine), CEN_OK);
    join(waiter);
    expect_equal(other.status, CEN_OK);
    give_one(other.lease);
    expect_equal(opens, 2);
    expect_rest(1);
    end();
}

/* guarantees: pool.L3, pool-bugs.capacity-wakeup */
EXPLORE(L3_a_discard_lets_a_thread_that_polls_open_another, 4)
{
    a_discard_lets_another_open(take_only, (cen_pool_options)LAZY_ONE, 2);
}

/* guarantees: pool.L3, pool-bugs.capacity-wakeup */
EXPLORE(L3_a_discard_lets_a_thread_that_does_not_poll_open_another, 4)
{
    a_discard_lets_another_open(take_only, (cen_pool_options)LAZY_ONE, 1);
}

/* guarantees: pool.L3, pool-bugs.capacity-wakeup */
EXPLORE(L3_a_discard_lets_a_thread_of_a_strict_pool_open_another, 4)
{
    a_discard_lets_another_open(take_only, (cen_pool_options)LAZY_ONE_STRICT, 2);
}

/* guarantees: pool.L3, pool-bugs.capacity-wakeup */
EXPLORE(L3_a_discard_opens_another_for_who_is_pending, 4)
{
    a_discard_lets_another_open(ask_only, (cen_pool_options)LAZY_ONE, 1);
}

/* A thread that waits for an object and one that may be opened meanwhile: it
 * has one in the end, and the other place or object is there for the next. */
/* guarantees: pool.L1 */
EXPLORE(L1_one_who_claims_a_place_and_is_granted_an_object_gives_the_place_back, 4)
{
    ceni_world_set_cpus(1);
    make_opening((cen_pool_options){.max = 2});
    cen_lease mine = take_one(), more = take_one();
    taker other = {.deadline = CEN_NEVER};
    ceni_thread waiter = start("wait", take_only, &other);
    expect_equal(cen_pool_discard(&mine), CEN_OK);
    give_one(more);
    join(waiter);
    expect_equal(other.status, CEN_OK);
    give_one(other.lease);
    expect_rest(alive);
    mine = take_one();
    more = take_one();
    give_one(mine);
    give_one(more);
    end();
}

static void an_adopted_object_reaches(void (*who)(void *), cen_pool_options options)
{
    ceni_world_set_cpus(1);
    make_filled(options);
    cen_lease mine = take_one();
    expect_equal(cen_pool_discard(&mine), CEN_OK);
    taker other = {.deadline = CEN_NEVER};
    ceni_thread waiter = start("wait", who, &other);
    adopt_thing(1);
    join(waiter);
    expect(other.status == CEN_OK && other.given == CEN_OK);
    expect(other.lease.object == &things[1]);
    expect_rest(1);
    end();
}

/* guarantees: pool.L3 */
EXPLORE(L3_an_adopted_object_reaches_a_thread, 4)
{
    an_adopted_object_reaches(take_and_give, (cen_pool_options)LAZY_ONE);
}

/* guarantees: pool.L3 */
EXPLORE(L3_an_adopted_object_reaches_a_thread_of_a_strict_pool, 4)
{
    an_adopted_object_reaches(take_and_give, (cen_pool_options)LAZY_ONE_STRICT);
}

/* guarantees: pool.L3 */
EXPLORE(L3_an_adopted_object_reaches_a_thread_of_a_fifo_pool, 4)
{
    an_adopted_object_reaches(take_and_give, (cen_pool_options)LAZY_ONE_FIFO);
}

/* guarantees: pool.L3 */
EXPLORE(L3_an_adopted_object_reaches_who_is_pending, 4)
{
    an_adopted_object_reaches(ask_and_give, (cen_pool_options)LAZY_ONE);
}

static void adopt_one(void *into)
{
    *(cen_status *)into = cen_pool_adopt(pool, &things[4], NULL);
}

/* guarantees: pool.L2, pool-bugs.limit */
EXPLORE(L2_of_two_who_adopt_into_one_place_one_succeeds, 4)
{
    begin(0);
    cen_pool_options options = CEN_POOL_OPTIONS(.max = 1);
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    cen_status a, b;
    ceni_thread other = start("adopt", adopt_one, &a);
    b = cen_pool_adopt(pool, &things[5], NULL);
    join(other);
    expect(one_each(a, b, CEN_OK, CEN_FULL));
    expect_rest(1);
    end();
}

/* ---- L8: a lease ends once ------------------------------------------------------------------------- */

static void a_second_give_is_stale(cen_pool_options options, unsigned cpus)
{
    ceni_world_set_cpus(cpus);
    make_filled(options);
    cen_lease mine = take_one(), copy = mine;
    taker other = {.deadline = CEN_NEVER};
    ceni_thread taking = start("take", take_and_give, &other);
    give_one(mine);
    expect_equal(cen_pool_give(&copy), CEN_STALE); /* whether or not the slot has been lent again */
    expect(copy.pool == pool);
    join(taking);
    expect(other.status == CEN_OK && other.given == CEN_OK);
    expect_rest(1);
    end();
}

/* guarantees: pool.L8, pool-bugs.double-give */
EXPLORE(L8_a_second_give_is_stale_even_if_the_slot_was_lent_again, 4)
{
    a_second_give_is_stale((cen_pool_options)LAZY_ONE, 1);
}

/* guarantees: pool.L8, pool-bugs.double-give */
EXPLORE(L8_a_second_give_is_stale_in_a_fifo_pool, 4)
{
    a_second_give_is_stale((cen_pool_options)LAZY_ONE_FIFO, 1);
}

/* guarantees: pool.L8, pool-bugs.double-give */
EXPLORE(L8_a_second_give_is_stale_in_a_strict_pool, 4)
{
    a_second_give_is_stale((cen_pool_options)LAZY_ONE_STRICT, 2);
}

static void ended_by_two(void (*one)(void *), void (*two)(void *), cen_pool_options options, uint32_t left)
{
    make_filled(options);
    taker a = {.lease = take_one()}, b = {.lease = a.lease};
    ceni_thread other = start("other", one, &a);
    two(&b);
    join(other);
    expect(one_each(a.given, b.given, CEN_OK, CEN_STALE));
    expect((a.given == CEN_OK) == (a.lease.pool == NULL));
    expect((b.given == CEN_OK) == (b.lease.pool == NULL));
    if (left < 2) expect_rest(left);
    cen_pool_stats s = look();
    expect_equal(s.taken, 1);
    expect_equal(s.ended, 1);
    expect(s.idle == 1 || s.discarded == 1);
    end();
}

/* guarantees: pool.L8, pool-bugs.double-give */
EXPLORE(L8_of_two_gives_of_one_lease_one_is_ok, 4)
{
    ended_by_two(give_lease, give_lease, (cen_pool_options)LAZY_ONE, 1);
}

/* guarantees: pool.L8, pool-bugs.double-give */
EXPLORE(L8_of_two_gives_of_one_lease_of_a_fifo_pool_one_is_ok, 4)
{
    ended_by_two(give_lease, give_lease, (cen_pool_options)LAZY_ONE_FIFO, 1);
}

/* guarantees: pool.L8, pool-bugs.double-give */
EXPLORE(L8_of_two_discards_of_one_lease_one_is_ok, 4)
{
    ended_by_two(discard_lease, discard_lease, (cen_pool_options)LAZY_ONE, 0);
}

/* guarantees: pool.L8, pool-bugs.double-give */
EXPLORE(L8_of_a_give_and_a_discard_of_one_lease_one_is_ok, 4)
{
    ended_by_two(give_lease, discard_lease, (cen_pool_options)LAZY_ONE, 2);
}

/* A copy of an ended lease is given while its slot is lent, given and lent again. */
/* guarantees: pool.L8, pool-bugs.double-give */
EXPLORE(L8_a_stale_lease_never_ends_the_lease_of_another, 4)
{
    ceni_world_set_cpus(1);
    make_filled((cen_pool_options)LAZY_ONE);
    taker stale = {.lease = take_one()};
    cen_lease mine = stale.lease;
    give_one(mine);
    ceni_thread other = start("stale", give_lease, &stale);
    for (int i = 0; i < 2; i++) {
        mine = take_one();
        use(&mine);
        give_one(mine);
    }
    join(other);
    expect_equal(stale.given, CEN_STALE);
    expect_rest(1);
    end();
}
