/* SPDX-License-Identifier: MIT */
/* Members as one would write them by hand, and the array of them that readers find by one pointer. */
#ifndef BENCH_ROUTE_PLAIN_H
#define BENCH_ROUTE_PLAIN_H

#include "../rules/picks_loop.h"

struct stripe {
    _Alignas(64) atomic_uint in_flight;
};

struct member {
    _Alignas(128) unsigned index;
    _Alignas(128) atomic_uint in_flight;                    /* of all threads */
    _Alignas(128) struct stripe stripes[PICKS_THREADS_MAX]; /* one each */
};

struct array {
    uint32_t count;
    struct member *members[];
};

static inline struct array *make_array(unsigned count)
{
    struct member *members = bench_zeroed(count, sizeof *members);
    struct array *array = bench_zeroed(1, sizeof *array + count * sizeof *array->members);
    array->count = count;
    for (unsigned i = 0; i < count; i++) {
        members[i].index = i;
        array->members[i] = &members[i];
    }
    return array;
}

static inline void expect_idle(const struct array *array)
{
    for (uint32_t i = 0; i < array->count; i++) {
        const struct member *member = array->members[i];
        unsigned uses = atomic_load(&member->in_flight);
        for (unsigned j = 0; j < PICKS_THREADS_MAX; j++) uses += atomic_load(&member->stripes[j].in_flight);
        if (uses != 0) bench_fail("member %u is in use %d times, and nobody uses it", i, (int)uses);
    }
}

#endif
