/* SPDX-License-Identifier: MIT */
/* The backlog: the wait queue for members; backlog.c. */
#ifndef CENI_ROUTER_BACKLOG_H
#define CENI_ROUTER_BACKLOG_H

#include "router/internal.h"
#include "router/use.h"

/* route.c: begin a use on a member of the set that has room. */
ceni_begun ceni_route_find_locked(cen_router *router, const cen_route_hint *pick, cen_route *out);

/* What cen_router_route does when there is no room at once. */
cen_status ceni_route_wait(cen_router *router, const cen_route_hint *pick, cen_deadline deadline, cen_route *out,
                           cen_error *error);

/* There is room on that member, or, with NULL, on any: serve waiters, and put them into `ready`. */
void ceni_backlog_serve_locked(cen_router *router, ceni_member *with, ceni_list *ready);

/* Return CLOSED, and set the error text. */
cen_status ceni_router_is_closed(const cen_router *router, cen_error *error);

/* End all waits with CLOSED, and put the waiters into `ready`. Return how many. */
uint32_t ceni_backlog_send_away_locked(cen_router *router, ceni_list *ready);

/* What a call does after it has dropped the lock: complete the waits in `ready` (NULL: none), call the listener, and
 * drop its hand on the router, which may be the last. */
void ceni_router_settle(cen_router *router, ceni_list *ready);

/* Set the alarm for the wheel's next timer. */
void ceni_router_wind_locked(cen_router *router);
void ceni_router_alarm(ceni_alarm *alarm);

#endif
