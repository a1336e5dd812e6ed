/* SPDX-License-Identifier: MIT */
/*
 * The gate: whether, and how many at a time, objects may be opened, by how
 * opening went lately (L11).
 *
 *                      failure                 time is over
 *     FREE ─────────────────────▶ SHUT ───────────────────▶ ONE
 *      ▲                           ▲ until a random moment,  │ success: 2, 4, 8 ... at a time,
 *      │                           │ longer with each        │ then as many as the pool allows
 *      │                           └──────── failure ────────┤
 *      └─────────────────────────────────────────────────────┘
 *
 * After breaker_failures failures in a row the breaker is open while the gate
 * is shut, and probing while one is tried: then nobody should wait who waits
 * only for an opening. Everything is under the pool's lock and reads no clock.
 */
#ifndef CENI_POOL_GATE_H
#define CENI_POOL_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include <cenote/pool.h>

typedef struct ceni_gate {
    uint32_t failures; /* in a row */
    uint32_t admits;   /* openings at a time; 0: shut until the moment below */
    int64_t until;
    cen_breaker breaker;
    int64_t failed_at; /* the last failure; 0: never */
    cen_error last;    /* what it was; kept after success, for those who ask */
} ceni_gate;

void ceni_gate_init(ceni_gate *gate);

/* An opening has failed, or taken too long. True if the breaker has opened. */
bool ceni_gate_fail(ceni_gate *gate, const cen_pool_options *limits, int64_t now, uint64_t random, const cen_error *why);

/* An opening has succeeded. True if the breaker has closed. */
bool ceni_gate_succeed(ceni_gate *gate);

/* Opens the gate if it was shut until `now` at most: true then. */
bool ceni_gate_pass_time(ceni_gate *gate, int64_t now);

/* When it will open by itself; CENI_FOREVER if it is open. */
int64_t ceni_gate_next(const ceni_gate *gate);

#endif
