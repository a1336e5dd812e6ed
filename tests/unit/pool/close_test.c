/* SPDX-License-Identifier: MIT */
/* Close: what is refused, who is told, who is awaited, and what is taken away (L15). */
#include "unit/pool/takers.h"

static workshop shop;
static cen_pool *pool;

/* A pool with `idle` idle objects and `out` that are lent into `held`; the lent ones have the lower numbers. */
static void prepare(cen_pool_options options, int out, int idle, cen_lease *held)
{
    shop = (workshop){0};
    options.name = "ending";
    options.driver = driver_of(&shop);
    pool = make_from(options);
    cen_lease leases[16];
    for (int i = 0; i < out + idle; i++) leases[i] = take_now(pool);
    for (int i = 0; i < out; i++) held[i] = leases[i];
    for (int i = out; i < out + idle; i++) give_back(&leases[i]);
    shop.log[0] = '\0';
}

#define PLAIN(number) (CEN_POOL_OPTIONS(.max = (number)))

/* A close that another thread makes. */
typedef struct closer {
    cen_deadline deadline;
    cen_close_report report;
    cen_error error;
    cen_status status;
    bool returned;
    ceni_thread thread;
} closer;

static void run_closer(void *argument)
{
    closer *one = argument;
    one->status = cen_pool_close(pool, one->deadline, &one->report, &one->error);
    one->returned = true;
}

static void begin_close(closer *one, cen_deadline deadline)
{
    *one = (closer){.deadline = deadline};
    memset(&one->report, 0x55, sizeof one->report);
    one->report.size = sizeof one->report;
    one->thread = start("closer", run_closer, one);
    ceni_world_settle();
}

static void expect_report(const cen_close_report *report, uint32_t waiting, uint32_t idle, uint32_t given,
                          uint32_t revoked)
{
    expect_equal(report->waiting, waiting);
    expect_equal(report->idle, idle);
    expect_equal(report->given, given);
    expect_equal(report->revoked, revoked);
    expect_equal(report->busy, 0);
}

static void expect_closed(closer *one, cen_status status)
{
    ceni_world_settle();
    expect(one->returned);
    join(one->thread);
    expect_equal(one->status, status);
}

/* ---- A pool at rest ---------------------------------------------------------------------- */

/* guarantees: pool.L15 */
TEST(close_closes_what_is_idle_and_says_how_much)
{
    for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
        prepare(CEN_POOL_OPTIONS(.max = 5, .order = order), 0, 3, NULL);
        cen_close_report report = CEN_SIZED(cen_close_report);
        memset(&report, 0x55, sizeof report);
        report.size = sizeof report;
        expect_equal(cen_pool_close(pool, CEN_NEVER, &report, NULL), CEN_OK);
        expect_report(&report, 0, 3, 0, 0);
        expect_log(&shop, "-1 -2 -3 ");
        expect(cen_pool_is_closed(pool));
        cen_pool_stats s = expect_sound(pool);
        expect(s.is_closed && s.vacant == s.places && s.closed == 3);
        free_pool(pool);
        expect_log(&shop, "");
    }
}

/* guarantees: pool-bugs.shutdown, pool-api.closed */
TEST(a_closed_pool_refuses_everything_that_would_use_it)
{
    prepare(PLAIN(2), 0, 1, NULL);
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_OK);
    cen_pool_stats before = expect_sound(pool);
    cen_lease lease;
    cen_scope scope;
    cen_error error;
    expect_equal(cen_pool_take(pool, CEN_NEVER, &lease, &error), CEN_CLOSED);
    expect_error(&error, CEN_CLOSED, "\"ending\"");
    expect_equal(cen_pool_try_take(pool, &lease, &error), CEN_CLOSED);
    expect_error(&error, CEN_CLOSED, "\"ending\"");
    expect_equal(cen_pool_take(pool, CEN_NOW, &lease, NULL), CEN_CLOSED);
    expect_equal(cen_pool_enter(pool, CEN_NEVER, &scope, NULL), CEN_CLOSED);
    expect_equal(cen_pool_adopt(pool, NULL, NULL), CEN_CLOSED);
    expect_equal(cen_pool_resize(pool, 1, &error), CEN_CLOSED);
    expect_error(&error, CEN_CLOSED, "\"ending\"");
    expect_equal(cen_pool_resize(pool, 500, NULL), CEN_CLOSED);
    CEN_WITH (pool, CEN_NEVER, void *, object, &error) unexpected(object, "the block of a closed pool");
    expect_error(&error, CEN_CLOSED, "\"ending\"");
    cen_pool_stats after = expect_sound(pool);
    expect(same_stats(&before, &after));
    expect_log(&shop, "-1 ");
    free_pool(pool);
}

