/* SPDX-License-Identifier: MIT */
/* The runtime's threads on the real system: how many there are, what they are called, which signals they take. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/port/tasks.h"
#include "unit/runtime/runtimes.h"

static unsigned at_rest;

static void use(cen_runtime *runtime, unsigned helpers)
{
    chime alarm;
    job errand;
    init_chime(&alarm, runtime, 0);
    init_job(&errand, runtime);
    shut_gate(&errand);
    set_chime(&alarm, CENI_FOREVER);
    for (unsigned i = 0; i < helpers; i++) post_job(&errand);
    await_count(&errand.runs, helpers);
    expect_equal(count_threads(), at_rest + helpers + 1); /* and the keeper */
    expect_equal(look_at(runtime).busy, helpers);
    open_gate(&errand);
    await_count(&errand.ended, helpers);
    while (look_at(runtime).busy > 0) ceni_thread_yield(); /* or the next would not find them spare */
    expect(unset_chime(&alarm));
}

/* guarantees: runtime.default */
TEST(the_process_own_runtime_has_no_thread_before_there_is_work_and_none_after_its_last_user)
{
    at_rest = threads_at_rest();
    for (unsigned round = 0; round < 3; round++) {
        cen_runtime *first = join_own(), *second = join_own();
        expect_equal(count_threads(), at_rest);
        use(first, 4);
        ceni_runtime_leave(first);
        use(second, 5);
        ceni_runtime_leave(second);
        await_threads(at_rest);
        expect_equal(look_at(NULL).users, 0);
    }
}

/* guarantees: runtime.free */
TEST(an_explicit_runtime_takes_its_threads_along)
{
    at_rest = threads_at_rest();
    cen_runtime *runtime = make_runtime(.name = "explicit");
    expect_equal(count_threads(), at_rest);
    use(runtime, 3);
    free_runtime(runtime);
    await_threads(at_rest);
}

static void leave_inside(job *self)
{
    ceni_runtime_leave(self->runtime);
}

/* guarantees: runtime.default */
TEST(a_helper_on_which_the_last_user_leaves_ends_itself)
{
    at_rest = threads_at_rest();
    for (int round = 0; round < 20; round++) {
        cen_runtime *runtime = join_own();
        use(runtime, 2);
        job last;
        init_job(&last, runtime);
        last.inside = leave_inside;
        post_job(&last);
        await_count(&last.ended, 1);
        await_threads(at_rest);
    }
}

/* guarantees: runtime.linger */
TEST(a_helper_that_has_lingered_is_gone)
{
    at_rest = threads_at_rest();
    cen_runtime *runtime = make_runtime(.idle_timeout_ns = CEN_US(100));
    job errand;
    init_job(&errand, runtime);
    for (uint32_t round = 1; round <= 50; round++) {
        post_job(&errand);
        await_count(&errand.ended, round);
    }
    await_threads(at_rest);
    expect_equal(look_at(runtime).helpers, 0);
    free_runtime(runtime);
}

/* ---- Names and signals --------------------------------------------------------------- */

static char name_inside[16];
static sigset_t mask_inside;

static void keep_name_and_mask(void)
{
    expect(pthread_getname_np(pthread_self(), name_inside, sizeof name_inside) == 0);
    pthread_sigmask(SIG_SETMASK, NULL, &mask_inside);
}

static void ask_job(job *self)
{
    (void)self;
    keep_name_and_mask();
}

static _Atomic uint32_t asked;

static void ask_chime(chime *self)
{
    (void)self;
    keep_name_and_mask();
    ceni_store_seq_cst(&asked, 1);
    ceni_futex_wake(&asked, 1);
}

static void expect_all_blocked(void)
{
    for (int number = 1; number < 32; number++)
        if (number != SIGKILL && number != SIGSTOP) expect_equal(sigismember(&mask_inside, number), 1);
    sigemptyset(&mask_inside);
}

/* guarantees: runtime.signals */
TEST(keeper_and_helpers_block_all_signals_and_bear_the_runtimes_name)
{
    cen_runtime *runtime = make_runtime(.name = "orders");
    job errand;
    chime alarm;
    init_job(&errand, runtime);
    init_chime(&alarm, runtime, 0);
    errand.inside = ask_job;
    alarm.inside = ask_chime;
    post_job(&errand);
    await_count(&errand.ended, 1);
    expect_text(name_inside, "orders:helper");
    expect_all_blocked();
    set_chime(&alarm, 0);
    await_count(&asked, 1);
    expect_text(name_inside, "orders:keeper");
    expect_all_blocked();
    free_runtime(runtime);
    cen_runtime *longer = make_runtime(.name = "a name that is far too long");
    init_job(&errand, longer);
    errand.inside = ask_job;
    post_job(&errand);
    await_count(&errand.ended, 1);
    expect_text(name_inside, "a name t:helper");
    free_runtime(longer);
}

/* ---- The end of the process ------------------------------------------------------------ */

static int status_of(pid_t child)
{
    int status = -1;
    expect(waitpid(child, &status, 0) == child);
    return status;
}

/* Threads that are in a call for ever, on the process' own runtime and on another. */
static void leave_blocked_threads_behind(void)
{
    static job blocked[3];
    static chime last;
    cen_runtime *own = join_own(), *other = make_runtime(.name = "other");
    for (int i = 0; i < 3; i++) {
        init_job(&blocked[i], i == 2 ? other : own);
        shut_gate(&blocked[i]);
        post_job(&blocked[i]);
    }
    init_chime(&last, own, 0);
    set_chime(&last, ceni_clock_now() + 1000000);
    for (int i = 0; i < 3; i++) await_count(&blocked[i].runs, 1);
}

/* guarantees: runtime.signals */
TEST(main_can_return_while_helpers_are_blocked)
{
    fflush(stdout);
    for (int round = 0; round < 10; round++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            cen_runtime_exit_timeout_set(1000000);
            leave_blocked_threads_behind();
            exit(7); /* as returning 7 from main does */
        }
        int status = status_of(child);
        expect(WIFEXITED(status));
        expect_equal(WEXITSTATUS(status), 7);
    }
}
