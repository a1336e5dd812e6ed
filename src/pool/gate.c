/* SPDX-License-Identifier: MIT */
/* Back-off with full jitter, breaker and slow start; see gate.h. */
#include "pool/gate.h"

#include "base/plant.h"
#include "port/port.h"

#define FREELY UINT32_MAX

enum { MOST_COUNTED = 64 }; /* openings at a time that a slow start counts up to */

void ceni_gate_init(ceni_gate *gate)
{
    *gate = (ceni_gate){.admits = FREELY, .until = CENI_FOREVER};
}

/* Up to `least`, twice that, and so on, up to `most`; never zero, so that time passes. */
static int64_t delay_after(uint32_t failures, const cen_pool_options *limits, uint64_t random)
{
    int64_t most = limits->backoff_least_ns;
    for (uint32_t i = 1; i < failures && most < limits->backoff_most_ns; i++)
        most = most > limits->backoff_most_ns / 2 ? limits->backoff_most_ns : most * 2;
    if (most > limits->backoff_most_ns) most = limits->backoff_most_ns;
    return 1 + (int64_t)(random % (uint64_t)most);
}

bool ceni_gate_fail(ceni_gate *gate, const cen_pool_options *limits, int64_t now, uint64_t random, const cen_error *why)
{
    gate->last = *why;
    gate->failed_at = now;
    if (gate->failures < UINT32_MAX) gate->failures++;
    if (limits->backoff_least_ns == CEN_OFF || ceni_planted(backoff_skipped)) return false;
    int64_t delay = delay_after(gate->failures, limits, random);
    int64_t until = delay < CENI_FOREVER - now ? now + delay : CENI_FOREVER - 1;
    bool longer = gate->admits > 0 || until > gate->until; /* another that was under way may have failed before */
    if (longer) gate->until = until;
    gate->admits = 0;
    bool opens = limits->breaker_failures != CEN_OFF && gate->failures >= (uint32_t)limits->breaker_failures;
    bool opened = opens && gate->breaker == CEN_BREAKER_CLOSED;
    if (opens) gate->breaker = CEN_BREAKER_OPEN;
    return opened;
}

bool ceni_gate_succeed(ceni_gate *gate)
{
    bool closed = gate->breaker != CEN_BREAKER_CLOSED;
    bool recovers = gate->failures > 0;
    gate->failures = 0;
    gate->breaker = CEN_BREAKER_CLOSED;
    gate->until = CENI_FOREVER;
    if (recovers) gate->admits = ceni_planted(recovery_admits_all) ? FREELY : 2; /* the one that succeeded was the first */
    else if (gate->admits != FREELY) gate->admits = gate->admits * 2 > MOST_COUNTED ? FREELY : gate->admits * 2;
    return closed;
}

bool ceni_gate_pass_time(ceni_gate *gate, int64_t now)
{
    if (gate->admits > 0 || now < gate->until) return false;
    gate->admits = 1;
    gate->until = CENI_FOREVER;
    if (gate->breaker == CEN_BREAKER_OPEN) gate->breaker = CEN_BREAKER_PROBING;
    return true;
}

int64_t ceni_gate_next(const ceni_gate *gate)
{
    return gate->admits > 0 ? CENI_FOREVER : gate->until;
}
