/* SPDX-License-Identifier: MIT */
#include "given.h"
#include "support/faults.h"
#include "support/test.h"
