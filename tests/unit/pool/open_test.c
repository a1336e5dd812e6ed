/* SPDX-License-Identifier: MIT */
/* Opening: on helper threads if the driver blocks, on the caller's if not, and for the pool, not for who waits (L10). */
#include "unit/pool/scripted.h"

static script s;

static void hang_opens(unsigned from, unsigned to)
{
    s = (script){.of[CALL_OPEN] = {.hang_from = from, .hang_to = to}};
}

/* ---- Where, and how many ------------------------------------------------------------------ */

/* guarantees: life-api.where */
TEST(a_blocking_driver_opens_tests_resets_and_closes_on_helpers_and_checks_inline)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, BLOCKS | HAS_CHECK | HAS_RESET | HAS_TEST, .max = 2);
    uint64_t me = cen_thread_number();
    cen_lease lease = take(pool);
    expect(s.of[CALL_OPEN].thread != me);
    s.things[1].condition = CEN_DIRTY;
    give_back(&lease);
    look(pool);
    expect_equal(s.of[CALL_CHECK].thread, me);
    expect(s.of[CALL_RESET].calls == 1 && s.of[CALL_RESET].thread != me);
    expect_equal(cen_pool_test_idle(pool, NULL), CEN_OK);
    look(pool);
    expect(s.of[CALL_TEST].calls == 1 && s.of[CALL_TEST].thread != me);
    lease = take(pool);
    expect_equal(cen_pool_discard(&lease), CEN_OK);
    look(pool);
    expect(s.of[CALL_CLOSE].calls == 1 && s.of[CALL_CLOSE].thread != me);
    end_life(&s, pool);
}

/* guarantees: life-api.where */
TEST(an_inline_driver_does_everything_on_the_thread_that_needs_it)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, HAS_CHECK | HAS_RESET, .max = 2);
    uint64_t me = cen_thread_number();
    cen_lease lease = take_now(pool);
    s.things[1].condition = CEN_DIRTY;
    give_back(&lease);
    expect_counts(pool, 1, 0);
    lease = take_now(pool);
    expect_equal(cen_pool_discard(&lease), CEN_OK);
    for (int kind = CALL_OPEN; kind <= CALL_RESET; kind++) {
        expect_equal(s.of[kind].calls, 1);
        expect_equal(s.of[kind].thread, me);
    }
    expect_equal(look_at(s.runtime).helpers, 0);
    end_life(&s, pool);
}

/* guarantees: life-api.where */
TEST(an_eager_pool_opens_on_the_calling_thread_although_the_driver_blocks)
{
    s = (script){.of[CALL_OPEN].takes_ns = SECOND};
    int64_t began = cen_clock();
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 5, .eager = true);
    expect_equal(cen_clock() - began, 5 * SECOND);
    expect_equal(s.of[CALL_OPEN].thread, cen_thread_number());
    expect_equal(look(pool).idle, 5);
    cen_lease lease = take_now(pool);
    expect_equal(number_of(&lease), 1);
    give_back(&lease);
    end_life(&s, pool);
}

/* guarantees: life-api.where */
TEST(an_eager_pool_whose_nth_blocking_open_fails_is_not_made_and_closes_the_others)
{
    for (unsigned nth = 1; nth <= 4; nth++) {
        s = (script){.of[CALL_OPEN] = {.fail_from = nth, .fail_to = nth, .failure = CEN_SYSTEM, .text = "no more"}};
        cen_runtime *runtime = make_runtime(.name = NULL);
        cen_pool_options o = CEN_POOL_OPTIONS(.max = 4, .eager = true, .runtime = runtime);
        o.driver = scripted_driver(&s, BLOCKS);
        cen_pool *pool = NULL;
        cen_error error;
        expect_equal(cen_pool_new(&o, &pool, &error), CEN_SYSTEM);
        expect_error(&error, CEN_SYSTEM, "no more");
        expect(!pool);
        ceni_world_settle();
        expect_equal(s.of[CALL_CLOSE].calls, nth - 1);
        expect(s.finis == 1);
        free_runtime(runtime);
    }
}

