/* SPDX-License-Identifier: MIT */
/* Children that come and go: add, terminate, remove, restart; the maximum; significant ones. */
#include "support/world.h"
#include "unit/supervisor/kids.h"

static cen_child_options nameless(int i)
{
    cen_child_options options = kid_options(i);
    options.name = NULL;
    return options;
}

static void add(const cen_child_options *options)
{
    cen_error error = {.text = ""};
    cen_status status = cen_supervisor_add(supervisor, options, CEN_NEVER, NULL, &error);
    expect_text(error.text, "");
    expect_equal(status, CEN_OK);
}

static void end_and_count(void)
{
    end_supervisor();
    expect_equal(ceni_world_bytes(), 0);
}

TEST(a_child_that_is_added_comes_last_in_order)
{
    init_kids();
    cen_child_options children[] = {kid_options(0)}, more = kid_options(1);
    cen_child child = {0, 0};
    make_supervisor(children, 1, .supervision = CEN_REST_FOR_ONE);
    expect_equal(cen_supervisor_add(supervisor, &more, CEN_NEVER, &child, NULL), CEN_OK);
    expect_equal(child.number_, kids[1].child.number_);
    expect_history("ab");
    die(0, false);
    expect_history("Bab");
    end_supervisor();
    expect_history("BA");
    expect_equal(ceni_world_bytes(), 0);
}

