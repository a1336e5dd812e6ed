/* SPDX-License-Identifier: MIT */
/* The pool's internal header: it includes the others, by chapters. Only files of this room include it. */
#ifndef CENI_POOL_INTERNAL_H
#define CENI_POOL_INTERNAL_H

#include "pool/lending.h"
#include "pool/life.h"
#include "pool/places.h"
#include "pool/pool.h"
#include "pool/telling.h"

/* What every call checks first: INVALID, OK, or the result of ceni_renew. */
static inline cen_status ceni_pool_check(const cen_pool *pool, const char *call, cen_error *error)
{
    if (!pool) {
        ceni_pool_refuse_null(call, error);
        return CEN_INVALID; /* explicit, for analysers that do not see into it */
    }
    return ceni_pool_is_ours(pool) ? CEN_OK : ceni_renew((cen_pool *)(uintptr_t)pool, error);
}

#endif
