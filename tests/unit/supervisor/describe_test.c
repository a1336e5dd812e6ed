/* SPDX-License-Identifier: MIT */
/* What whoever watches is told of a supervisor: enough to draw the tree. */
#include "support/description.h"
#include "support/world.h"
#include "unit/supervisor/kids.h"

TEST(children_show_state_policy_restarts_and_last_error)
{
    description s;
    init_kids();
    cen_child_options children[] = {kid_options(0), kid_options(1), kid_options(2)};
    children[1].restart = CEN_RESTART_TRANSIENT;
    children[2].restart = CEN_RESTART_TRANSIENT;
    children[2].significant = true;
    make_supervisor(children, 3, .name = "store", .max_restarts = 9, .window_ns = 7 * second,
                    .auto_stop = CEN_AUTO_STOP_ALL);
    advance(2 * second);
    die(0, false);
    die(1, true);
    advance(5);
    description_take(&s, "supervisor", "store", 10);
    expect_text(description_words(&s, "strategy"), "one for one");
    expect_text(description_words(&s, "state"), "running");
    expect_equal(description_number(&s, "max_restarts"), 9);
    expect_equal(description_number(&s, "window_ns"), 7 * second);
    expect(!description_truth(&s, "nested"));
    expect_equal(description_count(&s, "children"), 3);
    expect_text(description_words(&s, "children[0].name"), "a");
    expect_text(description_words(&s, "children[0].state"), "running");
    expect_text(description_words(&s, "children[0].policy"), "permanent");
    expect_equal(description_number(&s, "children[0].restarts"), 1);
    expect_equal(description_number(&s, "children[0].starts"), 2);
    expect_equal(description_number(&s, "children[0].since_ns"), 5);
    expect_text(description_words(&s, "children[0].last_error"), "the line was cut");
    expect_text(description_words(&s, "children[1].state"), "down");
    expect_text(description_words(&s, "children[1].policy"), "transient");
    expect(!description_has(&s, "children[1].last_error"));
    expect(description_truth(&s, "children[2].significant"));
    expect(!description_has(&s, "children[2].supervisor"));
    description_drop(&s);
    description_take(&s, "supervisor", "store", 1);
    expect_equal(description_number(&s, "children_more"), 2);
    description_drop(&s);
    end_supervisor();
    expect_equal(ceni_world_bytes(), 0);
}

TEST(one_that_waits_says_in_how_long_it_is_started_again)
{
    description s;
    init_kids();
    cen_child_options children[] = {kid_options(0)};
    make_supervisor(children, 1, .name = "store", .backoff_initial_ns = 10 * second);
    die(0, false);
    die(0, false); /* the first restart comes at once */
    cen_child_stats stats = child_at(0);
    expect_equal(stats.state, CEN_CHILD_WAITING);
    description_take(&s, "supervisor", "store", 10);
    expect_text(description_words(&s, "children[0].state"), "waiting");
    expect_equal(description_number(&s, "children[0].starts_in_ns"), stats.until - cen_runtime_now(runtime));
    description_drop(&s);
    advance(10 * second);
    description_take(&s, "supervisor", "store", 10);
    expect_text(description_words(&s, "children[0].state"), "running");
    expect(!description_has(&s, "children[0].starts_in_ns"));
    description_drop(&s);
    end_supervisor();
}

