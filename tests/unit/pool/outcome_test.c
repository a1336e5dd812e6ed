/* SPDX-License-Identifier: MIT */
/* Gives and closes that are told when they are over, and never wait. */
#include <cenote/pool_async.h>

#include "unit/pool/scripted.h"

static script s;
static cen_pool *pool;
static cen_future future;
static cen_close_op closing;
static cen_close_report report;
static cen_error error;
static int told;

static void prepare(unsigned kind, uint32_t max)
{
    s = (script){.opened = 0};
    told = 0;
    pool = begin_life(&s, kind, .max = max);
    cen_future_init(&future);
    future.error = &error;
}

static void count(cen_close_op *one)
{
    expect(one == &closing);
    told++;
}

static void make_closing(void)
{
    cen_close_op_init(&closing, count, cen_inline());
    closing.future.error = &error;
    report = CEN_SIZED(cen_close_report);
    closing.report = &report;
}

/* ---- Give ------------------------------------------------------------------------------- */

/* guarantees: async.outcome */
TEST(a_give_after_which_nothing_is_to_be_done_is_over_at_once)
{
    for (unsigned kind = 0; kind <= BLOCKS; kind++) {
        prepare(kind, 1);
        cen_lease lease = take(pool);
        expect_equal(cen_pool_give_async(&lease, &future), CEN_OK);
        expect(cen_future_is_done(&future) && future.status == CEN_OK && !lease.pool);
        end_life(&s, pool);
    }
}

/* guarantees: async.outcome */
TEST(a_give_is_over_when_the_object_has_been_reset)
{
    prepare(BLOCKS | HAS_CHECK | HAS_RESET, 1);
    cen_lease lease = take(pool);
    s.things[1].condition = CEN_DIRTY;
    s.of[CALL_RESET].hang_from = 1, s.of[CALL_RESET].hang_to = 1;
    expect_equal(cen_pool_give_async(&lease, &future), CEN_OK);
    ceni_world_settle();
    expect(!cen_future_is_done(&future) && look(pool).resetting == 1);
    expect(!cen_future_cancel(&future)); /* there is nothing to be cancelled */
    let_go(&s, CALL_RESET, 1);
    expect(cen_future_is_done(&future) && future.status == CEN_OK && look(pool).idle == 1);
    end_life(&s, pool);
}

/* guarantees: async.outcome */
TEST(a_give_whose_object_cannot_be_reset_says_why_it_was_closed)
{
    for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
        prepare(blocks | HAS_CHECK | HAS_RESET, 1);
        fail_all(&s, CALL_RESET);
        cen_lease lease = take(pool);
        s.things[1].condition = CEN_DIRTY;
        expect_equal(cen_pool_give_async(&lease, &future), CEN_OK);
        ceni_world_settle();
        expect(cen_future_is_done(&future));
        expect_equal(future.status, CEN_DRIVER);
        expect(error.status == CEN_DRIVER && strstr(error.text, "reset failed"));
        end_life(&s, pool);
    }
}

/* The bug this looks for: only that it failed is told, as DRIVER without code or words. */
TEST(a_give_whose_reset_fails_has_the_drivers_status_code_and_words)
{
    for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
        prepare(blocks | HAS_CHECK | HAS_RESET, 1);
        fail_all(&s, CALL_RESET);
        s.of[CALL_RESET].failure = CEN_SYSTEM;
        s.of[CALL_RESET].code = 104;
        s.of[CALL_RESET].text = "the server closed the connection";
        cen_lease lease = take(pool);
        s.things[1].condition = CEN_DIRTY;
        expect_equal(cen_pool_give_async(&lease, &future), CEN_OK);
        ceni_world_settle();
        expect(cen_future_is_done(&future));
        expect(future.status == CEN_SYSTEM && future.code == 104);
        expect(error.status == CEN_SYSTEM && error.code == 104);
        expect(strstr(error.text, "reset failed: the server closed the connection"));
        end_life(&s, pool);
    }
}

/* guarantees: async.outcome */
TEST(a_give_of_a_broken_object_says_so)
{
    prepare(BLOCKS | HAS_CHECK | HAS_RESET, 1);
    cen_lease lease = take(pool);
    s.things[1].condition = CEN_BROKEN;
    expect_equal(cen_pool_give_async(&lease, &future), CEN_OK);
    expect(cen_future_is_done(&future) && future.status == CEN_DRIVER && strstr(error.text, "broken"));
    end_life(&s, pool);
}

