/* SPDX-License-Identifier: MIT */
/* Children that are threads: they return, leave by pthread_exit, are cancelled, end when they are asked; on real threads. */
#include <pthread.h>
#include <stdlib.h>

#include "unit/supervisor/kids.h"

typedef enum manner { RETURNS_WELL, RETURNS_BADLY, EXITS, IS_CANCELLED, STAYS } manner;

typedef struct worker {
    _Atomic uint32_t runs, ends; /* a futex word: how often it was begun; how often its thread was gone */
    manner manners[4];           /* of its runs, the last for all that follow */
    _Atomic uint32_t released;
} worker;

static pthread_key_t key;

static void count_end(void *argument)
{
    ceni_sleep_until(ceni_clock_now() + 20 * milli); /* a thread that takes its time to go */
    ceni_add_seq_cst(&((worker *)argument)->ends, 1);
}

static void await_at_least(_Atomic uint32_t *word, uint32_t count)
{
    for (uint32_t seen; (seen = ceni_load_seq_cst(word)) < count;)
        ceni_futex_wait(word, seen, ceni_clock_now() + 10 * milli);
}

static cen_status work(void *argument, cen_child child, cen_error *error)
{
    worker *self = argument;
    (void)error;
    pthread_setspecific(key, self);
    uint32_t run = ceni_add_seq_cst(&self->runs, 1);
    ceni_futex_wake(&self->runs, UINT32_MAX);
    switch (self->manners[run < 3 ? run : 3]) {
    case RETURNS_WELL: return CEN_OK;
    case RETURNS_BADLY: return ceni_load_seq_cst(&self->released) ? CEN_OK : CEN_LOST;
    case EXITS: pthread_exit(NULL);
    case IS_CANCELLED:
        pthread_cancel(pthread_self());
        for (;;) pthread_testcancel();
    case STAYS:
        while (!cen_child_is_stopping(child)) ceni_sleep_until(ceni_clock_now() + milli);
        return CEN_OK;
    }
    return CEN_OK;
}

static void make_worker(worker *self, cen_restart restart, manner first)
{
    *self = (worker){.manners = {first, STAYS, STAYS, STAYS}};
    events[0] = '\0';
    cen_child_options child = CEN_CHILD_OPTIONS(.name = "w", .argument = self, .run = work, .restart = restart);
    cen_supervisor_options options = CEN_SUPERVISOR_OPTIONS(.name = "s", .children = &child, .child_count = 1,
                                                            .listener = hear, .max_restarts = CEN_OFF);
    expect_equal(pthread_key_create(&key, count_end), 0);
    expect_equal(cen_supervisor_new(&options, &supervisor, NULL), CEN_OK);
}

