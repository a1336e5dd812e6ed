/* SPDX-License-Identifier: MIT */
/*
 * uv_queue_work. It belongs to the loop's thread: so there is one producer, and
 * a task cannot submit another. A result is there when the loop has called back.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <uv.h>

typedef struct {
    uv_work_t work; /* first */
    bool over;      /* the loop's */
} pool_node;

#define POOL_CAN (POOL_OUTSIDE & ~(1u << CELL_SUBMIT2))
#define POOL_BY_SUBMIT
#define POOL_RESULT_BODY NULL
#define POOL_IS_OVER(one) ((one)->node.over)
#define POOL_AWAIT(number, runs) uv_run(&loop, UV_RUN_ONCE)

static uv_loop_t loop;

#include "../../rules/tasks_loop.h"

static void pool_make(void)
{
    if (setenv("UV_THREADPOOL_SIZE", "2", 1) != 0 || uv_loop_init(&loop) != 0) bench_fail("no loop");
}

static void call(uv_work_t *work)
{
    task_run((struct task *)work);
}

static void called(uv_work_t *work, int status)
{
    ((struct task *)work)->node.over = true;
    if (status != 0) bench_fail("%s", uv_strerror(status));
}

static void pool_submit(struct task *task)
{
    task->node.over = false;
    if (uv_queue_work(&loop, &task->node.work, call, called) != 0) bench_fail("uv_queue_work failed");
}

static void pool_finish(void)
{
    uv_run(&loop, UV_RUN_DEFAULT);
}

static void pool_result(struct task *task)
{
    pool_submit(task);
    uv_run(&loop, UV_RUN_DEFAULT);
}

static void pool_inside(struct task *task)
{
    (void)task;
}
