/* SPDX-License-Identifier: MIT */
/* GThreadPool with threads of its own. A task that yields or has a partner is pushed again. */
#include <glib.h>

typedef struct {
    char none[1];
} pool_node;

#define POOL_CAN (POOL_OUTSIDE | POOL_SPAWNS)
#define POOL_BY_SUBMIT
#define POOL_RESULT_BODY task_post
#include "../../rules/tasks_loop.h"

static GThreadPool *pool;

static void call(gpointer data, gpointer unused)
{
    (void)unused;
    task_run(data);
}

static void pool_make(void)
{
    pool = g_thread_pool_new(call, NULL, TASKS_WORKERS, TRUE, NULL);
    if (pool == NULL) bench_fail("no pool");
}

static void pool_submit(struct task *task)
{
    if (!g_thread_pool_push(pool, task, NULL)) bench_fail("a push failed");
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
    (void)task; /* a thread that waits is lost meanwhile: no cell for it */
}
