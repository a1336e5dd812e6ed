/* SPDX-License-Identifier: MIT */
/*
 * cenote's router, through its shared library, with default settings and no
 * limits: for each strategy a peek in its read section, and a route with its done.
 */
#include <cenote/router.h>
#include <stdlib.h>

#include "../rules/picks_loop.h"
#include "contestants.h"

static void *set_up_with(cen_strategy strategy, unsigned members)
{
    cen_error error = {0};
    cen_router *router;
    cen_router_options options = CEN_ROUTER_OPTIONS(.name = "bench", .strategy = strategy);
    if (cen_router_new(&options, &router, &error) != CEN_OK) bench_fail("cen_router_new: %s", error.text);
    cen_member **all = bench_zeroed(members, sizeof *all);
    for (unsigned i = 0; i < members; i++) {
        cen_member_options each = CEN_MEMBER_OPTIONS(.value = (void *)(uintptr_t)(i + 1));
        if (cen_router_add(router, &each, &all[i], &error) != CEN_OK) bench_fail("cen_router_add: %s", error.text);
    }
    if (cen_members_up(all, members, NULL, NULL) != CEN_OK) bench_fail("members do not come up");
    free(all);
    return router;
}

void verify_router(void *set)
{
    cen_router_stats stats = CEN_SIZED(cen_router_stats);
    if (cen_router_stats_get(set, &stats) != CEN_OK || stats.in_flight != 0)
        bench_fail("members are in use %llu times, and nobody uses them", (unsigned long long)stats.in_flight);
}

static unsigned index_of(void *set, const cen_member *member)
{
    (void)set;
    return (unsigned)(uintptr_t)cen_member_value(member) - 1;
}

static inline cen_member *peek(void *set, const cen_route_hint *pick)
{
    cen_member *member;
    cen_read_begin();
    if (cen_router_peek(set, pick, &member) != CEN_OK) bench_fail("cen_router_peek found nothing");
    cen_read_end();
    return member;
}

static inline cen_member *route(void *set, const cen_route_hint *pick)
{
    cen_route route;
    if (cen_router_route(set, pick, CEN_NOW, &route, NULL) != CEN_OK) bench_fail("cen_router_route found nothing");
    cen_member *member = route.member;
    cen_route_done(&route, CEN_OUTCOME_OK, 0);
    return member;
}

static inline cen_member *use_peek(void *set, struct pick_worker *worker)
{
    (void)worker;
    return peek(set, NULL);
}

static inline cen_member *use_route(void *set, struct pick_worker *worker)
{
    (void)worker;
    return route(set, NULL);
}

/* Each time another key. */
static inline cen_member *use_peek_key(void *set, struct pick_worker *worker)
{
    pick_random(worker, 1);
    return peek(set, &(cen_route_hint){.key = worker->noise});
}

static inline cen_member *use_route_key(void *set, struct pick_worker *worker)
{
    pick_random(worker, 1);
    return route(set, &(cen_route_hint){.key = worker->noise});
}

PICKS(peek, use_peek, index_of)
PICKS(route, use_route, index_of)
PICKS(peek_key, use_peek_key, index_of)
PICKS(route_key, use_route_key, index_of)

/* One router for both of a strategy: each member that comes up publishes a new set, which takes its time with ten thousand. */
#define STRATEGY(name) \
    void *set_up_##name(unsigned members) \
    { \
        static void *router; \
        if (router == NULL) router = set_up_with(cen_strategy_##name(), members); \
        return router; \
    }

STRATEGY(random)
STRATEGY(round_robin)
STRATEGY(shared_round_robin)
STRATEGY(strict_round_robin)
STRATEGY(least_in_flight)
STRATEGY(two_choices)
STRATEGY(peak_ewma)
STRATEGY(weighted)
STRATEGY(consistent_hash)

/* A peek by load, or by who was picked longest ago, changes nothing: so it may come to the same member each time. */
#define BOTH(name, strategy, own, kind_of_peek, kind_of_route) \
    {"peek-" name, own, kind_of_peek, set_up_##strategy, peek_loop, peek_check, verify_router}, \
    { \
        "route-" name, own "-counted", kind_of_route, set_up_##strategy, route_loop, route_check, verify_router \
    }

const struct pick_contestant cenote_contestants[] = {
    BOTH("random", random, "random", PICK_RANDOM, PICK_RANDOM),
    BOTH("turn", round_robin, "turn", PICK_EVEN, PICK_EVEN),
    BOTH("shared", shared_round_robin, "turn", PICK_TOGETHER, PICK_TOGETHER),
    BOTH("strict", strict_round_robin, "turn", PICK_ANY, PICK_TOGETHER),
    BOTH("least", least_in_flight, "turn", PICK_ANY, PICK_ANY),
    BOTH("two", two_choices, "two", PICK_ANY, PICK_ANY),
    BOTH("ewma", peak_ewma, "random", PICK_ANY, PICK_ANY),
    BOTH("weighted", weighted, "random", PICK_RANDOM, PICK_RANDOM),
    {"peek-hash", "hash", PICK_ANY, set_up_consistent_hash, peek_key_loop, peek_key_check, verify_router},
    {"route-hash", "hash-counted", PICK_ANY, set_up_consistent_hash, route_key_loop, route_key_check, verify_router},
    {NULL, NULL, PICK_ANY, NULL, NULL, NULL, NULL},
};
