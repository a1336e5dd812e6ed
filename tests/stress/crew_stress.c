/* SPDX-License-Identifier: MIT */
/*
 * Random load on crews by threads of the system: submitters from outside, tasks that
 * submit others, yield, wait for timers and for a pool, await, block, are
 * cancelled and have deadlines, while the crew is resized and then stopped in some way.
 * Each task is freed by its own `done`, so that whoever touches one afterwards is
 * caught by a sanitizer.
 *
 * The oracle: every task that was let in is over exactly once, the crew counts the same, and
 * all objects are back in their pool.
 *
 *     CENOTE_STRESS_SECONDS=n   for all tests of the program together
 *     CENOTE_SEED=n             the same choices, though not the same schedule
 */
#include <stdlib.h>
#include <unistd.h>

#include <cenote/cenote.h>

#include "port/port.h"
#include "support/test.h"

enum { SUBMITTERS = 2, SUBMITS = 300, OBJECTS = 2 };

typedef struct chore {
    cen_task task;
    uint64_t dice;
    unsigned steps_left, depth;
    cen_timer timer;
    cen_take_op take;
    cen_lease lease;
} chore;

static cen_crew *crew;
static cen_pool *pool;
static _Atomic uint64_t let_in, over, refused, by_status[32];

static cen_next step(cen_task *task);

static void ended(cen_future *future)
{
    ceni_add_seq_cst(&over, 1);
    ceni_add_seq_cst(&by_status[future->status % 32], 1);
    free(future);
}

static chore *make_chore(uint64_t dice, unsigned depth)
{
    chore *self = calloc(1, sizeof *self);
    expect(self != NULL);
    cen_task_init(&self->task, step);
    self->dice = dice;
    self->depth = depth;
    self->steps_left = (unsigned)(test_random(&self->dice) % 4);
    if (test_random(&self->dice) % 8 == 0) self->task.deadline = cen_in_us((int64_t)(test_random(&self->dice) % 500));
    return self;
}

static bool send(chore *self)
{
    ceni_add_seq_cst(&let_in, 1);
    expect_equal(cen_future_then(&self->task.future, ended, cen_inline()), CEN_OK);
    if (cen_crew_submit(crew, &self->task, NULL) == CEN_OK) return true;
    ceni_sub_seq_cst(&let_in, 1);
    ceni_add_seq_cst(&refused, 1);
    free(self);
    return false;
}

/* ---- What a step does ----------------------------------------------------------------------- */

static void spawn(chore *self)
{
    for (uint64_t i = test_random(&self->dice) % 6; i > 0; i--)
        send(make_chore(test_random(&self->dice), self->depth + 1));
}

/* The child is on the stack, and has no `done`. */
static cen_next child_step(cen_task *task)
{
    return cen_task_done(task, task);
}

static void await_child(chore *self)
{
    cen_task child;
    cen_task_init(&child, child_step);
    if (cen_crew_submit(crew, &child, NULL) != CEN_OK) return;
    ceni_add_seq_cst(&let_in, 1);
    if (test_random(&self->dice) % 4 == 0) cen_task_cancel(&child);
    expect_equal(cen_await(&child.future, CEN_NEVER), CEN_OK);
    expect(child.future.status == CEN_OK || child.future.status == CEN_INTERRUPTED ||
           child.future.status == CEN_CLOSED);
    ceni_add_seq_cst(&over, 1);
    ceni_add_seq_cst(&by_status[child.future.status % 32], 1);
}

static cen_next got_object(cen_task *task)
{
    chore *self = (chore *)task;
    if (cen_future_is_done(&self->take.future) && self->take.future.status == CEN_OK) {
        if (test_random(&self->dice) % 8) expect_equal(cen_pool_give(&self->take.lease), CEN_OK);
        else expect_equal(cen_pool_discard(&self->take.lease), CEN_OK);
    }
    return step(task);
}

static cen_next wait_for_pool(chore *self)
{
    cen_take_op_init(&self->take, NULL, NULL);
    if (cen_pool_take_async(pool, cen_in_us((int64_t)(test_random(&self->dice) % 2000) + 1), &self->take) != CEN_OK)
        return cen_task_done(&self->task, NULL);
    return cen_task_wait(&self->task, &self->take.future, got_object);
}

