/* SPDX-License-Identifier: MIT */
/* A visit shows every object that exists, whatever the driver is doing with it. */
#include "unit/pool/scripted.h"

static script s;
static cen_pool *pool;

typedef struct search {
    void *object;
    int count;
    cen_object_view found;
} search;

static bool compare(void *argument, const cen_object_view *holding)
{
    search *one = argument;
    if (holding->object != one->object) return true;
    one->count++;
    one->found = *holding;
    return true;
}

/* The state in which the object with that number is visited, once. */
static cen_object_state state_of(int number)
{
    search one = {.object = object_of(number)};
    uint64_t allocations = ceni_world_allocations();
    expect_equal(cen_pool_each(pool, compare, &one), CEN_OK);
    expect_equal(ceni_world_allocations(), allocations);
    expect_equal(one.count, 1);
    if (one.found.state != CEN_OBJECT_HELD && one.found.state != CEN_OBJECT_REVOKED)
        expect(one.found.holder == 0 && !one.found.where && one.found.held_ns == 0);
    return one.found.state;
}

static void expect_gone(int number)
{
    search one = {.object = object_of(number)};
    expect_equal(cen_pool_each(pool, compare, &one), CEN_OK);
    expect_equal(one.count, 0);
}

/* guarantees: pool-api.visit */
TEST(an_object_is_visited_while_it_is_reset)
{
    s = (script){.of[CALL_RESET] = {.hang_from = 1, .hang_to = 1}};
    pool = begin_life(&s, BLOCKS | HAS_CHECK | HAS_RESET, .max = 2);
    cen_lease lease = take(pool);
    expect_equal(state_of(1), CEN_OBJECT_HELD);
    s.things[1].condition = CEN_DIRTY;
    give_back(&lease);
    ceni_world_settle();
    expect_equal(state_of(1), CEN_OBJECT_RESETTING);
    let_all_go(&s, CALL_RESET);
    expect_equal(state_of(1), CEN_OBJECT_IDLE);
    end_life(&s, pool);
}

/* guarantees: pool-api.visit */
TEST(an_object_is_visited_while_it_is_tested)
{
    s = (script){.of[CALL_TEST] = {.hang_from = 1, .hang_to = 1}};
    pool = begin_life(&s, BLOCKS | HAS_TEST, .max = 2);
    warm_up(pool, 1);
    expect_equal(cen_pool_test_idle(pool, NULL), CEN_OK);
    ceni_world_settle();
    expect_equal(state_of(1), CEN_OBJECT_TESTING);
    let_all_go(&s, CALL_TEST);
    expect_equal(state_of(1), CEN_OBJECT_IDLE);
    end_life(&s, pool);
}

/* guarantees: pool-api.visit */
TEST(an_object_is_visited_until_its_close_has_returned)
{
    s = (script){.of[CALL_CLOSE] = {.hang_from = 1, .hang_to = 1}};
    pool = begin_life(&s, BLOCKS, .max = 2);
    cen_lease lease = take(pool);
    expect_equal(cen_pool_discard(&lease), CEN_OK);
    ceni_world_settle();
    expect_equal(state_of(1), CEN_OBJECT_CLOSING);
    let_all_go(&s, CALL_CLOSE);
    expect_gone(1);
    end_life(&s, pool);
}

/* guarantees: pool-api.visit */
TEST(a_revoked_object_is_visited_as_such_while_the_interrupt_runs_and_until_it_is_given)
{
    s = (script){.of[CALL_INTERRUPT] = {.hang_from = 1, .hang_to = 1}};
    pool = begin_life(&s, BLOCKS, .max = 2, .max_hold_ns = 10 * MS);
    cen_lease lease = take(pool);
    ceni_world_advance(SECOND);
    ceni_world_settle();
    ceni_world_advance(SECOND);
    ceni_world_settle();
    expect_equal(s.of[CALL_INTERRUPT].calls, 1);
    expect_equal(state_of(1), CEN_OBJECT_REVOKED);
    let_all_go(&s, CALL_INTERRUPT);
    expect_equal(state_of(1), CEN_OBJECT_REVOKED);
    expect_equal(cen_pool_give(&lease), CEN_REVOKED);
    ceni_world_settle();
    expect_gone(1);
    end_life(&s, pool);
}
