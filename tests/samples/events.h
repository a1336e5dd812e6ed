/* SPDX-License-Identifier: MIT */
#include "given.h"

void log_it(void *argument, const cen_event *event, uint64_t missed);
