/* SPDX-License-Identifier: MIT */
/* Members that change under those who pick and use them, under every schedule. */
#include "explore/routers.h"

/* ---- Picks against changes ------------------------------------------------------------ */

static void peek_once(void *unused)
{
    (void)unused;
    cen_member *picked;
    cen_read_begin();
    if (cen_router_peek(router, NULL, &picked) == CEN_OK) {
        int i = (int)((int *)cen_member_value(picked) - values);
        expect_equal(ceni_load_seq_cst(&gone[i]), 0);
        expect_text(cen_member_name(picked), "m");
    }
    cen_read_end();
}

/* guarantees: router.read */
EXPLORE(what_a_peek_finds_stays_until_the_section_ends_although_it_is_removed, 4)
{
    make_router(2);
    ceni_thread reader = start("reader", peek_once, NULL);
    expect_equal(cen_member_remove(members[0]), CEN_OK);
    poll_now();
    join(reader);
    poll_now();
    expect_equal(ceni_load_seq_cst(&gone[0]), 1);
    end_router();
}

static void see_none_or_all(void *unused)
{
    (void)unused;
    cen_member *picked[3] = {NULL};
    cen_read_begin();
    cen_status status = cen_router_peek(router, NULL, &picked[0]);
    for (int i = 1; i < 3 && status == CEN_OK; i++) expect_equal(cen_router_peek(router, NULL, &picked[i]), CEN_OK);
    cen_read_end();
    if (status == CEN_OK) expect(picked[0] != picked[1] && picked[1] != picked[2] && picked[0] != picked[2]);
}

/* guarantees: router.together */
EXPLORE(those_who_come_up_together_are_seen_together, 4)
{
    make_router(0);
    for (int i = 0; i < 3; i++) add_member(i);
    ceni_thread reader = start("reader", see_none_or_all, NULL);
    size_t done_with = 0;
    expect_equal(cen_members_up(members, 3, &done_with, NULL), CEN_OK);
    expect_equal(done_with, 3);
    join(reader);
    end_router();
}

static void route_and_end(void *unused)
{
    (void)unused;
    cen_route route;
    if (try_route(&route) != CEN_OK) return;
    int i = (int)((int *)route.value - values);
    expect_equal(ceni_load_seq_cst(&gone[i]), 0);
    expect_text(cen_member_name(route.member), "m");
    cen_status status = done(&route);
    expect(status == CEN_OK || status == CEN_DOWN);
}

/* guarantees: router.read */
EXPLORE(a_member_that_is_removed_stays_until_its_last_use_has_ended, 4)
{
    make_router(1);
    ceni_thread user = start("user", route_and_end, NULL);
    expect_equal(cen_member_remove(members[0]), CEN_OK);
    poll_now();
    join(user);
    poll_now();
    expect_equal(ceni_load_seq_cst(&gone[0]), 1);
    expect_equal(look().zombies, 0);
    end_router();
}

/* Room for what a grace period and a poll do on a thread of their own. */
static void poll_there(void *unused)
{
    (void)unused;
    cen_runtime_poll(runtime);
}

EXPLORE(a_member_that_is_removed_stays_for_its_users_whoever_polls, 2)
{
    make_router(1);
    ceni_thread user = start("user", route_and_end, NULL), poller = start("poller", poll_there, NULL);
    expect_equal(cen_member_remove(members[0]), CEN_OK);
    join(user);
    join(poller);
    poll_now();
    expect_equal(ceni_load_seq_cst(&gone[0]), 1);
    end_router();
}

static _Atomic uint32_t is_down;

static void route_when_down(void *unused)
{
    (void)unused;
    uint32_t down = ceni_load_seq_cst(&is_down);
    cen_route route;
    cen_status status = try_route(&route);
    if (down) expect_equal(status, CEN_EMPTY);
    if (status == CEN_OK) done(&route);
}

/* guarantees: router.down */
EXPLORE(a_member_that_is_down_is_not_picked_by_a_route_that_begins_afterwards, 4)
{
    make_router(1);
    ceni_store_seq_cst(&is_down, 0);
    ceni_thread other = start("other", route_when_down, NULL);
    expect_equal(cen_member_down(members[0], NULL), CEN_OK);
    ceni_store_seq_cst(&is_down, 1);
    join(other);
    expect_equal(look().in_flight, 0);
    end_router();
}

EXPLORE(members_that_flap_under_a_route_are_there_for_it, 3)
{
    make_router(2);
    ceni_thread user = start("user", route_and_end, NULL);
    expect_equal(cen_member_down(members[0], NULL), CEN_OK);
    expect_equal(cen_member_up(members[0], NULL), CEN_OK);
    expect_equal(cen_member_remove(members[1]), CEN_OK);
    poll_now();
    join(user);
    expect_equal(look().in_flight, 0);
    end_router();
}

static cen_route held;
static _Atomic uint32_t flapped;

static void flap(void *unused)
{
    (void)unused;
    expect_equal(cen_member_down(members[0], NULL), CEN_OK);
    expect_equal(cen_member_up(members[0], NULL), CEN_OK);
    ceni_store_seq_cst(&flapped, 1);
}

/* guarantees: router.down */
EXPLORE(a_route_of_before_a_down_says_so_although_its_member_is_up_again, 4)
{
    make_router(1);
    ceni_store_seq_cst(&flapped, 0);
    held = route_now();
    ceni_thread other = start("other", flap, NULL);
    bool after = ceni_load_seq_cst(&flapped);
    cen_status status = done(&held);
    expect(status == CEN_DOWN || (status == CEN_OK && !after));
    join(other);
    end_router();
}

static void check_and_end(void *unused)
{
    (void)unused;
    cen_route route;
    if (try_route(&route) != CEN_OK) return;
    cen_status checked = cen_route_check(&route);
    ceni_store_seq_cst(&answers[0], 1); /* others may come here */
    cen_status status = done(&route);
    expect(checked == CEN_OK || status == CEN_DOWN);
}

EXPLORE(what_a_check_says_is_down_is_not_ended_as_if_it_had_been_up, 4)
{
    make_router(1);
    ceni_thread other = start("other", check_and_end, NULL);
    expect_equal(cen_member_down(members[0], NULL), CEN_OK);
    expect_equal(cen_member_up(members[0], NULL), CEN_OK);
    join(other);
    end_router();
}
