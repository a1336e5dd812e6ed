/* SPDX-License-Identifier: MIT */
/* A router whose members are the entries of a registry. */
#include <stdlib.h>

#include <cenote/router.h>

#include "base/fault.h"
#include "support/test.h"

static cen_router *router;
static cen_registry *registry;
static cen_following *following;
static cen_error error;
static unsigned gone_count, joined_count, left_count, refused_count;
static void *gone_last, *left_last;
static cen_status refused_status;
static int values[8];

static void gone(void *value)
{
    gone_count++;
    gone_last = value;
}

static void describe(void *argument, const cen_registered *entry, cen_member_options *member)
{
    (void)argument;
    static char name[32];
    snprintf(name, sizeof name, "entry %d", *(int *)entry->value);
    member->name = name;
}

static void joined(void *argument, void *value)
{
    (void)argument, (void)value;
    joined_count++;
}

static void left(void *argument, void *value)
{
    (void)argument;
    left_count++;
    left_last = value;
}

static void refused(void *argument, const cen_registered *entry, const cen_error *why)
{
    (void)argument, (void)entry;
    refused_count++;
    refused_status = why->status;
}

/* The router's allocator. */
static bool has_memory;

static void *give_memory(void *unused, size_t size, size_t align)
{
    (void)unused;
    return has_memory ? aligned_alloc(align, (size + align - 1) / align * align) : NULL;
}

static void take_memory(void *unused, void *memory, size_t size, size_t align)
{
    (void)unused, (void)size, (void)align;
    free(memory);
}

static const cen_allocator memory_of_the_test = {give_memory, take_memory, NULL};

static void begin(void)
{
    cen_router_options r = CEN_ROUTER_OPTIONS(.name = "followed", .strategy = cen_strategy_round_robin(),
                                              .allocator = &memory_of_the_test);
    has_memory = true;
    cen_registry_options g = CEN_REGISTRY_OPTIONS(.kind = CEN_DUPLICATE);
    for (int i = 0; i < 8; i++) values[i] = i;
    expect_equal(cen_router_new(&r, &router, &error), CEN_OK);
    expect_equal(cen_registry_new(&g, &registry, &error), CEN_OK);
}

static const cen_member_options every = CEN_MEMBER_OPTIONS(.gone = gone);

static void follow(void)
{
    cen_follow_options options =
        CEN_FOLLOW_OPTIONS(.member = &every, .describe = describe, .refused = refused, .joined = joined, .left = left);
    expect_equal(cen_router_follow(router, registry, cen_key_text("up"), &options, &following, &error), CEN_OK);
}

static uint64_t enter(int which, cen_owner *owner)
{
    uint64_t number = 0;
    expect_equal(cen_registry_register(registry, cen_key_text("up"), &values[which], owner, &number, &error), CEN_OK);
    return number;
}

static uint32_t up(void)
{
    cen_router_stats stats = CEN_SIZED(cen_router_stats);
    expect_equal(cen_router_stats_get(router, &stats), CEN_OK);
    expect_equal(stats.members, stats.up);
    if (following) expect_equal(cen_following_count(following), stats.members);
    return stats.up;
}

static void end(void)
{
    expect_equal(cen_router_unfollow(following), CEN_OK);
    expect_equal(cen_router_free(router), CEN_OK);
    expect_equal(cen_registry_free(registry), CEN_OK);
}

/* guarantees: mux-pool.follow */
TEST(an_entry_is_a_member_that_is_up_as_long_as_it_is_registered)
{
    begin();
    follow();
    expect_equal(up(), 0);
    uint64_t first = enter(1, NULL);
    enter(2, NULL);
    expect_equal(up(), 2);
    cen_route route;
    unsigned seen[8] = {0};
    for (unsigned i = 0; i < 10; i++) {
        expect_equal(cen_router_route(router, NULL, CEN_NOW, &route, &error), CEN_OK);
        seen[*(int *)route.value]++;
        if (*(int *)route.value == 1) expect(strcmp(cen_member_name(route.member), "entry 1") == 0);
        cen_route_done(&route, CEN_OUTCOME_OK, 0);
    }
    expect(seen[1] == 5 && seen[2] == 5);
    expect_equal(cen_registry_remove(registry, first, NULL), CEN_OK);
    expect_equal(up(), 1);
    expect(left_count == 1 && left_last == &values[1]);
    for (unsigned i = 0; i < 10; i++) {
        expect_equal(cen_router_route(router, NULL, CEN_NOW, &route, &error), CEN_OK);
        expect(route.value == &values[2]);
        cen_route_done(&route, CEN_OUTCOME_OK, 0);
    }
    end();
    expect_equal(gone_count, 2);
}

