/* SPDX-License-Identifier: MIT */
/* What ends a thread or a process under lanes, on threads of the system. */
#include "unit/lanes/real_lanes.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static errand errands[4];

static cen_next exit_step(cen_task *task)
{
    (void)task;
    pthread_exit(NULL);
}

static cen_next cancelled_step(cen_task *task)
{
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before); /* workers are not cancelled unless a step allows it */
    pthread_cancel(pthread_self());
    pthread_testcancel();
    return cen_task_done(task, NULL);
}

/* guarantees: lanes.places, task-bugs.lost-thread */
TEST(I_a_task_that_ends_its_thread_loses_neither_its_place_nor_the_lane)
{
    make_lanes(.high.max_tasks = 1);
    for (int i = 0; i < 20; i++) {
        hand_in(HIGH, &errands[0], i % 2 ? exit_step : cancelled_step);
        await(&errands[0], CEN_MISUSE);
        expect_empty();
    }
    expect_equal(look().lane[HIGH].failed, 20);
    hand_in(HIGH, &errands[0], end_step);
    await(&errands[0], CEN_OK);
    end_lanes();
}

static int in_child(void (*body)(void))
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        body();
        _exit(0);
    }
    expect(child > 0);
    expect_equal(waitpid(child, &status, 0), child);
    return status;
}

__attribute__((unused)) static void child_renews(void)
{
    expect_empty(); /* what the parent has admitted is the parent's */
    for (int i = 1; i < 3; i++) hand_in(HIGH, &errands[i], end_step);
    for (int i = 1; i < 3; i++) await(&errands[i], CEN_OK);
    expect_equal(look().lane[HIGH].done, 2);
    end_lanes();
}

static void child_is_refused(void)
{
    prepare(&errands[1], end_step);
    expect_equal(submit(HIGH, &errands[1]), CEN_FORKED);
    expect_equal(cen_lanes_free(lanes), CEN_OK);
}

static void fork_beside_a_task(cen_fork_policy policy, void (*child)(void))
{
    make_lanes(.high.max_tasks = 2, .on_fork = policy);
    hand_in(HIGH, &errands[0], wait_step);
    hand_in(HIGH, &errands[3], wait_step);
    while (look().lane[HIGH].suspended < 2) ceni_thread_yield();
    expect_equal(in_child(child), 0);
    open_gate(&errands[0]);
    open_gate(&errands[3]);
    await(&errands[0], CEN_OK);
    await(&errands[3], CEN_OK);
    end_lanes();
}

/* guarantees: lanes.L14 */
TEST(L14_a_child_has_lanes_of_its_own_that_are_empty_and_the_parent_notices_nothing)
{
#if defined(__SANITIZE_THREAD__)
    printf("     skipped: ThreadSanitizer allows no threads in a child that has the addresses of its parent's\n");
#else
    fork_beside_a_task(CEN_FORK_RENEW, child_renews);
#endif
}

/* guarantees: lanes.L14 */
TEST(L14_a_child_of_lanes_that_refuse_is_told_and_can_free_them)
{
    fork_beside_a_task(CEN_FORK_REFUSE, child_is_refused);
}
