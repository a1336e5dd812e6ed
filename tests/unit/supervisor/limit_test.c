/* SPDX-License-Identifier: MIT */
/* Limits: of a start, of a shutdown, of a kill; abandoned children; the deadline of a stop. */
#include "support/world.h"
#include "unit/supervisor/kids.h"

static cen_child_options stubborn(int i)
{
    cen_child_options options = kid_options(i);
    kids[i].lingers = true;
    options.shutdown_ns = second;
    return options;
}

static void stop_soon(void)
{
    history[0] = events[0] = '\0';
    expect_equal(cen_supervisor_request_stop(supervisor), CEN_OK);
    poll();
}

/* guarantees: supervisor.limit */
TEST(a_child_that_does_not_end_in_its_time_is_abandoned_and_the_next_is_stopped)
{
    init_kids();
    cen_child_options children[] = {kid_options(0), stubborn(1)};
    make_supervisor(children, 2, .name = "family");
    stop_soon();
    advance(second - 1);
    expect_history("B");
    advance(1);
    expect_history("A");
    expect_events("b abandoned;a ended;family over;");
    expect(look().is_over);
    expect_equal(look().abandoned, 1);
    expect(!cen_child_report_ended(kids[1].child, NULL)); /* too late */
    free_all();
    expect_equal(ceni_world_bytes(), 0);
}

TEST(a_shutdown_has_five_seconds_unless_said_otherwise)
{
    init_kids();
    cen_child_options children[] = {stubborn(0)};
    children[0].shutdown_ns = 0;
    make_supervisor(children, 1, .name = NULL);
    stop_soon();
    advance(5 * second - 1);
    expect(!look().is_over);
    advance(1);
    expect(look().is_over);
    free_all();
}

TEST(a_shutdown_without_a_limit_is_waited_for)
{
    init_kids();
    cen_child_options children[] = {stubborn(0)};
    children[0].shutdown_ns = CEN_OFF;
    make_supervisor(children, 1, .name = NULL);
    stop_soon();
    advance(1000000 * second);
    expect_equal(look().stopping, 1);
    expect(cen_child_report_ended(kids[0].child, NULL));
    poll();
    expect(look().is_over);
    free_all();
}

/* guarantees: supervisor.limit */
TEST(a_child_that_does_not_end_is_killed_and_waited_for_again)
{
    for (int dies = 0; dies < 2; dies++) {
        cen_supervisor_report report = CEN_SIZED(cen_supervisor_report);
        init_kids();
        cen_child_options children[] = {stubborn(0)};
        children[0].kill = kill_kid;
        children[0].kill_ns = 3 * second;
        kids[0].dies_killed = dies;
        make_supervisor(children, 1, .name = "family");
        stop_soon();
        advance(second - 1);
        expect_history("A");
        advance(1);
        expect_history("!a");
        expect_equal(look().is_over, dies);
        advance(3 * second - 1);
        expect_equal(look().is_over, dies);
        advance(1);
        expect(look().is_over);
        expect_events(dies ? "a killed;a ended;family over;" : "a killed;a abandoned;family over;");
        expect_equal(cen_supervisor_stop(supervisor, CEN_NOW, &report, NULL), CEN_OK);
        expect_equal(report.killed, dies);
        expect_equal(report.ended, dies);
        expect_equal(report.abandoned, 1 - dies);
        free_all();
        expect_equal(ceni_world_bytes(), 0);
    }
}

TEST(a_child_that_is_killed_at_once_is_never_asked)
{
    init_kids();
    cen_child_options children[] = {kid_options(0)};
    children[0].kill = kill_kid;
    children[0].kill_at_once = true;
    children[0].shutdown_ns = CEN_OFF;
    kids[0].dies_killed = true;
    make_supervisor(children, 1, .name = NULL);
    stop_soon();
    expect_history("!a");
    expect(look().is_over);
    free_all();
}

TEST(a_child_that_stops_at_once_says_nothing_itself)
{
    init_kids();
    cen_child_options children[] = {kid_options(0), kid_options(1)};
    kids[0].lingers = kids[1].lingers = true;
    children[0].stops_at_once = children[1].stops_at_once = true;
    make_supervisor(children, 2, .supervision = CEN_ONE_FOR_ALL);
    die(0, false);
    expect_history("abBab");
    end_supervisor();
    expect_history("BA");
    expect_equal(ceni_world_bytes(), 0);
}

