/* SPDX-License-Identifier: MIT */
/* Reload: everything that was opened before it is made anew, wherever it is (L12). */
#include "unit/pool/scripted.h"

static script s;

static void reload(cen_pool *pool, int64_t spread_ns)
{
    expect_equal(cen_pool_reload(pool, spread_ns, NULL), CEN_OK);
}

/* guarantees: life.L12, life-bugs.K */
TEST(L12_a_reload_closes_what_is_idle_now_and_the_next_take_gets_a_new_one)
{
    for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
        s = (script){.opened = 0};
        cen_pool *pool = begin_life(&s, blocks, .max = 3);
        warm_up(pool, 3);
        reload(pool, 0);
        expect_equal(look(pool).vacant, 3);
        cen_lease lease = take(pool);
        expect_equal(number_of(&lease), 4);
        give_back(&lease);
        end_life(&s, pool);
    }
}

/* guarantees: life.L12, life-bugs.K */
TEST(E2_K_a_reload_reaches_what_is_out_and_its_give_is_ok)
{
    static const unsigned kinds[] = {0, BLOCKS, HAS_CHECK, HAS_CHECK | HAS_RESET | BLOCKS};
    for (int kind = 0; kind < 4; kind++) {
        s = (script){.opened = 0};
        cen_pool *pool = begin_life(&s, kinds[kind], .max = 2);
        cen_lease a = take(pool), b = take(pool), copy = a;
        reload(pool, 0);
        reload(pool, 0); /* twice is the same as once */
        expect_equal(look(pool).held, 2);
        give_back(&a);
        expect_equal(cen_pool_give(&copy), CEN_STALE);
        expect_equal(cen_pool_discard(&b), CEN_OK);
        expect_equal(look(pool).vacant, 2);
        a = take(pool);
        expect_equal(number_of(&a), 3);
        give_back(&a); /* opened after it: this one stays */
        expect_equal(look(pool).idle, 1);
        end_life(&s, pool);
    }
}

/* guarantees: life.L12, life-bugs.K */
TEST(E2_K_a_reload_reaches_what_is_out_and_serves_who_waits_when_it_comes_back)
{
    for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
        s = (script){.opened = 0};
        cen_pool *pool = begin_life(&s, blocks, .max = 1);
        cen_lease held = take(pool);
        taker one;
        begin_take(&one, pool, CEN_NEVER);
        reload(pool, 0);
        expect_waiting(&one);
        give_back(&held);
        expect_taken(&one, 2);
        give_back(&one.lease);
        end_life(&s, pool);
    }
}

/* guarantees: life.L12, life-bugs.K */
TEST(L12_a_reload_reaches_what_is_being_opened_and_who_waits_gets_the_next)
{
    s = (script){.of[CALL_OPEN] = {.hang_from = 1, .hang_to = 1}};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 2);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    reload(pool, 0);
    let_all_go(&s, CALL_OPEN);
    expect_taken(&one, 2);
    expect_equal(s.things[1].closes, 1);
    give_back(&one.lease);
    expect_equal(look(pool).idle, 1);
    end_life(&s, pool);
}

/* On its own thread the take has the object already; it is closed when it comes back. */
/* guarantees: life.L12, life-bugs.K */
TEST(L12_a_reload_reaches_what_is_being_opened_by_a_take)
{
    s = (script){.of[CALL_OPEN] = {.hang_from = 1, .hang_to = 1}};
    cen_pool *pool = begin_life(&s, 0, .max = 2);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    expect_equal(look(pool).opening, 1);
    reload(pool, 0);
    let_all_go(&s, CALL_OPEN);
    expect_taken(&one, 1);
    give_back(&one.lease);
    expect_equal(s.things[1].closes, 1);
    end_life(&s, pool);
}

/* guarantees: life.L12, life-bugs.K */
TEST(L12_a_reload_reaches_what_is_being_tested_and_reset)
{
    s = (script){.of[CALL_TEST] = {.hang_from = 1, .hang_to = 1}, .of[CALL_RESET] = {.hang_from = 1, .hang_to = 1}};
    cen_pool *pool = begin_life(&s, BLOCKS | HAS_TEST | HAS_CHECK | HAS_RESET, .max = 2);
    cen_lease a = take(pool), b = take(pool);
    give_back(&a);
    expect_equal(cen_pool_test_idle(pool, NULL), CEN_OK);
    ceni_world_settle();
    s.things[2].condition = CEN_DIRTY;
    give_back(&b);
    cen_pool_stats n = look(pool);
    expect(n.testing == 1 && n.resetting == 1);
    reload(pool, 0);
    let_all_go(&s, CALL_TEST);
    let_all_go(&s, CALL_RESET);
    expect_equal(look(pool).vacant, 2);
    expect(s.things[1].closes == 1 && s.things[2].closes == 1);
    end_life(&s, pool);
}

