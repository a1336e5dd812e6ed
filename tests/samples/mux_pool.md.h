/* SPDX-License-Identifier: MIT */
#include "given.h"

#include <cenote/mux_pool.h>

int report(const char *text);
void on_reply(cen_mux_pool_request_op *op);
#if SAMPLE == 2
#define pool mux_pool
extern cen_mux_pool *pool;
#endif
extern cen_router *router;
extern cen_registry *registry;
extern cen_following *following;
extern void *table;
extern cen_owner *owner;
