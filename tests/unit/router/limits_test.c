/* SPDX-License-Identifier: MIT */
/* Limits of a member: target, max, max_uses. */
#include "router/internal.h"
#include "router/thread.h"
#include "support/world.h"
#include "unit/router/routers.h"

/* guarantees: router.limits */
TEST(no_member_has_more_uses_in_flight_than_its_max)
{
    make_router(.max_in_flight = 3);
    cen_route routes[6], none;
    add_up(0);
    add_up(1);
    unsigned count[2] = {0};
    for (int i = 0; i < 6; i++) {
        routes[i] = route_now();
        count[(int *)routes[i].value - values]++;
    }
    expect(count[0] == 3 && count[1] == 3);
    expect_equal(try_route(&none), CEN_FULL);
    expect(look().full == 2 && look().up == 0);
    done(&routes[4]);
    expect(look().full == 1 && look().up == 1);
    routes[4] = route_now();
    for (int i = 0; i < 6; i++) done(&routes[i]);
    expect(look().full == 0 && look().up == 2);
    end_router();
}

TEST(members_below_their_target_are_preferred)
{
    make_router(.strategy = cen_strategy_round_robin(), .target_in_flight = 1);
    add_up(0);
    add_up(1);
    add_up(2);
    cen_route routes[3], more;
    for (int i = 0; i < 3; i++) routes[i] = route_now();
    expect(routes[0].value != routes[1].value && routes[1].value != routes[2].value &&
           routes[0].value != routes[2].value);
    void *freed = routes[1].value;
    done(&routes[1]);
    /* Whoever's turn it is, the one without a use has it. */
    for (int i = 0; i < 9; i++) {
        more = route_now();
        expect(more.value == freed);
        done(&more);
    }
    /* All are at their target: it is a wish, and no limit. */
    routes[1] = route_now();
    more = route_now();
    done(&more);
    for (int i = 0; i < 3; i++) done(&routes[i]);
    expect_equal(look().in_flight, 0);
    end_router();
}

TEST(a_member_that_has_had_its_max_uses_drains_and_comes_up_with_a_fresh_count)
{
    make_router(.runtime = make_manual(), .max_uses = 3);
    cen_member *one = add_up(0);
    for (int life = 0; life < 3; life++) {
        cen_route routes[3], none;
        for (int i = 0; i < 3; i++) routes[i] = route_now();
        expect_equal(cen_member_state_of(one), CEN_MEMBER_DRAINING);
        expect_equal(try_route(&none), CEN_EMPTY);
        poll_all();
        done(&routes[0]);
        done(&routes[1]);
        expect_equal(cen_member_state_of(one), CEN_MEMBER_DRAINING);
        expect_equal(done(&routes[2]), CEN_OK);
        poll_all();
        expect_equal(cen_member_state_of(one), CEN_MEMBER_DOWN);
        expect_equal(cen_member_up(one, NULL), CEN_OK);
    }
    expect_equal(look().uses, 9);
    end_all();
}

TEST(a_member_that_goes_down_early_begins_to_count_its_uses_anew)
{
    make_router(.max_uses = 2);
    cen_member *one = add_up(0);
    cen_route route = route_now(), other;
    cen_member_down(one, NULL);
    cen_member_up(one, NULL);
    other = route_now();
    expect_equal(cen_member_state_of(one), CEN_MEMBER_UP);
    expect_equal(done(&other), CEN_OK);
    other = route_now();
    expect_equal(cen_member_state_of(one), CEN_MEMBER_DRAINING);
    expect_equal(done(&other), CEN_OK);
    expect_equal(done(&route), CEN_DOWN);
    end_router();
}

TEST(an_ejected_member_keeps_its_count_of_uses)
{
    make_router(.max_uses = 2);
    cen_member *one = add_up(0);
    cen_route route = route_now();
    done(&route);
    cen_member_eject(one, 0, NULL);
    cen_member_restore(one, NULL);
    route = route_now();
    expect_equal(cen_member_state_of(one), CEN_MEMBER_DRAINING);
    done(&route);
    end_router();
}

TEST(a_member_with_one_use_serves_one_who_waits_and_then_drains)
{
    make_router(.runtime = make_manual(), .max_uses = 1);
    cen_route_op waiting[3];
    cen_member *one = add(0);
    for (int i = 0; i < 3; i++) {
        cen_route_op_init(&waiting[i], NULL, NULL);
        expect_equal(cen_router_route_async(router, NULL, CEN_NEVER, &waiting[i]), CEN_OK);
    }
    for (int i = 0; i < 3; i++) {
        expect_equal(cen_member_up(one, NULL), CEN_OK);
        for (int k = 0; k < 3; k++) expect_equal(cen_future_is_done(&waiting[k].future), k <= i);
        expect_equal(cen_member_state_of(one), CEN_MEMBER_DRAINING);
        expect_equal(done(&waiting[i].route), CEN_OK);
        poll_all();
        expect_equal(cen_member_state_of(one), CEN_MEMBER_DOWN);
    }
    end_all();
}

