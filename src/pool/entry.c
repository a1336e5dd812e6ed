/* SPDX-License-Identifier: MIT */
/* What a call of the program checks first, and the errors that several calls share. */
#include "base/error.h"
#include "pool/internal.h"

cen_status ceni_pool_check(const cen_pool *pool, const char *call, cen_error *error)
{
    if (!pool) {
        ceni_error_set(error, CEN_INVALID, 0, "%s: pool is NULL", call);
        return CEN_INVALID; /* explicit, for analysers that do not see into ceni_error_set */
    }
    return ceni_pool_is_ours(pool) ? CEN_OK : ceni_renew((cen_pool *)(uintptr_t)pool, error);
}

cen_status ceni_pool_refuse_closed(const char *name, cen_error *error)
{
    return ceni_error_because(error, CEN_CAUSE_CLOSED,
                              ceni_error_set(error, CEN_CLOSED, 0, "pool \"%s\": it has been closed", name));
}

cen_status ceni_pool_misuse(const cen_pool *pool, const char *what, cen_error *error)
{
    ceni_error_set(error, CEN_MISUSE, 0,
                   "pool \"%s\": %s is not allowed inside the pool's driver, visitor or listener; do it after the "
                   "callback has returned",
                   pool->name, what);
    return ceni_error_because(error, CEN_CAUSE_INSIDE_CALL, CEN_MISUSE);
}
