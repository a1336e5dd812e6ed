/* SPDX-License-Identifier: MIT */
/* What whoever watches is told of a router: its strategy, and each member with its state, its load and its latency. */
#include "support/description.h"
#include "support/world.h"
#include "unit/router/routers.h"

TEST(members_show_state_load_latency_and_why_they_are_down)
{
    description s;
    cen_error cut = {.status = CEN_LOST, .code = 3, .text = "the line was cut"};
    make_router(.name = "lines", .runtime = make_manual(), .strategy = cen_strategy_round_robin(), .measure = true,
                .max_waiters = 7);
    cen_member *a = add_up(0, .name = "a", .weight = 3),
               *b = add_up(1, .name = "b", .max_in_flight = 5, .target_in_flight = 2);
    cen_member *c = add(2, .name = "c");
    cen_route first = route_now(), second_route = route_now();
    cen_route_done(&first, CEN_OUTCOME_FAILED, 170);
    cen_runtime_advance(runtime, second);
    cen_member_down(b, &cut);
    cen_runtime_advance(runtime, 5);
    description_take(&s, "router", "lines", 10);
    expect_text(description_words(&s, "strategy"), cen_strategy_round_robin().type->name);
    expect_equal(description_number(&s, "max_waiters"), 7);
    expect(!description_truth(&s, "closed"));
    expect_equal(description_count(&s, "members"), 3);
    expect_text(description_words(&s, "members[0].name"), "a");
    expect_text(description_words(&s, "members[0].state"), "up");
    expect_equal(description_number(&s, "members[0].weight"), 3);
    expect(!description_has(&s, "members[0].last_error"));
    expect_text(description_words(&s, "members[1].state"), "down");
    expect_equal(description_number(&s, "members[1].since_ns"), 5);
    expect_equal(description_number(&s, "members[1].max_in_flight"), 5);
    expect_equal(description_number(&s, "members[1].target_in_flight"), 2);
    expect_text(description_words(&s, "members[1].last_error"), "the line was cut");
    expect_text(description_words(&s, "members[2].state"), "connecting");
    expect_equal(description_number(&s, "members[2].uses"), 0);
    expect_equal(description_number(&s, "members[0].uses") + description_number(&s, "members[1].uses"), 2);
    expect_equal(description_number(&s, "members[0].in_flight") + description_number(&s, "members[1].in_flight"), 1);
    expect_equal(description_number(&s, "members[0].failed") + description_number(&s, "members[1].failed"), 1);
    const char *timed = description_number(&s, "members[0].failed") ? "members[0].latency_ns" : "members[1].latency_ns";
    expect_equal(description_number(&s, timed), 170);
    description_drop(&s);
    description_take(&s, "router", "lines", 2);
    expect_equal(description_count(&s, "members"), 2);
    expect_equal(description_number(&s, "members_more"), 1);
    description_drop(&s);
    done(&second_route);
    (void)a, (void)c;
    end_all();
    expect_equal(ceni_world_bytes(), 0);
}

/* So many uses, of which each took so long. */
static void use_often(int count, cen_outcome outcome, int64_t latency_ns)
{
    for (int i = 0; i < count; i++) {
        cen_route route = route_now();
        expect_equal(cen_route_done(&route, outcome, latency_ns), CEN_OK);
    }
}

TEST(a_router_that_times_uses_tells_their_latencies_of_a_share)
{
    enum { OFTEN = 16000 };
    static cen_histogram d;
    cen_histogram_header timing;
    make_router(.name = "timed", .strategy = cen_strategy_round_robin(), .measure = true);
    add_up(0);
    expect(histogram_of("router", "timed", "latency", &timing, &d));
    expect_equal(d.count, 0);
    use_often(OFTEN, CEN_OUTCOME_OK, 3 * ms);
    use_often(OFTEN / 4, CEN_OUTCOME_FAILED, 40 * ms); /* how long a failure took is of interest, too */
    use_often(OFTEN, CEN_OUTCOME_CANCELLED, 900 * ms);
    expect(histogram_of("router", "timed", "latency", &timing, &d));
    expect_equal(timing.one_in, 16);
    expect_equal(timing.instant, 0);
    expect(d.count > OFTEN / 16 && d.count < OFTEN / 16 * 3 / 2); /* 1250, give or take 35 */
    expect(cen_histogram_percentile(&d, 500000) >= 3 * ms && cen_histogram_percentile(&d, 500000) < 4 * ms);
    expect(cen_histogram_percentile(&d, 990000) >= 40 * ms && cen_histogram_percentile(&d, 990000) < 42 * ms);
    expect_equal(d.largest, 40 * ms);
    end_all();
    expect_equal(ceni_world_bytes(), 0);
}

