/* SPDX-License-Identifier: MIT */
#include "given.h"

void serve(void *object);
