/* SPDX-License-Identifier: MIT */
/* What was idle for long and must be tested by somebody else than whoever wants it. */
#include "support/pending.h"
#include "unit/pool/clerks.h"

static clerk c;
static script s;

#define TRUSTS \
    .test_after_idle_ns = SECOND, .test_interval_ns = CEN_OFF, .idle_timeout_ns = CEN_OFF, .max_lifetime_ns = CEN_OFF

/* ---- A thread, and a driver that tests later ---------------------------------------------------- */

/* A pool whose only object was idle for long. */
static cen_pool *begin_stale_of(cen_pool_options o)
{
    c = (clerk){.opened = 0};
    cen_pool *pool = begin_clerk_of(&c, TESTS_TOO, o);
    warm_clerk(&c, pool);
    pass(5 * SECOND);
    expect(look(pool).idle == 1 && c.started[CALL_TEST] == 0);
    return pool;
}

#define begin_stale(...) begin_stale_of(CEN_POOL_OPTIONS(__VA_ARGS__))

/* guarantees: later.test-first */
TEST(a_thread_that_finds_what_was_idle_for_long_gets_it_when_its_test_is_done)
{
    cen_pool *pool = begin_stale(.max = 2, TRUSTS);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    expect_waiting(&one);
    cen_pool_stats n = look(pool);
    expect(n.testing == 1 && n.waiting == 1 && c.started[CALL_OPEN] == 1); /* nothing is opened beside it */
    finish(&c, last_of(&c, CALL_TEST), CEN_OK);
    expect_taken(&one, 1);
    expect_equal(look(pool).tested, 1);
    give_back(&one.lease);
    end_clerk(&c, pool);
}

/* guarantees: later.test-first */
TEST(a_thread_whose_object_fails_its_test_later_gets_another)
{
    cen_pool *pool = begin_stale(.max = 1, TRUSTS);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    finish(&c, last_of(&c, CALL_TEST), CEN_DRIVER);
    expect(c.closes[1] == 1 && c.started[CALL_OPEN] == 2);
    expect_waiting(&one);
    finish(&c, last_of(&c, CALL_OPEN), CEN_OK);
    expect_taken(&one, 2);
    give_back(&one.lease);
    end_clerk(&c, pool);
}

/* guarantees: later.test-first */
TEST(L7_a_take_returns_by_its_deadline_while_a_test_hangs)
{
    cen_pool *pool = begin_stale(.max = 1, TRUSTS);
    cen_lease lease;
    int64_t began = cen_clock();
    expect_equal(cen_pool_take(pool, cen_in_ms(100), &lease, NULL), CEN_TIMEOUT);
    expect_equal(cen_clock() - began, 100 * MS);
    finish(&c, last_of(&c, CALL_TEST), CEN_OK);
    lease = take_now(pool);
    give_back(&lease);
    end_clerk(&c, pool);
}

/* guarantees: later.test-first */
TEST(a_take_that_does_not_wait_has_the_object_tested_for_the_next)
{
    cen_pool *pool = begin_stale(.max = 3, TRUSTS);
    for (int i = 0; i < 3; i++) expect_none(pool);
    ceni_world_settle();
    expect(c.started[CALL_TEST] == 1 && c.started[CALL_OPEN] == 1);
    finish(&c, last_of(&c, CALL_TEST), CEN_OK);
    cen_lease lease = take_now(pool);
    expect_equal(number_of(&lease), 1);
    give_back(&lease);
    end_clerk(&c, pool);
}

/* guarantees: later.test-first */
TEST(L3_who_waits_for_a_test_that_takes_too_long_has_another_object_opened)
{
    cen_pool *pool = begin_stale(.max = 2, .test_timeout_ns = SECOND, TRUSTS);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    pass(SECOND - 1);
    expect(c.started[CALL_OPEN] == 1 && c.begun[last_of(&c, CALL_TEST)].cancels == 0);
    pass(1);
    expect(c.started[CALL_OPEN] == 2 && c.begun[last_of(&c, CALL_TEST)].cancels == 1);
    finish(&c, last_of(&c, CALL_OPEN), CEN_OK);
    expect_taken(&one, 2);
    pass(100 * SECOND);
    expect_equal(c.begun[last_of(&c, CALL_TEST)].cancels, 1);
    finish(&c, last_of(&c, CALL_TEST), CEN_OK); /* it works, but too late */
    expect_equal(c.closes[1], 1);
    give_back(&one.lease);
    end_clerk(&c, pool);
}

