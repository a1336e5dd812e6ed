/* SPDX-License-Identifier: MIT */
/*
 * A local TCP port that relays to the Unix socket of a process with inspection enabled. A browser cannot open a Unix
 * socket. It reaches the port with a token (relay_head.h).
 *
 *     relay_open(&o, &r, &error), relay_port(r);
 *     while (!stop_asked()) relay_run(r, 200);
 *     relay_close(r);
 *
 * At most 32 connections with one request each; 10 s for a request, and 10 s of silence for its response. When all are
 * taken, a new connection closes the one that has been idle longest, because browsers keep connections that they may
 * never use.
 *
 * Threads: the main thread only. Only the wait itself blocks.
 */
#ifndef CENOTE_TOOL_RELAY_H
#define CENOTE_TOOL_RELAY_H

#include <stdint.h>

#include <cenote/status.h>

#include "tool/relay_head.h"

typedef struct relay relay;

typedef struct relay_options {
    const char *socket;  /* the process's */
    uint16_t port;       /* 0: any free port */
    relay_tokens tokens; /* owned by the caller, and valid until close */
} relay_options;

/* Open the port. Errors: EXISTS (the port is taken), SYSTEM, NO_MEMORY. */
cen_status relay_open(const relay_options *options, relay **out, cen_error *error);
uint16_t relay_port(const relay *self);
/* Wait up to `ms` milliseconds, then handle what has happened. */
void relay_run(relay *self, int ms);
void relay_close(relay *self);

#endif
