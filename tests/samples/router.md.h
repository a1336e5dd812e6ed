/* SPDX-License-Identifier: MIT */
#include "given.h"

#include <cenote/router.h>

void send_request(cen_route *route);
