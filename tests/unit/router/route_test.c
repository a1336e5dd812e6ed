/* SPDX-License-Identifier: MIT */
/* Picking: peek, route, done and check. */
#include "support/world.h"
#include "unit/router/routers.h"

TEST(a_route_brings_the_value_and_counts_a_use_until_it_is_done)
{
    make_router(.name = NULL);
    cen_member *one = add_up(0);
    cen_route route = route_now();
    expect(route.member == one && route.value == &values[0]);
    expect(look().in_flight == 1 && look().uses == 1);
    expect_equal(done(&route), CEN_OK);
    expect(!route.member);
    expect(look().in_flight == 0 && look().uses == 1);
    expect_equal(done(&route), CEN_STALE);
    expect_equal(cen_route_check(&route), CEN_STALE);
    expect_equal(look().in_flight, 0);
    end_router();
}

TEST(a_peek_counts_nothing)
{
    make_router(.name = NULL);
    cen_member *one = add_up(0), *picked = NULL;
    cen_read_begin();
    expect_equal(cen_router_peek(router, NULL, &picked), CEN_OK);
    expect(picked == one);
    cen_read_end();
    expect(look().in_flight == 0 && look().uses == 0);
    end_router();
}

TEST(a_full_member_is_still_found_by_a_peek)
{
    make_router(.max_in_flight = 1);
    cen_member *one = add_up(0), *picked = NULL;
    cen_route route = route_now();
    expect_equal(cen_member_state_of(one), CEN_MEMBER_FULL);
    cen_read_begin();
    expect_equal(cen_router_peek(router, NULL, &picked), CEN_OK);
    cen_read_end();
    expect(picked == one);
    done(&route);
    expect_equal(cen_member_state_of(one), CEN_MEMBER_UP);
    end_router();
}

TEST(a_closed_router_answers_closed_to_all)
{
    make_router(.name = "search");
    cen_member *one = add_up(0), *picked;
    cen_member_options options = CEN_MEMBER_OPTIONS(.name = NULL);
    cen_route route;
    cen_route_op routing;
    cen_error error = {.text = ""};
    expect_equal(cen_router_close(router, CEN_NOW, NULL, NULL), CEN_OK);
    cen_read_begin();
    expect_equal(cen_router_peek(router, NULL, &picked), CEN_CLOSED);
    cen_read_end();
    expect_equal(cen_router_route(router, NULL, CEN_NOW, &route, &error), CEN_CLOSED);
    expect(error.status == CEN_CLOSED && error.cause == CEN_CAUSE_CLOSED);
    expect_equal(cen_router_route(router, NULL, CEN_NEVER, &route, NULL), CEN_CLOSED);
    cen_route_op_init(&routing, NULL, NULL);
    expect_equal(cen_router_route_async(router, NULL, CEN_NEVER, &routing), CEN_OK);
    expect(cen_future_is_done(&routing.future) && routing.future.status == CEN_CLOSED && !routing.future.value);
    error.text[0] = '\0';
    expect_equal(cen_router_add(router, &options, &picked, &error), CEN_CLOSED);
    expect(strstr(error.text, "router \"search\": it has been closed"));
    expect_equal(cen_member_down(one, NULL), CEN_OK);
    expect_equal(cen_member_up(one, NULL), CEN_CLOSED);
    end_router();
}

TEST(what_is_to_be_avoided_is_picked_only_if_there_is_nothing_else)
{
    make_router(.name = NULL);
    cen_member *one = add_up(0), *two = add_up(1);
    cen_route_hint pick = {.avoid = one};
    for (int i = 0; i < 100; i++) {
        cen_route route;
        expect_equal(cen_router_route(router, &pick, CEN_NOW, &route, NULL), CEN_OK);
        expect(route.member == two);
        done(&route);
    }
    cen_member_down(two, NULL);
    cen_route route;
    expect_equal(cen_router_route(router, &pick, CEN_NOW, &route, NULL), CEN_OK);
    expect(route.member == one);
    done(&route);
    end_router();
}

TEST(failures_are_counted_and_cancelled_uses_are_not)
{
    make_router(.name = NULL);
    cen_member *one = add_up(0);
    const cen_outcome outcomes[] = {CEN_OUTCOME_OK, CEN_OUTCOME_FAILED, CEN_OUTCOME_CANCELLED, CEN_OUTCOME_FAILED};
    for (int i = 0; i < 4; i++) {
        cen_route route = route_now();
        expect_equal(cen_route_done(&route, outcomes[i], 0), CEN_OK);
    }
    expect(look().failed == 2 && look().uses == 4);
    cen_member_remove(one);
    ceni_world_settle();
    expect(look().failed == 2 && look().uses == 4 && look().zombies == 0); /* those of members that are gone stay */
    end_router();
}

static int64_t latency;