/* guarantees: later.test-first */
TEST(of_many_objects_that_were_idle_for_long_no_more_are_tested_than_are_wanted)
{
    for (int order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
        c = (clerk){.at_once = AT_ONCE_OPEN};
        cen_pool *pool =
            begin_clerk(&c, TESTS_TOO, .max = 4, .max_concurrent_tests = 4, .order = (cen_order)order, TRUSTS);
        warm_up(pool, 4);
        pass(5 * SECOND);
        taker one, two;
        begin_take(&one, pool, CEN_NEVER);
        expect_equal(c.started[CALL_TEST], 1);
        begin_take(&two, pool, CEN_NEVER);
        expect(c.started[CALL_TEST] == 2 && look(pool).idle == 2);
        c.at_once |= AT_ONCE_TEST;
        finish_all(&c);
        expect_answer(&one, CEN_OK);
        expect_answer(&two, CEN_OK);
        give_back(&one.lease);
        give_back(&two.lease);
        end_clerk(&c, pool);
    }
}

/* guarantees: later.test-first */
TEST(what_need_not_be_tested_is_lent_first)
{
    for (int order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
        c = (clerk){.at_once = AT_ONCE_OPEN};
        cen_pool *pool = begin_clerk(&c, TESTS_TOO, .max = 2, .order = (cen_order)order, TRUSTS);
        cen_lease one = take(pool), two = take(pool);
        give_back(&one);
        pass(5 * SECOND);
        give_back(&two);
        one = take_now(pool);
        expect(number_of(&one) == 2 && c.started[CALL_TEST] == 0);
        expect_none(pool);
        ceni_world_settle();
        finish(&c, last_of(&c, CALL_TEST), CEN_OK);
        two = take_now(pool);
        expect_equal(number_of(&two), 1);
        give_back(&one);
        give_back(&two);
        end_clerk(&c, pool);
    }
}

/* guarantees: later.test-first */
TEST(L3_tests_that_nobody_waits_for_keep_nothing_from_being_opened)
{
    c = (clerk){.at_once = AT_ONCE_OPEN};
    cen_pool *pool = begin_clerk(&c, TESTS_TOO, .max = 3, .test_interval_ns = SECOND, .test_after_idle_ns = CEN_OFF,
                                 .idle_timeout_ns = CEN_OFF, .max_lifetime_ns = CEN_OFF);
    warm_up(pool, 1);
    pass(2 * SECOND);
    expect_equal(c.started[CALL_TEST], 1);
    cen_lease one = take(pool); /* the first is being tested */
    expect_equal(number_of(&one), 2);
    finish(&c, last_of(&c, CALL_TEST), CEN_OK);
    cen_lease two = take(pool), three = take(pool);
    expect(number_of(&two) == 1 && number_of(&three) == 3);
    give_back(&one);
    give_back(&two);
    give_back(&three);
    end_clerk(&c, pool);
}

/* guarantees: later.test-first */
TEST(L3_tests_that_hang_keep_no_other_object_from_being_tested)
{
    c = (clerk){.at_once = AT_ONCE_OPEN};
    cen_pool *pool = begin_clerk(&c, TESTS_TOO, .max = 3, .max_concurrent_tests = 1, .test_timeout_ns = SECOND, TRUSTS);
    warm_up(pool, 3);
    pass(5 * SECOND);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    for (unsigned tests = 1; tests <= 2; tests++) {
        unsigned hangs = last_of(&c, CALL_TEST);
        expect_equal(c.started[CALL_TEST], tests);
        pass(SECOND);
        expect_equal(c.begun[hangs].cancels, 1);
        expect_waiting(&one);
    }
    expect_equal(c.started[CALL_TEST], 3);
    finish(&c, last_of(&c, CALL_TEST), CEN_OK);
    expect_answer(&one, CEN_OK);
    give_back(&one.lease);
    end_clerk(&c, pool);
}

/* guarantees: later.test-first */
TEST(what_was_tested_for_one_who_waited_is_trusted_no_longer_than_before)
{
    c = (clerk){.at_once = AT_ONCE_OPEN | AT_ONCE_TEST};
    cen_pool *pool = begin_clerk(&c, TESTS_TOO, .max = 1, .test_timeout_ns = CEN_OFF, TRUSTS);
    warm_up(pool, 1);
    for (unsigned tests = 1; tests <= 3; tests++) {
        pass(100 * SECOND);
        cen_lease lease = take(pool);
        expect_equal(c.started[CALL_TEST], tests);
        give_back(&lease);
    }
    end_clerk(&c, pool);
}

