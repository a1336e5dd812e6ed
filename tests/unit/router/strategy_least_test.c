/* SPDX-License-Identifier: MIT */
/*
 * Least in flight, exact: against a model, and its levels from inside. The source is
 * part of this file so that the invariants at its top can be looked at.
 */
#include "router/least.c" /* NOLINT(bugprone-suspicious-include) */

#include "unit/router/strategies.h"

/* ---- The invariants ------------------------------------------------------------------------ */

/* In a manual runtime, with one thread: nobody changes anything meanwhile. */
static ladder *ladder_of(const cen_router *of)
{
    return of->state;
}

/* I1 to I3; returns how many levels there are. */
static unsigned expect_ladder(unsigned joined_members)
{
    const ladder *all = ladder_of(router);
    unsigned levels = 0, spares = 0, standing = 0;
    uint64_t last = 0;
    for (ceni_list *link = all->levels.next; link != &all->levels; link = link->next, levels++) {
        const level *here = CENI_LIST_ENTRY(link, level, link);
        expect(here->count != SPARE);
        expect(levels == 0 || here->count > last);
        last = here->count;
        expect(!ceni_list_empty(&here->members));
        for (ceni_list *member = here->members.next; member != &here->members; member = member->next, standing++) {
            const place *own = CENI_LIST_ENTRY(member, place, link);
            expect(own->level == here);
            expect_equal(own->count, here->count);
            expect_equal(own->count, cen_member_load(own->member));
        }
    }
    for (ceni_list *link = all->spare.next; link != &all->spare; link = link->next, spares++)
        expect(CENI_LIST_ENTRY(link, level, link)->count == SPARE);
    expect_equal(standing, joined_members);
    expect_equal(levels + spares, joined_members);
    return levels;
}

/* ---- The model ----------------------------------------------------------------------------- */

enum { SIDE = 9, ROUTES = 40 };

static struct {
    bool up;
    uint64_t count; /* uses in flight */
    uint64_t since; /* when it came to this count, or was peeked at */
} model[SIDE];
static uint64_t moment;
static cen_route routes[ROUTES];
static unsigned route_of[ROUTES]; /* a member's number */
static unsigned open_routes;

static unsigned model_up(void)
{
    unsigned count = 0;
    for (unsigned i = 0; i < SIDE; i++) count += model[i].up;
    return count;
}

static unsigned model_pick(const cen_member *avoid)
{
    unsigned best = SIDE;
    for (unsigned i = 0; i < SIDE; i++) {
        if (!model[i].up || members[i] == avoid) continue;
        bool better = best == SIDE || model[i].count < model[best].count ||
                      (model[i].count == model[best].count && model[i].since < model[best].since);
        if (better) best = i;
    }
    return best;
}

static void step_route(const cen_route_hint *pick)
{
    unsigned expected = model_pick(pick ? pick->avoid : NULL);
    unsigned number = route_with(pick, &routes[open_routes]);
    expect_equal(number, expected);
    route_of[open_routes++] = number;
    model[number].count++;
    model[number].since = ++moment;
}

static void step_peek(void)
{
    unsigned expected = model_pick(NULL);
    expect_equal(peek(), expected);
    model[expected].since = ++moment;
}

static void step_done(unsigned which, cen_outcome outcome)
{
    unsigned number = route_of[which];
    cen_status status = cen_route_done(&routes[which], outcome, 0);
    expect(status == CEN_OK || status == CEN_DOWN);
    routes[which] = routes[--open_routes];
    route_of[which] = route_of[open_routes];
    model[number].count--;
    model[number].since = ++moment;
}

static void step_join_or_leave(unsigned number)
{
    if (model[number].up) {
        if (model_up() == 1) return;
        expect_equal(cen_member_down(members[number], NULL), CEN_OK);
    } else {
        expect_equal(cen_member_up(members[number], NULL), CEN_OK);
        model[number].since = ++moment;
    }
    model[number].up = !model[number].up;
}

/* It goes for good, with its memory when its last use has ended, and another has its number. */
static void step_replace(unsigned number)
{
    if (model_up() - model[number].up == 0 || model[number].count > 0) return;
    expect_equal(cen_member_remove(members[number]), CEN_OK);
    members[number] = add_to(router, number, 0);
    model[number].up = true;
    model[number].since = ++moment;
}

TEST(the_least_used_is_picked_under_random_routes_ends_joins_and_leaves)
{
    uint64_t seed = test_seed();
    begin_with(cen_strategy_least_in_flight(), SIDE);
    for (unsigned i = 0; i < SIDE; i++) model[i].up = true, model[i].since = ++moment;
    for (int i = 0; i < 60 * 1000; i++) {
        uint64_t dice = test_random(&seed), other = dice >> 32;
        unsigned number = (unsigned)(other % SIDE);
        cen_route_hint pick = {.avoid = members[number]};
        if (dice % 16 < 6 && open_routes < ROUTES) step_route(NULL);
        else if (dice % 16 < 7 && open_routes < ROUTES && model_up() > 1) step_route(&pick);
        else if (dice % 16 < 12 && open_routes > 0)
            step_done((unsigned)(other % open_routes), (cen_outcome)(other % 3));
        else if (dice % 16 < 13) step_peek();
        else if (dice % 16 < 15) step_join_or_leave(number);
        else step_replace(number);
        expect_ladder(model_up());
        if (i % 64 == 0) cen_runtime_poll(runtime);
    }
    while (open_routes > 0) step_done(0, CEN_OUTCOME_OK);
    expect_ladder(model_up());
    end_router();
}

