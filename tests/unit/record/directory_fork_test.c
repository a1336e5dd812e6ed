/* SPDX-License-Identifier: MIT */
/* The directory in a forked child. Needs real processes. */
#include <sys/wait.h>
#include <unistd.h>

#include "record/directory.h"
#include "support/test.h"

static size_t no_metrics(const void *object, cen_metric *metrics, size_t room)
{
    (void)object;
    (void)metrics;
    (void)room;
    return 0;
}

static void child(ceni_directory_entry *inherited)
{
    ceni_directory *directory = ceni_directory_process();
    expect_equal(ceni_directory_count(directory), 0);
    ceni_directory_leave(directory, inherited);
    ceni_directory_entry own = {.kind = "queue", .name = "own", .snapshot = no_metrics};
    ceni_directory_join(directory, &own);
    expect_equal(ceni_directory_count(directory), 1);
    ceni_directory_leave(directory, &own);
    _exit(0);
}

/* Forks in the middle of a visit, with the lock held by the parent if `locked`. */
static void fork_and_expect_success(ceni_directory_entry *inherited, bool locked)
{
    ceni_directory *directory = ceni_directory_process();
    if (locked) ceni_mutex_lock(&directory->lock, CENI_RANK_DIRECTORY);
    pid_t process = fork();
    if (process == 0) {
        if (locked) ceni_rank_leave(CENI_RANK_DIRECTORY); /* the thread that held it is not here */
        alarm(60);
        child(inherited);
    }
    if (locked) ceni_mutex_unlock(&directory->lock, CENI_RANK_DIRECTORY);
    int status;
    expect(waitpid(process, &status, 0) == process);
    expect_equal(status, 0);
}

TEST(a_forked_child_has_an_empty_directory_and_the_parent_notices_nothing)
{
    ceni_directory_entry entry = {.kind = "queue", .name = "parent's", .snapshot = no_metrics};
    ceni_directory_join(ceni_directory_process(), &entry);
    fork_and_expect_success(&entry, false);
    expect_equal(ceni_directory_count(ceni_directory_process()), 1);
    ceni_directory_leave(ceni_directory_process(), &entry);
    expect_equal(ceni_directory_count(ceni_directory_process()), 0);
}

TEST(a_child_forked_while_the_directory_was_locked_does_not_hang)
{
    ceni_directory_entry entry = {.kind = "queue", .name = "parent's", .snapshot = no_metrics};
    ceni_directory_join(ceni_directory_process(), &entry);
    fork_and_expect_success(&entry, true);
    ceni_directory_leave(ceni_directory_process(), &entry);
}

/* ---- Forked by a visitor ----------------------------------------------------- */

typedef struct forking_walk {
    unsigned visits;
    pid_t child; /* 0 in the child */
} forking_walk;

static void fork_at_the_first(void *argument, ceni_directory_entry *entry)
{
    forking_walk *walk = argument;
    (void)entry;
    if (walk->visits++ > 0) return;
    walk->child = fork();
    if (walk->child == 0) alarm(60);
}

static void count_visit(void *argument, ceni_directory_entry *entry)
{
    (void)entry;
    ++*(unsigned *)argument;
}

TEST(a_child_that_a_visitor_forks_ends_its_walk_and_has_a_directory_of_its_own)
{
    ceni_directory_entry one = {.kind = "queue", .name = "one", .snapshot = no_metrics};
    ceni_directory_entry two = {.kind = "queue", .name = "two", .snapshot = no_metrics};
    ceni_directory *directory = ceni_directory_process();
    ceni_directory_join(directory, &one);
    ceni_directory_join(directory, &two);
    forking_walk walk = {.visits = 0};
    ceni_directory_each(directory, fork_at_the_first, &walk);
    if (walk.child == 0) {
        unsigned visits = 0;
        expect_equal(walk.visits, 1); /* the other is the parent's */
        ceni_directory_each(ceni_directory_process(), count_visit, &visits);
        expect_equal(visits, 0);
        child(&one);
    }
    int status;
    expect(waitpid(walk.child, &status, 0) == walk.child);
    expect_equal(status, 0);
    expect_equal(walk.visits, 2);
    ceni_directory_leave(directory, &one);
    ceni_directory_leave(directory, &two);
}
