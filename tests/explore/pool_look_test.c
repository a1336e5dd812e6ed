/* SPDX-License-Identifier: MIT */
/*
 * Looking at a pool under every schedule: the numbers satisfy the equations of
 * cen_pool_stats and were true, and nobody is named for a lease, an object or a
 * time that was not theirs.
 */
#include "explore/pools.h"

static taker other; /* what the thread beside main does */

static void begin_looking(cen_pool_options options)
{
    ceni_world_set_cpus(1);
    other = (taker){.deadline = CEN_NEVER};
    make_filled(options);
}

/* ---- L19: numbers -------------------------------------------------------------------------- */

static void take_and_give_twice(void *unused)
{
    (void)unused;
    take_and_give(&other);
    take_and_give(&other);
}

/* The longest idle is lent, so the thread has one slot and then the other, and never both. */
/* guarantees: pool.L19, pool-bugs.numbers */
EXPLORE(L19_one_object_that_is_held_in_turn_in_two_slots_is_counted_once, 4)
{
    begin_looking((cen_pool_options){.max = 2, .order = CEN_ORDER_FIFO});
    ceni_thread thread = start("take", take_and_give_twice, NULL);
    cen_pool_stats s = look();
    join(thread);
    expect(s.held <= 1);
    expect(s.idle <= 2 && s.idle + s.moving >= 1);
    expect(s.taken <= 2 && s.taken - s.ended <= 1);
    expect_rest(2);
    end();
}

static void take_before_giving(void *unused)
{
    (void)unused;
    cen_lease first = take_one(), second = take_one();
    give_one(first);
    give_one(second);
}

/* One is always idle or held more: first none, then one, then both, then one again. */
/* guarantees: pool.L19, pool-bugs.numbers */
EXPLORE(L19_what_is_idle_and_what_is_held_were_so_at_one_moment, 4)
{
    begin_looking((cen_pool_options){.max = 2});
    ceni_thread thread = start("take", take_before_giving, NULL);
    cen_pool_stats s = look();
    join(thread);
    if (s.moving == 0) expect_equal(s.idle + s.held, 2);
    expect_equal(s.held + s.moving >= s.taken - s.ended, 1);
    expect_rest(2);
    end();
}

static void open_and_discard(void *unused)
{
    (void)unused;
    cen_lease lease = take_one();
    expect_equal(cen_pool_discard(&lease), CEN_OK);
}

/* guarantees: pool.L19, pool-bugs.numbers */
EXPLORE(L19_the_equations_hold_while_an_object_is_opened_and_closed, 4)
{
    ceni_world_set_cpus(1);
    make_opening((cen_pool_options){.max = 1});
    ceni_thread thread = start("open", open_and_discard, NULL);
    cen_pool_stats s = look();
    join(thread);
    expect(s.opened <= 1 && s.closed <= s.opened && s.discarded <= 1);
    end();
}

static void fail_to_open(void *unused)
{
    (void)unused;
    cen_lease lease;
    expect_equal(cen_pool_try_take(pool, &lease, NULL), CEN_DRIVER);
}

/* guarantees: pool.L19, pool-bugs.numbers */
EXPLORE(L19_the_equations_hold_while_an_opening_fails, 4)
{
    ceni_world_set_cpus(1);
    make_opening((cen_pool_options){.max = 1});
    opens_that_fail = 1;
    ceni_thread thread = start("open", fail_to_open, NULL);
    cen_pool_stats s = look();
    join(thread);
    expect_equal(s.opened + s.adopted, 0);
    end();
}

/* The slot is empty before and after, and was not in between. */
static void adopt_and_close(void *unused)
{
    (void)unused;
    adopt_thing(0);
    expect_equal(cen_pool_close(pool, CEN_NEVER, NULL, NULL), CEN_OK);
}

/* guarantees: pool.L19, pool-bugs.numbers */
EXPLORE(L19_the_equations_hold_while_an_object_is_adopted_and_closed, 4)
{
    begin(0);
    cen_pool_options options = CEN_POOL_OPTIONS(.max = 1);
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    ceni_thread thread = start("adopt", adopt_and_close, NULL);
    look();
    join(thread);
    end();
}

/* The slot is idle before and after, and its generation is the same; another object is in it. */
static void exchange_the_second(void *unused)
{
    (void)unused;
    expect_equal(cen_pool_resize(pool, 1, NULL), CEN_OK);
    expect_equal(cen_pool_resize(pool, 2, NULL), CEN_OK);
    adopt_thing(2);
}

