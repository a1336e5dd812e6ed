/* SPDX-License-Identifier: MIT */
/* Alarms and the keeper, in virtual time. */
#include "support/world.h"
#include "unit/runtime/runtimes.h"

static const int64_t second = 1000000000;

/* guarantees: runtime.alarms */
TEST(an_alarm_is_due_at_its_moment_and_not_a_nanosecond_earlier)
{
    static const int64_t delays[] = {
        1, 999, 1000000, 1048577, 63 * 1048576, 65 * 1048576, 5000000000, 86400000000000, 31536000000000000};
    cen_runtime *runtime = make_runtime(.name = NULL);
    for (size_t i = 0; i < sizeof delays / sizeof delays[0]; i++) {
        chime one;
        init_chime(&one, runtime, 0);
        int64_t moment = ceni_clock_now() + delays[i];
        expect(!set_chime(&one, moment));
        pass_until(moment - 1);
        expect_equal(one.calls, 0);
        pass_until(moment);
        expect_equal(one.calls, 1);
        expect_equal(one.at, moment);
        expect(one.thread != ceni_thread_id());
    }
    free_runtime(runtime);
}

/* guarantees: runtime.alarms */
TEST(alarms_are_due_in_the_order_of_their_moments_and_equal_ones_as_they_were_set)
{
    chime_log[0] = '\0';
    cen_runtime *runtime = make_runtime(.name = NULL);
    static const int64_t after[] = {300, 100, 200, 100, 7000000000, 300, 50};
    chime chimes[7];
    int64_t now = ceni_clock_now();
    for (int i = 0; i < 7; i++) {
        init_chime(&chimes[i], runtime, (char)('a' + i));
        set_chime(&chimes[i], now + after[i]);
    }
    expect_equal(look_at(runtime).timers, 7);
    pass_until(now + 8 * second);
    expect_text(chime_log, "gbdcafe");
    expect_equal(look_at(runtime).timers, 0);
    for (int i = 1; i < 7; i++) expect(chimes[i].thread == chimes[0].thread); /* one keeper for all */
    free_runtime(runtime);
}

TEST(an_alarm_for_the_past_is_due_at_once)
{
    cen_runtime *runtime = make_runtime(.name = NULL);
    static const int64_t moments[] = {0, -1, INT64_MIN, 1};
    int64_t now = ceni_clock_now();
    for (int i = 0; i < 4; i++) {
        chime one;
        init_chime(&one, runtime, 0);
        set_chime(&one, moments[i]);
        ceni_world_settle();
        expect_equal(one.calls, 1);
        expect_equal(one.at, now);
    }
    free_runtime(runtime);
}

/* guarantees: runtime.alarms */
TEST(an_alarm_that_is_moved_earlier_is_due_once_and_then)
{
    cen_runtime *runtime = make_runtime(.name = NULL);
    chime one;
    init_chime(&one, runtime, 0);
    int64_t now = ceni_clock_now();
    expect(!set_chime(&one, now + 10 * second));
    ceni_world_settle(); /* the keeper sleeps until then */
    expect(set_chime(&one, now + second));
    expect_equal(look_at(runtime).timers, 1);
    pass_until(now + 20 * second);
    expect_equal(one.calls, 1);
    expect_equal(one.at, now + second);
    expect(!unset_chime(&one));
    free_runtime(runtime);
}

/* guarantees: runtime.alarms */
TEST(an_alarm_that_is_moved_later_is_due_once_and_then)
{
    cen_runtime *runtime = make_runtime(.name = NULL);
    chime one, next;
    init_chime(&one, runtime, 0);
    init_chime(&next, runtime, 0);
    int64_t now = ceni_clock_now();
    set_chime(&one, now + second);
    set_chime(&next, now + 2 * second);
    ceni_world_settle();
    expect(set_chime(&one, now + 3 * second));
    pass_until(now + 4 * second);
    expect_equal(next.at, now + 2 * second);
    expect_equal(one.calls, 1);
    expect_equal(one.at, now + 3 * second);
    free_runtime(runtime);
}

/* guarantees: runtime.alarms */
TEST(an_alarm_that_was_unset_is_not_due_and_can_be_set_again)
{
    cen_runtime *runtime = make_runtime(.name = NULL);
    chime one;
    init_chime(&one, runtime, 0);
    int64_t now = ceni_clock_now();
    expect(!unset_chime(&one)); /* it never was set */
    set_chime(&one, now + second);
    expect(unset_chime(&one));
    expect(!unset_chime(&one));
    pass_until(now + 2 * second);
    expect_equal(one.calls, 0);
    expect(!set_chime(&one, now + 3 * second));
    pass_until(now + 3 * second);
    expect_equal(one.calls, 1);
    free_runtime(runtime);
}

static chime *other;
static bool other_was_set;

static void unset_other(chime *self)
{
    (void)self;
    other_was_set = unset_chime(other);
}