TEST(a_name_that_is_there_already_is_an_error_and_changes_nothing)
{
    cen_error error;
    init_kids();
    cen_child_options children[] = {kid_options(0)}, twice[] = {kid_options(0), kid_options(1), kid_options(0)};
    make_supervisor(children, 1, .name = "family");
    expect_equal(cen_supervisor_add(supervisor, &children[0], CEN_NEVER, NULL, &error), CEN_EXISTS);
    expect_text(error.text, "supervisor \"family\": child \"a\" already exists");
    expect_equal(look().children, 1);
    end_supervisor();
    history[0] = '\0';
    cen_supervisor_options options = CEN_SUPERVISOR_OPTIONS(.name = "family", .children = twice, .child_count = 3);
    expect_equal(try_supervisor(options, &error), CEN_EXISTS);
    expect_history("");
    expect_equal(cen_runtime_free(runtime), CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
}

TEST(children_without_a_name_are_numbered_and_forgotten_when_they_are_over)
{
    cen_child_stats stats;
    init_kids();
    cen_child_options first = nameless(0), next = nameless(1);
    first.restart = next.restart = CEN_RESTART_TRANSIENT;
    make_supervisor(NULL, 0, .name = NULL);
    add(&first);
    add(&next);
    expect(find_child("#1", &stats) && find_child("#2", &stats));
    die(0, false);
    expect_history("aba");
    die(0, true);
    expect(!find_child("#1", &stats));
    expect_equal(look().children, 1);
    add(&first);
    expect(find_child("#3", &stats));
    end_and_count();
}

TEST(more_children_than_may_be_are_refused_with_both_numbers)
{
    cen_error error = {.status = CEN_OK};
    init_kids();
    cen_child_options children[] = {kid_options(0), kid_options(1)}, third = kid_options(2);
    make_supervisor(children, 2, .name = "family", .max_children = 2);
    expect_equal(cen_supervisor_add(supervisor, &third, CEN_NEVER, NULL, &error), CEN_FULL);
    expect_equal(error.current, 2);
    expect_equal(error.max, 2);
    expect_text(error.text, "supervisor \"family\": full (2 children, max_children = 2)");
    expect_equal(cen_supervisor_remove(supervisor, "a", CEN_NEVER, NULL), CEN_OK);
    add(&third);
    expect_history("abAc");
    end_supervisor();
    cen_child_options three[] = {kid_options(0), kid_options(1), kid_options(2)};
    cen_supervisor_options options = CEN_SUPERVISOR_OPTIONS(.children = three, .child_count = 3, .max_children = 2);
    expect_equal(try_supervisor(options, &error), CEN_FULL);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
}

TEST(an_added_child_that_does_not_start_is_not_there_and_add_says_why)
{
    cen_error error = {.status = CEN_OK};
    cen_child_stats stats;
    init_kids();
    cen_child_options one = kid_options(0);
    kids[0].fails = 1;
    make_supervisor(NULL, 0, .name = NULL);
    expect_equal(cen_supervisor_add(supervisor, &one, CEN_NEVER, NULL, &error), CEN_DRIVER);
    expect_text(error.text, "a does not start");
    expect(!find_child("a", &stats));
    expect_equal(look().restarts, 0);
    end_and_count();
}

TEST(an_added_child_that_nobody_waits_for_and_that_does_not_start_has_died)
{
    init_kids();
    cen_child_options one = kid_options(0);
    kids[0].fails = 1;
    make_supervisor(NULL, 0, .name = NULL);
    expect_equal(cen_supervisor_add(supervisor, &one, CEN_NOW, NULL, NULL), CEN_OK);
    poll();
    expect_history("aa");
    expect_equal(look().restarts, 1);
    end_and_count();
}

TEST(an_add_whose_deadline_passes_leaves_the_child_there)
{
    cen_error error = {.status = CEN_OK};
    cen_supervisor_options options = CEN_SUPERVISOR_OPTIONS(.name = "family");
    init_kids();
    cen_child_options one = kid_options(0);
    one.reports_start = true;
    expect_equal(cen_supervisor_new(&options, &supervisor, NULL), CEN_OK); /* with threads */
    expect_equal(cen_supervisor_add(supervisor, &one, cen_in_s(1), NULL, &error), CEN_TIMEOUT);
    expect_text(error.text, "supervisor \"family\": child \"a\" has not started by the deadline");
    expect_equal(look().starting, 1);
    expect(cen_child_report_started(kids[0].child));
    ceni_world_settle();
    expect_equal(look().running, 1);
    expect_equal(cen_supervisor_stop(supervisor, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(cen_supervisor_free(supervisor), CEN_OK);
    ceni_world_settle();
    expect_equal(ceni_world_bytes(), 0);
}

TEST(a_terminated_child_stays_down_until_it_is_restarted)
{
    init_kids();
    cen_child_options children[] = {kid_options(0), kid_options(1)};
    make_supervisor(children, 2, .name = NULL);
    expect_equal(cen_supervisor_terminate(supervisor, "a", CEN_NEVER, NULL), CEN_OK);
    expect_history("abA");
    expect_equal(child_at(0).state, CEN_CHILD_DOWN);
    expect_equal(cen_supervisor_terminate(supervisor, "a", CEN_NEVER, NULL), CEN_OK); /* it is down */
    expect_equal(cen_supervisor_restart(supervisor, "b", CEN_NEVER, NULL), CEN_BUSY);
    expect_equal(cen_supervisor_restart(supervisor, "a", CEN_NEVER, NULL), CEN_OK);
    expect_history("a");
    expect_equal(look().restarts, 0);
    end_and_count();
}

TEST(a_restart_that_fails_says_why_and_leaves_the_child_down)
{
    cen_error error = {.status = CEN_OK};
    init_kids();
    cen_child_options children[] = {kid_options(0)};
    make_supervisor(children, 1, .name = NULL);
    expect_equal(cen_supervisor_terminate(supervisor, "a", CEN_NEVER, NULL), CEN_OK);
    kids[0].fails = 1;
    expect_equal(cen_supervisor_restart(supervisor, "a", CEN_NEVER, &error), CEN_DRIVER);
    expect_text(error.text, "a does not start");
    expect_equal(child_at(0).state, CEN_CHILD_DOWN);
    expect_equal(cen_supervisor_restart(supervisor, "a", CEN_NEVER, NULL), CEN_OK);
    end_and_count();
}

TEST(a_restart_ends_the_wait_of_a_child)
{
    init_kids();
    cen_child_options children[] = {kid_options(0)};
    make_supervisor(children, 1, .backoff_initial_ns = 100 * second, .backoff_max_ns = 100 * second,
                    .max_restarts = CEN_OFF);
    while (child_at(0).state == CEN_CHILD_RUNNING) die(0, false);
    expect_equal(cen_supervisor_restart(supervisor, "a", CEN_NEVER, NULL), CEN_OK);
    expect_equal(child_at(0).state, CEN_CHILD_RUNNING);
    end_and_count();
}

TEST(a_temporary_child_that_is_terminated_is_forgotten)
{
    cen_child_stats stats;
    init_kids();
    cen_child_options children[] = {kid_options(0)};
    children[0].restart = CEN_RESTART_TEMPORARY;
    make_supervisor(children, 1, .name = NULL);
    expect_equal(cen_child_terminate(kids[0].child, CEN_NEVER, NULL), CEN_OK);
    expect(!find_child("a", &stats));
    expect_equal(cen_child_terminate(kids[0].child, CEN_NEVER, NULL), CEN_ABSENT);
    end_and_count();
}

TEST(what_is_not_there_cannot_be_changed)
{
    init_kids();
    cen_child_options one = kid_options(0);
    make_supervisor(NULL, 0, .name = NULL);
    expect_equal(cen_supervisor_terminate(supervisor, "a", CEN_NEVER, NULL), CEN_ABSENT);
    expect_equal(cen_supervisor_remove(supervisor, "a", CEN_NEVER, NULL), CEN_ABSENT);
    expect_equal(cen_supervisor_restart(supervisor, "a", CEN_NEVER, NULL), CEN_ABSENT);
    expect_equal(cen_supervisor_terminate(supervisor, NULL, CEN_NEVER, NULL), CEN_INVALID);
    expect_equal(cen_supervisor_stop(supervisor, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(cen_supervisor_add(supervisor, &one, CEN_NEVER, NULL, NULL), CEN_CLOSED);
    expect_equal(cen_supervisor_terminate(supervisor, "a", CEN_NEVER, NULL), CEN_CLOSED);
    expect_equal(cen_supervisor_restart(supervisor, "a", CEN_NEVER, NULL), CEN_CLOSED);
    free_all();
}

TEST(a_terminate_or_a_remove_that_fails_says_why)
{
    cen_error error;
    init_kids();
    cen_child_options children[] = {kid_options(0)};
    make_supervisor(children, 1, .name = "family");
    expect_equal(cen_supervisor_terminate(supervisor, "nobody", CEN_NEVER, &error), CEN_ABSENT);
    expect_text(error.text, "supervisor \"family\": no child \"nobody\"");
    expect_equal(error.status, CEN_ABSENT);
    expect_equal(cen_supervisor_remove(supervisor, NULL, CEN_NEVER, &error), CEN_INVALID);
    expect(strstr(error.text, "cen_supervisor_remove: "));
    expect_equal(cen_child_terminate((cen_child){0, 0}, CEN_NEVER, &error), CEN_ABSENT);
    expect_text(error.text, "cen_child_terminate: the child has ended");
    end_and_count();
}

TEST(a_terminate_whose_deadline_passes_goes_on)
{
    init_kids();
    cen_child_options children[] = {kid_options(0)};
    kids[0].lingers = true;
    make_supervisor(children, 1, .name = NULL);
    expect_equal(cen_supervisor_remove(supervisor, "a", CEN_NOW, NULL), CEN_TIMEOUT);
    poll();
    expect_equal(child_at(0).state, CEN_CHILD_STOPPING);
    expect(cen_child_report_ended(kids[0].child, NULL));
    poll();
    expect_equal(look().children, 0);
    end_and_count();
}

static void add_one_more(void *argument, const cen_supervisor_event *event)
{
    unsigned *left = argument;
    if (event->kind != CEN_EVENT_CHILD_STARTED || (*left)-- == 0) return;
    cen_child_options more = nameless(0);
    expect_equal(cen_supervisor_add(event->supervisor, &more, CEN_NEVER, NULL, NULL), CEN_MISUSE);
    expect_equal(cen_supervisor_add(event->supervisor, &more, CEN_NOW, NULL, NULL), CEN_OK);
}

TEST(a_listener_may_add_children_without_waiting_for_them)
{
    unsigned left = 3;
    init_kids();
    make_supervisor(NULL, 0, .listener = add_one_more, .argument = &left);
    cen_child_options first = nameless(0);
    expect_equal(cen_supervisor_add(supervisor, &first, CEN_NEVER, NULL, NULL), CEN_OK);
    poll();
    expect_equal(look().running, 4);
    end_and_count();
}

TEST(many_children_come_and_go)
{
    enum { MANY = 20000 };
    init_kids();
    make_supervisor(NULL, 0, .max_children = MANY);
    for (int i = 0; i < MANY; i++) {
        cen_child_options one = nameless(0);
        one.stops_at_once = true;
        one.restart = CEN_RESTART_TEMPORARY;
        kids[0].lingers = true;
        expect_equal(cen_supervisor_add(supervisor, &one, CEN_NOW, NULL, NULL), CEN_OK);
        history[0] = events[0] = '\0';
    }
    poll();
    expect_equal(look().running, MANY);
    for (int i = 0; i < 100; i++) {
        char name[16];
        snprintf(name, sizeof name, "#%d", i * 199 + 1);
        expect_equal(cen_supervisor_remove(supervisor, name, CEN_NEVER, NULL), CEN_OK);
    }
    expect_equal(look().running, MANY - 100);
    end_and_count();
}

/* ---- Significant children ---------------------------------------------------------------------- */

static void make_significant(cen_auto_stop auto_stop, cen_restart first, cen_restart next)
{
    init_kids();
    cen_child_options children[] = {kid_options(0), kid_options(1), kid_options(2)};
    children[0].significant = children[1].significant = true;
    children[0].restart = first;
    children[1].restart = next;
    make_supervisor(children, 3, .name = "family", .auto_stop = auto_stop);
    history[0] = events[0] = '\0';
}

TEST(with_any_the_first_significant_child_that_ends_for_good_stops_the_supervisor)
{
    for (int restart = CEN_RESTART_TRANSIENT; restart <= CEN_RESTART_TEMPORARY; restart++) {
        cen_future over;
        cen_future_init(&over);
        make_significant(CEN_AUTO_STOP_ANY, (cen_restart)restart, CEN_RESTART_TRANSIENT);
        expect_equal(cen_supervisor_watch(supervisor, &over), CEN_OK);
        die(0, restart == CEN_RESTART_TRANSIENT);
        expect_history("CB");
        expect(look().is_over);
        expect_equal(over.status, CEN_OK); /* it did what it was to do */
        free_all();
    }
}

TEST(with_all_the_last_significant_child_does)
{
    make_significant(CEN_AUTO_STOP_ALL, CEN_RESTART_TRANSIENT, CEN_RESTART_TEMPORARY);
    die(1, false);
    expect(look().is_running);
    die(0, true);
    expect_history("C");
    expect(look().is_over);
    free_all();
}

TEST(a_significant_child_that_is_restarted_stops_nothing)
{
    make_significant(CEN_AUTO_STOP_ANY, CEN_RESTART_TRANSIENT, CEN_RESTART_TRANSIENT);
    die(0, false);
    expect_history("a");
    expect(look().is_running);
    end_supervisor();
}

TEST(a_child_that_is_not_significant_stops_nothing)
{
    make_significant(CEN_AUTO_STOP_ANY, CEN_RESTART_TRANSIENT, CEN_RESTART_TRANSIENT);
    expect_equal(cen_supervisor_terminate(supervisor, "c", CEN_NEVER, NULL), CEN_OK);
    expect(look().is_running);
    end_supervisor();
}

TEST(a_significant_child_that_is_terminated_stops_nothing)
{
    make_significant(CEN_AUTO_STOP_ANY, CEN_RESTART_TRANSIENT, CEN_RESTART_TRANSIENT);
    expect_equal(cen_supervisor_terminate(supervisor, "a", CEN_NEVER, NULL), CEN_OK);
    expect(look().is_running);
    end_supervisor();
}

/* The sibling before it dies while it starts for the first time. */
static void start_beside_a_death(kid *self, cen_child child)
{
    cen_error error = badly();
    if (self->starts == 1) expect(cen_child_report_ended(kids[0].child, &error));
    else cen_child_report_started(child);
}

TEST(who_waits_for_a_start_that_a_siblings_death_interrupts_waits_for_the_next)
{
    init_kids();
    cen_child_options children[] = {kid_options(0)}, more = kid_options(1);
    cen_error error = {.text = ""};
    cen_child child = {0, 0};
    more.reports_start = true;
    kids[1].in_start = start_beside_a_death;
    make_supervisor(children, 1, .supervision = CEN_ONE_FOR_ALL);
    cen_status status = cen_supervisor_add(supervisor, &more, CEN_NEVER, &child, &error);
    expect_text(error.text, "");
    expect_equal(status, CEN_OK);
    expect_history("abBab");
    expect_equal(child.number_, kids[1].child.number_);
    expect_equal(look().running, 2);
    end_and_count();
}

/* Three, of whom the last two were added and do not end when they are asked. */
static void make_group(void)
{
    init_kids();
    cen_child_options children[] = {kid_options(0)}, second_one = kid_options(1), third = kid_options(2);
    kids[1].lingers = kids[2].lingers = true;
    make_supervisor(children, 1, .supervision = CEN_ONE_FOR_ALL);
    add(&second_one);
    add(&third);
    expect_history("abc");
}

static void end_group(void)
{
    kids[1].lingers = kids[2].lingers = false;
    end_and_count();
}

TEST(a_child_that_is_removed_while_its_group_is_stopped_is_forgotten_and_the_others_go_on)
{
    make_group();
    die(0, false);
    expect_history("C");
    expect_equal(cen_supervisor_remove(supervisor, "c", CEN_NOW, NULL), CEN_TIMEOUT);
    die(2, true); /* the one at which the stop of the group has come, and its record goes */
    expect_history("B");
    expect_equal(look().children, 2);
    die(1, true);
    expect_history("ab");
    expect_equal(look().running, 2);
    end_group();
    make_group();
    die(0, false);
    expect_equal(cen_supervisor_remove(supervisor, "b", CEN_NOW, NULL), CEN_TIMEOUT);
    die(2, true);
    die(1, true); /* one whose turn to be stopped had not come when it was removed */
    expect_history("CBac");
    expect_equal(look().running, 2);
    end_group();
}

/* Those before it have been started again, and its own start is what the group waits for. */
TEST(a_child_that_is_removed_while_its_group_is_started_is_forgotten_and_the_others_go_on)
{
    init_kids();
    cen_child_options children[] = {kid_options(0)}, later = kid_options(1), third = kid_options(2);
    later.reports_start = true;
    make_supervisor(children, 1, .supervision = CEN_ONE_FOR_ALL);
    expect_equal(cen_supervisor_add(supervisor, &later, CEN_NOW, NULL, NULL), CEN_OK);
    expect_equal(cen_supervisor_add(supervisor, &third, CEN_NOW, NULL, NULL), CEN_OK);
    poll();
    expect(cen_child_report_started(kids[1].child));
    poll();
    expect_history("abc");
    die(0, false);
    expect_history("CBab");
    expect_equal(cen_supervisor_remove(supervisor, "b", CEN_NEVER, NULL), CEN_OK);
    poll();
    expect_history("Bc");
    expect_equal(look().running, 2);
    end_and_count();
}

static void die_in_the_first_start(kid *self, cen_child child)
{
    cen_error error = badly();
    if (self->starts == 1) expect(cen_child_report_ended(child, &error));
}

TEST(a_temporary_child_whose_turn_has_not_come_is_started_after_a_siblings_restart)
{
    init_kids();
    cen_child_options children[] = {kid_options(0), kid_options(1)};
    children[1].restart = CEN_RESTART_TEMPORARY;
    kids[0].in_start = die_in_the_first_start;
    make_supervisor(children, 2, .supervision = CEN_ONE_FOR_ALL);
    expect_history("aab");
    expect_equal(look().running, 2);
    end_and_count();
}
