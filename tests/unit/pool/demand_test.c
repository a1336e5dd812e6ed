/* SPDX-License-Identifier: MIT */
/* Who asks for objects: tries, the minimum, larger limits, the program itself; and drivers that have few functions. */
#include "unit/pool/scripted.h"

static script s;

/* ---- Tries ----------------------------------------------------------------------------------- */

/* guarantees: life.L10 */
TEST(a_try_that_finds_nothing_lets_one_be_opened_for_whoever_comes_next)
{
    s = (script){.of[CALL_OPEN].takes_ns = SECOND};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 4, .min_idle = 0);
    int64_t began = cen_clock();
    for (int i = 0; i < 5; i++) expect_none(pool); /* one is enough for all */
    expect_equal(cen_clock(), began);
    pass(SECOND);
    expect(s.of[CALL_OPEN].calls == 1);
    cen_lease lease = take_now(pool);
    give_back(&lease);
    pass(60 * SECOND);
    expect_equal(s.of[CALL_OPEN].calls, 1);
    end_life(&s, pool);
}

/* The bug this looks for: a round of the housekeeper computes how many are missing, and forgets the wish. */
TEST(what_a_try_wished_for_is_opened_although_a_round_of_the_housekeeper_ends_before)
{
    s = (script){.of[CALL_OPEN] = {.hang_from = 1, .hang_to = 1}};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 4, .max_concurrent_opens = 1, .open_timeout_ns = CEN_OFF,
                                .max_idle = 3); /* a round each second */
    taker waits;
    begin_take(&waits, pool, CEN_NEVER);
    expect_none(pool);
    pass(10 * SECOND);
    expect_equal(s.of[CALL_OPEN].calls, 1);
    let_all_go(&s, CALL_OPEN);
    expect_answer(&waits, CEN_OK);
    ceni_world_settle();
    expect_equal(s.of[CALL_OPEN].calls, 2);
    give_back(&waits.lease);
    end_life(&s, pool);
}

/* guarantees: life.L10 */
TEST(L10_a_try_of_a_pool_that_is_full_wishes_for_nothing_that_would_be_opened_later_for_nobody)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 1);
    cen_lease held = take(pool);
    expect_none(pool);
    expect_equal(cen_pool_discard(&held), CEN_OK);
    look(pool);
    pass(SECOND);
    expect_equal(s.of[CALL_OPEN].calls, 1);
    end_life(&s, pool);
}

/* guarantees: life.L10 */
TEST(a_try_during_an_outage_fails_once_and_does_not_keep_the_pool_trying)
{
    s = (script){.opened = 0};
    fail_all(&s, CALL_OPEN);
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 4);
    expect_none(pool);
    pass(600 * SECOND);
    expect_equal(s.of[CALL_OPEN].calls, 1);
    end_life(&s, pool);
}

/* ---- Limits that become larger ------------------------------------------------------------------ */

/* guarantees: life.L3, life.L16 */
TEST(L16_L3_more_openers_begin_at_once_what_could_not_begin_before)
{
    s = (script){.of[CALL_OPEN] = {.hang_from = 1, .hang_to = 99}};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 8, .max_concurrent_opens = 1, .open_timeout_ns = CEN_OFF);
    taker takers[4];
    for (int i = 0; i < 4; i++) begin_take(&takers[i], pool, CEN_NEVER);
    expect_equal(s.of[CALL_OPEN].in_flight, 1);
    cen_pool_options o = CEN_SIZED(cen_pool_options);
    expect_equal(cen_pool_options_get(pool, &o), CEN_OK);
    o.max_concurrent_opens = 3;
    expect_equal(cen_pool_options_set(pool, &o, NULL), CEN_OK);
    ceni_world_settle();
    expect_equal(s.of[CALL_OPEN].in_flight, 3);
    let_all_go(&s, CALL_OPEN);
    for (int i = 0; i < 4; i++) expect_answer(&takers[i], CEN_OK);
    for (int i = 0; i < 4; i++) give_back(&takers[i].lease);
    end_life(&s, pool);
}