static void end_worker(void)
{
    expect_equal(cen_supervisor_stop(supervisor, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(cen_supervisor_free(supervisor), CEN_OK);
    pthread_key_delete(key);
}

static void expect_restart(manner first, cen_status status)
{
    worker self;
    cen_child_stats stats;
    make_worker(&self, CEN_RESTART_TRANSIENT, first);
    await_at_least(&self.runs, 2);
    expect_equal(ceni_load_seq_cst(&self.ends), 1); /* all of the first thread is gone before the second begins */
    /* the thread may be faster than the steward */
    while (look().starts < 2) ceni_sleep_until(ceni_clock_now() + milli);
    expect(find_child("w", &stats));
    expect_equal(stats.error.status, status);
    end_worker();
    expect_equal(ceni_load_seq_cst(&self.runs), 2);
    expect_equal(ceni_load_seq_cst(&self.ends), 2); /* and of the second when stop returns */
    expect_text(events, "w started;w ended badly;w restarted;w ended;s over;");
}

/* guarantees: supervisor.threads */
TEST(a_thread_that_returns_badly_is_started_again)
{
    expect_restart(RETURNS_BADLY, CEN_LOST);
}

/* guarantees: supervisor.threads */
TEST(a_thread_that_calls_pthread_exit_is_started_again)
{
    expect_restart(EXITS, CEN_INTERRUPTED);
}

/* guarantees: supervisor.threads */
TEST(a_thread_that_is_cancelled_is_started_again)
{
    expect_restart(IS_CANCELLED, CEN_INTERRUPTED);
}

TEST(a_thread_that_returns_well_has_ended_normally)
{
    worker self;
    cen_future over;
    make_worker(&self, CEN_RESTART_TRANSIENT, RETURNS_WELL);
    cen_future_init(&over);
    while (look().down == 0) ceni_sleep_until(ceni_clock_now() + milli);
    expect_equal(ceni_load_seq_cst(&self.runs), 1);
    end_worker();
    expect_text(events, "w started;w ended;s over;");
}

TEST(a_permanent_thread_that_returns_well_is_started_again)
{
    worker self;
    make_worker(&self, CEN_RESTART_PERMANENT, RETURNS_WELL);
    await_at_least(&self.runs, 2);
    end_worker();
}

TEST(a_thread_says_nothing_but_by_its_end)
{
    worker self;
    cen_child_stats stats;
    cen_future death;
    make_worker(&self, CEN_RESTART_PERMANENT, STAYS);
    await_at_least(&self.runs, 1);
    expect(find_child("w", &stats));
    expect(!cen_child_report_ended(stats.child, NULL));
    cen_future_init(&death);
    expect_equal(cen_child_watch(stats.child, &death), CEN_MISUSE);
    end_worker();
    expect_equal(ceni_load_seq_cst(&self.runs), 1);
}

static cen_status ignore_all(void *argument, cen_child child, cen_error *error)
{
    worker *self = argument;
    (void)child, (void)error;
    ceni_add_seq_cst(&self->runs, 1);
    await_at_least(&self->released, 1);
    return CEN_OK;
}

TEST(a_thread_that_does_not_end_is_abandoned_and_keeps_the_memory_until_it_does)
{
    cen_supervisor_report report = CEN_SIZED(cen_supervisor_report);
    worker self = {.runs = 0};
    cen_runtime *own;
    cen_runtime_options runtime_options = CEN_RUNTIME_OPTIONS(.name = "own");
    expect_equal(cen_runtime_new(&runtime_options, &own, NULL), CEN_OK);
    cen_child_options child =
        CEN_CHILD_OPTIONS(.name = "w", .argument = &self, .run = ignore_all, .shutdown_ns = 10 * milli);
    cen_supervisor_options options = CEN_SUPERVISOR_OPTIONS(.children = &child, .child_count = 1, .runtime = own);
    expect_equal(cen_supervisor_new(&options, &supervisor, NULL), CEN_OK);
    await_at_least(&self.runs, 1);
    expect_equal(cen_supervisor_stop(supervisor, CEN_NEVER, &report, NULL), CEN_OK);
    expect_equal(report.abandoned, 1);
    expect_equal(cen_supervisor_free(supervisor), CEN_OK);
    expect_equal(cen_runtime_free(own), CEN_BUSY);
    ceni_store_seq_cst(&self.released, 1);
    ceni_futex_wake(&self.released, 1);
    while (cen_runtime_free(own) != CEN_OK) ceni_sleep_until(ceni_clock_now() + milli);
}

TEST(when_a_stop_has_returned_supervisor_and_runtime_can_be_freed_at_once)
{
    for (int i = 0; i < 300; i++) {
        cen_runtime *own;
        cen_runtime_options runtime_options = CEN_RUNTIME_OPTIONS(.name = "own");
        expect_equal(cen_runtime_new(&runtime_options, &own, NULL), CEN_OK);
        init_kids();
        cen_child_options children[] = {kid_options(0), kid_options(1)};
        children[0].start_ns = children[1].start_ns = second;
        cen_supervisor_options options = CEN_SUPERVISOR_OPTIONS(.children = children, .child_count = 2, .runtime = own);
        expect_equal(cen_supervisor_new(&options, &supervisor, NULL), CEN_OK);
        if (i % 2) cen_child_report_ended(kids[i % 2].child, NULL);
        expect_equal(cen_supervisor_stop(supervisor, CEN_NEVER, NULL, NULL), CEN_OK);
        expect_equal(cen_supervisor_free(supervisor), CEN_OK);
        expect_equal(cen_runtime_free(own), CEN_OK);
    }
}

/* ---- Cancellation ------------------------------------------------------------------------------------------------ */

static void be_cancelled_meanwhile(void *argument, const cen_child_stats *child)
{
    (void)child;
    ++*(unsigned *)argument;
    pthread_cancel(pthread_self());
    pthread_testcancel();
}

static void *walk_once(void *argument)
{
    cen_supervisor_each(supervisor, be_cancelled_meanwhile, argument);
    pthread_testcancel();
    *(unsigned *)argument = 0;
    return NULL;
}

TEST(a_thread_that_is_cancelled_in_its_walk_ends_when_the_walk_is_over)
{
    unsigned visits = 0;
    void *how = NULL;
    pthread_t thread;
    cen_supervisor_stats stats = CEN_SIZED(cen_supervisor_stats);
    init_kids();
    cen_child_options children[] = {kid_options(0), kid_options(1)}, more = kid_options(2);
    cen_supervisor_options options = CEN_SUPERVISOR_OPTIONS(.children = children, .child_count = 2);
    expect_equal(cen_supervisor_new(&options, &supervisor, NULL), CEN_OK);
    expect_equal(cen_supervisor_add(supervisor, &more, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(pthread_create(&thread, NULL, walk_once, &visits), 0);
    expect_equal(pthread_join(thread, &how), 0);
    expect(how == PTHREAD_CANCELED);
    expect_equal(visits, 3);
    /* Nobody is left who walks: what is removed is forgotten, and its name free at once. */
    expect_equal(cen_supervisor_remove(supervisor, "c", CEN_NEVER, NULL), CEN_OK);
    expect_equal(cen_supervisor_stats_get(supervisor, &stats), CEN_OK);
    expect_equal(stats.children, 2);
    expect_equal(cen_supervisor_stop(supervisor, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(cen_supervisor_free(supervisor), CEN_OK);
}
