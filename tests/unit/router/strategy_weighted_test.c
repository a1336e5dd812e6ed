/* SPDX-License-Identifier: MIT */
/* Weighted picks: in proportion to weight. Verdicts by chi-square, with a false alarm in 1e9 runs (strategies.h). */
#include "unit/router/strategies.h"

static uint32_t weights[MOST];

static void begin_weighted(unsigned count)
{
    make_runtime();
    router = make_router(cen_strategy_weighted());
    for (unsigned i = 0; i < count; i++) members[i] = add_to(router, i, weights[i]);
}

TEST(members_are_picked_in_proportion_to_their_weights)
{
    seed_thread();
    weights[0] = 1, weights[1] = 2, weights[2] = 5;
    begin_weighted(3);
    pick_many(1000 * 1000);
    expect_shares(picked, weights, 3);
    end_router();
}

TEST(a_weight_of_zero_is_one)
{
    seed_thread();
    weights[0] = 0, weights[1] = 1, weights[2] = 1;
    begin_weighted(3);
    expect_equal(cen_member_weight(members[0]), 1);
    weights[0] = 1;
    pick_many(300 * 1000);
    expect_shares(picked, weights, 3);
    end_router();
}

TEST(the_lightest_has_its_share_beside_the_heaviest)
{
    seed_thread();
    weights[0] = 65535, weights[1] = 1, weights[2] = 65535, weights[3] = 3;
    begin_weighted(4);
    pick_many(4 * 1000 * 1000);
    expect_shares(picked, weights, 4);
    end_router();
}

TEST(a_weight_beyond_65535_is_refused)
{
    begin_with(cen_strategy_weighted(), 0);
    cen_error error = {0};
    cen_member *member = NULL;
    cen_member_options o = CEN_MEMBER_OPTIONS(.name = "heavy", .weight = 65536);
    expect_equal(cen_router_add(router, &o, &member, &error), CEN_INVALID);
    expect(strstr(error.text, "65536") != NULL);
    expect(!member);
    end_router();
}

TEST(a_single_member_of_any_weight_is_picked_always)
{
    weights[0] = 65535;
    begin_weighted(1);
    for (int i = 0; i < 1000; i++) expect_equal(peek(), 0);
    end_router();
}

TEST(thousands_of_weights_are_kept)
{
    seed_thread();
    for (unsigned i = 0; i < 2000; i++) weights[i] = i % 7 + 1;
    begin_weighted(2000);
    pick_many(1000 * 1000);
    expect_shares(picked, weights, 2000);
    end_router();
}

TEST(shares_are_those_of_the_members_that_are_left)
{
    static uint64_t left[3];
    static const uint32_t of[] = {1, 5, 50};
    seed_thread();
    weights[0] = 1, weights[1] = 2, weights[2] = 5, weights[3] = 50;
    begin_weighted(4);
    expect_equal(cen_member_down(members[1], NULL), CEN_OK);
    pick_many(1000 * 1000);
    expect_equal(picked[1], 0);
    left[0] = picked[0], left[1] = picked[2], left[2] = picked[3];
    expect_shares(left, of, 3);
    expect_equal(cen_member_up(members[1], NULL), CEN_OK);
    pick_many(1000 * 1000);
    expect_shares(picked, weights, 4);
    end_router();
}

/* Of 12 parts one and a tenth instead of one: what a table made with too little care would do. */
TEST(the_verdict_finds_a_share_that_is_off_by_a_tenth)
{
    static const uint32_t wanted[] = {11, 20, 50};
    seed_thread();
    weights[0] = 1, weights[1] = 2, weights[2] = 5;
    begin_weighted(3);
    pick_many(1000 * 1000);
    expect(chi_square(picked, wanted, 3) > chi_square_limit(2));
    end_router();
}
