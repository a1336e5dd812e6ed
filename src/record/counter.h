/* SPDX-License-Identifier: MIT */
/*
 * Counters that many threads add to without meeting one another.
 *
 * A set of counters is kept once per shard; a thread adds to the shard that
 * its number selects, and a reader sums over all shards.
 *
 *     enum { TAKEN, GIVEN, COUNTERS };
 *     ceni_counters c;
 *     if (ceni_counters_init(&c, COUNTERS, NULL) != CEN_OK) ...
 *     ceni_counters_add(&c, TAKEN, 1);
 *     int64_t taken = ceni_counters_sum(&c, TAKEN);
 *
 * Exactness: a sum taken while nobody adds, after all adding threads have been
 * synchronised with (joined, say), is exact. A sum taken meanwhile has all
 * that was added before it, in the reader's view, and some of what is added
 * during it. For one reader thread, a counter to which nothing negative is
 * added never goes backwards. Nothing holds between two different counters.
 * Values are modulo 2^64.
 *
 * Threads: add and sum from any thread at any time; init first, fini last.
 * Both are wait-free and allocate nothing.
 */
#ifndef CENI_RECORD_COUNTER_H
#define CENI_RECORD_COUNTER_H

#include <stddef.h>
#include <stdint.h>

#include <cenote/allocator.h>
#include <cenote/status.h>

#include "base/atomic.h"
#include "base/spi.h"
#include "port/port.h"

CENI_SPI_BEGIN

enum { CENI_COUNTER_SHARDS = 64 /* at most */ };

typedef struct ceni_counters {
    /* fixed by init */
    size_t stride;       /* counters from one shard to the next: whole lines */
    size_t mask;         /* the number of shards, a power of two, minus one */
    size_t count;        /* counters in the set */
    _Atomic int64_t *at; /* the counters are written by any thread, atomically */
    const cen_allocator *allocator;
} ceni_counters;

/* A set of `count` counters, all zero. Errors: NO_MEMORY. */
cen_status ceni_counters_init(ceni_counters *counters, size_t count, const cen_allocator *allocator);

/* Gives the memory back. Nobody may be adding or summing. A zeroed set is allowed. */
void ceni_counters_fini(ceni_counters *counters);

static inline void ceni_counters_add(ceni_counters *counters, size_t which, int64_t amount)
{
    size_t shard = (size_t)ceni_thread_id() & counters->mask;
    ceni_add_relaxed(&counters->at[shard * counters->stride + which], amount); /* carries nothing */
}

int64_t ceni_counters_sum(const ceni_counters *counters, size_t which);

CENI_SPI_END

#endif
