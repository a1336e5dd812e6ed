/* SPDX-License-Identifier: MIT */
/*
 * Sharded counters.
 *
 *     at --> | shard 0: c0 c1 c2 .. pad | shard 1: c0 c1 c2 .. pad | ...
 *              ^ whole lines              ^ stride
 *
 * Invariants
 * I1  The value of a counter is the sum of its words in all shards, modulo
 *     2^64. A word is changed by ceni_counters_add only.
 * I2  Words of two shards never share a line, so threads of different shards
 *     never wait for one another's line.
 * I3  Thread numbers are handed out one by one, so as many threads as there
 *     are shards spread over all of them.
 *
 * One naive version is a single word: correct, and every add moves the line
 * between processors. The other naive version gives each shard a plain load,
 * an add and a store, which would be right if one thread owned the shard; but
 * two threads whose numbers are equal modulo the number of shards share it:
 *     A: load 5      B: load 5      A: store 6      B: store 6
 * and one count is lost. The read-modify-write costs little on a line that is
 * already here, and needs no end-of-thread hook to fold an owner's words away.
 *
 * Why one reader never sees a growing counter shrink: two relaxed loads of one
 * word by one thread, in program order, never read an older value second
 * (coherence); each word of the later sum is thus at least what it was.
 *
 * Order table
 * tag  site | operation | order | pairs with | carries | breaks if weakened
 * (empty: every operation here is relaxed and carries nothing; who needs a
 * count together with other memory synchronises by other means)
 */
#include "record/counter.h"

#include "base/alloc.h"

_Static_assert(CENI_CACHE_LINE % sizeof(_Atomic int64_t) == 0, "a line holds whole counters");

static size_t shard_count(void)
{
    size_t shards = 1;
    while (shards < ceni_cpu_count() && shards < CENI_COUNTER_SHARDS) shards *= 2;
    return shards;
}

static size_t bytes(const ceni_counters *counters)
{
    return (counters->mask + 1) * counters->stride * sizeof *counters->at;
}

cen_status ceni_counters_init(ceni_counters *counters, size_t count, const cen_allocator *allocator)
{
    size_t line = CENI_CACHE_LINE / sizeof *counters->at;
    ceni_counters made = {.mask = shard_count() - 1, .count = count, .allocator = allocator};
    made.stride = (count + line - 1) / line * line;
    made.at = ceni_alloc(allocator, bytes(&made), CENI_CACHE_LINE);
    if (!made.at) return CEN_NO_MEMORY;
    *counters = made;
    return CEN_OK;
}

void ceni_counters_fini(ceni_counters *counters)
{
    ceni_free(counters->allocator, counters->at, bytes(counters), CENI_CACHE_LINE);
    *counters = (ceni_counters){0};
}

int64_t ceni_counters_sum(const ceni_counters *counters, size_t which)
{
    uint64_t sum = 0;
    for (size_t shard = 0; shard <= counters->mask; shard++)
        sum += (uint64_t)ceni_load_relaxed(&counters->at[shard * counters->stride + which]); /* carries nothing */
    return (int64_t)sum;
}