/* guarantees: pool-api.closed */
TEST(closing_twice_says_closed_and_changes_nothing)
{
    cen_lease held[1];
    prepare(PLAIN(2), 1, 1, held);
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_TIMEOUT);
    cen_pool_stats before = expect_sound(pool);
    cen_close_report report = CEN_SIZED(cen_close_report), untouched = CEN_SIZED(cen_close_report);
    memset(&untouched, 0x55, sizeof untouched);
    untouched.size = sizeof untouched;
    report = untouched;
    cen_error error;
    expect_equal(cen_pool_close(pool, CEN_NEVER, &report, &error), CEN_CLOSED);
    expect_error(&error, CEN_CLOSED, "\"ending\"");
    expect(memcmp(&report, &untouched, sizeof report) == 0);
    cen_pool_stats after = expect_sound(pool);
    expect(same_stats(&before, &after));
    expect_equal(cen_pool_give(&held[0]), CEN_REVOKED);
    free_pool(pool);
}

TEST(close_needs_a_pool_and_nothing_else)
{
    cen_error error;
    cen_close_report report = CEN_SIZED(cen_close_report);
    expect_equal(cen_pool_close(NULL, CEN_NOW, &report, &error), CEN_INVALID);
    expect_error(&error, CEN_INVALID, "pool is NULL");
    expect_equal(cen_pool_close(NULL, CEN_NOW, NULL, NULL), CEN_INVALID);
    prepare(PLAIN(1), 0, 0, NULL);
    expect_equal(cen_pool_close(pool, CEN_NEVER, NULL, NULL), CEN_OK);
    free_pool(pool);
}

/* ---- Those who wait --------------------------------------------------------------------------- */

/* guarantees: pool.L15 */
TEST(close_tells_all_who_wait_at_once)
{
    enum { COUNT = 5 };
    for (int strict = 0; strict < 2; strict++) {
        cen_lease held[1];
        taker takers[COUNT];
        closer one;
        prepare(CEN_POOL_OPTIONS(.max = 1, .max_barging_ns = strict ? CEN_NONE : 0), 1, 0, held);
        for (int i = 0; i < COUNT; i++) begin_take(&takers[i], pool, CEN_NEVER);
        int64_t began = cen_clock();
        begin_close(&one, cen_in_s(100));
        for (int i = 0; i < COUNT; i++) {
            expect_answer(&takers[i], CEN_CLOSED);
            expect_error(&takers[i].error, CEN_CLOSED, "\"ending\"");
            expect(takers[i].lease.pool == NULL);
        }
        expect_equal(cen_clock(), began);
        expect(!one.returned); /* it still awaits the holder */
        cen_pool_stats s = expect_sound(pool);
        expect(s.waiting == 0 && s.sent_away == COUNT && s.waited == COUNT);
        give_back(&held[0]);
        expect_closed(&one, CEN_OK);
        expect_report(&one.report, COUNT, 0, 1, 0);
        free_pool(pool);
    }
}

/* ---- Those who hold ------------------------------------------------------------------------------ */

/* guarantees: pool.L8 */
TEST(close_awaits_the_holders_and_each_object_is_closed_by_its_give)
{
    for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
        cen_lease held[3];
        closer one;
        prepare(CEN_POOL_OPTIONS(.max = 6, .order = order), 3, 2, held);
        begin_close(&one, cen_in_s(100));
        expect_log(&shop, "-4 -5 ");
        for (int i = 2; i >= 0; i--) {
            expect(!one.returned);
            ceni_world_advance(SECOND);
            expect_counts(pool, 0, (uint32_t)i + 1);
            give_back(&held[i]); /* says OK */
            char event[8];
            snprintf(event, sizeof event, "-%d ", i + 1);
            expect_log(&shop, event);
        }
        int64_t ended = cen_clock();
        expect_closed(&one, CEN_OK);
        expect_equal(cen_clock(), ended);
        expect_report(&one.report, 0, 2, 3, 0);
        expect_equal(expect_sound(pool).vacant, 6);
        free_pool(pool);
    }
}

