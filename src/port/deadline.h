/* SPDX-License-Identifier: MIT */
/* Converts a cen_deadline to a moment on the monotonic clock. */
#ifndef CENI_PORT_DEADLINE_H
#define CENI_PORT_DEADLINE_H

#include <cenote/deadline.h>

#include <stdbool.h>

#include "base/spi.h"

CENI_SPI_BEGIN

/* Return the moment on the monotonic clock: INT64_MAX for never, 0 (long past) for now. The caller replaces
 * CEN_DEFAULT by its default before. */
int64_t ceni_deadline_moment(cen_deadline deadline, int64_t now);

static inline bool ceni_deadline_is_now(cen_deadline deadline)
{
    return deadline.ns_ == INT64_MIN;
}

static inline cen_deadline ceni_deadline_or(cen_deadline deadline, cen_deadline otherwise)
{
    return deadline.ns_ ? deadline : otherwise;
}

CENI_SPI_END

#endif
