/* SPDX-License-Identifier: MIT */
/* How many threads the process has, by the system's own account. */
#ifndef TESTS_UNIT_PORT_TASKS_H
#define TESTS_UNIT_PORT_TASKS_H

#include <dirent.h>
#include <unistd.h>

#include "port/port.h"
#include "support/test.h"

static inline unsigned count_threads(void)
{
    unsigned count = 0;
    DIR *tasks = opendir("/proc/self/task");
    expect(tasks != NULL);
    for (struct dirent *entry; (entry = readdir(tasks));) count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

/* A thread that was joined is listed until the kernel has let go of it. The
 * test's own time limit ends the wait. */
static inline void await_threads(unsigned count)
{
    while (count_threads() != count) ceni_sleep_until(ceni_clock_now() + 100000);
}

static inline void keep_task(void *argument)
{
    snprintf(argument, 64, "/proc/self/task/%d", (int)gettid());
}

/* The threads of a process that has started none itself: one, and what a
 * sanitizer starts with the first. */
static inline unsigned threads_at_rest(void)
{
    char path[64] = "";
    ceni_thread thread;
    int code;
    expect_equal(ceni_thread_start(&thread, NULL, keep_task, path, &code), CEN_OK);
    ceni_thread_join(&thread);
    while (access(path, F_OK) == 0) ceni_sleep_until(ceni_clock_now() + 100000);
    return count_threads();
}

#endif