TEST(entries_that_were_there_before_are_members_and_those_of_other_keys_are_not)
{
    begin();
    enter(1, NULL);
    enter(2, NULL);
    expect_equal(cen_registry_register(registry, cen_key_text("down"), &values[3], NULL, NULL, &error), CEN_OK);
    follow();
    expect_equal(up(), 2);
    expect_equal(cen_registry_register(registry, cen_key_text("down"), &values[4], NULL, NULL, &error), CEN_OK);
    expect_equal(up(), 2);
    end();
}

/* guarantees: mux-pool.follow */
TEST(the_death_of_an_owner_takes_its_members_out)
{
    cen_owner *owner;
    begin();
    follow();
    expect_equal(cen_owner_new(NULL, &owner, &error), CEN_OK);
    enter(0, NULL);
    for (int i = 1; i < 8; i++) enter(i, owner);
    expect_equal(up(), 8);
    expect_equal(cen_owner_end(owner), CEN_OK);
    expect_equal(up(), 1);
    expect(joined_count == 8 && left_count == 7);
    end();
    expect_equal(gone_count, 8);
}

TEST(a_route_of_an_entry_that_went_ends_as_down_and_its_value_is_kept_until_then)
{
    begin();
    follow();
    uint64_t number = enter(1, NULL);
    cen_route route;
    expect_equal(cen_router_route(router, NULL, CEN_NOW, &route, &error), CEN_OK);
    expect_equal(cen_registry_remove(registry, number, NULL), CEN_OK);
    expect_equal(up(), 0);
    expect_equal(cen_route_check(&route), CEN_DOWN);
    cen_route other;
    expect_equal(cen_router_route(router, NULL, CEN_NOW, &other, &error), CEN_EMPTY);
    expect_equal(gone_count, 0);
    expect_equal(cen_route_done(&route, CEN_OUTCOME_OK, 0), CEN_DOWN);
    end();
    expect(gone_count == 1 && gone_last == &values[1]);
}

TEST(an_update_puts_another_member_in_its_place)
{
    begin();
    follow();
    uint64_t number = enter(1, NULL);
    expect_equal(cen_registry_update(registry, number, &values[2], NULL, NULL), CEN_OK);
    expect_equal(up(), 1);
    cen_route route;
    expect_equal(cen_router_route(router, NULL, CEN_NOW, &route, &error), CEN_OK);
    expect(route.value == &values[2]);
    cen_route_done(&route, CEN_OUTCOME_OK, 0);
    expect_equal(cen_registry_remove(registry, number, NULL), CEN_OK);
    expect_equal(up(), 0);
    end();
    expect_equal(gone_count, 2);
}

/* guarantees: mux-pool.follow */
TEST(a_registry_that_is_freed_first_leaves_an_empty_router)
{
    begin();
    follow();
    enter(1, NULL);
    enter(2, NULL);
    expect_equal(cen_registry_free(registry), CEN_OK);
    expect_equal(up(), 0);
    expect_equal(left_count, 2);
    expect_equal(cen_router_unfollow(following), CEN_OK);
    expect_equal(cen_router_free(router), CEN_OK);
    expect_equal(gone_count, 2);
}

/* guarantees: mux-pool.follow */
TEST(a_router_that_is_closed_first_takes_nothing_in)
{
    begin();
    follow();
    uint64_t number = enter(1, NULL);
    expect_equal(cen_router_close(router, CEN_NOW, NULL, NULL), CEN_OK);
    enter(2, NULL);
    expect(refused_count == 1 && refused_status == CEN_CLOSED);
    expect_equal(cen_registry_remove(registry, number, NULL), CEN_OK);
    expect_equal(cen_following_count(following), 0);
    end();
    expect_equal(gone_count, 1);
}

