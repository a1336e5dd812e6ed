/* SPDX-License-Identifier: MIT */
/* Timers in virtual time: that of a world, and that of a runtime. */
#include <cenote/timer.h>

#include "support/world.h"
#include "unit/runtime/runtimes.h"

static const int64_t second = 1000000000;

static void start_timer(cen_timer *timer, cen_runtime *runtime, cen_deadline when)
{
    cen_timer_init(timer);
    expect_equal(cen_timer_start(timer, runtime, when, NULL), CEN_OK);
}

static bool is_done(const cen_timer *timer)
{
    return cen_future_is_done(&timer->future);
}

static void expect_done(const cen_timer *timer)
{
    expect(is_done(timer));
    expect_equal(timer->future.status, CEN_OK);
    expect_equal(timer->future.code, 0);
    expect(timer->future.value == NULL);
}

static void expect_nothing_left(void)
{
    ceni_world_settle();
    expect_equal(look_at(NULL).users, 0);
    expect_equal(ceni_world_waiting(), 0);
    expect_equal(ceni_world_bytes(), 0);
}

/* ---- Its moment ------------------------------------------------------------------------ */

/* guarantees: runtime.timer */
TEST(a_timer_is_done_at_its_moment_and_not_a_nanosecond_earlier)
{
    static const int64_t delays[] = {1, 999, 1048577, 65 * 1048576, 5000000000, 86400000000000};
    for (size_t i = 0; i < sizeof delays / sizeof delays[0]; i++) {
        cen_timer relative, absolute;
        int64_t moment = ceni_clock_now() + delays[i];
        start_timer(&relative, NULL, cen_in_ns(delays[i]));
        start_timer(&absolute, NULL, cen_at(moment));
        pass_until(moment - 1);
        expect(!is_done(&relative) && !is_done(&absolute));
        pass_until(moment);
        expect_done(&relative);
        expect_done(&absolute);
    }
    expect_nothing_left();
}

/* guarantees: runtime.timer */
TEST(a_relative_time_counts_from_the_start)
{
    cen_timer timer;
    cen_deadline in_a_second = cen_in_s(1);
    cen_timer_init(&timer);
    pass(5 * second);
    int64_t began = ceni_clock_now();
    expect_equal(cen_timer_start(&timer, NULL, in_a_second, NULL), CEN_OK);
    pass_until(began + second - 1);
    expect(!is_done(&timer));
    pass_until(began + second);
    expect_done(&timer);
}

/* guarantees: runtime.timer */
TEST(a_moment_that_has_passed_is_done_soon_and_never_within_the_start)
{
    const cen_deadline past[] = {CEN_NOW, cen_at(1), cen_in_ns(0), cen_in_ns(-1)};
    cen_runtime *runtime = make_runtime(.manual = true);
    for (size_t i = 0; i < sizeof past / sizeof past[0]; i++) {
        cen_timer timer;
        start_timer(&timer, runtime, past[i]);
        expect(!is_done(&timer));
        cen_runtime_poll(runtime);
        expect_done(&timer);
        start_timer(&timer, NULL, past[i]);
        ceni_world_settle();
        expect_done(&timer);
    }
    free_runtime(runtime);
    expect_nothing_left();
}

/* guarantees: runtime.timer */
TEST(a_timer_for_never_ends_by_cancel_only)
{
    const cen_deadline never[] = {CEN_NEVER, cen_in_s(INT64_MAX), cen_in_ns(INT64_MAX - 1)};
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++) {
        cen_timer timer;
        start_timer(&timer, NULL, never[i]);
        pass(1000000 * second);
        expect(!is_done(&timer));
        expect(cen_future_cancel(&timer.future));
    }
    expect_nothing_left();
}

/* ---- Whoever consumes it ------------------------------------------------------------------- */

static unsigned told;
static uint64_t told_on;

static void note(cen_future *future)
{
    (void)future;
    told++;
    told_on = ceni_thread_id();
}

/* guarantees: runtime.timer */
TEST(a_timer_tells_its_executor_once_whether_it_was_named_before_or_after_the_start)
{
    cen_timer before, after;
    told = 0;
    cen_timer_init(&before);
    expect_equal(cen_future_then(&before.future, note, cen_inline()), CEN_OK);
    expect_equal(cen_timer_start(&before, NULL, cen_in_s(1), NULL), CEN_OK);
    start_timer(&after, NULL, cen_in_s(2));
    expect_equal(cen_future_then(&after.future, note, cen_inline()), CEN_OK);
    pass(second);
    expect_equal(told, 1);
    expect(told_on != ceni_thread_id());
    pass(5 * second);
    expect_equal(told, 2);
    expect_nothing_left();
}

TEST(a_thread_can_wait_for_a_timer)
{
    cen_timer timer;
    int64_t began = ceni_clock_now();
    start_timer(&timer, NULL, cen_in_s(3));
    expect_equal(cen_future_wait(&timer.future, cen_in_s(1)), CEN_TIMEOUT);
    expect_equal(cen_future_wait(&timer.future, CEN_NEVER), CEN_OK);
    expect_equal(ceni_clock_now(), began + 3 * second);
    expect_done(&timer);
}

