/* SPDX-License-Identifier: MIT */
/*
 * The runtime when memory, threads or descriptors cannot be had: nothing leaks,
 * what was promised is done, and the next call tries again.
 */
#include <cenote/timer.h>

#include "support/faults.h"
#include "support/world.h"
#include "unit/runtime/tasks.h"

static const int64_t second = 1000000000;

/* ---- Making one --------------------------------------------------------------------- */

static cen_runtime *runtime;
static cen_runtime_options to_make;

static cen_status make_one(void)
{
    cen_error error = {.status = CEN_OK};
    cen_status status = cen_runtime_new(&to_make, &runtime, &error);
    expect(status == CEN_OK || (error.status == status && strstr(error.text, "cen_runtime_new: ")));
    return status;
}

static const char *no_memory_and_nothing_made(cen_status status)
{
    return status != CEN_NO_MEMORY ? "it does not say NO_MEMORY" : runtime ? "the output was written" : NULL;
}

static const char *no_descriptor_and_nothing_made(cen_status status)
{
    return status != CEN_SYSTEM ? "it does not say SYSTEM" : runtime ? "the output was written" : NULL;
}

static void free_it(void)
{
    expect_equal(cen_runtime_free(runtime), CEN_OK);
    runtime = NULL;
}

/* guarantees: runtime.out-of-memory */
TEST(a_runtime_that_gets_no_memory_or_no_descriptor_leaves_nothing_behind)
{
    for (int manual = 0; manual < 2; manual++) {
        to_make = CEN_RUNTIME_OPTIONS(.manual = manual);
        fault_sweep memory = {
            .mask = CENI_FAULT_ALLOC, .operation = make_one, .check = no_memory_and_nothing_made, .undo = free_it};
        expect_equal(fault_sweep_check(&memory), 1);
    }
    fault_sweep descriptor = {
        .mask = CENI_FAULT_FD, .operation = make_one, .check = no_descriptor_and_nothing_made, .undo = free_it};
    expect_equal(fault_sweep_check(&descriptor), 1);
}

static cen_status join_it(void)
{
    return ceni_runtime_join(NULL, &runtime);
}

static void leave_it(void)
{
    if (runtime) ceni_runtime_leave(runtime);
    runtime = NULL;
}

/* guarantees: runtime.out-of-memory */
TEST(one_who_joins_and_gets_no_memory_is_told_so_and_is_not_counted)
{
    fault_sweep sweep = {
        .mask = CENI_FAULT_ANY, .operation = join_it, .check = no_memory_and_nothing_made, .undo = leave_it};
    expect_equal(fault_sweep_check(&sweep), 1);
    expect_equal(look_at(NULL).users, 0);
}

/* ---- No keeper ------------------------------------------------------------------------ */

/* guarantees: runtime.out-of-memory */
TEST(an_alarm_for_which_no_keeper_can_be_had_is_set_all_the_same_and_the_next_set_tries_again)
{
    cen_runtime *own = join_own();
    chime one, two;
    cen_status status = CEN_OK;
    init_chime(&one, own, 0);
    init_chime(&two, own, 0);
    int64_t now = ceni_clock_now();
    for (int i = 0; i < 2; i++) {
        ceni_fault_arm(CENI_FAULT_THREAD, 1);
        expect_equal(ceni_alarm_set(own, &one.alarm, now + second, &status), i > 0);
        expect(ceni_fault_disarm());
        expect_equal(status, CEN_SYSTEM);
        expect(!look_at(own).has_keeper);
        expect_equal(look_at(own).timers, 1);
    }
    ceni_fault_arm(CENI_FAULT_THREAD, 1);
    expect(!ceni_alarm_set(own, &two.alarm, now + 3 * second, NULL)); /* who does not ask is not told */
    expect(ceni_fault_disarm());
    expect(unset_chime(&two));
    pass_until(now + 2 * second);
    expect_equal(one.calls, 0);
    set_chime(&two, now + 3 * second);
    ceni_world_settle();
    expect_equal(one.calls, 1); /* late, but not lost */
    pass_until(now + 3 * second);
    expect_equal(two.calls, 1);
    ceni_runtime_leave(own);
}

