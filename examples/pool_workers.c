/* SPDX-License-Identifier: MIT */
/*
 * A pool of worker threads: what is lent is an idle worker.
 *
 *     main: take a worker (CEN_NEVER: wait until one is free), hand it a job
 *     worker: do the job, then give itself back
 *
 * The lease is passed on with the job, because any thread may give it back. Main knows that all jobs are done when it
 * has taken every worker.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <cenote/cenote.h>

enum { WORKERS = 3, JOBS = 200 };

struct job {
    long from, to, sum;
};

struct worker {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct job *job; /* the current job; NULL: none */
    cen_lease lease; /* to be given back after the job */
    bool leaves;
    int jobs_done;
};

static void *work(void *argument)
{
    struct worker *self = argument;
    pthread_mutex_lock(&self->mutex);
    while (!self->leaves) {
        if (!self->job) {
            pthread_cond_wait(&self->changed, &self->mutex);
            continue;
        }
        for (long n = self->job->from; n < self->job->to; n++) self->job->sum += n;
        self->job = NULL;
        self->jobs_done++;
        cen_lease lease = self->lease; /* a copy: the next job's lease is written as soon as this one is given */
        pthread_mutex_unlock(&self->mutex);
        cen_pool_give(&lease);
        pthread_mutex_lock(&self->mutex);
    }
    pthread_mutex_unlock(&self->mutex);
    return NULL;
}

static cen_status start_worker(void *argument, void **out, cen_error *error)
{
    (void)argument, (void)error;
    struct worker *worker = calloc(1, sizeof *worker);
    if (!worker) return CEN_NO_MEMORY;
    pthread_mutex_init(&worker->mutex, NULL);
    pthread_cond_init(&worker->changed, NULL);
    *out = worker;
    if (pthread_create(&worker->thread, NULL, work, worker) == 0) return CEN_OK;
    free(worker);
    return CEN_SYSTEM;
}

static void tell(struct worker *worker, struct job *job, cen_lease lease, bool leaves)
{
    pthread_mutex_lock(&worker->mutex);
    worker->job = job;
    worker->lease = lease;
    worker->leaves = leaves;
    pthread_cond_signal(&worker->changed);
    pthread_mutex_unlock(&worker->mutex);
}

static void stop_worker(void *argument, void *object)
{
    struct worker *worker = object;
    (void)argument;
    tell(worker, NULL, (cen_lease){0}, true);
    pthread_join(worker->thread, NULL);
    printf("  a worker ends after %d jobs\n", worker->jobs_done);
    free(worker);
}

int main(void)
{
    static const cen_driver_calls calls = {.size = sizeof calls, .open = start_worker, .close = stop_worker};
    static struct job jobs[JOBS];
    cen_pool *workers;
    cen_pool_options options =
        CEN_POOL_OPTIONS(.name = "workers", .driver = {&calls, NULL}, .max = WORKERS, .eager = true);
    if (cen_pool_new(&options, &workers, NULL) != CEN_OK) return 1;

    cen_lease lease, all[WORKERS];
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = (struct job){.from = i * 1000L, .to = (i + 1) * 1000L};
        if (cen_pool_take(workers, CEN_NEVER, &lease, NULL) != CEN_OK) return 1;
        tell(lease.object, &jobs[i], lease, false);
    }
    for (int i = 0; i < WORKERS; i++)
        if (cen_pool_take(workers, CEN_NEVER, &all[i], NULL) != CEN_OK) return 1;

    long sum = 0, n = JOBS * 1000L;
    for (int i = 0; i < JOBS; i++) sum += jobs[i].sum;
    printf("%d workers did %d jobs and added up the numbers below %ld: %ld\n", WORKERS, JOBS, n, sum);
    for (int i = 0; i < WORKERS; i++) cen_pool_give(&all[i]);
    cen_pool_free(workers);
    return sum == n * (n - 1) / 2 ? 0 : 1;
}
