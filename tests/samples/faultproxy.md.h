/* SPDX-License-Identifier: MIT */
#include "support/faultproxy.h"
#include "support/test.h"

#define SAMPLE_RESULT int

extern struct {
    const char *address;
} options;
