/* SPDX-License-Identifier: MIT */
/* Where members' stripes are: apart between threads, used again, and given back. */
#include "base/alloc.h"
#include "router/internal.h"
#include "support/world.h"
#include "unit/router/routers.h"

enum { MANY = 200, OF_A_BLOCK = 64 };

static size_t held;
static unsigned large; /* allocations that are as large as a block */

static void *counted_alloc(void *argument, size_t size, size_t align)
{
    (void)argument;
    void *memory = ceni_alloc(NULL, size, align);
    held += memory ? size : 0;
    large += size > CEN_STRIPES_APART_;
    return memory;
}

static void counted_free(void *argument, void *memory, size_t size, size_t align)
{
    (void)argument;
    held -= size;
    large -= size > CEN_STRIPES_APART_;
    ceni_free(NULL, memory, size, align);
}

static const cen_allocator counted = {.alloc = counted_alloc, .free = counted_free};
static cen_member *members[MANY];

static cen_member *add_plain(void)
{
    cen_member *member = NULL;
    cen_member_options options = CEN_MEMBER_OPTIONS(.value = &values[0]);
    expect_equal(cen_router_add(router, &options, &member, NULL), CEN_OK);
    return member;
}

TEST(no_two_members_share_a_stripe_and_no_two_stripes_of_a_member_a_line)
{
    make_router(.runtime = make_manual());
    for (int i = 0; i < MANY; i++) members[i] = add_plain();
    uint32_t stripes = ceni_route_stripes();
    for (int i = 0; i < MANY; i++) {
        for (uint32_t k = 0; k <= stripes; k++) {
            cen_stripe_ *stripe = cen_stripe_of_(members[i], k * CEN_STRIPES_APART_);
            expect(stripe->value == &values[0]);
            stripe->value = &members[i]; /* whoever shared it would find this */
        }
    }
    for (int i = 0; i < MANY; i++)
        for (uint32_t k = 0; k <= stripes; k++)
            expect(cen_stripe_of_(members[i], k * CEN_STRIPES_APART_)->value == &members[i]);
    for (uint32_t k = 1; k <= stripes; k++)
        expect((uintptr_t)cen_stripe_of_(members[0], k * CEN_STRIPES_APART_) / CENI_CACHE_LINE !=
               (uintptr_t)cen_stripe_of_(members[0], (k - 1) * CEN_STRIPES_APART_) / CENI_CACHE_LINE);
    /* The last of a block: four lines and more behind it are nobody's. */
    const char *last = (const char *)cen_stripe_of_(members[OF_A_BLOCK - 1], CEN_STRIPES_APART_);
    const char *next = (const char *)cen_stripe_of_(members[0], 2 * CEN_STRIPES_APART_);
    expect(next - last >= 4 * CENI_CACHE_LINE + (ptrdiff_t)sizeof(cen_stripe_));
    for (int i = 0; i < MANY; i++)
        for (uint32_t k = 0; k <= stripes; k++) cen_stripe_of_(members[i], k * CEN_STRIPES_APART_)->value = &values[0];
    end_all();
}

TEST(a_place_is_used_again_when_its_member_is_gone_and_not_before)
{
    make_router(.runtime = make_manual(), .allocator = &counted);
    unsigned others = large;
    cen_member *stays = add_plain(), *goes = add_plain();
    bring_up(goes);
    expect_equal(large, others + 1);
    cen_route route = route_now();
    expect(route.member == goes);
    expect_equal(cen_member_remove(goes), CEN_OK);
    poll_all();
    cen_member *third = add_plain();
    expect(third != goes && third != stays); /* the route keeps it */
    expect_equal(done(&route), CEN_DOWN);
    poll_all();
    cen_member *fourth = add_plain();
    expect(fourth == goes);
    expect_equal(cen_member_state_of(fourth), CEN_MEMBER_CONNECTING);
    bring_up(fourth);
    route = route_now();
    expect(route.member == fourth);
    expect_equal(done(&route), CEN_OK); /* nothing of the old one is left in it */
    expect_equal(large, others + 1);
    end_all();
    expect_equal(held, 0);
}

TEST(a_block_goes_with_its_last_member_and_full_ones_are_not_asked)
{
    make_router(.runtime = make_manual(), .allocator = &counted);
    unsigned others = large;
    for (int i = 0; i < 2 * OF_A_BLOCK + 1; i++) members[i] = add_plain();
    expect_equal(large, others + 3);
    expect_equal(cen_member_remove(members[2 * OF_A_BLOCK]), CEN_OK);
    poll_all();
    expect_equal(large, others + 2);
    for (int i = 0; i < OF_A_BLOCK; i++) expect_equal(cen_member_remove(members[i]), CEN_OK);
    poll_all();
    expect_equal(large, others + 1);
    end_all();
    expect_equal(held, 0);
}

TEST(a_place_that_is_free_has_no_door)
{
    make_router(.runtime = make_manual());
    cen_member *stays = add_plain(), *goes = add_plain();
    expect(stays->first.door != NULL);
    expect_equal(cen_member_remove(goes), CEN_OK);
    poll_all();
    for (uint32_t k = 0; k <= ceni_route_stripes(); k++) expect(!cen_stripe_of_(goes, k * CEN_STRIPES_APART_)->door);
    end_all();
}
