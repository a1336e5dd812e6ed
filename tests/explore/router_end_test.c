/* SPDX-License-Identifier: MIT */
/* The end of uses, of members and of routers, under every schedule: each is noticed once, and nothing goes too early. */
#include "router/internal.h"

#include "explore/routers.h"

static cen_route held[2];

/* ---- The end of uses ---------------------------------------------------------------------- */

static void end_held(void *argument)
{
    int i = (int)(intptr_t)argument;
    ceni_store_seq_cst(&answers[i], (uint32_t)done(&held[i]));
}

/* guarantees: router.drain */
EXPLORE(a_drain_beside_the_end_of_the_last_use_ends, 4)
{
    make_router(1);
    held[0] = route_now();
    ceni_thread other = start("other", end_held, (void *)0);
    expect_equal(cen_member_drain(members[0], NULL), CEN_OK);
    poll_now();
    join(other);
    poll_now();
    expect_equal(cen_member_state_of(members[0]), CEN_MEMBER_DOWN);
    expect_equal(ceni_load_seq_cst(&answers[0]), CEN_OK);
    end_router();
}

static void hold_one(void *argument)
{
    held[(intptr_t)argument] = route_now(); /* on this thread's own stripe */
}

static void drain_with_two_out(unsigned count)
{
    stripes = count;
    make_router(1);
    held[0] = route_now();
    join(start("holder", hold_one, (void *)1));
    expect_equal(cen_member_drain(members[0], NULL), CEN_OK);
}

/* guarantees: router.drain */
EXPLORE(of_two_last_uses_that_end_at_once_one_ends_the_drain, 4)
{
    drain_with_two_out(2);
    poll_now();
    ceni_thread other = start("other", end_held, (void *)0);
    end_held((void *)1);
    join(other);
    expect_equal(cen_member_state_of(members[0]), CEN_MEMBER_DOWN);
    end_router();
}

/* guarantees: router.drain */
EXPLORE(two_uses_that_end_beside_the_grace_period_of_a_drain_end_it, 3)
{
    drain_with_two_out(1);
    ceni_thread one = start("one", end_held, (void *)0), two = start("two", end_held, (void *)1);
    poll_now();
    join(one);
    join(two);
    expect_equal(cen_member_state_of(members[0]), CEN_MEMBER_DOWN);
    end_router();
}

EXPLORE(of_two_last_uses_of_what_was_removed_neither_finds_it_freed, 4)
{
    make_router(1);
    held[0] = route_now();
    held[1] = route_now();
    expect_equal(cen_member_remove(members[0]), CEN_OK);
    poll_now();
    ceni_thread other = start("other", end_held, (void *)0);
    end_held((void *)1);
    poll_now();
    join(other);
    poll_now();
    expect_equal(ceni_load_seq_cst(&gone[0]), 1);
    end_router();
}

static void route_and_hold(void *unused)
{
    (void)unused;
    held[1] = (cen_route){0};
    ceni_store_seq_cst(&answers[1], (uint32_t)try_route(&held[1]));
}

/* guarantees: router.read */
EXPLORE(a_use_that_begins_while_its_member_is_removed_keeps_it, 4)
{
    make_router(1);
    held[0] = route_now();
    ceni_thread other = start("other", route_and_hold, NULL);
    expect_equal(cen_member_remove(members[0]), CEN_OK);
    expect_equal(done(&held[0]), CEN_DOWN);
    poll_now();
    join(other);
    poll_now();
    bool kept = ceni_load_seq_cst(&answers[1]) == CEN_OK;
    expect_equal(ceni_load_seq_cst(&gone[0]), !kept);
    if (kept) expect_equal(done(&held[1]), CEN_DOWN);
    poll_now();
    expect_equal(ceni_load_seq_cst(&gone[0]), 1);
    end_router();
}

/* Nobody can wait for as many uses: the count is put where its upper half begins. */
EXPLORE(a_count_of_very_many_uses_does_not_end_a_member_under_one, 3)
{
    stripes = 2;
    make_router(1);
    const uint64_t many = (~UINT64_C(0) >> 1) & (~UINT64_C(0) << CEN_USES_SHIFT_);
    for (uint32_t i = 0; i < 2; i++) ceni_store_seq_cst(&ceni_member_stripe(ceni_member_of(members[0]), i)->word, many);
    held[0] = route_now();
    join(start("holder", hold_one, (void *)1));
    expect_equal(cen_member_remove(members[0]), CEN_OK);
    ceni_thread other = start("other", end_held, (void *)1);
    poll_now();
    join(other);
    poll_now();
    expect_equal(ceni_load_seq_cst(&gone[0]), 0);
    expect_equal(done(&held[0]), CEN_DOWN);
    poll_now();
    expect_equal(ceni_load_seq_cst(&gone[0]), 1);
    end_router();
}

EXPLORE(a_use_that_ends_while_its_member_comes_up_and_drains_again_is_counted_once, 4)
{
    drain_with_two_out(2);
    poll_now();
    expect_equal(cen_member_down(members[0], NULL), CEN_OK);
    ceni_thread other = start("other", end_held, (void *)0);
    expect_equal(cen_member_up(members[0], NULL), CEN_OK);
    expect_equal(cen_member_drain(members[0], NULL), CEN_OK);
    poll_now();
    join(other);
    expect_equal(cen_member_state_of(members[0]), CEN_MEMBER_DRAINING);
    expect_equal(done(&held[1]), CEN_DOWN);
    expect_equal(cen_member_state_of(members[0]), CEN_MEMBER_DOWN);
    end_router();
}

EXPLORE(a_member_comes_up_beside_the_end_of_its_last_use, 4)
{
    make_router(1);
    held[0] = route_now();
    expect_equal(cen_member_drain(members[0], NULL), CEN_OK);
    poll_now();
    expect_equal(cen_member_down(members[0], NULL), CEN_OK);
    ceni_thread other = start("other", end_held, (void *)0);
    expect_equal(cen_member_up(members[0], NULL), CEN_OK);
    held[1] = route_now();
    expect_equal(done(&held[1]), CEN_OK);
    join(other);
    expect_equal(cen_member_state_of(members[0]), CEN_MEMBER_UP);
    expect_equal(cen_member_drain(members[0], NULL), CEN_OK);
    poll_now();
    expect_equal(cen_member_state_of(members[0]), CEN_MEMBER_DOWN);
    end_router();
}

/* Who ends a use of a member that has a limit looks at it again if somebody waits. */
EXPLORE(of_two_last_uses_of_what_was_removed_neither_finds_it_freed_although_somebody_waits, 4)
{
    cen_route_op waiting;
    make_router(1, .max_in_flight = 2);
    held[0] = route_now();
    held[1] = route_now();
    cen_route_op_init(&waiting, NULL, NULL);
    expect_equal(cen_router_route_async(router, NULL, CEN_NEVER, &waiting), CEN_OK);
    expect_equal(cen_member_remove(members[0]), CEN_OK);
    poll_now();
    ceni_thread other = start("other", end_held, (void *)0);
    end_held((void *)1);
    poll_now();
    join(other);
    poll_now();
    expect_equal(ceni_load_seq_cst(&gone[0]), 1);
    expect(cen_future_cancel(&waiting.future));
    end_router();
}
