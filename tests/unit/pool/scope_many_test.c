/* SPDX-License-Identifier: MIT */
/*
 * A thread in more pools at once than it has notes for. On the real seam,
 * because a world has lines for few pools.
 */
#include "unit/pool/pools.h"

enum { POOLS = 12 };

static cen_pool *pools[POOLS];
static workshop shops[POOLS];

static void make_all(uint32_t max)
{
    for (int i = 0; i < POOLS; i++) {
        shops[i] = (workshop){.opened = 100 * i};
        pools[i] = make_pool(.max = max, .driver = driver_of(&shops[i]));
    }
}

static void free_all(void)
{
    for (int i = 0; i < POOLS; i++) {
        cen_pool_stats s = expect_sound(pools[i]);
        expect_equal(s.held, 0);
        free_pool(pools[i]);
        expect_equal(shops[i].closed, shops[i].opened - 100 * i);
    }
}

static void enter(int which, cen_scope *scope)
{
    expect_equal(cen_pool_enter(pools[which], CEN_NOW, scope, NULL), CEN_OK);
    expect_equal(number_of(&scope->lease) / 100, which);
}

static void leave(cen_scope *scope)
{
    expect_equal(cen_pool_leave(scope), CEN_OK);
}

/* An inner scope in each pool finds the object of the outer one: there is only one. */
static void expect_borrowed(int first, int last, const cen_scope *outer)
{
    for (int i = first; i <= last; i++) {
        cen_scope inner;
        enter(i, &inner);
        expect(inner.lease.object == outer[i].lease.object);
        leave(&inner);
        expect_counts(pools[i], 0, 1);
    }
}

/* guarantees: pool-api.scopes */
TEST(a_thread_may_be_in_any_number_of_pools_and_borrows_in_each)
{
    cen_scope scopes[POOLS];
    make_all(1);
    for (int i = 0; i < POOLS; i++) {
        enter(i, &scopes[i]);
        expect_borrowed(0, i, scopes);
    }
    for (int i = POOLS - 1; i >= 0; i--) {
        leave(&scopes[i]);
        if (i) expect_borrowed(0, i - 1, scopes);
    }
    free_all();
}

TEST(pools_may_be_left_in_the_order_they_were_entered)
{
    cen_scope scopes[POOLS];
    make_all(1);
    for (int i = 0; i < POOLS; i++) enter(i, &scopes[i]);
    for (int i = 0; i < POOLS; i++) {
        leave(&scopes[i]);
        if (i + 1 < POOLS) expect_borrowed(i + 1, POOLS - 1, scopes);
    }
    free_all();
}

TEST(pools_may_be_entered_and_left_at_random)
{
    uint64_t seed = test_seed();
    cen_scope scopes[POOLS][3];
    int open[POOLS] = {0};
    make_all(1);
    for (int step = 0; step < 5000; step++) {
        int which = (int)(test_random(&seed) % POOLS);
        if (open[which] < 3 && test_random(&seed) % 2) {
            enter(which, &scopes[which][open[which]]);
            open[which]++;
        } else if (open[which] > 0) {
            int one = (int)(test_random(&seed) % (unsigned)open[which]);
            leave(&scopes[which][one]);
            scopes[which][one] = scopes[which][--open[which]];
        }
        expect_counts(pools[which], open[which] ? 0 : expect_sound(pools[which]).idle, open[which] ? 1 : 0);
    }
    for (int i = 0; i < POOLS; i++)
        while (open[i] > 0) leave(&scopes[i][--open[i]]);
    free_all();
}

TEST(leaving_twice_takes_no_note_from_another_pool)
{
    cen_scope scopes[6], stale;
    make_all(2);
    enter(0, &stale);
    cen_lease copy = stale.lease;
    give_back(&copy); /* by hand: every leave of this scope is STALE from now on */
    for (int i = 1; i < 6; i++) enter(i, &scopes[i]);
    for (int i = 0; i < 6; i++) expect_equal(cen_pool_leave(&stale), CEN_STALE);
    expect_borrowed(1, 5, scopes);
    for (int i = 1; i < 6; i++) leave(&scopes[i]);
    free_all();
}

TEST(scopes_that_were_given_by_hand_do_not_use_up_the_notes)
{
    make_all(1);
    for (int round = 0; round < 20; round++)
        for (int i = 0; i < POOLS; i++) {
            cen_scope scope, inner;
            enter(i, &scope);
            enter(i, &inner);
            expect(inner.lease.object == scope.lease.object);
            give_back(&scope.lease); /* never left */
        }
    cen_scope scopes[POOLS];
    for (int i = 0; i < POOLS; i++) enter(i, &scopes[i]);
    expect_borrowed(0, POOLS - 1, scopes);
    for (int i = 0; i < POOLS; i++) leave(&scopes[i]);
    free_all();
}

TEST(a_pool_that_is_freed_while_it_is_entered_leaves_no_note_that_harms_the_next)
{
    for (int round = 0; round < 20; round++) {
        cen_scope scopes[POOLS];
        make_all(1);
        for (int i = 0; i < POOLS; i++) enter(i, &scopes[i]);
        for (int i = 0; i < POOLS; i += 2) {
            free_pool(pools[i]);
            if (round % 2) expect_equal(cen_pool_leave(&scopes[i]), CEN_REVOKED);
            else expect_equal(cen_pool_give(&scopes[i].lease), CEN_REVOKED);
        }
        for (int i = 1; i < POOLS; i += 2) {
            cen_scope inner;
            enter(i, &inner);
            expect(inner.lease.object == scopes[i].lease.object);
            leave(&inner);
            leave(&scopes[i]);
            free_pool(pools[i]);
        }
    }
}
