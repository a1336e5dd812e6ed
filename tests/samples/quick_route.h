/* SPDX-License-Identifier: MIT */
#include "given.h"

#include <cenote/router.h>

extern cen_router *router;
extern cen_member *member;
