/* SPDX-License-Identifier: MIT */
/* A supervisor's life: ordered start, reverse-ordered stop, starts that fail or come later, what children say of themselves. */
#include "support/world.h"
#include "sync/future.h"
#include "unit/supervisor/kids.h"

static void end_and_count(void)
{
    end_supervisor();
    expect_equal(ceni_world_bytes(), 0);
}

/* guarantees: supervisor.order */
TEST(children_start_in_order_and_stop_in_reverse_order)
{
    init_kids();
    cen_child_options children[] = {kid_options(0), kid_options(1), kid_options(2)};
    make_supervisor(children, 3, .name = "family");
    expect_history("abc");
    expect_events("a started;b started;c started;");
    expect_equal(look().running, 3);
    expect(look().is_running);
    cen_supervisor_report report = CEN_SIZED(cen_supervisor_report);
    expect_equal(cen_supervisor_stop(supervisor, CEN_NEVER, &report, NULL), CEN_OK);
    expect_history("CBA");
    expect_events("c ended;b ended;a ended;family over;");
    expect_equal(report.ended, 3);
    expect_equal(report.abandoned, 0);
    expect(look().is_over);
    expect_equal(cen_supervisor_stop(supervisor, CEN_NOW, NULL, NULL), CEN_OK);
    free_all();
    expect_equal(ceni_world_bytes(), 0);
}

TEST(a_supervisor_without_children_starts_and_stops)
{
    init_kids();
    make_supervisor(NULL, 0, .name = "empty");
    expect(look().is_running);
    end_and_count();
}

TEST(free_is_refused_until_it_is_over)
{
    init_kids();
    cen_child_options children[] = {kid_options(0)};
    make_supervisor(children, 1, .name = "family");
    expect_equal(cen_supervisor_free(supervisor), CEN_BUSY);
    expect_equal(cen_supervisor_request_stop(supervisor), CEN_OK);
    expect_equal(cen_supervisor_free(supervisor), CEN_BUSY);
    poll();
    free_all();
    expect_equal(ceni_world_bytes(), 0);
}

/* guarantees: supervisor.order */
TEST(a_start_that_fails_ends_those_before_it_in_reverse_order_and_new_says_why)
{
    static const char *const histories[] = {"a", "abA", "abcBA"};
    for (int i = 0; i < 3; i++) {
        cen_error error = {.status = CEN_OK};
        init_kids();
        kids[i].fails = 1;
        cen_child_options children[] = {kid_options(0), kid_options(1), kid_options(2)};
        cen_supervisor_options options = CEN_SUPERVISOR_OPTIONS(.children = children, .child_count = 3);
        expect_equal(try_supervisor(options, &error), CEN_DRIVER);
        expect(!supervisor);
        expect_equal(error.status, CEN_DRIVER);
        expect_equal(error.code, 7);
        expect_equal(error.text[0], 'a' + i);
        expect_text(error.text + 1, " does not start");
        expect_history(histories[i]);
        expect_equal(cen_runtime_free(runtime), CEN_OK);
        runtime = NULL;
    }
    expect_equal(ceni_world_bytes(), 0);
}

TEST(a_start_that_fails_can_be_treated_as_a_death_instead)
{
    init_kids();
    kids[1].fails = 2;
    cen_child_options children[] = {kid_options(0), kid_options(1), kid_options(2)};
    make_supervisor(children, 3, .retry_start = true, .backoff_initial_ns = second, .supervision = CEN_ONE_FOR_ONE);
    expect_history("abbc"); /* its first restart comes at once; c does not wait for the second */
    expect(look().is_running);
    expect_equal(child_at(1).state, CEN_CHILD_WAITING);
    advance(second);
    expect_history("b");
    expect_equal(child_at(1).state, CEN_CHILD_RUNNING);
    end_and_count();
}

TEST(those_that_depend_on_a_start_that_is_tried_again_wait_for_it)
{
    cen_future started;
    init_kids();
    cen_future_init(&started);
    kids[1].fails = 2;
    cen_child_options children[] = {kid_options(0), kid_options(1), kid_options(2)};
    make_supervisor(children, 3, .retry_start = true, .backoff_initial_ns = second, .supervision = CEN_REST_FOR_ONE,
                    .started = &started);
    poll();
    expect_history("abb");
    expect(!cen_future_is_done(&started));
    advance(second);
    expect_history("bc");
    expect(cen_future_is_done(&started));
    expect_equal(started.status, CEN_OK);
    end_and_count();
}