TEST(limits_of_max_and_max_uses_hold_together)
{
    make_router(.max_in_flight = 2, .max_uses = 3);
    cen_member *one = add_up(0);
    cen_route first = route_now(), other = route_now(), none;
    expect_equal(try_route(&none), CEN_FULL);
    expect_equal(cen_member_state_of(one), CEN_MEMBER_FULL);
    done(&first);
    first = route_now();
    expect_equal(cen_member_state_of(one), CEN_MEMBER_DRAINING);
    done(&first);
    done(&other);
    ceni_world_settle();
    expect_equal(cen_member_state_of(one), CEN_MEMBER_DOWN);
    end_router();
}

/* Nobody can wait for 2^40 uses: the count is put where it ends. */
TEST(a_count_of_uses_that_begins_anew_neither_ends_a_member_early_nor_keeps_it_for_ever)
{
    make_router(.runtime = make_manual(), .max_uses = 3);
    cen_member *one = add(0);
    ceni_store_seq_cst(&one->first.word, ~UINT64_C(0) << CEN_USES_SHIFT_); /* one use before the end */
    bring_up(one);
    for (int life = 0; life < 2; life++) {
        cen_route route;
        for (int i = 0; i < 3; i++) {
            expect_equal(cen_member_state_of(one), CEN_MEMBER_UP);
            route = route_now();
            expect_equal(done(&route), CEN_OK);
        }
        poll_all();
        expect_equal(cen_member_state_of(one), CEN_MEMBER_DOWN);
        bring_up(one);
    }
    expect_equal(look().in_flight, 0);
    end_all();
}

/* As if so many uses were in flight of which nobody says done. */
static void put_in_flight(cen_member *member, uint32_t offset, int64_t more)
{
    ceni_add_seq_cst(&cen_stripe_of_(member, offset)->word, (uint64_t)more);
}

/* guarantees: router.counts */
TEST(more_uses_than_can_be_counted_are_refused_and_nothing_else_happens)
{
    const cen_strategy strategies[] = {cen_strategy_two_choices(), cen_strategy_random(),
                                       cen_strategy_strict_round_robin(), cen_strategy_least_in_flight()};
    for (unsigned i = 0; i < 8; i++) {
        bool limited = i >= 4; /* by its uses, and not by how many are in flight */
        make_router(.strategy = strategies[i % 4]);
        cen_error error;
        cen_route routes[2], none = {0};
        cen_member *one = add_up(0, .max_uses = limited ? 1000000000 : 0);
        uint32_t offset = limited ? 0 : ceni_route_stripe();
        put_in_flight(one, offset, CEN_IN_FLIGHT_MAX - 2);
        for (int k = 0; k < 2; k++) routes[k] = route_now();
        expect_equal(look().in_flight, CEN_IN_FLIGHT_MAX);
        expect_equal(cen_router_route(router, NULL, CEN_NOW, &none, &error), CEN_FULL);
        expect(strstr(error.text, "4194304 uses in flight"));
        if (!limited) expect_equal(cen_router_route(router, NULL, CEN_NEVER, &none, &error), CEN_FULL);
        expect(look().in_flight == CEN_IN_FLIGHT_MAX && look().uses == 2 && look().waiting == 0);
        expect_equal(done(&routes[0]), CEN_OK);
        routes[0] = route_now();
        add_up(1); /* another has room */
        cen_route other = route_now();
        expect(other.value == &values[1]);
        for (int k = 0; k < 2; k++) expect_equal(done(&routes[k]), CEN_OK);
        expect_equal(done(&other), CEN_OK);
        cen_member_remove(one);
        ceni_world_settle();
        expect_equal(gone_of(0), 0);
        put_in_flight(one, offset, 3 - CEN_IN_FLIGHT_MAX); /* all but one */
        none = (cen_route){.member = one, .value = &values[0], .tag_ = routes[0].tag_};
        expect_equal(done(&none), CEN_DOWN);
        ceni_world_settle();
        expect_equal(gone_of(0), 1);
        end_router();
    }
    expect_equal(ceni_world_bytes(), 0);
}