static cen_timer timer;
static bool named; /* an explicit runtime */

static void make_timer_and_runtime(void)
{
    runtime = named ? make_runtime(.name = NULL) : NULL;
    cen_timer_init(&timer);
}

static cen_status start_it(void)
{
    return cen_timer_start(&timer, runtime, cen_in_s(1), NULL);
}

static const char *not_started_and_can_be(cen_status status)
{
    if (status != CEN_NO_MEMORY && status != CEN_SYSTEM) return "it says neither NO_MEMORY nor SYSTEM";
    cen_runtime_stats stats = look_at(runtime);
    if (stats.users || stats.timers || stats.has_keeper) return "something was set, or somebody is counted";
    pass(2 * second);
    if (cen_future_is_done(&timer.future)) return "it was done";
    if (cen_future_wait(&timer.future, CEN_NOW) != CEN_INVALID) return "it was promised";
    int64_t now = ceni_clock_now();
    if (start_it() != CEN_OK) return "it cannot be started afterwards";
    pass_until(now + second);
    return cen_future_is_done(&timer.future) ? NULL : "it is not done afterwards";
}

static void end_timer_and_runtime(void)
{
    if (!cen_future_is_done(&timer.future)) expect(cen_future_cancel(&timer.future));
    if (runtime) free_it();
    ceni_world_settle();
}

/* guarantees: runtime.timer-life */
TEST(a_timer_for_which_memory_or_a_keeper_cannot_be_had_is_not_started)
{
    for (int i = 0; i < 2; i++) {
        named = i;
        fault_sweep sweep = {.mask = CENI_FAULT_ALLOC | CENI_FAULT_THREAD,
                             .setup = make_timer_and_runtime,
                             .operation = start_it,
                             .check = not_started_and_can_be,
                             .undo = end_timer_and_runtime};
        expect_equal(fault_sweep_check(&sweep), named ? 1 : 2);
    }
}

/* guarantees: runtime.timer-life */
TEST(a_timer_is_done_and_given_up_although_nothing_can_be_had_any_more)
{
    cen_timer given_up;
    cen_timer_init(&timer);
    cen_timer_init(&given_up);
    expect_equal(cen_timer_start(&timer, NULL, cen_in_s(1), NULL), CEN_OK);
    expect_equal(cen_timer_start(&given_up, NULL, CEN_NEVER, NULL), CEN_OK);
    ceni_fault_arm(CENI_FAULT_ANY & ~(unsigned)CENI_FAULT_WAIT, 1);
    expect(cen_future_cancel(&given_up.future));
    pass(second);
    expect(cen_future_is_done(&timer.future));
    expect(!ceni_fault_disarm()); /* it did not even ask */
    expect_equal(ceni_world_bytes(), 0);
}

/* ---- No helper ------------------------------------------------------------------------ */

static job jobs[3];

static void make_with_jobs(void)
{
    runtime = make_runtime(.name = NULL);
    for (int i = 0; i < 3; i++) init_job(&jobs[i], runtime);
}

static cen_status post_first(void)
{
    return ceni_errand_post(runtime, &jobs[0].errand);
}

static const char *nothing_was_posted(cen_status status)
{
    ceni_world_settle();
    cen_runtime_stats stats = look_at(runtime);
    if (status != CEN_SYSTEM) return "it does not say SYSTEM";
    if (stats.queued || stats.helpers) return "something was posted or started";
    if (post_first() != CEN_OK) return "it cannot be posted afterwards";
    ceni_world_settle();
    return ceni_load_seq_cst(&jobs[0].ended) == 1 ? NULL : "it was not run once afterwards";
}

/* guarantees: runtime.out-of-memory */
TEST(an_errand_for_which_there_is_no_helper_at_all_is_refused)
{
    fault_sweep sweep = {.mask = CENI_FAULT_THREAD,
                         .setup = make_with_jobs,
                         .operation = post_first,
                         .check = nothing_was_posted,
                         .undo = free_it};
    expect_equal(fault_sweep_check(&sweep), 1);
}

