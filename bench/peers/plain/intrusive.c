/* SPDX-License-Identifier: MIT */
/* The plain queue at its best: see crew.c. */
#define INTRUSIVE
#include "crew.c"
