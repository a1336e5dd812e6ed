/* SPDX-License-Identifier: MIT */
/* Routers when memory or threads cannot be had: nothing changes, or what has to happen happens all the same. */
#include "support/faults.h"
#include "support/world.h"
#include "unit/router/routers.h"

static cen_strategy strategy;
static cen_member *members[4];

static cen_status make_one(void)
{
    cen_error error = {.status = CEN_OK};
    cen_router_options options = CEN_ROUTER_OPTIONS(.strategy = strategy);
    cen_status status = cen_router_new(&options, &router, &error);
    expect(status == CEN_OK || (error.status == status && strlen(error.text) > 10));
    return status;
}

static const char *nothing_was_made(cen_status status)
{
    return status != CEN_NO_MEMORY ? "it does not say NO_MEMORY" : router ? "the output was written" : NULL;
}

static void end_it(void)
{
    expect_equal(cen_router_free(router), CEN_OK);
    ceni_world_settle();
    router = NULL;
    memset(members, 0, sizeof members);
}

typedef cen_strategy maker(void);
static maker *const makers[] = {cen_strategy_random,
                                cen_strategy_round_robin,
                                cen_strategy_shared_round_robin,
                                cen_strategy_strict_round_robin,
                                cen_strategy_least_in_flight,
                                cen_strategy_two_choices,
                                cen_strategy_peak_ewma,
                                cen_strategy_weighted,
                                cen_strategy_consistent_hash};
enum { MAKERS = sizeof makers / sizeof *makers };

TEST(a_router_that_gets_no_memory_leaves_nothing_behind_and_says_so)
{
    fault_sweep sweep = {.mask = CENI_FAULT_ALLOC, .operation = make_one, .check = nothing_was_made, .undo = end_it};
    for (int i = 0; i < MAKERS; i++) {
        strategy = makers[i]();
        expect(fault_sweep_check(&sweep) >= 1);
    }
}

static void prepare(void)
{
    make_router(.strategy = strategy);
    for (int i = 0; i < 3; i++) members[i] = add(i);
    for (int i = 0; i < 2; i++) bring_up(members[i]);
    ceni_world_settle();
}

static cen_status add_one(void)
{
    cen_member_options options = CEN_MEMBER_OPTIONS(.value = &values[3]);
    cen_error error = {.status = CEN_OK};
    cen_status status = cen_router_add(router, &options, &members[3], &error);
    expect(status == CEN_OK ||
           (error.status == status && strstr(error.text, "router \"router\": out of memory for a member")));
    return status;
}

static const char *nobody_was_added(cen_status status)
{
    if (status != CEN_NO_MEMORY) return "it does not say NO_MEMORY";
    if (members[3]) return "the output was written";
    return look().members != 3 ? "there is one more" : NULL;
}

TEST(a_member_that_gets_no_memory_is_not_added)
{
    strategy = (cen_strategy){0};
    fault_sweep sweep = {
        .mask = CENI_FAULT_ALLOC, .setup = prepare, .operation = add_one, .check = nobody_was_added, .undo = end_it};
    expect_equal(fault_sweep_check(&sweep), 1);
}

static bool is_picked(const cen_member *member)
{
    for (uint64_t i = 1; i <= 100; i++) {
        cen_route route;
        cen_route_hint pick = {.key = i * UINT64_C(0x9E3779B97F4A7C15)}; /* for the strategy that goes by it */
        expect_equal(cen_router_route(router, &pick, CEN_NOW, &route, NULL), CEN_OK);
        bool picked = route.member == member;
        done(&route);
        if (picked) return true;
    }
    return false;
}

static cen_status raise_third(void)
{
    return cen_member_up(members[2], NULL);
}

static const char *the_third_is_not_up(cen_status status)
{
    if (status != CEN_NO_MEMORY) return "it does not say NO_MEMORY";
    if (cen_member_state_of(members[2]) != CEN_MEMBER_CONNECTING) return "its state has changed";
    if (look().up != 2) return "the number of those that are up has changed";
    return is_picked(members[2]) ? "it is picked" : NULL;
}

