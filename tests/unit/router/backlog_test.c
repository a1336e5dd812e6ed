/* SPDX-License-Identifier: MIT */
/* Those who wait: their order, their bound, their deadlines, and giving up. */
#include "support/world.h"
#include "router/internal.h"
#include "unit/router/routers.h"

enum { WAITERS = 5 };

static cen_route_op waiting[WAITERS];
static cen_error errors[WAITERS];

static void ask(int i, cen_deadline deadline)
{
    cen_route_op_init(&waiting[i], NULL, NULL);
    errors[i] = (cen_error){.text = ""};
    waiting[i].future.error = &errors[i];
    expect_equal(cen_router_route_async(router, NULL, deadline, &waiting[i]), CEN_OK);
}

static bool is_done(int i)
{
    return cen_future_is_done(&waiting[i].future);
}

static void expect_served(int i)
{
    expect(is_done(i));
    expect_equal(waiting[i].future.status, CEN_OK);
    expect(waiting[i].future.value == &waiting[i].route && waiting[i].route.member);
}

TEST(an_ask_that_finds_room_is_done_at_once)
{
    make_router(.name = NULL);
    add_up(0);
    ask(0, CEN_NOW);
    expect_served(0);
    expect(waiting[0].route.value == &values[0]);
    expect_equal(done(&waiting[0].route), CEN_OK);
    ask(1, CEN_NEVER);
    expect_served(1);
    done(&waiting[1].route);
    expect_equal(look().waited, 0);
    end_router();
}

TEST(an_ask_that_may_not_wait_is_done_with_the_reason)
{
    make_router(.max_in_flight = 1);
    ask(0, CEN_NOW);
    expect(is_done(0) && waiting[0].future.status == CEN_EMPTY && !waiting[0].future.value);
    expect(errors[0].cause == CEN_CAUSE_NO_MEMBER && strstr(errors[0].text, "no member is up"));
    add_up(0);
    cen_route route = route_now();
    ask(1, CEN_NOW);
    expect(is_done(1) && waiting[1].future.status == CEN_FULL);
    expect_equal(errors[1].status, CEN_FULL);
    done(&route);
    end_router();
}

TEST(a_routing_that_is_under_way_or_done_is_not_asked_with_again)
{
    make_router(.name = NULL);
    ask(0, CEN_NEVER);
    expect_equal(cen_router_route_async(router, NULL, CEN_NEVER, &waiting[0]), CEN_MISUSE);
    expect_equal(look().waiting, 1);
    expect(cen_future_cancel(&waiting[0].future));
    expect_equal(cen_router_route_async(router, NULL, CEN_NEVER, &waiting[0]), CEN_MISUSE);
    end_router();
}

/* guarantees: router.L3 */
TEST(those_who_wait_are_served_in_the_order_in_which_they_came)
{
    make_router(.max_in_flight = 1);
    cen_member *one = add_up(0);
    cen_route route = route_now();
    for (int i = 0; i < WAITERS; i++) ask(i, CEN_NEVER);
    expect(look().waiting == WAITERS && look().waited == WAITERS);
    done(&route);
    for (int i = 0; i < WAITERS; i++) {
        expect_served(i);
        expect(i + 1 == WAITERS || !is_done(i + 1));
        expect_equal(look().in_flight, 1);
        done(&waiting[i].route);
    }
    expect(look().waiting == 0 && look().in_flight == 0);
    (void)one;
    end_router();
}

TEST(a_member_that_comes_up_serves_all_who_wait)
{
    make_router(.name = NULL);
    cen_member *one = add(0);
    for (int i = 0; i < WAITERS; i++) ask(i, CEN_NEVER);
    cen_member_up(one, NULL);
    for (int i = 0; i < WAITERS; i++) {
        expect_served(i);
        done(&waiting[i].route);
    }
    end_router();
}

TEST(a_member_that_comes_up_serves_as_many_as_it_has_room_for)
{
    make_router(.max_in_flight = 2);
    cen_member *one = add(0);
    for (int i = 0; i < WAITERS; i++) ask(i, CEN_NEVER);
    cen_member_up(one, NULL);
    expect(is_done(0) && is_done(1) && !is_done(2));
    add_up(1);
    expect(is_done(2) && is_done(3) && !is_done(4));
    done(&waiting[0].route);
    expect_served(4);
    for (int i = 1; i < WAITERS; i++) done(&waiting[i].route);
    end_router();
}