/* ---- One by one --------------------------------------------------------------------------------- */

/* All stand on the level that one of them brought; whoever that is, it leaves. */
TEST(a_member_whose_level_others_stand_on_can_leave)
{
    for (unsigned gone = 0; gone < 4; gone++) {
        cen_route held[4];
        begin_with(cen_strategy_least_in_flight(), 4);
        expect_equal(expect_ladder(4), 1);
        expect_equal(cen_member_remove(members[gone]), CEN_OK);
        cen_runtime_poll(runtime); /* its memory is gone, and the level that stood there too */
        expect_equal(expect_ladder(3), 1);
        for (unsigned i = 0; i < 3; i++) expect(route_with(NULL, &held[i]) != gone);
        expect_equal(expect_ladder(3), 1);
        expect_equal(cen_route_done(&held[1], CEN_OUTCOME_OK, 0), CEN_OK);
        expect_equal(expect_ladder(3), 2);
        expect_equal(cen_route_done(&held[0], CEN_OUTCOME_OK, 0), CEN_OK);
        expect_equal(cen_route_done(&held[2], CEN_OUTCOME_OK, 0), CEN_OK);
        end_router();
    }
}

TEST(a_member_that_was_away_stands_where_its_uses_put_it)
{
    cen_route held[3];
    begin_with(cen_strategy_least_in_flight(), 2);
    for (int i = 0; i < 3; i++) route_with(NULL, &held[i]); /* 2 and 1 */
    expect_equal(cen_member_down(members[0], NULL), CEN_OK);
    expect_equal(cen_route_done(&held[0], CEN_OUTCOME_OK, 0), CEN_DOWN);
    expect_equal(cen_member_up(members[0], NULL), CEN_OK);
    expect_ladder(2);
    expect_equal(expect_ladder(2), 1); /* one use each */
    expect_equal(cen_route_done(&held[2], CEN_OUTCOME_FAILED, 0), CEN_DOWN);
    expect_equal(peek(), 0);
    expect_equal(cen_route_done(&held[1], CEN_OUTCOME_OK, 0), CEN_OK);
    end_router();
}

TEST(of_members_that_are_idle_the_one_idle_for_longest_is_picked)
{
    begin_with(cen_strategy_least_in_flight(), 5);
    for (unsigned i = 0; i < 50; i++) expect_equal(use(), i % 5);
    end_router();
}

TEST(a_single_member_is_picked_however_used_it_is)
{
    cen_route held[8];
    begin_with(cen_strategy_least_in_flight(), 1);
    for (int i = 0; i < 8; i++) expect_equal(route_with(NULL, &held[i]), 0);
    expect_equal(expect_ladder(1), 1);
    for (int i = 0; i < 8; i++) expect_equal(cen_route_done(&held[i], CEN_OUTCOME_OK, 0), CEN_OK);
    end_router();
}

/* 1000 members: uses are spread evenly to one, whatever the order in which they end. */
TEST(thousands_of_uses_lie_evenly_on_a_thousand_members)
{
    enum { MANY = 1000 };
    static cen_route held[3 * MANY];
    begin_with(cen_strategy_least_in_flight(), MANY);
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < MANY; i++) picked[route_with(NULL, &held[round * MANY + i])]++;
        for (unsigned i = 0; i < MANY; i++) expect_equal(picked[i], round + 1);
    }
    expect_equal(expect_ladder(MANY), 1);
    for (unsigned i = 0; i < 3 * MANY; i++) expect_equal(cen_route_done(&held[i], CEN_OUTCOME_OK, 0), CEN_OK);
    expect_equal(expect_ladder(MANY), 1);
    end_router();
}

static void route_and_end(void *argument)
{
    (void)argument;
    for (int i = 0; i < 20000; i++) {
        cen_route held[3];
        for (int k = 0; k < 3; k++) route_with(NULL, &held[k]);
        for (int k = 0; k < 3; k++) cen_route_done(&held[k], CEN_OUTCOME_OK, 0);
    }
}

TEST(the_levels_are_right_after_several_threads_have_used_them_while_members_came_and_went)
{
    enum { THREADS = 3 };
    ceni_thread threads[THREADS];
    cen_router_options o = CEN_ROUTER_OPTIONS(.strategy = cen_strategy_least_in_flight());
    expect_equal(cen_router_new(&o, &router, NULL), CEN_OK);
    for (unsigned i = 0; i < 6; i++) members[i] = add_to(router, i, 0);
    for (int i = 0; i < THREADS; i++) start_thread(&threads[i], route_and_end, NULL);
    for (unsigned i = 0; i < 1000; i++) {
        expect_equal(cen_member_down(members[i % 5], NULL), CEN_OK);
        ceni_thread_yield();
        expect_equal(cen_member_up(members[i % 5], NULL), CEN_OK);
    }
    for (int i = 0; i < THREADS; i++) ceni_thread_join(&threads[i]);
    for (unsigned i = 0; i < 6; i++) expect_equal(((place *)cen_member_data(members[i]))->count, 0);
    expect_equal(expect_ladder(6), 1);
    expect_equal(cen_router_free(router), CEN_OK);
}