/* guarantees: life.L10, life-bugs.G */
TEST(L10_no_more_than_openers_are_opened_at_a_time_however_many_wait)
{
    for (uint32_t max_concurrent_opens = 1; max_concurrent_opens <= 3; max_concurrent_opens += 2) {
        hang_opens(1, 100);
        cen_pool *pool = begin_life(&s, BLOCKS, .max = 10, .max_concurrent_opens = max_concurrent_opens,
                                    .open_timeout_ns = CEN_OFF, .max_barging_ns = CEN_NONE);
        taker takers[6];
        for (int i = 0; i < 6; i++) begin_take(&takers[i], pool, CEN_NEVER);
        cen_pool_stats n = look(pool);
        expect_equal(n.opening, max_concurrent_opens);
        expect_equal(s.of[CALL_OPEN].in_flight, max_concurrent_opens);
        for (unsigned i = 1; i <= 6; i++) {
            let_go(&s, CALL_OPEN, i);
            expect_equal(look(pool).held, i);
            expect_equal(s.of[CALL_OPEN].in_flight, max_concurrent_opens < 6 - i ? max_concurrent_opens : 6 - i);
        }
        expect_equal(s.of[CALL_OPEN].most, max_concurrent_opens);
        for (int i = 0; i < 6; i++) expect_answer(&takers[i], CEN_OK);
        for (int i = 0; i < 6; i++) give_back(&takers[i].lease);
        expect_equal(s.opened, 6);
        end_life(&s, pool);
    }
}

/* One who was called and has not looked yet waits for what is idle, not for another opening. */
/* guarantees: life.L10 */
TEST(L10_as_many_are_opened_as_there_are_who_wait_and_not_one_more)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 10, .max_concurrent_opens = 1);
    taker takers[4];
    s.of[CALL_OPEN].takes_ns = MS;
    for (int i = 0; i < 4; i++) begin_take(&takers[i], pool, CEN_NEVER);
    pass(20 * MS);
    for (int i = 0; i < 4; i++) expect_answer(&takers[i], CEN_OK);
    expect_equal(s.of[CALL_OPEN].calls, 4);
    for (int i = 0; i < 4; i++) give_back(&takers[i].lease);
    end_life(&s, pool);
}

/* guarantees: life.L10 */
TEST(L10_two_are_opened_at_a_time_by_default)
{
    hang_opens(1, 100);
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 10);
    taker takers[4];
    for (int i = 0; i < 4; i++) begin_take(&takers[i], pool, CEN_NEVER);
    expect_equal(s.of[CALL_OPEN].in_flight, 2);
    let_all_go(&s, CALL_OPEN);
    for (int i = 0; i < 4; i++) expect_answer(&takers[i], CEN_OK);
    for (int i = 0; i < 4; i++) give_back(&takers[i].lease);
    end_life(&s, pool);
}

/* guarantees: life.L2, life-bugs.O */
TEST(L2_openings_under_way_count_so_there_are_never_more_than_max)
{
    hang_opens(1, 100);
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 3, .max_concurrent_opens = 8, .open_timeout_ns = CEN_OFF);
    taker takers[6];
    for (int i = 0; i < 6; i++) begin_take(&takers[i], pool, CEN_NEVER);
    cen_pool_stats n = look(pool);
    expect(n.opening == 3 && n.waiting == 6);
    expect_equal(cen_pool_adopt(pool, object_of(150), NULL), CEN_FULL);
    let_all_go(&s, CALL_OPEN);
    expect_equal(look(pool).held, 3);
    for (int i = 0; i < 3; i++) {
        expect_answer(&takers[i], CEN_OK);
        give_back(&takers[i].lease);
        expect_answer(&takers[3 + i], CEN_OK);
    }
    expect_equal(s.opened, 3);
    for (int i = 3; i < 6; i++) give_back(&takers[i].lease);
    end_life(&s, pool);
}