TEST(a_newcomer_goes_behind_those_who_wait)
{
    make_router(.max_in_flight = 1);
    add_up(0);
    cen_route route = route_now(), none;
    ask(0, CEN_NEVER);
    expect_equal(try_route(&none), CEN_FULL);
    ask(1, cen_in_s(1));
    done(&route);
    expect(is_done(0) && !is_done(1));
    done(&waiting[0].route);
    expect_served(1);
    done(&waiting[1].route);
    end_router();
}

TEST(a_restored_member_serves_those_who_wait)
{
    make_router(.name = NULL);
    cen_member *one = add_up(0);
    cen_member_eject(one, 0, NULL);
    ask(0, CEN_NEVER);
    expect(!is_done(0));
    cen_member_restore(one, NULL);
    expect_served(0);
    done(&waiting[0].route);
    end_router();
}

TEST(one_who_gives_up_is_not_served_and_is_not_in_the_way)
{
    make_router(.max_in_flight = 1);
    add_up(0);
    cen_route route = route_now();
    for (int i = 0; i < 3; i++) ask(i, i == 0 ? cen_in_s(1) : CEN_NEVER);
    expect(cen_future_cancel(&waiting[0].future));
    expect_equal(look().waiting, 2);
    done(&route);
    expect(!is_done(0) && !is_done(2));
    expect_served(1);
    expect(!cen_future_cancel(&waiting[1].future));
    done(&waiting[1].route);
    expect_served(2);
    done(&waiting[2].route);
    expect_equal(look().in_flight, 0);
    end_router();
}

/* guarantees: router.limits */
TEST(the_backlog_is_bounded_and_whoever_is_too_many_is_told_the_cause)
{
    make_router(.name = "search", .max_waiters = 2);
    cen_error error = {.text = ""};
    cen_route route;
    ask(0, CEN_NEVER);
    ask(1, CEN_NEVER);
    ask(2, CEN_NEVER);
    expect(is_done(2) && waiting[2].future.status == CEN_FULL);
    expect(errors[2].cause == CEN_CAUSE_QUEUE_FULL && errors[2].current == 2 && errors[2].max == 2);
    expect(strstr(errors[2].text, "router \"search\": ") && strstr(errors[2].text, "2 waiting"));
    expect_equal(cen_router_route(router, NULL, cen_in_s(1), &route, &error), CEN_FULL);
    expect(error.status == CEN_FULL && error.cause == CEN_CAUSE_QUEUE_FULL && error.current == 2 && error.max == 2);
    expect_equal(look().refused, 2);
    expect(cen_future_cancel(&waiting[0].future));
    ask(3, CEN_NEVER);
    expect(!is_done(3));
    cen_router_report report = CEN_SIZED(cen_router_report);
    expect_equal(cen_router_close(router, CEN_NOW, &report, NULL), CEN_OK);
    expect_equal(report.waited, 2);
    expect(waiting[1].future.status == CEN_CLOSED && waiting[3].future.status == CEN_CLOSED);
    end_router();
}

TEST(with_a_backlog_of_none_nobody_waits)
{
    make_router(.max_waiters = CEN_NONE);
    ask(0, CEN_NEVER);
    expect(is_done(0) && waiting[0].future.status == CEN_FULL && errors[0].cause == CEN_CAUSE_QUEUE_FULL &&
           errors[0].max == 0);
    add_up(0);
    ask(1, CEN_NEVER);
    expect_served(1);
    done(&waiting[1].route);
    end_router();
}

TEST(a_backlog_that_is_off_has_no_limit)
{
    make_router(.max_waiters = CEN_OFF);
    static cen_route_op many[1500];
    for (int i = 0; i < 1500; i++) {
        cen_route_op_init(&many[i], NULL, NULL);
        expect_equal(cen_router_route_async(router, NULL, CEN_NEVER, &many[i]), CEN_OK);
        expect(!cen_future_is_done(&many[i].future));
    }
    end_router();
}

TEST(a_default_backlog_has_1024_places)
{
    make_router(.name = NULL);
    static cen_route_op many[1025];
    for (int i = 0; i < 1025; i++) {
        cen_route_op_init(&many[i], NULL, NULL);
        expect_equal(cen_router_route_async(router, NULL, CEN_NEVER, &many[i]), CEN_OK);
    }
    expect(!cen_future_is_done(&many[1023].future) && cen_future_is_done(&many[1024].future));
    expect_equal(look().waiting, 1024);
    end_router();
    for (int i = 0; i < 1024; i++) expect(cen_future_is_done(&many[i].future) && many[i].future.status == CEN_CLOSED);
}

