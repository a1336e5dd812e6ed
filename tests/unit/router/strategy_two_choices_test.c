/* SPDX-License-Identifier: MIT */
/* Two choices: how much the most used has, beside one choice; and what a thread knows of the others' uses. */
#include <cenote/router_layout.h>

#include "unit/router/strategies.h"

#include <stdlib.h>

/*
 * 64 uses for each of 1024 members, none of which ends. With one choice a member's
 * uses are about a Poisson number of mean 64, which is 80 or more with probability 0.03:
 * that none of 1024 is has probability e^-30. With two choices the share of members
 * that are k above the mean is about the square of that for k - 1: a third, a
 * tenth, 1e-2, 1e-4, 1e-8, 1e-16, so that one is 7 above it has probability 1e-12.
 */
enum { MANY = 1024, EACH = 64, ONE_CHOICE_AT_LEAST = EACH + 16, TWO_CHOICES_AT_MOST = EACH + 6 };

static uint64_t most_used(cen_strategy strategy)
{
    cen_route *held = calloc((size_t)MANY * EACH, sizeof *held);
    uint64_t most = 0;
    begin_with(strategy, MANY);
    memset(picked, 0, sizeof picked);
    for (unsigned i = 0; i < MANY * EACH; i++) {
        uint64_t now = ++picked[route_with(NULL, &held[i])];
        if (now > most) most = now;
    }
    for (unsigned i = 0; i < MANY * EACH; i++) expect_equal(cen_route_done(&held[i], CEN_OUTCOME_OK, 0), CEN_OK);
    end_router();
    free(held);
    return most;
}

TEST(the_most_used_has_far_fewer_uses_than_with_one_choice)
{
    seed_thread();
    uint64_t one = most_used(cen_strategy_random()), two = most_used(cen_strategy_two_choices());
    printf("     most uses with a mean of %d: %" PRIu64 " with one choice, %" PRIu64 " with two\n", EACH, one, two);
    expect(one >= ONE_CHOICE_AT_LEAST);
    expect(two <= TWO_CHOICES_AT_MOST);
}

/* Without uses it is as good as random, also in the pairs that follow one another. */
TEST(unused_members_are_picked_alike)
{
    seed_thread();
    begin_with(cen_strategy_two_choices(), 10);
    pick_many(1000 * 1000);
    expect_shares(picked, NULL, 10);
    end_router();
}

/* The busiest of three is never picked, and each of the two others is picked alike: each is in two of three pairs, and when they
 * meet it is the first that is picked. */
TEST(the_two_choices_are_two_and_any_two)
{
    static uint64_t others[2];
    cen_route held;
    seed_thread();
    begin_with(cen_strategy_two_choices(), 3);
    unsigned busy = route_with(NULL, &held);
    pick_many(300 * 1000);
    expect_equal(picked[busy], 0);
    others[0] = picked[(busy + 1) % 3];
    others[1] = picked[(busy + 2) % 3];
    expect_shares(others, NULL, 2);
    expect_equal(cen_route_done(&held, CEN_OUTCOME_OK, 0), CEN_OK);
    end_router();
}

TEST(a_single_member_is_picked_always)
{
    begin_with(cen_strategy_two_choices(), 1);
    for (int i = 0; i < 1000; i++) expect_equal(use(), 0);
    end_router();
}

/* ---- What a thread knows of others ------------------------------------------------------------- */

enum { HEAVY = 1000 };
static cen_route heavy[HEAVY];

static void be_stripe(uint64_t stripe)
{
    ceni_route_room()[CENI_ROUTE_STRIPE] = UINT64_C(1) << 32 | (stripe + 1) * CEN_STRIPES_APART_;
}

static void use_the_first(void *argument)
{
    (void)argument;
    be_stripe(1);
    cen_route_hint pick = {.avoid = members[1]};
    for (int i = 0; i < HEAVY; i++) expect_equal(route_with(&pick, &heavy[i]), 0);
}

static void on_another_thread(void (*run)(void *))
{
    ceni_thread thread;
    start_thread(&thread, run, NULL);
    ceni_thread_join(&thread);
}

static void end_heavy(void)
{
    for (int i = 0; i < HEAVY; i++) expect_equal(cen_route_done(&heavy[i], CEN_OUTCOME_OK, 0), CEN_OK);
}

/* How often the first of two is used, of 2000 times, after another thread has begun to use it heavily. */
static unsigned uses_until_seen(void)
{
    unsigned firsts = 0;
    for (int i = 0; i < 1000; i++) use();
    on_another_thread(use_the_first);
    for (int i = 0; i < 2000; i++) firsts += use() == 0;
    end_heavy();
    return firsts;
}

TEST(uses_of_another_thread_are_seen_within_64_own_uses)
{
    seed_thread();
    be_stripe(0);
    begin_with(cen_strategy_two_choices(), 2);
    expect(uses_until_seen() <= 64);
    end_router();
}

TEST(uses_of_another_thread_are_seen_within_8_own_uses_by_one_that_has_some_in_flight)
{
    cen_route held[2];
    seed_thread();
    be_stripe(0);
    begin_with(cen_strategy_two_choices(), 2);
    for (int i = 0; i < 2; i++) route_with(NULL, &held[i]); /* one each */
    expect(held[0].member != held[1].member);
    expect(uses_until_seen() <= 8);
    for (int i = 0; i < 2; i++) expect_equal(cen_route_done(&held[i], CEN_OUTCOME_OK, 0), CEN_OK);
    end_router();
}

/* Nobody has used a member that is new, so that its first use by a thread need not read the lines of all others; of many thousands
 * most uses are first ones. Here somebody has, and that is seen by the eighth. */
TEST(others_uses_of_a_member_are_looked_at_when_it_is_used_the_eighth_time_and_not_before)
{
    unsigned firsts = 0;
    seed_thread();
    be_stripe(0);
    begin_with(cen_strategy_two_choices(), 2);
    on_another_thread(use_the_first);
    for (int i = 0; i < 2000; i++) firsts += use() == 0;
    expect_equal(firsts, 8u);
    end_heavy();
    end_router();
}

/* A thread that leaves a member alone because of others' uses must notice that these have ended, although it does not use it. Each
 * pick looks again with probability 1/64: not once in 2000 picks has probability 2e-14. */
TEST(the_end_of_another_threads_uses_is_seen_although_the_member_is_left_alone)
{
    seed_thread();
    be_stripe(0);
    begin_with(cen_strategy_two_choices(), 2);
    on_another_thread(use_the_first);
    for (int i = 0; i < 2000; i++) use();
    expect_equal(cen_member_load(members[0]), HEAVY);
    end_heavy();
    for (int i = 0; i < 2000; i++) use();
    unsigned firsts = 0;
    for (int i = 0; i < 1000; i++) firsts += use() == 0;
    expect(firsts > 300); /* of 1000 that are alike: 12 deviations below the mean */
    end_router();
}