TEST(an_object_that_is_discarded_while_close_waits_has_come_back_too)
{
    cen_lease held[2];
    closer one;
    prepare(PLAIN(2), 2, 0, held);
    begin_close(&one, cen_in_s(100));
    expect_equal(cen_pool_discard(&held[0]), CEN_OK);
    give_back(&held[1]);
    expect_closed(&one, CEN_OK);
    expect_report(&one.report, 0, 0, 2, 0);
    expect_log(&shop, "-1 -2 ");
    expect_equal(expect_sound(pool).discarded, 1);
    free_pool(pool);
}

/* guarantees: pool-api.closed */
TEST(a_second_close_does_not_wait_for_the_first)
{
    cen_lease held[1];
    closer one;
    prepare(PLAIN(1), 1, 0, held);
    begin_close(&one, cen_in_s(100));
    int64_t began = cen_clock();
    expect_equal(cen_pool_close(pool, CEN_NEVER, NULL, NULL), CEN_CLOSED);
    expect_equal(cen_clock(), began);
    give_back(&held[0]);
    expect_closed(&one, CEN_OK);
    free_pool(pool);
}

/* guarantees: pool.L15 */
TEST(close_waits_until_its_deadline_and_not_a_nanosecond_less)
{
    const cen_deadline deadlines[] = {cen_in_s(7), cen_at(SECOND + 7 * SECOND), ZERO};
    for (int i = 0; i < 3; i++) {
        cen_lease held[1];
        closer one;
        prepare(CEN_POOL_OPTIONS(.max = 1, .default_deadline = i == 2 ? cen_in_s(7) : ZERO), 1, 0, held);
        begin_close(&one, i == 1 ? cen_at(cen_clock() + 7 * SECOND) : deadlines[i]);
        ceni_world_advance(7 * SECOND - 1);
        ceni_world_settle();
        expect(!one.returned);
        expect_log(&shop, "");
        ceni_world_advance(1);
        expect_closed(&one, CEN_TIMEOUT);
        expect_report(&one.report, 0, 0, 0, 1);
        expect_error(&one.error, CEN_TIMEOUT, "\"ending\"");
        expect_error(&one.error, CEN_TIMEOUT, "revoked: 1");
        expect_equal(cen_pool_give(&held[0]), CEN_REVOKED);
        free_pool(pool);
    }
}

TEST(close_has_the_patience_of_thirty_seconds_by_default)
{
    cen_lease held[1];
    prepare(PLAIN(1), 1, 0, held);
    int64_t began = cen_clock();
    expect_equal(cen_pool_close(pool, ZERO, NULL, NULL), CEN_TIMEOUT);
    expect_equal(cen_clock() - began, 30 * SECOND);
    expect_equal(cen_pool_give(&held[0]), CEN_REVOKED);
    free_pool(pool);
}

/* ---- Taking away ------------------------------------------------------------------------------------- */

/* guarantees: pool.L15 */
TEST(what_is_out_at_the_deadline_is_interrupted_in_order_and_counts_until_it_is_back)
{
    for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
        cen_lease held[4];
        cen_close_report report = CEN_SIZED(cen_close_report);
        prepare(CEN_POOL_OPTIONS(.max = 5, .order = order), 4, 1, held);
        expect_equal(cen_pool_close(pool, CEN_NOW, &report, NULL), CEN_TIMEOUT);
        expect_report(&report, 0, 1, 0, 4);
        expect_log(&shop, "-5 !1 !2 !3 !4 ");
        for (uint32_t out = 4; out > 0; out--) {
            cen_pool_stats s = expect_sound(pool);
            expect(s.revoked == out && s.held == 0 && s.vacant == s.places - out);
            cen_lease copy = held[out - 1];
            expect_equal(cen_pool_give(&held[out - 1]), CEN_REVOKED);
            expect(held[out - 1].pool == NULL);
            expect_equal(cen_pool_give(&held[out - 1]), CEN_STALE);
            expect_equal(cen_pool_give(&copy), CEN_STALE); /* once */
            expect_equal(cen_pool_discard(&copy), CEN_STALE);
        }
        expect_log(&shop, "-4 -3 -2 -1 ");
        expect_equal(expect_sound(pool).vacant, 5);
        free_pool(pool);
    }
}