/* guarantees: async.outcome */
TEST(a_give_that_is_refused_tells_nothing_and_leaves_the_future_as_it_was)
{
    prepare(BLOCKS | HAS_CHECK, 1);
    cen_lease lease = take(pool), copy = lease;
    expect_equal(cen_pool_give_async(NULL, &future), CEN_INVALID);
    expect_equal(cen_pool_give_async(&lease, NULL), CEN_INVALID);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    expect_equal(cen_pool_give_async(&copy, &future), CEN_STALE);
    expect(!cen_future_is_done(&future));
    cen_promise promise;
    expect_equal(cen_promise_init(&promise, &future), CEN_OK); /* it is still fresh */
    lease = take(pool);
    expect_equal(cen_pool_give_async(&lease, &future), CEN_MISUSE);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    expect(cen_promise_complete(&promise, NULL));
    end_life(&s, pool);
}

/* guarantees: async.outcome */
TEST(the_next_lease_of_the_slot_tells_nobody_of_the_give_before)
{
    prepare(BLOCKS | HAS_CHECK | HAS_RESET, 1);
    cen_lease lease = take(pool);
    s.things[1].condition = CEN_DIRTY;
    expect_equal(cen_pool_give_async(&lease, &future), CEN_OK);
    ceni_world_settle();
    expect(cen_future_is_done(&future));
    cen_future_init(&future);
    lease = take(pool);
    s.things[1].condition = CEN_DIRTY;
    give_back(&lease);
    ceni_world_settle();
    expect(!cen_future_is_done(&future) && s.things[1].resets == 2);
    end_life(&s, pool);
}

/* ---- Close -------------------------------------------------------------------------------- */

/* guarantees: async.outcome */
TEST(a_close_of_a_pool_at_rest_is_over_at_once_or_when_its_helpers_have_closed_all)
{
    for (unsigned kind = 0; kind <= BLOCKS; kind++) {
        prepare(kind, 2);
        warm_up(pool, 2);
        make_closing();
        expect_equal(cen_pool_close_async(pool, cen_in_s(5), &closing), CEN_OK);
        if (!kind) expect_equal(told, 1);
        ceni_world_settle();
        expect(told == 1 && closing.future.status == CEN_OK && report.idle == 2 && report.revoked == 0);
        end_life(&s, pool);
    }
}

/* guarantees: async.outcome */
TEST(a_close_is_told_when_the_last_object_is_back)
{
    prepare(0, 2);
    cen_lease a = take(pool), b = take(pool);
    make_closing();
    expect_equal(cen_pool_close_async(pool, CEN_NEVER, &closing), CEN_OK);
    expect(cen_pool_is_closed(pool));
    give_back(&a);
    expect_equal(told, 0);
    give_back(&b);
    expect(told == 1 && closing.future.status == CEN_OK && report.given == 2);
    end_life(&s, pool);
}

/* guarantees: async.outcome */
TEST(a_close_at_whose_deadline_something_is_out_revokes_it_and_says_so)
{
    prepare(BLOCKS, 2);
    cen_lease a = take(pool), b = take(pool);
    make_closing();
    expect_equal(cen_pool_close_async(pool, cen_in_ms(100), &closing), CEN_OK);
    give_back(&a);
    ceni_world_advance(99 * MS);
    ceni_world_settle();
    expect_equal(told, 0);
    ceni_world_advance(1 * MS);
    ceni_world_settle();
    expect(told == 1 && closing.future.status == CEN_TIMEOUT && report.revoked == 1 && report.given == 1);
    expect(error.status == CEN_TIMEOUT &&
           strstr(error.text, "close timed out (revoked: 1, being opened or closed: 0); not given back: object 1"));
    expect_equal(cen_pool_give(&b), CEN_REVOKED);
    end_life(&s, pool);
}

/* guarantees: async.outcome */
TEST(a_close_that_does_not_wait_revokes_at_once)
{
    prepare(0, 1);
    cen_lease lease = take(pool);
    make_closing();
    expect_equal(cen_pool_close_async(pool, CEN_NOW, &closing), CEN_OK);
    expect(told == 1 && closing.future.status == CEN_TIMEOUT && report.revoked == 1);
    expect_equal(cen_pool_give(&lease), CEN_REVOKED);
    end_life(&s, pool);
}

/* guarantees: async.outcome */
TEST(what_was_idle_and_is_still_being_closed_at_the_deadline_is_busy_and_not_given)
{
    for (int told_later = 0; told_later < 2; told_later++) {
        prepare(BLOCKS, 2);
        warm_up(pool, 2);
        s.of[CALL_CLOSE].hang_from = 2, s.of[CALL_CLOSE].hang_to = 2;
        make_closing();
        if (told_later) {
            expect_equal(cen_pool_close_async(pool, cen_in_ms(100), &closing), CEN_OK);
            ceni_world_settle();
            ceni_world_advance(100 * MS);
            ceni_world_settle();
            expect(told == 1 && closing.future.status == CEN_TIMEOUT);
        } else {
            expect_equal(cen_pool_close(pool, cen_in_ms(100), &report, NULL), CEN_TIMEOUT);
        }
        expect(report.idle == 2 && report.busy == 1);
        expect_equal(report.given, 0);
        end_life(&s, pool);
    }
}

