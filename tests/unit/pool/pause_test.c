/* SPDX-License-Identifier: MIT */
/* Pause and resume, and another max for a driver that blocks. */
#include "unit/pool/scripted.h"

static script s;

static void pause_it(cen_pool *pool)
{
    expect_equal(cen_pool_pause(pool, NULL), CEN_OK);
    expect(look(pool).is_paused);
}

static void resume_it(cen_pool *pool)
{
    expect_equal(cen_pool_resume(pool, NULL), CEN_OK);
    expect(!look(pool).is_paused);
}

/* guarantees: life-api.pause */
TEST(a_paused_pool_lends_nothing_though_it_is_idle_and_serves_those_who_waited_when_it_goes_on)
{
    for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
        for (int strict = 0; strict < 2; strict++) {
            s = (script){.opened = 0};
            cen_pool *pool = begin_life(&s, BLOCKS, .max = 2, .order = order, .max_barging_ns = strict ? CEN_NONE : 0);
            warm_up(pool, 2); /* this thread had both: its quick path must not have them, either */
            pause_it(pool);
            pause_it(pool);
            expect_none(pool);
            taker one, two;
            begin_take(&one, pool, CEN_NEVER);
            begin_take(&two, pool, CEN_NEVER);
            pass(60 * SECOND);
            expect_waiting(&one);
            expect_waiting(&two);
            resume_it(pool);
            expect_answer(&one, CEN_OK);
            expect_answer(&two, CEN_OK);
            give_back(&one.lease);
            give_back(&two.lease);
            resume_it(pool);
            cen_lease lease = take_now(pool);
            give_back(&lease);
            end_life(&s, pool);
        }
    }
}

/* guarantees: life-api.pause */
TEST(gives_and_discards_go_on_in_a_paused_pool_and_reach_nobody)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 2);
    cen_lease a = take(pool), b = take(pool);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    pause_it(pool);
    give_back(&a);
    expect_equal(cen_pool_discard(&b), CEN_OK);
    expect_waiting(&one);
    cen_pool_stats n = look(pool);
    expect(n.idle == 1 && n.vacant == 1);
    resume_it(pool);
    expect_taken(&one, 1);
    give_back(&one.lease);
    end_life(&s, pool);
}

/* guarantees: life-api.pause */
TEST(a_paused_pool_opens_nothing_for_those_who_wait_or_for_its_minimum)
{
    for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
        s = (script){.opened = 0};
        cen_pool *pool = begin_life(&s, blocks, .max = 4);
        pause_it(pool);
        cen_pool_options o = CEN_SIZED(cen_pool_options);
        expect_equal(cen_pool_options_get(pool, &o), CEN_OK);
        o.min_idle = 2;
        expect_equal(cen_pool_options_set(pool, &o, NULL), CEN_OK);
        taker one;
        begin_take(&one, pool, CEN_NEVER);
        pass(60 * SECOND);
        expect_equal(s.of[CALL_OPEN].calls, 0);
        resume_it(pool);
        pass(2 * SECOND);
        expect_answer(&one, CEN_OK);
        expect_equal(look(pool).idle, 2);
        give_back(&one.lease);
        end_life(&s, pool);
    }
}

/* guarantees: life-api.pause */
TEST(what_was_being_opened_when_the_pool_was_paused_is_idle_until_it_goes_on)
{
    s = (script){.of[CALL_OPEN] = {.hang_from = 1, .hang_to = 1}};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 2);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    pause_it(pool);
    let_all_go(&s, CALL_OPEN);
    expect_waiting(&one);
    expect_equal(look(pool).idle, 1);
    resume_it(pool);
    expect_taken(&one, 1);
    expect_equal(s.of[CALL_OPEN].calls, 1);
    give_back(&one.lease);
    end_life(&s, pool);
}

