/* SPDX-License-Identifier: MIT */
/* How long objects live: idle minimum and maximum, idle time, age, uses, reaping. */
#include "unit/pool/scripted.h"

static script s;

/* ---- So many idle ---------------------------------------------------------------------------- */

/* guarantees: life-api.limits */
TEST(as_many_as_the_minimum_are_opened_at_once_and_kept_idle)
{
    for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
        s = (script){.opened = 0};
        cen_pool *pool = begin_life(&s, blocks, .max = 8, .min_idle = 3);
        pass(1);
        expect_equal(look(pool).idle, 3);
        cen_lease leases[8];
        for (int i = 0; i < 2; i++) leases[i] = take(pool);
        pass(2 * SECOND); /* a round comes every second */
        cen_pool_stats n = look(pool);
        expect(n.idle == 3 && n.held == 2);
        for (int i = 2; i < 8; i++) leases[i] = take(pool);
        pass(5 * SECOND);
        n = look(pool);
        expect(n.idle == 0 && n.held == 8); /* max allows no more */
        for (int i = 0; i < 8; i++) give_back(&leases[i]);
        pass(5 * SECOND);
        expect_equal(look(pool).idle, 8);
        expect_equal(s.opened, 8);
        end_life(&s, pool);
    }
}

/* guarantees: life-api.limits */
TEST(one_that_is_missing_from_the_minimum_is_replaced_at_once_when_it_was_closed)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 5, .min_idle = 2);
    pass(1);
    cen_lease lease = take(pool);
    pass(2 * SECOND);
    expect_equal(look(pool).idle, 2);
    expect_equal(cen_pool_reap(pool, 0, NULL, NULL), CEN_OK);
    pass(1);
    expect_equal(look(pool).idle, 2);
    expect_equal(s.opened, 5);
    give_back(&lease);
    end_life(&s, pool);
}

/* The bug this looks for: each failure leaves a wish behind, and after the outage there are more than were wanted. */
/* guarantees: life-bugs.G */
TEST(G_after_an_outage_the_minimum_is_restored_and_not_exceeded)
{
    s = (script){.opened = 0};
    fail_all(&s, CALL_OPEN);
    cen_pool *pool =
        begin_life(&s, BLOCKS, .max = 20, .min_idle = 3, .backoff_initial_ns = 100 * MS, .backoff_max_ns = SECOND);
    pass(120 * SECOND);
    expect(s.of[CALL_OPEN].calls > 20 && s.of[CALL_OPEN].calls < 2000);
    recover(&s, CALL_OPEN);
    pass(20 * SECOND);
    cen_pool_stats n = look(pool);
    expect(n.idle == 3 && n.opened == 3 && n.breaker == CEN_BREAKER_CLOSED);
    end_life(&s, pool);
}

/* The bug this looks for: the next opening for the minimum waits for the next regular round, a second later. */
/* guarantees: life-api.limits */
TEST(G_a_failed_opening_for_the_minimum_is_tried_again_when_the_back_off_says)
{
    for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
        s = (script){.of[CALL_OPEN] = {.fail_from = 1, .fail_to = 5}};
        cen_pool *pool = begin_life(&s, blocks, .max = 4, .min_idle = 2, .backoff_initial_ns = 5 * MS,
                                    .backoff_max_ns = 10 * MS, .breaker_failures = CEN_OFF);
        pass(100 * MS); /* five failures, each with a back-off of 10 ms at most */
        cen_pool_stats n = look(pool);
        expect(n.open_failed == 5 && n.idle == 2);
        end_life(&s, pool);
    }
}

TEST(a_failed_opening_for_the_minimum_is_tried_again_after_a_second_without_back_off)
{
    for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
        s = (script){.of[CALL_OPEN] = {.fail_from = 1, .fail_to = 2}};
        cen_pool *pool =
            begin_life(&s, blocks, .max = 4, .max_concurrent_opens = 1, .min_idle = 1, .backoff_initial_ns = CEN_OFF);
        pass(900 * MS);
        expect_equal(look(pool).open_failed, 1);
        pass(2 * SECOND);
        cen_pool_stats n = look(pool);
        expect(n.open_failed == 2 && n.idle == 1);
        end_life(&s, pool);
    }
}