TEST(a_timer_in_a_group_limits_what_it_is_there_with)
{
    cen_future answer;
    cen_promise promise;
    cen_timer limit;
    cen_group group;
    cen_future_init(&answer);
    expect_equal(cen_promise_init(&promise, &answer), CEN_OK);
    start_timer(&limit, NULL, cen_in_s(1));
    cen_future *const both[] = {&answer, &limit.future};
    expect_equal(cen_any_of(&group, both, 2), CEN_OK);
    expect_equal(cen_future_wait(&group.future, CEN_NEVER), CEN_OK);
    expect(group.future.value == &limit.future);
    cen_group_leave(&group);
    expect(cen_future_cancel(&answer));
    expect(!cen_promise_is_wanted(&promise));
    expect_nothing_left();
}

/* ---- Giving it up ---------------------------------------------------------------------------- */

/* guarantees: runtime.timer-cancel */
TEST(a_timer_that_is_given_up_is_never_done_and_lets_go_of_its_runtime)
{
    cen_timer timer;
    told = 0;
    start_timer(&timer, NULL, cen_in_s(1));
    expect_equal(cen_future_then(&timer.future, note, cen_inline()), CEN_OK);
    expect_equal(look_at(NULL).users, 1);
    expect_equal(look_at(NULL).timers, 1);
    expect(cen_future_cancel(&timer.future));
    expect(cen_future_cancel(&timer.future)); /* as before */
    expect_nothing_left();
    pass(5 * second);
    expect_equal(told, 0);
    expect(!is_done(&timer));
    start_timer(&timer, NULL, cen_in_s(1));
    pass(second);
    expect_done(&timer);
}

/* guarantees: runtime.timer-cancel */
TEST(a_timer_that_is_done_cannot_be_given_up)
{
    cen_timer timer;
    start_timer(&timer, NULL, CEN_NOW);
    ceni_world_settle();
    expect(!cen_future_cancel(&timer.future));
    expect_done(&timer);
    expect_nothing_left();
}

static cen_timer *other;
static bool other_given_up;

static void give_up_other(cen_future *future)
{
    (void)future;
    other_given_up = cen_future_cancel(&other->future);
}

/* guarantees: runtime.timer-cancel */
TEST(a_timer_can_give_up_another_that_is_due_at_the_same_moment_and_not_itself)
{
    cen_timer first, next;
    start_timer(&first, NULL, cen_in_s(1));
    start_timer(&next, NULL, cen_in_s(1));
    expect_equal(cen_future_then(&first.future, give_up_other, cen_inline()), CEN_OK);
    other = &next;
    pass(second);
    expect(other_given_up && is_done(&first) && !is_done(&next));
    expect_nothing_left();
    start_timer(&first, NULL, cen_in_s(1));
    expect_equal(cen_future_then(&first.future, give_up_other, cen_inline()), CEN_OK);
    other = &first;
    pass(second);
    expect(!other_given_up);
    expect_nothing_left();
}

/* ---- What is refused ---------------------------------------------------------------------------- */

TEST(what_cannot_be_started_is_refused_and_nothing_changes)
{
    cen_timer timer;
    cen_timer_init(NULL);
    cen_timer_init(&timer);
    expect_equal(cen_timer_start(NULL, NULL, CEN_NOW, NULL), CEN_INVALID);
    expect_equal(cen_timer_start(&timer, NULL, (cen_deadline){0}, NULL), CEN_INVALID);
    expect_equal(cen_future_wait(&timer.future, CEN_NOW), CEN_INVALID); /* nobody has promised it */
    expect_nothing_left();
    expect_equal(cen_timer_start(&timer, NULL, cen_in_s(1), NULL), CEN_OK);
    expect_equal(cen_timer_start(&timer, NULL, CEN_NOW, NULL), CEN_MISUSE);
    ceni_world_settle();
    expect(!is_done(&timer));
    pass(second);
    expect_equal(cen_timer_start(&timer, NULL, CEN_NOW, NULL), CEN_MISUSE);
    expect_done(&timer);
    start_timer(&timer, NULL, CEN_NEVER);
    expect(cen_future_cancel(&timer.future));
    expect_equal(cen_timer_start(&timer, NULL, CEN_NOW, NULL), CEN_MISUSE);
    expect_nothing_left();
}

/* ---- Its runtime ------------------------------------------------------------------------------------ */

static cen_timer repeated;
static unsigned repetitions;
static uint64_t first_on;

static void start_again(cen_future *future)
{
    note(future);
    if (told == 1) first_on = told_on;
    expect_equal(told_on, first_on);
    if (told < repetitions) {
        cen_timer_init(&repeated);
        expect_equal(cen_future_then(&repeated.future, start_again, cen_inline()), CEN_OK);
        expect_equal(cen_timer_start(&repeated, NULL, cen_in_s(1), NULL), CEN_OK);
    }
}

