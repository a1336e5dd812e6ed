/* SPDX-License-Identifier: MIT */
#include "given.h"

#include <cenote/redis.h>

extern const char *key, *url;
extern cen_pollable *pollable;
