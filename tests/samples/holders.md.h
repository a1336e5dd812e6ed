/* SPDX-License-Identifier: MIT */
#include "given.h"

#undef SAMPLE_RESULT
#define SAMPLE_RESULT void
void hand_to_the_other_thread(cen_lease lease);
