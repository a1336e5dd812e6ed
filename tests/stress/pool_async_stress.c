/* SPDX-License-Identifier: MIT */
/*
 * Those who ask and those who wait under load on real threads: threads take,
 * others ask, cancel and let deadlines pass, told inline, by an inbox or by the
 * runtime, while one resizes, reloads, pauses and changes settings; at the end
 * the pool is closed with all of them in line.
 *
 * The oracle, beside that of pool_load.h
 *   asked = lent + refused + cancelled, each once
 *   what was lent is given or discarded, and nothing is lent to what was cancelled
 *   nobody who asked is forgotten: whoever waits for the end of its asks is named
 */
#include <cenote/inbox.h>
#include <cenote/pool_async.h>

#include "base/atomic.h"
#include "pool/internal.h"
#include "port/port.h"
#include "stress/pool_load.h"
#include "support/test.h"

enum { TESTS = 2, MOST = 5, TAKERS = 3, ASKERS = 3, EACH = 6 };

static cen_pool *pool;
static cen_runtime *runtime;
static stock things;
static _Atomic uint32_t enough, closing;
static _Atomic uint64_t asked, lent, refused, cancelled, ended; /* carry nothing */

static void count(_Atomic uint64_t *what)
{
    ceni_add_relaxed(what, 1); /* read when all have ended; carries nothing */
}

/* ---- A driver that blocks, or does not ---------------------------------------------------------- */

static void dawdle(unsigned most_us)
{
    uint64_t us = ceni_random() % (4 * most_us);
    if (us < most_us) load_sleep((double)us * 1e-6);
}

static cen_status open_slowly(void *argument, void **out, cen_error *error)
{
    dawdle(200);
    return stock_driver(&things).calls->open(argument, out, error);
}

static void close_slowly(void *argument, void *one)
{
    dawdle(100);
    stock_driver(&things).calls->close(argument, one);
}

static void interrupt_one(void *argument, void *one)
{
    stock_driver(&things).calls->interrupt(argument, one);
}

#define CALLS(may_block) \
    { \
        .size = sizeof(cen_driver_calls), .open = open_slowly, .close = close_slowly, .interrupt = interrupt_one, \
        .blocks = (may_block) \
    }
static const cen_driver_calls blocking = CALLS(true), inline_ones = CALLS(false);

/* ---- Those who take ------------------------------------------------------------------------------- */

static cen_deadline some_deadline(worker *self)
{
    unsigned kind = draw_below(self, 8);
    if (kind < 2) return CEN_NEVER;
    return kind == 2 ? CEN_NOW : cen_in_us((int64_t)draw_below(self, 2000) + 1);
}

static bool is_expected(cen_status status)
{
    bool closed = status == CEN_CLOSED && ceni_load_acquire(&closing);
    return closed || status == CEN_TIMEOUT || status == CEN_DRIVER || status == CEN_FULL;
}

static void use_and_end(worker *self, cen_lease *lease)
{
    use_begin(self, lease->object);
    make_noise(self);
    use_end(self, lease->object);
    bool discards = draw_below(self, 16) == 0;
    cen_status status = discards ? cen_pool_discard(lease) : cen_pool_give(lease);
    expect(status == CEN_OK || status == CEN_REVOKED);
}

static void take_all_the_time(worker *self)
{
    while (!ceni_load_acquire(&enough)) {
        cen_lease lease;
        is_doing(self, "a take");
        cen_status status = cen_pool_take(pool, some_deadline(self), &lease, NULL);
        if (status == CEN_OK) {
            self->taken++;
            use_and_end(self, &lease);
            self->given++;
        } else {
            expect(is_expected(status));
            if (status != CEN_TIMEOUT) load_sleep(50e-6); /* told at once: let others work */
        }
    }
}

/* ---- Those who ask ----------------------------------------------------------------------------------- */

typedef struct request {
    cen_take_op take;
    _Atomic uint32_t busy; /* 1 from the ask until it was told or cancelled */
    worker as;             /* who uses what it gets, on whichever thread */
} request;

