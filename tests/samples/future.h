/* SPDX-License-Identifier: MIT */
#include "given.h"

extern void *answer;
void done(cen_future *future);
#if SAMPLE == 2
extern cen_future future;
#endif
