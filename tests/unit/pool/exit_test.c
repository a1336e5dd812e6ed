/* SPDX-License-Identifier: MIT */
/*
 * Pools at the end of the process. Each test ends a child, whose status says what its exit handlers saw.
 *
 * The driver's client library is played by the test: prepare registers a handler, which must find no call of the driver.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cenote/cenote.h>

#include "support/test.h"
#include "unit/port/tasks.h"

enum { AS_IT_SHOULD = 7, MET_A_CALL = 8, NOT_CLOSED = 9, NOT_CANCELLED = 10, HANG_SECONDS = 60 };

/* ---- The driver ------------------------------------------------------------------------------------ */

static _Atomic unsigned begun, running, closed;
static _Atomic bool may_return;
static cen_pool *pool, *other;

static void end_library(void)
{
    if (running > 0) _exit(MET_A_CALL);
}

static cen_status prepare(void *argument, void **state, cen_error *error)
{
    (void)error;
    *state = argument;
    return atexit(end_library) == 0 ? CEN_OK : CEN_NO_MEMORY;
}

static cen_status prepare_another(void *argument, void **state, cen_error *error)
{
    return prepare(argument, state, error);
}

/* Returns when the process exits, and not at once: then it is seen who does not wait. */
static cen_status open_slowly(void *argument, void **out, cen_error *error)
{
    (void)argument, (void)out, (void)error;
    running++;
    begun++;
    while (!may_return) sched_yield();
    for (int i = 0; i < 100; i++) sched_yield();
    running--;
    return CEN_LOST;
}

static cen_status open_at_once(void *argument, void **out, cen_error *error)
{
    (void)argument, (void)error;
    *out = NULL;
    begun++;
    return CEN_OK;
}

static void count_close(void *argument, void *object)
{
    (void)argument, (void)object;
    closed++;
}

static void cancel(void *argument)
{
    (void)argument;
    may_return = true;
}

static const cen_driver_calls slow = {.size = sizeof slow,
                                      .blocks = true,
                                      .prepare = prepare,
                                      .open = open_slowly,
                                      .closes_nothing = true,
                                      .cancel_all = cancel};
static const cen_driver_calls another = {.size = sizeof another,
                                         .blocks = true,
                                         .prepare = prepare_another,
                                         .open = open_slowly,
                                         .closes_nothing = true,
                                         .cancel_all = cancel};
static const cen_driver_calls quick = {
    .size = sizeof quick, .blocks = true, .open = open_at_once, .close = count_close};

static cen_pool *make(const cen_driver_calls *calls, uint32_t objects)
{
    cen_pool *made;
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "exit", .driver = {calls, NULL}, .max = 4, .min_idle = objects,
                                                .max_concurrent_opens = 4, .backoff_initial_ns = CEN_OFF);
    if (cen_pool_new(&options, &made, NULL) != CEN_OK) _exit(1);
    return made;
}

static void await_begun(unsigned count)
{
    while (begun < count) sched_yield();
}

static void expect_exits(void (*body)(void))
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(HANG_SECONDS);
        cen_runtime_exit_timeout_set(INT64_MAX); /* whoever relies on it hangs */
        body();
        exit(AS_IT_SHOULD);
    }
    int status = -1;
    expect(child > 0 && waitpid(child, &status, 0) == child);
    expect(WIFEXITED(status));
    expect_equal(WEXITSTATUS(status), AS_IT_SHOULD);
}

/* ---- The order of handlers --------------------------------------------------------------------------- */

static void return_in_open(void)
{
    pool = make(&slow, 4);
    await_begun(4);
}

/* Without cancel_all the calls would never return; one that begins later would be met. */
/* guarantees: runtime.exit */
TEST(no_driver_call_runs_when_a_client_librarys_handler_runs)
{
    expect_exits(return_in_open);
}

static _Atomic unsigned cancelled;

static void count_cancel(void *argument)
{
    (void)argument;
    cancelled++;
}

static void expect_cancelled(void)
{
    if (cancelled != 1) _exit(NOT_CANCELLED);
}

static void return_beside_a_call_that_hangs(void)
{
    static const cen_driver_calls hanging = {.size = sizeof hanging,
                                             .blocks = true,
                                             .open = open_slowly,
                                             .closes_nothing = true,
                                             .cancel_all = count_cancel};
    cen_runtime_exit_timeout_set(1000000);
    atexit(expect_cancelled); /* before cenote's: it runs after it */
    pool = make(&hanging, 4);
    await_begun(4);
}

