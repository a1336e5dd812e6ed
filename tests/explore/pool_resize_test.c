/* SPDX-License-Identifier: MIT */
/*
 * Another max under every schedule: a larger one serves those who wait, a
 * smaller one is reached as soon as enough has come back, and nobody sleeps
 * beside what is left.
 *
 * Most pools here are made larger than they are used and made smaller first,
 * so that growing again needs no new chunk, whose many slots would only make
 * the schedules longer.
 */
#include "explore/pools.h"

static void resize(uint32_t max)
{
    expect_equal(cen_pool_resize(pool, max, NULL), CEN_OK);
}

static void resize_to(void *max)
{
    resize((uint32_t)(uintptr_t)max);
}

/* ---- Larger ---------------------------------------------------------------------------- */

/* The only object is held and stays so: who waits can be served by a larger max alone. */
static void growing_serves(void (*who)(void *), cen_pool_options options, unsigned cpus)
{
    options.max = 2;
    make_opening(options);
    ceni_world_set_cpus(cpus);
    resize(1);
    cen_lease mine = take_one();
    taker other = {.deadline = CEN_NEVER};
    ceni_thread waiter = start("wait", who, &other);
    resize(2);
    join(waiter);
    expect_equal(other.status, CEN_OK);
    give_one(other.lease);
    give_one(mine);
    expect_rest(2);
    end();
}

/* guarantees: pool.L16, pool-bugs.capacity-wakeup */
EXPLORE(L16_a_larger_max_serves_a_thread_that_polls, 4)
{
    growing_serves(take_only, (cen_pool_options){.max = 0}, 3);
}

/* guarantees: pool.L16, pool-bugs.capacity-wakeup */
EXPLORE(L16_a_larger_max_serves_a_thread_that_does_not_poll, 4)
{
    growing_serves(take_only, (cen_pool_options){.max = 0}, 1);
}

/* guarantees: pool.L16, pool-bugs.capacity-wakeup */
EXPLORE(L16_a_larger_max_serves_a_thread_of_a_strict_pool, 4)
{
    growing_serves(take_only, (cen_pool_options){.max_barging_ns = CEN_NONE}, 1);
}

/* guarantees: pool.L16, pool-bugs.capacity-wakeup */
EXPLORE(L16_a_larger_max_serves_who_is_pending, 4)
{
    growing_serves(ask_only, (cen_pool_options){.max = 0}, 1);
}

/* The slot that serves it is in memory that was not there when it began to wait. */
/* guarantees: pool.L16 */
EXPLORE(L16_a_max_that_needs_a_new_chunk_serves_a_thread, 4)
{
    ceni_world_set_cpus(1);
    make_opening((cen_pool_options){.max = 1});
    alive_at_most = 2;
    cen_lease mine = take_one();
    taker other = {.deadline = CEN_NEVER};
    ceni_thread waiter = start("wait", take_only, &other);
    resize(2);
    join(waiter);
    expect_equal(other.status, CEN_OK);
    give_one(other.lease);
    give_one(mine);
    expect_rest(2);
    end();
}

/* Two grow at once: the chunk of one of them is given back. */
/* guarantees: pool.L16 */
EXPLORE(L16_of_two_who_grow_the_last_decides_and_nothing_is_lost, 4)
{
    begin(0);
    cen_pool_options options = CEN_POOL_OPTIONS(.max = 1);
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    ceni_thread other = start("grow", resize_to, (void *)2);
    resize(3);
    join(other);
    uint32_t max = cen_pool_max(pool);
    expect(max == 2 || max == 3);
    for (uint32_t i = 0; i < max; i++) adopt_thing(i);
    expect_equal(cen_pool_adopt(pool, &things[max], NULL), CEN_FULL);
    end();
}

/* ---- Smaller ----------------------------------------------------------------------------- */

static void take_and_give_twice(void *into)
{
    take_and_give(into);
    take_and_give(into);
}

/* Two are idle; one is lent and given while max becomes one. One is left, whichever. */
static void shrinking_beside_a_take(void (*who)(void *), cen_pool_options options)
{
    ceni_world_set_cpus(1);
    options.max = 2;
    make_filled(options);
    taker other = {.deadline = CEN_NEVER};
    ceni_thread taking = start("take", who, &other);
    resize(1);
    join(taking);
    expect(other.status == CEN_OK && other.given == CEN_OK);
    expect_rest(1);
    end();
}

