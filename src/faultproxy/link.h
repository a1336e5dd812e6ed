/* SPDX-License-Identifier: MIT */
/*
 * One connection through the proxy: a client, a server, and the two flows between them.
 *
 *     accepted ─▶ WAITING ──────▶ CONNECTING ──▶ OPEN ──▶ CLOSED ─▶ freed, once libuv has let go of its handles
 *                 in a black hole    │                      ▲
 *                                    └── no server ─────────┘
 *
 * All of it is on the loop's one thread. fp_link_step is the one place that decides what happens next; whoever has
 * changed something calls it, and must not touch the link after: it may be closed, though its memory is there until
 * the loop goes on.
 */
#ifndef FAULTPROXY_LINK_H
#define FAULTPROXY_LINK_H

#include <uv.h>

#include "faultproxy/flow.h"

typedef struct fp_link fp_link;
struct fp_proxy;

typedef struct fp_side {
    uv_poll_t poll;
    fp_link *link;
    int fd;      /* -1 if there is none */
    int watched; /* for what, as libuv says it */
    bool broken; /* reset, or otherwise of no use any more */
    bool deaf;   /* something is there that libuv tells again and again, and that is of no interest */
} fp_side;

typedef enum fp_state { FP_WAITING, FP_CONNECTING, FP_OPEN, FP_LINK_CLOSED } fp_state;

struct fp_link {
    struct fp_proxy *proxy;
    fp_link *older, *newer;
    fp_state state;
    fp_side side[FP_SIDES];
    fp_flow flow[FP_SIDES]; /* flow[i] is from side[i] to the other */
    fp_faults faults;
    uv_timer_t timer;
    unsigned handles;     /* that libuv still has */
    uint64_t reset_left;  /* bytes until it is reset; FP_NEVER */
    uint64_t close_at;    /* FP_NEVER, or when the rest of a half-closed one is closed */
    uint64_t retry_at;    /* FP_NEVER, or when to connect again: the server's line was full */
    bool reset_passes_on; /* a side was reset, so the other is */
};

/* A client has come, and is the link's from now on, whatever happens. */
void fp_link_begin(struct fp_proxy *proxy, int fd);

/* Its faults are others now. */
void fp_link_changed(fp_link *link);

void fp_link_reset(fp_link *link);
void fp_link_close(fp_link *link);

/* As if the server had ended its way. */
void fp_link_end_to_client(fp_link *link);

/* ---- Between link.c and bytes.c ------------------------------------------------------------- */

void fp_link_step(fp_link *link);

/* Reads what side i has sent. */
void fp_bytes_read(fp_link *link, unsigned i);

/* Passes on what may go from side i. */
void fp_bytes_pass_on(fp_link *link, unsigned i, uint64_t now, uint64_t *wake);

/* Side i is of no use any more: what goes there is dropped, and what came from there is its last. */
void fp_bytes_side_broke(fp_link *link, unsigned i);

/* Whether there is something to read from side i that would be taken. */
bool fp_bytes_wanted(const fp_link *link, unsigned i);

#endif
