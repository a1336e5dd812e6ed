/* SPDX-License-Identifier: MIT */
/* The ABI rule of cenote/sized.h for every struct of libcenote-pq. */
#include "drivers/pq_place.h"
#include "support/sized.h"

static cen_lease lease;

static cen_status call_options(void *given)
{
    cen_pool *pool = NULL;
    cen_pool_options options = CEN_POOL_OPTIONS(.driver = cen_pq_with(given));
    cen_status status = cen_pool_new(&options, &pool, NULL);
    expect_equal(cen_pool_free(pool), CEN_OK);
    return status;
}

static cen_status call_capacity(void *given)
{
    return cen_pq_capacity(lease.object, 3, given, NULL);
}

/* guarantees: sized.every-size */
TEST(structs_of_every_size_are_accepted)
{
    static const sized_case cases[] = {
        SIZED_INPUT(cen_pq_options, size, NULL, call_options),
        SIZED_OUTPUT(cen_pq_capacity_report, call_capacity),
    };
    cen_pool *pool = place_pool(CEN_POOL_OPTIONS(.driver = cen_pq(place_good())));
    lease = place_take(pool);
    SIZED_TRY(cases);
    cen_pool_give(&lease);
    place_close(pool);
}
