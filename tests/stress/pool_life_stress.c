/* SPDX-License-Identifier: MIT */
/*
 * The life cycle under load on real threads: a driver that blocks, is slow and
 * fails, or whose calls are done later, holders who are impatient, and one who reloads, resizes, pauses,
 * tests, interrupts and changes every setting meanwhile. At the end everything
 * that was opened has been closed once and nothing is counted any more.
 *
 * Some takes wait for ever: one who is forgotten hangs, and is named.
 */
#include "base/atomic.h"
#include "pool/internal.h"
#include "port/port.h"
#include "stress/pool_later.h"
#include "stress/pool_load.h"
#include "support/test.h"

enum { TESTS = 5, MOST = 6, TAKERS = 5 };

static cen_pool *pool;
static cen_runtime *runtime;
static stock things;
static later loops;
static _Atomic uint32_t enough;
static _Atomic uint64_t numbers[TAKERS];    /* of the threads that take */
static _Thread_local cen_condition left_in; /* the condition in which this thread gives back what it has */

/* ---- A driver that blocks ----------------------------------------------------------------- */

static void dawdle(unsigned most_us)
{
    uint64_t us = ceni_random() % (4 * most_us);
    if (us < most_us) load_sleep((double)us * 1e-6);
}

static cen_status open_slowly(void *argument, void **out, cen_error *error)
{
    dawdle(300);
    return stock_driver(&things).calls->open(argument, out, error);
}

static void close_slowly(void *argument, void *one)
{
    dawdle(200);
    stock_driver(&things).calls->close(argument, one);
}

static void interrupt_one(void *argument, void *one)
{
    stock_driver(&things).calls->interrupt(argument, one);
}

static cen_condition check_one(void *argument, void *one)
{
    (void)argument, (void)one;
    return left_in;
}

static cen_status reset_slowly(void *argument, void *one, cen_error *error)
{
    (void)argument, (void)one, (void)error;
    dawdle(200);
    return ceni_random() % 16 ? CEN_OK : CEN_DRIVER;
}

static cen_status test_slowly(void *argument, void *one, cen_error *error)
{
    (void)argument, (void)error;
    dawdle(200);
    expect(ceni_load_relaxed(&((object *)one)->state) == 1); /* open; carries nothing */
    return ceni_random() % 32 ? CEN_OK : CEN_DRIVER;
}

#define CALLS(may_block) \
    { \
        .size = sizeof(cen_driver_calls), .open = open_slowly, .close = close_slowly, .interrupt = interrupt_one, \
        .check = check_one, .reset = reset_slowly, .test = test_slowly, .blocks = (may_block) \
    }
static const cen_driver_calls blocking = CALLS(true), inline_ones = CALLS(false);

static const cen_driver_calls later_ones = {.size = sizeof(cen_driver_calls),
                                            .open_async = later_open,
                                            .close_async = later_close,
                                            .interrupt = later_interrupt,
                                            .check = check_one,
                                            .reset_async = later_reset,
                                            .test_async = later_test,
                                            .cancel = later_cancel};

/* ---- Those who take ------------------------------------------------------------------------- */

static cen_deadline some_deadline(worker *self)
{
    unsigned kind = draw_below(self, 8);
    if (kind < 2) return CEN_NEVER;
    return kind == 2 ? CEN_NOW : cen_in_us((int64_t)draw_below(self, 3000) + 1);
}

static void end_lease(worker *self, cen_lease *lease)
{
    unsigned kind = draw_below(self, 16);
    left_in = kind == 1 ? CEN_BROKEN : kind < 4 ? CEN_DIRTY : CEN_CLEAN;
    cen_status status = kind == 0 ? cen_pool_discard(lease) : cen_pool_give(lease);
    expect(status == CEN_OK || status == CEN_REVOKED);
    *(kind == 0 ? &self->discarded : &self->given) += 1;
}

