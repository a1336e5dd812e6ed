/* SPDX-License-Identifier: MIT */
/*
 * The tasks and main of a C or C++ contestant. Before it is included there must
 * be a type, which may be an empty struct:
 *
 *     pool_node               what the pool wants to have in each task
 *
 * and after it these static functions; a contestant calls task_run(task) once for each run:
 *
 *     pool_make()             makes the one pool with TASKS_WORKERS workers
 *     pool_submit(task)       from outside
 *     pool_finish()           outside, when all are submitted
 *
 * and, unless POOL_CAN leaves out the cells that need them:
 *
 *     pool_spawn(task)        from inside a task
 *     pool_yield(task)        the task's last act: it is to run again, after others
 *     pool_ping(task, other)  the task's last act: other is to run, then task again
 *     pool_pong(task, other)  ... other's last act, and it lets task run again
 *     pool_result(task)       from outside: submits it and returns when it has run
 *     pool_inside(task)       from inside: the same
 *
 * POOL_BY_SUBMIT defines spawn, yield, ping and pong by pool_submit. POOL_IS_OVER(one)
 * says whether one that has run may be used again. POOL_PRODUCES is how many
 * pool_produce(first, count) submits at a time. POOL_AWAIT(number, runs) is what a producer does
 * until a task may be used again, if it has something to do.
 */
#ifndef BENCH_RULES_TASKS_LOOP_H
#define BENCH_RULES_TASKS_LOOP_H

#include <semaphore.h>

#include "tasks.h"

struct task {
    pool_node node;
    void (*body)(struct task *task); /* NULL: it is empty */
    uint32_t number, runs, left;
    uint32_t sent; /* its producer's: how often it was submitted */
} __attribute__((aligned(64)));

static void pool_make(void);
static void pool_submit(struct task *task);
static void pool_finish(void);
static void pool_spawn(struct task *task);
static void pool_yield(struct task *task);
static void pool_ping(struct task *task, struct task *other);
static void pool_pong(struct task *task, struct task *other);
static void pool_result(struct task *task);
static void pool_inside(struct task *task);

#define POOL_OUTSIDE (1u << CELL_SUBMIT1 | 1u << CELL_SUBMIT2 | 1u << CELL_RESULT | 1u << CELL_IDLE10 | 1u << CELL_IDLE)
#define POOL_SPAWNS (1u << CELL_CHAIN | 1u << CELL_PAIRS | 1u << CELL_SPAWN | 1u << CELL_YIELD)
#define POOL_INSIDE (1u << CELL_INSIDE)

static struct task *tasks;
static uint64_t tasks_left __attribute__((aligned(128)));
static sem_t tasks_done;

static inline void task_run(struct task *task)
{
    __atomic_store_n(&task->runs, task->runs + 1, __ATOMIC_RELEASE);
    if (task->body != NULL) task->body(task);
}

static void task_leave(void)
{
    if (__atomic_sub_fetch(&tasks_left, 1, __ATOMIC_ACQ_REL) == 0) tasks_ended();
}

static void task_chain(struct task *task)
{
    if (task->number == 0) tasks_began();
    if (task->number + 1 < TASKS_CHAINED) pool_spawn(task + 1);
    else tasks_ended();
}

static void task_leaf(struct task *task)
{
    (void)task;
    task_leave();
}

static void task_yield(struct task *task)
{
    if (task->left-- > 0) pool_yield(task);
    else task_leave();
}

static void task_pong(struct task *other)
{
    pool_pong(other - TASKS_PAIRS, other);
}

static void task_ping(struct task *task)
{
    if (task->left-- > 0) pool_ping(task, task + TASKS_PAIRS);
    else task_leave();
}

static void task_root(struct task *root)
{
    uint32_t count = root->left;
    tasks_began();
    for (uint32_t i = 1; i <= count; i++) pool_spawn(root + i);
}

static void task_inside(struct task *task)
{
    tasks_began();
    for (uint32_t i = 1; i <= TASKS_INSIDE; i++) pool_inside(task + i);
    tasks_ended();
}

__attribute__((unused)) static void task_post(struct task *task)
{
    (void)task;
    sem_post(&tasks_done);
}

/* What one does where the pool has nothing for it: the body is task_post. */
static inline void task_result_by_semaphore(struct task *task)
{
    pool_submit(task);
    while (sem_wait(&tasks_done) != 0)
        ;
}