/* guarantees: runtime.out-of-memory */
TEST(an_errand_for_which_no_further_helper_can_be_had_waits_for_those_there_are)
{
    make_with_jobs();
    shut_gate(&jobs[0]);
    post_job(&jobs[0]);
    ceni_world_settle();
    ceni_fault_arm(CENI_FAULT_THREAD, 1);
    post_job(&jobs[1]);
    expect(ceni_fault_disarm());
    ceni_world_settle();
    expect_equal(look_at(runtime).queued, 1);
    expect_equal(ceni_load_seq_cst(&jobs[1].runs), 0);
    open_gate(&jobs[0]);
    ceni_world_settle();
    expect_equal(ceni_load_seq_cst(&jobs[1].ended), 1);
    expect_equal(look_at(runtime).helpers, 1);
    free_it();
}

/* The first blocks, the second found no helper; the third brings one for each. */
/* guarantees: runtime.out-of-memory */
TEST(the_next_post_brings_the_helpers_that_could_not_be_had_before)
{
    make_with_jobs();
    shut_gate(&jobs[0]);
    shut_gate(&jobs[1]);
    post_job(&jobs[0]);
    ceni_world_settle();
    ceni_fault_arm(CENI_FAULT_THREAD, 1);
    post_job(&jobs[1]);
    expect(ceni_fault_disarm());
    post_job(&jobs[2]);
    ceni_world_settle();
    expect_equal(ceni_load_seq_cst(&jobs[1].runs), 1);
    expect_equal(ceni_load_seq_cst(&jobs[2].ended), 1);
    expect_equal(look_at(runtime).helpers, 3);
    open_gate(&jobs[0]);
    open_gate(&jobs[1]);
    ceni_world_settle();
    free_it();
}

/* ---- Waking for no reason --------------------------------------------------------------- */

static cen_status use_everything(void)
{
    chime one;
    int64_t now = ceni_clock_now();
    init_chime(&one, runtime, 0);
    set_chime(&one, now + second);
    post_job(&jobs[0]);
    pass_until(now + second - 1);
    if (one.calls != 0) return CEN_TIMEOUT;
    pass_until(now + second);
    post_job(&jobs[1]);
    ceni_world_settle();
    bool all = one.calls == 1 && ceni_load_seq_cst(&jobs[0].ended) == 1 && ceni_load_seq_cst(&jobs[1].ended) == 1;
    return all && look_at(runtime).helpers == 1 ? CEN_OK : CEN_CLOSED;
}

static const char *done_all_the_same(cen_status status)
{
    return status == CEN_OK ? NULL : "a wake-up for no reason changes what is done";
}

/* guarantees: runtime.out-of-memory */
TEST(threads_that_wake_for_no_reason_do_what_they_did_before)
{
    fault_sweep sweep = {.mask = CENI_FAULT_WAIT,
                         .setup = make_with_jobs,
                         .operation = use_everything,
                         .check = done_all_the_same,
                         .undo = free_it};
    expect(fault_sweep_check(&sweep) >= 3);
}

/* ---- The end needs nothing ----------------------------------------------------------------- */

/* guarantees: runtime.free */
TEST(a_runtime_ends_although_nothing_can_be_had_any_more)
{
    make_with_jobs();
    chime one;
    init_chime(&one, runtime, 0);
    set_chime(&one, CENI_FOREVER);
    for (int i = 0; i < 3; i++) post_job(&jobs[i]);
    ceni_world_settle();
    expect(unset_chime(&one));
    ceni_fault_arm(CENI_FAULT_ANY & ~(unsigned)CENI_FAULT_WAIT, 1);
    free_it();
    expect(!ceni_fault_disarm()); /* it did not even ask */
    expect_equal(ceni_world_bytes(), 0);
}

/* ---- Jobs, which cannot be refused ------------------------------------------------------ */

static task tasks[2];

static void make_with_tasks(cen_runtime *made)
{
    runtime = made;
    for (int i = 0; i < 2; i++) init_task(&tasks[i], cen_runtime_executor(made));
}

