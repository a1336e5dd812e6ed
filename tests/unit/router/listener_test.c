/* SPDX-License-Identifier: MIT */
/* What a router's listener is told, in which order, and what it may do there. */
#include "port/rank.h"
#include "support/world.h"
#include "unit/router/routers.h"

static char story[4000];
static void (*inside)(cen_member *member, cen_member_state to);

static void listen(void *argument, cen_member *member, cen_member_state from, cen_member_state to,
                   const cen_error *cause)
{
    expect(argument == story);
    ceni_rank_expect_none("the test's listener");
    size_t length = strlen(story);
    snprintf(story + length, sizeof story - length, "%s:%s-%s%s%.9s ", cen_member_name(member),
             cen_member_state_name(from), cen_member_state_name(to), cause ? "=" : "", cause ? cause->text : "");
    if (inside) inside(member, to);
}

static void prepare(void)
{
    story[0] = '\0';
    inside = NULL;
    runtime = NULL;
}

static const cen_error reset = {.status = CEN_LOST, .text = "reset"};

TEST(each_change_is_told_from_which_state_to_which_with_its_cause)
{
    prepare();
    make_router(.changed = listen, .argument = story);
    cen_member *a = add(0, .name = "a");
    expect_text(story, "");
    cen_member_up(a, NULL);
    cen_member_up(a, NULL);
    cen_member_down(a, &reset);
    cen_member_up(a, NULL);
    cen_member_down(a, NULL);
    cen_member_up(a, NULL);
    cen_member_eject(a, 0, NULL);
    cen_member_restore(a, NULL);
    expect_text(story, "a:connecting-up a:up-down=reset a:down-up a:up-down a:down-up a:up-ejected a:ejected-up ");
    end_router();
}

TEST(that_a_member_is_full_is_seen_by_who_looks_and_told_to_nobody)
{
    prepare();
    make_router(.changed = listen, .argument = story, .max_in_flight = 1);
    cen_member *a = add_up(0, .name = "a");
    cen_route route = route_now();
    expect_equal(cen_member_state_of(a), CEN_MEMBER_FULL);
    expect(look().full == 1 && look().up == 0);
    done(&route);
    expect_equal(cen_member_state_of(a), CEN_MEMBER_UP);
    cen_member_down(a, &reset);
    expect_text(story, "a:connecting-up a:up-down=reset ");
    end_router();
}

TEST(a_drain_is_told_at_its_begin_and_at_its_end)
{
    prepare();
    make_router(.changed = listen, .argument = story);
    cen_member *a = add_up(0, .name = "a");
    cen_route route = route_now();
    cen_member_drain(a, NULL);
    ceni_world_settle();
    expect_text(story, "a:connecting-up a:up-draining ");
    done(&route);
    expect_text(story, "a:connecting-up a:up-draining a:draining-down ");
    end_router();
}

TEST(the_cause_of_a_former_end_is_not_told_for_a_later_one)
{
    prepare();
    make_router(.changed = listen, .argument = story);
    cen_member *a = add_up(0, .name = "a");
    cen_member_down(a, &reset);
    cen_member_up(a, NULL);
    cen_member_drain(a, NULL);
    ceni_world_settle();
    expect_text(story, "a:connecting-up a:up-down=reset a:down-up a:up-draining a:draining-down ");
    end_router();
}

static cen_member *other;
static unsigned depth, deepest;

static void take_down_other(cen_member *member, cen_member_state to)
{
    if (++depth > deepest) deepest = depth;
    if (member != other && to == CEN_MEMBER_UP) {
        expect_equal(cen_member_down(other, &reset), CEN_OK);
        expect_equal(cen_member_up(other, NULL), CEN_OK);
        expect_equal(cen_member_down(member, NULL), CEN_OK);
    }
    depth--;
}

TEST(a_listener_may_change_members_and_is_not_entered_again)
{
    prepare();
    depth = deepest = 0;
    make_router(.changed = listen, .argument = story);
    cen_member *a = add(0, .name = "a");
    other = add_up(1, .name = "b");
    story[0] = '\0';
    inside = take_down_other;
    cen_member_up(a, NULL);
    /* b came back before it could be told. */
    expect_text(story, "a:connecting-up a:up-down ");
    expect_equal(deepest, 1);
    expect_equal(cen_member_state_of(a), CEN_MEMBER_DOWN);
    expect_equal(cen_member_state_of(other), CEN_MEMBER_UP);
    end_router();
}

