/* SPDX-License-Identifier: MIT */
/*
 * Random picks: each member alike. Verdicts are by chi-square, with a false alarm in 1e9
 * runs (strategies.h); the same verdict is shown to find a small bias.
 */
#include "unit/router/strategies.h"

/* guarantees: router.random */
TEST(every_member_is_picked_alike)
{
    seed_thread();
    begin_with(cen_strategy_random(), 10);
    pick_many(1000 * 1000);
    expect_shares(picked, NULL, 10);
    end_router();
}

/* guarantees: router.random */
TEST(thousands_of_members_are_picked_alike)
{
    seed_thread();
    begin_with(cen_strategy_random(), 2000);
    pick_many(400 * 1000);
    expect_shares(picked, NULL, 2000);
    end_router();
}

TEST(a_single_member_is_picked_always)
{
    begin_with(cen_strategy_random(), 1);
    for (int i = 0; i < 1000; i++) expect_equal(peek(), 0);
    end_router();
}

TEST(a_pick_says_nothing_about_the_next)
{
    enum { SIDE = 16 };
    static uint64_t pairs[SIDE * SIDE];
    seed_thread();
    begin_with(cen_strategy_random(), SIDE);
    for (unsigned apart = 1; apart <= 4; apart++) {
        unsigned last[4];
        memset(pairs, 0, sizeof pairs);
        for (unsigned i = 0; i < apart; i++) last[i] = peek();
        for (unsigned i = 0; i < 1000 * 1000; i++) {
            unsigned now = peek();
            pairs[last[i % apart] * SIDE + now]++;
            last[i % apart] = now;
        }
        expect_shares(pairs, NULL, SIDE * SIDE);
    }
    end_router();
}

static void count_in_thread(void *argument)
{
    uint64_t *counts = argument;
    for (unsigned i = 0; i < 200 * 1000; i++) counts[peek()]++;
}

/* Each thread has its own source: what several of them pick together is alike too, and none picks what another does. */
TEST(threads_do_not_go_in_step)
{
    enum { THREADS = 4, SIDE = 10 };
    static uint64_t counts[THREADS][SIDE], together[SIDE];
    ceni_thread threads[THREADS];
    begin_with(cen_strategy_random(), SIDE);
    for (int i = 0; i < THREADS; i++) start_thread(&threads[i], count_in_thread, counts[i]);
    for (int i = 0; i < THREADS; i++) ceni_thread_join(&threads[i]);
    for (int i = 0; i < THREADS; i++)
        for (int k = 0; k < SIDE; k++) together[k] += counts[i][k];
    expect_shares(together, NULL, SIDE);
    for (int i = 1; i < THREADS; i++) expect(memcmp(counts[0], counts[i], sizeof counts[0]) != 0);
    end_router();
}

/* One pick in a hundred goes to the first: a bias of 9 per cent of one share in ten. */
static cen_member *lean(void *state, const cen_member_set *set, const cen_route_hint *pick, bool used)
{
    (void)state, (void)pick, (void)used;
    return cen_member_set_at(set, cen_strategy_below(100) == 0 ? 0 : cen_strategy_below(set->count));
}

/* guarantees: router.random */
TEST(the_verdict_finds_a_bias_of_one_pick_in_a_hundred)
{
    static const cen_strategy_type leaning = {.size = sizeof leaning, .name = "leaning", .pick = lean};
    seed_thread();
    begin_with((cen_strategy){.type = &leaning}, 10);
    pick_many(1000 * 1000);
    expect(chi_square(picked, NULL, 10) > chi_square_limit(9));
    end_router();
}

TEST(numbers_below_n_are_alike_for_any_n)
{
    static const uint32_t limits[] = {2, 3, 10, 100, 1000};
    seed_thread();
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        memset(picked, 0, sizeof picked);
        for (unsigned k = 0; k < 300 * 1000; k++) {
            uint32_t number = cen_strategy_below(limits[i]);
            expect(number < limits[i]);
            picked[number]++;
        }
        expect_shares(picked, NULL, limits[i]);
    }
    for (int i = 0; i < 1000; i++) expect_equal(cen_strategy_below(1), 0);
}

/* With 4 members and one to avoid, the others share its picks alike. */
TEST(what_is_avoided_is_not_picked_and_the_others_are_picked_alike)
{
    static uint64_t others[3];
    seed_thread();
    begin_with(cen_strategy_random(), 4);
    cen_route_hint pick = {.avoid = members[0]};
    for (unsigned i = 0; i < 300 * 1000; i++) {
        unsigned number = peek_from(router, &pick);
        expect(number != 0);
        others[number - 1]++;
    }
    expect_shares(others, NULL, 3);
    end_router();
}