TEST(a_member_that_cannot_come_up_for_want_of_memory_stays_as_it_was)
{
    fault_sweep sweep = {.mask = CENI_FAULT_ALLOC,
                         .setup = prepare,
                         .operation = raise_third,
                         .check = the_third_is_not_up,
                         .undo = end_it};
    for (int i = 0; i < MAKERS; i++) {
        strategy = makers[i]();
        expect_equal(fault_sweep_check(&sweep), 1);
    }
}

static void prepare_three(void)
{
    prepare();
    bring_up(members[2]);
    ceni_world_settle();
}

static void take_down(void)
{
    ceni_fault_arm(CENI_FAULT_ALLOC, 1);
    expect_equal(cen_member_down(members[1], NULL), CEN_OK);
    expect(ceni_fault_disarm());
}

TEST(a_member_goes_down_without_memory_and_is_not_picked_again)
{
    for (int i = 0; i < MAKERS; i++) {
        strategy = makers[i]();
        prepare_three();
        take_down();
        expect_equal(cen_member_state_of(members[1]), CEN_MEMBER_DOWN);
        expect(!is_picked(members[1]) && is_picked(members[0]) && is_picked(members[2]));
        expect(look().up == 2 && look().down == 1);
        /* The next change puts it right. */
        bring_up(members[1]);
        expect(is_picked(members[1]) && is_picked(members[0]) && is_picked(members[2]));
        end_it();
        expect_equal(ceni_world_bytes(), 0);
    }
}

TEST(all_members_go_down_one_after_the_other_without_memory)
{
    for (int i = 0; i < MAKERS; i++) {
        strategy = makers[i]();
        prepare_three();
        take_down();
        ceni_fault_arm(CENI_FAULT_ALLOC, 1);
        expect_equal(cen_member_down(members[0], NULL), CEN_OK);
        expect(ceni_fault_disarm());
        for (int k = 0; k < 20; k++) expect(is_picked(members[2]) && !is_picked(members[0]));
        expect_equal(cen_member_down(members[2], NULL), CEN_OK); /* the empty set needs none */
        cen_route route;
        expect_equal(try_route(&route), CEN_EMPTY);
        bring_up(members[0]);
        expect(is_picked(members[0]));
        end_it();
        expect_equal(ceni_world_bytes(), 0);
    }
}

TEST(a_member_that_was_replaced_for_want_of_memory_can_be_removed_and_goes)
{
    for (int i = 0; i < MAKERS; i++) {
        strategy = makers[i]();
        prepare_three();
        ceni_fault_arm(CENI_FAULT_ALLOC, 1);
        expect_equal(cen_member_remove(members[1]), CEN_OK);
        expect(ceni_fault_disarm());
        ceni_world_settle();
        expect_equal(gone_of(1), 1);
        for (int k = 0; k < 20; k++) expect(is_picked(members[0]) || is_picked(members[2]));
        expect_equal(cen_member_down(members[0], NULL), CEN_OK);
        expect(is_picked(members[2]));
        end_it();
        expect_equal(ceni_world_bytes(), 0);
    }
}

TEST(an_ejected_member_for_whose_return_there_is_no_memory_comes_back_a_little_later)
{
    make_router(.runtime = make_manual());
    members[0] = add_up(0);
    expect_equal(cen_member_eject(members[0], second, NULL), CEN_OK);
    ceni_fault_arm(CENI_FAULT_ALLOC, 1);
    expect_equal(cen_member_restore(members[0], NULL), CEN_NO_MEMORY);
    expect(ceni_fault_disarm());
    expect_equal(cen_member_state_of(members[0]), CEN_MEMBER_EJECTED);
    expect_equal(cen_member_eject(members[0], second, NULL), CEN_OK);
    ceni_fault_arm(CENI_FAULT_ALLOC, 1);
    expect_equal(cen_runtime_advance(runtime, second), CEN_OK);
    expect(ceni_fault_disarm());
    expect_equal(cen_member_state_of(members[0]), CEN_MEMBER_EJECTED);
    expect_equal(cen_runtime_advance(runtime, second), CEN_OK);
    expect_equal(cen_member_state_of(members[0]), CEN_MEMBER_UP);
    end_all();
}

static void visit(void *argument, const cen_member_stats *member)
{
    (void)argument, (void)member;
}

TEST(a_visit_without_memory_visits_nobody)
{
    strategy = (cen_strategy){0};
    prepare();
    ceni_fault_arm(CENI_FAULT_ALLOC, 1);
    expect_equal(cen_router_each(router, visit, NULL), CEN_NO_MEMORY);
    expect(ceni_fault_disarm());
    end_it();
}

