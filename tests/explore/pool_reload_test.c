/* SPDX-License-Identifier: MIT */
/*
 * Reload under every schedule (L12): what was there when it was called is gone
 * when all are done, whatever the others did with it meanwhile.
 */
#include "explore/lives.h"

static void expect_old_ones_gone(uint32_t old)
{
    for (uint32_t i = 0; i < old; i++) expect_equal(ceni_load_relaxed(&things[i].is_open), 0);
    cen_pool_stats s = look_alive();
    expect_equal(s.held + s.moving + s.opening + s.closing, 0);
    expect_equal(s.opened - s.closed, s.idle);
    expect_equal(pool->live, s.idle);
    end();
}

static void reload_beside(void (*what)(void *), taker *other)
{
    ceni_thread thread = start("other", what, other);
    reload_now(NULL);
    join(thread);
}

EXPLORE(L12_an_object_that_is_given_meanwhile_is_closed, 4)
{
    make_opening((cen_pool_options){.max = 1});
    taker other = {.lease = take_one()};
    reload_beside(give_lease, &other);
    expect_equal(other.given, CEN_OK);
    expect_old_ones_gone(1);
}

EXPLORE(L12_an_object_of_a_fifo_pool_that_is_given_meanwhile_is_closed, 4)
{
    make_opening((cen_pool_options){.max = 1, .order = CEN_ORDER_FIFO});
    taker other = {.lease = take_one()};
    reload_beside(give_lease, &other);
    expect_equal(other.given, CEN_OK);
    expect_old_ones_gone(1);
}

EXPLORE(L12_an_object_that_is_taken_and_given_meanwhile_is_closed, 4)
{
    make_opening((cen_pool_options){.max = 1});
    give_one(take_one());
    taker other = {.deadline = CEN_NEVER};
    reload_beside(take_and_give, &other);
    expect_equal(other.status, CEN_OK);
    expect_equal(other.given, CEN_OK);
    expect_old_ones_gone(1);
}

/* Only what had begun to be opened when the reload was called must go. */
EXPLORE(L12_an_object_that_is_opened_meanwhile_is_closed_when_it_comes_back, 4)
{
    make_opening((cen_pool_options){.max = 1});
    taker other = {.deadline = CEN_NEVER};
    ceni_thread thread = start("other", take_and_keep, &other);
    uint32_t begun = ceni_load_seq_cst(&opens);
    reload_now(NULL);
    join(thread);
    expect_equal(other.status, CEN_OK);
    give_one(other.lease);
    expect_old_ones_gone(begun);
}

static void ask_keep(void *into)
{
    ask_only(into);
}

EXPLORE(L12_an_object_that_is_opened_for_a_pending_waiter_meanwhile_is_closed, 4)
{
    make_opening((cen_pool_options){.max = 1});
    taker other = {.status = CEN_OK};
    ceni_thread thread = start("other", ask_keep, &other);
    uint32_t begun = ceni_load_seq_cst(&opens);
    reload_now(NULL);
    join(thread);
    expect_equal(other.status, CEN_OK);
    give_one(other.lease);
    expect_old_ones_gone(begun);
}

EXPLORE(L12_a_discard_and_a_reload_close_an_object_once, 4)
{
    make_opening((cen_pool_options){.max = 1});
    taker other = {.lease = take_one()};
    reload_beside(discard_lease, &other);
    expect_equal(other.given, CEN_OK);
    expect_old_ones_gone(1);
}

EXPLORE(L12_an_object_that_is_tested_meanwhile_is_closed, 3)
{
    make_timed(&tested_calls, (cen_pool_options){.max = 1, .test_after_idle_ns = CEN_OFF, .test_interval_ns = SECOND});
    give_one(take_one());
    expect_equal(cen_pool_test_idle(pool, NULL), CEN_OK);
    taker none = {.status = CEN_OK};
    reload_beside(keep_once, &none);
    for (uint32_t i = 0; i < 1; i++) expect_equal(ceni_load_relaxed(&things[i].is_open), 0);
    expect_calm(0);
    end_timed();
}
