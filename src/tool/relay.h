/* SPDX-License-Identifier: MIT */
/*
 * A port of this machine's own, behind which is the Unix socket of a process with inspect on: a browser cannot reach the one, and
 * reaches the other with a token (relay_head.h).
 *
 *     relay_open(&o, &r, &error), relay_port(r);
 *     while (!stop_asked()) relay_run(r, 200);
 *     relay_close(r);
 *
 * At most 32 connections, one request on each, ten seconds for a request and ten seconds of silence for its answer. One who comes
 * when all are taken has the one closed that has said nothing for longest, as browsers keep connections that they may never use.
 *
 * Threads: the main thread's. Nothing blocks but the wait itself.
 */
#ifndef CENOTE_TOOL_RELAY_H
#define CENOTE_TOOL_RELAY_H

#include <stdint.h>

#include <cenote/status.h>

#include "tool/relay_head.h"

typedef struct relay relay;

typedef struct relay_options {
    const char *socket;  /* the process' */
    uint16_t port;       /* 0: a free one */
    relay_tokens tokens; /* the texts are the caller's, and stay */
} relay_options;

/* Errors: EXISTS (somebody has the port), SYSTEM, NO_MEMORY. */
cen_status relay_open(const relay_options *options, relay **out, cen_error *error);
uint16_t relay_port(const relay *self);
/* Waits for so long at most, and does what there is to do. */
void relay_run(relay *self, int ms);
void relay_close(relay *self);

#endif
