/* SPDX-License-Identifier: MIT */
/* Holders who keep an object for too long, and limits and interruptions of those who wait. */
#include "unit/pool/scripted.h"

static script s;

/* ---- Held for too long ------------------------------------------------------------------------ */

/* guarantees: life-api.hold */
TEST(what_is_held_for_too_long_is_revoked_once_and_counts_until_it_comes_back)
{
    for (int exact = 0; exact < 2; exact++) {
        s = (script){.opened = 0};
        cen_pool *pool = begin_life(&s, BLOCKS, .max = 1, .max_hold_ns = 10 * SECOND, .exact_times = exact);
        cen_lease lease = take(pool), copy = lease;
        pass(10 * SECOND - 1);
        expect_equal(look(pool).held, 1);
        pass(5 * SECOND + 1);
        expect_equal(look(pool).revoked, 1);
        expect_equal(s.things[1].interrupts, 1);
        taker one;
        begin_take(&one, pool, CEN_NEVER);
        pass(60 * SECOND);
        expect_waiting(&one);
        expect_equal(s.things[1].interrupts, 1);
        expect_equal(cen_pool_give(&lease), CEN_REVOKED);
        expect_taken(&one, 2);
        expect_equal(cen_pool_give(&copy), CEN_STALE);
        expect_equal(s.things[1].closes, 1);
        give_back(&one.lease);
        end_life(&s, pool);
    }
}

/* guarantees: life-api.hold */
TEST(what_is_given_in_time_again_and_again_is_never_revoked)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 1, .max_hold_ns = 10 * SECOND, .max_lifetime_ns = CEN_OFF);
    for (int i = 0; i < 20; i++) {
        cen_lease lease = take(pool);
        pass(9 * SECOND);
        give_back(&lease);
    }
    expect_equal(s.of[CALL_INTERRUPT].calls, 0);
    end_life(&s, pool);
}

/* guarantees: life-api.hold */
TEST(a_leak_is_reported_once_for_each_lease_and_the_holder_notices_nothing)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 2, .leak_after_ns = 10 * SECOND, .max_lifetime_ns = CEN_OFF);
    for (unsigned lease = 1; lease <= 3; lease++) {
        cen_lease long_held = take(pool);
        pass(10 * SECOND - 1);
        expect_equal(look(pool).leaked, lease - 1);
        pass(5 * SECOND + 1);
        expect_equal(look(pool).leaked, lease);
        pass(500 * SECOND);
        expect_equal(look(pool).leaked, lease);
        give_back(&long_held);
    }
    cen_pool_stats n = look(pool);
    expect(n.reclaimed == 0 && n.revoked == 0 && s.opened == 1);
    end_life(&s, pool);
}

/* guarantees: life-api.hold, life-bugs.M */
TEST(a_leaked_object_is_reclaimed_its_place_serves_who_waits_and_the_late_give_closes_it)
{
    for (unsigned abandons = 0; abandons < 2; abandons++) {
        s = (script){.opened = 0};
        cen_pool *pool = begin_life(&s, BLOCKS | (abandons ? HAS_ABANDON : 0), .max = 1, .leak_after_ns = 10 * SECOND,
                                    .on_leak = CEN_LEAK_RECLAIM);
        cen_lease lost = take(pool);
        taker one;
        begin_take(&one, pool, CEN_NEVER);
        pass(10 * SECOND - 1);
        expect_waiting(&one);
        pass(5 * SECOND + 1);
        expect_taken(&one, 2);
        cen_pool_stats n = look(pool);
        expect(n.leaked == 1 && n.reclaimed == 1 && n.held == 1 && n.revoked == 0);
        expect(s.of[CALL_ABANDON].calls == abandons && s.of[CALL_CLOSE].calls == 0);
        expect(n.orphans == 1 && s.things[1].open);
        cen_lease copy = lost;
        expect_equal(cen_pool_give(&lost), CEN_REVOKED);
        expect_equal(cen_pool_discard(&copy), CEN_STALE);
        pass(0);
        expect(!s.things[1].open && s.of[CALL_CLOSE].calls == 1);
        n = look(pool);
        expect(n.held == 1 && n.orphans == 0);
        give_back(&one.lease);
        end_life(&s, pool);
    }
}

