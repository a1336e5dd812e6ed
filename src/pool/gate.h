/* SPDX-License-Identifier: MIT */
/*
 * The gate: whether, and how many at a time, objects may be opened, by how
 * opening went lately (L11).
 *
 *                      failure                 time is over
 *     FREE ─────────────────────▶ SHUT ───────────────────▶ ONE ──it hangs──▶ ONE MORE, up to `max_concurrent_opens`
 *      ▲                           ▲ until a random moment,  │ success: 2, 4, 8 ... at a time,
 *      │                           │ the later the longer    │ then as many as the pool allows
 *      │                           │ nothing could be opened │
 *      │                           └──────── failure ────────┤
 *      └─────────────────────────────────────────────────────┘
 *
 * How long it is shut is drawn up to a bound, which is a part of how long the
 * outage has lasted: its return is then noticed late by that part at most, be it
 * seconds or minutes, and the tries grow with the logarithm of its length. To
 * double the bound with each failure makes fewer tries, and an outage that is
 * noticed to be over only after as long again.
 *
 * But where other objects of the pool serve, nobody is in the dark: the server
 * is most likely full, every try costs it something, and few wait only for that.
 * There the bound is doubled with each failure.
 *
 * Where tries hang, one at a time would be one in as long as they take to be
 * given up. So if the last took longer than the bound, then after the bound, or
 * after that part of what it took which lets all tries be spread evenly, one more
 * may be made beside it, and no more than `max_concurrent_opens` in all. Where the last was
 * refused quickly, and this one takes its time, the server is most likely
 * coming back, and is left alone with it. What began before a try that succeeded says nothing about
 * now: if it fails later, it does not shut the gate again.
 *
 * After breaker_failures failures in a row the breaker is open while the gate
 * is shut, and half-open while one is tried: then nobody should wait for long who
 * waits only for an opening. Everything is under the pool's lock and reads no
 * clock.
 *
 * Two openings are at least CENI_GATE_FLOOR_NS apart after a failure, unless the
 * back-off was set to less. Without back-off that floor is all there is, and no
 * breaker: each waiting take fails with the first opening that fails while it
 * waits (opening.c), so an unbounded rate would be the only thing gained. A
 * driver that does not block has no floor either: each take makes its own opening.
 */
#ifndef CENI_POOL_GATE_H
#define CENI_POOL_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include <cenote/pool.h>

enum {
    CENI_GATE_PART = 64, /* of how long the outage has lasted: the longest that the gate is then shut */
    CENI_GATE_FLOOR_NS = 1000000,
};

typedef struct ceni_gate {
    uint32_t failures; /* in a row */
    uint32_t admits;   /* openings at a time; 0: shut until the moment below */
    int64_t until;     /* if it is not shut: when one more is admitted beside those that hang; CENI_FOREVER: never */
    bool has_floor;    /* fixed: without back-off it is shut for the floor after each failure, and not never */
    cen_breaker breaker;
    uint32_t failed;      /* openings without back-off that failed, ever, modulo 2^32 */
    int64_t since;        /* the first of the failures in a row began */
    int64_t broke_at;     /* the breaker opened, of an outage that goes on */
    int64_t tried_at;     /* the last try of the outage began */
    int64_t took;         /* the last try that failed, from its beginning */
    int64_t recovered_at; /* the last success after failures; 0: never */
    int64_t failed_at;    /* the last failure; 0: never */
    cen_error last;       /* what it was; kept after success, for those who ask */
} ceni_gate;

void ceni_gate_init(ceni_gate *gate, bool has_floor);

/* An opening begins, and `others` go on that do not take too long. `serves`: there are objects that can be lent. */
void ceni_gate_begin(ceni_gate *gate, const cen_pool_options *limits, int64_t now, uint32_t others, bool serves);

/* An opening that began then has failed, or taken too long. True if the breaker has opened. */
bool ceni_gate_fail(ceni_gate *gate, const cen_pool_options *limits, int64_t began, int64_t now, bool serves,
                    uint64_t random, const cen_error *why);

/* An opening has succeeded, and `others` go on. True if the breaker has closed. */
bool ceni_gate_succeed(ceni_gate *gate, int64_t now, uint32_t others);

/* Opens the gate if it was shut until `now` at most, for one more than the `others` that go on: true then. */
bool ceni_gate_pass_time(ceni_gate *gate, int64_t now, uint32_t others);

/* When it will admit one, or one more, by itself; CENI_FOREVER if it will not. */
int64_t ceni_gate_next(const ceni_gate *gate);

#endif