static cen_next wait_for_timer(chore *self)
{
    cen_timer_init(&self->timer);
    expect_equal(cen_timer_start(&self->timer, NULL, cen_in_us((int64_t)(test_random(&self->dice) % 300)), NULL),
                 CEN_OK);
    return cen_task_wait(&self->task, &self->timer.future, step);
}

static void hold_for_a_while(chore *self)
{
    if (cen_pool_try_take(pool, &self->lease, NULL) != CEN_OK) return;
    if (test_random(&self->dice) % 2) await_child(self);
    if (test_random(&self->dice) % 4) expect_equal(cen_pool_give(&self->lease), CEN_OK); /* else its end gives it */
}

static void block(void)
{
    cen_blocking_begin();
    ceni_sleep_until(ceni_clock_now() + 20000);
    cen_blocking_end();
}

static cen_next step(cen_task *task)
{
    chore *self = (chore *)task;
    if (self->steps_left-- == 0) return cen_task_done(task, self);
    switch (test_random(&self->dice) % 8) {
    case 0:
        if (self->depth < 2) spawn(self);
        break;
    case 1: await_child(self); break;
    case 2: return wait_for_pool(self);
    case 3: return wait_for_timer(self);
    case 4: hold_for_a_while(self); return cen_task_done(task, self);
    case 5:
        if (test_random(&self->dice) % 4 == 0) block();
        break;
    case 6: cen_task_check_stop(task); break;
    default: break;
    }
    return cen_task_yield(task, step);
}

/* ---- Outside --------------------------------------------------------------------------------- */

/* One that is cancelled belongs to who cancels it, so it has no `done`. */
static void submit_and_cancel(uint64_t *dice)
{
    cen_task own;
    cen_task_init(&own, child_step);
    if (test_random(dice) % 2) own.deadline = cen_in_us((int64_t)(test_random(dice) % 100));
    if (cen_crew_submit(crew, &own, NULL) != CEN_OK) return;
    ceni_add_seq_cst(&let_in, 1);
    for (uint64_t i = test_random(dice) % 200; i > 0; i--) ceni_pause();
    bool cancelled = test_random(dice) % 2 ? cen_task_cancel(&own) : cen_future_cancel(&own.future);
    if (!cancelled || cen_future_is_done(&own.future)) expect_equal(cen_future_wait(&own.future, CEN_NEVER), CEN_OK);
    ceni_add_seq_cst(&over, 1);
    ceni_add_seq_cst(&by_status[(cancelled ? CEN_INTERRUPTED : own.future.status) % 32], 1);
}

static void submit_all(void *argument)
{
    uint64_t dice = *(uint64_t *)argument;
    for (unsigned i = 0; i < SUBMITS; i++) {
        if (test_random(&dice) % 4 == 0) submit_and_cancel(&dice);
        else send(make_chore(test_random(&dice), 0));
        if (test_random(&dice) % 16 == 0) cen_crew_resize(crew, (uint32_t)(test_random(&dice) % 4) + 1, NULL);
    }
}

static cen_status open_object(void *argument, void **out, cen_error *error)
{
    (void)argument, (void)error;
    *out = &pool;
    return CEN_OK;
}

static void close_object(void *argument, void *object)
{
    (void)argument, (void)object;
}

static void make_both(uint64_t *dice)
{
    static const cen_driver_calls calls = {.size = sizeof calls, .open = open_object, .close = close_object};
    cen_driver driver = {&calls, NULL};
    cen_pool_options objects = CEN_POOL_OPTIONS(.driver = driver, .max = OBJECTS);
    cen_crew_options options = CEN_CREW_OPTIONS(.workers = (uint32_t)(test_random(dice) % 3) + 1, .max = 8);
    if (test_random(dice) % 2) options.min = 1;
    options.idle_timeout_ns = test_random(dice) % 2 ? 100000 : 0;
    expect_equal(cen_pool_new(&objects, &pool, NULL), CEN_OK);
    expect_equal(cen_crew_new(&options, &crew, NULL), CEN_OK);
}

