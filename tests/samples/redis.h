/* SPDX-License-Identifier: MIT */
#include "given.h"

extern const char *key;