/* guarantees: pool.L19, pool-bugs.numbers */
EXPLORE(L19_the_equations_hold_while_an_idle_object_is_exchanged, 3)
{
    begin_looking((cen_pool_options){.max = 2});
    ceni_thread thread = start("exchange", exchange_the_second, NULL);
    look();
    join(thread);
    expect_rest(2);
    end();
}

static void take_briefly(void *unused)
{
    (void)unused;
    take_and_give(&other);
}

/* guarantees: pool.L19, pool-bugs.numbers */
EXPLORE(L19_whoever_waits_is_counted_once_however_it_ends, 4)
{
    begin_looking((cen_pool_options){.max = 1});
    other.deadline = cen_in_us(50);
    cen_lease mine = take_one();
    ceni_thread thread = start("wait", take_briefly, NULL);
    cen_pool_stats s = look();
    give_one(mine);
    join(thread);
    expect(s.waited <= 1);
    s = look();
    expect_equal(s.timed_out, other.status == CEN_TIMEOUT);
    expect_equal(s.waited, s.served + s.timed_out);
    end();
}

/* ---- Holders and visitors --------------------------------------------------------------------- */

static const char first_call[] = "first", second_call[] = "second";

static void take_by_two_calls(void *unused)
{
    (void)unused;
    cen_lease lease;
    expect_equal(cen_pool_take_at(pool, CEN_NOW, &lease, NULL, first_call), CEN_OK);
    give_one(lease);
    expect_equal(cen_pool_take_at(pool, CEN_NOW, &lease, NULL, second_call), CEN_OK);
    give_one(lease);
}

/* guarantees: pool.L19, pool-bugs.numbers */
EXPLORE(L19_no_call_is_named_for_the_lease_of_another, 4)
{
    begin_looking((cen_pool_options){.max = 1});
    ceni_thread thread = start("take", take_by_two_calls, NULL);
    cen_object_view holding;
    size_t count;
    expect_equal(cen_pool_holders(pool, &holding, 1, &count), CEN_OK);
    if (count == 1 && holding.holder) {
        expect_equal(holding.holder, 2); /* main is the first thread of the world */
        expect(holding.where == (holding.generation == 1 ? first_call : second_call));
    }
    join(thread);
    end();
}

/* guarantees: pool.L19, pool-bugs.numbers */
EXPLORE(L19_no_thread_is_named_for_the_lease_of_another, 3)
{
    begin_looking((cen_pool_options){.max = 1});
    taker another = {.deadline = CEN_NEVER};
    ceni_thread one = start("one", take_and_give, &other), two = start("two", take_and_give, &another);
    cen_object_view holding;
    size_t count;
    expect_equal(cen_pool_holders(pool, &holding, 1, &count), CEN_OK);
    join(one);
    join(two);
    expect(count <= 1);
    if (count == 1 && holding.holder)
        expect_equal(holding.generation, (holding.holder == 2 ? &other : &another)->lease.generation);
    end();
}

static void replace_the_object(void *unused)
{
    (void)unused;
    cen_lease lease = take_one();
    expect_equal(cen_pool_discard(&lease), CEN_OK);
    lease = take_one();
    give_one(lease);
}

static bool expect_its_own(void *seen, const cen_object_view *holding)
{
    ++*(int *)seen;
    if (holding->generation == 0 || holding->state == CEN_OBJECT_OPENING) return true;
    expect(holding->object == &things[holding->generation - 1]);
    expect(holding->holder == 0 || holding->holder == 2);
    expect(holding->holder == 0 || holding->state != CEN_OBJECT_IDLE);
    return true;
}

/* The first lease had the first object, and the second the second. */
/* guarantees: pool.L19, pool-bugs.numbers */
EXPLORE(L19_a_visitor_never_sees_the_object_of_another_lease, 4)
{
    ceni_world_set_cpus(1);
    make_opening((cen_pool_options){.max = 1});
    ceni_thread thread = start("replace", replace_the_object, NULL);
    int seen = 0;
    expect_equal(cen_pool_each(pool, expect_its_own, &seen), CEN_OK);
    expect(seen <= 1);
    join(thread);
    end();
}

static bool count_visit(void *seen, const cen_object_view *holding)
{
    ((int *)seen)[holding->index]++;
    expect(holding->object == &things[holding->index]);
    return true;
}

