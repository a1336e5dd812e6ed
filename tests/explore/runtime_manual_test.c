/* SPDX-License-Identifier: MIT */
/* A manual runtime under every schedule: what others set while one polls, tends or moves the clock. */
#include "explore/runtimes.h"
#include "runtime/internal.h"

static cen_runtime *runtime;
static job one;

static void begin(bool virtual_time)
{
    cen_runtime_options options = CEN_RUNTIME_OPTIONS(.manual = true, .virtual_time = virtual_time);
    expect_equal(cen_runtime_new(&options, &runtime, NULL), CEN_OK);
    init_job(&one, runtime);
}

static void finish(void)
{
    expect_equal(cen_runtime_free(runtime), CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
}

/* The loop of a program would come again: at once, or because the descriptor is readable. */
static void expect_run_or_foreseen(int64_t answer)
{
    bool ran = ceni_load_seq_cst(&one.runs) == 1;
    expect(ran || runtime->ringing || answer == 0);
    cen_runtime_poll(runtime);
    expect_equal(ceni_load_seq_cst(&one.runs), 1);
}

/* guarantees: runtime.poll */
EXPLORE(what_is_posted_while_one_polls_is_run_or_rings, 4)
{
    begin(false);
    ceni_thread other = start("other", post_from_thread, &one);
    int64_t answer = cen_runtime_poll(runtime);
    join(other);
    expect_run_or_foreseen(answer);
    finish();
}

/* guarantees: runtime.poll */
EXPLORE(what_is_posted_while_one_tends_is_run_or_rings, 4)
{
    begin(false);
    ceni_thread other = start("other", post_from_thread, &one);
    int64_t answer = cen_runtime_poll(runtime);
    ceni_runtime_tend(runtime);
    join(other);
    expect_run_or_foreseen(answer);
    finish();
}

static void poll_from_thread(void *unused)
{
    (void)unused;
    cen_runtime_poll(runtime);
}

/* guarantees: runtime.poll */
EXPLORE(of_two_who_poll_one_runs_and_the_other_runs_nothing_or_comes_later, 4)
{
    begin(false);
    post_job(&one);
    ceni_thread other = start("other", poll_from_thread, NULL);
    cen_runtime_poll(runtime);
    join(other);
    expect_equal(ceni_load_seq_cst(&one.runs), 1);
    expect(!runtime->runner && cen_runtime_poll(runtime) == -1);
    finish();
}

static void move_by_three(void *unused)
{
    (void)unused;
    expect_equal(cen_runtime_advance(runtime, 3), CEN_OK);
}

/* guarantees: runtime.virtual-time */
EXPLORE(two_who_move_the_clock_move_it_by_both_and_each_moment_comes_once, 4)
{
    chime alarm;
    begin(true);
    init_chime(&alarm);
    int64_t began = cen_runtime_now(runtime);
    ceni_alarm_set(runtime, &alarm.alarm, began + 4, NULL);
    ceni_thread other = start("other", move_by_three, NULL);
    expect_equal(cen_runtime_advance(runtime, 2), CEN_OK);
    join(other);
    expect_equal(cen_runtime_now(runtime), began + 5);
    expect_equal(ceni_load_seq_cst(&alarm.calls), 1);
    finish();
}

/* guarantees: runtime.virtual-time */
EXPLORE(whoever_moves_the_clock_is_woken_when_a_poll_has_ended, 4)
{
    begin(true);
    post_job(&one);
    ceni_thread other = start("other", poll_from_thread, NULL);
    expect_equal(cen_runtime_advance(runtime, 2), CEN_OK);
    join(other);
    expect_equal(ceni_load_seq_cst(&one.runs), 1);
    finish();
}
