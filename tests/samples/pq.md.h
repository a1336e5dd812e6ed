/* SPDX-License-Identifier: MIT */
#include "given.h"

#include <cenote/pq.h>

extern void *vault;