static void remove_it(cen_member *member, cen_member_state to)
{
    if (to == CEN_MEMBER_DOWN) {
        expect_equal(cen_member_remove(member), CEN_OK);
        ceni_world_settle();
        expect_equal(gone_of(0), 0); /* it is still being told */
        expect_text(cen_member_name(member), "a");
    }
}

TEST(a_listener_may_remove_the_member_that_it_is_told_about)
{
    prepare();
    inside = remove_it;
    make_router(.changed = listen, .argument = story);
    cen_member *a = add_up(0, .name = "a");
    cen_member_down(a, &reset);
    expect_text(story, "a:connecting-up a:up-down=reset ");
    ceni_world_settle();
    expect_equal(gone_of(0), 1);
    expect_equal(look().members, 0);
    end_router();
}

static void remove_when_drained(cen_member *member, cen_member_state to)
{
    if (to == CEN_MEMBER_DOWN) expect_equal(cen_member_remove(member), CEN_OK);
}

TEST(a_listener_may_remove_a_member_that_has_drained)
{
    prepare();
    inside = remove_when_drained;
    make_router(.changed = listen, .argument = story);
    cen_member *a = add_up(0, .name = "a");
    cen_route route = route_now();
    cen_member_drain(a, NULL);
    ceni_world_settle();
    done(&route);
    ceni_world_settle();
    expect_equal(gone_of(0), 1);
    end_router();
}

static void add_another(cen_member *member, cen_member_state to)
{
    (void)member;
    if (to == CEN_MEMBER_DOWN) add_up(1, .name = "b");
}

TEST(a_listener_may_add_a_member_and_use_the_router)
{
    prepare();
    inside = add_another;
    make_router(.changed = listen, .argument = story);
    cen_member *a = add_up(0, .name = "a");
    cen_member_down(a, NULL);
    expect_text(story, "a:connecting-up a:up-down b:connecting-up ");
    cen_route route = route_now();
    expect(route.value == &values[1]);
    done(&route);
    end_router();
}

static void free_all(cen_member *member, cen_member_state to)
{
    (void)member;
    if (to == CEN_MEMBER_DOWN) end_router();
}

TEST(a_listener_may_free_the_router)
{
    prepare();
    inside = free_all;
    make_router(.changed = listen, .argument = story);
    cen_member *a = add_up(0, .name = "a");
    cen_member_down(a, NULL);
    ceni_world_settle();
    expect(!router);
    expect_equal(gone_of(0), 1);
    expect_equal(ceni_world_bytes(), 0);
}

TEST(a_listener_that_hears_of_the_end_of_a_drain_on_a_helper_may_free_the_router)
{
    prepare();
    inside = free_all;
    make_router(.changed = listen, .argument = story);
    cen_member *a = add_up(0, .name = "a");
    cen_member_drain(a, NULL);
    ceni_world_settle();
    expect(!router);
    expect_equal(gone_of(0), 1);
    expect_equal(ceni_world_bytes(), 0);
}

TEST(what_is_removed_is_told_no_more)
{
    prepare();
    make_router(.changed = listen, .argument = story);
    cen_member *a = add_up(0, .name = "a");
    story[0] = '\0';
    cen_member_remove(a);
    ceni_world_settle();
    expect_text(story, "");
    end_router();
    expect_text(story, "");
}

static void come_up_and_go(cen_member *member, cen_member_state to)
{
    static int times;
    if (to != CEN_MEMBER_DOWN || times++ > 0) return;
    expect_equal(cen_member_up(member, NULL), CEN_OK);
    expect_equal(cen_member_down(member, NULL), CEN_OK);
}

TEST(a_member_that_came_up_and_went_down_again_while_it_was_told_down_is_told_again)
{
    prepare();
    inside = come_up_and_go;
    make_router(.changed = listen, .argument = story);
    cen_member *a = add_up(0, .name = "a");
    cen_member_down(a, &reset);
    /* Whoever waits for DOWN in order to connect again would otherwise wait for ever. */
    expect_text(story, "a:connecting-up a:up-down=reset a:up-down ");
    end_router();
}
