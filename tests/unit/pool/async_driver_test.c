/* SPDX-License-Identifier: MIT */
/* Asking without waiting, and drivers that test or whose calls are done later. */
#include <cenote/pool_async.h>

#include "unit/pool/clerks.h"

static clerk c;
static script s;

static cen_take_op take_of_mine;
static unsigned told;
static cen_pool *asked;

static void begin_ask(cen_pool *pool, cen_deadline deadline)
{
    cen_take_op_init(&take_of_mine, NULL, NULL);
    expect_equal(cen_pool_take_async(pool, deadline, &take_of_mine), CEN_OK);
}

static void expect_lent(int number)
{
    expect(cen_future_is_done(&take_of_mine.future));
    expect_equal(take_of_mine.future.status, CEN_OK);
    expect_equal(number_of(&take_of_mine.lease), number);
    give_back(&take_of_mine.lease);
}

/* guarantees: later.async */
TEST(one_who_asks_for_now_gets_what_is_idle_and_trusted_although_the_driver_tests)
{
    for (int blocks = 0; blocks < 2; blocks++) {
        s = (script){.opened = 0};
        cen_pool *pool = begin_life(&s, HAS_TEST | (blocks ? BLOCKS : 0), .max = 2, .order = CEN_ORDER_FIFO);
        warm_up(pool, 2);
        begin_ask(pool, CEN_NOW);
        expect_lent(1);
        expect_equal(s.of[CALL_TEST].calls, 0);
        end_life(&s, pool);
    }
}

/* A pool of two objects that were idle for long, of which the first does not work any more. */
static cen_pool *begin_old(unsigned kind)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, HAS_TEST | kind, .max = 2, .order = CEN_ORDER_FIFO, .test_after_idle_ns = SECOND,
                                .test_interval_ns = CEN_OFF);
    warm_up(pool, 2);
    pass(5 * SECOND);
    s.things[1].broken = true;
    return pool;
}

/* guarantees: later.async */
TEST(one_who_asks_for_now_has_what_was_idle_for_long_tested_here_if_that_is_quick)
{
    cen_pool *pool = begin_old(0);
    begin_ask(pool, CEN_NOW);
    expect_lent(2);
    expect(s.of[CALL_TEST].calls == 2 && s.of[CALL_TEST].thread == cen_thread_number() && s.things[1].closes == 1);
    end_life(&s, pool);
}

/* guarantees: later.async */
TEST(one_who_asks_for_now_is_not_lent_what_a_helper_has_to_test_first)
{
    cen_pool *pool = begin_old(BLOCKS);
    begin_ask(pool, CEN_NOW);
    expect(cen_future_is_done(&take_of_mine.future));
    expect_equal(take_of_mine.future.status, CEN_TIMEOUT);
    begin_ask(pool, CEN_NEVER);
    ceni_world_settle();
    expect(s.things[1].closes == 1 && s.things[1].tests == 1);
    expect_lent(2);
    end_life(&s, pool);
}

/* guarantees: later.async */
TEST(one_who_asks_is_told_when_an_opening_is_done_later)
{
    c = (clerk){.opened = 0};
    cen_pool *pool = begin_alone(&c, TESTS_TOO, .max = 1);
    begin_ask(pool, CEN_NEVER);
    cen_runtime_poll(c.runtime);
    expect(c.count == 1 && !cen_future_is_done(&take_of_mine.future));
    finish(&c, 0, CEN_OK);
    expect_lent(1);
    end_clerk(&c, pool);
}

/* guarantees: later.async */
TEST(one_who_asks_is_told_what_an_opening_that_fails_later_said)
{
    c = (clerk){.opened = 0};
    cen_pool *pool = begin_alone(&c, 0, .max = 1, .breaker_failures = 1, .breaker_wait_ns = CEN_OFF);
    cen_error error;
    cen_take_op_init(&take_of_mine, NULL, NULL);
    take_of_mine.future.error = &error;
    expect_equal(cen_pool_take_async(pool, CEN_NEVER, &take_of_mine), CEN_OK);
    cen_runtime_poll(c.runtime);
    cen_error said = {.code = 61, .text = "nobody listens there"};
    expect_equal(finish_with(&c, 0, CEN_SYSTEM, &said), CEN_OK);
    expect(cen_future_is_done(&take_of_mine.future) && take_of_mine.future.status == CEN_SYSTEM);
    expect_error(&error, CEN_SYSTEM, "nobody listens there");
    end_clerk(&c, pool);
}

/* Gives it back and asks again, which may not be done inside a call of the driver. */
static void ask_again(cen_take_op *take)
{
    expect_equal(take->future.status, CEN_OK);
    give_back(&take->lease);
    if (++told == 3) return;
    cen_take_op_init(take, ask_again, cen_inline());
    expect_equal(cen_pool_take_async(asked, CEN_NEVER, take), CEN_OK);
}

/* guarantees: later.async */
TEST(who_is_told_inline_by_an_opening_that_is_done_from_within_is_not_inside_the_driver)
{
    c = (clerk){.at_once = AT_ONCE_OPEN};
    told = 0;
    asked = begin_alone(&c, 0, .max = 1);
    cen_take_op_init(&take_of_mine, ask_again, cen_inline());
    expect_equal(cen_pool_take_async(asked, CEN_NEVER, &take_of_mine), CEN_OK);
    cen_runtime_poll(c.runtime);
    expect_equal(told, 3);
    end_clerk(&c, asked);
}
