/* SPDX-License-Identifier: MIT */
/*
 * What the asynchronous pool does that this one learned from: every behaviour
 * of its operations, of its factory and of its edges as a test, as far as it is
 * kept here or bettered, and each defect that can be seen in it by reading as a
 * test that shows that it is not here. In virtual time.
 *
 * Its words are: take and giveBack, softEvict (here reload), createTimeout
 * (open_timeout_ns), validate (check), maxIdle (idle_timeout_ns), maxObjectTtl (max_lifetime_ns),
 * minIdleObjects (min_idle), maxQueueSize (max_waiters).
 */
#include "unit/pool/askers.h"
#include "unit/pool/scripted.h"

static script s;
static cen_pool *pool;

#define life(kind, ...) (s = (script){.opened = 0}, pool = begin_life(&s, kind, __VA_ARGS__))

/* ---- Operations -------------------------------------------------------------------------------- */

/* guarantees: async.original */
TEST(take_answers_a_future_that_is_done_when_the_factory_has_made_the_object)
{
    life(BLOCKS, .max = 1);
    s.of[CALL_OPEN].takes_ns = 3 * MS;
    asker one;
    ask(&one, pool, cen_in_s(1));
    expect_pending(&one);
    pass(3 * MS);
    expect_lent(&one, 1);
    give_asked(&one);
    end_life(&s, pool);
}

/* guarantees: async.original */
TEST(take_of_a_closed_pool_is_told_by_its_future_like_every_other_end)
{
    life(BLOCKS, .max = 1);
    asker one;
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_OK);
    ask(&one, pool, cen_in_s(1)); /* there it is thrown, and not told */
    expect_told(&one, CEN_CLOSED);
    end_life(&s, pool);
}

/* guarantees: async.original */
TEST(give_back_hands_the_object_to_the_first_that_waits_or_makes_it_idle)
{
    life(BLOCKS | HAS_CHECK, .max = 1);
    asker one, two;
    ask(&one, pool, cen_in_s(1));
    ceni_world_settle();
    ask(&two, pool, cen_in_s(1));
    give_asked(&one);
    expect_lent(&two, 1);
    give_asked(&two);
    expect(look(pool).idle == 1 && s.of[CALL_CHECK].calls == 2); /* it is validated each time */
    end_life(&s, pool);
}

/* guarantees: async.original */
TEST(give_back_of_what_is_not_in_use_or_not_of_this_pool_is_told_and_changes_nothing)
{
    life(BLOCKS, .max = 1);
    asker one;
    ask(&one, pool, cen_in_s(1));
    ceni_world_settle();
    cen_lease copy = one.take.lease, foreign = copy;
    give_asked(&one);
    expect_equal(cen_pool_give(&copy), CEN_STALE); /* already returned */
    foreign.slot = &foreign;
    expect_equal(cen_pool_give(&foreign), CEN_FOREIGN); /* not from this pool */
    expect(look(pool).idle == 1);
    end_life(&s, pool);
}

/* guarantees: async.original */
TEST(give_back_of_what_does_not_validate_ends_it_and_another_is_made_for_who_waits)
{
    life(BLOCKS | HAS_CHECK, .max = 1);
    asker one, two;
    ask(&one, pool, cen_in_s(1));
    ceni_world_settle();
    ask(&two, pool, cen_in_s(1));
    s.things[1].condition = CEN_BROKEN;
    give_asked(&one);
    ceni_world_settle();
    expect_lent(&two, 2);
    expect_equal(s.things[1].closes, 1);
    give_asked(&two);
    end_life(&s, pool);
}

static void use_and_give(asker *self)
{
    if (self->take.future.status == CEN_OK) give_asked(self);
}

/* guarantees: async.original */
TEST(use_takes_uses_and_gives_back_for_all_who_come)
{
    life(BLOCKS, .max = 2);
    asker all[8];
    for (int i = 0; i < 8; i++) {
        ready(&all[i], cen_inline());
        all[i].then = use_and_give;
        expect_equal(cen_pool_take_async(pool, cen_in_s(1), &all[i].take), CEN_OK);
    }
    ceni_world_settle();
    for (int i = 0; i < 8; i++) expect_told(&all[i], CEN_OK);
    expect(look(pool).held == 0);
    end_life(&s, pool);
}

/* guarantees: async.original */
TEST(soft_evict_ends_what_is_idle_now_and_what_is_in_use_when_it_comes_back)
{
    life(BLOCKS, .max = 2);
    asker one;
    warm_up(pool, 2);
    ask(&one, pool, cen_in_s(1));
    expect_equal(cen_pool_reload(pool, 0, NULL), CEN_OK);
    cen_pool_stats n = look(pool);
    expect(n.idle == 0 && n.held == 1 && n.closed == 1);
    give_asked(&one);
    expect_equal(look(pool).closed, 2);
    end_life(&s, pool);
}

