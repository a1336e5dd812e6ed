/* SPDX-License-Identifier: MIT */
/* Round robin in the two cheap ways; strategy_strict_test.c has the third beside them. */
#include "unit/router/strategies.h"

/* ---- Each thread by itself ----------------------------------------------------------------- */

TEST(a_thread_goes_round)
{
    begin_with(cen_strategy_round_robin(), 10);
    unsigned last = peek();
    for (int i = 0; i < 1000; i++) {
        unsigned now = i % 2 ? peek() : use();
        expect_equal(now, (last + 1) % 10);
        last = now;
    }
    end_router();
}

TEST(a_single_member_has_every_turn)
{
    begin_with(cen_strategy_round_robin(), 1);
    for (int i = 0; i < 100; i++) expect_equal(peek(), 0);
    end_router();
}

/* Routers that were made and forgotten in between must not matter, so all pairs of several are tried. */
/* guarantees: router.counter */
TEST(two_routers_that_a_thread_uses_alternately_both_go_round)
{
    enum { ROUTERS = 9, SIDE = 7 };
    cen_router *routers[ROUTERS];
    make_runtime();
    for (int i = 0; i < ROUTERS; i++) {
        routers[i] = make_router(cen_strategy_round_robin());
        for (unsigned k = 0; k < SIDE; k++) add_to(routers[i], k, 0);
    }
    for (int one = 0; one < ROUTERS; one++) {
        for (int two = 0; two < one; two++) {
            unsigned at_one = peek_from(routers[one], NULL), at_two = peek_from(routers[two], NULL);
            for (unsigned i = 1; i < 3 * SIDE; i++) {
                expect_equal(peek_from(routers[one], NULL), (at_one + i) % SIDE);
                expect_equal(peek_from(routers[two], NULL), (at_two + i) % SIDE);
            }
        }
    }
    for (int i = 0; i < ROUTERS; i++) expect_equal(cen_router_free(routers[i]), CEN_OK);
    cen_runtime_poll(runtime);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
}

TEST(four_routers_that_a_thread_uses_in_turn_all_go_round)
{
    enum { ROUTERS = 4, SIDE = 5, BEFORE = 7, APART = 2 };
    cen_router *routers[BEFORE + ROUTERS];
    unsigned last[ROUTERS];
    make_runtime();
    for (int i = 0; i < BEFORE + ROUTERS; i++) {
        routers[i] = make_router(cen_strategy_round_robin());
        for (unsigned k = 0; k < SIDE; k++) add_to(routers[i], k, 0);
        peek_from(routers[i], NULL);
    }
    for (int i = 0; i < ROUTERS; i++) last[i] = peek_from(routers[APART * i], NULL);
    for (int turn = 0; turn < 100; turn++) {
        for (int i = 0; i < ROUTERS; i++) {
            unsigned now = peek_from(routers[APART * i], NULL);
            expect_equal(now, (last[i] + 1) % SIDE);
            last[i] = now;
        }
    }
    for (int i = 0; i < BEFORE + ROUTERS; i++) expect_equal(cen_router_free(routers[i]), CEN_OK);
    cen_runtime_poll(runtime);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
}

static void first_pick(void *argument)
{
    *(unsigned *)argument = peek();
}

/* 40 threads that began at the same place: 10^-39. */
TEST(threads_do_not_begin_in_step)
{
    begin_with(cen_strategy_round_robin(), 10);
    bool differ = false;
    unsigned first = peek();
    for (int i = 0; i < 40; i++) {
        ceni_thread thread;
        unsigned number = 0;
        start_thread(&thread, first_pick, &number);
        ceni_thread_join(&thread);
        differ |= number != first;
    }
    expect(differ);
    end_router();
}

/* ---- One counter for all --------------------------------------------------------------------- */

static cen_strategy shared_from(const uint64_t *first)
{
    cen_strategy strategy = cen_strategy_shared_round_robin();
    strategy.argument = first;
    return strategy;
}

TEST(a_shared_counter_begins_where_it_is_told)
{
    uint64_t first = 23;
    begin_with(shared_from(&first), 10);
    for (unsigned i = 0; i < 100; i++) expect_equal(peek(), (23 + i) % 10);
    end_router();
}

/* 2^64 is 6 more than a multiple of 10: the turn goes from 5 to 0, once, and then round as before. */
/* guarantees: router.counter */
TEST(a_shared_counter_that_wraps_picks_members_and_goes_on)
{
    uint64_t first = UINT64_MAX - 17;
    begin_with(shared_from(&first), 10);
    for (uint64_t i = 0; i < 200; i++) expect_equal(peek(), (first + i) % 10);
    end_router();
}

enum { SHARERS = 4, SHARE = 25000 };
static uint64_t shares[SHARERS][10];

static void pick_a_share(void *argument)
{
    for (int i = 0; i < SHARE; i++) ((uint64_t *)argument)[peek()]++;
}

/* guarantees: router.counter */
TEST(threads_that_share_a_counter_have_each_turn_once_also_when_it_wraps)
{
    ceni_thread threads[SHARERS];
    uint64_t first = UINT64_MAX - SHARERS * SHARE / 2, expected[10] = {0};
    begin_with(shared_from(&first), 10);
    for (int i = 0; i < SHARERS; i++) start_thread(&threads[i], pick_a_share, shares[i]);
    for (int i = 0; i < SHARERS; i++) ceni_thread_join(&threads[i]);
    for (uint64_t i = 0; i < SHARERS * SHARE; i++) expected[(first + i) % 10]++;
    for (int k = 0; k < 10; k++) {
        uint64_t sum = 0;
        for (int i = 0; i < SHARERS; i++) sum += shares[i][k];
        expect_equal(sum, expected[k]);
    }
    end_router();
}
