/* SPDX-License-Identifier: MIT */
/* A runtime without threads: poll, tend, and its virtual clock. */
#include "runtime/internal.h"
#include "support/world.h"
#include "unit/runtime/runtimes.h"

static const int64_t second = 1000000000;

/* ---- Poll --------------------------------------------------------------------------- */

/* guarantees: runtime.poll */
TEST(poll_runs_what_is_due_on_the_calling_thread_and_says_when_to_come_again)
{
    cen_runtime *runtime = make_runtime(.manual = true);
    chime one;
    job errand;
    init_chime(&one, runtime, 0);
    init_job(&errand, runtime);
    expect_equal(cen_runtime_poll(runtime), -1);
    int64_t now = ceni_clock_now();
    set_chime(&one, now + 1000);
    expect_equal(cen_runtime_poll(runtime), 1000);
    ceni_sleep_until(now + 999);
    expect_equal(cen_runtime_poll(runtime), 1);
    expect_equal(one.calls, 0);
    ceni_sleep_until(now + 1000);
    post_job(&errand);
    expect_equal(ceni_load_seq_cst(&errand.runs), 0);
    expect_equal(look_at(runtime).queued, 1);
    expect_equal(cen_runtime_poll(runtime), -1);
    expect_equal(one.calls, 1);
    expect_equal(one.thread, ceni_thread_id());
    expect_equal(ceni_load_seq_cst(&errand.thread), ceni_thread_id());
    cen_runtime_stats stats = look_at(runtime);
    expect(stats.helpers == 0 && stats.queued == 0 && stats.timers == 0 && !stats.has_keeper);
    free_runtime(runtime);
}

/* The wheel is coarse far away: who comes when it says so misses nothing. */
/* guarantees: runtime.poll */
TEST(whoever_comes_when_poll_says_so_is_never_late)
{
    static const int64_t delays[] = {1, 1048576, 70000000, 5000000000, 86400000000000};
    cen_runtime *runtime = make_runtime(.manual = true);
    for (int i = 0; i < 5; i++) {
        chime one;
        init_chime(&one, runtime, 0);
        int64_t moment = ceni_clock_now() + delays[i];
        set_chime(&one, moment);
        unsigned polls = 0;
        for (int64_t ns; (ns = cen_runtime_poll(runtime)) >= 0; polls++) {
            expect(ns > 0);
            ceni_sleep_until(ceni_clock_now() + ns);
        }
        expect_equal(one.at, moment);
        expect(polls <= 9);
    }
    free_runtime(runtime);
}

static int64_t answer_inside;
static cen_status status_inside;
static unsigned ran_inside;

static void poll_inside(chime *self)
{
    unsigned before = self->calls;
    job errand;
    init_job(&errand, self->runtime);
    post_job(&errand);
    answer_inside = cen_runtime_poll(self->runtime);
    ran_inside = self->calls - before + ceni_load_seq_cst(&errand.runs);
    status_inside = cen_runtime_free(self->runtime);
    expect_equal(ceni_errand_unpost(self->runtime, &errand.errand), 1); /* it is on this stack: nobody shall run it */
}

/* guarantees: runtime.poll */
TEST(a_poll_from_within_runs_nothing_and_answers_0)
{
    cen_runtime *runtime = make_runtime(.manual = true);
    chime one;
    init_chime(&one, runtime, 0);
    one.inside = poll_inside;
    set_chime(&one, 0);
    answer_inside = -7;
    expect_equal(cen_runtime_poll(runtime), -1);
    expect_equal(answer_inside, 0);
    expect_equal(ran_inside, 0);
    expect_equal(status_inside, CEN_MISUSE);
    free_runtime(runtime);
}

static void run_poll(void *argument)
{
    cen_runtime_poll(argument);
}

/* guarantees: runtime.poll */
TEST(one_thread_at_a_time_runs_and_another_that_polls_is_answered_0)
{
    cen_runtime *runtime = make_runtime(.manual = true);
    job slow, quick;
    init_job(&slow, runtime);
    init_job(&quick, runtime);
    shut_gate(&slow);
    post_job(&slow);
    ceni_thread poller = start("poller", run_poll, runtime);
    ceni_world_settle();
    expect_equal(ceni_load_seq_cst(&slow.runs), 1);
    post_job(&quick);
    expect_equal(cen_runtime_poll(runtime), 0);
    expect_equal(ceni_load_seq_cst(&quick.runs), 0);
    expect_equal(cen_runtime_free(runtime), CEN_BUSY);
    open_gate(&slow);
    join(poller);
    expect_equal(ceni_load_seq_cst(&quick.runs), 1);
    expect_equal(cen_runtime_poll(runtime), -1);
    free_runtime(runtime);
}

