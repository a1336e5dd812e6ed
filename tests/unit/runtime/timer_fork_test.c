/* SPDX-License-Identifier: MIT */
/* Timers and fork: a child has those that it starts, and of its parent's only the memory (L14). */
#include <sys/wait.h>
#include <unistd.h>

#include <cenote/timer.h>

#include "unit/runtime/runtimes.h"

static cen_runtime *explicit_one;
static cen_timer of_own, of_explicit; /* started in the parent */

/* A thread that is just being started may hold locks of a sanitizer's, which a child would wait for in vain. */
static void await_keeper(cen_runtime *runtime)
{
    cen_timer timer;
    cen_timer_init(&timer);
    expect_equal(cen_timer_start(&timer, runtime, CEN_NOW, NULL), CEN_OK);
    expect_equal(cen_future_wait(&timer.future, CEN_NEVER), CEN_OK);
    while (look_at(runtime).users > 1) ceni_thread_yield(); /* the process' own is left after that */
}

static void prepare(void)
{
    explicit_one = make_runtime(.name = "parents");
    cen_timer_init(&of_own);
    cen_timer_init(&of_explicit);
    expect_equal(cen_timer_start(&of_own, NULL, CEN_NEVER, NULL), CEN_OK);
    expect_equal(cen_timer_start(&of_explicit, explicit_one, CEN_NEVER, NULL), CEN_OK);
    await_keeper(NULL);
    await_keeper(explicit_one);
}

/* What the child did was done to its copy. */
static void finish(void)
{
    expect_equal(look_at(NULL).users, 1);
    expect_equal(look_at(explicit_one).users, 1);
    expect(cen_future_cancel(&of_own.future));
    expect(cen_future_cancel(&of_explicit.future));
    expect_equal(look_at(NULL).users, 0);
    free_runtime(explicit_one);
}

static void in_a_child(void (*run)(void))
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        run();
        _exit(0);
    }
    int status = -1;
    expect(waitpid(child, &status, 0) == child);
    expect_equal(status, 0);
}

static void start_some(void)
{
    cen_timer timer;
    cen_timer_init(&timer);
    expect_equal(cen_timer_start(&timer, explicit_one, CEN_NOW, NULL), CEN_FORKED);
    expect_equal(cen_timer_start(&timer, NULL, cen_in_ms(1), NULL), CEN_OK);
    expect_equal(cen_future_wait(&timer.future, CEN_NEVER), CEN_OK);
    expect_equal(timer.future.status, CEN_OK);
}

/* guarantees: runtime.timer-L14 */
TEST(a_child_starts_timers_on_a_runtime_of_its_own_and_not_on_its_parents)
{
    prepare();
    in_a_child(start_some);
    finish();
}

static void give_up_the_parents(void)
{
    expect(cen_future_cancel(&of_own.future));
    expect(cen_future_cancel(&of_explicit.future));
    expect_equal(look_at(NULL).users, 0);
    cen_timer_init(&of_own);
    expect_equal(cen_timer_start(&of_own, NULL, CEN_NOW, NULL), CEN_OK);
    expect_equal(cen_future_wait(&of_own.future, CEN_NEVER), CEN_OK);
    free_runtime(explicit_one);
}

/* guarantees: runtime.timer-L14 */
TEST(in_a_child_the_parents_timers_can_be_given_up_and_the_parent_notices_nothing)
{
    prepare();
    in_a_child(give_up_the_parents);
    finish();
}

enum { FORKS = 100 };

static cen_timer racing;

static void give_up_what_may_be_due(void)
{
    if (!cen_future_is_done(&racing.future)) expect(cen_future_cancel(&racing.future));
    start_some();
}

/* The keeper may be anywhere in its call when the child is made, with the runtime's lock held. */
/* guarantees: runtime.timer-L14 */
TEST(a_child_that_is_forked_while_a_timer_is_due_is_not_held_up)
{
    prepare();
    for (int i = 0; i < FORKS; i++) {
        cen_timer_init(&racing);
        expect_equal(cen_timer_start(&racing, explicit_one, cen_in_us(i % 20), NULL), CEN_OK);
        in_a_child(give_up_what_may_be_due);
        expect_equal(cen_future_wait(&racing.future, CEN_NEVER), CEN_OK);
    }
    finish();
}
