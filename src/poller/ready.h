/* SPDX-License-Identifier: MIT */
/*
 * What the poller needs of the system: one descriptor that is readable when a watched descriptor is ready, when a
 * moment has come, or when a thread rings. epoll.c implements it on Linux. On other systems nowhere.c fails with
 * SYSTEM.
 *
 * Threads: ceni_ready_wait by one thread at a time, the other functions by any.
 */
#ifndef CENI_POLLER_READY_H
#define CENI_POLLER_READY_H

#include <stdbool.h>
#include <stdint.h>

#include <cenote/status.h>

typedef struct ceni_ready {
    int all; /* readable when one of the others is */
    int timer;
    int bell;
} ceni_ready;

enum { CENI_READY_AT_A_TIME = 64 };

typedef enum ceni_ready_kind { CENI_READY_FD, CENI_READY_TIMER, CENI_READY_BELL, CENI_READY_NESTED } ceni_ready_kind;

/* One event. */
typedef struct ceni_ready_event {
    ceni_ready_kind kind;
    int fd;
    uint32_t number; /* with which it was armed */
    unsigned events; /* CEN_READABLE and so on */
} ceni_ready_event;

/* Errors: SYSTEM, with errno's value in *code. */
cen_status ceni_ready_open(ceni_ready *ready, int *code);
void ceni_ready_close(ceni_ready *ready);

/* Make `all` readable while `fd` is. The event says no more, and the caller silences `fd` by other means. Errors:
 * SYSTEM, with errno's value in *code. */
cen_status ceni_ready_nest(ceni_ready *ready, int fd, int *code);

/* Report one event when the descriptor is as `events` say, with that number. Errors: INVALID (it cannot be watched),
 * NO_MEMORY. */
cen_status ceni_ready_arm(ceni_ready *ready, int fd, unsigned events, uint32_t number);
void ceni_ready_disarm(ceni_ready *ready, int fd);

/* Report an event at that moment of the monotonic clock; INT64_MAX: never. A later call replaces the moment. */
void ceni_ready_at(ceni_ready *ready, int64_t moment);

/* Make a running or the next wait return. Until then `all` is readable, and an edge-triggered epoll over it sees an
 * edge. */
void ceni_ready_ring(ceni_ready *ready);

/* Wait for up to `milliseconds`; -1: no limit. Silence bell and timer. Return the number of events. */
int ceni_ready_wait(ceni_ready *ready, ceni_ready_event events[CENI_READY_AT_A_TIME], int milliseconds);

#endif
