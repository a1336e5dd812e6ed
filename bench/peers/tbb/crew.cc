// SPDX-License-Identifier: MIT
// oneTBB: an arena without a place for the caller, so that both its threads are
// workers. From outside by enqueue; inside, a task_group's run goes to the worker's
// own queue, and its wait helps.
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

struct pool_node {};

#define POOL_CAN (POOL_OUTSIDE | POOL_SPAWNS | POOL_INSIDE)
#define POOL_RESULT_BODY task_post
#include "../../rules/tasks_loop.h"

static oneapi::tbb::task_arena *arena;
static oneapi::tbb::task_group *group;

static void pool_make()
{
    // The limit counts the calling thread too, which never works here.
    static oneapi::tbb::global_control limit(oneapi::tbb::global_control::max_allowed_parallelism, TASKS_WORKERS + 1);
    arena = new oneapi::tbb::task_arena(TASKS_WORKERS, 0);
    group = new oneapi::tbb::task_group;
}

static void pool_submit(struct task *task)
{
    arena->enqueue([task] { task_run(task); });
}

static void pool_spawn(struct task *task)
{
    group->run([task] { task_run(task); });
}

// By enqueue: what a task_group runs next is what was added last, which is the same task.
static void pool_yield(struct task *task)
{
    pool_submit(task);
}

static void pool_ping(struct task *, struct task *other)
{
    pool_spawn(other);
}

static void pool_pong(struct task *task, struct task *)
{
    pool_spawn(task);
}

static void pool_finish()
{
}

static void pool_result(struct task *task)
{
    task_result_by_semaphore(task);
}

static void pool_inside(struct task *task)
{
    oneapi::tbb::task_group own;
    own.run([task] { task_run(task); });
    own.wait();
}
