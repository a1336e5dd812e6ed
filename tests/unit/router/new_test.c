/* SPDX-License-Identifier: MIT */
/* Making routers and members: what the options say, and what is refused in words. */
#include "support/world.h"
#include "unit/router/routers.h"

static void expect_refused(cen_router_options options, const char *words)
{
    cen_error error = {.status = CEN_OK};
    cen_router *out = NULL;
    expect_equal(cen_router_new(&options, &out, &error), CEN_INVALID);
    expect_equal(error.status, CEN_INVALID);
    if (!strstr(error.text, words)) test_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", error.text, words);
    expect(!out);
    expect_equal(cen_router_new(&options, &out, NULL), CEN_INVALID);
}

#define refused(words, ...) expect_refused(CEN_ROUTER_OPTIONS(__VA_ARGS__), words)

static cen_member *pick_first(void *state, const cen_member_set *set, const cen_route_hint *pick, bool used)
{
    (void)state, (void)pick, (void)used;
    return cen_member_set_at(set, 0);
}

static void arrange_nothing(void *state, const cen_member_set *set, void *table)
{
    (void)state, (void)set, (void)table;
}

TEST(options_that_make_no_sense_are_refused_with_a_sentence_that_names_the_field)
{
    refused("options.target_in_flight must not be below CEN_OFF (got -2)", .target_in_flight = -2);
    refused("options.max_in_flight must not be below CEN_OFF (got -2)", .max_in_flight = -2);
    refused("options.max_uses must not be below CEN_OFF (got -3)", .max_uses = -3);
    refused("options.max_lifetime_ns must not be below CEN_OFF (got -9)", .max_lifetime_ns = -9);
    refused("options.max_waiters must not be below CEN_NONE (got -3)", .max_waiters = -3);
    refused("options.max_waiters must be at most 2147483647 (got 4294967296)", .max_waiters = INT64_C(1) << 32);
    cen_router_options sized = CEN_ROUTER_OPTIONS(.name = NULL);
    sized.size = 7;
    expect_refused(sized, "options.size must be 8 to 8192 (got 7, ");
    expect_equal(ceni_world_bytes(), 0);
}

TEST(a_strategy_that_lacks_something_is_refused_with_a_sentence)
{
    cen_strategy_type type = {.size = sizeof type, .name = "mine", .pick = pick_first};
    type.pick = NULL;
    refused("options.strategy.type needs name and pick", .strategy = {.type = &type});
    type.pick = pick_first;
    type.size = 3;
    refused("size", .strategy = {.type = &type});
    type.size = sizeof type;
    type.name = NULL;
    refused("options.strategy.type needs name and pick", .strategy = {.type = &type});
    type.name = "mine";
    type.arrange = arrange_nothing;
    refused("strategy \"mine\": arrange needs table_size", .strategy = {.type = &type});
}

TEST(a_router_needs_options_and_a_place)
{
    cen_router_options options = CEN_ROUTER_OPTIONS(.name = NULL);
    cen_error error = {.text = ""};
    expect_equal(cen_router_new(NULL, &router, &error), CEN_INVALID);
    expect(strstr(error.text, "options and out must not be NULL"));
    expect_equal(cen_router_new(&options, NULL, NULL), CEN_INVALID);
    expect_equal(cen_router_free(NULL), CEN_OK);
}

static cen_status refuse_init(const void *argument, const cen_allocator *allocator, void **state, cen_error *error)
{
    (void)allocator, (void)state;
    if (error && argument) *error = (cen_error){.status = CEN_LOST, .text = "no"};
    return CEN_LOST;
}

TEST(what_the_init_of_a_strategy_says_is_the_answer)
{
    cen_strategy_type type = {.size = sizeof type, .name = "mine", .pick = pick_first, .init = refuse_init};
    cen_router_options options = CEN_ROUTER_OPTIONS(.strategy = {.type = &type, .argument = "said"});
    cen_error error = {.text = ""};
    expect_equal(cen_router_new(&options, &router, &error), CEN_LOST);
    expect_text(error.text, "no");
    /* One that says nothing is named. */
    options.strategy.argument = NULL;
    error = (cen_error){.text = ""};
    expect_equal(cen_router_new(&options, &router, &error), CEN_LOST);
    expect_equal(error.status, CEN_LOST);
    expect(strstr(error.text, "strategy \"mine\" failed to initialise"));
    expect_equal(ceni_world_bytes(), 0);
}

static void expect_member_refused(cen_member_options options, const char *words)
{
    cen_error error = {.text = ""};
    cen_member *out = NULL;
    expect_equal(cen_router_add(router, &options, &out, &error), CEN_INVALID);
    if (!strstr(error.text, words)) test_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", error.text, words);
    expect(!out);
}

#define member_refused(words, ...) expect_member_refused(CEN_MEMBER_OPTIONS(__VA_ARGS__), words)

TEST(options_of_a_member_that_make_no_sense_are_refused_with_a_sentence)
{
    make_router(.name = "search");
    member_refused("options.weight of a member must be at most 65535 (got 65536)", .weight = 65536);
    member_refused("search", .weight = 65536);
    member_refused("router \"search\": options.target_in_flight of a member must not be below CEN_OFF (got -2)",
                   .target_in_flight = -2);
    member_refused("options.max_in_flight of a member", .max_in_flight = -2);
    member_refused("options.max_uses of a member", .max_uses = -2);
    member_refused("options.max_lifetime_ns of a member", .max_lifetime_ns = -2);
    cen_member_options sized = CEN_MEMBER_OPTIONS(.name = NULL);
    sized.size = 1;
    expect_member_refused(sized, "options.size must be 8 to 8192 (got 1, ");
    cen_error error = {.text = ""};
    cen_member *member = NULL;
    expect_equal(cen_router_add(router, NULL, &member, &error), CEN_INVALID);
    expect(strstr(error.text, "router, options and out must not be NULL"));
    expect_equal(look().members, 0);
    end_router();
    expect_equal(ceni_world_bytes(), 0);
}

