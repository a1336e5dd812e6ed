/* SPDX-License-Identifier: MIT */
/* Errands and helpers, in virtual time. */
#include "support/world.h"
#include "unit/runtime/runtimes.h"

static const int64_t second = 1000000000;

static void expect_helpers(cen_runtime *runtime, unsigned helpers, unsigned busy)
{
    ceni_world_settle();
    cen_runtime_stats stats = look_at(runtime);
    expect_equal(stats.helpers, helpers);
    expect_equal(stats.busy, busy);
    expect_equal(stats.queued, 0);
}

TEST(an_errand_runs_once_on_a_thread_of_the_runtimes)
{
    cen_runtime *runtime = make_runtime(.name = NULL);
    job one;
    init_job(&one, runtime);
    expect_helpers(runtime, 0, 0);
    post_job(&one);
    expect_helpers(runtime, 1, 0);
    expect_equal(ceni_load_seq_cst(&one.runs), 1);
    expect(ceni_load_seq_cst(&one.thread) != ceni_thread_id());
    free_runtime(runtime);
    expect_equal(ceni_world_waiting(), 0);
}

TEST(a_blocked_errand_holds_up_no_other)
{
    cen_runtime *runtime = make_runtime(.name = NULL);
    job blocked[5], quick;
    for (int i = 0; i < 5; i++) {
        init_job(&blocked[i], runtime);
        shut_gate(&blocked[i]);
        post_job(&blocked[i]);
        if (i % 2) ceni_world_settle(); /* whether the helper has arrived or not */
    }
    init_job(&quick, runtime);
    post_job(&quick);
    expect_helpers(runtime, 6, 5);
    expect_equal(ceni_load_seq_cst(&quick.ended), 1);
    for (int i = 4; i >= 0; i--) {
        expect_equal(ceni_load_seq_cst(&blocked[i].runs), 1);
        open_gate(&blocked[i]);
        expect_helpers(runtime, 6, (unsigned)i);
    }
    free_runtime(runtime);
}

/* guarantees: runtime.linger */
TEST(a_helper_that_is_idle_is_used_again)
{
    cen_runtime *runtime = make_runtime(.name = NULL);
    job one;
    init_job(&one, runtime);
    for (unsigned round = 1; round <= 20; round++) {
        post_job(&one);
        expect_helpers(runtime, 1, 0);
        expect_equal(ceni_load_seq_cst(&one.ended), round);
    }
    free_runtime(runtime);
}

TEST(an_errand_that_is_posted_again_while_it_runs_runs_beside_itself)
{
    cen_runtime *runtime = make_runtime(.name = NULL);
    job one;
    init_job(&one, runtime);
    shut_gate(&one);
    for (int i = 0; i < 4; i++) post_job(&one);
    expect_helpers(runtime, 4, 4);
    expect_equal(ceni_load_seq_cst(&one.runs), 4);
    open_gate(&one);
    expect_helpers(runtime, 4, 0);
    expect_equal(ceni_load_seq_cst(&one.ended), 4);
    free_runtime(runtime);
}

/* guarantees: runtime.linger */
TEST(a_helper_without_work_departs_when_it_has_lingered_and_not_earlier)
{
    cen_runtime *runtime = make_runtime(.idle_timeout_ns = 3 * second);
    job one;
    init_job(&one, runtime);
    post_job(&one);
    ceni_world_settle();
    pass(3 * second - 1);
    expect_helpers(runtime, 1, 0);
    pass(1);
    expect_helpers(runtime, 0, 0);
    expect_equal(ceni_world_waiting(), 0);
    post_job(&one); /* and another comes when there is work */
    expect_helpers(runtime, 1, 0);
    expect_equal(ceni_load_seq_cst(&one.ended), 2);
    free_runtime(runtime);
}

/* guarantees: runtime.linger */
TEST(helpers_linger_ten_seconds_by_default_for_ever_with_off_and_not_at_all_with_none)
{
    cen_runtime *usual = make_runtime(.name = NULL), *forever = make_runtime(.idle_timeout_ns = CEN_OFF),
                *brief = make_runtime(.idle_timeout_ns = CEN_NONE);
    job one, two, three;
    init_job(&three, brief);
    post_job(&three);
    ceni_world_settle();
    expect_helpers(brief, 0, 0);
    free_runtime(brief);
    init_job(&one, usual);
    init_job(&two, forever);
    post_job(&one);
    post_job(&two);
    ceni_world_settle();
    pass(10 * second - 1);
    expect_helpers(usual, 1, 0);
    pass(1);
    expect_helpers(usual, 0, 0);
    pass(1000000 * second);
    expect_helpers(forever, 1, 0);
    free_runtime(usual);
    free_runtime(forever);
}

/* One of three is kept busy; the two that are not needed go. */
/* guarantees: runtime.linger */
TEST(the_surplus_of_a_burst_lingers_out_although_there_is_work_for_one)
{
    cen_runtime *runtime = make_runtime(.idle_timeout_ns = 10 * second);
    job burst, steady;
    init_job(&burst, runtime);
    init_job(&steady, runtime);
    shut_gate(&burst);
    for (int i = 0; i < 3; i++) post_job(&burst);
    expect_helpers(runtime, 3, 3);
    open_gate(&burst);
    expect_helpers(runtime, 3, 0);
    for (int i = 0; i < 4; i++) {
        pass(4 * second);
        post_job(&steady);
        ceni_world_settle();
    }
    expect_helpers(runtime, 1, 0);
    free_runtime(runtime);
}

static job *next_job;

static void post_next(job *self)
{
    (void)self;
    if (ceni_load_seq_cst(&next_job->runs) < 3) post_job(next_job);
}

static void post_next_from_alarm(chime *self)
{
    (void)self;
    post_job(next_job);
}

TEST(errands_can_be_posted_from_errands_and_from_alarms)
{
    cen_runtime *runtime = make_runtime(.name = NULL);
    job one, two;
    chime alarm;
    init_job(&one, runtime);
    init_job(&two, runtime);
    init_chime(&alarm, runtime, 0);
    one.inside = two.inside = post_next;
    alarm.inside = post_next_from_alarm;
    next_job = &two;
    post_job(&one);
    expect_helpers(runtime, 2, 0);
    expect_equal(ceni_load_seq_cst(&two.ended), 3);
    set_chime(&alarm, ceni_clock_now() + second);
    pass(second);
    expect_helpers(runtime, 2, 0);
    expect_equal(ceni_load_seq_cst(&two.ended), 4);
    free_runtime(runtime);
}

TEST(what_was_posted_is_run_before_a_runtime_ends)
{
    cen_runtime *runtime = make_runtime(.name = NULL);
    job jobs[6];
    for (int i = 0; i < 6; i++) {
        init_job(&jobs[i], runtime);
        post_job(&jobs[i]);
    }
    free_runtime(runtime);
    for (int i = 0; i < 6; i++) expect_equal(ceni_load_seq_cst(&jobs[i].ended), 1);
}
