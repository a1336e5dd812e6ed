/* SPDX-License-Identifier: MIT */
/* The end of a runtime under every schedule: the last to leave, wherever it is, takes everything along. */
#include "explore/runtimes.h"

static job one;

EXPLORE(whoever_leaves_last_ends_a_helper_that_has_just_run_its_errand, 4)
{
    cen_runtime *runtime = join_own();
    init_job(&one, runtime);
    post_job(&one);
    await_count(&one.runs, 1);
    ceni_runtime_leave(runtime);
    await_departed();
}

/* guarantees: runtime.default */
EXPLORE(of_a_thread_and_an_errand_that_leave_the_last_ends_the_runtime, 4)
{
    cen_runtime *runtime = join_own();
    expect(join_own() == runtime);
    init_job(&one, runtime);
    one.leaves = true;
    post_job(&one);
    ceni_runtime_leave(runtime);
    await_count(&one.runs, 1);
    await_departed();
}

/* guarantees: runtime.default */
EXPLORE(an_errand_that_leaves_last_ends_the_keeper_and_then_its_own_thread, 2)
{
    chime alarm;
    cen_runtime *runtime = join_own();
    init_chime(&alarm);
    init_job(&one, runtime);
    one.leaves = true;
    ceni_alarm_set(runtime, &alarm.alarm, CENI_FOREVER, NULL);
    expect(ceni_alarm_unset(runtime, &alarm.alarm));
    post_job(&one);
    await_count(&one.runs, 1);
    await_departed();
}

/* Its helper does not linger out, so the world ends well only if all have been joined. */
/* guarantees: runtime.free */
EXPLORE(keeper_and_helper_have_ended_when_their_runtime_is_freed, 3)
{
    chime alarm;
    cen_runtime *runtime = make_lingering(CEN_OFF);
    init_chime(&alarm);
    init_job(&one, runtime);
    ceni_alarm_set(runtime, &alarm.alarm, CENI_FOREVER, NULL);
    post_job(&one);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
    expect_equal(ceni_load_seq_cst(&one.runs), 1);
    expect_equal(ceni_world_bytes(), 0);
}

static void join_use_and_leave(void *unused)
{
    (void)unused;
    cen_runtime *runtime = join_own();
    cen_runtime_stats stats = CEN_SIZED(cen_runtime_stats);
    expect_equal(cen_runtime_stats_get(NULL, &stats), CEN_OK);
    expect(stats.users >= 1);
    ceni_runtime_leave(runtime);
}

/* guarantees: runtime.default */
EXPLORE(one_who_joins_while_another_leaves_has_a_runtime, 4)
{
    ceni_thread other = start("other", join_use_and_leave, NULL);
    join_use_and_leave(NULL);
    join(other);
    cen_runtime_stats stats = CEN_SIZED(cen_runtime_stats);
    expect_equal(cen_runtime_stats_get(NULL, &stats), CEN_OK);
    expect_equal(stats.users, 0);
    await_departed();
}

static void look_once(void *unused)
{
    (void)unused;
    cen_runtime_stats stats = CEN_SIZED(cen_runtime_stats);
    expect_equal(cen_runtime_stats_get(NULL, &stats), CEN_OK);
    expect(stats.users <= 1 && stats.helpers <= 1 && stats.busy <= stats.helpers);
}

/* guarantees: runtime.default */
EXPLORE(one_who_looks_does_not_touch_a_runtime_that_has_ended, 3)
{
    ceni_thread other = start("other", look_once, NULL);
    cen_runtime *runtime = join_own();
    init_job(&one, runtime);
    post_job(&one);
    ceni_runtime_leave(runtime);
    join(other);
    expect_equal(ceni_load_seq_cst(&one.runs), 1);
    await_departed();
}

/* guarantees: runtime.free */
EXPLORE(a_helper_that_departs_by_itself_and_one_who_frees_do_not_meet, 4)
{
    cen_runtime *runtime = make_lingering(100 * 1000);
    init_job(&one, runtime);
    post_job(&one);
    await_count(&one.runs, 1);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
    await_departed();
}