/* guarantees: async.original */
TEST(close_fails_those_who_wait_awaits_those_who_hold_and_can_be_called_twice)
{
    life(BLOCKS, .max = 1);
    asker one, two;
    ask(&one, pool, cen_in_s(1));
    ceni_world_settle();
    ask(&two, pool, cen_in_s(1));
    cen_close_report report = CEN_SIZED(cen_close_report);
    expect_equal(cen_pool_close(pool, CEN_NOW, &report, NULL), CEN_TIMEOUT);
    expect_told(&two, CEN_CLOSED);
    expect(report.waiting == 1 && report.revoked == 1);
    expect_equal(s.things[1].closes, 0); /* there it is destroyed under its holder */
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_CLOSED);
    expect_equal(cen_pool_give(&one.take.lease), CEN_REVOKED);
    ceni_world_settle();
    expect_equal(s.things[1].closes, 1);
    end_life(&s, pool);
}

/* guarantees: async.original */
TEST(a_maintenance_round_tests_what_is_idle_a_few_at_a_time_and_leaves_the_rest_to_be_taken)
{
    life(BLOCKS | HAS_TEST, .max = 6, .max_concurrent_tests = 1);
    asker one;
    warm_up(pool, 6);
    s.of[CALL_TEST].takes_ns = 5 * MS;
    expect_equal(cen_pool_test_idle(pool, NULL), CEN_OK);
    pass(1 * MS);
    expect(look(pool).idle >= 5); /* there all leave at once */
    ask(&one, pool, CEN_NOW);
    if (!one.told) pass(1 * MS);
    expect_equal(one.told, 1);
    if (one.take.future.status == CEN_OK) give_asked(&one);
    pass(100 * MS);
    expect(s.of[CALL_TEST].calls >= 5 && s.of[CALL_TEST].most == 1);
    end_life(&s, pool);
}

/* guarantees: async.original */
TEST(the_numbers_of_idle_used_and_waiting_are_told)
{
    life(BLOCKS, .max = 2);
    asker one, two, three;
    warm_up(pool, 2);
    ask(&one, pool, cen_in_s(1));
    cen_pool_stats n = look(pool);
    expect(n.idle == 1 && n.held == 1 && n.waiting == 0);
    ask(&two, pool, cen_in_s(1));
    ask(&three, pool, cen_in_s(1));
    n = look(pool);
    expect(n.idle == 0 && n.held == 2 && n.waiting == 1);
    expect(cen_future_cancel(&three.take.future));
    give_asked(&one);
    give_asked(&two);
    end_life(&s, pool);
}

/* ---- Edges ------------------------------------------------------------------------------------------- */

/* guarantees: async.original */
TEST(a_take_gets_what_is_idle_else_something_new_else_it_queues_else_it_is_refused)
{
    life(BLOCKS, .max = 2, .max_waiters = 1);
    asker one, two, three, four;
    warm_up(pool, 1);
    ask(&one, pool, cen_in_s(9));
    expect_lent(&one, 1);
    ask(&two, pool, cen_in_s(9));
    ceni_world_settle();
    expect_lent(&two, 2);
    ask(&three, pool, cen_in_s(9));
    expect_pending(&three);
    ask(&four, pool, cen_in_s(9));
    expect_told(&four, CEN_FULL);
    give_asked(&one);
    give_asked(&two);
    give_asked(&three);
    end_life(&s, pool);
}

/* guarantees: async.original */
TEST(what_is_idle_is_lent_oldest_first_on_request)
{
    life(BLOCKS, .max = 3, .order = CEN_ORDER_FIFO);
    asker one;
    warm_up(pool, 3);
    for (int turn = 0; turn < 6; turn++) {
        ask(&one, pool, CEN_NOW);
        expect_lent(&one, turn % 3 + 1);
        give_asked(&one);
    }
    end_life(&s, pool);
}

