/* SPDX-License-Identifier: MIT */
/* Exact orders while idle objects are tested: a test is no use, and changes no object's place. */
#include "unit/pool/scripted.h"

enum { COUNT = 6 };

static script s;

#define begin_ordered(kind, which, ...) \
    begin_life(&s, HAS_TEST | (kind), .max = COUNT, .order = (which), .idle_timeout_ns = CEN_OFF, \
               .max_lifetime_ns = CEN_OFF, .test_after_idle_ns = CEN_OFF, __VA_ARGS__)

/* Objects 1 to `count` are idle, given in the order of their numbers. */
static void give_all(cen_pool *pool, int count)
{
    cen_lease leases[COUNT];
    for (int i = 0; i < count; i++) leases[i] = take(pool);
    for (int number = 1; number <= count; number++)
        for (int i = 0; i < count; i++)
            if (leases[i].pool && number_of(&leases[i]) == number) give_back(&leases[i]);
    ceni_world_settle();
}

static void expect_lent(cen_pool *pool, const char *numbers)
{
    cen_lease leases[COUNT];
    char lent[COUNT + 1] = "";
    int count = (int)strlen(numbers);
    for (int i = 0; i < count; i++) {
        leases[i] = take_now(pool);
        lent[i] = (char)('0' + number_of(&leases[i]));
    }
    expect_text(lent, numbers);
    for (int i = 0; i < count; i++) give_back(&leases[i]);
}

/* guarantees: life-api.test-order */
TEST(an_exact_order_is_the_same_after_rounds_of_tests)
{
    for (int fifo = 0; fifo < 2; fifo++) {
        for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
            s = (script){.opened = 0};
            cen_pool *pool =
                begin_ordered(blocks, fifo ? CEN_ORDER_FIFO : CEN_ORDER_LIFO, .test_interval_ns = 10 * SECOND);
            give_all(pool, COUNT);
            for (int round = 0; round < 7; round++) pass(4 * SECOND); /* not all are tested in one round */
            cen_pool_stats n = look(pool);
            expect(n.tested >= COUNT && n.idle == COUNT);
            expect_lent(pool, fifo ? "123456" : "654321");
            end_life(&s, pool);
        }
    }
}

/* Of six, two are tested at a time: takes pass these by, and they are in their places afterwards. */
/* guarantees: life-api.test-order */
TEST(what_is_being_tested_is_passed_by_and_has_its_place_afterwards)
{
    for (int fifo = 0; fifo < 2; fifo++) {
        s = (script){.of[CALL_TEST] = {.hang_from = 1, .hang_to = 2}};
        cen_pool *pool = begin_ordered(BLOCKS, fifo ? CEN_ORDER_FIFO : CEN_ORDER_LIFO, .test_interval_ns = CEN_OFF,
                                       .test_timeout_ns = CEN_OFF);
        give_all(pool, COUNT);
        expect_equal(cen_pool_test_idle(pool, NULL), CEN_OK);
        cen_pool_stats n = look(pool);
        expect(n.testing == 2 && n.idle == 4); /* 6 and 5: a round begins at the top */
        cen_lease lease = take_now(pool);
        expect_equal(number_of(&lease), fifo ? 1 : 4);
        let_all_go(&s, CALL_TEST);
        expect_equal(look(pool).idle, 5);
        expect_lent(pool, fifo ? "23456" : "65321");
        give_back(&lease);
        end_life(&s, pool);
    }
}

/* While all that is idle is being tested, one who waits is served by what has passed first, and nobody looks at a list that
 * has nothing idle in it as if it had. */
TEST(one_who_waits_while_all_are_tested_is_served_when_one_has_passed)
{
    s = (script){.of[CALL_TEST] = {.hang_from = 1, .hang_to = 2}};
    cen_pool *pool = begin_ordered(BLOCKS, CEN_ORDER_FIFO, .test_interval_ns = CEN_OFF, .test_timeout_ns = CEN_OFF);
    expect_equal(cen_pool_resize(pool, 2, NULL), CEN_OK);
    give_all(pool, 2);
    expect_equal(cen_pool_test_idle(pool, NULL), CEN_OK);
    expect_equal(look(pool).testing, 2);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    expect_waiting(&one);
    let_go(&s, CALL_TEST, 1);
    expect_taken(&one, 2);
    let_all_go(&s, CALL_TEST);
    give_back(&one.lease);
    expect_lent(pool, "12");
    end_life(&s, pool);
}

/* guarantees: life-api.test-order */
TEST(what_fails_its_test_leaves_the_others_in_their_order)
{
    for (int fifo = 0; fifo < 2; fifo++) {
        for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
            s = (script){.opened = 0};
            cen_pool *pool = begin_ordered(blocks, fifo ? CEN_ORDER_FIFO : CEN_ORDER_LIFO, .test_interval_ns = CEN_OFF);
            give_all(pool, COUNT);
            s.things[3].broken = s.things[5].broken = true;
            expect_equal(cen_pool_test_idle(pool, NULL), CEN_OK);
            pass(SECOND);
            expect_equal(look(pool).idle, 4);
            expect_lent(pool, fifo ? "1246" : "6421");
            end_life(&s, pool);
        }
    }
}