/* ---- Threads ----------------------------------------------------------------------------- */

TEST(who_would_wait_while_nobody_keeps_time_is_told_so)
{
    cen_error error = {.text = ""};
    cen_route route;
    cen_route_op routing;
    make_router(.name = "search");
    ceni_fault_arm(CENI_FAULT_THREAD, 1);
    expect_equal(cen_router_route(router, NULL, cen_in_s(1), &route, &error), CEN_SYSTEM);
    expect(ceni_fault_disarm());
    expect(error.status == CEN_SYSTEM && strstr(error.text, "router \"search\": cannot start the timer thread"));
    cen_route_op_init(&routing, NULL, NULL);
    ceni_fault_arm(CENI_FAULT_THREAD, 1);
    expect_equal(cen_router_route_async(router, NULL, cen_in_s(1), &routing), CEN_OK);
    expect(ceni_fault_disarm());
    expect(cen_future_is_done(&routing.future) && routing.future.status == CEN_SYSTEM);
    expect_equal(look().waiting, 0);
    end_it();
}

TEST(a_drain_for_which_no_helper_could_be_had_ends_all_the_same)
{
    make_router(.name = NULL);
    members[0] = add_up(0);
    ceni_fault_arm(CENI_FAULT_THREAD, 1);
    expect_equal(cen_member_eject(members[0], 0, NULL), CEN_OK);
    expect(ceni_fault_disarm());
    ceni_fault_arm(CENI_FAULT_THREAD, 1); /* if it is asked for at all */
    expect_equal(cen_member_drain(members[0], NULL), CEN_OK);
    ceni_fault_disarm();
    ceni_sleep_until(ceni_clock_now() + 10 * second);
    ceni_world_settle();
    expect_equal(cen_member_state_of(members[0]), CEN_MEMBER_DOWN);
    end_it();
}

TEST(a_member_that_is_removed_while_no_helper_can_be_had_goes_all_the_same)
{
    make_router(.name = NULL);
    members[0] = add_up(0);
    cen_route route = route_now();
    end_router();
    ceni_fault_arm(CENI_FAULT_THREAD, 1);
    expect_equal(done(&route), CEN_DOWN);
    ceni_fault_disarm();
    ceni_sleep_until(ceni_clock_now() + 10 * second);
    ceni_world_settle();
    expect_equal(gone_of(0), 1);
    expect_equal(ceni_world_bytes(), 0);
}

TEST(an_ejection_for_whose_end_nobody_keeps_time_is_refused)
{
    make_router(.name = NULL);
    members[0] = add_up(0);
    ceni_fault_arm(CENI_FAULT_THREAD, 1);
    expect_equal(cen_member_eject(members[0], second, NULL), CEN_SYSTEM);
    expect(ceni_fault_disarm());
    expect_equal(cen_member_state_of(members[0]), CEN_MEMBER_UP);
    expect_equal(cen_member_eject(members[0], second, NULL), CEN_OK);
    ceni_sleep_until(ceni_clock_now() + 10 * second);
    ceni_world_settle();
    expect_equal(cen_member_state_of(members[0]), CEN_MEMBER_UP);
    end_it();
}

TEST(an_age_for_whose_end_nobody_kept_time_ends_once_somebody_does)
{
    make_router(.max_lifetime_ns = second);
    ceni_fault_arm(CENI_FAULT_THREAD, 1);
    members[0] = add_up(0);
    expect(ceni_fault_disarm());
    members[1] = add_up(1); /* tries again */
    ceni_sleep_until(ceni_clock_now() + 10 * second);
    ceni_world_settle();
    expect_equal(cen_member_state_of(members[0]), CEN_MEMBER_DOWN);
    end_it();
    expect_equal(ceni_world_bytes(), 0);
}

TEST(a_router_whose_age_nobody_kept_time_for_is_freed_all_the_same)
{
    make_router(.max_lifetime_ns = 3600 * second);
    ceni_fault_arm(CENI_FAULT_THREAD, 1);
    members[0] = add_up(0);
    expect(ceni_fault_disarm());
    end_it();
    expect_equal(ceni_world_bytes(), 0);
}
