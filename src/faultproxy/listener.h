/* SPDX-License-Identifier: MIT */
/*
 * The listening socket for clients.
 *
 * A second socket is bound to a TCP port and never listens, so that no other process gets the port while connects are
 * refused. This relies on SO_REUSEADDR: several sockets may be bound to a port if at most one listens.
 */
#ifndef FAULTPROXY_LISTENER_H
#define FAULTPROXY_LISTENER_H

#include <uv.h>

#include "faultproxy/address.h"
#include "faultproxy/command.h"

struct fp_proxy;

typedef struct fp_listener {
    struct fp_proxy *proxy;
    fp_address at;    /* with the actual port */
    int holder;       /* keeps the port; -1 for a Unix socket */
    int fd;           /* -1 while connects are refused */
    uv_poll_t *poll;  /* of fd */
    uv_timer_t timer; /* until the next accept */
    uint64_t every;   /* milliseconds; 0: at once */
    bool on;          /* between start and stop */
} fp_listener;

bool fp_listener_start(fp_listener *listener, struct fp_proxy *proxy, const fp_address *at, char why[FP_SENTENCE]);
void fp_listener_stop(fp_listener *listener);

/* Refuse connects, and reset connections that were not accepted yet; listen again. */
void fp_listener_refuse(fp_listener *listener);
bool fp_listener_reopen(fp_listener *listener, char why[FP_SENTENCE]);

/* Accept one connection every `every` ms, with a backlog of 1; 0: as they come. */
void fp_listener_pace(fp_listener *listener, uint64_t every);

#endif