/* guarantees: life-api.limits */
TEST(no_more_than_the_maximum_stay_idle)
{
    for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
        s = (script){.opened = 0};
        cen_pool *pool = begin_life(&s, blocks, .max = 8, .max_idle = 2);
        warm_up(pool, 6);
        pass(2 * SECOND);
        cen_pool_stats n = look(pool);
        expect(n.idle == 2 && n.closed == 4 && n.expired == 4);
        pass(100 * SECOND);
        expect_equal(look(pool).idle, 2);
        end_life(&s, pool);
    }
}

/* ---- Idle for too long --------------------------------------------------------------------------- */

/* guarantees: life-bugs.I-idle */
TEST(I_what_was_idle_for_too_long_is_closed_and_not_before_though_nobody_takes_anything)
{
    for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
        s = (script){.opened = 0};
        cen_pool *pool = begin_life(&s, blocks, .max = 4, .idle_timeout_ns = 100 * SECOND, .max_lifetime_ns = CEN_OFF);
        warm_up(pool, 3);
        pass(100 * SECOND - 1);
        expect_equal(look(pool).idle, 3);
        pass(51 * SECOND); /* ages are noticed a quarter of the limit late at most, and so is the limit */
        cen_pool_stats n = look(pool);
        expect(n.idle == 0 && n.closed == 3 && n.expired == 3);
        end_life(&s, pool);
    }
}

/* guarantees: life-api.limits, life-bugs.I-idle */
TEST(what_is_idle_for_long_is_kept_down_to_the_minimum)
{
    s = (script){.opened = 0};
    cen_pool *pool =
        begin_life(&s, BLOCKS, .max = 6, .idle_timeout_ns = 100 * SECOND, .max_lifetime_ns = CEN_OFF, .min_idle = 2);
    warm_up(pool, 5);
    pass(1000 * SECOND);
    cen_pool_stats n = look(pool);
    expect(n.idle == 2 && n.closed == 3 && n.opened == 5); /* and none is closed and made anew in turn */
    end_life(&s, pool);
}

/* guarantees: life-api.limits, life-bugs.I-idle */
TEST(what_is_used_now_and_then_is_never_idle_for_too_long)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 4, .idle_timeout_ns = 100 * SECOND, .max_lifetime_ns = CEN_OFF);
    for (int i = 0; i < 30; i++) {
        cen_lease lease = take(pool);
        give_back(&lease);
        pass(60 * SECOND);
    }
    expect_equal(s.opened, 1);
    end_life(&s, pool);
}

/* ---- Reaped --------------------------------------------------------------------------------------- */

static uint32_t reap(cen_pool *pool, int64_t idle_timeout_ns)
{
    uint32_t closed = 99;
    expect_equal(cen_pool_reap(pool, idle_timeout_ns, &closed, NULL), CEN_OK);
    return closed;
}

#define begin_unlimited(blocks, ...) \
    begin_life(&s, (blocks), .idle_timeout_ns = CEN_OFF, .max_lifetime_ns = CEN_OFF, __VA_ARGS__)

/* guarantees: life-api.limits */
TEST(reap_closes_what_has_been_idle_and_says_how_many)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_unlimited(BLOCKS, .max = 4, .exact_times = true);
    warm_up(pool, 3);
    pass(10 * SECOND - 1);
    expect_equal(reap(pool, 10 * SECOND), 0);
    cen_lease lease = take(pool);
    give_back(&lease); /* one was used since */
    pass(1);
    expect_equal(reap(pool, 10 * SECOND), 2);
    lease = take(pool);
    expect_equal(reap(pool, 0), 0); /* what is out stays out */
    give_back(&lease);
    expect_equal(cen_pool_reap(pool, 0, NULL, NULL), CEN_OK);
    expect_equal(look(pool).vacant, 4);
    cen_error error;
    uint32_t closed;
    expect_equal(cen_pool_reap(pool, -1, &closed, &error), CEN_INVALID);
    expect_error(&error, CEN_INVALID, "idle_ns");
    end_life(&s, pool);
}

/* With exact times, and without for what was never lent: nobody need have looked before. */
/* guarantees: life-api.limits */
TEST(the_first_reap_closes_what_is_known_to_have_been_idle_for_long_enough)
{
    for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
        s = (script){.opened = 0};
        cen_pool *pool = begin_unlimited(blocks, .max = 4, .exact_times = true);
        warm_up(pool, 3);
        pass(400 * MS);
        expect_equal(reap(pool, 400 * MS + 1), 0);
        expect_equal(reap(pool, 200 * MS), 3);
        end_life(&s, pool);
        s = (script){.opened = 0};
        pool = begin_unlimited(blocks, .max = 4, .min_idle = 2);
        pass(400 * MS);
        expect_equal(look(pool).idle, 2);
        expect_equal(reap(pool, 401 * MS), 0);
        expect_equal(reap(pool, 399 * MS), 2);
        end_life(&s, pool);
    }
}

