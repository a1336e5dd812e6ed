/* SPDX-License-Identifier: MIT */
/* A supervisor in the child of a fork: it refuses, and its memory can be given back. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "port/rank.h"
#include "unit/supervisor/kids.h"

static void in_child(void (*body)(void))
{
    fflush(stdout);
    pid_t pid = fork();
    expect(pid >= 0);
    if (pid == 0) {
        alarm(60);
        *ceni_rank_mask() = 0; /* a lock may be held by a thread that is not here */
        body();
        _exit(0);
    }
    int status;
    expect_equal(waitpid(pid, &status, 0), pid);
    expect(WIFEXITED(status));
    expect_equal(WEXITSTATUS(status), 0);
}

static void see_it_refuse(void)
{
    cen_supervisor_stats stats = CEN_SIZED(cen_supervisor_stats);
    cen_future future;
    cen_child_options more = kid_options(1);
    cen_future_init(&future);
    expect_equal(cen_supervisor_stats_get(supervisor, &stats), CEN_FORKED);
    expect_equal(cen_supervisor_add(supervisor, &more, CEN_NEVER, NULL, NULL), CEN_FORKED);
    expect_equal(cen_supervisor_terminate(supervisor, "a", CEN_NEVER, NULL), CEN_FORKED);
    expect_equal(cen_supervisor_restart(supervisor, "a", CEN_NEVER, NULL), CEN_FORKED);
    expect_equal(cen_supervisor_watch(supervisor, &future), CEN_FORKED);
    expect_equal(cen_supervisor_each(supervisor, compare_child, NULL), CEN_FORKED);
    expect_equal(cen_supervisor_dump(supervisor, NULL, 0), 0);
    expect_equal(cen_supervisor_request_stop(supervisor), CEN_FORKED);
    expect_equal(cen_supervisor_stop(supervisor, CEN_NEVER, NULL, NULL), CEN_FORKED);
    expect(!cen_child_report_ended(kids[0].child, NULL));
    expect(!cen_child_report_started(kids[0].child));
    expect(cen_child_is_stopping(kids[0].child));
    expect_equal(cen_child_watch(kids[0].child, &future), CEN_ABSENT);
    expect_equal(kids[0].stops, 0);
    expect_equal(cen_supervisor_free(supervisor), CEN_OK);
}

/* Of its own it has one, with its own numbers. */
static void make_its_own(void)
{
    cen_child of_the_parent = kids[0].child;
    cen_supervisor_options options = CEN_SUPERVISOR_OPTIONS(.name = "own");
    cen_child_options one = kid_options(0);
    expect_equal(cen_supervisor_new(&options, &supervisor, NULL), CEN_OK);
    expect_equal(cen_supervisor_add(supervisor, &one, CEN_NEVER, NULL, NULL), CEN_OK);
    expect(!cen_child_report_ended(of_the_parent, NULL));
    expect_equal(look().restarts, 0);
    expect_equal(cen_supervisor_stop(supervisor, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(cen_supervisor_free(supervisor), CEN_OK);
}

static void with_a_supervisor(void (*body)(void))
{
    init_kids();
    cen_child_options children[] = {kid_options(0)};
    cen_supervisor_options options = CEN_SUPERVISOR_OPTIONS(.children = children, .child_count = 1);
    expect_equal(cen_supervisor_new(&options, &supervisor, NULL), CEN_OK);
    cen_supervisor *own = supervisor;
    in_child(body);
    supervisor = own;
    expect_equal(look().running, 1);
    expect_equal(cen_supervisor_stop(supervisor, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(cen_supervisor_free(supervisor), CEN_OK);
}

TEST(in_a_forked_child_everything_is_refused_and_the_parent_notices_nothing)
{
    with_a_supervisor(see_it_refuse);
}

TEST(a_forked_child_may_have_supervisors_of_its_own)
{
    with_a_supervisor(make_its_own);
}

static void fork_in_start(kid *self, cen_child child)
{
    (void)self, (void)child;
    pid_t pid = fork();
    if (pid == 0) _exit(0);
    int status;
    waitpid(pid, &status, 0);
}

TEST(a_start_may_fork)
{
    init_kids();
    kids[0].in_start = fork_in_start;
    cen_child_options children[] = {kid_options(0)};
    cen_supervisor_options options = CEN_SUPERVISOR_OPTIONS(.children = children, .child_count = 1);
    expect_equal(cen_supervisor_new(&options, &supervisor, NULL), CEN_OK);
    expect_equal(cen_supervisor_stop(supervisor, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(cen_supervisor_free(supervisor), CEN_OK);
}