/* guarantees: mux-pool.follow */
TEST(a_router_that_is_freed_first_ends_its_following)
{
    begin();
    follow();
    uint64_t number = enter(1, NULL);
    enter(2, NULL);
    expect_equal(cen_router_free(router), CEN_OK);
    expect_equal(gone_count, 2);
    expect_equal(cen_registry_remove(registry, number, NULL), CEN_OK);
    enter(3, NULL);
    cen_registry_stats stats = CEN_SIZED(cen_registry_stats);
    expect_equal(cen_registry_stats_get(registry, &stats), CEN_OK);
    expect_equal(stats.listeners, 0);
    expect_equal(cen_registry_free(registry), CEN_OK);
}

TEST(a_router_follows_several_registries_and_keys)
{
    cen_registry *second;
    cen_following *others[2];
    cen_registry_options g = CEN_REGISTRY_OPTIONS(.kind = CEN_UNIQUE);
    begin();
    follow();
    expect_equal(cen_registry_new(&g, &second, &error), CEN_OK);
    expect_equal(cen_router_follow(router, second, cen_key_number(7), NULL, &others[0], &error), CEN_OK);
    expect_equal(cen_router_follow(router, second, cen_key_number(8), NULL, &others[1], &error), CEN_OK);
    enter(1, NULL);
    expect_equal(cen_registry_register(second, cen_key_number(7), &values[2], NULL, NULL, &error), CEN_OK);
    expect_equal(cen_registry_register(second, cen_key_number(8), &values[3], NULL, NULL, &error), CEN_OK);
    cen_router_stats stats = CEN_SIZED(cen_router_stats);
    expect_equal(cen_router_stats_get(router, &stats), CEN_OK);
    expect_equal(stats.up, 3);
    expect_equal(cen_router_unfollow(others[1]), CEN_OK);
    expect_equal(cen_router_stats_get(router, &stats), CEN_OK);
    expect_equal(stats.up, 2);
    expect_equal(cen_router_unfollow(others[0]), CEN_OK);
    end();
    expect_equal(cen_registry_free(second), CEN_OK);
}

TEST(one_who_waits_for_a_member_is_served_when_an_entry_comes)
{
    begin();
    follow();
    cen_route_op routing;
    cen_route_op_init(&routing, NULL, NULL);
    expect_equal(cen_router_route_async(router, NULL, CEN_NEVER, &routing), CEN_OK);
    expect(!cen_future_is_done(&routing.future));
    enter(3, NULL);
    expect(cen_future_is_done(&routing.future));
    expect(routing.future.status == CEN_OK && routing.route.value == &values[3]);
    cen_route_done(&routing.route, CEN_OUTCOME_OK, 0);
    end();
}

static cen_status unfollowed_inside;

static void unfollow_inside(void *argument, void *value)
{
    (void)argument, (void)value;
    unfollowed_inside = cen_router_unfollow(following);
}

TEST(a_following_is_not_ended_from_within_its_own_calls)
{
    begin();
    cen_follow_options options = CEN_FOLLOW_OPTIONS(.left = unfollow_inside);
    expect_equal(cen_router_follow(router, registry, cen_key_text("up"), &options, &following, &error), CEN_OK);
    uint64_t number = enter(1, NULL);
    expect_equal(cen_registry_remove(registry, number, NULL), CEN_OK);
    expect_equal(unfollowed_inside, CEN_MISUSE);
    end();
}

/* guarantees: mux-pool.follow */
TEST(without_memory_an_entry_is_refused_and_the_next_one_is_not)
{
    begin();
    follow();
    unsigned refusals = 0;
    for (uint32_t nth = 1; nth < 10; nth++) {
        uint64_t number = 0;
        ceni_fault_arm(CENI_FAULT_ALLOC, nth);
        cen_status status = cen_registry_register(registry, cen_key_text("up"), &values[1], NULL, &number, NULL);
        ceni_fault_disarm();
        expect(status == CEN_OK || status == CEN_NO_MEMORY);
        if (status == CEN_OK) expect_equal(cen_following_count(following) + (refused_count - refusals), 1);
        if (status == CEN_OK) expect_equal(cen_registry_remove(registry, number, NULL), CEN_OK);
        refusals = refused_count;
    }
    expect(refused_count > 0 && refused_status == CEN_NO_MEMORY);
    expect_equal(up(), 0);
    end();
    expect(gone_count == left_count && gone_count == joined_count);
}

