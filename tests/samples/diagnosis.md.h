/* SPDX-License-Identifier: MIT */
#include "given.h"

void page_someone(const char *text);
