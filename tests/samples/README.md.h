/* SPDX-License-Identifier: MIT */
#include "given.h"

#include <cenote/inspect.h>
#include <cenote/pq.h>

extern const char *const values[1];
extern PGresult *result;
extern cen_inspect *inspect;
