/* SPDX-License-Identifier: MIT */
/*
 * Tasks on threads of the system. Each thread runs steps of whatever task is
 * free; a step takes, gives what some task took, detaches, or ends the task.
 *
 * Oracle: what a step is told about what its task holds is what the book says,
 * and in the end, when all tasks have ended, everything is idle.
 */
#include <cenote/pool.h>
#include <pthread.h>
#include <stdlib.h>

#include "port/port.h"
#include "support/test.h"
#include "sync/holder.h"

enum { THREADS = 4, TASKS = 6, HELD = 4, STEPS = 20000, OBJECTS = 16 };

/* A task; whoever has its lock runs it, or does something to its leases. */
typedef struct task {
    pthread_mutex_t lock;
    ceni_holder holder;
    cen_lease leases[HELD];
    bool attached[HELD]; /* of a lease that is one */
} task;

static task tasks[TASKS];
static cen_pool *pools[2];
static int object;

static _Thread_local uint64_t chance;

static unsigned any(unsigned below)
{
    return (unsigned)(test_random(&chance) % below);
}

static bool book_says(const task *one)
{
    for (int i = 0; i < HELD; i++)
        if (one->leases[i].pool && one->attached[i]) return true;
    return false;
}

static void do_something_with(task *one, int i)
{
    cen_lease *lease = &one->leases[i];
    if (!lease->pool) {
        one->attached[i] = cen_pool_try_take(pools[any(2)], lease, NULL) == CEN_OK;
        if (!one->attached[i]) lease->pool = NULL;
    } else if (any(6) == 0 && one->attached[i]) {
        expect_equal(cen_pool_detach(lease), CEN_OK);
        one->attached[i] = false;
    } else if (any(10) == 0) {
        expect_equal(cen_pool_discard(lease), CEN_OK);
    } else {
        expect_equal(cen_pool_give(lease), CEN_OK);
    }
}

/* The task is over, and another begins in its place; what was detached is given by hand. */
static void end_task(task *one)
{
    ceni_holder_end(&one->holder);
    one->holder = (ceni_holder){0};
    for (int i = 0; i < HELD; i++) {
        if (!one->leases[i].pool) continue;
        expect_equal(cen_pool_give(&one->leases[i]), one->attached[i] ? CEN_STALE : CEN_OK);
        one->leases[i].pool = NULL;
    }
}

/* Another holder gives what the task took: the thread itself, or a task that runs on it. */
static void give_for(task *other)
{
    if (pthread_mutex_trylock(&other->lock) != 0) return;
    int i = (int)any(HELD);
    if (other->leases[i].pool) expect_equal(cen_pool_give(&other->leases[i]), CEN_OK);
    pthread_mutex_unlock(&other->lock);
}

static void step(task *one)
{
    ceni_holder_before before;
    ceni_holder_enter(&one->holder, &before);
    unsigned count = any(4);
    for (unsigned k = 0; k < count; k++) do_something_with(one, (int)any(HELD));
    if (any(3) == 0) give_for(&tasks[any(TASKS)]);
    if (any(2) == 0) expect_equal(ceni_holder_holds(), book_says(one));
    ceni_holder_leave(&one->holder, &before);
    if (any(20) == 0) end_task(one);
}

static void *run_steps(void *seed)
{
    chance = *(const uint64_t *)seed;
    for (int i = 0; i < STEPS; i++) {
        task *one = &tasks[any(TASKS)];
        if (pthread_mutex_trylock(&one->lock) != 0) continue;
        step(one);
        pthread_mutex_unlock(&one->lock);
        if (any(5) == 0) give_for(&tasks[any(TASKS)]); /* as the thread */
    }
    expect(!ceni_holder_holds()); /* the thread took nothing itself */
    return NULL;
}

static cen_status open_any(void *argument, void **out, cen_error *error)
{
    (void)error;
    *out = argument;
    return CEN_OK;
}

static const cen_driver_calls calls = {.size = sizeof calls, .open = open_any, .closes_nothing = true};

/* guarantees: pool.holder-count */
TEST(tasks_on_many_threads_are_told_exactly_what_they_hold_and_nothing_is_lost)
{
    for (int p = 0; p < 2; p++) {
        cen_pool_options options =
            CEN_POOL_OPTIONS(.max = OBJECTS, .driver = {&calls, &object}, .on_holder_end = CEN_HOLDER_END_REUSE,
                             .order = p ? CEN_ORDER_FIFO : CEN_ORDER_WARM);
        expect_equal(cen_pool_new(&options, &pools[p], NULL), CEN_OK);
    }
    for (int i = 0; i < TASKS; i++) pthread_mutex_init(&tasks[i].lock, NULL);
    pthread_t threads[THREADS];
    uint64_t seed = test_seed(), seeds[THREADS];
    for (int i = 0; i < THREADS; i++) seeds[i] = seed + (uint64_t)i;
    for (int i = 0; i < THREADS; i++) expect_equal(pthread_create(&threads[i], NULL, run_steps, &seeds[i]), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < TASKS; i++) end_task(&tasks[i]);
    for (int p = 0; p < 2; p++) {
        cen_pool_stats s = CEN_SIZED(cen_pool_stats);
        expect_equal(cen_pool_stats_get(pools[p], &s), CEN_OK);
        expect_equal(s.held + s.moving + s.revoked, 0);
        expect_equal(s.taken, s.ended);
        expect(s.taken > STEPS / 10);
        expect_equal(cen_pool_free(pools[p]), CEN_OK);
    }
}

/* ---- A thread that ends in the middle ------------------------------------------------------ */

static void *exit_in_a_step(void *pool)
{
    static ceni_holder holder;
    ceni_holder_before before;
    cen_lease mine, tasks_own;
    holder = (ceni_holder){0};
    *ceni_thread_worker() = &holder;
    expect_equal(cen_pool_try_take(pool, &mine, NULL), CEN_OK);
    ceni_holder_enter(&holder, &before);
    expect_equal(cen_pool_try_take(pool, &tasks_own, NULL), CEN_OK);
    expect(*ceni_thread_worker() == &holder);
    pthread_exit(NULL);
}

/* guarantees: pool.holder-count */
TEST(L13_a_thread_that_exits_in_a_step_gives_up_what_it_and_its_task_hold)
{
    cen_pool *pool;
    cen_pool_options options =
        CEN_POOL_OPTIONS(.max = 2, .driver = {&calls, &object}, .on_holder_end = CEN_HOLDER_END_REUSE);
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    for (int i = 0; i < 10; i++) {
        pthread_t thread;
        expect_equal(pthread_create(&thread, NULL, exit_in_a_step, pool), 0);
        pthread_join(thread, NULL);
        cen_pool_stats s = CEN_SIZED(cen_pool_stats);
        expect_equal(cen_pool_stats_get(pool, &s), CEN_OK);
        expect(s.idle == 2 && s.held == 0);
    }
    expect(*ceni_thread_worker() == NULL);
    expect_equal(cen_pool_free(pool), CEN_OK);
}
