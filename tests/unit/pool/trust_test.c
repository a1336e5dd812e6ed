/* SPDX-License-Identifier: MIT */
/* What was idle for longer than it is trusted is tested before it is lent: on the taker's thread, or, if the driver blocks
 * and the take has a deadline, by a helper (checkup_test.c). */
#include "unit/pool/scripted.h"

static script s;

#define trusting(blocks, ...) \
    begin_life(&s, HAS_TEST | (blocks), .test_interval_ns = CEN_OFF, .idle_timeout_ns = CEN_OFF, \
               .max_lifetime_ns = CEN_OFF, __VA_ARGS__)

/* guarantees: life-api.test-take, life-bugs.H */
TEST(H_what_was_used_recently_is_lent_without_a_test)
{
    s = (script){.opened = 0};
    cen_pool *pool = trusting(BLOCKS, .max = 2);
    for (int i = 0; i < 100; i++) {
        cen_lease lease = take(pool);
        pass(700 * MS); /* however long it is used */
        give_back(&lease);
        pass(400 * MS);
    }
    expect(s.of[CALL_TEST].calls == 0 && s.opened == 1);
    end_life(&s, pool);
}

/* guarantees: life-api.test-take, life-bugs.H */
TEST(H_what_was_idle_for_longer_than_it_is_trusted_is_tested_by_the_take_and_then_lent)
{
    for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
        for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
            s = (script){.opened = 0};
            cen_pool *pool = trusting(blocks, .max = 2, .order = order);
            warm_up(pool, 1);
            for (unsigned i = 1; i <= 4; i++) { /* rounds go on after a time of calm */
                pass((i % 2 ? 1 : 1000) * SECOND);
                cen_lease lease = take(pool);
                expect_equal(s.of[CALL_TEST].calls, i);
                expect((s.of[CALL_TEST].thread == cen_thread_number()) == !blocks);
                give_back(&lease);
                lease = take(pool); /* now it is known to work */
                expect_equal(s.of[CALL_TEST].calls, i);
                give_back(&lease);
            }
            cen_pool_stats n = look(pool);
            expect(n.tested == 4 && n.test_failed == 0 && s.opened == 1);
            end_life(&s, pool);
        }
    }
}

/* guarantees: life-api.test-take */
TEST(with_trust_off_nothing_is_tested_before_it_is_lent)
{
    s = (script){.opened = 0};
    cen_pool *pool = trusting(BLOCKS, .max = 2, .test_after_idle_ns = CEN_OFF);
    warm_up(pool, 1);
    pass(1000 * SECOND);
    cen_lease lease = take(pool);
    expect_equal(s.of[CALL_TEST].calls, 0);
    give_back(&lease);
    end_life(&s, pool);
}

/* guarantees: life-api.test-take, life-bugs.failover */
TEST(what_fails_when_it_is_to_be_lent_is_closed_and_the_take_goes_on_with_another)
{
    for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
        s = (script){.opened = 0};
        cen_pool *pool = trusting(blocks, .max = 3);
        warm_up(pool, 3);
        s.things[1].broken = s.things[3].broken = true; /* the third is the one this thread had last */
        pass(10 * SECOND);
        cen_lease lease = take(pool);
        expect_equal(number_of(&lease), 2);
        cen_pool_stats n = look(pool);
        expect(n.tested == 3 && n.test_failed == 2 && n.closed == 2 && n.held == 1);
        give_back(&lease);
        end_life(&s, pool);
    }
}

/* ---- One that is found broken ------------------------------------------------------------------- */

/* The server is killed: whoever used a connection has a failure, and nobody else. */
/* guarantees: life-bugs.failover */
TEST(D_when_one_comes_back_broken_the_idle_ones_are_tested_before_they_are_lent_although_they_were_just_used)
{
    for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
        for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
            s = (script){.opened = 0};
            cen_pool *pool = trusting(blocks | HAS_CHECK, .max = 4, .order = order);
            warm_up(pool, 4);
            cen_lease lease = take(pool);
            int number = number_of(&lease);
            for (int i = 1; i <= 4; i++) s.things[i].broken = true;
            s.things[number].condition = CEN_BROKEN;
            give_back(&lease);
            ceni_world_settle();
            expect_equal(s.of[CALL_TEST].calls, 0); /* only when they are wanted */
            lease = take(pool);
            expect_equal(number_of(&lease), 5);
            cen_pool_stats n = look(pool);
            expect(n.tested == 3 && n.test_failed == 3 && n.closed == 4);
            give_back(&lease);
            lease = take(pool); /* and what is new is trusted */
            expect_equal(s.of[CALL_TEST].calls, 3);
            give_back(&lease);
            end_life(&s, pool);
        }
    }
}

