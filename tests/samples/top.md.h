/* SPDX-License-Identifier: MIT */
#include "given.h"

#include <cenote/inspect.h>