/* ---- An opening is the pool's ------------------------------------------------------------------ */

/* guarantees: life.L10, life-bugs.C */
TEST(L10_an_opening_outlives_the_take_that_asked_for_it_and_serves_the_next)
{
    hang_opens(1, 1);
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 2, .open_timeout_ns = CEN_OFF);
    taker impatient, next;
    begin_take(&impatient, pool, cen_in_s(1));
    pass(SECOND);
    expect_answer(&impatient, CEN_TIMEOUT);
    expect_equal(look(pool).opening, 1);
    begin_take(&next, pool, CEN_NEVER);
    let_all_go(&s, CALL_OPEN);
    expect_taken(&next, 1);
    give_back(&next.lease);
    expect_equal(s.of[CALL_OPEN].calls, 1); /* nobody opened another for it */
    end_life(&s, pool);
}

/* guarantees: life.L10, life-bugs.C */
TEST(L10_an_opening_that_nobody_waits_for_any_more_leaves_an_idle_object)
{
    hang_opens(1, 1);
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 2, .open_timeout_ns = CEN_OFF);
    cen_lease lease;
    expect_equal(cen_pool_take(pool, cen_in_ms(10), &lease, NULL), CEN_TIMEOUT);
    let_all_go(&s, CALL_OPEN);
    cen_pool_stats n = look(pool);
    expect(n.idle == 1 && n.opened == 1);
    lease = take_now(pool);
    expect_equal(number_of(&lease), 1);
    give_back(&lease);
    end_life(&s, pool);
}

/* One helper is kept by an opening; the second opening waits for it, and its waiter is gone when it comes. */
/* guarantees: life.L10 */
TEST(L10_an_opening_is_skipped_when_the_demand_is_gone_before_it_began)
{
    hang_opens(1, 1);
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 4, .max_concurrent_opens = 1, .open_timeout_ns = CEN_OFF);
    taker first, second;
    begin_take(&first, pool, CEN_NEVER);
    begin_take(&second, pool, cen_in_s(1));
    pass(SECOND);
    expect_answer(&second, CEN_TIMEOUT);
    let_all_go(&s, CALL_OPEN);
    expect_taken(&first, 1);
    look(pool);
    expect_equal(s.of[CALL_OPEN].calls, 1);
    give_back(&first.lease);
    end_life(&s, pool);
}

/* guarantees: life.L10 */
TEST(L10_an_object_that_comes_back_serves_the_waiter_and_the_opening_is_kept_for_the_next)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 3, .open_timeout_ns = CEN_OFF);
    cen_lease held = take(pool), later;
    s.of[CALL_OPEN].hang_from = 2, s.of[CALL_OPEN].hang_to = 2;
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    expect_equal(look(pool).opening, 1);
    give_back(&held);
    expect_taken(&one, 1);
    let_all_go(&s, CALL_OPEN);
    expect_equal(look(pool).idle, 1);
    later = take_now(pool);
    expect_equal(number_of(&later), 2);
    give_back(&later);
    give_back(&one.lease);
    end_life(&s, pool);
}

/* guarantees: life.L10, life-bugs.fairness */
TEST(nobody_who_waits_is_passed_over_when_several_openings_end_in_another_order)
{
    hang_opens(1, 3);
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 3, .max_concurrent_opens = 3, .open_timeout_ns = CEN_OFF,
                                .max_barging_ns = CEN_NONE);
    taker takers[3];
    for (int i = 0; i < 3; i++) begin_take(&takers[i], pool, CEN_NEVER);
    let_all_go(&s, CALL_OPEN);
    for (int i = 0; i < 3; i++) expect_taken(&takers[i], i + 1);
    for (int i = 0; i < 3; i++) give_back(&takers[i].lease);
    end_life(&s, pool);
}

