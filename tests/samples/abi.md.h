/* SPDX-License-Identifier: MIT */
#include "given.h"

#include <cenote/sized.h>

typedef struct cen_my_options {
    size_t size;
    int limit;
} cen_my_options;
#if SAMPLE == 2
extern const cen_my_options *options;
extern cen_error *error_out;
#define error error_out
#endif
