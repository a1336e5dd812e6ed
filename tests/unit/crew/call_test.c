/* SPDX-License-Identifier: MIT */
/* Functions as tasks that cenote allocates. */
#include "unit/crew/crews.h"

static unsigned calls;

static void *count_call(void *argument)
{
    calls++;
    expect_text(cen_task_current()->name, argument ? "counting" : "a call");
    return argument;
}

/* guarantees: crew.function */
TEST(a_function_is_called_and_its_result_is_done_with_what_it_returned)
{
    cen_future result;
    cen_future_init(&result);
    make_crew(.workers = 1);
    size_t before = ceni_world_bytes();
    expect_equal(cen_crew_submit_function(crew, "counting", count_call, story, &result, NULL), CEN_OK);
    expect_equal(cen_future_wait(&result, CEN_NEVER), CEN_OK);
    expect_equal(result.status, CEN_OK);
    expect(result.value == story);
    settle();
    expect_equal(ceni_world_bytes(), before);
    finish();
}

/* guarantees: crew.function */
TEST(without_a_result_it_is_called_all_the_same)
{
    make_crew(.workers = 1);
    for (int i = 0; i < 10; i++)
        expect_equal(cen_crew_submit_function(crew, NULL, count_call, NULL, NULL, NULL), CEN_OK);
    finish();
    expect_equal(calls, 10);
}

/* guarantees: crew.function */
TEST(a_result_that_was_given_up_in_time_is_not_called_for)
{
    cen_future result;
    cen_future_init(&result);
    make_crew(.workers = 1);
    keep_busy(SECOND);
    expect_equal(cen_crew_submit_function(crew, "counting", count_call, story, &result, NULL), CEN_OK);
    expect(cen_future_cancel(&result));
    memset(&result, 0xDD, sizeof result); /* it is the program's */
    finish();
    expect_equal(calls, 0);
}

static void *call_slowly(void *argument)
{
    nap(SECOND);
    calls++;
    return argument;
}

/* guarantees: crew.function */
TEST(a_result_may_be_given_up_while_the_function_runs)
{
    cen_future result;
    cen_future_init(&result);
    make_crew(.workers = 1);
    expect_equal(cen_crew_submit_function(crew, "slow", call_slowly, story, &result, NULL), CEN_OK);
    settle();
    expect(cen_future_cancel(&result));
    memset(&result, 0xDD, sizeof result);
    finish();
    expect_equal(calls, 1);
}

/* guarantees: crew.function */
TEST(a_function_that_is_dropped_leaves_a_result_that_says_closed)
{
    cen_future result;
    cen_error error = {.text = ""};
    cen_future_init(&result);
    result.error = &error;
    make_crew(.workers = 1);
    keep_busy(SECOND);
    expect_equal(cen_crew_submit_function(crew, "counting", count_call, story, &result, NULL), CEN_OK);
    expect_equal(cen_crew_stop(crew, CEN_STOP_DROP, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(cen_future_wait(&result, CEN_NOW), CEN_OK);
    expect_equal(result.status, CEN_CLOSED);
    expect_text(error.text, "crew \"crew\": counting did not start before the crew was stopped");
    finish();
    expect_equal(calls, 0);
}

/* guarantees: crew.function */
TEST(what_is_refused_leaves_the_result_as_it_was)
{
    cen_future result;
    cen_promise promise;
    cen_future_init(&result);
    make_crew(.workers = 1);
    expect_equal(cen_crew_submit_function(NULL, NULL, count_call, NULL, NULL, NULL), CEN_INVALID);
    expect_equal(cen_crew_submit_function(crew, NULL, NULL, NULL, &result, NULL), CEN_INVALID);
    expect_equal(cen_crew_stop(crew, CEN_STOP_DRAIN, CEN_NEVER, NULL, NULL), CEN_OK);
    size_t before = ceni_world_bytes();
    expect_equal(cen_crew_submit_function(crew, NULL, count_call, NULL, &result, NULL), CEN_CLOSED);
    expect_equal(ceni_world_bytes(), before);
    expect_equal(cen_promise_init(&promise, &result), CEN_OK);
    expect_equal(cen_crew_submit_function(crew, NULL, count_call, NULL, &result, NULL), CEN_MISUSE);
    expect(cen_promise_complete(&promise, NULL));
    finish();
    expect_equal(calls, 0);
}
