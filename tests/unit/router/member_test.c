/* SPDX-License-Identifier: MIT */
/* Members' states: up, down, drain, eject, restore, remove. */
#include "support/world.h"
#include "unit/router/routers.h"

static bool is_picked(const cen_member *member)
{
    bool picked = false;
    for (int i = 0; i < 64; i++) {
        cen_member *out = NULL;
        cen_read_begin();
        if (cen_router_peek(router, NULL, &out) == CEN_OK) picked |= out == member;
        cen_read_end();
    }
    return picked;
}

TEST(a_member_that_comes_up_is_picked_and_one_that_goes_down_is_not)
{
    make_router(.name = NULL);
    cen_member *one = add(0), *two = add_up(1);
    expect(!is_picked(one));
    expect_equal(cen_member_up(one, NULL), CEN_OK);
    expect(is_picked(one) && is_picked(two));
    expect_equal(cen_member_state_of(one), CEN_MEMBER_UP);
    expect_equal(cen_member_down(one, NULL), CEN_OK);
    expect_equal(cen_member_state_of(one), CEN_MEMBER_DOWN);
    expect(!is_picked(one) && is_picked(two));
    expect_equal(cen_member_up(one, NULL), CEN_OK);
    expect(is_picked(one));
    end_router();
    expect_equal(ceni_world_bytes(), 0);
}

TEST(up_and_down_said_twice_change_nothing_the_second_time)
{
    make_router(.name = NULL);
    cen_member *one = add_up(0);
    uint64_t changes = look().changes;
    expect_equal(cen_member_up(one, NULL), CEN_OK);
    expect_equal(look().changes, changes);
    expect_equal(cen_member_down(one, NULL), CEN_OK);
    changes = look().changes;
    expect_equal(cen_member_down(one, NULL), CEN_OK);
    expect_equal(look().changes, changes);
    end_router();
}

TEST(a_member_that_was_never_up_can_go_down)
{
    make_router(.name = NULL);
    cen_member *one = add(0);
    expect_equal(cen_member_down(one, NULL), CEN_OK);
    expect_equal(cen_member_state_of(one), CEN_MEMBER_DOWN);
    expect_equal(cen_member_up(one, NULL), CEN_OK);
    expect_equal(cen_member_state_of(one), CEN_MEMBER_UP);
    end_router();
}

TEST(a_member_that_drains_is_not_picked_and_is_down_when_its_last_use_has_ended)
{
    make_router(.name = NULL);
    cen_member *one = add_up(0);
    cen_route first = route_now(), other = route_now();
    expect_equal(cen_member_drain(one, NULL), CEN_OK);
    expect_equal(cen_member_state_of(one), CEN_MEMBER_DRAINING);
    expect(!is_picked(one));
    ceni_world_settle();
    expect_equal(cen_member_drain(one, NULL), CEN_OK);
    expect_equal(cen_member_up(one, NULL), CEN_BUSY);
    expect_equal(cen_member_eject(one, 0, NULL), CEN_INVALID);
    expect_equal(cen_route_check(&first), CEN_OK);
    expect_equal(done(&first), CEN_OK);
    expect_equal(cen_member_state_of(one), CEN_MEMBER_DRAINING);
    expect_equal(done(&other), CEN_OK);
    expect_equal(cen_member_state_of(one), CEN_MEMBER_DOWN);
    expect_equal(cen_member_up(one, NULL), CEN_OK);
    end_router();
}

TEST(a_member_without_uses_that_drains_is_down_soon)
{
    make_router(.name = NULL);
    cen_member *one = add_up(0);
    expect_equal(cen_member_drain(one, NULL), CEN_OK);
    ceni_world_settle();
    expect_equal(cen_member_state_of(one), CEN_MEMBER_DOWN);
    end_router();
}

