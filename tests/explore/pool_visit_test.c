/* SPDX-License-Identifier: MIT */
/*
 * Visits under every schedule: an object that exists during the whole visit is
 * visited once, whatever happens to it and to its neighbours.
 */
#include "explore/pools.h"

static int seen[THINGS];

static bool count_object(void *unused, const cen_object_view *holding)
{
    (void)unused;
    seen[(thing *)holding->object - things]++;
    return true;
}

static void visit(void)
{
    memset(seen, 0, sizeof seen);
    expect_equal(cen_pool_each(pool, count_object, NULL), CEN_OK);
}

static cen_condition check_dirty(void *unused, void *object)
{
    (void)unused, (void)object;
    return CEN_DIRTY;
}

static cen_status reset_thing(void *unused, void *object, cen_error *error)
{
    (void)unused, (void)object, (void)error;
    return CEN_OK;
}

static void make(uint32_t max, const cen_driver_calls *calls)
{
    ceni_world_set_cpus(1);
    begin(max);
    cen_pool_options options = CEN_POOL_OPTIONS(.max = max, .driver = {calls, NULL});
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
}

static void take_and_give_one(void *unused)
{
    (void)unused;
    give_one(take_one());
}

/* guarantees: pool-api.visit */
EXPLORE(an_object_that_is_lent_and_reset_meanwhile_is_visited_once, 3)
{
    static const cen_driver_calls calls = {
        .size = sizeof calls, .open = open_thing, .close = close_thing, .check = check_dirty, .reset = reset_thing};
    make(1, &calls);
    take_and_give_one(NULL);
    ceni_thread thread = start("take", take_and_give_one, NULL);
    visit();
    join(thread);
    expect_equal(seen[0], 1);
    end();
}

static cen_lease first;

/* Its slot is emptied, and filled with another object. */
static void replace_the_first(void *unused)
{
    (void)unused;
    expect_equal(cen_pool_discard(&first), CEN_OK);
    first = take_one();
}

/* With words of two bits the neighbours of one that stays change its word, and empty the next word and those above. */
/* guarantees: pool-api.visit */
EXPLORE(an_object_that_stays_is_visited_once_while_its_neighbours_go_and_come, 3)
{
    make(3, &thing_calls);
    first = take_one();
    cen_lease second = take_one(), third = take_one();
    give_one(second);
    expect_equal(cen_pool_discard(&third), CEN_OK);
    ceni_thread thread = start("replace", replace_the_first, NULL);
    visit();
    join(thread);
    expect_equal(seen[1], 1);
    expect(seen[0] <= 1 && seen[2] == 0 && seen[3] <= 1);
    give_one(first);
    end();
}

static bool expect_no_closed_one_in_opening(void *unused, const cen_object_view *holding)
{
    (void)unused;
    expect(holding->state != CEN_OBJECT_OPENING || holding->object != &things[0]);
    return true;
}

/* guarantees: pool-api.visit */
EXPLORE(a_slot_that_is_filled_again_does_not_show_the_object_before, 3)
{
    make(1, &thing_calls);
    first = take_one();
    ceni_thread thread = start("replace", replace_the_first, NULL);
    expect_equal(cen_pool_each(pool, expect_no_closed_one_in_opening, NULL), CEN_OK);
    join(thread);
    give_one(first);
    end();
}

static void abandon_thing(void *unused, void *object)
{
    (void)unused, (void)object;
}

static void take_and_end(void *into)
{
    *(cen_lease *)into = take_one();
}

/* A thread ends without giving, and its object leaves the slot for a record during the visit. */
/* guarantees: pool-api.visit */
EXPLORE(an_object_that_becomes_an_orphan_is_visited, 3)
{
    static const cen_driver_calls calls = {.size = sizeof calls,
                                           .open = open_thing,
                                           .close = close_thing,
                                           .interrupt = interrupt_thing,
                                           .abandon = abandon_thing};
    make(1, &calls);
    ceni_world_with_hooks();
    take_and_give_one(NULL); /* the object exists before the visit */
    cen_lease lost;
    ceni_thread thread = start("take", take_and_end, &lost);
    visit();
    join(thread);
    expect(seen[0] == 1 || seen[0] == 2);
    visit();
    expect_equal(seen[0], 1);
    expect_equal(cen_pool_give(&lost), CEN_REVOKED);
    visit();
    expect_equal(seen[0], 0);
    end();
}