/* guarantees: runtime.alarms */
TEST(an_alarm_can_unset_another_that_is_due_at_the_same_moment)
{
    cen_runtime *runtime = make_runtime(.name = NULL);
    chime first, second_one;
    init_chime(&first, runtime, 0);
    init_chime(&second_one, runtime, 0);
    first.inside = unset_other;
    other = &second_one;
    int64_t moment = ceni_clock_now() + second;
    set_chime(&first, moment);
    set_chime(&second_one, moment);
    pass_until(moment + second);
    expect_equal(first.calls, 1);
    expect(other_was_set);
    expect_equal(second_one.calls, 0);
    other_was_set = true;
    other = &first; /* itself: its call has begun */
    set_chime(&first, 0);
    ceni_world_settle();
    expect(!other_was_set);
    free_runtime(runtime);
}

TEST(an_alarm_that_sets_itself_anew_goes_off_at_every_period)
{
    cen_runtime *runtime = make_runtime(.name = NULL);
    chime one;
    init_chime(&one, runtime, 0);
    one.again_in = second;
    int64_t now = ceni_clock_now();
    set_chime(&one, now + second);
    pass_until(now + 10 * second + 5);
    expect_equal(one.calls, 10);
    expect_equal(one.at, now + 10 * second);
    expect(unset_chime(&one));
    free_runtime(runtime);
}

enum { CROWD = 2000 };

static chime crowd[CROWD];
static unsigned told, told_before[3]; /* of the crowd */

static void note_told(chime *self)
{
    told_before[self->letter - 'a'] = told;
}

static void count_told(chime *self)
{
    (void)self;
    told++;
}

static void set_crowd(cen_runtime *runtime, int64_t moment)
{
    told = 0;
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = (chime){.runtime = runtime, .inside = count_told};
        ceni_alarm_init_of_crowd(&crowd[i].alarm, chime_is_due);
        set_chime(&crowd[i], moment);
    }
}

/* The others were set last, and are told after one of the crowd each. */
/* guarantees: life.L7-load */
TEST(alarms_of_a_crowd_that_are_due_at_one_moment_delay_no_others)
{
    cen_runtime *runtime = make_runtime(.manual = true, .virtual_time = true);
    int64_t moment = cen_runtime_now(runtime) + second;
    set_crowd(runtime, moment);
    chime others[3];
    for (int i = 0; i < 3; i++) {
        init_chime(&others[i], runtime, (char)('a' + i));
        others[i].inside = note_told;
        set_chime(&others[i], moment);
    }
    expect_equal(look_at(runtime).timers, CROWD + 3);
    expect(unset_chime(&crowd[77]) && !unset_chime(&crowd[77]));
    expect_equal(cen_runtime_advance(runtime, second - 1), CEN_OK);
    expect_equal(told, 0);
    expect_equal(cen_runtime_advance(runtime, 1), CEN_OK);
    expect_equal(told, CROWD - 1);
    for (int i = 0; i < 3; i++) expect(others[i].calls == 1 && told_before[i] <= (unsigned)i + 1);
    expect_equal(look_at(runtime).timers, 0);
    free_runtime(runtime);
}

/* An alarm that comes again at once does not keep the crowd from being told. */
static void come_again(chime *self)
{
    if (told < CROWD) set_chime(self, self->at);
}

TEST(an_alarm_that_is_always_due_takes_turns_with_a_crowd)
{
    cen_runtime *runtime = make_runtime(.name = NULL);
    int64_t moment = ceni_clock_now() + second;
    chime busy;
    init_chime(&busy, runtime, 0);
    busy.inside = come_again;
    set_crowd(runtime, moment);
    set_chime(&busy, moment);
    pass_until(moment);
    expect_equal(told, CROWD);
    expect(busy.calls >= CROWD / 2);
    for (int i = 0; i < CROWD; i++) expect(crowd[i].calls == 1 && crowd[i].at == moment);
    free_runtime(runtime);
}

TEST(an_alarm_for_never_waits_without_keeping_anybody_awake)
{
    cen_runtime *runtime = make_runtime(.name = NULL);
    chime one;
    init_chime(&one, runtime, 0);
    set_chime(&one, CENI_FOREVER);
    expect_equal(look_at(runtime).timers, 1);
    pass(1000000 * second);
    expect_equal(one.calls, 0);
    expect(unset_chime(&one));
    free_runtime(runtime);
}

TEST(the_keeper_is_started_by_the_first_alarm)
{
    cen_runtime *runtime = make_runtime(.name = NULL);
    chime one;
    init_chime(&one, runtime, 0);
    expect(!look_at(runtime).has_keeper);
    expect_equal(ceni_world_waiting(), 0);
    expect(!unset_chime(&one));
    expect(!look_at(runtime).has_keeper);
    set_chime(&one, ceni_clock_now() + second);
    expect(look_at(runtime).has_keeper);
    ceni_world_settle();
    expect_equal(ceni_world_waiting(), 1);
    expect(unset_chime(&one));
    free_runtime(runtime);
    expect_equal(ceni_world_waiting(), 0);
}

TEST(a_runtime_that_is_freed_forgets_the_alarms_that_are_set)
{
    cen_runtime *runtime = make_runtime(.name = NULL);
    chime one;
    init_chime(&one, runtime, 0);
    set_chime(&one, ceni_clock_now() + second);
    free_runtime(runtime);
    pass(2 * second);
    expect_equal(one.calls, 0);
}
