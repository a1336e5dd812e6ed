/* SPDX-License-Identifier: MIT */
/* The inline executor: where a job runs, in which order, and how deep. */
#include <cenote/future.h>
#include <cenote/inbox.h>

#include "sync/future.h"

#include "support/world.h"

static char order[16];
static int steps;

static void note(char what)
{
    expect(steps < (int)sizeof order - 1);
    order[steps++] = what;
    order[steps] = 0;
}

static void begin(void)
{
    steps = 0;
    order[0] = 0;
}

static void post_inline(cen_job *job)
{
    cen_executor *executor = cen_inline();
    executor->post(executor, job);
}

static void run_b(cen_job *job)
{
    (void)job;
    note('b');
}

static cen_job inner = {.run = run_b};

static void run_a(cen_job *job)
{
    (void)job;
    note('a');
    post_inline(&inner);
    note('A');
}

/* guarantees: future.inline */
TEST(with_no_call_open_a_job_runs_before_post_returns)
{
    begin();
    post_inline(&inner);
    note('.');
    expect_text(order, "b.");
}

/* guarantees: future.inline */
TEST(what_a_job_posts_runs_after_it_and_before_the_outermost_post_returns)
{
    begin();
    cen_job outer = {.run = run_a};
    post_inline(&outer);
    note('.');
    expect_text(order, "aAb.");
}

/* guarantees: future.inline */
TEST(within_a_call_jobs_wait_until_the_outermost_has_ended_and_run_in_order)
{
    begin();
    ceni_inline_run here, deeper;
    cen_job outer = {.run = run_a}, last = {.run = run_b};
    ceni_inline_begin(&here);
    post_inline(&outer);
    ceni_inline_begin(&deeper);
    post_inline(&last);
    ceni_inline_end(&deeper);
    note('.');
    ceni_inline_end(&here);
    expect_text(order, ".aAbb");
    begin();
    post_inline(&inner); /* nothing is open any more */
    expect_text(order, "b");
}

static _Atomic uint32_t ran_elsewhere;

static void count_elsewhere(cen_job *job)
{
    (void)job;
    ceni_add_seq_cst(&ran_elsewhere, 1);
}

static void post_elsewhere(void *unused)
{
    (void)unused;
    cen_job job = {.run = count_elsewhere};
    post_inline(&job);
    expect_equal(ceni_load_seq_cst(&ran_elsewhere), 1);
}

/* guarantees: future.inline */
TEST(another_threads_open_call_holds_nothing_up)
{
    ceni_inline_run here;
    ceni_inline_begin(&here);
    join(start("elsewhere", post_elsewhere, NULL));
    ceni_inline_end(&here);
}

/* ---- Chains ------------------------------------------------------------------------------------ */

enum { LINKS = 100000 };

typedef struct link {
    cen_future future; /* first */
    cen_promise promise;
} link;

static link links[LINKS];
static char *lowest, *highest;
static int reached;

static void keep_the_next(cen_future *future)
{
    char *now = __builtin_frame_address(0);
    if (!lowest || now < lowest) lowest = now;
    if (!highest || now > highest) highest = now;
    link *next = (link *)(void *)future + 1;
    reached++;
    if (next < links + LINKS) expect(cen_promise_complete(&next->promise, NULL));
}

static void make_chain(void)
{
    reached = 0;
    lowest = highest = NULL;
    for (int i = 0; i < LINKS; i++) {
        cen_future_init(&links[i].future);
        expect_equal(cen_promise_init(&links[i].promise, &links[i].future), CEN_OK);
    }
}

/* guarantees: future.inline */
TEST(a_chain_of_a_hundred_thousand_inline_completions_needs_no_more_stack_than_one)
{
    make_chain();
    for (int i = 0; i < LINKS; i++)
        expect_equal(cen_future_then(&links[i].future, keep_the_next, cen_inline()), CEN_OK);
    expect(cen_promise_complete(&links[0].promise, NULL));
    expect_equal(reached, LINKS);
    expect_equal(highest - lowest, 0);
}

static void then_the_next(cen_future *future)
{
    link *next = (link *)(void *)future + 1;
    char *now = __builtin_frame_address(0);
    if (!lowest) lowest = now;
    expect(now == lowest);
    reached++;
    if (next < links + LINKS) expect_equal(cen_future_then(&next->future, then_the_next, cen_inline()), CEN_OK);
}

/* guarantees: future.inline */
TEST(so_does_a_chain_of_futures_that_are_done_already)
{
    make_chain();
    for (int i = 0; i < LINKS; i++) expect(cen_promise_complete(&links[i].promise, NULL));
    expect_equal(cen_future_then(&links[0].future, then_the_next, cen_inline()), CEN_OK);
    expect_equal(reached, LINKS);
}

/* ---- Within an inbox ------------------------------------------------------------------------------ */

/* guarantees: future.inline */
TEST(a_job_of_an_inbox_is_the_programs_code_and_inline_jobs_run_at_once_in_it)
{
    begin();
    cen_inbox *inbox;
    expect_equal(cen_inbox_new(NULL, &inbox, NULL), CEN_OK);
    cen_job outer = {.run = run_a};
    cen_inbox_executor(inbox)->post(cen_inbox_executor(inbox), &outer);
    expect_equal(cen_inbox_poll(inbox, 0), 1);
    expect_text(order, "abA");
    expect_equal(cen_inbox_free(inbox), CEN_OK);
}
