/* SPDX-License-Identifier: MIT */
/* Why a call of a crew failed, in words. */
#include "unit/crew/crews.h"

static cen_error error;
static work one, two;

static void expect_why(cen_status got, cen_status status, const char *words)
{
    expect_equal(got, status);
    expect_equal(error.status, status);
    if (!strstr(error.text, words)) test_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", error.text, words);
    expect_equal(error.cause, status == CEN_CLOSED ? CEN_CAUSE_CLOSED : CEN_CAUSE_NONE);
    error = (cen_error){.text = ""};
}

static void *give_back_argument(void *argument)
{
    return argument;
}

static cen_next wait_for_future(cen_task *task)
{
    return cen_task_wait(task, ((work *)task)->future, run_once);
}

TEST(a_submit_that_fails_says_why)
{
    make_crew(.name = "mill", .workers = 1);
    init_work(&one, 'a', run_once);
    expect_why(cen_crew_submit(NULL, &one.task, &error), CEN_INVALID, "the crew is NULL");
    expect_why(cen_crew_submit(crew, NULL, &error), CEN_INVALID, "crew \"mill\": the task is NULL");
    init_work(&two, 'b', NULL);
    expect_why(cen_crew_submit(crew, &two.task, &error), CEN_INVALID, "has no first step");
    expect_equal(cen_crew_submit(crew, &one.task, &error), CEN_OK);
    expect_equal(cen_future_wait(&one.task.future, CEN_NEVER), CEN_OK);
    expect_why(cen_crew_submit(crew, &one.task, &error), CEN_MISUSE, "cen_task_init makes it ready again");
    expect_equal(cen_crew_submit(crew, &one.task, NULL), CEN_MISUSE);
    expect_equal(cen_crew_stop(crew, CEN_STOP_DRAIN, CEN_NEVER, NULL, &error), CEN_OK);
    init_work(&one, 'a', run_once);
    expect_why(cen_crew_submit(crew, &one.task, &error), CEN_CLOSED, "crew \"mill\": it has been stopped");
    expect_equal(cen_crew_free(crew), CEN_OK);
}

TEST(a_submit_of_many_says_which_task_is_not_ready)
{
    make_crew(.name = "mill", .workers = 1);
    cen_task *both[] = {&one.task, &two.task};
    init_work(&one, 'a', run_once);
    init_work(&two, 'b', NULL);
    expect_why(cen_crew_submit_all(crew, both, 2, &error), CEN_INVALID, "task 2 of 2: the task has no first step");
    expect_why(cen_crew_submit_all(crew, NULL, 2, &error), CEN_INVALID, "tasks is NULL");
    both[0] = NULL;
    expect_why(cen_crew_submit_all(crew, both, 2, &error), CEN_INVALID, "task 1 of 2: the task is NULL");
    expect_why(cen_crew_submit_all(NULL, both, 2, &error), CEN_INVALID, "the crew is NULL");
    expect_equal(cen_crew_submit_all(crew, NULL, 0, &error), CEN_OK);
    expect_equal(cen_crew_stop(crew, CEN_STOP_DRAIN, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(cen_crew_free(crew), CEN_OK);
}

TEST(a_call_that_fails_says_why)
{
    make_crew(.name = "mill", .workers = 1);
    cen_future result;
    cen_future_init(&result);
    expect_why(cen_crew_submit_function(crew, NULL, NULL, NULL, &result, &error), CEN_INVALID, "the function is NULL");
    expect_equal(cen_crew_submit_function(crew, NULL, give_back_argument, &one, &result, &error), CEN_OK);
    expect_equal(cen_future_wait(&result, CEN_NEVER), CEN_OK);
    expect_why(cen_crew_submit_function(crew, NULL, give_back_argument, &one, &result, &error), CEN_MISUSE,
               "was used before");
    expect_equal(cen_crew_stop(crew, CEN_STOP_DRAIN, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_why(cen_crew_submit_function(crew, NULL, give_back_argument, &one, NULL, &error), CEN_CLOSED,
               "has been stopped");
    expect_equal(cen_crew_free(crew), CEN_OK);
}

TEST(a_resize_that_fails_says_the_number_and_the_limit)
{
    make_crew(.name = "mill", .workers = 1, .max = 3);
    expect_why(cen_crew_resize(crew, 0, &error), CEN_INVALID, "crew \"mill\": workers must be at least 1 (got 0)");
    expect_why(cen_crew_resize(crew, 4, &error), CEN_INVALID, "4 workers exceed options.max (3)");
    expect_equal(cen_crew_resize(crew, 2, &error), CEN_OK);
    expect_equal(cen_crew_stop(crew, CEN_STOP_DRAIN, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_why(cen_crew_resize(crew, 1, &error), CEN_CLOSED, "has been stopped");
    expect_equal(cen_crew_free(crew), CEN_OK);
}

TEST(a_stop_that_times_out_says_what_is_left)
{
    make_crew(.name = "mill", .workers = 1);
    cen_promise promise;
    cen_future future;
    cen_future_init(&future);
    expect_equal(cen_promise_init(&promise, &future), CEN_OK);
    init_work(&one, 'a', wait_for_future);
    one.future = &future;
    expect_equal(cen_crew_submit(crew, &one.task, &error), CEN_OK);
    expect_why(cen_crew_stop(crew, (cen_stop)7, CEN_NEVER, NULL, &error), CEN_INVALID,
               "CEN_STOP_DRAIN or CEN_STOP_DROP");
    expect_why(cen_crew_stop(NULL, CEN_STOP_DRAIN, CEN_NEVER, NULL, &error), CEN_INVALID, "the crew is NULL");
    expect_why(cen_crew_stop(crew, CEN_STOP_DRAIN, CEN_NOW, NULL, &error), CEN_TIMEOUT,
               "not stopped by the deadline (tasks: ");
    cen_promise_complete(&promise, NULL);
    expect_equal(cen_crew_stop(crew, CEN_STOP_DROP, CEN_NEVER, NULL, &error), CEN_OK);
    expect_equal(cen_crew_free(crew), CEN_OK);
}
