/* SPDX-License-Identifier: MIT */
/*
 * What a pollable needs of its poller: to nest other descriptors and one more deadline behind the poller's own
 * descriptor, and to run bounded turns. The poller is manual.
 *
 * Threads: any; one thread at a time in ceni_poller_turn.
 */
#ifndef CENI_POLLER_NEST_H
#define CENI_POLLER_NEST_H

#include <stdbool.h>
#include <stdint.h>

#include <cenote/poller.h>

/* Make the poller's descriptor readable while `fd` is, until the poller is freed. A turn calls nothing for it. Errors:
 * SYSTEM, with errno's value in *code. */
cen_status ceni_poller_nest(cen_poller *poller, int fd, int *code);

/* Make the descriptor readable from that moment on, until a turn. INT64_MAX: never. A turn may forget the moment: set
 * it after the last turn. */
void ceni_poller_set_alarm(cen_poller *poller, int64_t moment);

/* Make the descriptor readable until the next turn. An edge-triggered epoll over it sees an edge. */
void ceni_poller_ring(cen_poller *poller);

/* Call `ready` of the watches whose descriptor is ready or whose deadline has passed, without waiting. Return how many.
 * *more: more may be ready, or another thread polls at this moment. */
uint32_t ceni_poller_turn(cen_poller *poller, bool *more);

/* Return the first deadline of a watch. INT64_MAX: none. */
int64_t ceni_poller_next(cen_poller *poller);

/* Return the number of watches. */
uint32_t ceni_poller_watched(cen_poller *poller);

#endif
