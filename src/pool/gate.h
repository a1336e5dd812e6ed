/* SPDX-License-Identifier: MIT */
/*
 * The gate: back-off, circuit breaker and slow start. It decides whether, and how many at a time, objects may be
 * opened, from the results of recent openings (L11).
 *
 *                      failure                 time is over
 *     FREE ─────────────────────▶ SHUT ───────────────────▶ ONE ──it hangs──▶ ONE MORE, up to `max_concurrent_opens`
 *      ▲                           ▲ until a random moment,  │ success: 2, 4, 8 ... at a time,
 *      │                           │ later if openings have  │ then as many as the pool allows
 *      │                           │ failed for longer       │
 *      │                           └──────── failure ────────┤
 *      └─────────────────────────────────────────────────────┘
 *
 * The time for which it is shut is random, up to a bound. The bound is a fraction of the length of the outage. So the
 * end of an outage is noticed with a delay of at most this fraction, whether the outage lasts seconds or minutes, and
 * the number of tries grows with the logarithm of its length. Doubling the bound with each failure would make fewer
 * tries, but would notice the end of an outage only after as long again.
 *
 * If other objects of the pool can be lent, the server is reachable and most likely full. Every try costs it
 * something, and few takes wait only for an opening. In this case the bound is doubled with each failure.
 *
 * If the server refuses the login, the bound is backoff_max_ns at once.
 *
 * If tries hang, one try at a time would mean one try per timeout. So if the last failed try took longer than the
 * bound, one more may be made beside it, up to `max_concurrent_opens` in all. It comes after the bound, or after the
 * time that spreads all tries evenly, if that is longer. If the last try was refused quickly and this one takes its
 * time, the server is most likely coming back, and no other try is made. An opening that began before a try that
 * succeeded shows nothing about the present: if it fails later, it does not shut the gate again.
 *
 * After breaker_failures failures in a row the breaker is open while the gate is shut, and half-open while a try is
 * running: then takes that depend on an opening should not wait for long. Everything is under the pool's lock and
 * reads no clock.
 *
 * After a failure two openings are at least CENI_GATE_FLOOR_NS apart, unless the back-off was set to less. Without
 * back-off there is only this floor, and no breaker: each waiting take fails with the first opening that fails while
 * it waits (opening.c), so an unbounded rate would gain nothing. A driver that does not block has no floor either:
 * each take makes its own opening.
 */
#ifndef CENI_POOL_GATE_H
#define CENI_POOL_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include <cenote/pool.h>

enum {
    CENI_GATE_PART = 64, /* the bound is the length of the outage divided by this */
    CENI_GATE_FLOOR_NS = 1000000,
};

typedef struct ceni_gate {
    uint32_t failures; /* in a row */
    uint32_t admits;   /* openings at a time; 0: shut until `until` */
    int64_t until;     /* if not shut: when one more is admitted beside those that hang; CENI_FOREVER: never */
    bool has_floor;    /* fixed: without back-off it is shut for the floor after each failure */
    cen_breaker breaker;
    uint32_t failed;      /* failed openings without back-off, in total, modulo 2^32 */
    int64_t since;        /* when the first of the failures in a row began */
    int64_t broke_at;     /* when the breaker opened in this outage */
    int64_t tried_at;     /* when the last try of the outage began */
    int64_t took;         /* duration of the last failed try */
    int64_t recovered_at; /* when an opening last succeeded after failures; 0: never */
    int64_t failed_at;    /* when an opening last failed; 0: never */
    cen_error last;       /* the last failure; kept after a success, for explanations */
} ceni_gate;

void ceni_gate_init(ceni_gate *gate, bool has_floor);

/* An opening begins; `others` are running and not overdue. `serves`: there are objects that can be lent. */
void ceni_gate_begin(ceni_gate *gate, const cen_pool_options *limits, int64_t now, uint32_t others, bool serves);

/* The opening that began at `began` has failed, or takes too long. Returns true if the breaker has opened. */
bool ceni_gate_fail(ceni_gate *gate, const cen_pool_options *limits, int64_t began, int64_t now, bool serves,
                    uint64_t random, const cen_error *why);

/* An opening has succeeded; `others` are running. Returns true if the breaker has closed. */
bool ceni_gate_succeed(ceni_gate *gate, int64_t now, uint32_t others);

/* Open the gate if its time has come, for one more than the `others` that are running. Returns true then. */
bool ceni_gate_pass_time(ceni_gate *gate, int64_t now, uint32_t others);

/* When the gate will admit an opening, or one more, by itself; CENI_FOREVER if it will not. */
int64_t ceni_gate_next(const ceni_gate *gate);

#endif