/* guarantees: runtime.exit */
TEST(cancel_all_is_called_once_and_a_call_that_hangs_all_the_same_holds_exit_up_for_its_timeout_only)
{
    expect_exits(return_beside_a_call_that_hangs);
}

static void free_and_return(void)
{
    return_in_open();
    cen_pool_close(pool, CEN_NOW, NULL, NULL);
    cen_pool_free(pool);
}

/* guarantees: runtime.exit */
TEST(a_call_of_a_pool_that_was_freed_is_cancelled_and_awaited)
{
    expect_exits(free_and_return);
}

static void return_with_two_drivers(void)
{
    other = make(&slow, 0);
    pool = make(&another, 4);
    await_begun(4);
}

/* guarantees: runtime.exit */
TEST(a_handler_that_is_registered_in_the_second_drivers_prepare_meets_no_call)
{
    expect_exits(return_with_two_drivers);
}

static cen_status open_first(void *argument, void **out, cen_error *error)
{
    static _Atomic bool is_known;
    *out = NULL;
    if (!is_known && atexit(end_library) == 0) {
        is_known = true;
        return CEN_OK;
    }
    return open_slowly(argument, out, error);
}

static void return_without_prepare(void)
{
    static const cen_driver_calls careless = {
        .size = sizeof careless, .blocks = true, .open = open_first, .closes_nothing = true, .cancel_all = cancel};
    cen_lease one, two;
    pool = make(&careless, 0);
    if (cen_pool_take(pool, CEN_NEVER, &one, NULL) != CEN_OK) _exit(1);
    cen_pool_take(pool, CEN_NOW, &two, NULL);
    await_begun(1);
}

/* guarantees: runtime.exit */
TEST(a_handler_that_is_registered_in_the_first_open_meets_no_later_one)
{
    expect_exits(return_without_prepare);
}

/* ---- exit within ---------------------------------------------------------------------------------------- */

static cen_status open_and_exit(void *argument, void **out, cen_error *error)
{
    (void)argument, (void)out, (void)error;
    exit(AS_IT_SHOULD);
}

static void exit_in_open(void)
{
    static const cen_driver_calls exiting = {
        .size = sizeof exiting, .blocks = true, .prepare = prepare, .open = open_and_exit, .closes_nothing = true};
    pool = make(&exiting, 1);
    for (;;) pause();
}

/* guarantees: runtime.exit */
TEST(exit_in_a_drivers_open_does_not_hang)
{
    expect_exits(exit_in_open);
}

static void exit_when_done(cen_take_op *take)
{
    (void)take;
    exit(AS_IT_SHOULD);
}

static void exit_in_done(void)
{
    static cen_take_op take;
    pool = make(&quick, 0);
    cen_take_op_init(&take, exit_when_done, cen_inline());
    cen_pool_take_async(pool, CEN_NEVER, &take);
    for (;;) pause();
}

/* guarantees: runtime.exit */
TEST(exit_in_a_completion_callback_does_not_hang)
{
    expect_exits(exit_in_done);
}

/* ---- Handlers of the program, which run after cenote's ------------------------------------------------------ */

static void close_late(void)
{
    cen_close_report report = CEN_SIZED(cen_close_report);
    if (cen_pool_close(pool, CEN_NEVER, &report, NULL) != CEN_OK || cen_pool_free(pool) != CEN_OK) _exit(1);
    if (closed != 2) _exit(NOT_CLOSED);
}

static void return_with_a_late_close(void)
{
    atexit(close_late);
    pool = make(&quick, 2);
    await_begun(2);
    for (cen_pool_stats stats = CEN_SIZED(cen_pool_stats); stats.idle < 2;) cen_pool_stats_get(pool, &stats);
}

/* guarantees: runtime.exit */
TEST(a_handler_that_was_registered_before_the_first_pool_may_close_and_free_it)
{
    expect_exits(return_with_a_late_close);
}

/* ---- Free ------------------------------------------------------------------------------------------------------ */

/* guarantees: runtime.wait-idle */
TEST(the_threads_of_the_last_pool_have_ended_when_free_returns)
{
    cen_runtime_stats stats = CEN_SIZED(cen_runtime_stats);
    for (int round = 0; round < 100; round++) {
        begun = 0;
        pool = make(&quick, 4);
        await_begun(4);
        expect_equal(cen_pool_close(pool, CEN_NEVER, NULL, NULL), CEN_OK);
        expect_equal(cen_pool_free(pool), CEN_OK);
        expect_equal(cen_runtime_stats_get(NULL, &stats), CEN_OK);
        expect_equal(stats.users, 0);
        expect_equal(cen_runtime_wait_idle(NULL, CEN_NOW), CEN_OK);
    }
}