/* guarantees: async.original */
TEST(what_is_being_made_tested_and_in_use_all_counts_against_the_maximum)
{
    life(BLOCKS | HAS_TEST, .max = 3, .max_concurrent_tests = 3, .max_concurrent_opens = 3);
    asker all[6];
    warm_up(pool, 2);
    s.of[CALL_TEST].hang_from = 1, s.of[CALL_TEST].hang_to = 99;
    s.of[CALL_OPEN].hang_from = 1, s.of[CALL_OPEN].hang_to = 99;
    expect_equal(cen_pool_test_idle(pool, NULL), CEN_OK);
    ceni_world_settle();
    for (int i = 0; i < 6; i++) ask(&all[i], pool, cen_in_s(9));
    cen_pool_stats n = look(pool);
    expect_equal(n.testing, 2);
    expect_equal(n.opening, 1);
    expect_equal(n.vacant + 3, n.places);
    let_all_go(&s, CALL_TEST);
    let_all_go(&s, CALL_OPEN);
    for (int i = 0; i < 6; i++) {
        ceni_world_settle();
        expect_told(&all[i], CEN_OK);
        give_asked(&all[i]);
    }
    expect_equal(look(pool).opened, 3);
    end_life(&s, pool);
}

/* guarantees: async.original */
TEST(a_take_that_waits_ends_at_its_own_deadline_and_not_at_the_next_round)
{
    life(BLOCKS, .max = 1, .idle_timeout_ns = 3600 * SECOND);
    asker one, two;
    ask(&one, pool, cen_in_s(1));
    ceni_world_settle();
    int64_t now = cen_clock();
    ask(&two, pool, cen_in_ms(7));
    pass_until(now + 7 * MS);
    expect_told(&two, CEN_TIMEOUT);
    expect_equal(two.at, now + 7 * MS);
    give_asked(&one);
    end_life(&s, pool);
}

/* guarantees: async.original */
TEST(what_is_too_old_ends_when_it_is_given_back_and_is_not_lent_again)
{
    life(BLOCKS, .max = 1, .max_lifetime_ns = 100 * MS, .lifetime_jitter = CEN_NO_JITTER);
    asker one, two;
    ask(&one, pool, cen_in_s(1));
    pass(200 * MS);
    ask(&two, pool, cen_in_s(1));
    give_asked(&one); /* there it is handed on */
    ceni_world_settle();
    expect_lent(&two, 2);
    give_asked(&two);
    end_life(&s, pool);
}

/* guarantees: async.original */
TEST(an_object_that_is_held_for_long_is_reported_as_leaked)
{
    life(BLOCKS, .max = 1, .leak_after_ns = 20 * MS);
    asker one;
    ask(&one, pool, cen_in_s(1));
    pass(100 * MS);
    expect_equal(look(pool).leaked, 1); /* there when the garbage collector finds it */
    give_asked(&one);
    end_life(&s, pool);
}

/* guarantees: async.original */
TEST(a_minimum_of_idle_objects_is_kept_while_others_are_in_use)
{
    life(BLOCKS, .max = 3, .min_idle = 1);
    asker one, two;
    pass(2 * SECOND);
    expect(look(pool).idle == 1);
    ask(&one, pool, CEN_NOW);
    pass(2 * SECOND);
    expect(look(pool).idle == 1);
    ask(&two, pool, CEN_NOW);
    pass(2 * SECOND);
    expect(look(pool).idle == 1);
    give_asked(&one);
    give_asked(&two);
    end_life(&s, pool);
}

/* ---- Defects that are not here ---------------------------------------------------------------------------- */

/* guarantees: async.original-defects */
TEST(defect_1_a_cancelled_take_never_receives_an_object_and_none_is_lost)
{
    life(BLOCKS, .max = 1);
    s.of[CALL_OPEN].takes_ns = 3 * MS;
    asker one, two;
    ask(&one, pool, cen_in_s(1));
    pass(1 * MS);
    expect(cen_future_cancel(&one.take.future)); /* while it is made for it */
    pass(9 * MS);
    cen_pool_stats n = look(pool);
    expect(one.told == 0 && n.idle == 1 && n.held == 0);
    ask(&two, pool, cen_in_ms(2));
    expect_lent(&two, 1);
    ask(&one, pool, cen_in_ms(2));
    pass(2 * MS); /* one that has timed out, likewise */
    expect_told(&one, CEN_TIMEOUT);
    give_asked(&two);
    n = look(pool);
    expect(n.idle == 1 && n.held == 0);
    end_life(&s, pool);
}

/* guarantees: async.original-defects */
TEST(defect_2_nothing_is_made_after_a_close_even_with_a_minimum_of_idle_ones)
{
    life(BLOCKS, .max = 4, .min_idle = 3);
    asker one;
    pass(2 * SECOND);
    ask(&one, pool, CEN_NOW);
    unsigned made = s.of[CALL_OPEN].calls;
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_TIMEOUT);
    expect_equal(cen_pool_give(&one.take.lease), CEN_REVOKED);
    pass(60 * SECOND);
    expect(s.of[CALL_OPEN].calls <= made + 1); /* one may have been asked for by the take before */
    made = s.of[CALL_OPEN].calls;
    pass(600 * SECOND);
    expect_equal(s.of[CALL_OPEN].calls, made);
    end_life(&s, pool);
}

