/* SPDX-License-Identifier: MIT */
/* The exit handler under every schedule: no call runs when it returns, and none begins after that. */
#include "explore/runtimes.h"
#include "port/process_exit.h"

static _Atomic uint32_t begun, ended, is_over;

static void reset_words(void)
{
    ceni_store_relaxed(&begun, 0);   /* before there are threads; carries nothing */
    ceni_store_relaxed(&ended, 0);   /* likewise; carries nothing */
    ceni_store_relaxed(&is_over, 0); /* likewise; carries nothing */
}

static void call_once(void *unused)
{
    (void)unused;
    uint64_t call = ceni_exit_call_begin();
    if (!call) return;
    expect_equal(ceni_load_seq_cst(&is_over), 0);
    count_up(&begun);
    count_up(&ended);
    ceni_exit_call_end(call);
}

static void expect_quiet(void)
{
    ceni_store_seq_cst(&is_over, 1);
    expect_equal(ceni_load_seq_cst(&begun), ceni_load_seq_cst(&ended));
}

/* guarantees: runtime.exit */
EXPLORE(exit_waits_for_a_call_that_has_begun_and_lets_no_other_begin, 3)
{
    reset_words();
    ceni_exit_set_timeout(CENI_FOREVER);
    ceni_thread one_thread = start("one", call_once, NULL), other = start("other", call_once, NULL);
    ceni_exit_run();
    expect_quiet();
    join(one_thread);
    join(other);
}

/* What the world runs at the end of a thread stands for the destructors of a client library. */
static void destroy(void)
{
    count_up(&ended);
}

static void leave(void *unused)
{
    (void)unused;
    ceni_thread_at_exit(CENI_EXIT_ENTRIES, destroy);
    expect(ceni_exit_leaving_begin());
    count_up(&begun);
}

/* guarantees: runtime.exit */
EXPLORE(exit_waits_for_the_destructors_of_a_thread_that_leaves, 3)
{
    reset_words();
    ceni_exit_set_timeout(CENI_FOREVER);
    ceni_thread thread = start("leaves", leave, NULL);
    await_count(&begun, 1);
    ceni_exit_run();
    expect_equal(ceni_load_seq_cst(&ended), 1);
    join(thread);
}

static void exit_in_call(void *unused)
{
    (void)unused;
    uint64_t call = ceni_exit_call_begin();
    ceni_exit_run();
    if (call) ceni_exit_call_end(call);
}

/* guarantees: runtime.exit */
EXPLORE(exit_from_within_a_call_does_not_wait_for_itself, 3)
{
    ceni_exit_set_timeout(CENI_FOREVER);
    ceni_thread thread = start("exits", exit_in_call, NULL);
    call_once(NULL);
    join(thread);
    expect(ceni_exiting());
}

static job one, two;

/* guarantees: runtime.exit */
EXPLORE(exit_waits_for_an_errand_and_leaves_the_next_in_the_queue, 2)
{
    cen_runtime *runtime = make_lingering(CEN_OFF);
    ceni_exit_set_timeout(CENI_FOREVER);
    init_job(&one, runtime);
    init_job(&two, runtime);
    post_job(&one);
    ceni_exit_run();
    uint32_t runs = ceni_load_seq_cst(&one.runs);
    expect_equal(ceni_errand_post(runtime, &two.errand), CEN_SYSTEM);
    expect_equal(ceni_load_seq_cst(&one.runs), runs);
    expect_equal(ceni_errand_unpost(runtime, &one.errand), 1 - runs);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
}

/* guarantees: runtime.wait-idle */
EXPLORE(await_returns_when_nothing_is_queued_and_no_helper_is_in_a_call, 3)
{
    cen_runtime *runtime = make_lingering(CEN_OFF);
    init_job(&one, runtime);
    post_job(&one);
    expect_equal(cen_runtime_wait_idle(runtime, CEN_NEVER), CEN_OK);
    expect_equal(ceni_load_seq_cst(&one.runs), 1);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
}

/* guarantees: runtime.wait-idle */
EXPLORE(await_of_the_process_returns_when_the_last_helper_has_ended, 2)
{
    cen_runtime *runtime = join_own();
    init_job(&one, runtime);
    one.leaves = true;
    post_job(&one);
    expect_equal(cen_runtime_wait_idle(NULL, CEN_NEVER), CEN_OK);
    expect_equal(ceni_load_seq_cst(&one.runs), 1);
    await_departed();
}
