/* SPDX-License-Identifier: MIT */
/* Errands under every schedule: posted while helpers arrive, fall idle and depart. */
#include "explore/runtimes.h"

static cen_runtime *runtime;
static job first, second;

static void begin(int64_t idle_timeout_ns)
{
    runtime = make_lingering(idle_timeout_ns);
    init_job(&first, runtime);
    init_job(&second, runtime);
}

static void finish(void)
{
    expect_equal(cen_runtime_free(runtime), CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
}

/* guarantees: runtime.calls */
EXPLORE(an_errand_that_meets_a_helper_about_to_depart_is_run, 3)
{
    begin(100 * 1000);
    post_job(&first);
    await_count(&first.runs, 1);
    post_job(&second);
    await_count(&second.runs, 1);
    finish();
    await_departed();
}

/* guarantees: runtime.calls */
EXPLORE(an_errand_that_meets_a_helper_about_to_fall_idle_is_run, 3)
{
    begin(CEN_OFF);
    post_job(&first);
    await_count(&first.runs, 1);
    post_job(&second);
    finish();
    expect_equal(ceni_load_seq_cst(&second.runs), 1);
}

/* guarantees: runtime.calls */
EXPLORE(two_who_post_at_once_are_both_served, 2)
{
    begin(CEN_OFF);
    ceni_thread other = start("other", post_from_thread, &second);
    post_job(&first);
    await_count(&first.runs, 1);
    await_count(&second.runs, 1);
    join(other);
    finish();
}

/* guarantees: runtime.calls */
EXPLORE(an_errand_that_is_posted_twice_runs_twice, 2)
{
    begin(CEN_OFF);
    ceni_thread other = start("other", post_from_thread, &first);
    post_job(&first);
    await_count(&first.runs, 2);
    join(other);
    finish();
    expect_equal(ceni_load_seq_cst(&first.runs), 2);
}

/* The first blocks until the second has run. */
/* guarantees: runtime.calls */
EXPLORE(a_blocked_errand_holds_up_no_other, 3)
{
    begin(CEN_OFF);
    first.waits_for = &second;
    post_job(&first);
    post_job(&second);
    finish(); /* which waits for both */
    expect_equal(ceni_load_seq_cst(&first.runs), 1);
}

/* guarantees: runtime.calls */
EXPLORE(a_blocked_errand_holds_up_none_that_is_posted_at_the_same_time, 2)
{
    begin(CEN_OFF);
    first.waits_for = &second;
    ceni_thread other = start("other", post_from_thread, &second);
    post_job(&first);
    await_count(&first.runs, 1);
    join(other);
    finish();
}

/* An idle helper was called for the first; the second needs one of its own. */
/* guarantees: runtime.calls */
EXPLORE(a_helper_that_was_called_for_one_errand_is_not_counted_for_another, 2)
{
    begin(CEN_OFF);
    job before;
    init_job(&before, runtime);
    post_job(&before);
    ceni_world_settle();
    first.waits_for = &second;
    post_job(&first);
    post_job(&second);
    await_count(&first.runs, 1);
    finish();
}

/* guarantees: runtime.free */
EXPLORE(what_was_posted_is_run_before_the_runtime_ends, 4)
{
    begin(CEN_OFF);
    post_job(&first);
    finish();
    expect_equal(ceni_load_seq_cst(&first.runs), 1);
}
