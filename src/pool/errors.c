/* SPDX-License-Identifier: MIT */
/* The errors that several calls share. */
#include "base/error.h"
#include "pool/internal.h"

cen_status ceni_pool_refuse_null(const char *call, cen_error *error)
{
    return ceni_error_set(error, CEN_INVALID, 0, "%s: pool is NULL", call);
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
