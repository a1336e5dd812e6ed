/* SPDX-License-Identifier: MIT */
#include "given.h"

void show(const cen_event *event);
