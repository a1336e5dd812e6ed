/* SPDX-License-Identifier: MIT */
/*
 * The ledger: how many tasks each lane has admitted, in one word, and how many it may.
 *
 * Threads: everything from any thread; changes of limits one at a time.
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
    CENI_LEDGER_PAGES = 16,        /* of limits: what is left of the word */
    CENI_LEDGER_TOTAL = CEN_LANES, /* where the limit of all lanes stands, beside theirs */
};

_Static_assert(CEN_LANE_TASKS_MAX == (1 << CENI_LEDGER_BITS) - 1, "a lane's count has the bits it needs");
_Static_assert(CEN_LANES *CENI_LEDGER_BITS + 4 == 64, "three counts and the number of a page fill the word");

typedef struct ceni_ledger {
    /* any thread, atomically */
    _Alignas(CENI_CACHE_LINE) _Atomic uint64_t word; /* page, low, high, normal */
    /* written by the one who changes limits, before `word` names their page */
    _Alignas(CENI_CACHE_LINE) _Atomic uint32_t pages[CENI_LEDGER_PAGES][CEN_LANES + 1];
} ceni_ledger;

/* Why a place could not be had. */
typedef struct ceni_ledger_refusal {
    cen_cause cause;
    uint64_t current, max;
} ceni_ledger_refusal;

/* What the ledger said at one moment. */
typedef struct ceni_ledger_entry {
    uint64_t admitted[CEN_LANES], total;
    uint64_t max[CEN_LANES], max_total;
} ceni_ledger_entry;

/* Nobody uses it yet. `limits`: of each lane, by cen_priority, and of all. */
void ceni_ledger_init(ceni_ledger *ledger, const uint32_t limits[CEN_LANES + 1]);

/* Takes a place in a lane; false: there is none, and *refusal says why. */
bool ceni_ledger_take(ceni_ledger *ledger, unsigned lane, ceni_ledger_refusal *refusal);

/* Gives it back, once. */
void ceni_ledger_give(ceni_ledger *ledger, unsigned lane);

/* Sets a limit, of a lane or CENI_LEDGER_TOTAL. When it returns no place is taken by the old one. One caller at a time. */
void ceni_ledger_limit(ceni_ledger *ledger, unsigned which, uint32_t limit);

/* Nobody is admitted any more, and nobody uses it meanwhile; the limits stay. */
void ceni_ledger_clear(ceni_ledger *ledger);

void ceni_ledger_read(const ceni_ledger *ledger, ceni_ledger_entry *out);

#endif