TEST(a_close_tells_those_who_wait_in_words)
{
    make_router(.name = "search");
    ask(0, CEN_NEVER);
    ask(1, cen_in_s(5));
    expect_equal(cen_router_close(router, CEN_NOW, NULL, NULL), CEN_OK);
    for (int i = 0; i < 2; i++) {
        expect(is_done(i) && waiting[i].future.status == CEN_CLOSED && !waiting[i].future.value);
        expect_equal(errors[i].status, CEN_CLOSED);
        expect_text(errors[i].text, "router \"search\": it has been closed");
    }
    end_router();
}

/* ---- Deadlines ------------------------------------------------------------------------- */

/* guarantees: router.clock */
TEST(a_deadline_ends_a_wait_at_its_moment_and_in_words)
{
    make_router(.name = "search", .runtime = make_manual());
    ask(0, cen_in_ms(30));
    ask(1, cen_in_ms(10));
    ask(2, CEN_NEVER);
    expect_equal(cen_runtime_advance(runtime, 10 * ms - 1), CEN_OK);
    expect(!is_done(0) && !is_done(1));
    expect_equal(cen_runtime_advance(runtime, 1), CEN_OK);
    expect(!is_done(0) && is_done(1) && waiting[1].future.status == CEN_TIMEOUT && !waiting[1].future.value);
    expect_equal(errors[1].status, CEN_TIMEOUT);
    expect_equal(errors[1].cause, CEN_CAUSE_NO_MEMBER);
    expect(strstr(errors[1].text, "router \"search\": timed out after 10 ms: no member is up"));
    expect_equal(cen_runtime_advance(runtime, 20 * ms), CEN_OK);
    expect(is_done(0) && waiting[0].future.status == CEN_TIMEOUT);
    expect(look().timeouts == 2 && look().waiting == 1 && look().waited == 3);
    cen_member *one = add_up(0);
    expect_served(2);
    done(&waiting[2].route);
    (void)one;
    end_all();
}

TEST(a_zero_deadline_is_the_routers)
{
    make_router(.runtime = make_manual(), .default_deadline = cen_in_ms(5));
    ask(0, routers_own);
    expect(!is_done(0));
    expect_equal(cen_runtime_advance(runtime, 5 * ms), CEN_OK);
    expect(is_done(0) && waiting[0].future.status == CEN_TIMEOUT);
    end_all();
}

TEST(a_moment_that_has_passed_ends_a_wait_at_the_next_poll)
{
    make_router(.runtime = make_manual());
    expect_equal(cen_runtime_advance(runtime, second), CEN_OK);
    ask(0, cen_at(1));
    poll_all();
    expect(is_done(0) && waiting[0].future.status == CEN_TIMEOUT);
    end_all();
}

TEST(who_was_served_is_not_told_by_its_deadline)
{
    make_router(.runtime = make_manual());
    cen_member *one = add(0);
    ask(0, cen_in_ms(10));
    cen_member_up(one, NULL);
    expect_served(0);
    expect_equal(cen_runtime_advance(runtime, second), CEN_OK);
    expect_equal(waiting[0].future.status, CEN_OK);
    expect_equal(look().timeouts, 0);
    done(&waiting[0].route);
    end_all();
}

TEST(an_ejection_that_ends_at_the_moment_of_a_deadline_serves_or_times_out_once)
{
    make_router(.runtime = make_manual());
    cen_member *one = add_up(0);
    expect_equal(cen_member_eject(one, 10 * ms, NULL), CEN_OK);
    ask(0, cen_in_ms(10));
    ask(1, cen_in_ms(10));
    expect_equal(cen_runtime_advance(runtime, 10 * ms), CEN_OK);
    expect(is_done(0) && is_done(1));
    for (int i = 0; i < 2; i++)
        if (waiting[i].future.status == CEN_OK) done(&waiting[i].route);
        else expect_equal(waiting[i].future.status, CEN_TIMEOUT);
    expect(look().waiting == 0 && look().in_flight == 0);
    end_all();
}

/* ---- Threads that wait ------------------------------------------------------------------- */

static cen_status answers[3];
static cen_route routes[3];

static void wait_there(void *argument)
{
    int i = (int)(intptr_t)argument;
    answers[i] = cen_router_route(router, NULL, cen_in_s(1), &routes[i], &errors[i]);
}