TEST(one_that_is_abandoned_in_a_restart_is_started_again)
{
    init_kids();
    cen_child_options children[] = {kid_options(0), stubborn(1)};
    make_supervisor(children, 2, .supervision = CEN_ONE_FOR_ALL);
    history[0] = '\0';
    die(0, false);
    expect_history("B");
    advance(second);
    expect_history("ab");
    expect_equal(look().abandoned, 1);
    expect(!cen_child_report_ended(kids[1].before, NULL));
    poll();
    expect_equal(look().running, 2);
    kids[1].lingers = false;
    end_supervisor();
    expect_equal(ceni_world_bytes(), 0);
}

/* ---- Starts --------------------------------------------------------------------------------- */

TEST(a_start_that_takes_too_long_has_failed_and_is_stopped)
{
    cen_future started;
    cen_error error = {.status = CEN_OK};
    init_kids();
    cen_future_init(&started);
    started.error = &error;
    cen_child_options children[] = {kid_options(0), kid_options(1)};
    children[1].reports_start = true;
    children[1].start_ns = second;
    make_supervisor(children, 2, .started = &started);
    poll();
    advance(second - 1);
    expect_history("ab");
    advance(1);
    expect_history("BA");
    expect_equal(started.status, CEN_TIMEOUT);
    expect_text(error.text, "child \"b\": start timed out after 1000 ms");
    expect(!cen_child_report_started(kids[1].child));
    free_all();
    expect_equal(ceni_world_bytes(), 0);
}

TEST(a_start_at_the_last_moment_counts)
{
    cen_future started;
    init_kids();
    cen_future_init(&started);
    cen_child_options children[] = {kid_options(0)};
    children[0].reports_start = true;
    children[0].start_ns = second;
    make_supervisor(children, 1, .started = &started);
    poll();
    advance(second - 1);
    expect(cen_child_report_started(kids[0].child));
    advance(second);
    expect_equal(look().running, 1);
    expect_equal(started.status, CEN_OK);
    end_supervisor();
}

TEST(a_restart_that_takes_too_long_is_tried_again)
{
    init_kids();
    kids[0].in_start = NULL;
    cen_future started;
    cen_future_init(&started);
    cen_child_options children[] = {kid_options(0)};
    children[0].reports_start = true;
    children[0].start_ns = second;
    make_supervisor(children, 1, .retry_start = true, .supervision = CEN_ONE_FOR_ALL, .started = &started);
    poll();
    advance(second);
    expect_history("aAa");
    expect_equal(child_at(0).error.status, CEN_TIMEOUT);
    expect(cen_child_report_started(kids[0].child));
    poll();
    expect(cen_future_is_done(&started));
    end_supervisor();
    expect_equal(ceni_world_bytes(), 0);
}

/* ---- Calls that block: with threads, in the world's time -------------------------------------- */

typedef struct sluggard {
    int64_t start_ns, stop_ns;
    _Atomic uint32_t starts, stops;
    bool ends_first; /* says that it has ended before its stop blocks */
} sluggard;

static cen_status start_slowly(void *argument, cen_child child, cen_error *error)
{
    sluggard *self = argument;
    (void)child, (void)error;
    uint32_t before = ceni_add_seq_cst(&self->starts, 1);
    if (self->start_ns > 0 && before == 0) ceni_sleep_until(ceni_clock_now() + self->start_ns);
    return CEN_OK;
}

static void stop_slowly(void *argument, cen_child child)
{
    sluggard *self = argument;
    if (self->ends_first) cen_child_report_ended(child, NULL);
    if (self->stop_ns > 0) ceni_sleep_until(ceni_clock_now() + self->stop_ns);
    ceni_add_seq_cst(&self->stops, 1);
    if (!self->ends_first) cen_child_report_ended(child, NULL);
}

static cen_child_options slow_child(const char *name, sluggard *self)
{
    return CEN_CHILD_OPTIONS(.name = name, .argument = self, .start = start_slowly, .stop = stop_slowly,
                             .shutdown_ns = second);
}

static void pass(int64_t ns)
{
    ceni_sleep_until(ceni_clock_now() + ns);
    ceni_world_settle();
}