static void post_itself(job *self)
{
    post_job(self);
}

/* guarantees: runtime.poll */
TEST(work_that_makes_more_work_does_not_keep_a_poll_for_ever)
{
    cen_runtime *runtime = make_runtime(.manual = true);
    job endless;
    chime one;
    init_job(&endless, runtime);
    init_chime(&one, runtime, 0);
    endless.inside = post_itself;
    post_job(&endless);
    set_chime(&one, 0);
    expect_equal(cen_runtime_poll(runtime), 0);
    expect_equal(one.calls, 1);
    expect(ceni_load_seq_cst(&endless.runs) > 10);
    endless.inside = NULL;
    expect_equal(cen_runtime_poll(runtime), -1);
    free_runtime(runtime);
}

/* ---- Tend --------------------------------------------------------------------------- */

TEST(tend_runs_what_is_due_and_never_lets_one_sleep_past_the_next)
{
    cen_runtime *runtime = make_runtime(.manual = true);
    chime near, far;
    init_chime(&near, runtime, 0);
    init_chime(&far, runtime, 0);
    int64_t now = ceni_clock_now();
    set_chime(&near, now);
    set_chime(&far, now + 1000);
    expect_equal(ceni_runtime_tend(runtime), now + 1000);
    expect(near.calls == 1 && far.calls == 0);
    expect_equal(near.thread, ceni_thread_id());
    ceni_sleep_until(now + 1000);
    int64_t again = ceni_runtime_tend(runtime);
    expect_equal(far.calls, 1);
    /* With nothing to come it is not for ever: others may set something. */
    expect(again > ceni_clock_now() && again < ceni_clock_now() + second / 10);
    free_runtime(runtime);
}

TEST(with_virtual_time_tend_answers_on_the_real_clock)
{
    cen_runtime *runtime = make_runtime(.manual = true, .virtual_time = true);
    chime far;
    init_chime(&far, runtime, 0);
    ceni_sleep_until(100 * second); /* the virtual clock is far behind */
    set_chime(&far, cen_runtime_now(runtime) + second);
    int64_t again = ceni_runtime_tend(runtime);
    expect(again > 100 * second && again < 100 * second + second / 10);
    expect(unset_chime(&far));
    free_runtime(runtime);
}

/* ---- Virtual time --------------------------------------------------------------------- */

/* guarantees: runtime.virtual-time */
TEST(virtual_time_stands_still_until_it_is_moved)
{
    cen_runtime *runtime = make_runtime(.manual = true, .virtual_time = true);
    expect(ceni_runtime_is_virtual(runtime) && ceni_runtime_is_manual(runtime));
    int64_t began = cen_runtime_now(runtime);
    expect(began > 0);
    chime one;
    init_chime(&one, runtime, 0);
    set_chime(&one, began + second);
    ceni_sleep_until(ceni_clock_now() + 100 * second);
    expect_equal(cen_runtime_now(runtime), began);
    expect(cen_runtime_poll(runtime) > 0);
    expect_equal(cen_runtime_advance(runtime, second - 1), CEN_OK);
    expect_equal(cen_runtime_poll(runtime), 1);
    expect_equal(one.calls, 0);
    expect_equal(cen_runtime_advance(runtime, 1), CEN_OK);
    expect_equal(one.calls, 1);
    expect_equal(one.at, began + second);
    expect_equal(cen_runtime_now(runtime), began + second);
    free_runtime(runtime);
}

/* guarantees: runtime.virtual-time */
TEST(each_alarm_on_the_way_is_called_at_its_own_moment_and_in_order)
{
    chime_log[0] = '\0';
    cen_runtime *runtime = make_runtime(.manual = true, .virtual_time = true);
    static const int64_t after[] = {300, 100, 7000000000, 100, 86400000000000};
    chime chimes[5], ticking;
    int64_t began = cen_runtime_now(runtime);
    for (int i = 0; i < 5; i++) {
        init_chime(&chimes[i], runtime, (char)('a' + i));
        set_chime(&chimes[i], began + after[i]);
    }
    init_chime(&ticking, runtime, 0); /* sets itself anew inside the span */
    ticking.again_in = second;
    set_chime(&ticking, began + second);
    expect_equal(cen_runtime_advance(runtime, 86400 * second), CEN_OK);
    for (int i = 0; i < 5; i++) expect_equal(chimes[i].at, began + after[i]);
    expect_text(chime_log, "bdace");
    expect_equal(ticking.calls, 86400);
    expect_equal(ticking.at, began + 86400 * second);
    expect_equal(cen_runtime_now(runtime), began + 86400 * second);
    expect(unset_chime(&ticking));
    free_runtime(runtime);
}

