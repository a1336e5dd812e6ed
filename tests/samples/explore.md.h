/* SPDX-License-Identifier: MIT */
#include "given.h"
#include "support/world.h"