TEST(a_router_that_times_nothing_tells_no_latencies)
{
    static cen_histogram d;
    cen_histogram_header timing;
    make_router(.name = "untimed", .strategy = cen_strategy_round_robin());
    add_up(0);
    use_often(100, CEN_OUTCOME_OK, 3000);
    expect(!histogram_of("router", "untimed", "latency", &timing, &d));
    end_all();
}

TEST(a_closed_router_says_so_and_what_only_rises_is_a_counter)
{
    description s;
    make_router(.name = "lines");
    add_up(0);
    static const char *const rise[] = {"uses", "failed", "waited", "timeouts", "refused", "empty", "changes"};
    for (size_t i = 0; i < sizeof rise / sizeof *rise; i++)
        expect_equal(metric_and_kind_of("router", "lines", rise[i]).kind, CEN_COUNTER);
    expect_equal(metric_and_kind_of("router", "lines", "in_flight").kind, CEN_GAUGE);
    expect_equal(cen_router_close(router, CEN_NOW, NULL, NULL), CEN_OK);
    description_take(&s, "router", "lines", 10);
    expect(description_truth(&s, "closed"));
    expect_text(description_words(&s, "members[0].state"), "up");
    description_drop(&s);
    end_router();
}

TEST(what_becomes_of_members_is_in_the_events_with_its_cause)
{
    cen_error cut = {.status = CEN_LOST, .code = 3, .text = "the line was cut"};
    events_begin();
    make_router(.name = "lines", .runtime = make_manual());
    cen_member *a = add(0, .name = "a");
    expect_event("router", "member_added", CEN_LEVEL_DETAIL, "router \"lines\": member \"a\" was added");
    bring_up(a);
    expect_event("router", "member_up", CEN_LEVEL_DETAIL, "router \"lines\": member \"a\" is up");
    cen_member_eject(a, second, NULL);
    expect_event("router", "member_ejected", CEN_LEVEL_WARNING, "router \"lines\": member \"a\" was ejected");
    cen_runtime_advance(runtime, 2 * second);
    expect_equal(events_of("router", "member_up", NULL), 2);
    cen_member_down(a, &cut);
    expect_event("router", "member_down", CEN_LEVEL_WARNING,
                 "router \"lines\": member \"a\" is down: the line was cut");
    cen_member_down(a, &cut);
    expect_equal(events_of("router", "member_down", NULL), 1); /* it was */
    bring_up(a);
    cen_member_drain(a, NULL);
    expect_event("router", "member_draining", CEN_LEVEL_DETAIL, "router \"lines\": member \"a\" is draining");
    poll_all();
    cen_event last = {.text = ""};
    expect_equal(events_of("router", "member_down", &last), 2);
    expect_equal(last.level, CEN_LEVEL_DETAIL);
    cen_member_remove(a);
    expect_event("router", "member_removed", CEN_LEVEL_DETAIL, "router \"lines\": member \"a\" was removed");
    expect_equal(cen_router_close(router, CEN_NOW, NULL, NULL), CEN_OK);
    expect_equal(cen_router_close(router, CEN_NOW, NULL, NULL), CEN_OK);
    expect_event("router", "closed", CEN_LEVEL_NOTICE, "");
    end_all();
}

TEST(routes_that_are_refused_or_too_late_are_in_the_events_once_a_second_at_most)
{
    cen_route_op waits, more;
    events_begin();
    make_router(.name = "lines", .runtime = make_manual(), .max_waiters = 1);
    add(0);
    cen_route_op_init(&waits, NULL, NULL);
    expect_equal(cen_router_route_async(router, NULL, cen_in_ns(10 * ms), &waits), CEN_OK);
    for (int i = 0; i < 20; i++) {
        cen_route_op_init(&more, NULL, NULL);
        expect_equal(cen_router_route_async(router, NULL, cen_in_ns(10 * ms), &more), CEN_OK);
        expect_equal(more.future.status, CEN_FULL);
    }
    expect_event("router", "refused", CEN_LEVEL_WARNING, "router \"lines\": wait queue full");
    cen_runtime_advance(runtime, 20 * ms);
    expect_equal(waits.future.status, CEN_TIMEOUT);
    expect_event("router", "timed_out", CEN_LEVEL_WARNING, "router \"lines\": a route timed out");
    end_all();
}
