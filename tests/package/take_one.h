/* SPDX-License-Identifier: MIT */
/* For programs outside the tree: a pool with one of the drivers, and a take. */
#ifndef TAKE_ONE_H
#define TAKE_ONE_H

#include <stdio.h>

#include <cenote/cenote.h>

/* Whether a take answers `expected`; what is taken is given back. */
static int take_one(cen_driver driver, cen_status expected)
{
    cen_pool *pool;
    cen_lease lease;
    cen_error error = {.text = "the driver works"};
    cen_pool_options options = CEN_POOL_OPTIONS(.driver = driver, .max = 1, .breaker_wait_ns = CEN_OFF);
    cen_status status = cen_pool_new(&options, &pool, &error);
    if (status == CEN_OK) {
        status = cen_pool_take(pool, cen_in_s(5), &lease, &error);
        if (status == CEN_OK) cen_pool_give(&lease);
        cen_pool_free(pool);
    }
    printf("%s: %s\n", cen_status_text(status), error.text);
    return status == expected ? 0 : 1;
}

#endif
