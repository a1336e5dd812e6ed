/* SPDX-License-Identifier: MIT */
#include "given.h"

extern int socket;
