/* SPDX-License-Identifier: MIT */
/* The end of a router: close, free, what is still out, and readers. */
#include "support/world.h"
#include "unit/router/routers.h"

TEST(a_close_without_uses_is_over_at_once)
{
    make_router(.name = NULL);
    add_up(0);
    cen_router_report report = {.size = sizeof(cen_router_report), .left = 9, .waited = 9};
    expect_equal(cen_router_close(router, CEN_NOW, &report, NULL), CEN_OK);
    expect(report.left == 0 && report.waited == 0);
    expect_equal(cen_router_close(router, CEN_NEVER, NULL, NULL), CEN_OK);
    end_router();
    expect_equal(ceni_world_bytes(), 0);
}

TEST(a_close_says_how_many_uses_are_left_at_its_deadline)
{
    make_router(.name = NULL);
    cen_member *one = add_up(0);
    cen_route route = route_now(), removed = route_now();
    cen_router_report report = CEN_SIZED(cen_router_report);
    expect_equal(cen_router_close(router, routers_own, &report, NULL), CEN_TIMEOUT);
    expect_equal(report.left, 2);
    int64_t begun = cen_clock();
    cen_member_remove(one);
    expect_equal(cen_router_close(router, cen_in_s(1), &report, NULL), CEN_TIMEOUT);
    expect_equal(report.left, 2); /* of zombies too */
    expect(cen_clock() - begun >= second);
    expect_equal(done(&route), CEN_DOWN);
    expect_equal(done(&removed), CEN_DOWN);
    expect_equal(cen_router_close(router, CEN_NEVER, &report, NULL), CEN_OK);
    expect_equal(report.left, 0);
    end_router();
}

static cen_route out[2];

static void end_later(void *argument)
{
    (void)argument;
    ceni_sleep_until(ceni_clock_now() + second);
    cen_route_done(&out[0], CEN_OUTCOME_OK, 0);
    ceni_sleep_until(ceni_clock_now() + second);
    cen_route_done(&out[1], CEN_OUTCOME_OK, 0);
}

static void close_while_uses_end(bool limited)
{
    make_router(.max_in_flight = limited ? 5 : 0);
    add_up(0);
    out[0] = route_now();
    out[1] = route_now();
    ceni_thread thread = start("ender", end_later, NULL);
    cen_router_report report = CEN_SIZED(cen_router_report);
    int64_t begun = cen_clock();
    expect_equal(cen_router_close(router, cen_in_s(100), &report, NULL), CEN_OK);
    expect(cen_clock() - begun < 3 * second);
    expect_equal(report.left, 0);
    join(thread);
    end_router();
}

TEST(a_close_waits_until_the_last_use_has_ended_and_no_longer)
{
    close_while_uses_end(false);
    close_while_uses_end(true);
}

TEST(a_close_waits_for_the_uses_of_a_member_that_drains_or_was_removed)
{
    make_router(.name = NULL);
    cen_member *one = add_up(0);
    out[0] = route_now();
    cen_member_remove(one);
    cen_member *two = add_up(1);
    out[1] = route_now();
    cen_member_drain(two, NULL);
    ceni_thread thread = start("ender", end_later, NULL);
    int64_t begun = cen_clock();
    expect_equal(cen_router_close(router, cen_in_s(100), NULL, NULL), CEN_OK);
    expect(cen_clock() - begun < 3 * second);
    join(thread);
    end_router();
}

TEST(in_a_read_section_a_router_is_neither_freed_nor_waited_for)
{
    make_router(.name = NULL);
    add_up(0);
    cen_route route = route_now();
    cen_read_begin();
    expect_equal(cen_router_free(router), CEN_MISUSE);
    expect_equal(cen_router_close(router, CEN_NEVER, NULL, NULL), CEN_MISUSE);
    cen_route more = route_now(); /* nothing has been closed */
    cen_router_report report = CEN_SIZED(cen_router_report);
    expect_equal(cen_router_close(router, CEN_NOW, &report, NULL), CEN_TIMEOUT);
    expect_equal(report.left, 2);
    cen_read_end();
    done(&route);
    done(&more);
    end_router();
}

TEST(a_free_removes_every_member_and_tells_each_gone_once)
{
    make_router(.name = NULL);
    add(0);
    add_up(1);
    cen_member_down(add_up(2), NULL);
    cen_member_eject(add_up(3), second, NULL);
    cen_member_drain(add_up(4), NULL);
    cen_member_remove(add_up(5));
    end_router();
    for (int i = 0; i < 6; i++) expect_equal(gone_of(i), 1);
    expect_equal(ceni_world_bytes(), 0);
}

/* guarantees: router.read */
TEST(routes_that_are_out_when_a_router_is_freed_can_be_done_afterwards)
{
    make_router(.name = NULL);
    add_up(0);
    add_up(1);
    cen_route routes[4];
    for (int i = 0; i < 4; i++) routes[i] = route_now();
    unsigned held[2] = {0};
    for (int i = 0; i < 4; i++) held[(int *)routes[i].value - values]++;
    end_router();
    for (int i = 0; i < 2; i++) expect_equal(gone_of(i), held[i] == 0);
    for (int i = 0; i < 4; i++) {
        expect_equal(cen_route_check(&routes[i]), CEN_DOWN);
        expect_equal(done(&routes[i]), CEN_DOWN);
    }
    ceni_world_settle();
    expect(gone_of(0) == 1 && gone_of(1) == 1);
    expect_equal(ceni_world_bytes(), 0);
}

