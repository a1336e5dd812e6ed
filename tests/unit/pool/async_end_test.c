/* SPDX-License-Identifier: MIT */
/*
 * How an ask ends: cancelled or told, once; what a `done` that is called inline
 * may do, up to freeing the pool; and that one is told after its pool is gone.
 */
#include "pool/internal.h"
#include "unit/pool/askers.h"
#include "unit/pool/scripted.h"

static workshop shop;
static cen_pool *pool;

static void prepare(uint32_t max)
{
    shop = (workshop){0};
    pool = make_pool(.max = max, .driver = driver_of(&shop));
}

static void finish(void)
{
    expect_sound(pool);
    free_pool(pool);
    ceni_world_settle();
}

/* ---- Cancel -------------------------------------------------------------------------------------------------- */

/* guarantees: async.L6 */
TEST(L6_cancelled_means_that_nothing_was_or_will_be_lent_and_done_is_never_called)
{
    asker one, two, three;
    prepare(1);
    cen_lease held = take_now(pool);
    ask(&one, pool, cen_in_ms(10));
    ask(&two, pool, CEN_NEVER);
    ask(&three, pool, CEN_NEVER);
    expect(cen_future_cancel(&one.take.future));
    expect(cen_future_cancel(&one.take.future)); /* as before */
    expect(cen_future_cancel(&three.take.future));
    pass(100 * MS);
    give_back(&held);
    expect(one.told == 0 && three.told == 0);
    expect_lent(&two, 1);
    expect(!cen_future_cancel(&two.take.future)); /* too late: it is its own */
    expect_counts(pool, 0, 1);
    give_asked(&two);
    cen_pool_stats s = expect_sound(pool);
    expect(s.cancelled == 2 && s.failed == 0 && s.served == 1 && s.timed_out == 0);
    finish();
}

/* guarantees: async.L6 */
TEST(L6_too_late_means_that_it_is_told_and_what_it_got_is_its_own)
{
    cen_inbox *inbox;
    asker one;
    prepare(1);
    expect_equal(cen_inbox_new(NULL, &inbox, NULL), CEN_OK);
    cen_lease held = take_now(pool);
    ready(&one, cen_inbox_executor(inbox));
    expect_equal(cen_pool_take_async(pool, CEN_NEVER, &one.take), CEN_OK);
    give_back(&held);
    expect(!cen_future_cancel(&one.take.future)); /* it is in the inbox */
    expect_equal(cen_inbox_poll(inbox, 0), 1);
    expect_lent(&one, 1);
    give_asked(&one);
    expect_equal(cen_inbox_free(inbox), CEN_OK);
    finish();
}

/* ---- What a done may do ------------------------------------------------------------------------- */

enum { LINKS = 20000 };
static int links;
static char *deepest, *highest;

static void give_and_ask_again(asker *self)
{
    char here;
    if (!deepest || &here < deepest) deepest = &here;
    if (!highest || &here > highest) highest = &here;
    expect_told(self, CEN_OK);
    give_asked(self);
    if (++links >= LINKS) return;
    ready(self, cen_inline());
    self->then = give_and_ask_again;
    expect_equal(cen_pool_take_async(pool, CEN_NEVER, &self->take), CEN_OK);
}

/* guarantees: async.stack */
TEST(a_done_that_gives_and_asks_again_needs_no_more_stack_each_time)
{
    asker one, two;
    prepare(1);
    cen_lease held = take_now(pool);
    ask(&one, pool, CEN_NEVER);
    ask(&two, pool, CEN_NEVER);
    one.then = two.then = give_and_ask_again; /* each serves the other */
    give_back(&held);
    expect(links >= LINKS && highest - deepest < 4096);
    if (!one.told) expect(cen_future_cancel(&one.take.future));
    if (!two.told) expect(cen_future_cancel(&two.take.future));
    expect_counts(pool, 1, 0);
    finish();
}

static void cancel_the_other(asker *self)
{
    expect(cen_future_cancel(&self->other->take.future));
    give_asked(self);
}

