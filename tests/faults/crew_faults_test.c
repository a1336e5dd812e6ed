/* SPDX-License-Identifier: MIT */
/* Crews when memory or threads cannot be had: nothing leaks, and what was let in is run when it can be. */
#include "support/faults.h"
#include "unit/crew/crews.h"

static void end_it(void)
{
    if (!crew) return;
    expect_equal(cen_crew_stop(crew, CEN_STOP_DRAIN, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(cen_crew_free(crew), CEN_OK);
    crew = NULL;
}

static cen_status make_one(void)
{
    cen_error error = {.status = CEN_OK};
    uint32_t cpu = 0;
    cen_crew_options options = CEN_CREW_OPTIONS(.workers = 2, .cpus = &cpu, .cpu_count = 1);
    cen_status status = cen_crew_new(&options, &crew, &error);
    expect(status == CEN_OK || (error.status == status && strstr(error.text, "cen_crew_new: ")));
    return status;
}

static const char *no_memory(cen_status status)
{
    return status != CEN_NO_MEMORY ? "it does not say NO_MEMORY" : crew ? "the output was written" : NULL;
}

TEST(a_crew_that_gets_no_memory_leaves_nothing_behind)
{
    fault_sweep sweep = {.mask = CENI_FAULT_ALLOC, .operation = make_one, .check = no_memory, .undo = end_it};
    expect(fault_sweep_check(&sweep) >= 6);
}

static const char *no_thread(cen_status status)
{
    return status != CEN_SYSTEM ? "it does not say SYSTEM" : crew ? "the output was written" : NULL;
}

TEST(a_crew_that_gets_no_thread_leaves_nothing_behind)
{
    fault_sweep sweep = {.mask = CENI_FAULT_THREAD, .operation = make_one, .check = no_thread, .undo = end_it};
    expect(fault_sweep_check(&sweep) >= 2);
}

static void *call_it(void *argument)
{
    return argument;
}

TEST(a_call_for_which_there_is_no_memory_is_refused_and_its_result_is_as_before)
{
    cen_future result;
    cen_future_init(&result);
    make_crew(.workers = 1);
    ceni_fault_arm(CENI_FAULT_ALLOC, 1);
    expect_equal(cen_crew_submit_function(crew, NULL, call_it, story, &result, NULL), CEN_NO_MEMORY);
    expect(ceni_fault_disarm());
    expect_equal(cen_crew_submit_function(crew, NULL, call_it, story, &result, NULL), CEN_OK);
    expect_equal(cen_future_wait(&result, CEN_NEVER), CEN_OK);
    finish();
}

TEST(a_task_with_a_deadline_that_nobody_can_keep_is_refused_and_can_be_submitted_again)
{
    work one;
    init_works(&one, 1);
    one.task.deadline = cen_in_s(1);
    make_crew(.workers = 1);
    ceni_fault_arm(CENI_FAULT_THREAD, 1);
    expect_equal(cen_crew_submit(crew, &one.task, NULL), CEN_SYSTEM);
    expect(ceni_fault_disarm());
    expect_equal(sound_look().submitted, 0);
    submit(&one);
    expect_end(&one, CEN_OK);
    finish();
}

TEST(of_many_with_deadlines_that_nobody_can_keep_none_is_submitted)
{
    work three[3];
    init_works(three, 3);
    three[2].task.deadline = cen_in_s(1);
    make_crew(.workers = 1);
    cen_task *all[] = {&three[0].task, &three[1].task, &three[2].task};
    ceni_fault_arm(CENI_FAULT_THREAD, 1);
    expect_equal(cen_crew_submit_all(crew, all, 3, NULL), CEN_SYSTEM);
    expect(ceni_fault_disarm());
    expect_equal(sound_look().submitted, 0);
    submit_works(three, 3);
    for (int i = 0; i < 3; i++) expect_end(&three[i], CEN_OK);
    finish();
}

/* The worker that is there runs all; when it has been idle, another is tried again. */
TEST(when_no_further_worker_can_be_had_the_others_run_all)
{
    work six[6];
    init_works(six, 6);
    for (int i = 0; i < 6; i++) {
        six[i].inside = take_long;
        six[i].ns = SECOND;
    }
    make_crew(.workers = 2, .min = 1);
    ceni_fault_arm(CENI_FAULT_THREAD, 1);
    submit_works(six, 6);
    settle();
    expect(ceni_fault_disarm());
    expect_equal(sound_look().running, 1);
    for (int i = 0; i < 6; i++) expect_end(&six[i], CEN_OK);
    init_works(six, 2);
    for (int i = 0; i < 2; i++) {
        six[i].inside = take_long;
        six[i].ns = SECOND;
        submit(&six[i]);
    }
    settle();
    expect_equal(sound_look().running, 2);
    finish();
}

TEST(when_a_worker_s_seat_gets_no_memory_the_others_run_all)
{
    work two[2];
    init_works(two, 2);
    make_crew(.workers = 2, .min = 1);
    keep_busy(SECOND);
    ceni_fault_arm(CENI_FAULT_ALLOC, 1);
    submit(&two[0]);
    settle();
    expect(ceni_fault_disarm());
    expect_equal(look().threads, 1);
    submit(&two[1]);
    settle();
    expect_equal(look().threads, 2);
    finish();
    expect_equal(two[0].steps + two[1].steps, 2);
}