static request requests[ASKERS][EACH];
static cen_inbox *inboxes[ASKERS];

static void hear(cen_take_op *take)
{
    request *one = (request *)(void *)take;
    expect_equal(ceni_load_acquire(&one->busy), 1);
    cen_status status = take->future.status;
    if (status == CEN_OK) {
        count(&lent);
        use_and_end(&one->as, &take->lease);
        count(&ended);
    } else {
        expect(is_expected(status));
        count(&refused);
    }
    ceni_store_release(&one->busy, 0); /* its asker's again */
}

static void ask_or_cancel(worker *self, unsigned asker_number, request *one)
{
    if (ceni_load_acquire(&one->busy)) {
        if (draw_below(self, 4) > 0 || !cen_future_cancel(&one->take.future)) return;
        count(&cancelled);
        ceni_store_release(&one->busy, 0); /* its own */
        return;
    }
    if (ceni_load_acquire(&enough)) return;
    cen_executor *executors[] = {cen_inline(), cen_inbox_executor(inboxes[asker_number]),
                                 cen_runtime_executor(runtime)};
    cen_take_op_init(&one->take, hear, executors[draw_below(self, 3)]);
    ceni_store_release(&one->busy, 1);
    count(&asked);
    expect_equal(cen_pool_take_async(pool, some_deadline(self), &one->take), CEN_OK);
}

static bool any_busy(unsigned asker_number)
{
    for (int i = 0; i < EACH; i++)
        if (ceni_load_acquire(&requests[asker_number][i].busy)) return true;
    return false;
}

static void ask_all_the_time(worker *self, unsigned asker_number)
{
    while (!ceni_load_acquire(&enough) || any_busy(asker_number)) {
        is_doing(self, ceni_load_acquire(&enough) ? "waiting for the end of what it asked for" : "asking");
        request *one = &requests[asker_number][draw_below(self, EACH)];
        if (!ceni_load_acquire(&enough)) ask_or_cancel(self, asker_number, one);
        cen_inbox_poll(inboxes[asker_number], 0);
        make_noise(self);
        if (draw_below(self, 8) == 0) load_sleep(50e-6);
    }
}

/* ---- One who meddles ------------------------------------------------------------------------------------ */

/* The pool may be closed in the middle of it. */
static void expect_fine(cen_status status)
{
    expect(status == CEN_OK || (status == CEN_CLOSED && ceni_load_acquire(&closing)));
}

static void set_options(worker *self)
{
    cen_pool_options o = CEN_SIZED(cen_pool_options);
    expect_equal(cen_pool_options_get(pool, &o), CEN_OK);
    o.order = (cen_order)draw_below(self, 3);
    o.max_barging_ns = draw_below(self, 3) == 0 ? CEN_NONE : 0;
    o.exact_times = draw_below(self, 2);
    o.max_waiters = draw_below(self, 2) ? CEN_OFF : 4;
    o.max_uses = draw_below(self, 2) ? CEN_OFF : (int64_t)draw_below(self, 20) + 1;
    o.max = draw_below(self, MOST) + 1;
    o.min_idle = draw_below(self, 2);
    o.breaker_failures = draw_below(self, 2) ? CEN_OFF : 2;
    expect_fine(cen_pool_options_set(pool, &o, NULL));
}

static void meddle(worker *self)
{
    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    while (!ceni_load_acquire(&enough)) {
        is_doing(self, "meddling");
        switch (draw_below(self, 6)) {
        case 0: expect_fine(cen_pool_reload(pool, 0, NULL)); break;
        case 1: expect_fine(cen_pool_resize(pool, draw_below(self, MOST) + 1, NULL)); break;
        case 2:
            expect_fine(cen_pool_pause(pool, NULL));
            make_noise(self);
            expect_fine(cen_pool_resume(pool, NULL));
            break;
        case 3: set_options(self); break;
        default:
            expect_equal(cen_pool_stats_get(pool, &s), CEN_OK);
            expect_equal(s.waited, s.served + s.timed_out + s.sent_away + s.failed + s.cancelled + s.waiting);
            expect(s.taken - s.ended >= s.held + s.revoked && s.taken - s.ended <= s.held + s.revoked + s.moving);
        }
        load_sleep(1e-3 * (draw_below(self, 4) == 0));
    }
}