/* guarantees: life-bugs.failover */
TEST(one_that_is_broken_shakes_trust_once_in_the_time_of_trust_and_not_at_all_if_that_is_off)
{
    static const struct {
        int64_t trust, between;
        unsigned tests; /* of one that works, after two were broken so long apart */
    } cases[] = {{2 * SECOND, 100 * MS, 1}, {2 * SECOND, 2 * SECOND, 2}, {CEN_OFF, 100 * MS, 0}};
    for (unsigned i = 0; i < 3; i++) {
        s = (script){.opened = 0};
        cen_pool *pool = trusting(HAS_CHECK, .max = 4, .test_after_idle_ns = cases[i].trust);
        cen_lease sound = take(pool);
        for (int times = 0; times < 2; times++) {
            cen_lease lease = take(pool);
            s.things[number_of(&lease)].condition = CEN_BROKEN;
            give_back(&sound);
            give_back(&lease);
            ceni_world_settle();
            sound = take(pool);
            pass(cases[i].between);
        }
        expect_equal(s.of[CALL_TEST].calls, cases[i].tests);
        give_back(&sound);
        end_life(&s, pool);
    }
}

/* The server was restarted: every object is dead, and one take finds its way to a new one. */
/* guarantees: life-bugs.D, life-bugs.failover */
TEST(D_when_all_idle_objects_are_dead_a_take_closes_them_and_opens_another)
{
    for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
        s = (script){.opened = 0};
        cen_pool *pool = trusting(blocks, .max = 3);
        warm_up(pool, 3);
        for (int i = 1; i <= 3; i++) s.things[i].broken = true;
        pass(10 * SECOND);
        cen_lease lease = take(pool);
        expect_equal(number_of(&lease), 4);
        expect_equal(look(pool).closed, 3);
        give_back(&lease);
        end_life(&s, pool);
    }
}

/* guarantees: life.L7 */
TEST(L7_a_take_that_tests_on_its_own_thread_ends_one_test_after_its_deadline_at_most)
{
    s = (script){.of[CALL_TEST].takes_ns = 5 * SECOND};
    cen_pool *pool = trusting(0, .max = 3);
    warm_up(pool, 3);
    for (int i = 1; i <= 3; i++) s.things[i].broken = true;
    pass(10 * SECOND);
    int64_t began = cen_clock();
    cen_lease lease;
    expect_equal(cen_pool_take(pool, cen_in_s(1), &lease, NULL), CEN_TIMEOUT);
    expect(cen_clock() - began >= SECOND);
    expect(cen_clock() - began <= 6 * SECOND);
    expect_equal(s.of[CALL_TEST].calls, 1); /* the second would have begun after the deadline */
    end_life(&s, pool);
}

TEST(L18_a_take_whose_time_went_into_a_failing_health_check_says_which_and_how_long)
{
    for (unsigned broken = 1; broken <= 2; broken++) {
        s = (script){.of[CALL_TEST] = {.takes_ns = 200 * MS,
                                       .fail_from = 1,
                                       .fail_to = 9,
                                       .failure = CEN_SYSTEM,
                                       .code = 104,
                                       .text = "connection reset"}};
        cen_pool *pool = trusting(BLOCKS, .name = "orders", .max = 2);
        warm_up(pool, broken);
        pass(10 * SECOND);
        s.of[CALL_OPEN].hang_from = 1, s.of[CALL_OPEN].hang_to = 99;
        cen_lease lease;
        cen_error error;
        expect_equal(cen_pool_take(pool, cen_in_ms(300 * broken), &lease, &error), CEN_TIMEOUT);
        const char *words =
            broken == 1 ? "pool \"orders\": no object after 300 ms. Health check: object 0 failed its test after "
                          "200 ms: connection reset. max is 2: "
                        : "pool \"orders\": no object after 600 ms. Health check: 2 objects failed their tests in "
                          "400 ms, the last was object ";
        expect_because(&error, CEN_CAUSE_HEALTH_CHECK);
        expect_error(&error, CEN_TIMEOUT, words);
        expect_error(&error, CEN_TIMEOUT, " after 200 ms: connection reset. max is 2: ");
        /* With time left it goes on, and what it waits for then is named as well. */
        expect_equal(cen_pool_take(pool, cen_in_s(2), &lease, &error), CEN_TIMEOUT);
        expect_because(&error, CEN_CAUSE_OPENING_SLOW);
        expect_error(&error, CEN_TIMEOUT, "no object after 2000 ms. Opening is slow: ");
        let_all_go(&s, CALL_OPEN);
        end_life(&s, pool);
    }
}

