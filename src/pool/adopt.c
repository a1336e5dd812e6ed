/* SPDX-License-Identifier: MIT */
/*
 * Adopting an object that the program has made.
 *
 * Order table
 * [T6] adopt | store of the object   | release | V2 in holding.c | the object's bytes, to visitors | a visitor sees a half-made object
 */
#include "base/error.h"
#include "pool/internal.h"
#include "sync/future.h"

cen_status cen_pool_adopt(cen_pool *pool, void *object, cen_error *error)
{
    CENI_INLINE_AT_END;
    cen_status status = ceni_pool_check(pool, "cen_pool_adopt", error);
    if (status != CEN_OK) return status;
    if (ceni_callout_inside(pool)) return ceni_pool_misuse(pool, "an adoption", error);
    uint32_t index;
    ceni_waiters_lock(pool->waiters);
    bool closed =
        ceni_load_relaxed(&pool->waiters->ctl) & CENI_CTL_CLOSED; /* written under this lock; carries nothing */
    bool claimed = ceni_place_claim_for_adopted_locked(pool, &index);
    pool->tally.adopted += claimed;
    ceni_waiters_unlock(pool->waiters);
    if (closed) return ceni_pool_refuse_closed(pool->name, error);
    if (!claimed)
        return ceni_error_set(error, CEN_FULL, 0, "pool \"%s\": all %u places are taken; raise max", pool->name,
                              cen_pool_max(pool));
    ceni_slot *slot = ceni_slot_at(pool, index);
    uint64_t generation = ceni_slot_generation(pool, index);
    ceni_opening_done(pool, slot, ceni_pool_now(pool));
    ceni_place_identify(pool, index, object);
    ceni_store_release(&slot->object, object); /* [T6] */
    ceni_place_publish_opened(pool, index, generation);
    return CEN_OK;
}