TEST(routes_that_are_out_keep_a_manual_runtime_busy_until_they_are_done)
{
    make_router(.runtime = make_manual());
    add_up(0);
    cen_route route = route_now();
    end_router();
    expect_equal(cen_runtime_free(runtime), CEN_BUSY);
    expect_equal(done(&route), CEN_DOWN);
    poll_all();
    expect_equal(gone_of(0), 1);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
    runtime = NULL;
    expect_equal(ceni_world_bytes(), 0);
}

TEST(a_free_tells_those_who_wait_closed)
{
    make_router(.name = NULL);
    cen_route_op routing;
    cen_route_op_init(&routing, NULL, NULL);
    expect_equal(cen_router_route_async(router, NULL, cen_in_s(3600), &routing), CEN_OK);
    end_router();
    expect(cen_future_is_done(&routing.future) && routing.future.status == CEN_CLOSED);
    ceni_world_settle();
    expect_equal(ceni_world_bytes(), 0); /* its alarm is not waited for */
}

TEST(a_router_with_timers_to_come_is_freed_at_once)
{
    make_router(.max_lifetime_ns = 3600 * second);
    add_up(0);
    cen_member_eject(add_up(1), 3600 * second, NULL);
    ceni_world_settle();
    end_router();
    ceni_world_settle();
    expect_equal(ceni_world_bytes(), 0);
}

static _Atomic uint32_t reading;

static void read_for_a_while(void *unused)
{
    (void)unused;
    cen_member *picked;
    cen_read_begin();
    expect_equal(cen_router_peek(router, NULL, &picked), CEN_OK);
    ceni_store_seq_cst(&reading, 1);
    ceni_sleep_until(ceni_clock_now() + second);
    expect_equal(gone_of(0), 0);
    expect(cen_member_value(picked) == &values[0]);
    ceni_store_seq_cst(&reading, 0);
    cen_read_end();
}

TEST(a_free_waits_for_the_readers_of_other_threads)
{
    make_router(.name = NULL);
    add_up(0);
    ceni_thread reader = start("reader", read_for_a_while, NULL);
    ceni_world_settle();
    expect_equal(ceni_load_seq_cst(&reading), 1);
    end_router();
    expect_equal(ceni_load_seq_cst(&reading), 0);
    expect_equal(gone_of(0), 1);
    join(reader);
}

static void free_it(void *value)
{
    note_gone(value);
    if (router) end_router();
}

TEST(the_last_member_that_is_gone_may_take_its_router_along)
{
    make_router(.name = NULL);
    cen_member_options options = CEN_MEMBER_OPTIONS(.value = &values[0], .gone = free_it);
    cen_member *one = bring_up(add_with(options));
    expect_equal(cen_member_remove(one), CEN_OK);
    ceni_world_settle();
    expect(!router);
    expect_equal(gone_of(0), 1);
    expect_equal(ceni_world_bytes(), 0);
}

static void add_successor(void *value)
{
    note_gone(value);
    add_up(1);
}

TEST(a_member_that_is_gone_may_add_its_successor)
{
    make_router(.name = NULL);
    cen_member_options options = CEN_MEMBER_OPTIONS(.value = &values[0], .gone = add_successor);
    cen_member_remove(bring_up(add_with(options)));
    ceni_world_settle();
    cen_route route = route_now();
    expect(route.value == &values[1]);
    done(&route);
    end_router();
}

TEST(what_a_close_in_a_read_section_watches_is_not_ended_under_a_reader)
{
    make_router(.name = NULL);
    cen_member *one = add_up(0);
    cen_route route = route_now();
    cen_read_begin();
    expect_equal(cen_router_close(router, CEN_NOW, NULL, NULL), CEN_TIMEOUT);
    cen_member_remove(one);
    expect_equal(done(&route), CEN_DOWN);
    ceni_world_settle();
    expect_equal(gone_of(0), 0);
    cen_read_end();
    ceni_world_settle();
    expect_equal(gone_of(0), 1);
    end_router();
}

TEST(a_close_that_fails_says_why)
{
    make_router(.name = "shards");
    add_up(0);
    cen_route route = route_now();
    cen_error error = {.text = ""};
    expect_equal(cen_router_close(NULL, CEN_NOW, NULL, &error), CEN_INVALID);
    expect_text(error.text, "cen_router_close: router is NULL");
    expect_equal(cen_router_close(router, CEN_NOW, NULL, &error), CEN_TIMEOUT);
    expect_text(error.text, "router \"shards\": 1 uses not done by the deadline");
    cen_read_begin();
    expect_equal(cen_router_close(router, CEN_NEVER, NULL, &error), CEN_MISUSE);
    expect_text(error.text, "router \"shards\": a close must not wait in a read section");
    cen_read_end();
    done(&route);
    expect_equal(cen_router_close(router, CEN_NOW, NULL, &error), CEN_OK);
    end_router();
}