TEST(a_member_whose_last_use_ends_before_the_grace_period_is_down_after_it)
{
    make_router(.runtime = make_manual());
    cen_member *one = add_up(0);
    cen_route route = route_now();
    expect_equal(cen_member_drain(one, NULL), CEN_OK);
    expect_equal(done(&route), CEN_OK);
    expect_equal(cen_member_state_of(one), CEN_MEMBER_DRAINING);
    poll_all();
    expect_equal(cen_member_state_of(one), CEN_MEMBER_DOWN);
    end_all();
}

TEST(only_a_member_that_is_up_can_drain)
{
    make_router(.name = NULL);
    cen_member *one = add(0);
    expect_equal(cen_member_drain(one, NULL), CEN_INVALID);
    expect_equal(cen_member_down(one, NULL), CEN_OK);
    expect_equal(cen_member_drain(one, NULL), CEN_INVALID);
    expect_equal(cen_member_state_of(one), CEN_MEMBER_DOWN);
    end_router();
}

TEST(a_member_that_drains_and_is_told_down_may_come_up_at_once_and_drain_again)
{
    make_router(.runtime = make_manual());
    cen_member *one = add_up(0);
    cen_route route = route_now();
    expect_equal(cen_member_drain(one, NULL), CEN_OK);
    expect_equal(cen_member_down(one, NULL), CEN_OK);
    expect_equal(cen_member_up(one, NULL), CEN_OK);
    cen_route later = route_now();
    expect_equal(cen_member_drain(one, NULL), CEN_OK); /* the first grace period has not passed yet */
    poll_all();
    expect_equal(done(&route), CEN_DOWN);
    expect_equal(cen_member_state_of(one), CEN_MEMBER_DRAINING);
    expect_equal(done(&later), CEN_OK);
    expect_equal(cen_member_state_of(one), CEN_MEMBER_DOWN);
    end_all();
}

TEST(a_member_that_came_up_again_is_not_ended_by_the_drain_of_its_former_life)
{
    make_router(.runtime = make_manual());
    cen_member *one = add_up(0);
    cen_route route = route_now();
    expect_equal(cen_member_drain(one, NULL), CEN_OK);
    poll_all(); /* watched */
    expect_equal(cen_member_down(one, NULL), CEN_OK);
    expect_equal(cen_member_up(one, NULL), CEN_OK); /* whatever its callers do with the uses that are out */
    expect_equal(done(&route), CEN_DOWN);
    poll_all();
    expect_equal(cen_member_state_of(one), CEN_MEMBER_UP);
    cen_route fresh = route_now();
    expect_equal(done(&fresh), CEN_OK);
    end_all();
}

/* guarantees: router.down */
TEST(a_route_of_a_member_that_went_down_says_so_although_it_is_up_again)
{
    make_router(.name = NULL);
    cen_member *one = add_up(0);
    cen_route route = route_now();
    expect_equal(cen_route_check(&route), CEN_OK);
    expect_equal(cen_member_down(one, NULL), CEN_OK);
    expect_equal(cen_route_check(&route), CEN_DOWN);
    expect_equal(cen_member_up(one, NULL), CEN_OK);
    expect_equal(cen_route_check(&route), CEN_DOWN);
    cen_route fresh = route_now();
    expect_equal(cen_route_check(&fresh), CEN_OK);
    expect_equal(done(&route), CEN_DOWN);
    expect_equal(done(&fresh), CEN_OK);
    expect_equal(look().in_flight, 0);
    end_router();
}

TEST(an_ejected_member_is_kept_out_until_it_is_restored)
{
    make_router(.name = NULL);
    cen_member *one = add_up(0), *two = add_up(1);
    cen_route route;
    while (route = route_now(), route.member != one) done(&route);
    expect_equal(cen_member_eject(one, 0, NULL), CEN_OK);
    expect_equal(cen_member_state_of(one), CEN_MEMBER_EJECTED);
    expect(!is_picked(one) && is_picked(two));
    expect_equal(cen_route_check(&route), CEN_OK);
    expect_equal(done(&route), CEN_OK);
    ceni_world_advance(3600 * second);
    ceni_world_settle();
    expect_equal(cen_member_up(one, NULL), CEN_OK); /* stays as it is */
    expect_equal(cen_member_state_of(one), CEN_MEMBER_EJECTED);
    expect_equal(cen_member_restore(one, NULL), CEN_OK);
    expect_equal(cen_member_state_of(one), CEN_MEMBER_UP);
    expect(is_picked(one));
    expect_equal(cen_member_restore(one, NULL), CEN_OK);
    end_router();
}

