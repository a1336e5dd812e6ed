/* SPDX-License-Identifier: MIT */
/*
 * What the programs that measure cenote's pool share: an eager pool of
 * lend_objects with default settings, and a deadline with every take.
 */
#ifndef BENCH_POOL_OURS_H
#define BENCH_POOL_OURS_H

#include <cenote/pool.h>

#include "../rules/lend.h"

typedef cen_lease pool_lease;

static cen_pool *pool; /* the one that pool_take and pool_give speak of */
static uint32_t ours_opened;

static cen_status ours_open(void *argument, void **out, cen_error *error)
{
    (void)argument, (void)error;
    *out = &lend_objects[ours_opened++];
    return CEN_OK;
}

static cen_pool *ours_new(uint32_t size, int64_t max_barging_ns, const cen_allocator *allocator)
{
    static const cen_driver_calls calls = {.size = sizeof calls, .open = ours_open, .closes_nothing = true};
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "bench", .driver = {&calls, NULL}, .max = size, .eager = true,
                                                .max_barging_ns = max_barging_ns, .allocator = allocator);
    cen_pool *made;
    cen_error error;
    ours_opened = 0;
    if (cen_pool_new(&options, &made, &error) != CEN_OK) bench_fail("%s", error.text);
    return made;
}

static inline struct lend_object *pool_take(pool_lease *lease)
{
    cen_error error;
    if (cen_pool_take(pool, cen_in_s(LEND_PATIENCE_S), lease, &error) != CEN_OK) bench_fail("take: %s", error.text);
    return (struct lend_object *)lease->object;
}

static inline void pool_give(pool_lease *lease)
{
    cen_status status = cen_pool_give(lease);
    if (status != CEN_OK) bench_fail("give: %s", cen_status_text(status));
}

#endif
