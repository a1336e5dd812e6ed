/* SPDX-License-Identifier: MIT */
/* Supervisors as children of supervisors. */
#include "support/world.h"
#include "unit/supervisor/kids.h"

static cen_supervisor *inner;

static void make_inner(const cen_child_options *children, size_t count, int32_t max_restarts)
{
    cen_supervisor_options options =
        CEN_SUPERVISOR_OPTIONS(.name = "inner", .children = children, .child_count = count, .nested = true,
                               .max_restarts = max_restarts, .backoff_initial_ns = CEN_OFF, .listener = hear,
                               .runtime = runtime);
    expect_equal(cen_supervisor_new(&options, &inner, NULL), CEN_OK);
}

/* rest for one: a, then b and c under the inner one */
static void make_tree(int32_t inner_restarts)
{
    init_kids();
    make_runtime();
    cen_child_options below[] = {kid_options(1), kid_options(2)};
    make_inner(below, 2, inner_restarts);
    cen_child_options children[] = {kid_options(0), cen_supervisor_child(inner)};
    make_supervisor(children, 2, .name = "outer", .supervision = CEN_REST_FOR_ONE);
    expect_history("abc");
}

static void end_tree(void)
{
    expect_equal(cen_supervisor_stop(supervisor, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(cen_supervisor_free(supervisor), CEN_OK);
    expect_equal(cen_supervisor_free(inner), CEN_OK);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
    runtime = NULL;
    expect_equal(ceni_world_bytes(), 0);
}

TEST(a_tree_starts_from_the_top_and_stops_from_the_bottom)
{
    make_tree(0);
    expect_events("a started;b started;c started;inner started;");
    end_tree();
    expect_history("CBA");
    expect_events("c ended;b ended;inner over;inner ended;a ended;outer over;");
}

TEST(a_death_below_touches_nobody_above)
{
    make_tree(0);
    die(2, false);
    expect_history("c");
    die(1, false);
    expect_history("b");
    end_tree();
}

TEST(a_death_above_restarts_all_that_is_below_what_depends_on_it)
{
    make_tree(0);
    die(0, false);
    expect_history("CBabc");
    cen_supervisor_stats stats = CEN_SIZED(cen_supervisor_stats);
    expect_equal(cen_supervisor_stats_get(inner, &stats), CEN_OK);
    expect_equal(stats.running, 2);
    end_tree();
}

TEST(one_that_gives_up_has_died_badly_and_is_started_again)
{
    make_tree(1);
    die(1, false);
    history[0] = events[0] = '\0';
    die(1, false);
    expect_history("Cbc");
    expect_events("b ended badly;inner gave_up badly;c ended;inner over badly;inner ended badly;"
                  "b started;c started;inner restarted;");
    expect_equal(look().restarts, 1);
    die(1, false); /* its restarts are counted anew */
    expect_history("b");
    end_tree();
}

TEST(when_the_outer_one_gives_up_too_all_is_over)
{
    make_tree(CEN_NONE);
    for (int i = 0; i < 4; i++) die(2, false);
    expect(look().is_over);
    end_tree();
}

TEST(one_that_cannot_start_is_a_start_that_failed)
{
    cen_error error = {.status = CEN_OK};
    init_kids();
    make_runtime();
    cen_child_options below[] = {kid_options(1), kid_options(2)};
    make_inner(below, 2, 0);
    kids[2].fails = 1;
    cen_child_options children[] = {kid_options(0), cen_supervisor_child(inner)};
    cen_supervisor_options options = CEN_SUPERVISOR_OPTIONS(.children = children, .child_count = 2);
    expect_equal(try_supervisor(options, &error), CEN_DRIVER);
    expect_text(error.text, "c does not start");
    expect_history("abcBA");
    expect_equal(cen_supervisor_free(inner), CEN_OK);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
}

TEST(what_was_added_to_it_is_forgotten_when_it_ends_and_its_own_children_are_not)
{
    make_tree(0);
    cen_child_options more = kid_options(3);
    expect_equal(cen_supervisor_add(inner, &more, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(cen_supervisor_remove(inner, "b", CEN_NEVER, NULL), CEN_OK);
    expect_history("dB");
    die(0, false);
    expect_history("DCabc");
    end_tree();
    expect_history("CBA");
}

TEST(a_child_of_another_is_stopped_by_that_one_alone)
{
    make_tree(0);
    expect_equal(cen_supervisor_stop(inner, CEN_NOW, NULL, NULL), CEN_MISUSE);
    expect_equal(cen_supervisor_request_stop(inner), CEN_MISUSE);
    expect_equal(cen_supervisor_free(inner), CEN_BUSY);
    end_tree();
}

TEST(a_nested_one_that_stops_by_itself_has_ended_normally)
{
    init_kids();
    make_runtime();
    cen_child_options below[] = {kid_options(1)};
    below[0].restart = CEN_RESTART_TRANSIENT;
    below[0].significant = true;
    cen_supervisor_options options =
        CEN_SUPERVISOR_OPTIONS(.name = "inner", .children = below, .child_count = 1, .nested = true,
                               .auto_stop = CEN_AUTO_STOP_ANY, .runtime = runtime);
    expect_equal(cen_supervisor_new(&options, &inner, NULL), CEN_OK);
    cen_child_options children[] = {cen_supervisor_child(inner)};
    children[0].restart = CEN_RESTART_TRANSIENT;
    make_supervisor(children, 1, .name = "outer");
    die(1, true);
    expect_history("b");
    expect_events("inner started;inner ended;");
    expect_equal(look().down, 1);
    end_tree();
}

TEST(a_shutdown_of_a_supervisor_has_no_limit_of_its_own)
{
    make_tree(0);
    kids[1].lingers = true;
    expect_equal(cen_supervisor_request_stop(supervisor), CEN_OK);
    poll();
    expect_history("CB");
    advance(5 * second - 1);
    expect_history("");
    advance(1); /* b is abandoned, by its own limit */
    expect_history("A");
    end_tree();
}

TEST(when_the_deadline_of_the_outer_ones_stop_passes_the_inner_one_hurries)
{
    cen_supervisor_report report = CEN_SIZED(cen_supervisor_report);
    make_tree(0);
    kids[1].lingers = kids[2].lingers = true;
    expect_equal(cen_supervisor_stop(supervisor, CEN_NOW, &report, NULL), CEN_TIMEOUT);
    expect_equal(report.abandoned, 2); /* the inner one and a */
    poll();
    expect_history("ACB");
    end_tree();
}

TEST(what_is_not_made_to_be_nested_cannot_be_a_child)
{
    cen_error error = {.status = CEN_OK};
    init_kids();
    make_supervisor(NULL, 0, .name = "outer");
    cen_supervisor *other = supervisor;
    cen_child_options child = cen_supervisor_child(other);
    expect_equal(cen_supervisor_add(supervisor, &child, CEN_NEVER, NULL, &error), CEN_INVALID);
    expect_text(error.text, "child \"outer\": options.start or options.run must be set");
    end_supervisor();
}
