/* SPDX-License-Identifier: MIT */
/* The end of a router, under every schedule, while its members are in use. */
#include "explore/routers.h"

static cen_route held;

static void end_held(void *unused)
{
    (void)unused;
    cen_status status = done(&held);
    expect(status == CEN_OK || status == CEN_DOWN);
}

static void end_held_and_poll(void *unused)
{
    end_held(unused);
    cen_runtime_poll(runtime);
}

/* guarantees: router.read */
EXPLORE(a_use_that_ends_while_its_router_is_freed_lets_go_of_all_once, 4)
{
    make_router(1);
    held = route_now();
    ceni_thread other = start("other", end_held, NULL);
    expect_equal(cen_router_free(router), CEN_OK);
    join(other);
    poll_now();
    expect_equal(ceni_load_seq_cst(&gone[0]), 1);
    end_runtime();
}

/* After a close that did not wait the member is watched before it is removed. */
EXPLORE(a_use_that_ends_while_a_router_is_freed_that_was_closed_before_lets_go_of_all_once, 4)
{
    make_router(1);
    held = route_now();
    expect_equal(cen_router_close(router, CEN_NOW, NULL, NULL), CEN_TIMEOUT);
    ceni_thread other = start("other", end_held_and_poll, NULL);
    expect_equal(cen_router_free(router), CEN_OK);
    join(other);
    poll_now();
    expect_equal(ceni_load_seq_cst(&gone[0]), 1);
    end_runtime();
}

static _Atomic uint32_t inside, closed;

static void route_beside_a_close(void *unused)
{
    (void)unused;
    bool after = ceni_load_seq_cst(&closed);
    cen_route route;
    cen_status status = try_route(&route);
    expect(status == CEN_CLOSED || (status == CEN_OK && !after));
    if (status != CEN_OK) return;
    ceni_store_seq_cst(&inside, 1);
    ceni_store_seq_cst(&inside, 0);
    done(&route);
}

EXPLORE(a_close_awaits_a_use_that_began_before_and_refuses_one_that_comes_later, 4)
{
    make_router(1);
    ceni_store_seq_cst(&inside, 0);
    ceni_store_seq_cst(&closed, 0);
    ceni_thread other = start("other", route_beside_a_close, NULL);
    cen_router_report report = CEN_SIZED(cen_router_report);
    expect_equal(cen_router_close(router, CEN_NEVER, &report, NULL), CEN_OK);
    expect_equal(ceni_load_seq_cst(&inside), 0);
    expect_equal(report.left, 0);
    ceni_store_seq_cst(&closed, 1);
    join(other);
    end_router();
}

static void route_and_end(void *unused)
{
    (void)unused;
    cen_route route;
    if (try_route(&route) == CEN_OK) done(&route);
}

/* No grace period passes in a close that is called in a section: somebody may still be about to begin a use. */
EXPLORE(a_close_in_a_section_does_not_end_a_member_under_its_uses, 3)
{
    stripes = 2;
    make_router(1);
    held = route_now();
    ceni_thread other = start("other", route_and_end, NULL);
    cen_read_begin();
    expect_equal(cen_router_close(router, CEN_NOW, NULL, NULL), CEN_TIMEOUT);
    cen_read_end();
    expect_equal(cen_member_remove(members[0]), CEN_OK);
    join(other);
    poll_now();
    expect_equal(ceni_load_seq_cst(&gone[0]), 0);
    expect_equal(done(&held), CEN_DOWN);
    poll_now();
    expect_equal(ceni_load_seq_cst(&gone[0]), 1);
    end_router();
}
