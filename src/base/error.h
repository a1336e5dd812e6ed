/* SPDX-License-Identifier: MIT */
/* Filling in a caller's cen_error. */
#ifndef CENI_BASE_ERROR_H
#define CENI_BASE_ERROR_H

#include <cenote/status.h>

#include "base/spi.h"

CENI_SPI_BEGIN

/* Writes status, code and the formatted sentence to `error` if it is not NULL
 * and returns `status`, so that a function can fail in one line. */
__attribute__((format(printf, 4, 5))) cen_status ceni_error_set(cen_error *error, cen_status status, int code,
                                                                const char *format, ...);

CENI_SPI_END

/* The cause of a failure that was just written to `error`, which may be NULL. Returns `status`. */
static inline cen_status ceni_error_because(cen_error *error, cen_cause cause, cen_status status)
{
    if (error) error->cause = cause;
    return status;
}

#endif
