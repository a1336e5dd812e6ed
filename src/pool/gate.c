/* SPDX-License-Identifier: MIT */
/* Back-off with full jitter, circuit breaker and slow start; gate.h explains them. */
#include "pool/gate.h"

#include "base/plant.h"
#include "port/port.h"

#define FREELY UINT32_MAX

enum { MOST_COUNTED = 64 }; /* beyond this many openings at a time a slow start is over */

void ceni_gate_init(ceni_gate *gate, bool has_floor)
{
    *gate = (ceni_gate){.admits = FREELY, .until = CENI_FOREVER, .has_floor = has_floor};
}

static int64_t after(int64_t now, int64_t delay)
{
    return delay < CENI_FOREVER - now ? now + delay : CENI_FOREVER - 1;
}

static int64_t doubled(uint32_t failures, const cen_pool_options *limits)
{
    int64_t bound = limits->backoff_initial_ns;
    for (uint32_t i = 1; i < failures && bound < limits->backoff_max_ns; i++)
        bound = bound > limits->backoff_max_ns / 2 ? limits->backoff_max_ns : bound * 2;
    return bound;
}

/* The longest delay now: a fraction of the time for which no object could be opened; or, if other objects can be
 * lent, doubled with each failure. Between backoff_initial_ns and backoff_max_ns. A login that was refused is refused
 * again until somebody changes it, and servers lock accounts after too many tries. */
static int64_t bound_at(const ceni_gate *gate, const cen_pool_options *limits, int64_t now, bool serves)
{
    if (limits->backoff_initial_ns == CEN_OFF) return CENI_GATE_FLOOR_NS;
    if (gate->last.cause == CEN_CAUSE_LOGIN_REFUSED) return limits->backoff_max_ns;
    bool patient = serves && !ceni_planted(full_server_is_pressed);
    int64_t bound = patient ? doubled(gate->failures, limits) : (now - gate->since) / CENI_GATE_PART;
    if (bound < limits->backoff_initial_ns) bound = limits->backoff_initial_ns;
    return bound < limits->backoff_max_ns ? bound : limits->backoff_max_ns;
}

/* Full jitter, above the floor; never zero, so that time passes. */
static int64_t drawn(int64_t bound, bool jitters, uint64_t random)
{
    int64_t delay = jitters ? 1 + (int64_t)(random % (uint64_t)bound) : bound;
    return delay < CENI_GATE_FLOOR_NS && bound >= CENI_GATE_FLOOR_NS ? CENI_GATE_FLOOR_NS : delay;
}

static bool never_shuts(const ceni_gate *gate, const cen_pool_options *limits)
{
    return limits->backoff_initial_ns == CEN_OFF && (!gate->has_floor || ceni_planted(backoff_off_is_a_loop));
}

void ceni_gate_begin(ceni_gate *gate, const cen_pool_options *limits, int64_t now, uint32_t others, bool serves)
{
    gate->tried_at = now;
    if (gate->failures == 0 || never_shuts(gate, limits)) return;
    int64_t bound = bound_at(gate, limits, now, serves), even = gate->took / limits->max_concurrent_opens;
    bool more =
        gate->took > bound && others + 1 < limits->max_concurrent_opens && !ceni_planted(hanging_probe_keeps_others);
    gate->until = more ? after(now, bound > even ? bound : even) : CENI_FOREVER;
}

bool ceni_gate_fail(ceni_gate *gate, const cen_pool_options *limits, int64_t began, int64_t now, bool serves,
                    uint64_t random, const cen_error *why)
{
    gate->last = *why;
    gate->failed_at = now;
    if (began < gate->recovered_at && !ceni_planted(old_failure_shuts_the_gate)) return false;
    if (gate->failures == 0) gate->since = began;
    if (gate->failures < UINT32_MAX) gate->failures++;
    gate->took = now - began;
    bool backs_off = limits->backoff_initial_ns != CEN_OFF;
    gate->failed += !backs_off;
    if (never_shuts(gate, limits) || ceni_planted(backoff_skipped)) return false;
    int64_t until = after(now, drawn(bound_at(gate, limits, now, serves), backs_off, random));
    bool longer = gate->admits > 0 || until > gate->until; /* another running opening may have failed before */
    if (longer) gate->until = until;
    gate->admits = 0;
    bool opens =
        backs_off && limits->breaker_failures != CEN_OFF && gate->failures >= (uint32_t)limits->breaker_failures;
    bool opened = opens && gate->breaker == CEN_BREAKER_CLOSED;
    if (opened) gate->broke_at = now;
    if (opens) gate->breaker = CEN_BREAKER_OPEN;
    return opened;
}

/* The other running openings hang, or began like this one; they must not delay the next. */
bool ceni_gate_succeed(ceni_gate *gate, int64_t now, uint32_t others)
{
    bool closed = gate->breaker != CEN_BREAKER_CLOSED;
    bool recovers = gate->failures > 0;
    gate->failures = 0;
    gate->breaker = CEN_BREAKER_CLOSED;
    gate->until = CENI_FOREVER;
    if (recovers) {
        gate->recovered_at = now;
        /* the one that succeeded was the first */
        gate->admits = ceni_planted(recovery_admits_all) ? FREELY : 2 + others;
    } else if (gate->admits != FREELY) {
        gate->admits = gate->admits * 2 > MOST_COUNTED ? FREELY : gate->admits * 2;
    }
    return closed;
}

bool ceni_gate_pass_time(ceni_gate *gate, int64_t now, uint32_t others)
{
    if (gate->until == CENI_FOREVER || now < gate->until) return false;
    gate->admits = others + 1;
    gate->until = CENI_FOREVER;
    if (gate->breaker == CEN_BREAKER_OPEN) gate->breaker = CEN_BREAKER_HALF_OPEN;
    return true;
}

int64_t ceni_gate_next(const ceni_gate *gate)
{
    return gate->until;
}