#ifdef POOL_BY_SUBMIT
static void pool_spawn(struct task *task)
{
    pool_submit(task);
}

static void pool_yield(struct task *task)
{
    pool_submit(task);
}

static void pool_ping(struct task *task, struct task *other)
{
    (void)task;
    pool_submit(other);
}

static void pool_pong(struct task *task, struct task *other)
{
    (void)other;
    pool_submit(task);
}
#endif

/* So many tasks get that body, and may be submitted again `left` times in each round. */
static uint32_t tasks_set(uint32_t first, uint32_t count, void (*body)(struct task *task))
{
    for (uint32_t i = first; i < first + count; i++) tasks[i].body = body;
    return count;
}

static void tasks_ready(uint32_t first, uint32_t count, uint32_t left)
{
    for (uint32_t i = first; i < first + count; i++) tasks[i].left = left;
    tasks_left = count;
    tasks[0].left = count;
}

static void tasks_make(enum tasks_cell cell)
{
    tasks = (struct task *)bench_zeroed(TASKS_COUNT, sizeof *tasks);
    for (uint32_t i = 0; i < TASKS_COUNT; i++) tasks[i].number = i;
    sem_init(&tasks_done, 0, 0);
    if (cell == CELL_CHAIN) tasks_set(0, TASKS_CHAINED, task_chain);
    if (cell == CELL_PAIRS || cell == CELL_SPAWN || cell == CELL_YIELD) tasks[0].body = task_root;
    if (cell == CELL_PAIRS) tasks_set(1 + tasks_set(1, TASKS_PAIRS, task_ping), TASKS_PAIRS, task_pong);
    if (cell == CELL_SPAWN) tasks_set(1, TASKS_SPAWNED, task_leaf);
    if (cell == CELL_YIELD) tasks_set(1, TASKS_YIELDING, task_yield);
    if (cell == CELL_INSIDE) tasks[0].body = task_inside;
    if (cell == CELL_RESULT || cell == CELL_IDLE10) tasks[0].body = POOL_RESULT_BODY;
    pool_make();
}

static void tasks_start(enum tasks_cell cell)
{
    if (cell == CELL_PAIRS) tasks_ready(1, TASKS_PAIRS, 1);
    if (cell == CELL_SPAWN) tasks_ready(1, TASKS_SPAWNED, 0);
    if (cell == CELL_YIELD) tasks_ready(1, TASKS_YIELDING, TASKS_YIELDS);
    pool_submit(&tasks[0]);
    pool_finish();
}

/* The last run counts when the pool has let go of the task. */
static uint32_t tasks_runs(uint32_t number)
{
    uint32_t runs = __atomic_load_n(&tasks[number].runs, __ATOMIC_ACQUIRE);
#ifdef POOL_IS_OVER
    return runs > 0 && !POOL_IS_OVER(&tasks[number]) ? runs - 1 : runs;
#else
    return runs;
#endif
}

#ifndef POOL_AWAIT
#define POOL_AWAIT tasks_await
#endif

/* Ready to be submitted once more. */
static inline struct task *tasks_reuse(uint32_t number)
{
    struct task *task = &tasks[number];
    while (tasks_runs(number) < task->sent) POOL_AWAIT(number, task->sent);
    task->sent++;
    return task;
}

#ifdef POOL_PRODUCES
static void pool_produce(struct task *first, uint32_t count);

static inline void tasks_send(uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i += POOL_PRODUCES) {
        for (uint32_t each = i; each < i + POOL_PRODUCES; each++) tasks_reuse(each);
        pool_produce(&tasks[i], POOL_PRODUCES);
    }
}
#else
static inline void tasks_send(uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) pool_submit(tasks_reuse(i));
}
#endif

static void tasks_produce(uint32_t first, uint32_t end)
{
    for (uint32_t times = 0; times < TASKS_TIMES; times++) tasks_send(first, end);
}

static void tasks_result(void)
{
    pool_result(&tasks[0]);
}

int main(int argc, char **argv)
{
    static const struct tasks_contestant contestant = {tasks_make,  tasks_produce, pool_finish, tasks_runs,
                                                       tasks_start, tasks_result,  POOL_CAN};
    return tasks_main(argc, argv, &contestant);
}

#endif