/* guarantees: pool.L19, pool-bugs.numbers */
EXPLORE(L19_a_visitor_sees_once_what_is_there_all_the_while, 4)
{
    begin_looking((cen_pool_options){.max = 2});
    ceni_thread thread = start("take", take_before_giving, NULL);
    int seen[2] = {0, 0};
    expect_equal(cen_pool_each(pool, count_visit, seen), CEN_OK);
    expect(seen[0] == 1 && seen[1] == 1);
    join(thread);
    end();
}

/* ---- Times ------------------------------------------------------------------------------------------ */

static int64_t begun; /* not before this was the lease taken */

static void take_later(void *unused)
{
    (void)unused;
    ceni_world_advance(1000);
    begun = ceni_clock_now();
    take_and_keep(&other);
}

/* Nobody has held an object for longer than since it was taken, nor for less than no time. */
static void ages_are_true(bool exact)
{
    begin_looking((cen_pool_options){.max = 1, .exact_times = exact});
    ceni_thread thread = start("take", take_later, NULL);
    cen_object_view holding[2];
    size_t count[2];
    int64_t after[2];
    for (int i = 0; i < 2; i++) {
        expect_equal(cen_pool_holders(pool, &holding[i], 1, &count[i]), CEN_OK);
        after[i] = ceni_clock_now();
        ceni_world_advance(1000);
    }
    join(thread);
    for (int i = 0; i < 2; i++) {
        if (count[i] == 0) continue;
        expect(holding[i].held_ns >= 0);
        expect(holding[i].held_ns <= after[i] - begun);
    }
    give_one(other.lease);
    end();
}

/* guarantees: pool.L19, pool-bugs.numbers */
EXPLORE(L19_an_exact_age_is_never_more_than_true_and_never_negative, 4)
{
    ages_are_true(true);
}

/* guarantees: pool.L19, pool-bugs.numbers */
EXPLORE(L19_an_age_is_never_more_than_true_and_never_negative, 4)
{
    ages_are_true(false);
}

static void list_holders(void *unused)
{
    (void)unused;
    cen_object_view holding;
    size_t count;
    expect_equal(cen_pool_holders(pool, &holding, 1, &count), CEN_OK);
}

/* Two list the holders while one lease ends and the next begins. */
/* guarantees: pool.L19, pool-bugs.numbers */
EXPLORE(L19_the_age_of_a_lease_is_not_counted_from_another_one, 4)
{
    begin_looking((cen_pool_options){.max = 1});
    cen_lease mine = take_one();
    ceni_thread thread = start("list", list_holders, NULL);
    give_one(mine);
    ceni_world_advance(1000);
    int64_t began = ceni_clock_now();
    mine = take_one();
    cen_object_view holding;
    size_t count;
    for (int i = 0; i < 2; i++) {
        expect_equal(cen_pool_holders(pool, &holding, 1, &count), CEN_OK);
        expect_equal(count, 1);
        expect(holding.held_ns >= 0 && holding.held_ns <= ceni_clock_now() - began);
    }
    join(thread);
    give_one(mine);
    end();
}

/* The other may have seen the lease before, and marks it while this one is marked. */
EXPLORE(L19_a_lease_that_was_met_has_its_age_although_another_marks_an_older_one, 4)
{
    begin_looking((cen_pool_options){.max = 1});
    cen_lease mine = take_one();
    ceni_thread thread = start("list", list_holders, NULL);
    give_one(mine);
    mine = take_one();
    list_holders(NULL);
    join(thread);
    ceni_world_advance(1000);
    cen_object_view holding;
    size_t count;
    expect_equal(cen_pool_holders(pool, &holding, 1, &count), CEN_OK);
    expect_equal(holding.held_ns, 1000);
    give_one(mine);
    end();
}

static uint32_t reap(int64_t idle_timeout_ns)
{
    uint32_t closed = 0;
    expect_equal(cen_pool_reap(pool, idle_timeout_ns, &closed, NULL), CEN_OK);
    return closed;
}

static void reap_what_is_very_old(void *unused)
{
    (void)unused;
    expect_equal(reap(CENI_FOREVER), 0);
}

/* The slot has the same generation before and after, and the other may mark the object that is gone. */
EXPLORE(L19_an_idle_object_is_not_as_old_as_the_one_that_was_in_its_slot, 4)
{
    begin_looking((cen_pool_options){.max = 1});
    ceni_thread thread = start("reap", reap_what_is_very_old, NULL);
    expect_equal(reap(0), 1);
    ceni_world_advance(1000);
    adopt_thing(1);
    join(thread);
    ceni_world_advance(500);
    expect_equal(reap(501), 0);
    expect_rest(1);
    end();
}