/* The bug this looks for: ages count from the reap's own look, and the first reap closes nothing, ever. */
/* guarantees: life-api.limits */
TEST(what_nobody_looked_at_before_a_reap_is_closed_in_time_unless_it_is_lent)
{
    for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
        s = (script){.opened = 0};
        cen_pool *pool = begin_unlimited(blocks, .max = 4);
        warm_up(pool, 3);
        warm_up(pool, 3); /* again: what is lent by the quick path has no time */
        pass(400 * MS);
        uint32_t at_once = reap(pool, 200 * MS);
        pass(100 * MS);
        cen_lease lease = take(pool); /* one is used */
        give_back(&lease);
        pass(99 * MS);
        expect_equal(look(pool).closed, at_once);
        pass(2 * MS);
        cen_pool_stats n = look(pool);
        expect(n.idle == 1 && n.closed == 2);
        pass(3600 * SECOND); /* and what became idle after the reap stays */
        expect_equal(look(pool).idle, 1);
        end_life(&s, pool);
    }
}

TEST(reaps_again_and_again_close_each_object_in_its_own_time)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_unlimited(0, .max = 1);
    warm_up(pool, 1);
    for (int i = 0; i < 20; i++) { /* each reap prolongs what is left of the one before it */
        expect_equal(reap(pool, SECOND), 0);
        pass(300 * MS);
        if (i % 3 == 2) warm_up(pool, 1);
    }
    expect_equal(s.opened, 1);
    expect_equal(reap(pool, SECOND), 0);
    pass(500 * MS);
    expect_equal(reap(pool, 2 * SECOND), 0); /* another, with another time, prolongs nothing */
    pass(500 * MS);
    expect_equal(look(pool).vacant, 1);
    end_life(&s, pool);
}

TEST(of_more_reaps_than_are_remembered_none_closes_too_early)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_unlimited(0, .max = 1);
    warm_up(pool, 1);
    warm_up(pool, 1);
    for (int i = 1; i <= 6; i++) expect_equal(reap(pool, (20 - i) * SECOND), 0);
    pass(15 * SECOND);
    warm_up(pool, 1);
    pass(14 * SECOND - 1);
    expect_equal(s.opened, 1);
    pass(3600 * SECOND);
    expect_equal(look(pool).idle, 1);
    end_life(&s, pool);
}

/* ---- Too old --------------------------------------------------------------------------------------- */

/* guarantees: life-bugs.G */
TEST(G_each_object_lives_between_ninety_and_a_hundred_percent_of_its_time_and_not_all_end_together)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 40, .idle_timeout_ns = CEN_OFF, .max_lifetime_ns = 1000 * SECOND);
    warm_up(pool, 40);
    pass(900 * SECOND - 1);
    expect_equal(look(pool).closed, 0);
    pass(300 * SECOND); /* a round comes every 30 seconds */
    expect_equal(look(pool).closed, 40);
    int64_t first = INT64_MAX, last = 0;
    for (int i = 1; i <= 40; i++) {
        int64_t lived = s.things[i].closed_at - s.things[i].opened_at;
        expect(lived >= 900 * SECOND && lived <= 1031 * SECOND);
        if (lived < first) first = lived;
        if (lived > last) last = lived;
    }
    expect(last - first > 30 * SECOND);
    end_life(&s, pool);
}

/* The bug this looks for: ends are noticed in rounds only, an eighth of a life apart, and the jitter is a tenth of it. */
/* guarantees: life-api.limits */
TEST(G_what_was_opened_together_ends_at_many_moments_however_short_its_life)
{
    static const int64_t lives[] = {100 * MS, SECOND, 60 * SECOND, 240 * SECOND};
    for (int which = 0; which < 4; which++) {
        for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
            s = (script){.opened = 0};
            int64_t life = lives[which], last = 0;
            cen_pool *pool = begin_life(&s, blocks, .max = 20, .idle_timeout_ns = CEN_OFF, .max_lifetime_ns = life);
            warm_up(pool, 20);
            int moments = 0;
            for (int step = 0; step < 120; step++) {
                pass(life / 100);
                uint64_t closed = look(pool).closed;
                moments += closed != (uint64_t)last;
                last = (int64_t)closed;
            }
            expect_equal(last, 20);
            expect(moments >= 6); /* of the ten steps that the jitter takes up */
            for (int i = 1; i <= 20; i++) {
                int64_t lived = s.things[i].closed_at - s.things[i].opened_at;
                expect(lived >= life / 10 * 9 && lived <= life + life / 100 + MS);
            }
            end_life(&s, pool);
        }
    }
}