/* ---- Spread over a time -------------------------------------------------------------------------- */

/* guarantees: life.L12, life-bugs.G */
TEST(G_a_spread_reload_closes_each_at_its_own_moment_within_the_time)
{
    for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
        s = (script){.opened = 0};
        cen_pool *pool = begin_life(&s, blocks, .max = 40, .max_lifetime_ns = CEN_OFF, .idle_timeout_ns = CEN_OFF);
        warm_up(pool, 40);
        int64_t began = cen_clock();
        reload(pool, 100 * SECOND);
        pass(1);
        expect(look(pool).closed < 10);
        pass(50 * SECOND);
        cen_pool_stats n = look(pool);
        expect(n.closed >= 5 && n.closed <= 35);
        pass(70 * SECOND);
        expect_equal(look(pool).closed, 40);
        for (int i = 1; i <= 40; i++) expect(s.things[i].closed_at - began <= 113 * SECOND);
        end_life(&s, pool);
    }
}

/* guarantees: life.L12, life-bugs.K */
TEST(E2_K_a_spread_reload_reaches_what_is_out_being_opened_tested_and_reset)
{
    s = (script){.of[CALL_TEST] = {.hang_from = 1, .hang_to = 1}, .of[CALL_RESET] = {.hang_from = 1, .hang_to = 1}};
    cen_pool *pool = begin_life(&s, BLOCKS | HAS_TEST | HAS_CHECK | HAS_RESET, .max = 4, .max_lifetime_ns = CEN_OFF,
                                .idle_timeout_ns = CEN_OFF, .test_timeout_ns = CEN_OFF, .open_timeout_ns = CEN_OFF,
                                .test_interval_ns = CEN_OFF);
    cen_lease a = take(pool), b = take(pool), c = take(pool);
    give_back(&a);
    expect_equal(cen_pool_test_idle(pool, NULL), CEN_OK);
    ceni_world_settle();
    s.things[2].condition = CEN_DIRTY;
    give_back(&b);
    s.of[CALL_OPEN].hang_from = 4, s.of[CALL_OPEN].hang_to = 4;
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    cen_pool_stats n = look(pool);
    expect(n.testing == 1 && n.resetting == 1 && n.held == 1 && n.opening == 1);
    reload(pool, 10 * SECOND);
    pass(5 * SECOND);
    let_all_go(&s, CALL_OPEN);
    expect_answer(&one, CEN_OK); /* that one, if its moment comes later, or the next */
    pass(25 * SECOND);
    let_all_go(&s, CALL_TEST);
    let_all_go(&s, CALL_RESET);
    give_back(&c);
    give_back(&one.lease);
    pass(60 * SECOND);
    for (int i = 1; i <= 4; i++)
        if (s.things[i].closes != 1) test_fail(__FILE__, __LINE__, "object %d was not reached", i);
    end_life(&s, pool);
}

/* guarantees: life.L12 */
TEST(a_spread_reload_of_a_pool_without_any_limit_finds_a_runtime_and_leaves_later_objects_alone)
{
    s = (script){.opened = 0};
    cen_pool_options o = CEN_POOL_OPTIONS(.max = 3);
    o.driver = scripted_driver(&s, 0);
    cen_pool *pool = make_from(o);
    warm_up(pool, 2);
    reload(pool, 10 * SECOND);
    pass(12 * SECOND);
    expect_equal(look(pool).closed, 2);
    warm_up(pool, 3);
    pass(1000 * SECOND);
    expect_equal(look(pool).closed, 2);
    free_pool(pool);
    ceni_world_settle();
    expect_equal(s.of[CALL_CLOSE].calls, 5);
}

/* guarantees: life.L12, life-bugs.E10 */
TEST(E10_a_reload_during_an_outage_leaves_a_pool_that_works_when_the_outage_ends)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 2);
    warm_up(pool, 2);
    fail_all(&s, CALL_OPEN);
    reload(pool, 0);
    cen_lease lease;
    expect(cen_pool_take(pool, cen_in_s(5), &lease, NULL) != CEN_OK);
    recover(&s, CALL_OPEN);
    pass(60 * SECOND);
    lease = take(pool);
    expect_equal(number_of(&lease), 3);
    give_back(&lease);
    end_life(&s, pool);
}

/* guarantees: life.L12 */
TEST(a_time_that_is_none_is_refused_and_nothing_is_reloaded)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, 0, .max = 2);
    warm_up(pool, 1);
    cen_error error;
    expect_equal(cen_pool_reload(pool, -1, &error), CEN_INVALID);
    expect_error(&error, CEN_INVALID, "spread_ns");
    expect_equal(cen_pool_reload(pool, INT64_MAX, &error), CEN_INVALID);
    expect_equal(look(pool).idle, 1);
    end_life(&s, pool);
}