static void take_once(worker *self)
{
    cen_lease lease;
    is_doing(self, "a take");
    cen_status status = cen_pool_take(pool, some_deadline(self), &lease, NULL);
    if (status != CEN_OK) {
        expect(status == CEN_TIMEOUT || status == CEN_DRIVER || status == CEN_FULL || status == CEN_INTERRUPTED);
        self->timed_out++;
        if (status == CEN_DRIVER || status == CEN_FULL) load_sleep(50e-6); /* told at once: let others work */
        return;
    }
    self->taken++;
    is_doing(self, "using what it took");
    use_begin(self, lease.object);
    make_noise(self);
    if (draw_below(self, 64) == 0) load_sleep(3e-3); /* beyond max_hold_ns, when there is one */
    use_end(self, lease.object);
    is_doing(self, "a give");
    end_lease(self, &lease);
}

static void take_all_the_time(worker *self)
{
    ceni_store_seq_cst(&numbers[self->number], cen_thread_number());
    while (!ceni_load_acquire(&enough)) take_once(self);
}

/* ---- One who meddles -------------------------------------------------------------------------- */

static int64_t some_time(worker *self, unsigned most_us)
{
    unsigned kind = draw_below(self, 3);
    return kind == 0 ? CEN_OFF : (int64_t)(draw_below(self, most_us) + 100) * 1000;
}

static void set_options(worker *self)
{
    cen_pool_options o = CEN_SIZED(cen_pool_options);
    expect_equal(cen_pool_options_get(pool, &o), CEN_OK);
    o.order = (cen_order)draw_below(self, 3);
    o.max_barging_ns = draw_below(self, 3) == 0 ? CEN_NONE : 0;
    o.exact_times = draw_below(self, 2);
    o.max_concurrent_opens = draw_below(self, 3) + 1;
    o.max_concurrent_tests = draw_below(self, 3) + 1;
    o.idle_timeout_ns = some_time(self, 4000);
    o.max_lifetime_ns = some_time(self, 8000);
    o.test_after_idle_ns = some_time(self, 2000);
    o.test_interval_ns = some_time(self, 4000);
    o.test_timeout_ns = some_time(self, 1000);
    o.open_timeout_ns = some_time(self, 1000);
    o.max_hold_ns = draw_below(self, 2) ? CEN_OFF : 2000000;
    o.max_uses = draw_below(self, 2) ? CEN_OFF : (int64_t)draw_below(self, 20) + 1;
    o.max_waiters = draw_below(self, 2) ? CEN_OFF : 2;
    o.max = draw_below(self, MOST) + 1;
    o.min_idle = draw_below(self, o.max + 1);
    o.max_idle = draw_below(self, 2) ? CEN_OFF : (int32_t)o.max;
    o.backoff_initial_ns = draw_below(self, 3) ? 200000 : CEN_OFF;
    o.backoff_max_ns = 2000000;
    o.breaker_failures = draw_below(self, 2) ? CEN_OFF : 2;
    expect_equal(cen_pool_options_set(pool, &o, NULL), CEN_OK);
}

static void look_once(void)
{
    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    expect_equal(cen_pool_stats_get(pool, &s), CEN_OK);
    expect_equal(s.idle + s.held + s.moving + s.revoked + s.opening + s.resetting + s.testing + s.closing + s.vacant,
                 s.places);
    expect_equal(s.waited, s.served + s.timed_out + s.sent_away + s.failed + s.shed + s.cancelled + s.waiting);
    expect(s.taken - s.ended >= s.held + s.revoked && s.taken - s.ended <= s.held + s.revoked + s.moving);
}

static void meddle_once(worker *self)
{
    uint32_t closed;
    is_doing(self, "meddling");
    switch (draw_below(self, 10)) {
    case 0: expect_equal(cen_pool_reload(pool, 0, NULL), CEN_OK); break;
    case 1: expect_equal(cen_pool_reload(pool, 1000000, NULL), CEN_OK); break;
    case 2: expect_equal(cen_pool_resize(pool, draw_below(self, MOST) + 1, NULL), CEN_OK); break;
    case 3:
        expect_equal(cen_pool_pause(pool, NULL), CEN_OK);
        make_noise(self);
        if (draw_below(self, 4) == 0) load_sleep(2e-3);
        expect_equal(cen_pool_resume(pool, NULL), CEN_OK);
        break;
    case 4: expect_equal(cen_pool_test_idle(pool, NULL), CEN_OK); break;
    case 5: expect_equal(cen_pool_reap(pool, 0, &closed, NULL), CEN_OK); break;
    case 6: cen_pool_interrupt(pool, ceni_load_seq_cst(&numbers[draw_below(self, TAKERS)])); break;
    case 7: look_once(); break;
    default: set_options(self); break;
    }
}

