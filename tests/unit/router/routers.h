/* SPDX-License-Identifier: MIT */
/* A router with a few members, a listener that writes down what it is told, and short words for what tests say. */
#ifndef TESTS_UNIT_ROUTER_ROUTERS_H
#define TESTS_UNIT_ROUTER_ROUTERS_H

#include <cenote/cenote.h>
#include <cenote/router.h>

#include "base/atomic.h"
#include "port/port.h"
#include "support/test.h"

enum { VALUES = 16 };

static const int64_t second = 1000000000, ms = 1000000;
static const cen_deadline routers_own;

static cen_runtime *runtime;
static cen_router *router;
static int values[VALUES];            /* the members' */
static _Atomic uint32_t gone[VALUES]; /* how often `gone` was called for each value */

#define make_router(...) make_router_of(CEN_ROUTER_OPTIONS(__VA_ARGS__))

static inline void make_router_of(cen_router_options options)
{
    cen_error error = {.text = ""};
    for (int i = 0; i < VALUES; i++) ceni_store_seq_cst(&gone[i], 0);
    if (cen_router_new(&options, &router, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "no router: %s", error.text);
}

static inline cen_runtime *make_manual(void)
{
    cen_runtime_options options = CEN_RUNTIME_OPTIONS(.manual = true, .virtual_time = true);
    expect_equal(cen_runtime_new(&options, &runtime, NULL), CEN_OK);
    return runtime;
}

static inline void note_gone(void *value)
{
    ceni_add_seq_cst(&gone[(int *)value - values], 1);
}

static inline uint32_t gone_of(int i)
{
    return ceni_load_seq_cst(&gone[i]);
}

#define add(i, ...) add_of(CEN_MEMBER_OPTIONS(.value = &values[i], .gone = note_gone, __VA_ARGS__))
#define add_of(...) add_with((cen_member_options)__VA_ARGS__)

static inline cen_member *add_with(cen_member_options options)
{
    cen_error error = {.text = ""};
    cen_member *member = NULL;
    if (cen_router_add(router, &options, &member, &error) != CEN_OK)
        test_fail(__FILE__, __LINE__, "no member: %s", error.text);
    return member;
}

#define add_up(...) bring_up(add(__VA_ARGS__))

static inline cen_member *bring_up(cen_member *member)
{
    expect_equal(cen_member_up(member, NULL), CEN_OK);
    return member;
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

static inline void end_router(void)
{
    expect_equal(cen_router_free(router), CEN_OK);
    router = NULL;
}

static inline void end_all(void)
{
    end_router();
    if (runtime) expect_equal(cen_runtime_free(runtime), CEN_OK);
    runtime = NULL;
}

/* What has been put aside is released: a manual runtime's by polls, and the process' own in a world by its helper. */
static inline void poll_all(void)
{
    for (int i = 0; i < 8; i++) cen_runtime_poll(runtime);
}

#endif
