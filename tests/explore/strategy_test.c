/* SPDX-License-Identifier: MIT */
/*
 * The strategies that keep lists of their own, under every schedule: members leave and join
 * while others pick from a set that is a moment old. The world reports any touch of a member whose
 * memory has gone.
 */
#include <cenote/router.h>
#include <cenote/runtime.h>

#include "support/world.h"

static cen_runtime *runtime;
static cen_router *router;
static cen_member *members[2];
static int numbers[2] = {0, 1};

static void begin(cen_strategy strategy)
{
    cen_runtime_options manual = CEN_RUNTIME_OPTIONS(.manual = true, .virtual_time = true);
    expect_equal(cen_runtime_new(&manual, &runtime, NULL), CEN_OK);
    cen_router_options o = CEN_ROUTER_OPTIONS(.strategy = strategy, .runtime = runtime);
    expect_equal(cen_router_new(&o, &router, NULL), CEN_OK);
    for (int i = 0; i < 2; i++) {
        cen_member_options m = CEN_MEMBER_OPTIONS(.value = &numbers[i]);
        expect_equal(cen_router_add(router, &m, &members[i], NULL), CEN_OK);
        expect_equal(cen_member_up(members[i], NULL), CEN_OK);
    }
}

static void end(void)
{
    expect_equal(cen_router_free(router), CEN_OK);
    cen_runtime_poll(runtime);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
}

static int use(void)
{
    cen_route route;
    cen_status status = cen_router_route(router, NULL, CEN_NOW, &route, NULL);
    if (status == CEN_EMPTY) return -1;
    expect_equal(status, CEN_OK);
    int number = *(int *)route.value;
    status = cen_route_done(&route, CEN_OUTCOME_OK, 0);
    expect(status == CEN_OK || status == CEN_DOWN);
    return number;
}

static void use_once(void *argument)
{
    (void)argument;
    use();
}

/* ---- A member is removed ---------------------------------------------------------------------- */

static void remove_beside_a_use(cen_strategy strategy)
{
    begin(strategy);
    ceni_thread user = start("user", use_once, NULL);
    expect_equal(cen_member_remove(members[0]), CEN_OK);
    for (int i = 0; i < 2; i++) expect_equal(use(), 1); /* it has left, whatever the other does */
    cen_runtime_poll(runtime);
    join(user);
    end();
}

EXPLORE(a_member_that_was_removed_has_no_turn_in_a_strict_round, 3)
{
    remove_beside_a_use(cen_strategy_strict_round_robin());
}

EXPLORE(a_member_that_was_removed_is_not_the_least_used, 3)
{
    remove_beside_a_use(cen_strategy_least_in_flight());
}

EXPLORE(a_member_that_was_removed_has_no_key, 3)
{
    remove_beside_a_use(cen_strategy_consistent_hash());
}

/* ---- All leave ----------------------------------------------------------------------------------- */

/* The list is empty while somebody picks from the set of before: that set has the answer, or there is none. */
static void leave_all_beside_a_use(cen_strategy strategy)
{
    begin(strategy);
    ceni_thread user = start("user", use_once, NULL);
    for (int i = 0; i < 2; i++) expect_equal(cen_member_down(members[i], NULL), CEN_OK);
    expect_equal(use(), -1);
    join(user);
    for (int i = 0; i < 2; i++) expect_equal(cen_member_up(members[i], NULL), CEN_OK);
    int first = use();
    expect_equal(use(), 1 - first); /* counts and turns are right again: both idle, each once */
    end();
}

EXPLORE(a_strict_round_that_loses_all_members_begins_anew, 3)
{
    leave_all_beside_a_use(cen_strategy_strict_round_robin());
}

EXPLORE(uses_of_members_that_have_all_left_are_counted_down, 3)
{
    leave_all_beside_a_use(cen_strategy_least_in_flight());
}

/* ---- Two pick ------------------------------------------------------------------------------------ */

static int counts[2];

static void count_one(void *argument)
{
    (void)argument;
    cen_route route;
    expect_equal(cen_router_route(router, NULL, CEN_NOW, &route, NULL), CEN_OK);
    __atomic_fetch_add(&counts[*(int *)route.value], 1, __ATOMIC_RELAXED);
    expect_equal(cen_route_done(&route, CEN_OUTCOME_OK, 0), CEN_OK);
}

static void pick_by_two(cen_strategy strategy)
{
    begin(strategy);
    counts[0] = counts[1] = 0;
    ceni_thread other = start("other", count_one, NULL);
    count_one(NULL);
    join(other);
    expect_equal(counts[0], 1);
    expect_equal(counts[1], 1);
    end();
}

EXPLORE(two_that_pick_at_once_have_a_turn_each_in_a_strict_round, 4)
{
    pick_by_two(cen_strategy_strict_round_robin());
}

EXPLORE(two_that_pick_at_once_have_a_turn_each_by_a_shared_counter, 4)
{
    pick_by_two(cen_strategy_shared_round_robin());
}

/* Whether the first use has ended when the second begins or not: the other one has fewer, or has been idle for longer. */
EXPLORE(two_that_pick_at_once_have_a_member_each_by_least_in_flight, 4)
{
    pick_by_two(cen_strategy_least_in_flight());
}