/* guarantees: async.L6 */
TEST(L6_a_done_may_cancel_the_next_in_line_and_what_it_gives_goes_to_the_one_after)
{
    asker one, two, three;
    prepare(1);
    cen_lease held = take_now(pool);
    ask(&one, pool, CEN_NEVER);
    ask(&two, pool, cen_in_ms(1));
    ask(&three, pool, CEN_NEVER);
    one.other = &two;
    one.then = cancel_the_other;
    give_back(&held);
    pass(9 * MS);
    expect_equal(two.told, 0);
    expect_lent(&three, 1);
    give_asked(&three);
    finish();
}

static void close_pool_inside(asker *self)
{
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_TIMEOUT);
    expect_equal(cen_pool_give(&self->take.lease), CEN_REVOKED);
}

/* guarantees: async.L15 */
TEST(L15_a_done_may_close_the_pool_and_those_behind_it_are_told)
{
    asker one, two;
    taker three;
    prepare(1);
    cen_lease held = take_now(pool);
    ask(&one, pool, CEN_NEVER);
    ask(&two, pool, cen_in_s(1));
    begin_take(&three, pool, CEN_NEVER);
    one.then = close_pool_inside;
    give_back(&held);
    expect_told(&one, CEN_OK);
    expect_told(&two, CEN_CLOSED);
    expect_answer(&three, CEN_CLOSED);
    expect_log(&shop, "+1 !1 -1 ");
    finish();
}

static void free_pool_inside(asker *self)
{
    free_pool(pool);
    if (self->take.future.status == CEN_OK) expect_equal(cen_pool_give(&self->take.lease), CEN_REVOKED);
}

enum { BY_GIVE, BY_ASK, BY_TIME, BY_CLOSE, WAYS };

/* guarantees: async.L15 */
TEST(L15_a_done_may_free_the_pool_when_it_is_called_by_a_give_an_ask_time_or_a_close)
{
    for (int how = 0; how < WAYS; how++) {
        asker one;
        prepare(1);
        cen_lease held = take_now(pool);
        if (how == BY_ASK) give_back(&held);
        ready(&one, cen_inline());
        one.then = free_pool_inside;
        expect_equal(cen_pool_take_async(pool, how == BY_TIME ? cen_in_ms(1) : CEN_NEVER, &one.take), CEN_OK);
        if (how == BY_GIVE) give_back(&held);
        if (how == BY_TIME) pass(MS);
        if (how == BY_CLOSE) expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_TIMEOUT);
        expect_told(&one, how == BY_TIME ? CEN_TIMEOUT : how == BY_CLOSE ? CEN_CLOSED : CEN_OK);
        if (how >= BY_TIME) expect_equal(cen_pool_give(&held), CEN_REVOKED);
        ceni_world_settle();
        expect_equal(shop.opened, shop.closed);
    }
}

static void give_held_and_free(asker *self)
{
    give_back(&self->other->take.lease);
    free_pool(pool);
}

/* guarantees: async.L15 */
TEST(L15_a_done_that_hears_of_the_close_may_give_what_it_has_and_free_the_pool)
{
    asker one, two;
    prepare(1);
    ask(&one, pool, CEN_NEVER);
    ask(&two, pool, CEN_NEVER);
    two.other = &one;
    two.then = give_held_and_free;
    expect_equal(cen_pool_close(pool, cen_in_s(1), NULL, NULL), CEN_OK);
    expect_told(&two, CEN_CLOSED);
    expect_log(&shop, "+1 -1 ");
}

/* guarantees: async.L15 */
TEST(L15_the_same_when_the_close_is_told_by_a_future)
{
    asker one, two;
    cen_close_op closing;
    cen_close_report report = CEN_SIZED(cen_close_report);
    prepare(1);
    ask(&one, pool, CEN_NEVER);
    ask(&two, pool, CEN_NEVER);
    two.other = &one;
    two.then = give_held_and_free;
    cen_close_op_init(&closing, NULL, NULL);
    closing.report = &report;
    expect_equal(cen_pool_close_async(pool, CEN_NEVER, &closing), CEN_OK);
    expect_told(&two, CEN_CLOSED);
    expect(cen_future_is_done(&closing.future) && closing.future.status == CEN_OK && report.waiting == 1);
    expect_log(&shop, "+1 -1 ");
}

