/* SPDX-License-Identifier: MIT */
/* Those who wait for a member, under every schedule: nobody waits beside room, and a wait ends once. */
#include "explore/routers.h"

static cen_route held;
static cen_route_op waiting[2];

static void ask(int i, cen_deadline deadline)
{
    cen_route_op_init(&waiting[i], NULL, NULL);
    expect_equal(cen_router_route_async(router, NULL, deadline, &waiting[i]), CEN_OK);
}

static void ask_there(void *argument)
{
    ask((int)(intptr_t)argument, CEN_NEVER);
}

static void end_held(void *unused)
{
    (void)unused;
    expect_equal(done(&held), CEN_OK);
}

static void expect_served(int i)
{
    expect(cen_future_is_done(&waiting[i].future));
    expect_equal(waiting[i].future.status, CEN_OK);
    expect_equal(done(&waiting[i].route), CEN_OK);
}

static void prepare(int count)
{
    make_router(count, .max_in_flight = 1);
    if (count > 0) held = route_now();
}

/* guarantees: router.L3 */
EXPLORE(who_begins_to_wait_while_the_only_use_ends_is_served, 4)
{
    prepare(1);
    ceni_thread other = start("other", ask_there, (void *)0);
    end_held(NULL);
    join(other);
    expect_served(0);
    expect(look().waiting == 0 && look().in_flight == 0);
    end_router();
}

EXPLORE(of_two_who_wait_for_one_place_each_has_it_in_turn, 3)
{
    prepare(1);
    ceni_thread one = start("one", ask_there, (void *)0), two = start("two", ask_there, (void *)1);
    end_held(NULL);
    join(one);
    join(two);
    int first = cen_future_is_done(&waiting[0].future) ? 0 : 1;
    expect(!cen_future_is_done(&waiting[1 - first].future));
    expect_served(first);
    expect_served(1 - first);
    end_router();
}

/* guarantees: router.L3 */
EXPLORE(who_begins_to_wait_while_a_member_comes_up_is_served, 4)
{
    prepare(0);
    add_member(0);
    ceni_thread other = start("other", ask_there, (void *)0);
    expect_equal(cen_member_up(members[0], NULL), CEN_OK);
    join(other);
    expect_served(0);
    end_router();
}

static cen_route had[2];

static void try_there(void *argument)
{
    int i = (int)(intptr_t)argument;
    ceni_store_seq_cst(&answers[i], (uint32_t)try_route(&had[i]));
}

static void end_had(void)
{
    for (int i = 0; i < 2; i++)
        if (ceni_load_seq_cst(&answers[i]) == CEN_OK) expect_equal(done(&had[i]), CEN_OK);
}

/* guarantees: router.limits */
EXPLORE(of_two_who_want_the_only_place_one_has_it_and_one_is_told_full, 4)
{
    make_router(1, .max_in_flight = 1);
    ceni_thread other = start("other", try_there, (void *)1);
    try_there((void *)0);
    join(other);
    uint32_t one = ceni_load_seq_cst(&answers[0]), two = ceni_load_seq_cst(&answers[1]);
    expect((one == CEN_OK && two == CEN_FULL) || (one == CEN_FULL && two == CEN_OK));
    expect(look().in_flight == 1 && look().uses == 1);
    end_had();
    end_router();
}

/* guarantees: router.limits */
EXPLORE(of_two_who_want_the_last_use_of_a_member_one_has_it_and_it_drains, 4)
{
    make_router(1, .max_uses = 1);
    ceni_thread other = start("other", try_there, (void *)1);
    try_there((void *)0);
    join(other);
    uint32_t one = ceni_load_seq_cst(&answers[0]), two = ceni_load_seq_cst(&answers[1]);
    expect((one == CEN_OK) + (two == CEN_OK) == 1);
    expect_equal(cen_member_state_of(members[0]), CEN_MEMBER_DRAINING);
    end_had();
    poll_now();
    expect_equal(cen_member_state_of(members[0]), CEN_MEMBER_DOWN);
    end_router();
}

/* ---- How a wait ends ------------------------------------------------------------------------- */

static void advance_there(void *unused)
{
    (void)unused;
    expect_equal(cen_runtime_advance(runtime, 20 * ms), CEN_OK);
}

static void expect_ended_once(bool cancelled)
{
    if (cancelled) {
        expect(!cen_future_is_done(&waiting[0].future));
    } else {
        expect(cen_future_is_done(&waiting[0].future));
        cen_status status = waiting[0].future.status;
        expect(status == CEN_OK || status == CEN_TIMEOUT);
        if (status == CEN_OK) expect_equal(done(&waiting[0].route), CEN_OK);
        else expect(!waiting[0].route.member);
    }
    expect(look().waiting == 0 && look().in_flight == 0);
}

