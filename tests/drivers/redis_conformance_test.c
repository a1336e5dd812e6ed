/* SPDX-License-Identifier: MIT */
/* Both forms of libcenote-redis do what every driver must. */
#include "drivers/redis_place.h"

#include <errno.h>

#define BOTH \
    .good = place_good, .wrong = place_wrong, .at = place_at, .address = "127.0.0.1", .secret = "secret", \
    .wrong_status = CEN_DRIVER, .wrong_code = CEN_REDIS_WRONG_PASSWORD, .absent_status = CEN_DOWN, \
    .absent_code = ECONNREFUSED, .full_status = CEN_FULL, .full_code = CEN_REDIS_MAX_CLIENTS, .cut = place_cut, \
    .connections = place_connections, .fill = place_fill

static const conformance blocking = {.name = "redis",
                                     .driver = place_driver,
                                     .use = place_use,
                                     .identity = place_identity,
                                     .make_dirty = place_make_dirty,
                                     .is_clean = place_is_clean,
                                     .hang = place_hang,
                                     BOTH};
CONFORMANCE(blocking)

static const conformance later = {.name = "redis-later",
                                  .driver = place_later_driver,
                                  .use = place_later_use,
                                  .identity = place_later_identity,
                                  .make_dirty = place_later_make_dirty,
                                  .is_clean = place_later_is_clean,
                                  .hang = place_later_hang,
                                  .cannot_renew = true,
                                  BOTH};
CONFORMANCE(later)
