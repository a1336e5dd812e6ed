/* SPDX-License-Identifier: MIT */
#include "given.h"

extern int64_t ended, began;
extern cen_histogram *all;
