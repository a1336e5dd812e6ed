/* SPDX-License-Identifier: MIT */
/*
 * The socket that clients connect to.
 *
 * A TCP port is held by a second socket that is bound and never listens: while connects are refused nobody else is
 * given the port. It relies on SO_REUSEADDR, by which several sockets may be bound while none of them but one listens.
 */
#ifndef FAULTPROXY_LISTENER_H
#define FAULTPROXY_LISTENER_H

#include <uv.h>

#include "faultproxy/address.h"
#include "faultproxy/command.h"

struct fp_proxy;

typedef struct fp_listener {
    struct fp_proxy *proxy;
    fp_address at;    /* with the port that it has */
    int holder;       /* of the port; -1 for a Unix socket */
    int fd;           /* -1 while connects are refused */
    uv_poll_t *poll;  /* of fd */
    uv_timer_t timer; /* until the next is accepted */
    uint64_t every;   /* milliseconds; 0: at once */
    bool on;          /* from start to stop */
} fp_listener;

bool fp_listener_start(fp_listener *listener, struct fp_proxy *proxy, const fp_address *at, char why[FP_SENTENCE]);
void fp_listener_stop(fp_listener *listener);

/* Refuses from now on, and resets those who were not accepted yet; and listens again. */
void fp_listener_refuse(fp_listener *listener);
bool fp_listener_reopen(fp_listener *listener, char why[FP_SENTENCE]);

/* Accepts one every so many milliseconds, and keeps a line of 1; 0: as they come. */
void fp_listener_pace(fp_listener *listener, uint64_t every);

#endif
