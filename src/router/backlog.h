/* SPDX-License-Identifier: MIT */
/* Who waits for a member; backlog.c. */
#ifndef CENI_ROUTER_BACKLOG_H
#define CENI_ROUTER_BACKLOG_H

#include "router/internal.h"
#include "router/use.h"

/* route.c: a member of the set with room, whose use begins. */
ceni_begun ceni_route_find_locked(cen_router *router, const cen_pick *pick, cen_route *out);

/* What route does when there is no room at once. */
cen_status ceni_route_wait(cen_router *router, const cen_pick *pick, cen_deadline deadline, cen_route *out,
                           cen_error *error);

/* Room has come, on that member, or, with NULL, anywhere: those who wait are served, and stand in `ready`. */
void ceni_backlog_serve_locked(cen_router *router, ceni_member *with, ceni_list *ready);

/* Returns CLOSED, and says so. */
cen_status ceni_router_is_closed(const cen_router *router, cen_error *error);

/* All are told CLOSED; they stand in `ready`. Returns how many. */
uint32_t ceni_backlog_send_away_locked(cen_router *router, ceni_list *ready);

/* What a call does when it has dropped the lock: tells those in `ready` (NULL: nobody), tells events, and drops its hand on the
 * router, which may be the last. */
void ceni_router_settle(cen_router *router, ceni_list *ready);

/* Lets the alarm come for the wheel's next timer. */
void ceni_router_wind_locked(cen_router *router);
void ceni_router_alarm(ceni_alarm *alarm);

#endif
