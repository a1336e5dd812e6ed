/* SPDX-License-Identifier: MIT */
/*
 * Consistent hash: the same everywhere, few keys move, and no member has much more than its
 * share. The expected values were made by another program after the words at the top of
 * consistent_hash.c, that goes from point to point and tosses one coin at a time.
 */
#include "unit/router/strategies.h"

static unsigned owner_of(uint64_t key)
{
    cen_route_hint pick = {.key = key};
    return peek_from(router, &pick);
}

static unsigned owner_without(uint64_t key, const cen_member *avoid)
{
    cen_route_hint pick = {.key = key, .avoid = avoid};
    return peek_from(router, &pick);
}

/* ---- The same in every process ------------------------------------------------------------- */

TEST(a_key_of_bytes_has_the_same_number_everywhere)
{
    unsigned char many[100];
    for (unsigned i = 0; i < sizeof many; i++) many[i] = (unsigned char)i;
    expect(cen_route_key("", 0) == UINT64_C(0x48218226ff3cd4bf));
    expect(cen_route_key(NULL, 0) == UINT64_C(0x48218226ff3cd4bf));
    expect(cen_route_key("a", 1) == UINT64_C(0x80bdfd4d3e359a26));
    expect(cen_route_key("abcdefgh", 8) == UINT64_C(0xe2800dca2fefeb21));
    expect(cen_route_key("abcdefghi", 9) == UINT64_C(0xc199bf0b3022c358));
    expect(cen_route_key("a\0b", 3) == UINT64_C(0x0da61367abaf484e));
    expect(cen_route_key(many, sizeof many) == UINT64_C(0x8f17222bf20b2d32));
    expect(cen_route_key(many + 1, 7) != cen_route_key(many + 1, 8));
}

TEST(keys_have_the_same_members_everywhere)
{
    static const unsigned numbers[] = {3, 8, 6, 9, 4, 9, 6, 9, 0, 0, 8, 1, 6, 5, 8, 1, 1, 9, 8, 0};
    static const unsigned users[] = {1, 3, 1, 6, 2, 7, 5, 8, 0, 3, 1, 3, 6, 5, 7, 5, 5, 9, 0, 7};
    begin_with(cen_strategy_consistent_hash(), 10);
    for (unsigned i = 0; i < 20; i++) {
        char name[16];
        int length = snprintf(name, sizeof name, "user:%u", i);
        expect_equal(owner_of(i), numbers[i]);
        expect_equal(owner_of(cen_route_key(name, (size_t)length)), users[i]);
    }
    expect(cen_member_hash(members[0]) == cen_route_key("m0", 2));
    end_router();
}

TEST(the_order_in_which_members_came_does_not_matter)
{
    enum { SIDE = 40, KEYS = 2000 };
    static unsigned owners[KEYS];
    uint64_t seed = test_seed();
    begin_with(cen_strategy_consistent_hash(), SIDE);
    for (unsigned key = 0; key < KEYS; key++) owners[key] = owner_of(key);
    for (unsigned i = 0; i < 200; i++) { /* to the end of the set */
        cen_member *member = members[test_random(&seed) % SIDE];
        expect_equal(cen_member_down(member, NULL), CEN_OK);
        expect_equal(cen_member_up(member, NULL), CEN_OK);
    }
    for (unsigned key = 0; key < KEYS; key++) expect_equal(owner_of(key), owners[key]);
    end_router();
}

static cen_member *add_named(const char *name, unsigned number)
{
    cen_member *member = NULL;
    cen_member_options o = CEN_MEMBER_OPTIONS(.name = name, .value = (void *)(uintptr_t)(number + 1));
    expect_equal(cen_router_add(router, &o, &member, NULL), CEN_OK);
    expect_equal(cen_member_up(member, NULL), CEN_OK);
    return member;
}

/* The sixth point of one of these two names is where one of the other's is: a search through many names has found that. */
TEST(nor_does_it_for_two_at_one_place)
{
    begin_with(cen_strategy_consistent_hash(), 0);
    members[0] = add_named("t6727", 0);
    members[1] = add_named("t10819", 1);
    members[2] = add_named("another", 2);
    static unsigned owners[5000];
    for (unsigned key = 0; key < 5000; key++) owners[key] = owner_of(key);
    expect_equal(cen_member_down(members[0], NULL), CEN_OK);
    expect_equal(cen_member_up(members[0], NULL), CEN_OK); /* it is behind the other in the set now */
    for (unsigned key = 0; key < 5000; key++) expect_equal(owner_of(key), owners[key]);
    end_router();
}

/* ---- Few keys move ---------------------------------------------------------------------------- */

enum { SIDE = 20, KEYS = 20000 };
static unsigned before[KEYS];

static void note_owners(void)
{
    for (unsigned key = 0; key < KEYS; key++) before[key] = owner_of(key);
}