/* guarantees: life-bugs.D */
TEST(D_places_are_not_used_up_by_leak_after_leak)
{
    s = (script){.opened = 0};
    cen_pool *pool =
        begin_life(&s, BLOCKS | HAS_ABANDON, .max = 2, .leak_after_ns = SECOND, .on_leak = CEN_LEAK_RECLAIM);
    cen_lease lost[10];
    for (int i = 0; i < 10; i += 2) {
        lost[i] = take(pool);
        lost[i + 1] = take(pool);
        pass(2 * SECOND);
    }
    cen_pool_stats n = look(pool);
    expect(n.reclaimed == 10 && n.vacant == 2 && n.opened == 10);
    for (int i = 0; i < 10; i++) expect_equal(cen_pool_give(&lost[i]), CEN_REVOKED);
    end_life(&s, pool);
}

/* guarantees: life-api.hold */
TEST(L15_a_close_counts_what_was_revoked_before_it_and_its_late_give_ends_the_pool)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 2, .max_hold_ns = SECOND);
    cen_lease lease = take(pool);
    pass(2 * SECOND);
    cen_close_report report = CEN_SIZED(cen_close_report);
    expect_equal(cen_pool_close(pool, CEN_NOW, &report, NULL), CEN_TIMEOUT);
    expect(report.revoked == 1 && report.busy == 0);
    expect_equal(s.things[1].interrupts, 1); /* once, and not again by the close */
    expect_equal(cen_pool_give(&lease), CEN_REVOKED);
    expect_equal(look(pool).vacant, 2);
    end_life(&s, pool);
}

/* guarantees: pool.L13-orphan */
TEST(a_hold_limit_frees_the_place_if_the_setting_says_so)
{
    for (int reclaims = 0; reclaims < 2; reclaims++) {
        s = (script){.opened = 0};
        cen_pool *pool = begin_life(&s, BLOCKS | HAS_ABANDON, .max = 1, .max_hold_ns = SECOND,
                                    .on_max_hold = reclaims ? CEN_HOLD_RECLAIM : CEN_HOLD_REVOKE);
        cen_lease lost = take(pool);
        pass(2 * SECOND);
        cen_pool_stats n = look(pool);
        expect(n.revoked == !reclaims && n.vacant == (unsigned)reclaims && n.reclaimed == (unsigned)reclaims);
        expect_equal(s.things[1].abandons, reclaims);
        expect(s.things[1].open);
        expect_equal(cen_pool_give(&lost), CEN_REVOKED);
        pass(0);
        expect(!s.things[1].open);
        end_life(&s, pool);
    }
}

/* guarantees: pool.L13-orphan */
TEST(a_detached_lease_is_reclaimed_as_a_leak)
{
    s = (script){.opened = 0};
    cen_pool *pool =
        begin_life(&s, BLOCKS | HAS_ABANDON, .max = 1, .leak_after_ns = SECOND, .on_leak = CEN_LEAK_RECLAIM);
    cen_lease lost = take(pool);
    expect_equal(cen_pool_detach(&lost), CEN_OK);
    pass(2 * SECOND);
    expect_equal(look(pool).reclaimed, 1);
    cen_lease next = take(pool);
    give_back(&next);
    end_life(&s, pool); /* which closes what was never given */
}

/* guarantees: pool.L13-orphan */
TEST(a_revoked_lease_that_does_not_come_back_is_reclaimed_as_a_leak)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 1, .max_hold_ns = SECOND, .leak_after_ns = 10 * SECOND,
                                .on_leak = CEN_LEAK_RECLAIM);
    cen_lease lost = take(pool);
    pass(5 * SECOND);
    expect_equal(look(pool).revoked, 1);
    pass(10 * SECOND);
    cen_pool_stats n = look(pool);
    expect(n.revoked == 0 && n.reclaimed == 1 && n.vacant == 1);
    expect_equal(s.things[1].interrupts, 1);
    expect_equal(cen_pool_give(&lost), CEN_REVOKED);
    end_life(&s, pool);
}