/* Somewhere in the middle, or when all is submitted; to drain, to drop, or the one and then the other. */
static void stop_somehow(uint64_t *dice, cen_crew_report *report)
{
    switch (test_random(dice) % 3) {
    case 0: expect_equal(cen_crew_stop(crew, CEN_STOP_DRAIN, CEN_NEVER, report, NULL), CEN_OK); break;
    case 1: expect_equal(cen_crew_stop(crew, CEN_STOP_DROP, CEN_NEVER, report, NULL), CEN_OK); break;
    default:
        if (cen_crew_stop(crew, CEN_STOP_DRAIN, cen_in_us((int64_t)(test_random(dice) % 500)), report, NULL) != CEN_OK)
            expect_equal(cen_crew_stop(crew, CEN_STOP_DRAIN, CEN_NEVER, report, NULL), CEN_OK);
    }
}

static void expect_all_over(const cen_crew_report *report)
{
    cen_crew_stats stats = CEN_SIZED(cen_crew_stats);
    cen_pool_stats objects = CEN_SIZED(cen_pool_stats);
    expect_equal(cen_crew_stats_get(crew, &stats), CEN_OK);
    expect_equal(ceni_load_seq_cst(&over), ceni_load_seq_cst(&let_in));
    expect_equal(stats.submitted, ceni_load_seq_cst(&let_in));
    expect_equal(stats.finished, stats.submitted);
    expect_equal(report->dropped, ceni_load_seq_cst(&by_status[CEN_CLOSED]));
    expect_equal(report->running + report->waiting + report->queued, 0);
    expect_equal(stats.threads + stats.blocked + stats.idle, 0);
    expect_equal(ceni_load_seq_cst(&by_status[CEN_MISUSE]), 0);
    expect_equal(cen_pool_stats_get(pool, &objects), CEN_OK);
    expect_equal(objects.held, 0);
}

static uint64_t one_round(uint64_t *dice)
{
    uint64_t seeds[SUBMITTERS];
    ceni_thread threads[SUBMITTERS];
    cen_crew_report report = CEN_SIZED(cen_crew_report);
    ceni_store_seq_cst(&let_in, 0);
    ceni_store_seq_cst(&over, 0);
    for (int i = 0; i < 32; i++) ceni_store_seq_cst(&by_status[i], 0);
    make_both(dice);
    for (int i = 0; i < SUBMITTERS; i++) {
        seeds[i] = test_random(dice);
        expect_equal(ceni_thread_start(&threads[i], NULL, submit_all, &seeds[i], NULL), CEN_OK);
    }
    bool early = test_random(dice) % 2;
    if (early) ceni_sleep_until(ceni_clock_now() + (int64_t)(test_random(dice) % 3000000));
    for (int i = 0; !early && i < SUBMITTERS; i++) ceni_thread_join(&threads[i]);
    stop_somehow(dice, &report);
    for (int i = 0; early && i < SUBMITTERS; i++) ceni_thread_join(&threads[i]);
    expect_all_over(&report);
    uint64_t count = ceni_load_seq_cst(&over);
    expect_equal(cen_crew_free(crew), CEN_OK);
    expect_equal(cen_pool_free(pool), CEN_OK);
    return count;
}

/* guarantees: crew.load */
TEST(every_task_is_over_exactly_once_whatever_happens_to_the_crew)
{
    const char *text = getenv("CENOTE_STRESS_SECONDS");
    double seconds = text ? strtod(text, NULL) : 2.0;
    uint64_t seed = test_seed(), rounds = 0, tasks = 0;
    alarm((unsigned)seconds + 60);
    int64_t until = ceni_clock_now() + (int64_t)(seconds * 1e9);
    for (; rounds == 0 || ceni_clock_now() < until; rounds++) tasks += one_round(&seed);
    expect(tasks > 0);
    printf("     %" PRIu64 " crews, %" PRIu64 " tasks, %" PRIu64 " refused\n", rounds, tasks,
           ceni_load_seq_cst(&refused));
}
