/* SPDX-License-Identifier: MIT */
/*
 * What everybody writes: a list under a mutex, a job on the heap for each task, a
 * condition that is signalled for every job, and workers that wait for it.
 *
 * With INTRUSIVE the list goes through the tasks themselves and the signal comes
 * after the unlock, so nothing is allocated and nobody is woken to find the mutex
 * held: the best that one mutex gives. See intrusive.c.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

struct job {
    struct job *next;
    struct task *task;
};

typedef struct {
    struct job job;
} pool_node;

#define POOL_CAN (POOL_OUTSIDE | POOL_SPAWNS)
#define POOL_BY_SUBMIT
#define POOL_RESULT_BODY task_post
#ifndef RUN
#define RUN task_run /* crew/broken.c has another */
#endif
#include "../../rules/tasks_loop.h"

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t filled;
    struct job *first, **last;
} pool = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, &pool.first};

#ifdef INTRUSIVE

static struct job *job_new(struct task *task)
{
    return &task->node.job;
}

static void job_free(struct job *job)
{
    (void)job;
}

static void push_end(void)
{
    pthread_mutex_unlock(&pool.mutex);
    pthread_cond_signal(&pool.filled);
}

#else

static struct job *job_new(struct task *task)
{
    (void)task;
    struct job *job = malloc(sizeof *job);
    if (job == NULL) bench_fail("no memory");
    return job;
}

static void job_free(struct job *job)
{
    free(job);
}

static void push_end(void)
{
    pthread_cond_signal(&pool.filled);
    pthread_mutex_unlock(&pool.mutex);
}

#endif

static void pool_submit(struct task *task)
{
    struct job *job = job_new(task);
    *job = (struct job){NULL, task};
    pthread_mutex_lock(&pool.mutex);
    *pool.last = job;
    pool.last = &job->next;
    push_end();
}

static void *work(void *unused)
{
    for (;;) {
        pthread_mutex_lock(&pool.mutex);
        while (pool.first == NULL) pthread_cond_wait(&pool.filled, &pool.mutex);
        struct job *job = pool.first;
        if ((pool.first = job->next) == NULL) pool.last = &pool.first;
        pthread_mutex_unlock(&pool.mutex);
        struct task *task = job->task;
        job_free(job);
        RUN(task);
    }
    return unused;
}

static void pool_make(void)
{
    for (int i = 0; i < TASKS_WORKERS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, NULL) != 0) bench_fail("cannot start a thread");
    }
}

static void pool_finish(void)
{
}

static void pool_result(struct task *task)
{
    task_result_by_semaphore(task);
}

static void pool_inside(struct task *task)
{
    (void)task; /* a worker that waits is lost meanwhile: no cell for it */
}
