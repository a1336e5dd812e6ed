/* SPDX-License-Identifier: MIT */
/* Whether a world reports what was put into a body, tried in a process of its own. */
#ifndef TESTS_UNIT_PORT_FAKE_REPORTS_H
#define TESTS_UNIT_PORT_FAKE_REPORTS_H

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/world.h"

static char output[1 << 20]; /* of the last child */

/* Explores, or replays a trace, in a process of its own, and keeps its output.
 * True if it ended as one that reports a failure does. */
static inline bool fails(const ceni_exploration *plan, const char *trace)
{
    int ends[2];
    if (pipe(ends) != 0) return false;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 1);
        close(ends[0]);
        close(ends[1]);
        if (trace) ceni_world_replay(plan, trace);
        else ceni_world_explore(plan);
        exit(0);
    }
    close(ends[1]);
    size_t length = 0;
    ssize_t got;
    while ((got = read(ends[0], output + length, sizeof output - length - 1)) > 0) length += (size_t)got;
    output[length] = '\0';
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

static inline bool reports(const ceni_exploration *plan, const char *text)
{
    if (fails(plan, NULL) && strstr(output, text)) return true;
    printf("     no report of \"%s\" in:\n%s\n", text, output);
    return false;
}

#endif