TEST(a_thread_that_waits_is_served_or_its_deadline_ends_the_wait)
{
    make_router(.max_in_flight = 1);
    add_up(0);
    cen_route route = route_now();
    ceni_thread threads[2];
    for (int i = 0; i < 2; i++) {
        threads[i] = start("waiter", wait_there, (void *)(intptr_t)i);
        ceni_world_settle();
    }
    expect_equal(look().waiting, 2);
    done(&route);
    ceni_world_settle();
    expect_equal(answers[0], CEN_OK);
    expect(routes[0].member);
    join(threads[0]);
    ceni_world_advance(second);
    join(threads[1]);
    expect_equal(answers[1], CEN_TIMEOUT);
    expect(!routes[1].member);
    expect_equal(errors[1].cause, CEN_CAUSE_MEMBERS_FULL);
    expect(strstr(errors[1].text, "after 1000 ms: every member is full"));
    done(&routes[0]);
    end_router();
}

TEST(a_thread_that_waits_is_told_closed)
{
    make_router(.name = "search");
    ceni_thread thread = start("waiter", wait_there, (void *)0);
    ceni_world_settle();
    errors[0] = (cen_error){.text = ""};
    cen_router_report report = CEN_SIZED(cen_router_report);
    expect_equal(cen_router_close(router, CEN_NOW, &report, NULL), CEN_OK);
    join(thread);
    expect_equal(answers[0], CEN_CLOSED);
    expect_equal(errors[0].status, CEN_CLOSED);
    expect_text(errors[0].text, "router \"search\": it has been closed");
    expect_equal(report.waited, 1);
    end_router();
}

/* ---- Futures with a `done` ------------------------------------------------------------------ */

static unsigned told;

static void use_it(cen_future *future)
{
    expect_equal(future->status, CEN_OK);
    told++;
    cen_route *route = future->value;
    expect_equal(done(route), CEN_OK); /* serves the next from within */
}

TEST(a_chain_of_waiters_each_of_which_is_done_at_once_serves_all)
{
    make_router(.max_in_flight = 1);
    cen_member *one = add(0);
    told = 0;
    for (int i = 0; i < WAITERS; i++) {
        cen_route_op_init(&waiting[i], NULL, NULL);
        expect_equal(cen_future_then(&waiting[i].future, use_it, cen_inline()), CEN_OK);
        expect_equal(cen_router_route_async(router, NULL, CEN_NEVER, &waiting[i]), CEN_OK);
    }
    cen_member_up(one, NULL);
    expect_equal(told, WAITERS);
    expect(look().in_flight == 0 && look().waiting == 0);
    end_router();
}

/* Each that is served had the earliest deadline of all. */
/* guarantees: life.L7-load */
TEST(to_join_costs_the_same_however_many_have_a_deadline_in_the_same_millisecond)
{
    enum { MANY = 300 };
    static cen_route_op many[MANY];
    make_router(.max_in_flight = 1);
    add_up(0);
    cen_route route = route_now();
    for (int i = 0; i < MANY; i++) {
        cen_route_op_init(&many[i], NULL, NULL);
        expect_equal(cen_router_route_async(router, NULL, cen_in_s(1), &many[i]), CEN_OK);
        if (i < MANY / 2) continue;
        done(&route);
        route = many[i - MANY / 2].route;
    }
    expect(router->wheel.looks <= MANY);
    for (int i = MANY - MANY / 2; i < MANY; i++) {
        done(&route);
        route = many[i].route;
    }
    done(&route);
    for (int i = 0; i < MANY; i++) expect_equal(many[i].future.status, CEN_OK);
    end_router();
}

/* ---- A callback of the operation's own ---------------------------------------------------------- */

static cen_route_op *told_op;
static unsigned told_count;

static void note_routed(cen_route_op *routing)
{
    told_op = routing;
    told_count++;
}

TEST(an_operation_calls_its_own_done_once_whether_it_waited_or_not)
{
    cen_route_op at_once, later;
    make_router(.max_in_flight = 1);
    add_up(0);
    cen_route_op_init(&at_once, note_routed, cen_inline());
    expect_equal(cen_router_route_async(router, NULL, CEN_NEVER, &at_once), CEN_OK);
    expect(told_op == &at_once && told_count == 1);
    expect_equal(at_once.future.status, CEN_OK);
    cen_route_op_init(&later, note_routed, cen_inline());
    expect_equal(cen_router_route_async(router, NULL, CEN_NEVER, &later), CEN_OK);
    expect_equal(told_count, 1);
    done(&at_once.route);
    expect(told_op == &later && told_count == 2);
    done(&later.route);
    end_router();
}

TEST(a_done_without_an_executor_is_invalid)
{
    cen_route_op routing;
    make_router(.max_in_flight = 1);
    cen_route_op_init(&routing, note_routed, NULL);
    expect_equal(cen_router_route_async(router, NULL, CEN_NEVER, &routing), CEN_INVALID);
    end_router();
}