/* ---- Many at once ------------------------------------------------------------------------------- */

enum { MANY = 3000 };

static uint64_t changes(void)
{
    cen_router_stats stats = CEN_SIZED(cen_router_stats);
    expect_equal(cen_router_stats_get(router, &stats), CEN_OK);
    return stats.changes;
}

/* guarantees: mux-pool.batches */
TEST(many_that_are_there_come_up_in_a_few_changes_and_leave_in_one)
{
    begin();
    for (int i = 0; i < MANY; i++) enter(i % 8, NULL);
    follow();
    expect_equal(up(), MANY);
    expect_equal(joined_count, MANY);
    expect(changes() <= 16); /* 64 first, and then half of those who are there at a time */
    uint64_t before = changes();
    enter(1, NULL);
    expect_equal(changes(), before + 1);
    expect_equal(cen_router_unfollow(following), CEN_OK);
    following = NULL;
    expect_equal(changes(), before + 2);
    expect_equal(left_count, MANY + 1);
    expect_equal(up(), 0);
    end();
    expect_equal(gone_count, MANY + 1);
}

static uint64_t numbers[8];
static int entered;

/* Is told before the router is, and of the first brings others, which are told in a row. */
static void bring_more(void *argument, const cen_registered *change)
{
    (void)argument;
    if (change->change != CEN_REGISTERED || entered) return;
    entered = 1;
    for (int i = 1; i < 8; i++) numbers[i] = enter(i, NULL);
}

static void update_and_remove(void *argument, const cen_registered *change)
{
    bring_more(argument, change);
    if (change->change != CEN_REGISTERED || change->value != &values[0]) return;
    expect_equal(cen_registry_update(registry, numbers[7], &values[0], NULL, NULL), CEN_OK);
    expect_equal(cen_registry_remove(registry, numbers[6], NULL), CEN_OK);
}

static void enter_first_with(cen_registry_listener listener)
{
    cen_listening *listening;
    entered = 0;
    begin();
    expect_equal(cen_registry_listen(registry, NULL, listener, NULL, &listening, &error), CEN_OK);
    follow();
    enter(0, NULL);
}

/* guarantees: mux-pool.batches */
TEST(entries_that_come_in_a_row_come_up_together)
{
    enter_first_with(bring_more);
    expect_equal(up(), 8);
    expect_equal(changes(), 1);
    expect_equal(joined_count, 8);
    end();
    expect(gone_count == 8 && left_count == 8);
}

/* guarantees: mux-pool.batches */
TEST(one_that_is_updated_or_goes_in_the_same_row_has_come_up_before)
{
    enter_first_with(update_and_remove);
    expect_equal(up(), 7);
    expect(joined_count == 9 && left_count == 2);
    unsigned seen[8] = {0};
    for (unsigned i = 0; i < 7; i++) {
        cen_route route;
        expect_equal(cen_router_route(router, NULL, CEN_NOW, &route, &error), CEN_OK);
        seen[*(int *)route.value]++;
        cen_route_done(&route, CEN_OUTCOME_OK, 0);
    }
    expect(seen[0] == 2 && seen[6] == 0 && seen[7] == 0);
    end();
    expect(gone_count == 9 && left_count == 9);
}

/* Is told after the router is: the others, which were to come up with the second, never do. */
static void unfollow_at_second(void *argument, const cen_registered *change)
{
    (void)argument;
    if (change->change != CEN_REGISTERED || change->value != &values[1]) return;
    expect_equal(cen_router_unfollow(following), CEN_OK);
    following = NULL;
}

/* guarantees: mux-pool.follow */
TEST(a_following_that_ends_in_a_row_of_entries_leaves_none_behind)
{
    cen_listening *first, *second;
    entered = 0;
    begin();
    expect_equal(cen_registry_listen(registry, NULL, bring_more, NULL, &first, &error), CEN_OK);
    follow();
    expect_equal(cen_registry_listen(registry, NULL, unfollow_at_second, NULL, &second, &error), CEN_OK);
    enter(0, NULL);
    expect_equal(up(), 0);
    expect_equal(joined_count, left_count);
    end();
    expect_equal(gone_count, 2);
    expect_equal(refused_count, 0);
}

