/* SPDX-License-Identifier: MIT */
/*
 * What a pollable needs of its poller: other descriptors and one more moment behind the poller's own descriptor, and turns
 * that are counted. The poller is manual.
 *
 * Threads: any, turns one at a time.
 */
#ifndef CENI_POLLER_NEST_H
#define CENI_POLLER_NEST_H

#include <stdbool.h>
#include <stdint.h>

#include <cenote/poller.h>

/* The poller's descriptor is readable while `fd` is, until the poller is freed. A turn tells nobody of it.
 * Errors: SYSTEM, with errno's value in *code. */
cen_status ceni_poller_nest(cen_poller *poller, int fd, int *code);

/* The descriptor is readable from that moment on, until a turn. INT64_MAX: never. A turn may forget the moment; set it after
 * the last turn. */
void ceni_poller_set_alarm(cen_poller *poller, int64_t moment);

/* The descriptor is readable until the next turn, and an edge-triggered epoll over it sees an edge. */
void ceni_poller_ring(cen_poller *poller);

/* Call `ready` of the watches whose descriptor or deadline is, without waiting. Returns how many. *more: there may be more,
 * or another thread is just polling. */
uint32_t ceni_poller_turn(cen_poller *poller, bool *more);

/* The first deadline of a watch. INT64_MAX: none. */
int64_t ceni_poller_next(cen_poller *poller);

/* How many watches there are. */
uint32_t ceni_poller_watched(cen_poller *poller);

#endif