TEST(L18_a_take_that_waited_after_a_failed_health_check_counts_its_whole_time_and_names_both)
{
    s = (script){.of[CALL_TEST] = {.takes_ns = 300 * MS, .fail_from = 1, .fail_to = 9}};
    cen_pool *pool = trusting(BLOCKS, .max = 1);
    warm_up(pool, 1);
    pass(10 * SECOND);
    s.of[CALL_OPEN].hang_from = 1, s.of[CALL_OPEN].hang_to = 99;
    cen_lease lease;
    cen_error error;
    expect_equal(cen_pool_take(pool, cen_in_s(2), &lease, &error), CEN_TIMEOUT);
    expect_error(&error, CEN_TIMEOUT, "no object after 2000 ms. Health check: object 0 failed its test after 300 ms: ");
    expect_because(&error, CEN_CAUSE_OPENING_SLOW);
    expect_error(&error, CEN_TIMEOUT, ". Opening is slow: 1 in progress. ");
    let_all_go(&s, CALL_OPEN);
    end_life(&s, pool);
}

/* guarantees: life.L7 */
TEST(L7_a_deadline_counts_from_the_call_and_not_from_a_test_that_failed)
{
    for (int absolute = 0; absolute < 2; absolute++) {
        s = (script){.of[CALL_TEST].takes_ns = 2 * SECOND};
        cen_pool *pool = trusting(BLOCKS, .max = 1);
        warm_up(pool, 1);
        s.things[1].broken = true;
        pass(10 * SECOND);
        s.of[CALL_OPEN].hang_from = 2, s.of[CALL_OPEN].hang_to = 99;
        int64_t began = cen_clock();
        cen_lease lease;
        cen_deadline deadline = absolute ? cen_at(began + 3 * SECOND) : cen_in_s(3);
        expect_equal(cen_pool_take(pool, deadline, &lease, NULL), CEN_TIMEOUT);
        expect_equal(cen_clock() - began, 3 * SECOND);
        end_life(&s, pool);
    }
}

/* It waited first, and what it got at last failed. */
/* guarantees: life.L7 */
TEST(L7_a_take_that_waited_and_then_got_what_failed_keeps_its_deadline)
{
    s = (script){.opened = 0};
    cen_pool *pool = trusting(BLOCKS, .max = 1);
    warm_up(pool, 1);
    s.things[1].broken = true;
    pass(10 * SECOND); /* it is marked */
    expect_equal(cen_pool_pause(pool, NULL), CEN_OK);
    taker one;
    begin_take(&one, pool, cen_in_s(3));
    pass(2 * SECOND);
    s.of[CALL_OPEN].hang_from = 2, s.of[CALL_OPEN].hang_to = 99;
    expect_equal(cen_pool_resume(pool, NULL), CEN_OK);
    expect_waiting(&one);
    expect(s.of[CALL_TEST].calls == 1 && s.things[1].closes == 1);
    pass(SECOND);
    expect_answer(&one, CEN_TIMEOUT);
    end_life(&s, pool);
}

/* guarantees: life-api.test-take */
TEST(a_try_goes_on_with_another_when_a_test_fails_and_answers_empty_when_none_is_left)
{
    s = (script){.opened = 0};
    cen_pool *pool = trusting(BLOCKS, .max = 2);
    warm_up(pool, 2);
    s.things[1].broken = true;
    pass(10 * SECOND);
    cen_lease lease = take_now(pool);
    expect_equal(number_of(&lease), 2);
    s.things[2].broken = true;
    give_back(&lease);
    pass(10 * SECOND);
    expect_none(pool);
    cen_pool_stats n = look(pool);
    expect(n.closed == 2 && n.held == 0);
    end_life(&s, pool);
}

/* guarantees: life.L2 */
TEST(L2_what_is_tested_by_a_take_is_held_and_counts_and_others_are_served_meanwhile)
{
    s = (script){.of[CALL_TEST] = {.hang_from = 1, .hang_to = 1}};
    cen_pool *pool = trusting(BLOCKS, .max = 2);
    warm_up(pool, 2);
    pass(10 * SECOND);
    taker slow;
    begin_take(&slow, pool, CEN_NEVER);
    expect_equal(s.of[CALL_TEST].in_flight, 1);
    cen_lease lease = take(pool); /* tested, too, and at once */
    cen_pool_stats n = look(pool);
    expect(n.held == 2 && n.idle == 0);
    expect_equal(cen_pool_adopt(pool, object_of(150), NULL), CEN_FULL);
    let_all_go(&s, CALL_TEST);
    expect_answer(&slow, CEN_OK);
    expect(slow.lease.object != lease.object);
    give_back(&lease);
    give_back(&slow.lease);
    end_life(&s, pool);
}
