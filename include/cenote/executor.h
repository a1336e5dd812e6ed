/* SPDX-License-Identifier: MIT */
/*
 * An executor: jobs are posted to it, and it runs them later.
 *
 * Inboxes, runtimes, crews and actors are executors. To make its own executor, a program defines a struct whose first
 * member is a cen_executor, and sets `post` in it:
 *
 *     struct my_loop { cen_executor executor; cen_job *first; };
 *     static void post(cen_executor *executor, cen_job *job)
 *     {
 *         struct my_loop *loop = (struct my_loop *)executor;
 *         keep(loop, job);     // by its `next`; the loop calls job->run(job) once, soon, with no lock held
 *     }
 *
 * A job is embedded in the struct that it serves, so posting allocates nothing and cannot fail. `post` itself never runs
 * the job, because its caller may have more to do first. Once `run` has been entered, the executor does not touch the
 * job.
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

/* A job: a function that an executor calls once. A part of the struct that it works for. */
typedef struct cen_job {
    void (*run)(struct cen_job *job);
    struct cen_job *next; /* belongs to the executor from post until run is entered */
} cen_job;

/* An executor: the first member of the struct that implements it. */
typedef struct cen_executor {
    void (*post)(struct cen_executor *executor, cen_job *job);
} cen_executor;

/* Return the executor that runs jobs on the thread that posts them: immediately if that thread is not inside a library
 * call, otherwise at the end of the outermost library call, with no lock held. A job that is posted from within such a
 * job runs after it, so the stack does not grow. A job that is run by an inbox or a runtime is the program's code and
 * does not count as a library call.
 *
 * An inline job must return: it must not end its thread or exit through longjmp. If the thread is cancelled during the
 * job, it ends after the job has returned. */
CEN_API cen_executor *cen_inline(void);

#ifdef __cplusplus
}
#endif
#endif