TEST(an_asynchronous_new_tells_by_its_future_that_all_have_started)
{
    cen_future started;
    init_kids();
    cen_future_init(&started);
    cen_child_options children[] = {kid_options(0), kid_options(1)};
    children[0].reports_start = true;
    make_supervisor(children, 2, .started = &started);
    poll();
    expect_history("a");
    expect_equal(look().starting, 1);
    expect(!look().is_running);
    expect(cen_child_report_started(kids[0].child));
    expect(!cen_child_report_started(kids[0].child)); /* once */
    poll();
    expect_history("b");
    expect(cen_future_is_done(&started));
    end_and_count();
}

TEST(an_asynchronous_new_that_fails_leaves_a_supervisor_that_is_over)
{
    cen_future started;
    cen_error error = {.status = CEN_OK};
    init_kids();
    cen_future_init(&started);
    started.error = &error;
    kids[1].fails = 1;
    cen_child_options children[] = {kid_options(0), kid_options(1)};
    make_supervisor(children, 2, .started = &started);
    poll();
    expect(cen_future_is_done(&started));
    expect_equal(started.status, CEN_DRIVER);
    expect_text(error.text, "b does not start");
    expect(look().is_over);
    free_all();
    expect_equal(ceni_world_bytes(), 0);
}

static void say_started(kid *self, cen_child child)
{
    (void)self;
    expect(cen_child_report_started(child));
}

TEST(a_child_that_starts_later_may_say_so_from_in_its_start)
{
    init_kids();
    kids[0].in_start = say_started;
    cen_child_options children[] = {kid_options(0), kid_options(1)};
    children[0].reports_start = true;
    make_supervisor(children, 2, .name = NULL);
    expect_history("ab");
    end_and_count();
}

TEST(an_end_before_it_has_started_is_a_failed_start)
{
    cen_future started;
    cen_error why = badly();
    init_kids();
    cen_future_init(&started);
    cen_child_options children[] = {kid_options(0), kid_options(1)};
    children[1].reports_start = true;
    make_supervisor(children, 2, .started = &started);
    poll();
    expect(cen_child_report_ended(kids[1].child, &why));
    poll();
    expect_history("abA");
    expect_equal(started.status, CEN_LOST);
    expect_events("a started;b failed badly;a ended;supervisor over badly;");
    free_all();
}

static void say_ended(kid *self, cen_child child)
{
    self->in_start = NULL;
    expect(cen_child_report_ended(child, NULL));
    expect_equal(kids[0].starts, 1);
}

TEST(an_end_that_is_said_in_start_is_a_death_when_start_has_returned)
{
    init_kids();
    kids[0].in_start = say_ended;
    cen_child_options children[] = {kid_options(0)};
    make_supervisor(children, 1, .name = NULL);
    poll();
    expect_history("aa");
    expect_events("a started;a ended;a restarted;");
    expect_equal(child_at(0).state, CEN_CHILD_RUNNING);
    end_and_count();
}

/* guarantees: supervisor.once */
TEST(what_is_said_of_an_earlier_start_is_ignored)
{
    init_kids();
    cen_child_options children[] = {kid_options(0)};
    make_supervisor(children, 1, .name = NULL);
    die(0, false);
    expect_history("aa");
    expect(!cen_child_report_ended(kids[0].before, NULL));
    expect(!cen_child_report_started(kids[0].before));
    expect(cen_child_is_stopping(kids[0].before));
    expect(!cen_child_is_stopping(kids[0].child));
    poll();
    expect_history("");
    expect_equal(look().running, 1);
    end_and_count();
}

TEST(what_is_said_after_the_supervisor_has_gone_is_ignored)
{
    init_kids();
    cen_child_options children[] = {kid_options(0)};
    make_supervisor(children, 1, .name = NULL);
    end_and_count();
    expect(!cen_child_report_ended(kids[0].child, NULL));
    expect(!cen_child_report_started(kids[0].child));
    expect(cen_child_is_stopping(kids[0].child));
    expect(!cen_child_report_ended((cen_child){0, 0}, NULL));
    cen_future death;
    cen_future_init(&death);
    expect_equal(cen_child_watch(kids[0].child, &death), CEN_ABSENT);
}

TEST(an_end_is_counted_once)
{
    init_kids();
    cen_child_options children[] = {kid_options(0)};
    make_supervisor(children, 1, .name = NULL);
    expect(cen_child_report_ended(kids[0].child, NULL));
    expect(!cen_child_report_ended(kids[0].child, NULL));
    poll();
    expect_history("aa");
    expect_equal(look().restarts, 1);
    end_and_count();
}