TEST(only_a_member_that_is_up_can_be_ejected_or_restored)
{
    make_router(.name = NULL);
    cen_member *one = add(0);
    expect_equal(cen_member_eject(one, second, NULL), CEN_INVALID);
    expect_equal(cen_member_restore(one, NULL), CEN_INVALID);
    expect_equal(cen_member_up(one, NULL), CEN_OK);
    expect_equal(cen_member_eject(one, -1, NULL), CEN_INVALID);
    expect_equal(cen_member_state_of(one), CEN_MEMBER_UP);
    expect_equal(cen_member_eject(one, second, NULL), CEN_OK);
    expect_equal(cen_member_down(one, NULL), CEN_OK);
    expect_equal(cen_member_restore(one, NULL), CEN_INVALID);
    end_router();
}

TEST(an_ejected_member_can_go_down_or_drain_and_its_time_does_not_bring_it_back)
{
    make_router(.runtime = make_manual());
    cen_member *one = add_up(0), *two = add_up(1);
    expect_equal(cen_member_eject(one, second, NULL), CEN_OK);
    expect_equal(cen_member_eject(two, second, NULL), CEN_OK);
    expect_equal(cen_member_down(one, NULL), CEN_OK);
    expect_equal(cen_member_drain(two, NULL), CEN_OK);
    expect_equal(cen_runtime_advance(runtime, 2 * second), CEN_OK);
    poll_all();
    expect_equal(cen_member_state_of(one), CEN_MEMBER_DOWN);
    expect_equal(cen_member_state_of(two), CEN_MEMBER_DOWN);
    expect_equal(look().up, 0);
    end_all();
}

TEST(a_member_that_is_removed_without_uses_goes_and_is_told_gone_once)
{
    make_router(.name = NULL);
    cen_member *one = add_up(0);
    add_up(1);
    expect_equal(cen_member_remove(one), CEN_OK);
    expect_equal(look().members, 1);
    ceni_world_settle();
    expect_equal(gone_of(0), 1);
    expect_equal(look().zombies, 0);
    expect_equal(gone_of(1), 0);
    end_router();
    expect_equal(gone_of(0), 1);
    expect_equal(gone_of(1), 1);
}

TEST(a_member_that_is_removed_while_it_is_in_use_stays_until_its_last_route_is_done)
{
    make_router(.name = NULL);
    cen_member *one = add_up(0, .name = "kept");
    cen_route route = route_now(), other = route_now();
    expect_equal(cen_member_remove(one), CEN_OK);
    ceni_world_settle();
    expect(look().members == 0 && look().zombies == 1 && look().in_flight == 2);
    expect_equal(cen_route_check(&route), CEN_DOWN);
    expect_text(cen_member_name(route.member), "kept");
    expect_equal(done(&other), CEN_DOWN);
    ceni_world_settle();
    expect_equal(gone_of(0), 0);
    expect(cen_member_value(route.member) == &values[0]);
    expect_equal(done(&route), CEN_DOWN);
    ceni_world_settle();
    expect_equal(gone_of(0), 1);
    expect(look().zombies == 0 && look().in_flight == 0 && look().uses == 2);
    end_router();
    expect_equal(ceni_world_bytes(), 0);
}

TEST(a_member_that_is_removed_stays_for_a_reader_that_picked_it)
{
    make_router(.name = NULL);
    cen_member *one = add_up(0), *picked;
    cen_read_begin();
    expect_equal(cen_router_peek(router, NULL, &picked), CEN_OK);
    expect_equal(cen_member_remove(one), CEN_OK);
    ceni_world_settle();
    expect_equal(gone_of(0), 0);
    expect(cen_member_value(picked) == &values[0]);
    cen_read_end();
    ceni_world_settle();
    expect_equal(gone_of(0), 1);
    end_router();
}

