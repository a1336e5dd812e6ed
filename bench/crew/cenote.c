/* SPDX-License-Identifier: MIT */
/*
 * cenote's crew with default settings, by the rules of rules/tasks.h. Tasks are
 * used again and made ready by cen_task_init each time, which is part of what is
 * measured. Yields are cen_task_yield, a pair's first waits for the second's
 * future, and results come by cen_await, inside and outside.
 */
#include <cenote/crew.h>

typedef struct {
    cen_task task; /* first */
    cen_next next;
} pool_node;

#define POOL_CAN (POOL_OUTSIDE | POOL_SPAWNS | POOL_INSIDE)
#define POOL_RESULT_BODY NULL
#define POOL_IS_OVER(one) cen_future_is_done(&(one)->node.task.future)
#include "../rules/tasks_loop.h"

static cen_crew *crew;

static void must(cen_status status)
{
    if (status != CEN_OK) bench_fail("%s", cen_status_text(status));
}

static cen_next step(cen_task *own)
{
    struct task *task = (struct task *)own;
    task->node.next = CEN_NEXT_OVER;
    task_run(task);
    return task->node.next == CEN_NEXT_OVER ? cen_task_done(own, NULL) : task->node.next;
}

static void pool_submit(struct task *task)
{
    cen_task_init(&task->node.task, step);
    must(cen_crew_submit(crew, &task->node.task, NULL));
}

static void pool_spawn(struct task *task)
{
    pool_submit(task);
}

static void pool_yield(struct task *task)
{
    task->node.next = cen_task_yield(&task->node.task, step);
}

static void pool_ping(struct task *task, struct task *other)
{
    pool_submit(other);
    task->node.next = cen_task_wait(&task->node.task, &other->node.task.future, step);
}

static void pool_pong(struct task *task, struct task *other)
{
    (void)task, (void)other; /* its end is the answer */
}

static void pool_result(struct task *task)
{
    pool_submit(task);
    must(cen_await(&task->node.task.future, cen_in_s(5)));
}

static void pool_inside(struct task *task)
{
    pool_result(task);
}

/* What must be on before a figure counts. */
static void assert_features(void)
{
    static struct task task;
    cen_crew_stats stats = CEN_SIZED(cen_crew_stats);
    pool_result(&task);
    if (cen_crew_submit(crew, &task.node.task, NULL) != CEN_MISUSE)
        bench_fail("a task that was not made ready again was accepted");
    for (int looks = 0; looks < 1000; looks++, bench_sleep(1000000)) { /* the worker counts it a moment after its end */
        must(cen_crew_stats_get(crew, &stats));
        if (stats.workers == TASKS_WORKERS && stats.submitted == 1 && stats.finished == 1) return;
    }
    bench_fail("the crew does not count its tasks");
}

static void pool_make(void)
{
    cen_crew_options options = CEN_CREW_OPTIONS(.name = "bench", .workers = TASKS_WORKERS);
    cen_error error;
    if (cen_crew_new(&options, &crew, &error) != CEN_OK) bench_fail("%s", error.text);
    assert_features();
}

static void pool_finish(void)
{
}
