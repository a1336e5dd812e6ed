/* SPDX-License-Identifier: MIT */
/*
 * The ledger: the number of admitted tasks of each lane, in one word, and the limits.
 *
 * Threads: every function from any thread; ceni_ledger_limit by one thread at a time.
 */
#ifndef CENI_LANES_LEDGER_H
#define CENI_LANES_LEDGER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <cenote/lanes.h>

#include "base/atomic.h"

enum {
    CENI_LEDGER_BITS = 20,         /* of a lane's count */
    CENI_LEDGER_PAGES = 16,        /* of limits: the bits that are left of the word */
    CENI_LEDGER_TOTAL = CEN_LANES, /* index of the limit of all lanes, after those of each */
};

_Static_assert(CEN_LANE_TASKS_MAX == (1 << CENI_LEDGER_BITS) - 1, "a lane's count has the bits it needs");
_Static_assert(CEN_LANES *CENI_LEDGER_BITS + 4 == 64, "three counts and the number of a page fill the word");

typedef struct ceni_ledger {
    /* any thread, atomically */
    _Alignas(CENI_CACHE_LINE) _Atomic uint64_t word; /* page, low, high, normal */
    /* written by the thread that changes limits, before `word` names the page */
    _Alignas(CENI_CACHE_LINE) _Atomic uint32_t pages[CENI_LEDGER_PAGES][CEN_LANES + 1];
} ceni_ledger;

/* Why there was no place. */
typedef struct ceni_ledger_refusal {
    cen_cause cause;
    uint64_t current, max;
} ceni_ledger_refusal;

/* The content of the ledger at one moment. */
typedef struct ceni_ledger_entry {
    uint64_t admitted[CEN_LANES], total;
    uint64_t max[CEN_LANES], max_total;
} ceni_ledger_entry;

/* Before other threads use it. `limits`: of each lane, by cen_priority, then of all lanes. */
void ceni_ledger_init(ceni_ledger *ledger, const uint32_t limits[CEN_LANES + 1]);

/* Take a place in a lane. False: there is none, and *refusal says why. */
bool ceni_ledger_take(ceni_ledger *ledger, unsigned lane, ceni_ledger_refusal *refusal);

/* Give a place back, once. */
void ceni_ledger_give(ceni_ledger *ledger, unsigned lane);

/* Set the limit of a lane, or of all with CENI_LEDGER_TOTAL. After the return no place is taken by the old limit. One
 * caller at a time. */
void ceni_ledger_limit(ceni_ledger *ledger, unsigned which, uint32_t limit);

/* Set all counts to 0 and keep the limits. No other thread may use the ledger meanwhile. */
void ceni_ledger_clear(ceni_ledger *ledger);

void ceni_ledger_read(const ceni_ledger *ledger, ceni_ledger_entry *out);

#endif
