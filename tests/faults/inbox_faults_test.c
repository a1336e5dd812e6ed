/* SPDX-License-Identifier: MIT */
/* The inbox when memory or descriptors cannot be had, and when threads wake for no reason. */
#include <cenote/inbox.h>

#include "support/faults.h"
#include "support/world.h"

static cen_inbox *inbox;

static cen_status make_one(void)
{
    cen_error error = {.status = CEN_OK};
    cen_status status = cen_inbox_new(NULL, &inbox, &error);
    expect(status == CEN_OK || (error.status == status && strstr(error.text, "cen_inbox_new: ")));
    expect(status != CEN_SYSTEM || error.code != 0);
    return status;
}

static const char *no_memory_and_nothing_made(cen_status status)
{
    return status != CEN_NO_MEMORY ? "it does not say NO_MEMORY" : inbox ? "the output was written" : NULL;
}

static const char *no_descriptor_and_nothing_made(cen_status status)
{
    return status != CEN_SYSTEM ? "it does not say SYSTEM" : inbox ? "the output was written" : NULL;
}

static void free_it(void)
{
    expect_equal(cen_inbox_free(inbox), CEN_OK);
    inbox = NULL;
}

/* guarantees: inbox.out-of-memory */
TEST(an_inbox_that_gets_no_memory_or_no_descriptor_leaves_nothing_behind)
{
    fault_sweep memory = {
        .mask = CENI_FAULT_ALLOC, .operation = make_one, .check = no_memory_and_nothing_made, .undo = free_it};
    expect_equal(fault_sweep_check(&memory), 1);
    fault_sweep descriptor = {
        .mask = CENI_FAULT_FD, .operation = make_one, .check = no_descriptor_and_nothing_made, .undo = free_it};
    expect_equal(fault_sweep_check(&descriptor), 1);
}

/* ---- Everything else needs nothing ------------------------------------------------------------------ */

static int runs;

static void count_run(cen_job *job)
{
    (void)job;
    runs++;
}

static cen_job jobs[2];

static void post(int which)
{
    jobs[which].run = count_run;
    cen_inbox_executor(inbox)->post(cen_inbox_executor(inbox), &jobs[which]);
}

static void post_later(void *unused)
{
    (void)unused;
    ceni_sleep_until(ceni_clock_now() + 1000);
    post(1);
}

static void make_it(void)
{
    runs = 0;
    expect_equal(make_one(), CEN_OK);
}

static cen_status use_it(void)
{
    int64_t began = ceni_clock_now();
    if (cen_inbox_wait(inbox, cen_in_ms(1)) != 0 || ceni_clock_now() != began + 1000000) return CEN_TIMEOUT;
    post(0);
    if (cen_inbox_run_ready(inbox) != 1) return CEN_EMPTY;
    ceni_thread poster = start("poster", post_later, NULL);
    size_t ran = cen_inbox_wait(inbox, CEN_NEVER);
    join(poster);
    return ran == 1 && runs == 2 ? CEN_OK : CEN_CLOSED;
}

static const char *done_all_the_same(cen_status status)
{
    return status == CEN_OK ? NULL : "a wake-up for no reason changes what is done";
}

/* guarantees: inbox.wait */
TEST(a_wait_that_wakes_for_no_reason_sleeps_on)
{
    fault_sweep sweep = {
        .mask = CENI_FAULT_WAIT, .setup = make_it, .operation = use_it, .check = done_all_the_same, .undo = free_it};
    expect(fault_sweep_check(&sweep) >= 2);
}

/* guarantees: inbox.out-of-memory */
TEST(posting_running_and_freeing_need_no_memory)
{
    make_it();
    ceni_fault_arm(CENI_FAULT_ALLOC | CENI_FAULT_FD, 1);
    post(0);
    post(1);
    expect_equal(cen_inbox_run_ready(inbox), 2);
    free_it();
    expect(!ceni_fault_disarm());
}