/* guarantees: later.test-first */
TEST(L4_those_who_wait_for_a_test_keep_their_order)
{
    cen_pool *pool = begin_stale(.max = 1, TRUSTS);
    taker one, two;
    begin_take(&one, pool, CEN_NEVER);
    begin_take(&two, pool, CEN_NEVER);
    finish(&c, last_of(&c, CALL_TEST), CEN_OK);
    expect_taken(&one, 1);
    expect_waiting(&two);
    give_back(&one.lease);
    expect_taken(&two, 1);
    give_back(&two.lease);
    end_clerk(&c, pool);
}

/* guarantees: later.test-first */
TEST(L15_what_is_tested_for_one_who_waits_is_closed_with_the_pool)
{
    cen_pool *pool = begin_stale(.max = 1, TRUSTS);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    expect_equal(cen_pool_close(pool, cen_in_ms(1), NULL, NULL), CEN_TIMEOUT);
    expect_answer(&one, CEN_CLOSED);
    expect_equal(c.begun[last_of(&c, CALL_TEST)].cancels, 1);
    finish(&c, last_of(&c, CALL_TEST), CEN_OK);
    expect_equal(c.closes[1], 1);
    end_clerk(&c, pool);
}

/* ---- One who is no thread, and any driver ----------------------------------------------------------- */

typedef struct asker {
    ceni_pool_waiter waiter;
    int told;
    cen_status status;
} asker;

static void tell(ceni_pool_waiter *waiter, cen_status status)
{
    asker *one = (asker *)(void *)waiter;
    ceni_rank_expect_none("a delivery");
    one->told++;
    one->status = status;
}

static void ask(asker *one, cen_pool *pool)
{
    *one = (asker){.waiter = {.pending = true, .holder = 77, .where = "asked", .deliver = tell}};
    expect_equal(join_pending(pool, &one->waiter), CEN_OK);
    ceni_world_settle();
}

static void expect_got(asker *one, cen_pool *pool, int number)
{
    ceni_world_settle();
    expect(one->told == 1 && one->status == CEN_OK && one->waiter.slot);
    cen_lease lease = {.object = one->waiter.slot->object,
                       .pool = pool,
                       .generation = one->waiter.generation,
                       .slot = one->waiter.slot};
    expect_equal(number_of(&lease), number);
    expect(!one->waiter.stale);
    give_back(&lease);
}

/* guarantees: later.test-first */
TEST(one_who_is_pending_is_granted_nothing_that_must_be_tested_first)
{
    for (int blocks = 0; blocks < 2; blocks++) {
        s = (script){.opened = 0};
        cen_pool *pool = begin_life(&s, HAS_TEST | (blocks ? BLOCKS : 0), .max = 3, TRUSTS);
        warm_up(pool, 3);
        pass(5 * SECOND);
        asker one;
        s.things[1].broken = s.things[2].broken = true;
        ask(&one, pool);
        expect_got(&one, pool, 3);
        expect(s.of[CALL_TEST].calls == 3 && s.things[1].closes == 1 && s.things[2].closes == 1);
        cen_pool_stats n = look(pool);
        expect(n.idle == 1 + (n.opened > 3) && n.tested == 3 && n.test_failed == 2);
        end_life(&s, pool);
    }
}

/* guarantees: later.test-first */
TEST(one_who_is_pending_gets_what_is_tested_later_when_that_is_done)
{
    cen_pool *pool = begin_stale(.max = 1, TRUSTS);
    asker one;
    ask(&one, pool);
    expect(one.told == 0 && look(pool).testing == 1);
    finish(&c, last_of(&c, CALL_TEST), CEN_OK);
    expect_got(&one, pool, 1);
    end_clerk(&c, pool);
}

static uintptr_t lowest, highest; /* where the stacks of tests began */

static cen_status measure_test(void *argument, void *object, cen_error *error)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (here < lowest) lowest = here;
    if (here > highest) highest = here;
    return scripted_test(argument, object, error);
}