static void note_latency(void *argument, const cen_member_stats *member)
{
    (void)argument;
    latency = member->latency_ns;
}

TEST(a_router_that_measures_knows_the_last_latency_and_one_that_does_not_only_what_it_is_told)
{
    make_router(.runtime = make_manual(), .measure = true);
    add_up(0);
    cen_route route = route_now();
    expect_equal(cen_runtime_advance(runtime, 7 * ms), CEN_OK);
    done(&route);
    cen_router_each(router, note_latency, NULL);
    expect_equal(latency, 7 * ms);
    route = route_now();
    cen_route_done(&route, CEN_OUTCOME_OK, 5);
    cen_router_each(router, note_latency, NULL);
    expect_equal(latency, 5);
    route = route_now();
    cen_route_done(&route, CEN_OUTCOME_CANCELLED, 9);
    cen_router_each(router, note_latency, NULL);
    expect_equal(latency, 5);
    end_all();
    make_router(.name = NULL);
    add_up(0);
    route = route_now();
    done(&route);
    cen_router_each(router, note_latency, NULL);
    expect_equal(latency, 0);
    end_router();
}

TEST(an_empty_router_says_so_at_once_and_in_words)
{
    make_router(.name = "search");
    cen_error error = {.text = ""};
    cen_route route;
    expect_equal(cen_router_route(router, NULL, CEN_NOW, &route, &error), CEN_EMPTY);
    expect_equal(error.status, CEN_EMPTY);
    expect_text(error.text,
                "router \"search\": no member is up (0 up, 0 draining, 0 down, 0 others, 0 uses in flight, 0 waiting)");
    /* its own deadline is CEN_NOW */
    expect_equal(cen_router_route(router, NULL, routers_own, &route, &error), CEN_EMPTY);
    cen_member_down(add(0), NULL);
    add(1);
    expect_equal(cen_router_route(router, NULL, CEN_NOW, &route, &error), CEN_EMPTY);
    expect(strstr(error.text, "(0 up, 0 draining, 1 down, 1 others,"));
    expect_equal(look().empty, 3);
    end_router();
}

TEST(a_router_whose_members_are_full_says_so_at_once_and_in_words)
{
    make_router(.name = "search", .max_in_flight = 1);
    add_up(0);
    add_up(1);
    cen_error error = {.text = ""};
    cen_route one = route_now(), two = route_now(), three;
    expect(one.member != two.member);
    expect_equal(cen_router_route(router, NULL, CEN_NOW, &three, &error), CEN_FULL);
    expect(error.cause == CEN_CAUSE_MEMBERS_FULL && error.retry_after_ns == 0);
    expect_text(
        error.text,
        "router \"search\": every member is full (2 up, 0 draining, 0 down, 0 others, 2 uses in flight, 0 waiting)");
    done(&one);
    done(&two);
    end_router();
}

TEST(a_route_that_need_not_wait_is_had_in_a_read_section_whatever_its_deadline)
{
    make_router(.max_in_flight = 1, .strategy = cen_strategy_random());
    add_up(0);
    add_up(1);
    cen_error error = {.text = ""};
    cen_route routes[2], none;
    for (int round = 0; round < 50; round++) {
        cen_read_begin();
        /* The strategy's choice may be the one that is full: there is another. */
        for (int i = 0; i < 2; i++)
            expect_equal(cen_router_route(router, NULL, cen_in_s(1), &routes[i], &error), CEN_OK);
        expect_equal(cen_router_route(router, NULL, cen_in_s(1), &none, &error), CEN_MISUSE);
        expect(error.status == CEN_MISUSE && error.cause == CEN_CAUSE_READ_SECTION);
        expect_equal(cen_router_route(router, NULL, CEN_NOW, &none, &error), CEN_FULL);
        cen_read_end();
        done(&routes[0]);
        done(&routes[1]);
    }
    end_router();
}

TEST(an_empty_router_in_a_read_section_is_misuse_only_for_whoever_would_wait)
{
    make_router(.name = NULL);
    cen_route route;
    cen_read_begin();
    expect_equal(cen_router_route(router, NULL, CEN_NEVER, &route, NULL), CEN_MISUSE);
    expect_equal(cen_router_route(router, NULL, CEN_NOW, &route, NULL), CEN_EMPTY);
    cen_read_end();
    end_router();
}

TEST(sections_nest_and_a_route_can_be_done_in_one)
{
    make_router(.name = NULL);
    cen_member *one = add_up(0);
    cen_route route = route_now();
    cen_member_remove(one);
    cen_read_begin();
    cen_read_begin();
    expect_equal(done(&route), CEN_DOWN);
    cen_read_end();
    ceni_world_settle();
    expect_equal(gone_of(0), 0);
    cen_read_end();
    ceni_world_settle();
    expect_equal(gone_of(0), 1);
    end_router();
}
