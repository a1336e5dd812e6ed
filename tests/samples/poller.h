/* SPDX-License-Identifier: MIT */
#include "given.h"

#include <cenote/pq.h>

#if SAMPLE == 2
extern cen_poller *poller;
#endif