TEST(a_nested_supervisor_is_found_by_the_number_that_its_parent_shows)
{
    description outer, inner_description;
    cen_supervisor *inner;
    init_kids();
    make_runtime();
    cen_child_options below[] = {kid_options(1), kid_options(2)};
    cen_supervisor_options options =
        CEN_SUPERVISOR_OPTIONS(.name = "links", .children = below, .child_count = 2, .nested = true,
                               .supervision = CEN_ONE_FOR_ALL, .runtime = runtime);
    expect_equal(cen_supervisor_new(&options, &inner, NULL), CEN_OK);
    description_take(&inner_description, "supervisor", "links", 10);
    expect_text(description_words(&inner_description, "state"), "not started");
    description_drop(&inner_description);
    cen_child_options children[] = {kid_options(0), cen_supervisor_child(inner)};
    make_supervisor(children, 2, .name = "store", .supervision = CEN_REST_FOR_ONE);
    description_take(&outer, "supervisor", "store", 10);
    description_take(&inner_description, "supervisor", "links", 10);
    expect_text(description_words(&outer, "strategy"), "rest for one");
    expect_text(description_words(&inner_description, "strategy"), "one for all");
    expect(description_truth(&inner_description, "nested"));
    expect(!description_has(&outer, "children[0].supervisor"));
    expect_equal(description_number(&outer, "children[1].supervisor"), inner_description.number);
    expect(outer.number != inner_description.number);
    expect_equal(description_count(&inner_description, "children"), 2);
    description_drop(&outer);
    description_drop(&inner_description);
    expect_equal(cen_supervisor_stop(supervisor, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(cen_supervisor_free(supervisor), CEN_OK);
    expect_equal(cen_supervisor_free(inner), CEN_OK);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
}

TEST(one_that_gave_up_says_why)
{
    description s;
    init_kids();
    cen_child_options children[] = {kid_options(0)};
    make_supervisor(children, 1, .name = "store", .max_restarts = CEN_NONE);
    die(0, false);
    description_take(&s, "supervisor", "store", 10);
    expect_text(description_words(&s, "state"), "over");
    expect(strstr(description_words(&s, "last_error"), "gave up: more than 0 restarts") != NULL);
    description_drop(&s);
    end_supervisor();
}

TEST(what_becomes_of_children_is_in_the_events_with_or_without_a_listener)
{
    init_kids();
    events_begin();
    cen_child_options children[] = {kid_options(0), kid_options(1)};
    cen_supervisor_options options =
        CEN_SUPERVISOR_OPTIONS(.name = "store", .children = children, .child_count = 2, .max_restarts = 1,
                               .backoff_initial_ns = CEN_OFF, .runtime = make_runtime());
    expect_equal(cen_supervisor_new(&options, &supervisor, NULL), CEN_OK);
    expect_equal(events_of("supervisor", "child_started", NULL), 2);
    die(0, false);
    expect_event("supervisor", "child_ended", CEN_LEVEL_WARNING,
                 "supervisor \"store\": child \"a\" ended: the line was cut");
    expect_event("supervisor", "child_restarted", CEN_LEVEL_NOTICE, "supervisor \"store\": child \"a\" restarted");
    die(1, false);
    expect_event("supervisor", "gave_up", CEN_LEVEL_ERROR, "supervisor \"store\": gave up: more than 1 restarts");
    expect_event("supervisor", "over", CEN_LEVEL_NOTICE, "supervisor \"store\": it is over");
    end_supervisor();
}

TEST(a_start_that_fails_and_one_that_lingers_are_in_the_events)
{
    init_kids();
    events_begin();
    kids[0].fails = 1;
    kids[1].lingers = true;
    cen_child_options children[] = {kid_options(0), kid_options(1)};
    children[1].kill = kill_kid;
    make_supervisor(children, 2, .name = "store", .retry_start = true, .backoff_initial_ns = 10 * second);
    expect_event("supervisor", "child_failed", CEN_LEVEL_WARNING,
                 "supervisor \"store\": child \"a\" failed to start: a does not start");
    expect_equal(cen_supervisor_stop(supervisor, CEN_NOW, NULL, NULL), CEN_TIMEOUT);
    expect_event("supervisor", "child_killed", CEN_LEVEL_WARNING, "supervisor \"store\": child \"b\" killed");
    cen_event last = {.text = ""};
    expect_equal(events_of("supervisor", "child_abandoned", &last), 2); /* nobody is waited for any more */
    expect_equal(last.level, CEN_LEVEL_WARNING);
    expect(strstr(last.text, "supervisor \"store\": child \"") && strstr(last.text, "did not end in time"));
    free_all();
}
