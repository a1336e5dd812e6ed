/* SPDX-License-Identifier: MIT */
#include "given.h"

void log_it(void *argument, const cen_news *news, uint64_t missed);