static void work(worker *self)
{
    unsigned number = (unsigned)self->number;
    if (number < TAKERS) take_all_the_time(self);
    else if (number < TAKERS + ASKERS) ask_all_the_time(self, number - TAKERS);
    else meddle(self);
}

/* ---- The end ------------------------------------------------------------------------------------------------ */

static void prepare(void)
{
    for (unsigned i = 0; i < ASKERS; i++) {
        expect_equal(cen_inbox_new(NULL, &inboxes[i], NULL), CEN_OK);
        for (unsigned k = 0; k < EACH; k++)
            requests[i][k] = (request){.as = {.number = (int)(LOAD_WORKERS + i * EACH + k), .dice = i * EACH + k + 1}};
    }
    ceni_store_relaxed(&enough, 0);  /* nobody looks yet; carries nothing */
    ceni_store_relaxed(&closing, 0); /* likewise; carries nothing */
    asked = lent = refused = cancelled = ended = 0;
}

static void expect_nothing_left(void)
{
    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    expect_equal(cen_pool_stats_get(pool, &s), CEN_OK);
    expect_equal(s.vacant, s.places);
    expect_equal(s.taken, s.ended);
    expect_equal(s.opened, s.closed);
    expect_equal(s.waiting, 0);
    expect_equal(s.waited, s.served + s.timed_out + s.sent_away + s.failed + s.cancelled);
    expect_equal(cen_pool_free(pool), CEN_OK);
    stock_check(&things);
    for (unsigned i = 0; i < ASKERS; i++) expect_equal(cen_inbox_free(inboxes[i]), CEN_OK);
    cen_status status = CEN_BUSY; /* a helper may still be on its way out */
    for (int i = 0; i < 20000 && (status = cen_runtime_free(runtime)) == CEN_BUSY; i++) load_sleep(1e-3);
    expect_equal(status, CEN_OK);
}

static void ask_under_load(const cen_driver_calls *calls, uint32_t fail_one_in)
{
    double seconds = load_begin(TESTS);
    cen_runtime_options named = CEN_RUNTIME_OPTIONS(.name = "stress");
    expect_equal(cen_runtime_new(&named, &runtime, NULL), CEN_OK);
    stock_begin(&things, MOST);
    ceni_store_relaxed(&things.fail_one_in, fail_one_in); /* nobody looks yet; carries nothing */
    prepare();
    cen_pool_options options = CEN_POOL_OPTIONS(.driver = {calls, &things}, .max = 3, .runtime = runtime,
                                                .backoff_initial_ns = 200000, .backoff_max_ns = 2000000);
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    load_start(TAKERS + ASKERS + 1, work);
    load_sleep(seconds);
    ceni_store_release(&closing, 1);
    ceni_store_release(&enough, 1);
    cen_error error = {.status = CEN_OK};
    if (cen_pool_close(pool, cen_in_s(20), NULL, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
    load_join();
    worker sum = load_sum();
    printf("     %" PRIu64 " taken; %" PRIu64 " asked, %" PRIu64 " lent, %" PRIu64 " refused, %" PRIu64 " cancelled\n",
           sum.taken, asked, lent, refused, cancelled);
    expect_equal(sum.taken, sum.given);
    expect_equal(asked, lent + refused + cancelled);
    expect_equal(lent, ended);
    expect_nothing_left();
}

TEST(those_who_ask_of_a_driver_that_blocks_and_fails_live_under_load)
{
    ask_under_load(&blocking, 8);
}

TEST(those_who_ask_of_a_driver_that_does_not_block_live_under_load)
{
    ask_under_load(&inline_ones, 16);
}
