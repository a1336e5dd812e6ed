/* SPDX-License-Identifier: MIT */
#include "given.h"

#include <cenote/sqlite.h>

#if SAMPLE == 2
extern cen_sqlite_pool *orders;
#endif
extern const char *customer;