static void work(worker *self)
{
    if (self->number < TAKERS) take_all_the_time(self);
    else
        while (!ceni_load_acquire(&enough)) {
            meddle_once(self);
            is_doing(self, "resting");
            load_sleep(1e-3 * (draw_below(self, 4) == 0));
        }
}

/* ---- The end ------------------------------------------------------------------------------------ */

static void expect_nothing_left(void)
{
    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    cen_error error = {.status = CEN_OK};
    expect_equal(cen_pool_resume(pool, NULL), CEN_OK);
    if (cen_pool_close(pool, cen_in_s(20), NULL, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
    expect_equal(cen_pool_stats_get(pool, &s), CEN_OK);
    expect_equal(s.vacant, s.places);
    expect_equal(s.taken, s.ended);
    expect_equal(s.opened, s.closed);
    expect_equal(s.waiting, 0);
    ceni_waiters_lock(pool->waiters);
    expect_equal(pool->live + pool->opening + pool->overdue + pool->leaving + pool->revoked + pool->testing_for_waiters,
                 0);
    for (int kind = 0; kind < CENI_CHORES; kind++) expect_equal(pool->waiting[kind], 0);
    ceni_waiters_unlock(pool->waiters);
    expect_equal(cen_pool_free(pool), CEN_OK);
    stock_check(&things);
    /* A helper may still be on its way out of the pool: its hand keeps the runtime busy for a moment. */
    cen_status status = CEN_BUSY;
    for (int i = 0; i < 20000 && (status = cen_runtime_free(runtime)) == CEN_BUSY; i++) load_sleep(1e-3);
    expect_equal(status, CEN_OK);
}

static void live_under_load(const cen_driver_calls *calls, void *argument, uint32_t fail_one_in)
{
    double seconds = load_begin(TESTS);
    cen_runtime_options named = CEN_RUNTIME_OPTIONS(.name = "stress");
    expect_equal(cen_runtime_new(&named, &runtime, NULL), CEN_OK);
    stock_begin(&things, MOST);
    ceni_store_relaxed(&things.fail_one_in, fail_one_in); /* nobody looks yet; carries nothing */
    ceni_store_relaxed(&enough, 0);                       /* likewise; carries nothing */
    cen_pool_options options = CEN_POOL_OPTIONS(.driver = {calls, argument}, .max = 3, .runtime = runtime,
                                                .backoff_initial_ns = 200000, .backoff_max_ns = 2000000);
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    load_start(TAKERS + 2, work);
    load_sleep(seconds);
    ceni_store_release(&enough, 1);
    load_join();
    worker sum = load_sum();
    printf("     %" PRIu64 " taken, %" PRIu64 " given, %" PRIu64 " discarded, %" PRIu64 " got nothing\n", sum.taken,
           sum.given, sum.discarded, sum.timed_out);
    expect_equal(sum.taken, sum.given + sum.discarded);
    expect_nothing_left();
}

TEST(a_driver_that_blocks_lives_under_load)
{
    live_under_load(&blocking, &things, 0);
}

TEST(a_driver_that_blocks_and_fails_lives_under_load)
{
    live_under_load(&blocking, &things, 4);
}

TEST(a_driver_that_does_not_block_and_fails_lives_under_load)
{
    live_under_load(&inline_ones, &things, 4);
}

static void live_later(uint32_t fail_one_in)
{
    later_start(&loops, &things);
    live_under_load(&later_ones, &loops, fail_one_in);
    later_stop(&loops);
}

/* guarantees: later.load */
TEST(a_driver_whose_calls_are_done_later_lives_under_load)
{
    live_later(0);
}

/* guarantees: later.load */
TEST(a_driver_whose_calls_are_done_later_and_fail_lives_under_load)
{
    live_later(4);
}
