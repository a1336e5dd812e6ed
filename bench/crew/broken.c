/* SPDX-License-Identifier: MIT */
/*
 * Planted bugs for the harness: the plain queue, which once, chosen by
 * BENCH_BROKEN, drops a task (lose) or runs it twice (double). The harness must
 * refuse both, by each of its checks, and pass the sound one, before anything is
 * measured.
 */
struct task;
static void run_or_not(struct task *task);

#define RUN run_or_not
#include "../peers/plain/crew.c"

#include <stdlib.h>
#include <string.h>

#define VICTIM 50 /* which run goes wrong: soon, on a busy machine too */

static void run_or_not(struct task *task)
{
    static unsigned runs;
    const char *fault = getenv("BENCH_BROKEN");
    bool strikes = fault != NULL && __atomic_add_fetch(&runs, 1, __ATOMIC_ACQ_REL) == VICTIM;
    if (strikes && strcmp(fault, "lose") == 0) return;
    if (strikes && strcmp(fault, "double") == 0) task_run(task);
    task_run(task);
}