TEST(a_start_that_returns_after_it_was_given_up_is_stopped_by_whoever_started_it)
{
    sluggard slow = {.start_ns = 10 * second};
    cen_child_options child = slow_child("slow", &slow);
    child.start_ns = second;
    cen_supervisor_options options = CEN_SUPERVISOR_OPTIONS(.retry_start = true, .children = &child, .child_count = 1);
    expect_equal(cen_supervisor_new(&options, &supervisor, NULL), CEN_OK);
    /* After its second and the second of its shutdown it was abandoned, and started again. */
    pass(3 * second);
    expect_equal(look().abandoned, 1);
    expect_equal(ceni_load_seq_cst(&slow.starts), 2);
    expect_equal(ceni_load_seq_cst(&slow.stops), 0);
    expect_equal(look().running, 1);
    pass(10 * second);
    expect_equal(ceni_load_seq_cst(&slow.stops), 1); /* of the first one */
    expect_equal(look().running, 1);
    expect_equal(cen_supervisor_stop(supervisor, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(ceni_load_seq_cst(&slow.stops), 2);
    expect_equal(cen_supervisor_free(supervisor), CEN_OK);
    ceni_world_settle();
    expect_equal(ceni_world_bytes(), 0);
}

TEST(a_start_that_returns_late_but_within_its_shutdown_is_stopped_and_has_failed)
{
    sluggard slow = {.start_ns = 3 * second / 2};
    cen_error error = {.status = CEN_OK};
    cen_child_options child = slow_child("slow", &slow);
    child.start_ns = second;
    cen_supervisor_options options = CEN_SUPERVISOR_OPTIONS(.children = &child, .child_count = 1);
    int64_t began = ceni_clock_now();
    expect_equal(cen_supervisor_new(&options, &supervisor, &error), CEN_TIMEOUT);
    expect_text(error.text, "child \"slow\": start timed out after 1000 ms");
    expect_equal(ceni_clock_now() - began, 3 * second / 2);
    expect_equal(ceni_load_seq_cst(&slow.stops), 1);
    ceni_world_settle();
    expect_equal(ceni_world_bytes(), 0);
}

static _Atomic uint32_t freed;

static cen_status start_until_killed(void *argument, cen_child child, cen_error *error)
{
    (void)argument, (void)child, (void)error;
    while (ceni_load_seq_cst(&freed) == 0) ceni_futex_wait(&freed, 0, CENI_FOREVER);
    return CEN_INTERRUPTED;
}

static void free_start(void *argument, cen_child child)
{
    (void)argument, (void)child;
    ceni_store_seq_cst(&freed, 1);
    ceni_futex_wake(&freed, 1);
}

TEST(a_kill_gets_a_start_out_of_its_call)
{
    cen_error error = {.status = CEN_OK};
    ceni_store_seq_cst(&freed, 0);
    cen_child_options child = CEN_CHILD_OPTIONS(.name = "stuck", .start = start_until_killed, .kill = free_start,
                                                .start_ns = second, .shutdown_ns = second);
    cen_supervisor_options options = CEN_SUPERVISOR_OPTIONS(.children = &child, .child_count = 1);
    int64_t began = ceni_clock_now();
    expect_equal(cen_supervisor_new(&options, &supervisor, &error), CEN_TIMEOUT);
    expect_equal(ceni_clock_now() - began, 2 * second);
    ceni_world_settle();
    expect_equal(ceni_world_bytes(), 0);
}

TEST(the_memory_stays_until_an_abandoned_start_has_returned)
{
    cen_supervisor_report report = CEN_SIZED(cen_supervisor_report);
    sluggard slow = {.start_ns = 10 * second};
    cen_child_options child = slow_child("slow", &slow);
    cen_future started;
    cen_future_init(&started);
    cen_supervisor_options options = CEN_SUPERVISOR_OPTIONS(.started = &started, .children = &child, .child_count = 1);
    expect_equal(cen_supervisor_new(&options, &supervisor, NULL), CEN_OK);
    pass(second);
    expect_equal(cen_supervisor_stop(supervisor, CEN_NEVER, &report, NULL), CEN_OK);
    expect_equal(report.abandoned, 1);
    expect(cen_future_is_done(&started));
    expect_equal(cen_supervisor_free(supervisor), CEN_OK);
    expect(ceni_world_bytes() > 0);
    pass(10 * second);
    expect_equal(ceni_load_seq_cst(&slow.stops), 1);
    expect_equal(ceni_world_bytes(), 0);
}

TEST(a_child_is_not_started_again_while_its_stop_is_in_its_call)
{
    sluggard slow = {.stop_ns = second / 2, .ends_first = true};
    init_kids();
    cen_child_options children[] = {kid_options(0), slow_child("slow", &slow)};
    cen_supervisor_options options =
        CEN_SUPERVISOR_OPTIONS(.supervision = CEN_ONE_FOR_ALL, .children = children, .child_count = 2);
    expect_equal(cen_supervisor_new(&options, &supervisor, NULL), CEN_OK);
    expect(cen_child_report_ended(kids[0].child, NULL));
    pass(second / 4);
    expect_equal(ceni_load_seq_cst(&slow.starts), 1);
    pass(second);
    expect_equal(ceni_load_seq_cst(&slow.starts), 2);
    expect_equal(ceni_load_seq_cst(&slow.stops), 1);
    slow.stop_ns = 0;
    expect_equal(cen_supervisor_stop(supervisor, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(cen_supervisor_free(supervisor), CEN_OK);
}

TEST(one_slow_start_does_not_hold_up_the_restart_of_another)
{
    sluggard slow = {.start_ns = 10 * second};
    cen_future started;
    init_kids();
    cen_future_init(&started);
    cen_child_options children[] = {kid_options(0), slow_child("slow", &slow)};
    cen_supervisor_options options =
        CEN_SUPERVISOR_OPTIONS(.children = children, .child_count = 2, .started = &started);
    expect_equal(cen_supervisor_new(&options, &supervisor, NULL), CEN_OK);
    pass(second);
    expect(cen_child_report_ended(kids[0].child, NULL));
    pass(second);
    expect_equal(kids[0].starts, 2);
    expect(!cen_future_is_done(&started));
    pass(10 * second);
    expect(cen_future_is_done(&started));
    expect_equal(cen_supervisor_stop(supervisor, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(cen_supervisor_free(supervisor), CEN_OK);
}

/* ---- The deadline of a stop ---------------------------------------------------------------------- */

TEST(when_the_deadline_of_a_stop_passes_all_that_are_left_are_killed_and_abandoned)
{
    cen_supervisor_report report = CEN_SIZED(cen_supervisor_report);
    init_kids();
    cen_child_options children[] = {stubborn(0), stubborn(1), stubborn(2), kid_options(3)};
    children[0].shutdown_ns = children[1].shutdown_ns = children[2].shutdown_ns = CEN_OFF;
    children[1].kill = kill_kid;
    make_supervisor(children, 4, .name = "family");
    history[0] = '\0';
    expect_equal(cen_supervisor_stop(supervisor, CEN_NOW, &report, NULL), CEN_TIMEOUT);
    expect(look().is_over);
    poll();
    expect_history("DCB!bA");
    expect_equal(report.abandoned, 4);
    free_all();
    expect_equal(ceni_world_bytes(), 0);
}

TEST(a_stop_within_its_deadline_leaves_nobody_behind)
{
    sluggard slow = {.stop_ns = second / 2};
    cen_supervisor_report report = CEN_SIZED(cen_supervisor_report);
    cen_child_options child = slow_child("slow", &slow);
    cen_supervisor_options options = CEN_SUPERVISOR_OPTIONS(.children = &child, .child_count = 1);
    expect_equal(cen_supervisor_new(&options, &supervisor, NULL), CEN_OK);
    int64_t began = ceni_clock_now();
    expect_equal(cen_supervisor_stop(supervisor, cen_in_s(1), &report, NULL), CEN_OK);
    expect_equal(report.ended, 1);
    expect_equal(ceni_clock_now() - began, second / 2);
    expect_equal(cen_supervisor_free(supervisor), CEN_OK);
    ceni_world_settle();
    expect_equal(ceni_world_bytes(), 0);
}

TEST(children_that_are_stopped_together_are_all_asked_at_once)
{
    init_kids();
    cen_child_options children[] = {stubborn(0), stubborn(1), stubborn(2)};
    make_supervisor(children, 3, .stop_together = true);
    stop_soon();
    expect_equal(strlen(history), 3);
    expect_equal(look().stopping, 3);
    advance(second);
    expect(look().is_over);
    free_all();
}

static cen_future death;
static cen_promise promise;
static bool was_wanted;

/* Whoever is told that a child was abandoned has the future back, and may use it for something else. */
static void use_future_again(void *argument, const cen_supervisor_event *event)
{
    hear(argument, event);
    if (event->kind != CEN_EVENT_CHILD_ABANDONED) return;
    was_wanted = cen_promise_is_wanted(&promise);
    cen_future_init(&death);
    expect_equal(cen_promise_init(&promise, &death), CEN_OK);
}

/* guarantees: supervisor.future */
TEST(when_a_child_is_told_to_be_abandoned_the_future_of_its_death_is_the_programs_again)
{
    init_kids();
    cen_child_options children[] = {stubborn(0)};
    make_supervisor(children, 1, .name = "family", .listener = use_future_again);
    cen_future_init(&death);
    expect_equal(cen_promise_init(&promise, &death), CEN_OK);
    expect_equal(cen_child_watch(kids[0].child, &death), CEN_OK);
    stop_soon();
    advance(second);
    expect_events("a abandoned;family over;");
    expect(!was_wanted);
    expect(cen_promise_is_wanted(&promise)); /* nobody has given up what is another's by now */
    expect(cen_promise_complete(&promise, NULL));
    free_all();
}

TEST(a_stop_of_nothing_says_so)
{
    cen_error error = {.text = ""};
    expect_equal(cen_supervisor_stop(NULL, CEN_NOW, NULL, &error), CEN_INVALID);
    expect_text(error.text, "cen_supervisor_stop: supervisor is NULL");
}