/* A try never waits; it looks, and that is all. */
/* guarantees: life-api.where */
TEST(a_try_of_a_pool_whose_driver_blocks_answers_empty_at_once)
{
    hang_opens(1, 1);
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 1);
    int64_t began = cen_clock();
    cen_lease lease;
    expect_equal(cen_pool_try_take(pool, &lease, NULL), CEN_EMPTY);
    expect_equal(cen_pool_take(pool, CEN_NOW, &lease, NULL), CEN_TIMEOUT);
    expect_equal(cen_clock(), began);
    end_life(&s, pool);
}

/* guarantees: life-api.where */
TEST(a_driver_that_answers_ok_and_null_has_made_an_object)
{
    for (unsigned kind = 0; kind <= BLOCKS; kind++) {
        s = (script){.opens_null = true};
        cen_pool *pool = begin_life(&s, kind, .max = 1);
        cen_lease lease = take(pool);
        expect(lease.object == NULL && lease.pool == pool);
        give_back(&lease);
        expect_equal(look(pool).idle, 1);
        end_life(&s, pool);
        expect_equal(s.of[CALL_CLOSE].calls, 1);
    }
}

/* ---- Others ----------------------------------------------------------------------------------------- */

/* guarantees: life.L9, life-bugs.E */
TEST(L9_a_driver_that_hangs_holds_up_no_other_pool_of_the_same_runtime)
{
    static script other;
    cen_runtime *runtime = make_runtime(.name = "shared");
    s = (script){.opened = 0};
    for (int kind = CALL_OPEN; kind <= CALL_TEST; kind++) s.of[kind].hang_from = 1, s.of[kind].hang_to = 100;
    other = (script){.opened = 0};
    cen_pool *hung = begin_life(&s, BLOCKS, .max = 8, .max_concurrent_opens = 8, .runtime = runtime);
    cen_pool *pool = begin_life(&other, BLOCKS | HAS_TEST | HAS_CHECK | HAS_RESET, .max = 2, .runtime = runtime);
    taker takers[8];
    for (int i = 0; i < 8; i++) begin_take(&takers[i], hung, cen_in_s(1));
    expect_equal(s.of[CALL_OPEN].in_flight, 8);
    int64_t began = cen_clock();
    for (int round = 0; round < 3; round++) {
        cen_lease lease = take(pool);
        other.things[other.opened].condition = CEN_DIRTY;
        give_back(&lease);
        expect_equal(look(pool).idle, 1);
        expect_equal(cen_pool_test_idle(pool, NULL), CEN_OK);
        expect_equal(look(pool).idle, 1);
        lease = take(pool);
        expect_equal(cen_pool_discard(&lease), CEN_OK);
        expect_equal(look(pool).vacant, 2);
    }
    expect_equal(cen_clock(), began);
    expect_equal(other.of[CALL_TEST].calls, 3);
    expect_equal(other.of[CALL_RESET].calls, 3);
    expect_equal(other.of[CALL_CLOSE].calls, 3);
    end_life(&other, pool);
    pass(SECOND);
    for (int i = 0; i < 8; i++) expect_answer(&takers[i], CEN_TIMEOUT);
    end_life(&s, hung);
    free_runtime(runtime);
}

/* guarantees: life.L9, life-bugs.E */
TEST(E4_a_slow_opening_delays_neither_a_give_nor_a_take_of_what_is_idle)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 4, .open_timeout_ns = CEN_OFF);
    cen_lease a = take(pool), b = take(pool);
    s.of[CALL_OPEN].hang_from = 3, s.of[CALL_OPEN].hang_to = 99;
    taker slow;
    begin_take(&slow, pool, CEN_NEVER);
    int64_t began = cen_clock();
    give_back(&a);
    expect_taken(&slow, 1);
    give_back(&b);
    b = take_now(pool);
    expect_equal(cen_pool_discard(&b), CEN_OK);
    look(pool);
    expect_equal(cen_clock(), began);
    give_back(&slow.lease);
    end_life(&s, pool);
}
