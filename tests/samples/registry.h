/* SPDX-License-Identifier: MIT */
#include "given.h"

extern void *connection;
