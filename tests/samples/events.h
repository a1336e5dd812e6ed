/* SPDX-License-Identifier: MIT */
#include "given.h"

void log_it(void *argument, const cen_event *events, uint64_t missed);
