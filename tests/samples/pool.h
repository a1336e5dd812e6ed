/* SPDX-License-Identifier: MIT */
#include "given.h"

struct buffer;
