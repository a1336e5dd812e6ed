/* SPDX-License-Identifier: MIT */
/* Fills in a caller's cen_error. */
#ifndef CENI_BASE_ERROR_H
#define CENI_BASE_ERROR_H

#include <cenote/status.h>

#include "base/spi.h"

CENI_SPI_BEGIN

/* Write status, code and the formatted text to `error` unless it is NULL. Returns `status`, so that a function can
 * fail in one line. */
__attribute__((format(printf, 4, 5))) cen_status ceni_error_set(cen_error *error, cen_status status, int code,
                                                                const char *format, ...);

CENI_SPI_END

/* Set the cause of a failure that ceni_error_set has written to `error`, which may be NULL. Returns `status`. */
static inline cen_status ceni_error_because(cen_error *error, cen_cause cause, cen_status status)
{
    if (error) error->cause = cause;
    return status;
}

#endif