/* guarantees: runtime.timer-life */
TEST(a_timer_that_is_started_again_when_it_is_done_keeps_the_process_own_runtime)
{
    told = 0;
    repetitions = 5;
    start_timer(&repeated, NULL, cen_in_s(1));
    expect_equal(cen_future_then(&repeated.future, start_again, cen_inline()), CEN_OK);
    pass(4 * second);
    expect_equal(told, 4);
    expect_equal(look_at(NULL).users, 1);
    pass(second);
    expect_equal(told, 5);
    expect_nothing_left();
}

/* guarantees: runtime.timer-life */
TEST(an_explicit_runtime_is_busy_until_its_timers_are_done_or_given_up)
{
    cen_timer one, two;
    cen_runtime *runtime = make_runtime(.name = NULL);
    start_timer(&one, runtime, cen_in_s(1));
    start_timer(&two, runtime, CEN_NEVER);
    expect_equal(look_at(runtime).users, 2);
    expect_equal(look_at(NULL).users, 0);
    expect_equal(cen_runtime_free(runtime), CEN_BUSY);
    expect(cen_future_cancel(&two.future));
    expect_equal(cen_runtime_free(runtime), CEN_BUSY);
    expect_equal(cen_future_wait(&one.future, CEN_NEVER), CEN_OK);
    free_runtime(runtime);
    expect_nothing_left();
}

/* When free succeeds the job may still be on its way: nobody uses the runtime any more but its own threads. */
/* guarantees: runtime.timer-life */
TEST(a_timer_whose_done_runs_on_its_own_runtime_is_told_before_that_is_gone)
{
    cen_timer timer;
    cen_runtime *runtime = make_runtime(.name = NULL);
    told = 0;
    cen_timer_init(&timer);
    expect_equal(cen_future_then(&timer.future, note, cen_runtime_executor(runtime)), CEN_OK);
    expect_equal(cen_timer_start(&timer, runtime, CEN_NOW, NULL), CEN_OK);
    while (cen_runtime_free(runtime) == CEN_BUSY) ceni_thread_yield();
    expect_equal(told, 1);
    expect_nothing_left();
}

/* guarantees: runtime.timer */
TEST(with_virtual_time_a_timer_is_done_when_the_clock_is_moved_there)
{
    cen_timer relative, absolute, later;
    cen_runtime *runtime = make_runtime(.manual = true, .virtual_time = true);
    int64_t began = cen_runtime_now(runtime);
    told = 0;
    start_timer(&relative, runtime, cen_in_s(10));
    start_timer(&absolute, runtime, cen_at(began + 10 * second));
    start_timer(&later, runtime, cen_in_ns(10 * second + 1));
    expect_equal(cen_future_then(&relative.future, note, cen_inline()), CEN_OK);
    pass(100 * second); /* of another clock */
    expect_equal(cen_runtime_advance(runtime, 10 * second - 1), CEN_OK);
    expect(!is_done(&relative) && !is_done(&absolute));
    expect_equal(cen_runtime_advance(runtime, 1), CEN_OK);
    expect(told == 1 && told_on == ceni_thread_id());
    expect_done(&absolute);
    expect(!is_done(&later));
    expect_equal(cen_runtime_advance(runtime, 1), CEN_OK);
    expect_done(&later);
    free_runtime(runtime);
}

/* guarantees: runtime.timer */
TEST(a_manual_runtime_says_when_its_timer_will_be_due)
{
    cen_timer timer;
    cen_runtime *runtime = make_runtime(.manual = true);
    expect_equal(cen_runtime_poll(runtime), -1);
    start_timer(&timer, runtime, cen_in_ms(1));
    int64_t ns = cen_runtime_poll(runtime);
    expect(ns > 0 && ns <= 1000000);
    expect_equal(ceni_world_waiting(), 0); /* there are no threads */
    pass(1000000);
    expect_equal(cen_runtime_poll(runtime), -1);
    expect_done(&timer);
    free_runtime(runtime);
}

TEST(a_timer_that_does_not_start_says_why)
{
    cen_timer timer;
    cen_error error;
    cen_timer_init(&timer);
    expect_equal(cen_timer_start(NULL, NULL, CEN_NOW, &error), CEN_INVALID);
    expect_text(error.text, "cen_timer_start: the timer is NULL");
    expect_equal(cen_timer_start(&timer, NULL, CEN_DEFAULT, &error), CEN_INVALID);
    expect(strstr(error.text, "no default deadline"));
    expect_equal(cen_timer_start(&timer, NULL, CEN_NEVER, &error), CEN_OK);
    expect_equal(cen_timer_start(&timer, NULL, CEN_NEVER, &error), CEN_MISUSE);
    expect(strstr(error.text, "cen_timer_init"));
    expect(cen_future_cancel(&timer.future));
    expect_nothing_left();
}