EXPLORE(a_grant_and_a_deadline_end_a_wait_once, 4)
{
    prepare(1);
    ask(0, cen_in_ms(10));
    ceni_thread other = start("other", end_held, NULL);
    advance_there(NULL);
    join(other);
    expect_ended_once(false);
    end_router();
}

EXPLORE(a_grant_and_a_cancel_end_a_wait_once, 4)
{
    prepare(1);
    ask(0, CEN_NEVER);
    ceni_thread other = start("other", end_held, NULL);
    bool cancelled = cen_future_cancel(&waiting[0].future);
    join(other);
    expect_ended_once(cancelled);
    end_router();
}

/* guarantees: router.L3 */
EXPLORE(a_grant_a_deadline_and_a_cancel_end_a_wait_once, 3)
{
    prepare(1);
    ask(0, cen_in_ms(10));
    ceni_thread one = start("one", end_held, NULL), two = start("two", advance_there, NULL);
    bool cancelled = cen_future_cancel(&waiting[0].future);
    join(one);
    join(two);
    expect_ended_once(cancelled);
    end_router();
}

EXPLORE(who_asks_while_a_router_is_closed_is_served_or_told_closed, 4)
{
    make_router(0);
    ceni_thread other = start("other", ask_there, (void *)0);
    cen_router_report report = CEN_SIZED(cen_router_report);
    expect_equal(cen_router_close(router, CEN_NOW, &report, NULL), CEN_OK);
    join(other);
    expect(cen_future_is_done(&waiting[0].future));
    expect_equal(waiting[0].future.status, CEN_CLOSED);
    expect(report.waited <= 1);
    end_router();
}

EXPLORE(a_router_is_freed_beside_its_alarm, 4)
{
    make_router(0);
    ask(0, cen_in_ms(10));
    ceni_thread other = start("other", advance_there, NULL);
    expect_equal(cen_router_free(router), CEN_OK);
    join(other);
    expect(cen_future_is_done(&waiting[0].future));
    cen_status status = waiting[0].future.status;
    expect(status == CEN_CLOSED || status == CEN_TIMEOUT);
    end_runtime();
}

static _Atomic uint32_t cancelled_there;

static void cancel_there(void *unused)
{
    (void)unused;
    ceni_store_seq_cst(&cancelled_there, cen_future_cancel(&waiting[0].future));
}

EXPLORE(who_gives_up_while_the_router_is_freed_is_told_or_not_and_touches_nothing_of_it, 4)
{
    make_router(0);
    ask(0, CEN_NEVER);
    ceni_thread other = start("other", cancel_there, NULL);
    expect_equal(cen_router_free(router), CEN_OK);
    join(other);
    expect_equal(cen_future_is_done(&waiting[0].future), !ceni_load_seq_cst(&cancelled_there));
    end_runtime();
}

/* ---- Listeners --------------------------------------------------------------------------------- */

static _Atomic uint32_t last_told, tellings, telling;

static void listen(void *unused, cen_member *member, cen_member_state from, cen_member_state to, const cen_error *cause)
{
    (void)unused, (void)member, (void)cause;
    expect_equal(ceni_exchange_acq_rel(&telling, 1), 0);
    uint32_t before = ceni_load_seq_cst(&last_told);
    expect(before == (uint32_t)from || (before == CEN_MEMBER_DOWN && from == CEN_MEMBER_UP && to == CEN_MEMBER_DOWN));
    ceni_store_seq_cst(&last_told, (uint32_t)to);
    ceni_add_seq_cst(&tellings, 1);
    ceni_exchange_acq_rel(&telling, 0);
}

static void up_and_down(void *unused)
{
    (void)unused;
    expect_equal(cen_member_up(members[0], NULL), CEN_OK);
    expect_equal(cen_member_down(members[0], NULL), CEN_OK);
}

EXPLORE(a_listener_is_told_by_one_at_a_time_in_order_and_hears_of_the_last_state, 4)
{
    ceni_store_seq_cst(&last_told, CEN_MEMBER_CONNECTING);
    ceni_store_seq_cst(&telling, 0);
    make_router(0, .changed = listen);
    add_member(0);
    ceni_thread other = start("other", up_and_down, NULL);
    expect_equal(cen_member_up(members[0], NULL), CEN_OK);
    join(other);
    expect_equal(ceni_load_seq_cst(&last_told), cen_member_state_of(members[0]));
    end_router();
}
