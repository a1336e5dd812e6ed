/* SPDX-License-Identifier: MIT */
#include "given.h"

extern void *connection;
extern cen_error err, cause;
bool send_request(void *connection);
#if SAMPLE == 2
#include <cenote/router.h>
extern cen_router *router;
extern cen_member *member;
#endif