/* As by a thread that has taken it out of the line and is slow to tell it. */
/* guarantees: async.L15 */
TEST(L15_one_who_is_told_after_its_pool_was_freed_still_hears_why)
{
    asker one;
    prepare(1);
    cen_lease held = take_now(pool);
    ask(&one, pool, CEN_NEVER);
    ceni_waiters *waiters = pool->waiters;
    uint64_t id = pool->id;
    ceni_followup followup = {.status = CEN_TIMEOUT};
    ceni_waiters_lock(waiters);
    pool->tally.timed_out++;
    ceni_waiters_drop_first_locked(pool, CENI_WAIT_EXPIRED, &followup);
    ceni_waiters_unlock(waiters);
    give_back(&held);
    free_pool(pool);
    expect(!cen_future_cancel(&one.take.future)); /* too late */
    expect_equal(one.told, 0);
    ceni_waiters_follow_up(waiters, id, pool, &followup);
    expect_told(&one, CEN_TIMEOUT);
    expect_error(&one.error, CEN_TIMEOUT, "no object");
}

/* ---- Calls that serve somebody, and have more to do ------------------------------------------------------------ */

static void give_and_free(asker *self)
{
    give_asked(self);
    free_pool(pool);
}

static cen_lease kept;

static cen_status resize_it(void)
{
    return cen_pool_resize(pool, 2, NULL);
}

static cen_status set_options(void)
{
    cen_pool_options o = CEN_SIZED(cen_pool_options);
    expect_equal(cen_pool_options_get(pool, &o), CEN_OK);
    o.max = 2;
    return cen_pool_options_set(pool, &o, NULL);
}

static cen_status discard_it(void)
{
    return cen_pool_discard(&kept);
}

static cen_status resume_it(void)
{
    give_back(&kept);
    expect_equal(cen_pool_pause(pool, NULL), CEN_OK);
    return cen_pool_resume(pool, NULL);
}

static cen_status adopt_another(void)
{
    static int object;
    expect_equal(cen_pool_discard(&kept), CEN_OK);
    return cen_pool_adopt(pool, &object, NULL);
}

static void serve_by(cen_status (*serve)(void), bool driver)
{
    asker one;
    static int object;
    shop = (workshop){0};
    pool = driver ? make_pool(.max = 1, .driver = driver_of(&shop)) : make_pool(.max = 1);
    if (!driver) expect_equal(cen_pool_adopt(pool, &object, NULL), CEN_OK);
    kept = take_now(pool);
    if (serve == resume_it) expect_equal(cen_pool_pause(pool, NULL), CEN_OK);
    ready(&one, cen_inline());
    one.then = give_and_free;
    expect_equal(cen_pool_take_async(pool, CEN_NEVER, &one.take), CEN_OK);
    expect_pending(&one);
    expect_equal(serve(), CEN_OK);
    expect_told(&one, CEN_OK);
    if (kept.pool) expect_equal(cen_pool_give(&kept), CEN_REVOKED);
    ceni_world_settle();
}

/* guarantees: async.L15 */
TEST(one_who_is_told_inline_may_free_the_pool_although_the_call_that_served_it_had_more_to_do)
{
    serve_by(resize_it, true);
    serve_by(set_options, true);
    serve_by(discard_it, true);
    serve_by(resume_it, true);
    serve_by(adopt_another, false);
}

static bool give_kept(void *argument, const cen_object_view *holding)
{
    (void)argument, (void)holding;
    if (kept.pool) give_back(&kept);
    return true;
}

static asker again;

static void ask_again(asker *self)
{
    give_asked(self);
    ask(&again, pool, CEN_NEVER);
}

/* guarantees: async.L15 */
TEST(one_who_is_told_because_a_visitor_gave_is_told_after_the_visit_and_may_ask_again)
{
    asker one;
    prepare(1);
    kept = take_now(pool);
    ready(&one, cen_inline());
    one.then = ask_again;
    expect_equal(cen_pool_take_async(pool, CEN_NEVER, &one.take), CEN_OK);
    expect_equal(cen_pool_each(pool, give_kept, NULL), CEN_OK);
    expect_told(&one, CEN_OK);
    expect_lent(&again, 1);
    give_asked(&again);
    finish();
}
