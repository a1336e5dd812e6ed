/* SPDX-License-Identifier: MIT */
/* The directory in a forked child. Needs real processes. */
#include <sys/wait.h>
#include <unistd.h>

#include "record/directory.h"
#include "support/test.h"

static size_t no_readings(const void *object, ceni_reading *readings, size_t room)
{
    (void)object;
    (void)readings;
    (void)room;
    return 0;
}

static void child(ceni_entry *inherited)
{
    ceni_directory *directory = ceni_directory_process();
    expect_equal(ceni_directory_count(directory), 0);
    ceni_directory_leave(directory, inherited);
    ceni_entry own = {.kind = "queue", .name = "own", .snapshot = no_readings};
    ceni_directory_join(directory, &own);
    expect_equal(ceni_directory_count(directory), 1);
    ceni_directory_leave(directory, &own);
    _exit(0);
}

/* Forks in the middle of a visit, with the lock held by the parent if `locked`. */
static void fork_and_expect_success(ceni_entry *inherited, bool locked)
{
    ceni_directory *directory = ceni_directory_process();
    if (locked) ceni_mutex_lock(&directory->lock, CENI_RANK_DIRECTORY);
    pid_t process = fork();
    if (process == 0) {
        if (locked) ceni_rank_leave(CENI_RANK_DIRECTORY); /* the thread that held it is not here */
        alarm(10);
        child(inherited);
    }
    if (locked) ceni_mutex_unlock(&directory->lock, CENI_RANK_DIRECTORY);
    int status;
    expect(waitpid(process, &status, 0) == process);
    expect_equal(status, 0);
}

TEST(a_forked_child_has_an_empty_directory_and_the_parent_notices_nothing)
{
    ceni_entry entry = {.kind = "queue", .name = "parent's", .snapshot = no_readings};
    ceni_directory_join(ceni_directory_process(), &entry);
    fork_and_expect_success(&entry, false);
    expect_equal(ceni_directory_count(ceni_directory_process()), 1);
    ceni_directory_leave(ceni_directory_process(), &entry);
    expect_equal(ceni_directory_count(ceni_directory_process()), 0);
}

TEST(a_child_forked_while_the_directory_was_locked_does_not_hang)
{
    ceni_entry entry = {.kind = "queue", .name = "parent's", .snapshot = no_readings};
    ceni_directory_join(ceni_directory_process(), &entry);
    fork_and_expect_success(&entry, true);
    ceni_directory_leave(ceni_directory_process(), &entry);
}
