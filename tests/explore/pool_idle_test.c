/* SPDX-License-Identifier: MIT */
/*
 * Idle slots and the map of the pool under every schedule. A search wastes one
 * look here and strikes every further slot that is not idle; whoever makes a
 * struck slot idle lists it again. No waiter sleeps beside an idle slot, and
 * everything that is idle can be found in the end.
 */
#include "explore/pools.h"

enum { MOST = 4 };

static cen_lease held[MOST];

/* A pool of so many objects, all held: those behind the first two are struck already. */
static void make_held(uint32_t count)
{
    ceni_world_set_cpus(1);
    memset(held, 0, sizeof held);
    make_filled((cen_pool_options){.max = count});
    for (uint32_t i = 0; i < count; i++) {
        held[i] = take_one();
        expect(held[i].object == &things[i]);
    }
}

static void give_held(uint32_t slot)
{
    expect_equal(cen_pool_give(&held[slot]), CEN_OK);
}

/* So many are idle, and one who has no slot to remember finds all of them and no more. */
static void find_all(void *count)
{
    cen_lease found[MOST], more;
    uintptr_t idle = (uintptr_t)count;
    for (uintptr_t i = 0; i < idle; i++) found[i] = take_one();
    expect_equal(cen_pool_try_take(pool, &more, NULL), CEN_EMPTY);
    for (uintptr_t i = 0; i < idle; i++) give_one(found[i]);
}

static void expect_all_found(uint32_t idle)
{
    ceni_thread finder = start("find", find_all, (void *)(uintptr_t)idle);
    join(finder);
    for (uint32_t i = 0; i < MOST; i++)
        if (held[i].pool) give_held(i);
    end();
}

static void a_give_of_slot_reaches(uint32_t slot, uint32_t count, void (*who)(void *))
{
    make_held(count);
    taker other = {.deadline = CEN_NEVER};
    ceni_thread waiter = start("wait", who, &other);
    give_held(slot);
    join(waiter);
    expect_equal(other.status, CEN_OK);
    give_one(other.lease);
    expect_all_found(1);
}

/* guarantees: pool.L3, pool-bugs.join-wakeup */
EXPLORE(L3_a_slot_that_was_struck_is_found_by_who_joins, 4)
{
    a_give_of_slot_reaches(1, 3, take_only);
}

/* guarantees: pool.L3, pool-bugs.join-wakeup */
EXPLORE(L3_a_slot_that_is_being_struck_is_found_by_who_joins, 4)
{
    a_give_of_slot_reaches(2, 3, take_only);
}

/* guarantees: pool.L3, pool-bugs.join-wakeup */
EXPLORE(L3_a_slot_that_is_being_struck_is_found_for_who_is_pending, 4)
{
    a_give_of_slot_reaches(2, 3, ask_only);
}

/* The neighbour is struck, and the bit above both goes for a moment. */
/* guarantees: pool.L3, pool-bugs.join-wakeup */
EXPLORE(L3_a_slot_whose_word_of_the_map_becomes_empty_is_found_by_who_joins, 4)
{
    a_give_of_slot_reaches(2, 4, take_only);
}

static void try_take_and_give(void *into)
{
    taker *self = into;
    self->status = cen_pool_try_take(pool, &self->lease, NULL);
    if (self->status != CEN_OK) return;
    cen_lease lease = self->lease;
    self->given = cen_pool_give(&lease);
}

/* One searches and strikes, one joins, one gives. */
static void searcher_joiner_giver(void (*joiner)(void *))
{
    make_held(3);
    taker searching = {.status = CEN_OK}, joining = {.deadline = CEN_NEVER};
    ceni_thread one = start("search", try_take_and_give, &searching), two = start("join", joiner, &joining);
    give_held(2);
    join(one);
    join(two);
    expect(searching.status == CEN_OK || searching.status == CEN_EMPTY);
    expect_equal(joining.status, CEN_OK);
    give_one(joining.lease);
    expect_all_found(1);
}