TEST(objects_that_are_out_and_in_are_each_closed_in_their_own_time)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 20, .idle_timeout_ns = CEN_OFF, .max_lifetime_ns = 60 * SECOND);
    cen_lease leases[20];
    for (int i = 0; i < 20; i++) leases[i] = take(pool);
    uint64_t last = 0;
    int moments = 0;
    for (int step = 0; step < 120; step++) {
        pass(600 * MS);
        for (int i = 0; i < 20; i++) {
            give_back(&leases[i]);
            leases[i] = take(pool);
        }
        uint64_t closed = look(pool).closed;
        moments += closed != last;
        last = closed;
    }
    expect(last >= 20 && moments >= 6);
    for (int i = 0; i < 20; i++) give_back(&leases[i]);
    end_life(&s, pool);
}

/* guarantees: life-api.limits */
TEST(the_jitter_of_a_life_is_a_setting_and_can_be_none)
{
    static const uint32_t jitters[] = {CEN_NO_JITTER, 100};
    for (int which = 0; which < 2; which++) {
        s = (script){.opened = 0};
        cen_pool *pool =
            begin_life(&s, 0, .max = 40, .max_lifetime_ns = 800 * SECOND, .lifetime_jitter = jitters[which]);
        warm_up(pool, 40);
        pass(400 * SECOND);
        cen_pool_stats n = look(pool);
        if (which == 0) expect_equal(n.closed, 0);
        else expect(n.closed >= 5 && n.closed <= 35);
        pass(400 * SECOND - 1);
        if (which == 0) expect_equal(look(pool).closed, 0);
        pass(31 * SECOND);
        expect_equal(look(pool).closed, 40);
        end_life(&s, pool);
    }
}

/* guarantees: life-api.limits */
TEST(what_is_out_when_it_gets_too_old_is_closed_when_it_comes_back_and_its_give_is_ok)
{
    for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
        s = (script){.opened = 0};
        cen_pool *pool = begin_life(&s, blocks, .max = 1, .max_lifetime_ns = 100 * SECOND);
        cen_lease lease = take(pool);
        pass(1000 * SECOND);
        expect_equal(look(pool).held, 1);
        taker one;
        begin_take(&one, pool, CEN_NEVER);
        give_back(&lease);
        expect_taken(&one, 2);
        expect_equal(s.things[1].closes, 1);
        give_back(&one.lease);
        end_life(&s, pool);
    }
}

/* guarantees: life-api.limits */
TEST(the_default_life_is_thirty_minutes_for_a_driver_that_blocks_and_has_no_end_for_one_that_does_not)
{
    for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
        s = (script){.opened = 0};
        cen_pool *pool = begin_life(&s, blocks, .max = 1, .idle_timeout_ns = CEN_OFF);
        warm_up(pool, 1);
        pass(27 * 60 * SECOND - 1);
        expect_equal(look(pool).closed, 0);
        pass(3 * 60 * SECOND + 60 * SECOND);
        expect_equal(look(pool).closed, blocks);
        end_life(&s, pool);
    }
}

/* ---- Used so often --------------------------------------------------------------------------------- */

/* guarantees: life-api.limits */
TEST(an_object_is_lent_exactly_as_often_as_it_may_be_used)
{
    static const unsigned kinds[] = {0, BLOCKS, HAS_CHECK, HAS_CHECK | BLOCKS};
    for (int64_t uses = 1; uses <= 4; uses += 3) {
        for (int kind = 0; kind < 4; kind++) {
            s = (script){.opened = 0};
            cen_pool *pool = begin_life(&s, kinds[kind], .max = 1, .max_uses = uses);
            for (int object = 1; object <= 3; object++) {
                for (int64_t use = 1; use <= uses; use++) {
                    cen_lease lease = take(pool);
                    expect_equal(number_of(&lease), object);
                    give_back(&lease);
                }
                look(pool);
                expect_equal(s.things[object].closes, 1);
            }
            end_life(&s, pool);
        }
    }
}
