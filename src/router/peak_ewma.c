/* SPDX-License-Identifier: MIT */
/*
 * Peak EWMA: of two random members, the one that would reply sooner.
 *
 * The cost of a member is its latency times the uses that it would have. The latency is a moving average. It jumps up
 * with every slower reply and decays slowly: half of it is left after seven seconds, a quarter after fourteen, and so
 * on, with or without replies. So a member that has become slow is avoided at once and tried again later. The slower it
 * was compared with the others, the later.
 *
 * A failure doubles the average, however fast it was. Otherwise a member that fails fast would attract all requests. A
 * member without any reply yet counts as slow. A member that joins starts without an average: the old one is about an
 * earlier connection.
 *
 * The average is one word of the member, which all threads read and write. An update that is lost to another is one
 * reply less in an average.
 */
#include "base/plant.h"
#include "router/set.h"
#include "router/use.h"

enum { UNKNOWN_NS = 1000 * 1000 * 1000 }; /* of a member that has not replied yet, and has uses or has failed */
static const int64_t HALF_NS = INT64_C(7) * 1000 * 1000 * 1000;
static const int64_t MOST_NS = INT64_C(100) * 1000 * 1000 * 1000;

typedef struct average {
    _Atomic int64_t stamp; /* when it was written */
} average;

/* How much of an average is left after `age`: 2 to the power of minus the number of halvings. The fraction is a
 * polynomial that is exact at both ends and off by at most a thousandth between them. Its slope at 0 is that of the
 * power, so small steps add up to the same as a large one. */
static double left_after(int64_t age)
{
    if (age <= 0) return 1;
    int64_t halvings = age / HALF_NS;
    if (halvings >= 63) return 0;
    double x = (double)(age % HALF_NS) / (double)HALF_NS;
    return (1 - x * (0.693147 - x * (0.240227 - x * 0.047080))) / (double)(UINT64_C(1) << halvings);
}

static double left_at(const ceni_member *member, int64_t now)
{
    return left_after(now - ceni_load_relaxed(&((average *)member->data)->stamp)); /* an estimate; carries nothing */
}

static uint64_t cost_of(cen_member *cell, int64_t now)
{
    ceni_member *member = ceni_member_of(cell);
    uint64_t load = ceni_member_load(cell);
    int64_t latency = ceni_load_relaxed(&member->latency); /* an estimate; carries nothing */
    if (latency <= 0) return load * UNKNOWN_NS;
    return ((uint64_t)((double)latency * left_at(member, now)) + 1) * (load + 1);
}

static cen_member *pick(void *state, const cen_member_set *set, const cen_route_hint *wish, bool used)
{
    (void)state, (void)wish, (void)used;
    if (set->count == 1) return ceni_set_at(set, 0);
    uint64_t random = ceni_route_random();
    uint32_t first = (uint32_t)((random >> 32) * set->count >> 32);
    uint32_t other = first + 1 + (uint32_t)((random & UINT32_MAX) * (set->count - 1) >> 32);
    if (other >= set->count) other -= set->count;
    cen_member *one = ceni_set_at(set, first), *two = ceni_set_at(set, other);
    int64_t now = ceni_runtime_now(ceni_member_of(one)->router->runtime);
    bool second = cost_of(two, now) < cost_of(one, now);
    ceni_use_look_now_and_then(second ? one : two, random);
    return second ? two : one;
}

static void write_down(ceni_member *member, int64_t latency_ns, int64_t now)
{
    ceni_store_relaxed(&member->latency, latency_ns);           /* an estimate; carries nothing */
    ceni_store_relaxed(&((average *)member->data)->stamp, now); /* the same; carries nothing */
}

static void joined(void *state, cen_member *cell)
{
    (void)state;
    ceni_member *member = ceni_member_of(cell);
    write_down(member, 0, ceni_runtime_now(member->router->runtime));
}

static void ended(void *state, cen_member *cell, int64_t latency_ns, bool failed)
{
    (void)state;
    if (latency_ns < 0) return;
    ceni_member *member = ceni_member_of(cell);
    int64_t now = ceni_runtime_now(member->router->runtime);
    int64_t known = ceni_load_relaxed(&member->latency); /* an estimate; carries nothing */
    double left = left_at(member, now);
    int64_t before = (int64_t)((double)known * left);
    if (latency_ns > MOST_NS) latency_ns = MOST_NS;
    if (failed && !ceni_planted(failures_are_answers)) {
        latency_ns = 2 * (latency_ns > before ? latency_ns : before);
        if (known <= 0 && latency_ns < UNKNOWN_NS) latency_ns = UNKNOWN_NS;
        if (latency_ns > MOST_NS) latency_ns = MOST_NS;
    }
    if (latency_ns < before) {
        latency_ns = (int64_t)((double)known * left + (double)latency_ns * (1 - left) + 0.5);
        /* so little time has passed that the difference would be rounded away: leave the stamp, so that it adds up */
        if (latency_ns == known) return;
    }
    write_down(member, latency_ns > 0 ? latency_ns : 1, now);
}

cen_strategy cen_strategy_peak_ewma(void)
{
    static const cen_strategy_type type = {.size = sizeof type,
                                           .name = "peak EWMA",
                                           .needs = CEN_STRATEGY_LOAD | CEN_STRATEGY_LATENCY,
                                           .member_size = sizeof(average),
                                           .joined = joined,
                                           .pick = pick,
                                           .ended = ended};
    return (cen_strategy){.type = &type};
}
