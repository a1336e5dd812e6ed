/* SPDX-License-Identifier: MIT */
/*
 * An executor: something that work can be posted to, and that runs it later.
 *
 * Inboxes, runtimes and actors are executors; so is whatever a program makes
 * itself, by putting a cen_executor with its own `post` first into a struct:
 *
 *     struct my_loop { cen_executor executor; cen_job *first; };
 *     static void post(cen_executor *executor, cen_job *job)
 *     {
 *         struct my_loop *loop = (struct my_loop *)executor;
 *         keep(loop, job);     // by its `next`; the loop calls job->run(job) once, soon, with no lock held
 *     }
 *
 * A job is part of whatever it is for, so posting allocates nothing and cannot
 * fail. `post` itself never runs it: whoever posts may have more to do first. Once
 * run was entered, the executor touches the job no more.
 *
 * Threads: post may be called from any thread, and from within a job.
 */
#ifndef CENOTE_EXECUTOR_H
#define CENOTE_EXECUTOR_H

#include <cenote/status.h>

#ifdef __cplusplus
extern "C" {
#define CEN_ATOMIC_(type) type
#else
#define CEN_ATOMIC_(type) _Atomic(type)
#endif

typedef struct cen_job {
    void (*run)(struct cen_job *job);
    struct cen_job *next; /* the executor's, from post until run is entered */
} cen_job;

typedef struct cen_executor {
    void (*post)(struct cen_executor *executor, cen_job *job);
} cen_executor;

/* Runs what is posted on the posting thread itself: at once if that thread is
 * not in a call of cenote, otherwise when the outermost such call has done all
 * else and holds no lock. What is posted from within such a job runs after it,
 * so the stack does not grow. A job that an inbox or a runtime runs is no call of
 * cenote, but the program's code. An inline job returns: it does not end its thread
 * nor leave by longjmp; a thread that is cancelled meanwhile ends afterwards. */
CEN_API cen_executor *cen_inline(void);

#ifdef __cplusplus
}
#endif
#endif
