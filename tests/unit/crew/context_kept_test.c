/* SPDX-License-Identifier: MIT */
/* A context that is kept across a suspension, or taken elsewhere, ends the process with a sentence. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/crew/crews.h"

static cen_context kept;

static cen_next use_kept(cen_task *task)
{
    cen_context_data(kept);
    return cen_task_done(task, task);
}

static cen_next keep_and_yield(cen_task *task)
{
    kept = cen_context_current();
    cen_context_data(kept);
    return cen_task_yield(task, use_kept);
}

static void keep_across_a_yield(void)
{
    work one;
    init_work(&one, 'a', keep_and_yield);
    one.task.name = "a keeper";
    make_crew(.workers = 1);
    submit(&one);
    expect_end(&one, CEN_OK);
}

static void keep(work *self)
{
    (void)self;
    kept = cen_context_current();
}

static void use_outside(void)
{
    work one;
    init_work(&one, 'a', run_once);
    one.inside = keep;
    make_crew(.workers = 1);
    submit(&one);
    expect_end(&one, CEN_OK);
    cen_context_data(kept);
}

static void expect_abort(void (*run)(void), const char *sentence)
{
    int ends[2];
    char text[512] = "";
    expect(pipe(ends) == 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        dup2(ends[1], STDERR_FILENO);
        run();
        _exit(0);
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t got; (got = read(ends[0], text + length, sizeof text - 1 - length)) > 0;) length += (size_t)got;
    close(ends[0]);
    int status = 0;
    expect(waitpid(child, &status, 0) == child);
    expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    expect_text(text, sentence);
}

/* guarantees: crew.context */
TEST(a_context_that_is_kept_across_a_suspension_ends_the_process_with_a_sentence_that_names_the_task)
{
    expect_abort(keep_across_a_yield,
                 "cenote: a keeper uses a worker context of another step; call cen_context_current in each step\n");
}

/* guarantees: crew.context */
TEST(a_context_that_is_used_outside_its_step_ends_the_process)
{
    expect_abort(use_outside,
                 "cenote: a task uses a worker context of another step; call cen_context_current in each step\n");
}
