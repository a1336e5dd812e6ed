/* SPDX-License-Identifier: MIT */
/* The limit of helpers, in virtual time. */
#include "support/world.h"
#include "unit/runtime/runtimes.h"

enum { MOST = 8 }; /* of which one is kept for closings, and two are for proven pools */

static job jobs[40];
static unsigned used;

static job *blocked(cen_runtime *runtime, ceni_errand_kind kind)
{
    job *made = &jobs[used++];
    init_job(made, runtime);
    ceni_errand_init_limited(&made->errand, job_runs, kind);
    shut_gate(made);
    post_job(made);
    ceni_world_settle();
    return made;
}

static cen_runtime *begin(int32_t max_helpers)
{
    used = 0;
    return make_runtime(.max_helpers = max_helpers);
}

static void finish(cen_runtime *runtime)
{
    for (unsigned i = 0; i < used; i++) open_gate(&jobs[i]);
    ceni_world_settle();
    for (unsigned i = 0; i < used; i++) expect_equal(ceni_load_seq_cst(&jobs[i].ended), 1);
    cen_runtime_stats stats = look_at(runtime);
    expect_equal(stats.queued, 0);
    expect_equal(stats.waiting, 0);
    free_runtime(runtime);
}

static bool runs(job *one)
{
    return ceni_load_seq_cst(&one->runs) == 1;
}

static void expect_numbers(cen_runtime *runtime, unsigned busy, unsigned waiting)
{
    cen_runtime_stats stats = look_at(runtime);
    expect_equal(stats.busy, busy);
    expect_equal(stats.waiting, waiting);
    expect_equal(stats.queued, waiting);
}

/* guarantees: runtime.helper-limit */
TEST(a_runtime_has_no_more_helpers_in_calls_than_its_limit)
{
    cen_runtime *runtime = begin(MOST);
    for (int i = 0; i < 20; i++) blocked(runtime, CENI_ERRAND_PROVEN);
    expect_numbers(runtime, MOST - 1, 20 - (MOST - 1));
    expect_equal(look_at(runtime).helpers, MOST - 1);
    expect(ceni_runtime_is_crowded(runtime));
    finish(runtime);
}

/* guarantees: runtime.helper-limit */
TEST(the_limit_is_256_by_default_and_none_with_off)
{
    cen_runtime *usual = begin(0), *unlimited = make_runtime(.max_helpers = CEN_OFF);
    expect_equal(look_at(usual).max_helpers, 256);
    expect_equal(look_at(unlimited).max_helpers, UINT32_MAX);
    for (int i = 0; i < 20; i++) blocked(unlimited, CENI_ERRAND_UNPROVEN);
    expect_numbers(unlimited, 20, 0);
    free_runtime(usual);
    finish(unlimited);
}

/* guarantees: runtime.helper-limit */
TEST(at_the_limit_a_closing_has_the_helper_that_is_kept_for_it)
{
    cen_runtime *runtime = begin(MOST);
    for (int i = 0; i < 20; i++) blocked(runtime, CENI_ERRAND_PROVEN);
    job *closing = blocked(runtime, CENI_ERRAND_CLOSING), *next = blocked(runtime, CENI_ERRAND_CLOSING);
    expect(runs(closing) && !runs(next));
    open_gate(closing);
    ceni_world_settle();
    expect(runs(next));
    finish(runtime);
}

/* guarantees: runtime.helper-limit */
TEST(calls_that_hang_leave_helpers_to_pools_whose_last_call_succeeded)
{
    cen_runtime *runtime = begin(MOST);
    for (int i = 0; i < 10; i++) blocked(runtime, CENI_ERRAND_UNPROVEN);
    for (int i = 0; i < 10; i++) blocked(runtime, CENI_ERRAND_CLOSING);
    expect_numbers(runtime, MOST - MOST / 4, 20 - (MOST - MOST / 4));
    job *works = blocked(runtime, CENI_ERRAND_PROVEN), *also = blocked(runtime, CENI_ERRAND_PROVEN);
    expect(runs(works) && runs(also));
    expect_numbers(runtime, MOST, 20 - (MOST - MOST / 4));
    finish(runtime);
}

/* guarantees: runtime.helper-limit */
TEST(at_the_limit_calls_of_pools_whose_last_call_succeeded_go_first_and_one_in_eight_is_anothers)
{
    cen_runtime *runtime = begin(2); /* one for calls, and one that is kept */
    job *first = blocked(runtime, CENI_ERRAND_PROVEN), *others[3], *proven[24];
    for (int i = 0; i < 3; i++) others[i] = blocked(runtime, CENI_ERRAND_UNPROVEN);
    for (int i = 0; i < 24; i++) proven[i] = blocked(runtime, CENI_ERRAND_PROVEN);
    open_gate(first);
    unsigned met = 0;
    for (int turn = 1; turn <= 27; turn++) {
        ceni_world_settle();
        unsigned others_run = 0;
        for (int i = 0; i < 3; i++) others_run += runs(others[i]);
        if (turn == 1) expect(others_run == 0 && runs(proven[0]));
        expect_equal(others_run, turn / 8);
        met = others_run;
        for (unsigned i = 0; i < used; i++)
            if (runs(&jobs[i])) open_gate(&jobs[i]);
    }
    expect_equal(met, 3);
    finish(runtime);
}

