/* SPDX-License-Identifier: MIT */
/* Supervisors when memory or threads cannot be had: nothing leaks, and what goes on goes on. */
#include "support/faults.h"
#include "support/world.h"
#include "unit/supervisor/kids.h"

static cen_status make_family(void)
{
    cen_error error = {.status = CEN_OK};
    init_kids();
    cen_child_options children[] = {kid_options(0), kid_options(1)};
    cen_supervisor_options options = CEN_SUPERVISOR_OPTIONS(.children = children, .child_count = 2);
    supervisor = NULL;
    cen_status status = cen_supervisor_new(&options, &supervisor, &error);
    expect(status == CEN_OK || error.status == status);
    return status;
}

static void end_family(void)
{
    if (supervisor) {
        expect_equal(cen_supervisor_stop(supervisor, CEN_NEVER, NULL, NULL), CEN_OK);
        expect_equal(cen_supervisor_free(supervisor), CEN_OK);
        supervisor = NULL;
    }
    ceni_world_settle();
}

static const char *nothing_was_made(cen_status status)
{
    ceni_world_settle();
    if (status == CEN_OK) return look().running == 2 ? NULL : "not all run"; /* a table that could not grow */
    if (kids[0].starts != kids[0].stops || kids[1].starts != kids[1].stops) return "a child was left behind";
    return status != CEN_NO_MEMORY ? "it does not say NO_MEMORY" : supervisor ? "the output was written" : NULL;
}

TEST(a_supervisor_that_gets_no_memory_leaves_nothing_behind)
{
    fault_sweep sweep = {
        .mask = CENI_FAULT_ALLOC, .operation = make_family, .check = nothing_was_made, .undo = end_family};
    expect(fault_sweep_check(&sweep) >= 7);
}

static cen_status add_one(void)
{
    cen_child_options more = kid_options(2);
    return cen_supervisor_add(supervisor, &more, CEN_NEVER, NULL, NULL);
}

static void make_it(void)
{
    expect_equal(make_family(), CEN_OK);
    ceni_world_settle();
}

static const char *nothing_was_added(cen_status status)
{
    if (look().children != 2) return "a child is there";
    return status != CEN_NO_MEMORY ? "it does not say NO_MEMORY" : NULL;
}

TEST(a_child_that_gets_no_memory_is_not_added)
{
    fault_sweep sweep = {.mask = CENI_FAULT_ALLOC,
                         .setup = make_it,
                         .operation = add_one,
                         .check = nothing_was_added,
                         .undo = end_family};
    expect(fault_sweep_check(&sweep) >= 2);
}

TEST(a_restart_for_which_there_is_no_memory_is_tried_again)
{
    make_it();
    ceni_fault_arm(CENI_FAULT_ALLOC, 1);
    expect(cen_child_report_ended(kids[0].child, NULL));
    ceni_world_settle();
    expect(ceni_fault_disarm());
    ceni_sleep_until(ceni_clock_now() + second); /* the second restart waits a little */
    ceni_world_settle();
    expect_equal(kids[0].starts, 2);
    expect_equal(look().running, 2);
    expect_equal(look().restarts, 2);
    expect_equal(child_at(0).error.status, CEN_NO_MEMORY);
    end_family();
    expect_equal(ceni_world_bytes(), 0);
}

TEST(a_supervisor_for_which_nobody_keeps_time_is_refused)
{
    ceni_fault_arm(CENI_FAULT_THREAD, 1);
    expect_equal(make_family(), CEN_SYSTEM);
    expect(ceni_fault_disarm());
    expect(!supervisor);
    ceni_world_settle();
    expect_equal(ceni_world_bytes(), 0);
}

/* The keeper is the first thread, the helper that is the steward the second. */
TEST(a_supervisor_for_which_no_helper_can_be_had_starts_when_one_can)
{
    ceni_fault_arm(CENI_FAULT_THREAD, 2);
    expect_equal(make_family(), CEN_OK);
    expect(ceni_fault_disarm());
    expect_equal(look().running, 2);
    end_family();
    expect_equal(ceni_world_bytes(), 0);
}

static cen_status run_until_asked(void *argument, cen_child child, cen_error *error)
{
    (void)argument, (void)error;
    while (!cen_child_is_stopping(child)) ceni_sleep_until(ceni_clock_now() + milli);
    return CEN_OK;
}

TEST(a_child_that_gets_no_thread_has_not_started)
{
    cen_error error = {.status = CEN_OK};
    make_it();
    cen_child_options thread = CEN_CHILD_OPTIONS(.name = "t", .run = run_until_asked);
    /* helpers are there from now on */
    expect_equal(cen_supervisor_add(supervisor, &thread, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(cen_supervisor_remove(supervisor, "t", CEN_NEVER, NULL), CEN_OK);
    ceni_world_settle();
    ceni_fault_arm(CENI_FAULT_THREAD, 1);
    expect_equal(cen_supervisor_add(supervisor, &thread, CEN_NEVER, NULL, &error), CEN_SYSTEM);
    expect(ceni_fault_disarm());
    expect_text(error.text, "child \"t\": cannot start a thread");
    expect_equal(look().children, 2);
    end_family();
    expect_equal(ceni_world_bytes(), 0);
}