static int64_t errand_ran_at;

static void note_moment(job *self)
{
    errand_ran_at = cen_runtime_now(self->runtime);
}

static job *to_post;

static void post_it(chime *self)
{
    (void)self;
    post_job(to_post);
}

/* guarantees: runtime.virtual-time */
TEST(an_errand_that_an_alarm_posts_runs_at_the_alarms_moment)
{
    cen_runtime *runtime = make_runtime(.manual = true, .virtual_time = true);
    int64_t began = cen_runtime_now(runtime);
    chime one;
    job errand;
    init_chime(&one, runtime, 0);
    init_job(&errand, runtime);
    one.inside = post_it;
    errand.inside = note_moment;
    to_post = &errand;
    set_chime(&one, began + second);
    expect_equal(cen_runtime_advance(runtime, 5 * second), CEN_OK);
    expect_equal(errand_ran_at, began + second);
    free_runtime(runtime);
}

/* guarantees: runtime.virtual-time */
TEST(an_alarm_in_the_past_does_not_turn_virtual_time_back)
{
    cen_runtime *runtime = make_runtime(.manual = true, .virtual_time = true);
    int64_t began = cen_runtime_now(runtime);
    chime one;
    init_chime(&one, runtime, 0);
    set_chime(&one, 1);
    expect_equal(cen_runtime_advance(runtime, 0), CEN_OK);
    expect_equal(one.at, began);
    expect_equal(cen_runtime_now(runtime), began);
    free_runtime(runtime);
}

/* guarantees: runtime.virtual-time */
TEST(virtual_time_moves_forward_only_and_stops_before_the_end_of_time)
{
    cen_runtime *runtime = make_runtime(.manual = true, .virtual_time = true), *real = make_runtime(.manual = true);
    chime last, never;
    init_chime(&last, runtime, 0);
    init_chime(&never, runtime, 0);
    set_chime(&last, INT64_MAX - 1);
    set_chime(&never, INT64_MAX);
    expect_equal(cen_runtime_advance(runtime, -1), CEN_INVALID);
    expect_equal(cen_runtime_advance(real, 1), CEN_INVALID);
    expect_equal(cen_runtime_advance(runtime, INT64_MAX), CEN_OK);
    expect_equal(cen_runtime_advance(runtime, INT64_MAX), CEN_OK);
    expect_equal(cen_runtime_now(runtime), INT64_MAX - 1);
    expect(last.calls == 1 && never.calls == 0);
    expect(unset_chime(&never));
    free_runtime(runtime);
    free_runtime(real);
}

static void advance_inside(chime *self)
{
    status_inside = cen_runtime_advance(self->runtime, second);
}

/* guarantees: runtime.virtual-time */
TEST(virtual_time_cannot_be_moved_from_within_what_it_runs)
{
    cen_runtime *runtime = make_runtime(.manual = true, .virtual_time = true);
    int64_t began = cen_runtime_now(runtime);
    chime one;
    init_chime(&one, runtime, 0);
    one.inside = advance_inside;
    set_chime(&one, 0);
    expect_equal(cen_runtime_poll(runtime), -1);
    expect_equal(status_inside, CEN_MISUSE);
    expect_equal(cen_runtime_now(runtime), began);
    free_runtime(runtime);
}

static void move_a_second(void *argument)
{
    expect_equal(cen_runtime_advance(argument, second), CEN_OK);
}

/* guarantees: runtime.virtual-time */
TEST(whoever_moves_virtual_time_waits_for_one_who_runs)
{
    cen_runtime *runtime = make_runtime(.manual = true, .virtual_time = true);
    job slow;
    init_job(&slow, runtime);
    shut_gate(&slow);
    slow.inside = note_moment;
    post_job(&slow);
    int64_t began = cen_runtime_now(runtime);
    ceni_thread poller = start("poller", run_poll, runtime);
    ceni_world_settle();
    ceni_thread mover = start("mover", move_a_second, runtime);
    ceni_world_settle();
    expect_equal(ceni_world_waiting(), 2);
    expect_equal(cen_runtime_now(runtime), began);
    open_gate(&slow);
    join(mover);
    join(poller);
    expect_equal(errand_ran_at, began);
    expect_equal(cen_runtime_now(runtime), began + second);
    free_runtime(runtime);
}