/* One after the other, and not each inside the one before. */
/* guarantees: later.test-first */
TEST(one_who_is_pending_gets_a_new_object_when_all_the_others_fail_their_tests)
{
    s = (script){.opened = 0};
    enum { MANY = 60 };
    lowest = UINTPTR_MAX;
    highest = 0;
    cen_driver driver = scripted_driver(&s, HAS_TEST);
    s.calls.test = measure_test;
    s.runtime = make_runtime(.idle_timeout_ns = CEN_OFF);
    cen_pool *pool = make_pool(.driver = driver, .runtime = s.runtime, .max = MANY, TRUSTS);
    warm_up(pool, MANY);
    pass(5 * SECOND);
    for (int i = 1; i <= MANY; i++) s.things[i].broken = true;
    asker one;
    ask(&one, pool);
    expect_got(&one, pool, MANY + 1);
    expect_equal(look(pool).test_failed, MANY);
    expect(highest - lowest < 1000);
    end_life(&s, pool);
}

/* ---- Several who come to wait before anything may be tested ------------------------------------ */

TEST(L3_when_a_pool_goes_on_as_many_are_tested_as_wait)
{
    for (int order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
        c = (clerk){.at_once = AT_ONCE_OPEN};
        cen_pool *pool =
            begin_clerk(&c, TESTS_TOO, .max = 4, .max_concurrent_tests = 1, .order = (cen_order)order, TRUSTS);
        warm_up(pool, 4);
        pass(5 * SECOND);
        expect_equal(cen_pool_pause(pool, NULL), CEN_OK);
        taker one, two, three;
        begin_take(&one, pool, CEN_NEVER);
        begin_take(&two, pool, CEN_NEVER);
        begin_take(&three, pool, CEN_NEVER);
        expect(c.started[CALL_TEST] == 0 && look(pool).waiting == 3);
        expect_equal(cen_pool_resume(pool, NULL), CEN_OK);
        ceni_world_settle();
        /* the first may hang: the others do not wait for it */
        expect(c.started[CALL_TEST] == 3 && look(pool).idle == 1);
        finish_all(&c);
        expect_answer(&one, CEN_OK);
        expect_answer(&two, CEN_OK);
        expect_answer(&three, CEN_OK);
        give_back(&one.lease);
        give_back(&two.lease);
        give_back(&three.lease);
        end_clerk(&c, pool);
    }
}

TEST(L16_a_limit_for_tests_that_is_set_while_one_hangs_is_kept)
{
    cen_pool *pool = begin_stale(.max = 1, .test_timeout_ns = CEN_OFF, TRUSTS);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    pass(10 * SECOND);
    expect_equal(c.begun[last_of(&c, CALL_TEST)].cancels, 0);
    cen_pool_options o = {.size = sizeof o};
    expect_equal(cen_pool_options_get(pool, &o), CEN_OK);
    o.test_timeout_ns = SECOND;
    expect_equal(cen_pool_options_set(pool, &o, NULL), CEN_OK);
    pass(10 * SECOND);
    expect_equal(c.begun[last_of(&c, CALL_TEST)].cancels, 1);
    finish(&c, last_of(&c, CALL_TEST), CEN_OK);
    finish(&c, last_of(&c, CALL_OPEN), CEN_OK);
    expect_answer(&one, CEN_OK);
    give_back(&one.lease);
    end_clerk(&c, pool);
}

/* ---- No helper is left for a test -------------------------------------------------------------------- */

TEST(L3_one_who_is_pending_has_another_object_opened_when_no_helper_is_left_for_a_test)
{
    s = (script){.of[CALL_TEST] = {.hang_from = 1, .hang_to = 1}};
    cen_pool *pool =
        begin_life(&s, HAS_TEST | BLOCKS, .max = 4, .max_concurrent_tests = 1, .test_timeout_ns = SECOND, TRUSTS);
    warm_up(pool, 2);
    pass(5 * SECOND);
    asker one, two;
    ask(&one, pool);
    expect(one.told == 0 && s.of[CALL_TEST].in_flight == 1);
    pass(SECOND); /* what hangs has a helper for itself */
    expect_got(&one, pool, 3);
    pass(5 * SECOND);
    cen_lease lease = take(pool); /* a thread tests what it takes by itself */
    ask(&two, pool);
    pass(SECOND);
    expect_got(&two, pool, 4);
    expect_equal(s.of[CALL_TEST].in_flight, 1);
    give_back(&lease);
    end_life(&s, pool);
}
