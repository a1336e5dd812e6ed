/* SPDX-License-Identifier: MIT */
/* The program's allocator is called with no lock held by every change of a router's members, and no change is lost by that. */
#include "support/unlocked.h"
#include "unit/router/routers.h"

static uint32_t picked(const cen_member *member, uint32_t routes)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < routes; i++) {
        cen_route route = route_now();
        count += route.member == member;
        done(&route);
    }
    return count;
}

/* guarantees: pool.allocator-unlocked */
TEST(the_allocator_is_called_with_no_lock_held_by_a_router)
{
    make_router(.runtime = make_manual(), .allocator = &unlocked);
    cen_member *all[VALUES];
    for (int i = 0; i < VALUES; i++) all[i] = add(i);
    allocs_since();
    expect_equal(cen_members_up(all, VALUES / 2, NULL, NULL), CEN_OK);
    expect_equal(allocs_since(), 1); /* one set for all */
    for (int i = VALUES / 2; i < VALUES; i++) bring_up(all[i]);
    expect_equal(allocs_since(), VALUES / 2);
    expect_equal(cen_member_down(all[0], NULL), CEN_OK);
    expect_equal(cen_member_drain(all[1], NULL), CEN_OK);
    expect_equal(cen_member_eject(all[2], 0, NULL), CEN_OK);
    expect_equal(cen_member_restore(all[2], NULL), CEN_OK);
    expect_equal(cen_member_remove(all[3]), CEN_OK);
    expect_equal(allocs_since(), 5);
    expect_equal(look().up, VALUES - 3);
    end_all();
    expect_equal(ceni_load_seq_cst(&unlocked_allocs), ceni_load_seq_cst(&unlocked_frees));
}

/* The timers of several come at once, each of which changes the set. */
TEST(the_allocator_is_called_with_no_lock_held_when_members_age_and_come_back)
{
    make_router(.runtime = make_manual(), .allocator = &unlocked, .strategy = cen_strategy_round_robin());
    cen_member *old = add(0, .max_lifetime_ns = second), *young = add(1, .max_lifetime_ns = second), *ejected = add(2),
               *stays = add(3);
    bring_up(old), bring_up(young), bring_up(ejected), bring_up(stays);
    expect_equal(cen_member_eject(ejected, second, NULL), CEN_OK);
    expect_equal(cen_runtime_advance(runtime, second), CEN_OK);
    expect_equal(look().up, 2);
    expect_equal(picked(ejected, 100), 50);
    expect_equal(picked(stays, 100), 50);
    end_all();
}

/* It leaves the set under the lock of who asks for a route, where nothing can be allocated: the set is tidied afterwards. */
TEST(a_member_that_leaves_with_its_last_use_leaves_the_others_their_shares)
{
    make_router(.runtime = make_manual(), .allocator = &unlocked, .strategy = cen_strategy_round_robin());
    cen_member *all[4];
    for (int i = 0; i < 4; i++) all[i] = add_up(i, .max_uses = i == 1 ? 2 : CEN_OFF, .max_in_flight = 1);
    cen_route held[4];
    for (int i = 0; i < 4; i++) held[i] = route_now(); /* all are full */
    cen_route_op routing;
    cen_route_op_init(&routing, NULL, NULL);
    expect_equal(cen_router_route_async(router, NULL, CEN_NEVER, &routing), CEN_OK);
    for (int i = 0; i < 4; i++)
        if (held[i].member == all[1]) done(&held[i]); /* who waits has the last use of it */
    expect(cen_future_is_done(&routing.future));
    expect(routing.route.member == all[1]);
    done(&routing.route);
    for (int i = 0; i < 4; i++)
        if (held[i].member != all[1]) done(&held[i]);
    expect_equal(look().up, 3);
    for (int i = 0; i < 4; i++) expect_equal(picked(all[i], 99), i == 1 ? 0 : 33);
    end_all();
}