/* guarantees: async.outcome */
TEST(a_close_that_is_over_early_lets_go_of_its_deadline_and_of_the_runtime)
{
    prepare(0, 1);
    cen_lease lease = take(pool);
    make_closing();
    expect_equal(cen_pool_close_async(pool, cen_in_s(3600), &closing), CEN_OK);
    give_back(&lease);
    expect_equal(told, 1);
    end_life(&s, pool); /* frees the runtime, which answers BUSY while an alarm is set */
}

/* guarantees: async.outcome */
TEST(L15_a_pool_that_is_freed_while_it_closes_tells_so)
{
    prepare(0, 1);
    cen_lease lease = take(pool);
    make_closing();
    expect_equal(cen_pool_close_async(pool, CEN_NEVER, &closing), CEN_OK);
    free_pool(pool);
    expect(told == 1 && closing.future.status == CEN_TIMEOUT && report.revoked == 1);
    expect_equal(cen_pool_give(&lease), CEN_REVOKED);
    ceni_world_settle();
    free_runtime(s.runtime);
    expect_equal(s.finis, s.inits);
}

static void free_it(cen_close_op *one)
{
    count(one);
    free_pool(pool);
}

/* guarantees: async.outcome */
TEST(L15_whoever_hears_that_a_close_is_over_may_free_the_pool)
{
    for (int held = 0; held < 2; held++) {
        prepare(0, 1);
        cen_lease lease = take(pool);
        if (!held) give_back(&lease);
        cen_close_op_init(&closing, free_it, cen_inline());
        expect_equal(cen_pool_close_async(pool, cen_in_s(5), &closing), CEN_OK);
        if (held) give_back(&lease);
        expect_equal(told, 1);
        ceni_world_settle();
        free_runtime(s.runtime);
        expect_equal(s.finis, s.inits);
    }
}

/* guarantees: async.outcome */
TEST(a_close_that_is_refused_changes_nothing_and_tells_nothing)
{
    prepare(0, 1);
    make_closing();
    expect_equal(cen_pool_close_async(NULL, CEN_NEVER, &closing), CEN_INVALID);
    expect_equal(cen_pool_close_async(pool, CEN_NEVER, NULL), CEN_INVALID);
    cen_close_op nowhere;
    cen_close_op_init(&nowhere, count, NULL);
    expect_equal(cen_pool_close_async(pool, CEN_NEVER, &nowhere), CEN_INVALID);
    expect(!cen_pool_is_closed(pool));
    expect_equal(cen_pool_close_async(pool, CEN_NEVER, &closing), CEN_OK);
    expect_equal(told, 1);
    expect_equal(cen_pool_close_async(pool, CEN_NEVER, &closing), CEN_MISUSE);
    make_closing();
    expect_equal(cen_pool_close_async(pool, CEN_NEVER, &closing), CEN_CLOSED);
    expect_equal(told, 1);
    end_life(&s, pool);
}

/* ---- What is told on the thread that does it --------------------------------------------------- */

static cen_status taken;

/* Wants the place of the object that was just given. */
static void take_at_once(cen_future *one)
{
    cen_lease lease;
    expect(one == &future);
    told++;
    taken = cen_pool_take(pool, cen_in_s(1), &lease, NULL);
    if (taken == CEN_OK) give_back(&lease);
}

/* guarantees: async.outcome */
TEST(who_is_told_inline_that_a_give_has_failed_finds_its_place_free)
{
    const unsigned kinds[] = {HAS_CHECK, BLOCKS | HAS_CHECK | HAS_RESET};
    for (int i = 0; i < 2; i++) {
        prepare(kinds[i], 1);
        cen_lease lease = take(pool);
        s.things[1].condition = i ? CEN_DIRTY : CEN_BROKEN;
        s.of[CALL_RESET].fail_from = s.of[CALL_RESET].fail_to = 1;
        expect_equal(cen_future_then(&future, take_at_once, cen_inline()), CEN_OK);
        expect_equal(cen_pool_give_async(&lease, &future), CEN_OK);
        ceni_world_settle();
        pass(2 * SECOND);
        expect(told == 1 && future.status == CEN_DRIVER);
        expect_equal(taken, CEN_OK);
        end_life(&s, pool);
    }
}