TEST(a_member_that_drains_while_it_is_removed_goes_with_its_last_use)
{
    make_router(.runtime = make_manual());
    cen_member *one = add_up(0);
    cen_route route = route_now();
    expect_equal(cen_member_drain(one, NULL), CEN_OK);
    expect_equal(cen_member_remove(one), CEN_OK); /* the drain's grace period has not passed */
    poll_all();
    expect_equal(gone_of(0), 0);
    expect_equal(done(&route), CEN_DOWN);
    poll_all();
    expect_equal(gone_of(0), 1);
    end_all();
}

TEST(a_member_that_is_watched_already_goes_once_when_it_is_removed)
{
    make_router(.runtime = make_manual());
    cen_member *one = add_up(0);
    cen_route route = route_now();
    expect_equal(cen_member_drain(one, NULL), CEN_OK);
    poll_all(); /* watched */
    expect_equal(cen_member_down(one, NULL), CEN_OK);
    expect_equal(cen_member_remove(one), CEN_OK);
    expect_equal(done(&route), CEN_DOWN);
    poll_all();
    expect_equal(gone_of(0), 1);
    end_all();
    expect_equal(gone_of(0), 1);
}

TEST(members_can_be_added_and_removed_in_a_read_section)
{
    make_router(.name = NULL);
    cen_read_begin();
    cen_member *one = add_up(0), *two = add_up(1);
    expect_equal(cen_member_down(one, NULL), CEN_OK);
    expect_equal(cen_member_remove(one), CEN_OK);
    expect_equal(cen_member_remove(two), CEN_OK);
    cen_read_end();
    ceni_world_settle();
    expect(gone_of(0) == 1 && gone_of(1) == 1);
    end_router();
}

TEST(many_changes_do_not_pile_up_what_nobody_can_see)
{
    make_router(.runtime = make_manual()); /* nobody polls: only those who change release anything */
    cen_member *others[64];
    for (int i = 0; i < 64; i++) others[i] = add_up(i % VALUES);
    size_t most = 0;
    for (int i = 0; i < 10000; i++) {
        expect_equal(cen_member_down(others[i % 64], NULL), CEN_OK);
        expect_equal(cen_member_up(others[i % 64], NULL), CEN_OK);
        if (ceni_world_bytes() > most) most = ceni_world_bytes();
    }
    expect(most < (size_t)8 << 20);
    end_all();
    expect_equal(ceni_world_bytes(), 0);
}

/* ---- Many at once ------------------------------------------------------------------------- */

/* guarantees: router.together */
TEST(those_who_come_up_together_are_one_change_and_are_picked_in_their_order)
{
    make_router(.strategy = cen_strategy_shared_round_robin());
    cen_member *those[5] = {add(0), add(1), add(2), add(3), add_up(4)};
    uint64_t changes = look().changes;
    size_t up = 9;
    expect_equal(cen_members_up(those, 5, &up, NULL), CEN_OK);
    expect_equal(up, 5);
    expect_equal(look().changes, changes + 1);
    static const int order[] = {4, 0, 1, 2, 3}; /* the last was there before */
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 5; i++) {
            cen_route route = route_now();
            expect_equal((int *)route.value - values, order[i]);
            expect_equal(done(&route), CEN_OK);
        }
    expect_equal(cen_members_up(NULL, 0, &up, NULL), CEN_OK);
    expect_equal(up, 0);
    end_router();
    expect_equal(ceni_world_bytes(), 0);
}

