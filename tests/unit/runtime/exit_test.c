/* SPDX-License-Identifier: MIT */
/* The end of a process on the real system: each test ends children of its own, which say by their status what they saw. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "port/process_exit.h"
#include "unit/port/tasks.h"
#include "unit/runtime/runtimes.h"

enum { AS_IT_SHOULD = 7, SAW_A_CALL = 8, HANG_SECONDS = 60 };

/* ---- Children ------------------------------------------------------------------------------------- */

static int status_of_child(void (*body)(void))
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(HANG_SECONDS);
        body();
        exit(AS_IT_SHOULD);
    }
    int status = -1;
    expect(child > 0 && waitpid(child, &status, 0) == child);
    return status;
}

static void expect_ends_with(void (*body)(void), int code)
{
    int status = status_of_child(body);
    expect(WIFEXITED(status));
    expect_equal(WEXITSTATUS(status), code);
}

static job blocked;

static void block_a_helper(void)
{
    init_job(&blocked, join_own());
    shut_gate(&blocked);
    post_job(&blocked);
    await_count(&blocked.runs, 1);
}

/* A client library's handler, registered before the pool's: it runs after the exit handler. */
static void end_library(void)
{
    if (ceni_load_seq_cst(&blocked.ended) == 0) _exit(SAW_A_CALL);
}

static void *open_the_gate(void *unused)
{
    while (!ceni_exiting()) sched_yield();
    open_gate(&blocked);
    return unused;
}

/* ---- exit waits, with a bound ------------------------------------------------------------------------ */

static void exit_beside_a_call_that_ends(void)
{
    pthread_t opener;
    ceni_exit_set_timeout(CENI_FOREVER);
    atexit(end_library);
    block_a_helper();
    expect(pthread_create(&opener, NULL, open_the_gate, NULL) == 0);
}

/* guarantees: runtime.exit */
TEST(exit_waits_for_a_helper_in_a_call)
{
    expect_ends_with(exit_beside_a_call_that_ends, AS_IT_SHOULD);
}

static void exit_beside_a_call_that_hangs(void)
{
    ceni_exit_set_timeout(1000000);
    block_a_helper();
}

/* guarantees: runtime.exit */
TEST(exit_does_not_hang_beside_a_call_that_never_ends)
{
    expect_ends_with(exit_beside_a_call_that_hangs, AS_IT_SHOULD);
}

static void exit_without_waiting(void)
{
    expect_equal(cen_runtime_exit_timeout_set(CEN_NONE), CEN_OK);
    block_a_helper();
}

/* guarantees: runtime.exit */
TEST(exit_does_not_wait_if_the_timeout_is_none)
{
    expect_ends_with(exit_without_waiting, AS_IT_SHOULD);
    expect_equal(cen_runtime_exit_timeout_set(-3), CEN_INVALID);
    expect_equal(cen_runtime_exit_timeout_set(2), CEN_INVALID);
}

/* ---- exit from other threads --------------------------------------------------------------------------- */

static void exit_inside(job *self)
{
    (void)self;
    exit(AS_IT_SHOULD);
}

static void exit_on_a_helper(void)
{
    static job last;
    ceni_exit_set_timeout(CENI_FOREVER);
    init_job(&last, join_own());
    last.inside = exit_inside;
    post_job(&last);
    for (;;) pause();
}

/* guarantees: runtime.exit */
TEST(exit_in_a_job_does_not_wait_for_that_job)
{
    expect_ends_with(exit_on_a_helper, AS_IT_SHOULD);
}

static void exit_in_chime(chime *self)
{
    (void)self;
    exit(AS_IT_SHOULD);
}

static void exit_on_the_keeper(void)
{
    static chime last;
    ceni_exit_set_timeout(CENI_FOREVER);
    init_chime(&last, join_own(), 0);
    last.inside = exit_in_chime;
    set_chime(&last, 0);
    for (;;) pause();
}

/* guarantees: runtime.exit */
TEST(exit_in_an_alarm_does_not_wait_for_that_alarm)
{
    expect_ends_with(exit_on_the_keeper, AS_IT_SHOULD);
}