/* guarantees: pool.L16 */
EXPLORE(L16_a_smaller_max_is_reached_although_one_is_lent_and_given_meanwhile, 4)
{
    shrinking_beside_a_take(take_and_give, (cen_pool_options){.max = 0});
}

/* guarantees: pool.L16 */
EXPLORE(L16_a_smaller_max_of_a_fifo_pool_is_reached_although_one_is_lent_and_given_meanwhile, 4)
{
    shrinking_beside_a_take(take_and_give, (cen_pool_options){.order = CEN_ORDER_FIFO});
}

/* guarantees: pool.L16 */
EXPLORE(L16_a_smaller_max_is_reached_although_one_is_lent_twice_meanwhile, 4)
{
    shrinking_beside_a_take(take_and_give_twice, (cen_pool_options){.max = 0});
}

/* One is held and stays so; the other is lent and given before or while max
 * becomes one, and must not stay. */
EXPLORE(L16_what_was_given_just_before_max_became_smaller_is_closed, 4)
{
    ceni_world_set_cpus(1);
    make_filled((cen_pool_options){.max = 2});
    cen_lease mine = take_one();
    taker other = {.deadline = CEN_NOW};
    ceni_thread taking = start("take", take_and_give, &other);
    resize(1);
    join(taking);
    expect_equal(look().idle, 0);
    give_one(mine);
    expect_rest(1);
    end();
}

/* Both are held; both come back while max becomes one. */
static void shrinking_beside_two_ends(void (*ends)(void *), uint32_t fewest)
{
    ceni_world_set_cpus(1);
    make_filled((cen_pool_options){.max = 2});
    taker a = {.lease = take_one()}, b = {.lease = take_one()};
    ceni_thread other = start("end", ends, &a);
    resize(1);
    give_lease(&b);
    join(other);
    expect(a.given == CEN_OK && b.given == CEN_OK);
    uint32_t idle = look().idle;
    expect(idle >= fewest && idle <= 1);
    expect_rest(idle);
    end();
}

/* guarantees: pool.L16 */
EXPLORE(L16_of_two_objects_that_come_back_to_a_smaller_pool_one_is_left, 4)
{
    shrinking_beside_two_ends(give_lease, 1);
}

/* A discarded object counts until it is closed, so the other may be closed on its account. */
/* guarantees: pool.L16 */
EXPLORE(L16_a_discard_and_a_give_to_a_smaller_pool_leave_no_more_than_one, 4)
{
    shrinking_beside_two_ends(discard_lease, 0);
}

/* One waits, both are held, max has become one: the object that is left goes to who waits. */
static void the_last_one_serves(void (*who)(void *), cen_pool_options options)
{
    ceni_world_set_cpus(1);
    options.max = 2;
    make_filled(options);
    cen_lease a = take_one(), b = take_one();
    resize(1);
    taker other = {.deadline = CEN_NEVER};
    ceni_thread waiter = start("wait", who, &other);
    give_one(a);
    give_one(b);
    join(waiter);
    expect_equal(other.status, CEN_OK);
    give_one(other.lease);
    expect_rest(1);
    end();
}

/* guarantees: pool.L3, pool-bugs.capacity-wakeup */
EXPLORE(L3_what_a_smaller_max_leaves_reaches_a_thread, 3)
{
    the_last_one_serves(take_only, (cen_pool_options){.max = 0});
}

/* guarantees: pool.L3, pool-bugs.capacity-wakeup */
EXPLORE(L3_what_a_smaller_max_leaves_reaches_a_thread_of_a_strict_pool, 4)
{
    the_last_one_serves(take_only, (cen_pool_options){.max_barging_ns = CEN_NONE});
}

/* guarantees: pool.L3, pool-bugs.capacity-wakeup */
EXPLORE(L3_what_a_smaller_max_leaves_reaches_who_is_pending, 4)
{
    the_last_one_serves(ask_only, (cen_pool_options){.max = 0});
}