static cen_member_stats rows[4];
static unsigned count;

static void note_row(void *argument, const cen_member_stats *member)
{
    (void)argument;
    rows[count++] = *member;
}

TEST(a_member_has_the_limits_of_its_router_unless_it_says_otherwise)
{
    make_router(.target_in_flight = 3, .max_in_flight = 7);
    add(0);
    add(1, .target_in_flight = 1, .max_in_flight = 2, .weight = 65535);
    add(2, .target_in_flight = CEN_OFF, .max_in_flight = CEN_OFF);
    count = 0;
    expect_equal(cen_router_each(router, note_row, NULL), CEN_OK);
    expect_equal(count, 3);
    expect(rows[0].target_in_flight == 3 && rows[0].max_in_flight == 7 && rows[0].weight == 1);
    expect(rows[1].target_in_flight == 1 && rows[1].max_in_flight == 2 && rows[1].weight == 65535);
    expect(rows[2].target_in_flight == 0 && rows[2].max_in_flight == 0);
    end_router();
}

TEST(a_members_name_is_copied_or_made_of_a_number_of_its_own_and_cut_if_it_is_long)
{
    make_router(.name = NULL);
    char name[] = "10.0.0.7:9000", many[200];
    memset(many, 'x', sizeof many);
    many[sizeof many - 1] = '\0';
    cen_member *named = add(0, .name = name), *second_one = add(1), *third = add(2);
    cen_member *same = add(3, .name = name), *longer = add(4, .name = many);
    name[0] = '?';
    expect_text(cen_member_name(named), "10.0.0.7:9000");
    expect_text(cen_member_name(same), "10.0.0.7:9000");
    expect(strstr(cen_member_name(second_one), "member "));
    expect(strcmp(cen_member_name(second_one), cen_member_name(third)) != 0);
    expect(strlen(cen_member_name(longer)) < sizeof many - 1 && strlen(cen_member_name(longer)) > 40);
    expect(cen_member_value(third) == &values[2]);
    end_router();
}

TEST(a_member_is_connecting_when_it_is_added_and_is_not_picked)
{
    make_router(.name = NULL);
    cen_member *member = add(0), *picked = NULL;
    cen_route route;
    expect_equal(cen_member_state_of(member), CEN_MEMBER_CONNECTING);
    expect_equal(look().connecting, 1);
    expect_equal(try_route(&route), CEN_EMPTY);
    cen_read_begin();
    expect_equal(cen_router_peek(router, NULL, &picked), CEN_EMPTY);
    cen_read_end();
    expect(!picked);
    end_router();
}

TEST(states_have_names)
{
    static const char *const names[] = {"connecting", "up", "full", "draining", "down", "ejected"};
    for (int i = 0; i <= CEN_MEMBER_EJECTED; i++) expect_text(cen_member_state_name((cen_member_state)i), names[i]);
    expect_text(cen_member_state_name((cen_member_state)99), "?");
    expect_text(cen_member_state_name((cen_member_state)-1), "?");
}

TEST(calls_without_a_router_or_a_member_or_a_place_are_invalid)
{
    cen_route route = {0};
    cen_route_op routing;
    cen_router_stats stats = CEN_SIZED(cen_router_stats);
    cen_member *member;
    cen_error error = {.text = ""};
    cen_route_op_init(NULL, NULL, NULL);
    cen_route_op_init(&routing, NULL, NULL);
    make_router(.name = NULL);
    expect_equal(cen_member_up(NULL, NULL), CEN_INVALID);
    expect_equal(cen_member_down(NULL, NULL), CEN_INVALID);
    expect_equal(cen_member_drain(NULL, NULL), CEN_INVALID);
    expect_equal(cen_member_eject(NULL, 1, NULL), CEN_INVALID);
    expect_equal(cen_member_restore(NULL, NULL), CEN_INVALID);
    expect_equal(cen_member_remove(NULL), CEN_INVALID);
    expect_equal(cen_router_peek(NULL, NULL, &member), CEN_INVALID);
    expect_equal(cen_router_peek(router, NULL, NULL), CEN_INVALID);
    expect_equal(cen_router_route(NULL, NULL, CEN_NOW, &route, &error), CEN_INVALID);
    expect(strstr(error.text, "router and out must not be NULL"));
    expect_equal(cen_router_route(router, NULL, CEN_NOW, NULL, NULL), CEN_INVALID);
    expect_equal(cen_router_route_async(NULL, NULL, CEN_NOW, &routing), CEN_INVALID);
    expect_equal(cen_router_route_async(router, NULL, CEN_NOW, NULL), CEN_INVALID);
    expect_equal(cen_router_stats_get(NULL, &stats), CEN_INVALID);
    expect_equal(cen_router_stats_get(router, NULL), CEN_INVALID);
    expect_equal(cen_router_each(NULL, note_row, NULL), CEN_INVALID);
    expect_equal(cen_router_each(router, NULL, NULL), CEN_INVALID);
    expect_equal(cen_router_close(NULL, CEN_NOW, NULL, NULL), CEN_INVALID);
    expect_equal(cen_route_done(NULL, CEN_OUTCOME_OK, 0), CEN_INVALID);
    expect_equal(cen_route_done(&route, (cen_outcome)3, 0), CEN_INVALID);
    expect_equal(cen_route_done(&route, CEN_OUTCOME_OK, 0), CEN_STALE);
    expect_equal(cen_route_check(NULL), CEN_INVALID);
    end_router();
}