TEST(when_a_member_leaves_only_its_keys_move_and_they_come_back_with_it)
{
    begin_with(cen_strategy_consistent_hash(), SIDE);
    note_owners();
    for (unsigned gone = 0; gone < SIDE; gone++) {
        unsigned moved = 0;
        expect_equal(cen_member_down(members[gone], NULL), CEN_OK);
        for (unsigned key = 0; key < KEYS; key++) {
            unsigned now = owner_of(key);
            expect(now != gone);
            if (before[key] != gone) expect_equal(now, before[key]);
            else moved++;
        }
        expect(moved > 0);
        expect_equal(cen_member_up(members[gone], NULL), CEN_OK);
        for (unsigned key = 0; key < KEYS; key++) expect_equal(owner_of(key), before[key]);
    }
    end_router();
}

TEST(who_joins_takes_only_keys_that_become_its_own)
{
    begin_with(cen_strategy_consistent_hash(), SIDE);
    for (unsigned i = 0; i < SIDE; i++) {
        unsigned moved = 0;
        note_owners();
        add_to(router, SIDE + i, 0);
        for (unsigned key = 0; key < KEYS; key++) {
            unsigned now = owner_of(key);
            if (now == before[key]) continue;
            expect_equal(now, SIDE + i);
            moved++;
        }
        expect(moved > 0);
        expect(moved < KEYS / 10); /* its share is a twentieth or less */
    }
    end_router();
}

/* ---- What is to be avoided ----------------------------------------------------------------------- */

TEST(a_key_whose_member_is_to_be_avoided_goes_where_it_would_go_without_it)
{
    static unsigned instead[KEYS];
    begin_with(cen_strategy_consistent_hash(), SIDE);
    note_owners();
    for (unsigned gone = 0; gone < SIDE; gone++) {
        for (unsigned key = 0; key < KEYS; key++) instead[key] = owner_without(key, members[gone]);
        expect_equal(cen_member_down(members[gone], NULL), CEN_OK);
        for (unsigned key = 0; key < KEYS; key++) expect_equal(owner_of(key), instead[key]);
        expect_equal(cen_member_up(members[gone], NULL), CEN_OK);
    }
    end_router();
}

/* Sixteen points, eight of which are passed over: many keys go round more than once. */
TEST(so_it_does_with_two_members)
{
    begin_with(cen_strategy_consistent_hash(), 2);
    for (uint64_t key = 0; key < 5000; key++) {
        expect_equal(owner_without(key, members[0]), 1);
        expect_equal(owner_without(key, members[1]), 0);
    }
    end_router();
}

TEST(a_single_member_has_all_keys_and_cannot_be_avoided)
{
    begin_with(cen_strategy_consistent_hash(), 1);
    for (uint64_t key = 0; key < 1000; key++)
        expect_equal(owner_without(key * UINT64_C(0x123456789abcdef), members[0]), 0);
    end_router();
}

/* ---- Shares ---------------------------------------------------------------------------------------- */

/* The largest and the smallest share of any member of so many, with names from that number on. */
static void find_shares(unsigned from, unsigned count, unsigned keys_each, double *largest, double *smallest)
{
    make_runtime();
    router = make_router(cen_strategy_consistent_hash());
    for (unsigned i = 0; i < count; i++) add_to(router, from + i, 0);
    memset(picked, 0, sizeof picked);
    for (uint64_t key = 0; key < (uint64_t)count * keys_each; key++) picked[owner_of(key) - from]++;
    for (unsigned i = 0; i < count; i++) {
        double share = (double)picked[i] / keys_each;
        if (share > *largest) *largest = share;
        if (share < *smallest) *smallest = share;
    }
    end_router();
}

/*
 * What keys have is a fact of names and keys, and these are always the same here; other
 * names would have other shares, so there are many sets. The bound: at most a
 * quarter more than the share and at least three quarters of it, of which the number of keys
 * alone, with 4000 for each member, makes at most 8 per cent (5 deviations).
 */
TEST(no_member_has_more_than_five_quarters_of_its_share_or_less_than_three)
{
    static const struct {
        unsigned count, sets;
    } all[] = {{2, 40}, {3, 40}, {10, 20}, {100, 2}, {400, 1}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        double largest = 0, smallest = 9;
        for (unsigned set = 0; set < all[i].sets; set++)
            find_shares(set * all[i].count, all[i].count, 4000, &largest, &smallest);
        printf("     of %u members the largest has %.3f of its share and the smallest %.3f\n", all[i].count, largest,
               smallest);
        expect(largest <= 1.25);
        expect(smallest >= 0.75);
    }
}

TEST(thousands_of_members_all_have_keys)
{
    double largest = 0, smallest = 9;
    find_shares(0, 2000, 100, &largest, &smallest);
    expect(largest <= 1.25 + 0.5); /* 100 keys each: 5 deviations are a half */
    expect(smallest > 0);
}