/* The same while max is being lowered. */
/* guarantees: pool.L3 */
EXPLORE(L3_lowering_max_beside_two_gives_leaves_nobody_pending, 4)
{
    ceni_world_set_cpus(1);
    make_filled((cen_pool_options){.max = 2});
    cen_lease a = take_one(), b = take_one();
    asker mine;
    expect_equal(ask(&mine), CEN_OK);
    ceni_thread resizer = start("resize", resize_to, (void *)1);
    give_one(a);
    give_one(b);
    expect_equal(await(&mine), CEN_OK);
    join(resizer);
    give_one(lease_of(&mine));
    expect_rest(1);
    end();
}

/* guarantees: pool.L3 */
EXPLORE(L3_lowering_max_beside_a_give_leaves_no_thread_asleep, 3)
{
    ceni_world_set_cpus(1);
    make_filled((cen_pool_options){.max = 2});
    cen_lease a = take_one(), b = take_one();
    taker other = {.deadline = CEN_NEVER};
    ceni_thread waiter = start("wait", take_only, &other), resizer = start("resize", resize_to, (void *)1);
    give_one(a);
    give_one(b);
    join(waiter);
    join(resizer);
    expect_equal(other.status, CEN_OK);
    give_one(other.lease);
    expect_rest(1);
    end();
}

/* ---- There and back ----------------------------------------------------------------------------- */

static void shrink_and_grow(void *unused)
{
    (void)unused;
    resize(1);
    resize(2);
}

/* guarantees: pool.L16 */
EXPLORE(L16_lowering_and_raising_max_beside_two_gives_loses_no_place, 4)
{
    ceni_world_set_cpus(1);
    make_filled((cen_pool_options){.max = 2});
    cen_lease a = take_one(), b = take_one();
    ceni_thread resizer = start("resize", shrink_and_grow, NULL);
    give_one(a);
    give_one(b);
    join(resizer);
    uint32_t idle = look().idle;
    expect(idle >= 1 && idle <= 2);
    if (idle == 1) adopt_thing(2);
    expect_rest(2);
    end();
}

static void close_it(void *into)
{
    *(cen_status *)into = cen_pool_close(pool, CEN_NEVER, NULL, NULL);
}

/* guarantees: pool.L16 */
EXPLORE(L16_resize_and_close_at_once_leave_a_closed_pool, 4)
{
    make_filled((cen_pool_options){.max = 2});
    cen_status closed = CEN_OK;
    ceni_thread closer = start("close", close_it, &closed);
    cen_status resized = cen_pool_resize(pool, 1, NULL);
    join(closer);
    expect(resized == CEN_OK || resized == CEN_CLOSED);
    expect_equal(closed, CEN_OK);
    expect_rest(0);
    end();
}

/* ---- Given back ------------------------------------------------------------------------------ */

static void resize_to_one_and_two(void *unused)
{
    (void)unused;
    resize(1);
    resize(2);
}

/* The slot is given back and made again while its former holder gives once more. */
/* guarantees: pool.L16-shrink */
EXPLORE(L8_a_late_give_while_a_slot_is_given_back_and_lent_again_is_stale, 2)
{
    ceni_world_set_cpus(1);
    make_opening((cen_pool_options){.max = 2});
    cen_lease a = take_one(), b = take_one();
    taker late = {.lease = b};
    give_one(b);
    give_one(a);
    ceni_thread giver = start("late", give_lease, &late);
    resize_to_one_and_two(NULL);
    a = take_one();
    b = take_one();
    join(giver);
    expect_equal(late.given, CEN_STALE);
    give_one(b);
    give_one(a);
    expect_rest(2);
    end();
}

/* A thread that has it as a hint, and searches past it, finds what is there and nothing else. */
/* guarantees: pool.L16 */
EXPLORE(L2_a_take_while_a_slot_is_given_back_and_made_again_gets_one_of_two, 2)
{
    ceni_world_set_cpus(1);
    make_opening((cen_pool_options){.max = 2});
    cen_lease a = take_one(), b = take_one();
    give_one(a);
    give_one(b);
    taker other = {.deadline = CEN_NEVER};
    ceni_thread taking = start("take", take_and_give, &other);
    resize_to_one_and_two(NULL);
    a = take_one();
    join(taking);
    expect(other.status == CEN_OK && other.given == CEN_OK);
    give_one(a);
    cen_pool_stats s = look();
    expect_equal(s.taken, 4);
    expect_equal(s.taken, s.ended);
    end();
}
