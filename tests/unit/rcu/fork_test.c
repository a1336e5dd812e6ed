/* SPDX-License-Identifier: MIT */
/* A forked child can use sections and wait for grace periods, whatever its parent's other threads were in the middle of. */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cenote/read.h>

#include "port/port.h"
#include "rcu/rcu.h"
#include "support/test.h"

static _Atomic uint32_t inside, go_on;

static void raise_word(_Atomic uint32_t *word)
{
    ceni_store_seq_cst(word, 1);
    ceni_futex_wake(word, UINT32_MAX);
}

static void await_word(_Atomic uint32_t *word)
{
    while (ceni_load_seq_cst(word) == 0) ceni_futex_wait(word, 0, CENI_FOREVER);
}

static void stay_in_a_section(void *unused)
{
    (void)unused;
    ceni_read_begin();
    raise_word(&inside);
    await_word(&go_on);
    ceni_read_end();
}

static void read_and_wait(void)
{
    cen_read_begin();
    expect(ceni_read_is_open());
    cen_read_end();
    expect(!ceni_read_is_open());
    ceni_rcu_wait();
}

/* A child that waits for a thread which is not there blocks all signals, an alarm's too: its parent ends it. */
static void in_a_child(void (*run)(void))
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        run();
        _exit(0);
    }
    int status = -1;
    int64_t late = ceni_clock_now() + INT64_C(20000000000);
    pid_t ended;
    while ((ended = waitpid(child, &status, WNOHANG)) == 0 && ceni_clock_now() < late)
        ceni_sleep_until(ceni_clock_now() + 1000000);
    if (ended == 0) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        test_fail(__FILE__, __LINE__, "the child did not come to an end");
    }
    expect_equal(status, 0);
}

/* The reader is not in the child: its section is no longer waited for there. */
TEST(a_child_does_not_wait_for_a_section_of_a_thread_that_it_has_not)
{
    ceni_thread reader;
    int code;
    ceni_rcu_join();
    expect_equal(ceni_thread_start(&reader, "reader", stay_in_a_section, NULL, &code), CEN_OK);
    await_word(&inside);
    in_a_child(read_and_wait);
    raise_word(&go_on);
    ceni_thread_join(&reader);
    read_and_wait();
}

static void end_it_and_read(void)
{
    expect(ceni_read_is_open());
    cen_read_end();
    read_and_wait();
}

TEST(a_child_that_is_made_in_a_section_is_in_it_too)
{
    ceni_rcu_join();
    cen_read_begin();
    in_a_child(end_it_and_read);
    expect(ceni_read_is_open());
    cen_read_end();
    read_and_wait();
}

static void with_a_child_of_its_own(void)
{
    read_and_wait();
    in_a_child(read_and_wait);
}

TEST(a_childs_child_can_do_the_same)
{
    ceni_rcu_join();
    ceni_rcu_join(); /* the hooks are installed once: twice would stop here */
    read_and_wait();
    in_a_child(with_a_child_of_its_own);
}

static void before(void)
{
    urcu_bp_before_fork();
}

static void after_in_the_parent(void)
{
    urcu_bp_after_fork_parent();
}

static void after_in_the_child(void)
{
    urcu_bp_after_fork_child();
}

TEST(a_program_that_has_the_hooks_itself_is_left_alone)
{
    cen_rcu_skip_fork_hooks();
    expect_equal(pthread_atfork(before, after_in_the_parent, after_in_the_child), 0);
    ceni_rcu_join();
    read_and_wait();
    in_a_child(read_and_wait);
}
