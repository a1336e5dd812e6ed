/* SPDX-License-Identifier: MIT */
/* Alarms under every schedule: set, moved and unset while the keeper looks, sleeps and calls. */
#include "explore/runtimes.h"

static cen_runtime *runtime;
static chime first, second;

static void begin(void)
{
    runtime = make_lingering(0);
    init_chime(&first);
    init_chime(&second);
}

static bool set(chime *one, int64_t moment)
{
    cen_status status = CEN_CLOSED;
    bool was_set = ceni_alarm_set(runtime, &one->alarm, moment, &status);
    expect_equal(status, CEN_OK);
    return was_set;
}

static void finish(void)
{
    expect_equal(cen_runtime_free(runtime), CEN_OK);
}

/* guarantees: runtime.alarms */
EXPLORE(an_alarm_is_called_or_unset_and_never_both, 4)
{
    begin();
    set(&first, 0);
    bool unset = ceni_alarm_unset(runtime, &first.alarm);
    if (!unset) await_count(&first.calls, 1);
    finish();
    expect_equal(ceni_load_seq_cst(&first.calls), unset ? 0 : 1);
}

/* guarantees: runtime.alarms */
EXPLORE(an_alarm_that_is_set_again_is_called_once_for_each_time_it_was_not_set, 4)
{
    begin();
    set(&first, 0);
    uint32_t expected = set(&first, 0) ? 1 : 2;
    await_count(&first.calls, expected);
    finish();
    expect_equal(ceni_load_seq_cst(&first.calls), expected);
}

/* A keeper that sleeps too long never wakes: there is no moment to come. */
/* guarantees: runtime.alarms */
EXPLORE(an_alarm_that_is_moved_earlier_wakes_the_keeper, 4)
{
    begin();
    expect(!set(&first, CENI_FOREVER));
    expect(set(&first, 0));
    await_count(&first.calls, 1);
    finish();
}

/* guarantees: runtime.alarms */
EXPLORE(an_alarm_before_the_others_wakes_the_keeper, 4)
{
    begin();
    set(&first, CENI_FOREVER);
    set(&second, 0);
    await_count(&second.calls, 1);
    expect(ceni_alarm_unset(runtime, &first.alarm));
    finish();
}

static void set_second(void *unused)
{
    (void)unused;
    set(&second, 0);
}

/* guarantees: runtime.alarms */
EXPLORE(two_who_set_the_first_alarms_share_one_keeper, 2)
{
    begin();
    ceni_thread other = start("other", set_second, NULL);
    set(&first, 0);
    await_count(&first.calls, 1);
    await_count(&second.calls, 1);
    join(other);
    finish();
}

static void unset_first(void *argument)
{
    ceni_store_seq_cst((_Atomic uint32_t *)argument, ceni_alarm_unset(runtime, &first.alarm));
}

/* guarantees: runtime.alarms */
EXPLORE(of_two_who_unset_one_alarm_at_most_one_is_told_so, 3)
{
    _Atomic uint32_t other_unset = 0;
    begin();
    set(&first, 0);
    ceni_thread other = start("other", unset_first, &other_unset);
    bool unset = ceni_alarm_unset(runtime, &first.alarm);
    join(other);
    uint32_t count = unset + ceni_load_seq_cst(&other_unset);
    expect(count <= 1);
    if (count == 0) await_count(&first.calls, 1);
    finish();
    expect_equal(ceni_load_seq_cst(&first.calls), 1 - count);
}

EXPLORE(an_alarm_and_the_end_of_its_runtime_leave_nothing_behind, 4)
{
    begin();
    set(&first, ceni_clock_now() + 5);
    ceni_alarm_unset(runtime, &first.alarm);
    finish();
    expect(ceni_load_seq_cst(&first.calls) <= 1);
    expect_equal(ceni_world_bytes(), 0);
}