/* guarantees: life.L7 */
TEST(L7_a_take_of_a_paused_pool_keeps_its_deadline_and_close_tells_it)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 2);
    warm_up(pool, 1);
    pause_it(pool);
    taker one, two;
    begin_take(&one, pool, cen_in_s(1));
    begin_take(&two, pool, CEN_NEVER);
    pass(SECOND - 1);
    expect_waiting(&one);
    pass(1);
    expect_answer(&one, CEN_TIMEOUT);
    expect_equal(cen_pool_close(pool, cen_in_s(1), NULL, NULL), CEN_OK);
    expect_answer(&two, CEN_CLOSED);
    expect_equal(cen_pool_pause(pool, NULL), CEN_CLOSED);
    expect_equal(cen_pool_resume(pool, NULL), CEN_CLOSED);
    expect_equal(cen_pool_pause(NULL, NULL), CEN_INVALID);
    end_life(&s, pool);
}

/* ---- Another max ------------------------------------------------------------------------------------- */

/* guarantees: life.L16 */
TEST(L16_a_larger_max_lets_helpers_open_for_those_who_wait)
{
    s = (script){.of[CALL_OPEN].takes_ns = SECOND};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 1, .max_barging_ns = CEN_NONE);
    cen_lease held = take(pool);
    taker takers[3];
    for (int i = 0; i < 3; i++) begin_take(&takers[i], pool, CEN_NEVER);
    pass(10 * SECOND);
    expect_equal(s.of[CALL_OPEN].calls, 1);
    int64_t began = cen_clock();
    expect_equal(cen_pool_resize(pool, 4, NULL), CEN_OK);
    expect_equal(cen_clock(), began);
    pass(2 * SECOND);
    for (int i = 0; i < 3; i++) expect_answer(&takers[i], CEN_OK);
    expect_equal(s.of[CALL_OPEN].most, 2);
    for (int i = 0; i < 3; i++) give_back(&takers[i].lease);
    give_back(&held);
    end_life(&s, pool);
}

/* guarantees: life.L16 */
TEST(L16_a_smaller_max_closes_on_helpers_what_is_idle_and_what_comes_back_and_what_was_being_opened)
{
    s = (script){.of[CALL_CLOSE].takes_ns = SECOND};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 6);
    cen_lease a = take(pool), b = take(pool);
    warm_up(pool, 3);
    expect_equal(look(pool).idle, 3);
    int64_t began = cen_clock();
    expect_equal(cen_pool_resize(pool, 1, NULL), CEN_OK);
    expect_equal(cen_clock(), began); /* never waits */
    expect_equal(look(pool).closing, 3);
    pass(2 * SECOND);
    cen_pool_stats n = look(pool);
    expect(n.held == 2 && n.idle == 0 && n.closing == 0);
    expect_equal(s.of[CALL_CLOSE].most, 2);
    give_back(&a);
    pass(SECOND);
    n = look(pool);
    expect(n.held == 1 && n.idle == 0);
    give_back(&b);
    expect_equal(look(pool).idle, 1);
    end_life(&s, pool);
}

/* guarantees: life.L2, life-bugs.G */
TEST(L2_what_arrives_from_an_opening_after_max_was_lowered_is_closed)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 3, .open_timeout_ns = CEN_OFF);
    cen_lease held = take(pool), lease;
    s.of[CALL_OPEN].hang_from = 2, s.of[CALL_OPEN].hang_to = 3;
    taker one, two;
    begin_take(&one, pool, cen_in_s(1));
    begin_take(&two, pool, cen_in_s(1));
    pass(SECOND);
    expect_answer(&one, CEN_TIMEOUT);
    expect_answer(&two, CEN_TIMEOUT);
    expect_equal(look(pool).opening, 2);
    expect_equal(cen_pool_resize(pool, 1, NULL), CEN_OK);
    let_all_go(&s, CALL_OPEN);
    cen_pool_stats n = look(pool);
    expect(n.held == 1 && n.idle == 0 && n.closed == 2);
    give_back(&held);
    lease = take_now(pool);
    expect_equal(number_of(&lease), 1);
    give_back(&lease);
    end_life(&s, pool);
}
