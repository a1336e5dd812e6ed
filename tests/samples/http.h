/* SPDX-License-Identifier: MIT */
#include "given.h"

void on_reply(cen_future *future);
