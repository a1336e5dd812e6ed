/* SPDX-License-Identifier: MIT */
/*
 * A router for the tests of strategies: members with numbers, on a manual
 * runtime with virtual time, so that nothing happens but what the test does; and
 * how a count of picks is judged.
 */
#ifndef TESTS_UNIT_ROUTER_STRATEGIES_H
#define TESTS_UNIT_ROUTER_STRATEGIES_H

#include <cenote/router.h>
#include <cenote/runtime.h>

#include "port/port.h"
#include "router/thread.h"
#include "support/test.h"

#define UNUSED __attribute__((unused))

enum { MOST = 4096 };
static const int64_t ms UNUSED = 1000 * 1000, second UNUSED = 1000 * 1000 * 1000;

static cen_runtime *runtime;
static cen_router *router;
static cen_member *members[MOST];
static uint64_t picked[MOST];

/* ---- Making and ending --------------------------------------------------------------- */

UNUSED static void make_runtime(void)
{
    cen_runtime_options o = CEN_RUNTIME_OPTIONS(.manual = true, .virtual_time = true);
    expect_equal(cen_runtime_new(&o, &runtime, NULL), CEN_OK);
}

UNUSED static cen_router *make_router(cen_strategy strategy)
{
    cen_error error = {0};
    cen_router *made = NULL;
    cen_router_options o = CEN_ROUTER_OPTIONS(.name = "test", .strategy = strategy, .runtime = runtime);
    cen_status status = cen_router_new(&o, &made, &error);
    if (status != CEN_OK) test_fail(__FILE__, __LINE__, "no router: %s", error.text);
    return made;
}

/* A member that is up, whose value is its number plus one. */
UNUSED static cen_member *add_to(cen_router *to, unsigned number, uint32_t weight)
{
    char name[24];
    snprintf(name, sizeof name, "m%u", number);
    cen_member *member = NULL;
    cen_member_options o = CEN_MEMBER_OPTIONS(.name = name, .value = (void *)(uintptr_t)(number + 1), .weight = weight);
    expect_equal(cen_router_add(to, &o, &member, NULL), CEN_OK);
    expect_equal(cen_member_up(member, NULL), CEN_OK);
    return member;
}

UNUSED static void begin_with(cen_strategy strategy, unsigned count)
{
    make_runtime();
    router = make_router(strategy);
    for (unsigned i = 0; i < count; i++) members[i] = add_to(router, i, 0);
}

UNUSED static void end_router(void)
{
    expect_equal(cen_router_free(router), CEN_OK);
    cen_runtime_poll(runtime);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
}

/* ---- Picking ------------------------------------------------------------------------- */

UNUSED static unsigned number_of(void *value)
{
    return (unsigned)(uintptr_t)value - 1;
}

UNUSED static unsigned peek_from(cen_router *from, const cen_route_hint *pick)
{
    cen_member *member = NULL;
    cen_read_begin();
    expect_equal(cen_router_peek(from, pick, &member), CEN_OK);
    unsigned number = number_of(cen_member_value(member));
    cen_read_end();
    return number;
}

UNUSED static unsigned peek(void)
{
    return peek_from(router, NULL);
}

UNUSED static unsigned route_with(const cen_route_hint *pick, cen_route *route)
{
    expect_equal(cen_router_route(router, pick, CEN_NOW, route, NULL), CEN_OK);
    return number_of(route->value);
}

/* A use that ends at once. */
UNUSED static unsigned use(void)
{
    cen_route route;
    unsigned number = route_with(NULL, &route);
    cen_status status = cen_route_done(&route, CEN_OUTCOME_OK, 0);
    expect(status == CEN_OK || status == CEN_DOWN); /* other threads may say down meanwhile */
    return number;
}

UNUSED static void pick_many(uint64_t times)
{
    memset(picked, 0, sizeof picked);
    for (uint64_t i = 0; i < times; i++) picked[peek()]++;
}

UNUSED static void start_thread(ceni_thread *thread, void (*run)(void *), void *argument)
{
    expect_equal(ceni_thread_start(thread, "picker", run, argument, NULL), CEN_OK);
}

/* ---- Judging ------------------------------------------------------------------------- */

/* The thread's own source begins with the printed seed, so that a failure can be had again. */
UNUSED static void seed_thread(void)
{
    ceni_route_room()[CENI_ROUTE_RANDOM] = test_seed() | 1;
}

/*
 * The sum that chi-square exceeds with probability 1e-9 if the counts are as they
 * should be: for so many degrees of freedom, the x at which the upper incomplete gamma
 * function Q(freedom / 2, x / 2) is 1e-9, found by bisection. One false alarm is to be
 * expected in a thousand million runs of a test.
 */
UNUSED static double chi_square_limit(unsigned freedom)
{
    static const struct {
        unsigned freedom;
        double limit;
    } limits[] = {{1, 37.32},   {2, 41.45},    {3, 44.84},     {9, 60.66},
                  {99, 207.90}, {255, 414.55}, {999, 1290.82}, {1999, 2401.85}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (limits[i].freedom == freedom) return limits[i].limit;
    test_fail(__FILE__, __LINE__, "no limit is known for %u degrees of freedom", freedom);
}

/* How far counts are from shares in proportion to weights; NULL: all alike. */
UNUSED static double chi_square(const uint64_t *counts, const uint32_t *weights, unsigned count)
{
    double total = 0, whole = 0, sum = 0;
    for (unsigned i = 0; i < count; i++) {
        total += (double)counts[i];
        whole += weights ? weights[i] : 1;
    }
    for (unsigned i = 0; i < count; i++) {
        double expected = total * (weights ? weights[i] : 1) / whole, off = (double)counts[i] - expected;
        expect(expected >= 5); /* below that chi-square is not what it is taken for */
        sum += off * off / expected;
    }
    return sum;
}

#define expect_shares(counts, weights, count) \
    do { \
        double sum_ = chi_square(counts, weights, count), limit_ = chi_square_limit((count)-1); \
        if (sum_ > limit_) test_fail(__FILE__, __LINE__, "chi-square is %.1f, at most %.1f", sum_, limit_); \
    } while (0)

#endif