/* guarantees: life.L16 */
TEST(L16_a_minimum_that_is_raised_is_opened_at_once)
{
    for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
        s = (script){.opened = 0};
        cen_pool *pool = begin_life(&s, blocks, .max = 8);
        cen_pool_options o = CEN_SIZED(cen_pool_options);
        expect_equal(cen_pool_options_get(pool, &o), CEN_OK);
        o.min_idle = 5;
        expect_equal(cen_pool_options_set(pool, &o, NULL), CEN_OK);
        pass(1);
        expect_equal(look(pool).idle, 5);
        end_life(&s, pool);
    }
}

/* ---- What the program puts in ---------------------------------------------------------------------- */

static void adopt(cen_pool *pool, int number)
{
    s.things[number] = (thing){.open = true};
    expect_equal(cen_pool_adopt(pool, object_of(number), NULL), CEN_OK);
}

/* guarantees: life-api.where */
TEST(what_was_adopted_is_tested_ages_and_is_closed_like_any_other)
{
    s = (script){.opened = 0};
    cen_pool *pool =
        begin_life(&s, BLOCKS | HAS_TEST, .max = 4, .max_lifetime_ns = 100 * SECOND, .idle_timeout_ns = CEN_OFF);
    adopt(pool, 51);
    adopt(pool, 52);
    pass(80 * SECOND);
    expect(s.things[51].tests >= 1 && s.things[52].tests >= 1);
    pass(60 * SECOND);
    expect(s.things[51].closes == 1 && s.things[52].closes == 1);
    cen_pool_stats n = look(pool);
    expect(n.adopted == 2 && n.closed == 2 && n.opened == 0);
    end_life(&s, pool);
}

/* guarantees: life.L3 */
TEST(L3_an_adopted_object_serves_who_waits_for_an_opening_that_hangs)
{
    s = (script){.of[CALL_OPEN] = {.hang_from = 1, .hang_to = 1}};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 4, .open_timeout_ns = CEN_OFF);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    adopt(pool, 51);
    expect_taken(&one, 51);
    give_back(&one.lease);
    end_life(&s, pool);
}

/* guarantees: life-api.where */
TEST(a_driver_that_blocks_and_opens_nothing_holds_what_it_is_given_and_who_waits_waits_for_that)
{
    s = (script){.opened = 0};
    cen_runtime *runtime = make_runtime(.idle_timeout_ns = CEN_OFF);
    cen_pool_options o = CEN_POOL_OPTIONS(.max = 2, .runtime = runtime);
    o.driver = scripted_driver(&s, BLOCKS | HAS_CHECK | HAS_RESET | HAS_TEST);
    s.calls.open = NULL;
    s.calls.opens_nothing = true;
    s.own_runtime = true;
    cen_pool *pool = make_from(o);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    expect_waiting(&one);
    adopt(pool, 60);
    expect_taken(&one, 60);
    s.things[60].condition = CEN_DIRTY;
    give_back(&one.lease);
    expect(look(pool).reset == 1);
    cen_lease lease = take_now(pool);
    expect_equal(cen_pool_discard(&lease), CEN_OK);
    look(pool);
    expect_equal(s.things[60].closes, 1);
    end_life(&s, pool);
    free_runtime(runtime);
}

/* guarantees: life-api.where */
TEST(a_driver_that_blocks_and_has_no_close_lets_go_of_its_objects_all_the_same)
{
    s = (script){.opened = 0};
    cen_runtime *runtime = make_runtime(.idle_timeout_ns = CEN_OFF);
    cen_pool_options o = CEN_POOL_OPTIONS(.max = 2, .runtime = runtime);
    o.driver = scripted_driver(&s, BLOCKS);
    s.calls.close = NULL;
    s.calls.closes_nothing = true;
    s.own_runtime = true;
    cen_pool *pool = make_from(o);
    cen_lease a = take(pool), b = take(pool);
    expect_equal(cen_pool_discard(&a), CEN_OK);
    give_back(&b);
    look(pool);
    cen_pool_stats n = look(pool);
    expect(n.closed == 1 && n.idle == 1);
    for (int i = 1; i <= 2; i++) s.things[i].closes = 1; /* nobody was told */
    end_life(&s, pool);
    free_runtime(runtime);
}
