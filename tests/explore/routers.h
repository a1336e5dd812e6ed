/* SPDX-License-Identifier: MIT */
/*
 * Routers for explored programs. Their runtime is manual, so that the threads are
 * the test's own, and few: what has to wait for a grace period goes when one polls.
 */
#ifndef TESTS_EXPLORE_ROUTERS_H
#define TESTS_EXPLORE_ROUTERS_H

#include <cenote/router.h>

#include "base/atomic.h"
#include "support/world.h"

static const int64_t ms = 1000000;

static unsigned stripes = 1; /* of the members of the router that is made next */
static cen_runtime *runtime;
static cen_router *router;
static cen_member *members[3];
static int values[3];
static _Atomic uint32_t gone[3]; /* how often `gone` was called for each */
static _Atomic uint32_t answers[3];

static inline void note_gone(void *value)
{
    ceni_add_seq_cst(&gone[(int *)value - values], 1);
}

static inline void add_member(int i)
{
    cen_member_options options = CEN_MEMBER_OPTIONS(.name = "m", .value = &values[i], .gone = note_gone);
    expect_equal(cen_router_add(router, &options, &members[i], NULL), CEN_OK);
}

#define make_router(count, ...) make_router_of(count, CEN_ROUTER_OPTIONS(__VA_ARGS__))

/* With so many members that are up. */
static inline void make_router_of(int count, cen_router_options options)
{
    ceni_world_without_hooks();
    ceni_world_set_cpus(stripes);
    for (int i = 0; i < 3; i++) {
        ceni_store_relaxed(&gone[i], 0);    /* nobody else is there; carries nothing */
        ceni_store_relaxed(&answers[i], 0); /* the same; carries nothing */
    }
    cen_runtime_options manual = CEN_RUNTIME_OPTIONS(.manual = true, .virtual_time = true);
    expect_equal(cen_runtime_new(&manual, &runtime, NULL), CEN_OK);
    options.runtime = runtime;
    if (!options.strategy.type) options.strategy = cen_strategy_shared_round_robin();
    expect_equal(cen_router_new(&options, &router, NULL), CEN_OK);
    for (int i = 0; i < count; i++) {
        add_member(i);
        expect_equal(cen_member_up(members[i], NULL), CEN_OK);
    }
    cen_runtime_poll(runtime);
}

static inline cen_status try_route(cen_route *out)
{
    return cen_router_route(router, NULL, CEN_NOW, out, NULL);
}

static inline cen_route route_now(void)
{
    cen_route route = {0};
    expect_equal(try_route(&route), CEN_OK);
    return route;
}

static inline cen_status done(cen_route *route)
{
    return cen_route_done(route, CEN_OUTCOME_OK, 0);
}

static inline cen_router_stats look(void)
{
    cen_router_stats stats = CEN_SIZED(cen_router_stats);
    expect_equal(cen_router_stats_get(router, &stats), CEN_OK);
    return stats;
}

/* Releases what is in the bin, and what that puts there. */
static inline void poll_now(void)
{
    cen_runtime_poll(runtime);
}

static inline void end_runtime(void)
{
    poll_now();
    expect_equal(cen_runtime_free(runtime), CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
}

static inline void end_router(void)
{
    expect_equal(cen_router_free(router), CEN_OK);
    end_runtime();
}

#endif
