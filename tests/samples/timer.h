/* SPDX-License-Identifier: MIT */
#include "given.h"

void on_time(cen_future *future);