TEST(a_revoked_object_that_is_discarded_has_come_back)
{
    cen_lease held[1];
    prepare(PLAIN(1), 1, 0, held);
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_TIMEOUT);
    cen_lease copy = held[0];
    expect_equal(cen_pool_discard(&held[0]), CEN_REVOKED);
    expect(held[0].pool == NULL);
    expect_equal(cen_pool_discard(&copy), CEN_STALE);
    expect_log(&shop, "!1 -1 ");
    cen_pool_stats s = expect_sound(pool);
    expect(s.closed == 1 && s.vacant == 1);
    free_pool(pool);
}

TEST(revoked_objects_are_listed_as_such_with_their_holders)
{
    cen_lease held[2];
    prepare(PLAIN(2), 2, 0, held);
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_TIMEOUT);
    cen_object_view holdings[2];
    size_t count;
    expect_equal(cen_pool_holders(pool, holdings, 2, &count), CEN_OK);
    expect_equal(count, 2);
    for (int i = 0; i < 2; i++) {
        expect(holdings[i].state == CEN_OBJECT_REVOKED && holdings[i].object == object_of(i + 1));
        expect_equal(holdings[i].holder, cen_thread_number());
        expect_equal(cen_pool_give(&held[i]), CEN_REVOKED);
    }
    free_pool(pool);
}

/* ---- Coming back while interrupt runs -------------------------------------------------------------------- */

static cen_lease *returning;

static void give_returning(void *argument)
{
    (void)argument;
    expect_equal(cen_pool_give(returning), CEN_REVOKED);
    expect(returning->pool == NULL);
}

static void return_meanwhile(workshop *unused, char what, void *object)
{
    (void)unused;
    if (what != '!' || object != returning->object) return;
    join(start("holder", give_returning, NULL));
    cen_pool_stats s = expect_sound(pool);
    expect(s.closing == 1); /* neither out nor closed yet */
    workshop_log(&shop, 'r', 0);
}

/* guarantees: pool.L15 */
TEST(an_object_that_comes_back_while_it_is_interrupted_is_closed_after_that_and_not_under_it)
{
    for (int which = 0; which < 3; which++) {
        static const char *const logs[] = {"!1 r0 -1 !2 !3 ", "!1 !2 r0 -2 !3 ", "!1 !2 !3 r0 -3 "};
        cen_lease held[3];
        cen_close_report report = CEN_SIZED(cen_close_report);
        prepare(PLAIN(3), 3, 0, held);
        returning = &held[which];
        shop.inside = return_meanwhile;
        cen_lease copy = *returning;
        expect_equal(cen_pool_close(pool, CEN_NOW, &report, NULL), CEN_TIMEOUT);
        expect_report(&report, 0, 0, 1, 2); /* what came back is not out */
        expect_log(&shop, logs[which]);
        expect_equal(cen_pool_give(&copy), CEN_STALE);
        for (int i = 0; i < 3; i++)
            if (i != which) expect_equal(cen_pool_give(&held[i]), CEN_REVOKED);
        free_pool(pool);
    }
}

/* ---- What other threads are opening or closing ------------------------------------------------------------- */

static char slow_call;

static void be_slow(workshop *unused, char what, void *object)
{
    (void)unused;
    (void)object;
    if (what == slow_call) ceni_sleep_until(cen_clock() + 10 * SECOND);
}

static void discard_it(void *argument)
{
    expect_equal(cen_pool_discard(argument), CEN_OK);
}

/* guarantees: pool.L2 */
TEST(what_is_being_opened_or_closed_at_the_deadline_is_called_busy)
{
    cen_lease held[2];
    cen_close_report report = CEN_SIZED(cen_close_report);
    cen_error error;
    taker opener;
    prepare(PLAIN(3), 2, 0, held);
    shop.inside = be_slow;
    slow_call = '+';
    begin_take(&opener, pool, CEN_NEVER);
    slow_call = '-';
    ceni_thread discarder = start("discarder", discard_it, &held[0]);
    ceni_world_settle();
    expect_equal(cen_pool_close(pool, cen_in_s(5), &report, &error), CEN_TIMEOUT);
    expect_error(&error, CEN_TIMEOUT, "\"ending\"");
    expect(report.busy == 2 && report.revoked == 1 && report.idle == 0 && report.given == 0);
    slow_call = 0;
    ceni_world_advance(5 * SECOND);
    expect_answer(&opener, CEN_CLOSED);
    join(discarder);
    expect_equal(cen_pool_give(&held[1]), CEN_REVOKED);
    cen_pool_stats s = expect_sound(pool);
    expect(s.opened == 3 && s.closed == 3 && s.vacant == s.places);
    free_pool(pool);
}