/* guarantees: pool.L13-orphan */
TEST(the_late_close_of_a_blocking_driver_runs_on_a_helper)
{
    s = (script){.opened = 0};
    cen_pool *pool =
        begin_life(&s, BLOCKS | HAS_ABANDON, .max = 1, .leak_after_ns = SECOND, .on_leak = CEN_LEAK_RECLAIM);
    cen_lease lost = take(pool);
    pass(2 * SECOND);
    s.of[CALL_CLOSE].hang_from = 1;
    s.of[CALL_CLOSE].hang_to = 1;
    expect_equal(cen_pool_give(&lost), CEN_REVOKED); /* does not wait for it */
    pass(0);
    expect(s.things[1].busy);
    let_all_go(&s, CALL_CLOSE);
    pass(0);
    expect(!s.things[1].open);
    end_life(&s, pool);
}

/* guarantees: life-api.hold */
TEST(a_scope_whose_object_was_taken_away_lends_it_to_nobody_and_ends)
{
    for (int reclaims = 0; reclaims < 2; reclaims++) {
        s = (script){.opened = 0};
        cen_pool *pool = begin_life(&s, BLOCKS | HAS_ABANDON, .max = 1, .max_hold_ns = reclaims ? CEN_OFF : SECOND,
                                    .leak_after_ns = reclaims ? SECOND : CEN_OFF, .on_leak = CEN_LEAK_RECLAIM);
        cen_scope outer, inner;
        expect_equal(cen_pool_enter(pool, CEN_NEVER, &outer, NULL), CEN_OK);
        expect_equal(cen_pool_enter(pool, CEN_NEVER, &inner, NULL), CEN_OK);
        expect(inner.lease.object == outer.lease.object);
        expect_equal(cen_pool_leave(&inner), CEN_OK);
        pass(2 * SECOND);
        expect_equal(cen_pool_enter(pool, CEN_NEVER, &inner, NULL), reclaims ? CEN_OK : CEN_REVOKED);
        if (reclaims) { /* what the outer scope had is gone for good: this is another */
            expect(inner.lease.object != outer.lease.object);
            expect_equal(cen_pool_leave(&inner), CEN_OK);
        }
        expect_equal(cen_pool_leave(&outer), CEN_REVOKED);
        cen_lease lease = take(pool);
        give_back(&lease);
        end_life(&s, pool);
    }
}

/* ---- Those who wait ------------------------------------------------------------------------------- */

/* guarantees: life-bugs.O */
TEST(O_when_as_many_wait_as_may_the_next_is_told_full_at_once)
{
    for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
        s = (script){.opened = 0};
        cen_pool *pool = begin_life(&s, blocks, .name = "narrow", .max = 1, .max_waiters = 2);
        cen_lease held = take(pool), lease;
        taker takers[3];
        begin_take(&takers[0], pool, CEN_NEVER);
        begin_take(&takers[1], pool, cen_in_s(1));
        int64_t began = cen_clock();
        cen_error error;
        expect_equal(cen_pool_take(pool, CEN_NEVER, &lease, &error), CEN_FULL);
        expect_error(&error, CEN_FULL, "narrow");
        expect_equal(cen_clock(), began);
        expect_none(pool);
        cen_pool_stats n = look(pool);
        expect(n.refused == 1 && n.waiting == 2);
        pass(SECOND);
        expect_answer(&takers[1], CEN_TIMEOUT);
        begin_take(&takers[2], pool, CEN_NEVER); /* there is room for one again */
        expect_waiting(&takers[2]);
        give_back(&held);
        expect_answer(&takers[0], CEN_OK);
        give_back(&takers[0].lease);
        expect_answer(&takers[2], CEN_OK);
        give_back(&takers[2].lease);
        end_life(&s, pool);
    }
}

