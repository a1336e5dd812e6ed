/* SPDX-License-Identifier: MIT */
/* The strategies that quick_route.h has inline pick as those of the library do. */
#include <cenote/quick_route.h>

#include "unit/router/strategies.h"

static cen_picker picker;

static void begin_quick(cen_strategy strategy, unsigned count)
{
    begin_with(strategy, count);
    expect_equal(cen_picker_init(&picker), CEN_OK);
    picker.random_ = test_seed() | 1;
}

static unsigned quick_peek(void)
{
    cen_member *member = NULL;
    cen_quick_read_begin();
    expect_equal(cen_quick_peek(router, &picker, &member), CEN_OK);
    unsigned number = number_of(cen_member_value(member));
    cen_quick_read_end();
    return number;
}

static unsigned quick_route_to(cen_route *route)
{
    expect_equal(cen_quick_route(router, &picker, route), CEN_OK);
    return number_of(route->value);
}

static void count_quick_peeks(unsigned times)
{
    memset(picked, 0, sizeof picked);
    for (unsigned i = 0; i < times; i++) picked[quick_peek()]++;
}

TEST(inline_random_picks_each_alike)
{
    begin_quick(cen_strategy_random(), 10);
    count_quick_peeks(1000 * 1000);
    expect_shares(picked, NULL, 10);
    end_router();
}

TEST(inline_round_robin_goes_round_also_when_members_change)
{
    begin_quick(cen_strategy_round_robin(), 10);
    unsigned last = quick_peek();
    for (int i = 0; i < 100; i++) {
        cen_route route;
        unsigned now = i % 2 ? quick_peek() : quick_route_to(&route);
        if (i % 2 == 0) expect_equal(cen_quick_done(&route), CEN_OK);
        expect_equal(now, (last + 1) % 10);
        last = now;
    }
    expect_equal(cen_member_down(members[9], NULL), CEN_OK);
    expect_equal(cen_member_down(members[8], NULL), CEN_OK);
    count_quick_peeks(800);
    for (unsigned i = 0; i < 8; i++) expect_equal(picked[i], 100);
    end_router();
}

TEST(inline_two_choices_leave_the_busy_one_alone_and_pick_the_others_alike)
{
    static uint64_t others[2];
    cen_route held;
    begin_quick(cen_strategy_two_choices(), 3);
    unsigned busy = quick_route_to(&held);
    count_quick_peeks(300 * 1000);
    expect_equal(picked[busy], 0);
    others[0] = picked[(busy + 1) % 3];
    others[1] = picked[(busy + 2) % 3];
    expect_shares(others, NULL, 2);
    expect_equal(cen_quick_done(&held), CEN_OK);
    end_router();
}

/* As the_end_of_another_threads_uses_is_seen_although_the_member_is_left_alone says of those of the library. */
TEST(inline_two_choices_notice_that_others_have_ended_their_uses)
{
    enum { HEAVY = 100 };
    cen_route held[HEAVY];
    begin_quick(cen_strategy_two_choices(), 2);
    cen_pick pick = {.avoid = members[1]};
    ceni_route_room()[CENI_ROUTE_STRIPE] = UINT64_C(1) << 32 | 1; /* this thread's calls count on one stripe ... */
    picker.stripe_ = 0;                                           /* ... and its inline picks on another */
    for (int i = 0; i < HEAVY; i++) expect_equal(route_with(&pick, &held[i]), 0);
    unsigned firsts = 0;
    for (int i = 0; i < 2000; i++) {
        cen_route route;
        firsts += quick_route_to(&route) == 0;
        expect_equal(cen_quick_done(&route), CEN_OK);
    }
    expect(firsts <= 64);
    for (int i = 0; i < HEAVY; i++) expect_equal(cen_route_done(&held[i], CEN_OUTCOME_OK, 0), CEN_OK);
    count_quick_peeks(2000); /* each looks again with probability 1/64 */
    count_quick_peeks(1000);
    expect(picked[0] > 300);
    end_router();
}

TEST(another_strategy_is_called)
{
    cen_route route;
    begin_quick(cen_strategy_strict_round_robin(), 4);
    for (unsigned i = 0; i < 20; i++) {
        expect_equal(quick_route_to(&route), i % 4);
        expect_equal(cen_quick_done(&route), CEN_OK);
    }
    end_router();
}
