/* SPDX-License-Identifier: MIT */
/*
 * What the poller needs of a system: one descriptor that is readable when one of many is ready, a moment has come or
 * somebody rings. epoll.c has it by Linux' own calls; where there is nothing like it, nowhere.c says so.
 *
 * Threads: wait by one at a time, all else by any.
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

/* One thing that has happened. */
typedef struct ceni_ready_event {
    ceni_ready_kind kind;
    int fd;
    uint32_t number; /* that it was armed with */
    unsigned events; /* CEN_READABLE and so on */
} ceni_ready_event;

/* Errors: SYSTEM, with errno's value in *code. */
cen_status ceni_ready_open(ceni_ready *ready, int *code);
void ceni_ready_close(ceni_ready *ready);

/* `all` is readable while `fd` is, from now on. The descriptor tells nothing else, and whoever silences it does so elsewhere.
 * Errors: SYSTEM, with errno's value in *code. */
cen_status ceni_ready_nest(ceni_ready *ready, int fd, int *code);

/* Tells once when the descriptor is as `events` say, with that number. Errors: INVALID (it cannot be watched), NO_MEMORY. */
cen_status ceni_ready_arm(ceni_ready *ready, int fd, unsigned events, uint32_t number);
void ceni_ready_disarm(ceni_ready *ready, int fd);

/* Tells when that moment of the monotonic clock has come; INT64_MAX: never. Another one takes its place. */
void ceni_ready_at(ceni_ready *ready, int64_t moment);

/* Whoever waits is to return. Until the next wait `all` is readable, and an edge-triggered epoll over it sees an edge. */
void ceni_ready_ring(ceni_ready *ready);

/* Waits for up to so many milliseconds, -1 without limit; returns how many events, and takes bell and timer back. */
int ceni_ready_wait(ceni_ready *ready, ceni_ready_event events[CENI_READY_AT_A_TIME], int milliseconds);

#endif
