/* SPDX-License-Identifier: MIT */
/* The kinds of targets, one file each, and their shared function. */
#ifndef CENOTE_TOOL_TARGET_KINDS_H
#define CENOTE_TOOL_TARGET_KINDS_H

#include "tool/target.h"

extern const target_kind target_sqlite, target_pq, target_mariadb, target_redis, target_http;

/* Write an error, if `error` is not NULL, and return its status, for `return`. */
__attribute__((format(printf, 4, 5))) cen_status target_say(cen_error *error, cen_status status, int code,
                                                            const char *format, ...);

#endif
