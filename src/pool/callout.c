/* SPDX-License-Identifier: MIT */
/*
 * Calls of the driver, a visitor or a listener: the thread is marked meanwhile. A call that must not be made in there is
 * recognised by that, and cancellation waits.
 */
#include "pool/internal.h"
#include "port/port.h"

void ceni_callout_begin(ceni_callout *callout, const cen_pool *pool)
{
    ceni_rank_expect_none("a pool's driver, visitor or listener");
    ceni_pool_own *own = ceni_pool_own_get();
    *callout = (ceni_callout){.pool_id = pool->id, .outer = own->callout, .cancel = ceni_cancel_hold()};
    own->callout = callout;
}

void ceni_callout_end(const ceni_callout *callout)
{
    ceni_pool_own_get()->callout = callout->outer;
    ceni_cancel_release(callout->cancel);
}

bool ceni_callout_inside(const cen_pool *pool)
{
    const ceni_callout *callout = ceni_pool_own_get()->callout;
    while (callout && callout->pool_id != pool->id) callout = callout->outer;
    return callout != NULL;
}