TEST(a_closed_router_refuses_each_of_a_row)
{
    cen_listening *listening;
    entered = 0;
    begin();
    expect_equal(cen_registry_listen(registry, NULL, bring_more, NULL, &listening, &error), CEN_OK);
    follow();
    expect_equal(cen_router_close(router, CEN_NOW, NULL, NULL), CEN_OK);
    enter(0, NULL);
    expect(refused_count == 8 && refused_status == CEN_CLOSED);
    expect_equal(cen_following_count(following), 0);
    end();
    expect_equal(gone_count, 0);
}

/* guarantees: mux-pool.follow */
TEST(without_memory_in_a_row_of_entries_some_are_refused_and_all_others_come_up)
{
    bool failed = true;
    for (uint32_t nth = 1; failed; nth++) {
        joined_count = left_count = gone_count = refused_count = 0;
        begin();
        for (int i = 0; i < 8; i++) enter(i, NULL);
        ceni_fault_arm(CENI_FAULT_ALLOC, nth);
        cen_follow_options options =
            CEN_FOLLOW_OPTIONS(.member = &every, .refused = refused, .joined = joined, .left = left);
        cen_status status = cen_router_follow(router, registry, cen_key_text("up"), &options, &following, NULL);
        failed = ceni_fault_disarm();
        expect(status == CEN_OK || status == CEN_NO_MEMORY);
        if (status != CEN_OK) following = NULL;
        if (status == CEN_OK) expect_equal(up() + refused_count, 8);
        expect_equal(joined_count, up());
        unsigned were_up = joined_count;
        ceni_fault_arm(CENI_FAULT_ALLOC, 1); /* of the list of those who leave */
        expect_equal(cen_router_unfollow(following), CEN_OK);
        ceni_fault_disarm();
        following = NULL;
        end();
        expect(left_count == were_up && gone_count == were_up);
    }
    expect_equal(refused_count, 0);
}

/* The set cannot be replaced: those who leave together are replaced by the one who stays, and not by one another. */
TEST(members_that_leave_together_without_memory_are_not_picked_any_more)
{
    begin();
    cen_member *own;
    for (int i = 0; i < 4; i++) enter(i, NULL);
    follow();
    cen_member_options o = CEN_MEMBER_OPTIONS(.value = &values[7]);
    expect_equal(cen_router_add(router, &o, &own, &error), CEN_OK);
    expect_equal(cen_member_up(own, NULL), CEN_OK);
    has_memory = false; /* neither for a set now nor for a tidier one later */
    expect_equal(cen_router_unfollow(following), CEN_OK);
    following = NULL;
    for (unsigned i = 0; i < 20; i++) {
        cen_route route;
        expect_equal(cen_router_route(router, NULL, CEN_NOW, &route, &error), CEN_OK);
        expect(route.value == &values[7]);
        cen_route_done(&route, CEN_OUTCOME_OK, 0);
    }
    has_memory = true;
    end();
    expect_equal(gone_count, 4);
}

TEST(arguments_are_checked)
{
    begin();
    cen_follow_options bad = {.size = 1};
    expect_equal(cen_router_follow(NULL, registry, cen_key_text("up"), NULL, &following, &error), CEN_INVALID);
    expect_equal(cen_router_follow(router, NULL, cen_key_text("up"), NULL, &following, &error), CEN_INVALID);
    expect_equal(cen_router_follow(router, registry, cen_key_text(NULL), NULL, &following, &error), CEN_INVALID);
    expect_equal(cen_router_follow(router, registry, cen_key_text("up"), NULL, NULL, &error), CEN_INVALID);
    expect_equal(cen_router_follow(router, registry, cen_key_text("up"), &bad, &following, &error), CEN_INVALID);
    expect_equal(cen_router_unfollow(NULL), CEN_OK);
    expect_equal(cen_router_free(router), CEN_OK);
    expect_equal(cen_registry_free(registry), CEN_OK);
}