/* guarantees: async.original-defects */
TEST(defect_3_an_evict_reaches_what_is_being_made_for_nobody)
{
    life(BLOCKS, .max = 2, .min_idle = 1);
    s.of[CALL_OPEN].hang_from = s.of[CALL_OPEN].hang_to = 1;
    pass(1 * SECOND);
    expect(look(pool).opening == 1);
    expect_equal(cen_pool_reload(pool, 0, NULL), CEN_OK);
    let_go(&s, CALL_OPEN, 1);
    pass(2 * SECOND);
    expect_equal(s.things[1].closes, 1); /* what was made before the reload */
    expect(look(pool).idle == 1 && s.things[2].open);
    end_life(&s, pool);
}

/* guarantees: async.original-defects */
TEST(defect_4_an_object_that_is_made_too_late_never_makes_one_too_many)
{
    life(BLOCKS, .max = 1, .open_timeout_ns = 10 * MS, .backoff_initial_ns = CEN_OFF);
    s.of[CALL_OPEN].hang_from = s.of[CALL_OPEN].hang_to = 1;
    asker one, two;
    ask(&one, pool, cen_in_ms(20));
    pass(50 * MS);
    expect_told(&one, CEN_DRIVER); /* the opening's time has passed before its own */
    ask(&two, pool, cen_in_s(9));
    ceni_world_settle();
    cen_pool_stats n = look(pool);
    expect(n.opening == 1 && n.places - n.vacant == 1); /* its place is taken until the call returns */
    let_go(&s, CALL_OPEN, 1);
    ceni_world_settle();
    expect_told(&two, CEN_OK);
    n = look(pool);
    expect(n.places - n.vacant == 1 && s.opened == 1);
    give_asked(&two);
    end_life(&s, pool);
}

/* guarantees: async.original-defects */
TEST(defect_5_what_could_not_be_made_is_tried_again_later_and_not_at_once)
{
    life(BLOCKS, .max = 1, .backoff_initial_ns = 100 * MS, .breaker_failures = CEN_OFF);
    fail_all(&s, CALL_OPEN);
    asker one;
    ask(&one, pool, cen_in_s(30));
    pass(30 * SECOND);
    expect(s.of[CALL_OPEN].calls >= 2 && s.of[CALL_OPEN].calls < 500); /* some 320, one in a hundred ms at last */
    expect_equal(one.told, 1);
    recover(&s, CALL_OPEN);
    ask(&one, pool, cen_in_s(90));
    pass(60 * SECOND);
    expect_told(&one, CEN_OK);
    give_asked(&one);
    end_life(&s, pool);
}

static void take_and_give_often(void *argument)
{
    (void)argument;
    asker one;
    for (int i = 0; i < 2; i++) {
        ready(&one, cen_inline());
        one.then = use_and_give;
        expect_equal(cen_pool_take_async(pool, CEN_NEVER, &one.take), CEN_OK);
    }
}

/* guarantees: async.original-defects */
EXPLORE(defect_6_the_numbers_agree_whatever_others_do_meanwhile, 3)
{
    ceni_world_without_hooks();
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 2), 2);
    ceni_thread other = start("other", take_and_give_often, NULL);
    cen_pool_stats n = CEN_SIZED(cen_pool_stats);
    expect_equal(cen_pool_stats_get(pool, &n), CEN_OK);
    expect_equal(n.idle + n.held + n.moving + n.vacant, n.places);
    expect(n.taken - n.ended >= n.held && n.taken - n.ended <= n.held + n.moving);
    expect(n.held <= 1 && n.waited == 0);
    join(other);
    free_pool(pool);
}

/* guarantees: async.original-defects */
TEST(defect_7_what_is_idle_for_long_is_ended_down_to_the_minimum_and_not_made_again_and_again)
{
    life(BLOCKS, .max = 4, .min_idle = 2, .idle_timeout_ns = 10 * SECOND);
    warm_up(pool, 4);
    pass(30 * SECOND);
    expect(look(pool).idle == 2);
    unsigned made = s.of[CALL_OPEN].calls, ended = s.of[CALL_CLOSE].calls;
    expect(made == 4 && ended == 2);
    pass(600 * SECOND);
    expect(look(pool).idle == 2);
    expect(s.of[CALL_OPEN].calls == made && s.of[CALL_CLOSE].calls == ended);
    end_life(&s, pool);
}
