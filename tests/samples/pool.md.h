/* SPDX-License-Identifier: MIT */
#include "given.h"

#if SAMPLE == 6
#undef SAMPLE_RESULT
#define SAMPLE_RESULT void
#endif
void serve(void *object);
extern cen_pool *stack;
extern void *page;
extern const cen_driver_calls calls;