TEST(a_child_reports_its_death_by_a_future)
{
    for (int normal = 0; normal < 2; normal++) {
        cen_future death;
        cen_promise promise;
        cen_error error = badly();
        init_kids();
        cen_child_options children[] = {kid_options(0)};
        children[0].restart = CEN_RESTART_TRANSIENT;
        make_supervisor(children, 1, .name = NULL);
        cen_future_init(&death);
        expect_equal(cen_promise_init(&promise, &death), CEN_OK);
        expect_equal(cen_child_watch(kids[0].child, &death), CEN_OK);
        cen_future other;
        cen_future_init(&other);
        expect_equal(cen_child_watch(kids[0].child, &other), CEN_MISUSE); /* one is enough */
        if (normal) expect(cen_promise_complete(&promise, NULL));
        else expect(cen_promise_fail(&promise, &error));
        poll();
        expect_history(normal ? "a" : "aa");
        expect_equal(child_at(0).error.status, normal ? CEN_OK : CEN_LOST);
        end_and_count();
    }
}

TEST(a_death_that_has_happened_before_it_is_watched_counts)
{
    cen_future death;
    cen_promise promise;
    init_kids();
    cen_child_options children[] = {kid_options(0)};
    make_supervisor(children, 1, .name = NULL);
    cen_future_init(&death);
    expect_equal(cen_promise_init(&promise, &death), CEN_OK);
    expect(cen_promise_complete(&promise, NULL));
    expect_equal(cen_child_watch(kids[0].child, &death), CEN_OK);
    poll();
    expect_history("aa");
    end_and_count();
}

TEST(a_future_that_is_not_needed_any_more_is_given_up)
{
    cen_future death;
    cen_promise promise;
    init_kids();
    cen_child_options children[] = {kid_options(0)};
    make_supervisor(children, 1, .name = NULL);
    cen_future_init(&death);
    expect_equal(cen_promise_init(&promise, &death), CEN_OK);
    expect_equal(cen_child_watch(kids[0].child, &death), CEN_OK);
    die(0, false);
    expect_history("aa");
    expect(!cen_promise_is_wanted(&promise));
    expect(!cen_promise_complete(&promise, NULL));
    end_and_count();
}

/* Whoever promised it can let go of it no more: it is about to be done. */
static bool is_too_late(cen_future *future)
{
    (void)future;
    return false;
}

/* guarantees: supervisor.future */
TEST(an_end_is_told_when_a_future_that_is_about_to_be_done_is_done)
{
    cen_future death;
    init_kids();
    cen_child_options children[] = {kid_options(0)};
    make_supervisor(children, 1, .name = "family");
    events[0] = '\0';
    cen_future_init(&death);
    ceni_future_begin(&death, is_too_late, NULL);
    expect_equal(cen_child_watch(kids[0].child, &death), CEN_OK);
    die(0, false);
    expect_events("");
    expect_history("a");
    death.status = CEN_OK;
    ceni_future_complete(&death);
    memset(&death, 0xff, sizeof death);
    poll();
    expect_events("a ended badly;a restarted;");
    expect_history("a");
    end_and_count();
}

TEST(the_future_of_a_supervisor_is_done_when_it_is_over)
{
    cen_future over, second_one;
    init_kids();
    cen_child_options children[] = {kid_options(0)};
    make_supervisor(children, 1, .name = NULL);
    cen_future_init(&over);
    cen_future_init(&second_one);
    expect_equal(cen_supervisor_watch(supervisor, &over), CEN_OK);
    expect_equal(cen_supervisor_watch(supervisor, &second_one), CEN_MISUSE);
    expect(cen_future_cancel(&over));
    expect_equal(cen_supervisor_watch(supervisor, &second_one), CEN_OK);
    expect(!cen_future_is_done(&second_one));
    expect_equal(cen_supervisor_stop(supervisor, CEN_NEVER, NULL, NULL), CEN_OK);
    expect(cen_future_is_done(&second_one));
    expect_equal(second_one.status, CEN_OK);
    cen_future_init(&over);
    expect_equal(cen_supervisor_watch(supervisor, &over), CEN_OK);
    expect(cen_future_is_done(&over));
    free_all();
}

static void listen_and_wait(void *argument, const cen_supervisor_event *event)
{
    unsigned *heard = argument;
    (*heard)++;
    expect_equal(cen_supervisor_stop(event->supervisor, CEN_NOW, NULL, NULL), CEN_MISUSE);
    if (event->kind == CEN_EVENT_CHILD_STARTED) expect_equal(cen_supervisor_request_stop(event->supervisor), CEN_OK);
}

TEST(a_listener_may_stop_its_supervisor_but_not_wait_for_it)
{
    unsigned heard = 0;
    cen_future started;
    init_kids();
    cen_future_init(&started);
    cen_child_options children[] = {kid_options(0), kid_options(1)};
    make_supervisor(children, 2, .listener = listen_and_wait, .argument = &heard, .started = &started);
    poll();
    expect_history("aA");
    expect(cen_future_is_done(&started));
    expect_equal(heard, 3);
    free_all();
}