typedef struct numbered {
    taker take;
    uint64_t number;
} numbered;

static void run_numbered(void *argument)
{
    numbered *one = argument;
    one->number = cen_thread_number();
    run_taker(&one->take);
}

static void begin_numbered(numbered *one, cen_pool *pool, cen_deadline deadline)
{
    one->take = (taker){.pool = pool, .deadline = deadline};
    one->take.thread = start("numbered", run_numbered, one);
    ceni_world_settle();
}

/* guarantees: life-bugs.E3c, life-bugs.fairness */
TEST(E3c_a_take_that_waits_is_interrupted_at_once_and_the_others_keep_their_order)
{
    for (int strict = 0; strict < 2; strict++) {
        s = (script){.opened = 0};
        cen_pool *pool = begin_life(&s, BLOCKS, .max = 1, .max_barging_ns = strict ? CEN_NONE : 0);
        cen_lease held = take(pool);
        numbered takers[4];
        for (int i = 0; i < 4; i++) begin_numbered(&takers[i], pool, CEN_NEVER);
        int64_t began = cen_clock();
        expect(cen_pool_interrupt(pool, takers[0].number)); /* the first, and one in the middle */
        expect(cen_pool_interrupt(pool, takers[2].number));
        expect_answer(&takers[0].take, CEN_INTERRUPTED);
        expect_answer(&takers[2].take, CEN_INTERRUPTED);
        expect_equal(takers[0].take.error.status, CEN_INTERRUPTED);
        expect_equal(cen_clock(), began);
        expect(!cen_pool_interrupt(pool, takers[0].number)); /* it waits no more */
        expect(!cen_pool_interrupt(pool, cen_thread_number()));
        expect(!cen_pool_interrupt(pool, UINT64_MAX) && !cen_pool_interrupt(NULL, 1));
        cen_pool_stats n = look(pool);
        expect(n.cancelled == 2 && n.failed == 0 && n.waiting == 2);
        give_back(&held);
        expect_taken(&takers[1].take, 1);
        give_back(&takers[1].take.lease);
        expect_taken(&takers[3].take, 1);
        give_back(&takers[3].take.lease);
        end_life(&s, pool);
    }
}

/* guarantees: life.L10 */
TEST(L10_the_opening_of_one_who_was_interrupted_goes_on_and_serves_the_next)
{
    s = (script){.of[CALL_OPEN] = {.hang_from = 1, .hang_to = 1}};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 1);
    numbered one, two;
    begin_numbered(&one, pool, CEN_NEVER);
    begin_numbered(&two, pool, CEN_NEVER);
    expect(cen_pool_interrupt(pool, one.number));
    expect_answer(&one.take, CEN_INTERRUPTED);
    let_all_go(&s, CALL_OPEN);
    expect_taken(&two.take, 1);
    expect_equal(s.of[CALL_OPEN].calls, 1);
    give_back(&two.take.lease);
    end_life(&s, pool);
}

/* guarantees: life.L10 */
TEST(L5_those_who_gave_up_receive_nothing_though_many_objects_come_at_once)
{
    s = (script){.of[CALL_OPEN] = {.hang_from = 1, .hang_to = 4}};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 4, .max_concurrent_opens = 4, .open_timeout_ns = CEN_OFF);
    taker gone[4], last;
    for (int i = 0; i < 4; i++) begin_take(&gone[i], pool, cen_in_ms(10 + i));
    pass(20 * MS);
    for (int i = 0; i < 4; i++) expect_answer(&gone[i], CEN_TIMEOUT);
    begin_take(&last, pool, CEN_NEVER);
    let_all_go(&s, CALL_OPEN);
    expect_answer(&last, CEN_OK);
    cen_pool_stats n = look(pool);
    expect(n.idle == 3 && n.held == 1 && n.timed_out == 4 && n.taken == 1);
    give_back(&last.lease);
    end_life(&s, pool);
}