/* guarantees: runtime.helper-limit */
TEST(a_pool_whose_call_succeeds_comes_before_those_that_were_posted_earlier)
{
    cen_runtime *runtime = begin(2);
    job *first = blocked(runtime, CENI_ERRAND_UNPROVEN);
    job *early = blocked(runtime, CENI_ERRAND_UNPROVEN), *late = blocked(runtime, CENI_ERRAND_UNPROVEN);
    ceni_errand_prove(runtime, &late->errand, true);
    open_gate(first);
    ceni_world_settle();
    expect(runs(late) && !runs(early));
    finish(runtime);
}

/* guarantees: runtime.helper-limit */
TEST(a_pool_whose_call_succeeds_has_the_helpers_that_are_kept_for_such_at_once)
{
    cen_runtime *runtime = begin(MOST);
    for (int i = 0; i < 10; i++) blocked(runtime, CENI_ERRAND_UNPROVEN);
    job *one = blocked(runtime, CENI_ERRAND_UNPROVEN);
    expect(!runs(one));
    ceni_errand_prove(runtime, &one->errand, true);
    ceni_world_settle();
    expect(runs(one));
    finish(runtime);
}

/* guarantees: runtime.helper-limit */
TEST(a_larger_limit_lets_what_waits_begin)
{
    cen_runtime *runtime = begin(2);
    for (int i = 0; i < 20; i++) blocked(runtime, CENI_ERRAND_PROVEN);
    expect_numbers(runtime, 1, 19);
    expect_equal(cen_runtime_max_helpers_set(runtime, 11), CEN_OK);
    ceni_world_settle();
    expect_numbers(runtime, 10, 10);
    expect_equal(cen_runtime_max_helpers_set(runtime, CEN_OFF), CEN_OK);
    ceni_world_settle();
    expect_numbers(runtime, 20, 0);
    expect_equal(cen_runtime_max_helpers_set(runtime, 0), CEN_OK);
    expect_equal(look_at(runtime).max_helpers, 256);
    finish(runtime);
}

/* guarantees: runtime.helper-limit */
TEST(jobs_are_not_limited)
{
    cen_runtime *runtime = begin(2);
    for (int i = 0; i < 10; i++) blocked(runtime, CENI_ERRAND_FREE);
    for (int i = 0; i < 10; i++) blocked(runtime, CENI_ERRAND_PROVEN);
    expect_numbers(runtime, 11, 9);
    finish(runtime);
}

/* guarantees: runtime.helper-limit */
TEST(what_waits_at_the_limit_is_run_before_a_runtime_ends)
{
    cen_runtime *runtime = begin(2);
    for (int i = 0; i < 10; i++) blocked(runtime, CENI_ERRAND_UNPROVEN);
    for (unsigned i = 0; i < used; i++) open_gate(&jobs[i]);
    free_runtime(runtime);
    for (unsigned i = 0; i < used; i++) expect_equal(ceni_load_seq_cst(&jobs[i].ended), 1);
}

TEST(a_limit_of_one_or_less_is_refused)
{
    cen_runtime *runtime = begin(0);
    cen_runtime_options options = CEN_RUNTIME_OPTIONS(.max_helpers = 1);
    cen_error error;
    expect_equal(cen_runtime_new(&options, &(cen_runtime *){NULL}, &error), CEN_INVALID);
    expect_text(error.text, "cen_runtime_new: options.max_helpers must be at least 2, or CEN_OFF for no limit (got 1)");
    expect_equal(cen_runtime_max_helpers_set(runtime, 1), CEN_INVALID);
    expect_equal(cen_runtime_max_helpers_set(runtime, CEN_NONE), CEN_INVALID);
    expect_equal(look_at(runtime).max_helpers, 256);
    free_runtime(runtime);
}

/* guarantees: runtime.helper-limit */
TEST(the_process_own_runtime_keeps_its_limit_when_it_is_made_again)
{
    expect_equal(cen_runtime_max_helpers_set(NULL, 5), CEN_OK);
    for (int i = 0; i < 2; i++) {
        cen_runtime *own = join_own();
        expect_equal(look_at(NULL).max_helpers, 5);
        expect_equal(cen_runtime_max_helpers_set(NULL, 7), CEN_OK);
        expect_equal(look_at(NULL).max_helpers, 7);
        expect_equal(cen_runtime_max_helpers_set(NULL, 5), CEN_OK);
        ceni_runtime_leave(own);
    }
    expect_equal(cen_runtime_max_helpers_set(NULL, 0), CEN_OK);
}