TEST(the_first_that_cannot_come_up_ends_it_and_those_before_it_are_up)
{
    make_router(.runtime = make_manual());
    cen_member *those[4] = {add(0), add_up(1), add(2), add(0)};
    those[3] = those[0]; /* once more is no fault: it is up already */
    cen_route route = route_now();
    expect_equal(cen_member_drain(those[1], NULL), CEN_OK);
    size_t up = 0;
    expect_equal(cen_members_up(those, 4, &up, NULL), CEN_BUSY);
    expect_equal(up, 1);
    expect_equal(cen_member_state_of(those[0]), CEN_MEMBER_UP);
    expect_equal(cen_member_state_of(those[2]), CEN_MEMBER_CONNECTING);
    expect_equal(done(&route), CEN_OK);
    expect_equal(cen_member_down(those[1], NULL), CEN_OK);
    expect_equal(cen_members_up(those, 4, &up, NULL), CEN_OK);
    expect_equal(up, 4);
    expect(is_picked(those[0]) && is_picked(those[1]) && is_picked(those[2]));
    end_all();
    expect_equal(ceni_world_bytes(), 0);
}

TEST(members_of_two_routers_and_nobody_are_refused_and_none_is_up)
{
    cen_router *other;
    cen_router_options o = CEN_ROUTER_OPTIONS(.name = "other");
    expect_equal(cen_router_new(&o, &other, NULL), CEN_OK);
    cen_member_options m = CEN_MEMBER_OPTIONS(.value = &values[5]);
    make_router(.name = NULL);
    cen_member *those[2] = {add(0)}, *nobody[2] = {those[0], NULL};
    expect_equal(cen_router_add(other, &m, &those[1], NULL), CEN_OK);
    size_t up = 9;
    expect_equal(cen_members_up(those, 2, &up, NULL), CEN_INVALID);
    expect_equal(up, 0);
    expect_equal(cen_members_up(nobody, 2, NULL, NULL), CEN_INVALID);
    expect_equal(cen_members_up(NULL, 2, NULL, NULL), CEN_INVALID);
    expect_equal(cen_member_state_of(those[0]), CEN_MEMBER_CONNECTING);
    expect_equal(cen_router_free(other), CEN_OK);
    end_router();
}

TEST(one_who_waits_is_served_when_many_come_up_together)
{
    make_router(.runtime = make_manual());
    cen_route_op routing;
    cen_member *those[2] = {add(0), add(1)};
    cen_route_op_init(&routing, NULL, NULL);
    expect_equal(cen_router_route_async(router, NULL, CEN_NEVER, &routing), CEN_OK);
    expect(!cen_future_is_done(&routing.future));
    expect_equal(cen_members_up(those, 2, NULL, NULL), CEN_OK);
    expect(cen_future_is_done(&routing.future));
    expect_equal(done(&routing.route), CEN_OK);
    end_all();
}

TEST(a_change_of_a_member_that_fails_says_why)
{
    cen_error error = {.text = ""};
    make_router(.name = "search", .runtime = make_manual());
    cen_member *member = add(0, .name = "a"), *up = add_up(1, .name = "b"), *none[] = {member, NULL};
    expect_equal(cen_member_drain(member, &error), CEN_INVALID);
    expect_text(error.text, "router \"search\": member \"a\" is connecting, not up");
    expect_equal(cen_member_eject(up, -1, &error), CEN_INVALID);
    expect_text(error.text, "cen_member_eject: ns must not be negative (got -1)");
    expect_equal(cen_members_up(none, 2, NULL, &error), CEN_INVALID);
    expect(strstr(error.text, "a member is NULL or belongs to another router"));
    cen_route route = route_now();
    expect_equal(cen_member_drain(up, &error), CEN_OK);
    expect_equal(cen_member_up(up, &error), CEN_BUSY);
    expect(strstr(error.text, "member \"b\": it is draining"));
    expect_equal(cen_member_restore(up, &error), CEN_INVALID);
    expect_text(error.text, "router \"search\": member \"b\" is draining, not up");
    done(&route);
    expect_equal(cen_router_close(router, CEN_NOW, NULL, NULL), CEN_OK);
    expect_equal(cen_member_up(member, &error), CEN_CLOSED);
    expect_equal(error.cause, CEN_CAUSE_CLOSED);
    expect(strstr(error.text, "the router is closed"));
    end_all();
}