static void *exit_here(void *unused)
{
    exit(AS_IT_SHOULD);
    return unused;
}

static void exit_on_a_thread(void)
{
    pthread_t thread, opener;
    ceni_exit_set_timeout(CENI_FOREVER);
    atexit(end_library);
    block_a_helper();
    expect(pthread_create(&opener, NULL, open_the_gate, NULL) == 0);
    expect(pthread_create(&thread, NULL, exit_here, NULL) == 0);
    for (;;) pause();
}

/* guarantees: runtime.exit */
TEST(exit_from_a_thread_waits_for_a_helper_in_a_call)
{
    expect_ends_with(exit_on_a_thread, AS_IT_SHOULD);
}

static void quick_exit_beside_a_call(void)
{
    ceni_exit_set_timeout(CENI_FOREVER);
    block_a_helper();
    quick_exit(AS_IT_SHOULD);
}

/* guarantees: runtime.exit */
TEST(quick_exit_waits_for_nothing)
{
    expect_ends_with(quick_exit_beside_a_call, AS_IT_SHOULD);
}

/* ---- After the handler ------------------------------------------------------------------------------------ */

static void post_after_exit(void)
{
    static job late;
    init_job(&late, blocked.runtime);
    if (ceni_errand_post(late.runtime, &late.errand) != CEN_SYSTEM) _exit(SAW_A_CALL);
}

static void exit_and_post(void)
{
    atexit(post_after_exit); /* before ours: it runs after it */
    block_a_helper();
    open_gate(&blocked);
}

/* guarantees: runtime.exit */
TEST(after_exit_has_begun_no_errand_is_taken)
{
    expect_ends_with(exit_and_post, AS_IT_SHOULD);
}

/* ---- fork --------------------------------------------------------------------------------------------------- */

static void exit_in_a_child(void)
{
    exit(AS_IT_SHOULD);
}

/* The call is the parent's: a child that waited for it would wait for ever. */
/* guarantees: runtime.exit */
TEST(a_forked_child_does_not_wait_for_calls_of_its_parent)
{
    ceni_exit_set_timeout(CENI_FOREVER);
    block_a_helper();
    expect_ends_with(exit_in_a_child, AS_IT_SHOULD);
    expect_equal(cen_runtime_wait_idle(NULL, CEN_NOW), CEN_TIMEOUT);
    open_gate(&blocked);
    expect_equal(cen_runtime_wait_idle(NULL, CEN_NEVER), CEN_OK);
    expect_equal(ceni_load_seq_cst(&blocked.ended), 1);
    ceni_runtime_leave(blocked.runtime);
}

static void fork_and_exit(job *self)
{
    (void)self;
    expect_ends_with(exit_in_a_child, AS_IT_SHOULD);
}

/* guarantees: runtime.exit */
TEST(a_child_that_is_forked_in_a_call_exits_at_once)
{
    job forks;
    ceni_exit_set_timeout(CENI_FOREVER);
    init_job(&forks, join_own());
    forks.inside = fork_and_exit;
    post_job(&forks);
    await_count(&forks.ended, 1);
    ceni_runtime_leave(forks.runtime);
}

/* ---- await ---------------------------------------------------------------------------------------------------- */

static cen_status awaited_inside;

static void await_inside(job *self)
{
    awaited_inside = cen_runtime_wait_idle(self->runtime, CEN_NEVER);
}

/* guarantees: runtime.wait-idle */
TEST(await_from_a_helper_is_misuse_and_of_a_manual_runtime_invalid)
{
    cen_runtime *manual = make_runtime(.manual = true), *runtime = make_runtime(.name = "one");
    job asks;
    init_job(&asks, runtime);
    asks.inside = await_inside;
    post_job(&asks);
    await_count(&asks.ended, 1);
    expect_equal(awaited_inside, CEN_MISUSE);
    expect_equal(cen_runtime_wait_idle(manual, CEN_NOW), CEN_INVALID);
    free_runtime(runtime);
    free_runtime(manual);
}