/* guarantees: pool.L3 */
EXPLORE(L3_one_who_strikes_a_slot_hides_it_from_no_thread, 3)
{
    searcher_joiner_giver(take_only);
}

/* guarantees: pool.L3 */
EXPLORE(L3_one_who_strikes_a_slot_hides_it_from_nobody_who_is_pending, 3)
{
    searcher_joiner_giver(ask_only);
}

static void give_third_and_take(void *into)
{
    give_held(2);
    take_only(into);
}

/* Main strikes a slot, or its neighbour under the same bit of the map, while
 * the other gives it; the other then looks for one itself and misses it: main
 * owes it another look. */
static void who_missed_it_is_tended_to(uint32_t count)
{
    make_held(count);
    taker other = {.deadline = CEN_NEVER}, mine = {.status = CEN_OK};
    ceni_thread thread = start("give, take", give_third_and_take, &other);
    try_take_and_give(&mine);
    join(thread);
    expect_equal(other.status, CEN_OK);
    give_one(other.lease);
    expect_all_found(1);
}

EXPLORE(L3_one_who_struck_a_slot_tends_to_who_missed_it, 4)
{
    who_missed_it_is_tended_to(3);
}

EXPLORE(L3_one_who_struck_a_slot_tends_to_who_missed_its_neighbour, 4)
{
    who_missed_it_is_tended_to(4);
}

static void give_third(void *unused)
{
    (void)unused;
    give_held(2);
}

/* Two slots of one word of the map are given while a search strikes them. */
EXPLORE(what_is_struck_while_it_is_given_can_be_found_again, 3)
{
    make_held(4);
    taker searching = {.status = CEN_OK};
    ceni_thread giver = start("give 2", give_third, NULL);
    ceni_thread searcher = start("search", try_take_and_give, &searching);
    give_held(3);
    join(giver);
    join(searcher);
    expect_all_found(2);
}

static void search_twice(void *into)
{
    try_take_and_give(into);
    try_take_and_give(into);
}

/* Two who search strike the same slot, which is given, lent and given again. */
EXPLORE(two_who_strike_one_slot_do_not_lose_it, 3)
{
    make_held(3);
    taker one = {.status = CEN_OK}, two = {.status = CEN_OK};
    ceni_thread first = start("one", try_take_and_give, &one), second = start("two", try_take_and_give, &two);
    give_held(2);
    join(first);
    join(second);
    expect_all_found(1);
}

EXPLORE(a_slot_that_is_struck_and_given_again_and_again_is_not_lost, 4)
{
    make_held(3);
    taker other = {.status = CEN_OK};
    ceni_thread searcher = start("search", search_twice, &other);
    give_held(2);
    give_held(1);
    join(searcher);
    expect_all_found(2);
}

/* guarantees: pool.L3, pool-bugs.join-wakeup */
EXPLORE(L3_an_object_adopted_into_a_place_that_is_being_struck_is_found_by_who_joins, 4)
{
    make_held(2);
    expect_equal(cen_pool_discard(&held[1]), CEN_OK);
    taker other = {.deadline = CEN_NEVER};
    ceni_thread waiter = start("wait", take_only, &other);
    adopt_thing(2);
    join(waiter);
    expect_equal(other.status, CEN_OK);
    give_one(other.lease);
    expect_all_found(1);
}

/* A slot is struck while its new object is opened, and lent by who opened it. */
EXPLORE(a_place_that_is_struck_while_it_is_opened_can_be_given, 4)
{
    ceni_world_set_cpus(1);
    memset(held, 0, sizeof held);
    make_opening((cen_pool_options){.max = 3});
    held[0] = take_one();
    held[1] = take_one();
    taker other = {.status = CEN_OK};
    ceni_thread searcher = start("search", try_take_and_give, &other);
    cen_lease mine;
    cen_status status = cen_pool_try_take(pool, &mine, NULL);
    if (status == CEN_OK) give_one(mine);
    join(searcher);
    expect(status == CEN_OK || other.status == CEN_OK);
    give_held(0);
    give_held(1);
    expect_rest(3);
    end();
}