static void post_without_thread(task *one, unsigned nth)
{
    ceni_fault_arm(CENI_FAULT_THREAD, nth);
    post_task(one);
    expect(ceni_fault_disarm());
    ceni_world_settle();
}

/* guarantees: runtime.jobs */
TEST(a_job_for_which_no_thread_can_be_had_is_tried_again_by_the_keeper)
{
    make_with_tasks(make_runtime(.name = NULL));
    post_without_thread(&tasks[0], 1);
    expect_equal(runs_of(&tasks[0]), 0);
    expect_equal(cen_runtime_free(runtime), CEN_BUSY);
    pass(second / 10);
    expect_equal(ceni_load_seq_cst(&tasks[0].ended), 1);
    expect_equal(look_at(runtime).timers, 0);
    free_it();
}

TEST(the_keeper_tries_again_until_there_is_a_thread)
{
    make_with_tasks(make_runtime(.name = NULL));
    post_without_thread(&tasks[0], 1);
    for (int i = 0; i < 5; i++) {
        ceni_fault_arm(CENI_FAULT_THREAD, 1);
        pass(second / 10);
        expect(ceni_fault_disarm());
        expect_equal(runs_of(&tasks[0]), 0);
    }
    pass(second / 10);
    expect_equal(ceni_load_seq_cst(&tasks[0].ended), 1);
    free_it();
}

/* guarantees: runtime.jobs */
TEST(a_job_for_which_no_thread_can_be_had_is_tried_again_at_the_next_post)
{
    make_with_tasks(make_runtime(.name = NULL));
    block_task(&tasks[0]);
    post_without_thread(&tasks[0], 1);
    expect_equal(runs_of(&tasks[0]), 0);
    post_task(&tasks[1]);
    ceni_world_settle();
    expect_equal(runs_of(&tasks[0]), 1);
    expect_equal(ceni_load_seq_cst(&tasks[1].ended), 1);
    unblock_task(&tasks[0]);
    ceni_world_settle();
    free_it();
}

/* A helper is there, but it blocks: the second has one of its own as soon as one can be had. */
TEST(a_job_that_found_no_further_helper_does_not_wait_for_one_that_blocks)
{
    make_with_tasks(make_runtime(.name = NULL));
    block_task(&tasks[0]);
    post_task(&tasks[0]);
    ceni_world_settle();
    post_without_thread(&tasks[1], 1);
    expect_equal(runs_of(&tasks[1]), 0);
    pass(second / 10);
    expect_equal(ceni_load_seq_cst(&tasks[1].ended), 1);
    unblock_task(&tasks[0]);
    free_it();
}

/* guarantees: runtime.jobs */
TEST(jobs_for_which_there_is_no_memory_for_the_process_own_wait_for_the_next)
{
    make_with_tasks(NULL);
    ceni_fault_arm(CENI_FAULT_ALLOC, 1);
    post_task(&tasks[0]);
    expect(ceni_fault_disarm());
    ceni_world_settle();
    expect_equal(runs_of(&tasks[0]), 0);
    expect_equal(look_at(NULL).users, 0);
    post_task(&tasks[1]);
    ceni_world_settle();
    expect_equal(ceni_load_seq_cst(&tasks[0].ended), 1);
    expect_equal(ceni_load_seq_cst(&tasks[1].ended), 1);
    expect_equal(look_at(NULL).users, 0);
    expect_equal(ceni_world_bytes(), 0);
}

TEST(whoever_joins_the_process_own_brings_the_jobs_along_that_wait_for_it)
{
    make_with_tasks(NULL);
    for (int i = 0; i < 2; i++) {
        ceni_fault_arm(CENI_FAULT_ALLOC, 1);
        post_task(&tasks[i]);
        expect(ceni_fault_disarm());
    }
    cen_runtime *own = join_own();
    ceni_world_settle();
    for (int i = 0; i < 2; i++) expect_equal(ceni_load_seq_cst(&tasks[i].ended), 1);
    expect_equal(look_at(own).users, 1);
    ceni_runtime_leave(own);
    expect_equal(ceni_world_bytes(), 0);
}
