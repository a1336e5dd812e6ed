/* SPDX-License-Identifier: MIT */
/*
 * One connection through the proxy: a client, a server, and the two flows between them.
 *
 *     accepted ─▶ WAITING ──────▶ CONNECTING ──▶ OPEN ──▶ CLOSED ─▶ freed, once libuv has let go of its handles
 *                 in a black hole    │                      ▲
 *                                    └── no server ─────────┘
 *
 * Everything runs on the loop's only thread. fp_link_step alone decides what happens next. Code that has changed
 * something calls it and must not touch the link afterwards: it may be closed, although its memory stays until the loop
 * goes on.
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
    int fd;      /* -1: none */
    int watched; /* the libuv events watched */
    bool broken; /* reset, or unusable for another reason */
    /* libuv would report an uninteresting event again and again, so errors are not watched */
    bool deaf;
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
    unsigned handles;     /* open libuv handles */
    uint64_t reset_left;  /* bytes until it is reset; FP_NEVER: no reset */
    uint64_t close_at;    /* when the rest of a half-closed link is closed; FP_NEVER */
    uint64_t retry_at;    /* when to connect again, after the server's queue was full; FP_NEVER */
    bool reset_passes_on; /* a side was reset, so the other one will be */
};

/* Start a link for an accepted client. Takes over the descriptor in every case. */
void fp_link_begin(struct fp_proxy *proxy, int fd);

/* The link's faults have changed. */
void fp_link_changed(fp_link *link);

void fp_link_reset(fp_link *link);
void fp_link_close(fp_link *link);

/* Act as if the server had ended its direction. */
void fp_link_end_to_client(fp_link *link);

/* ---- Between link.c and bytes.c ------------------------------------------------------------- */

void fp_link_step(fp_link *link);

/* Read from side i. */
void fp_bytes_read(fp_link *link, unsigned i);

/* Forward what is due from side i. */
void fp_bytes_pass_on(fp_link *link, unsigned i, uint64_t now, uint64_t *wake);

/* Side i is unusable: bytes for it are dropped, and no more bytes come from it. */
void fp_bytes_side_broke(fp_link *link, unsigned i);

/* Return true if bytes from side i would be accepted. */
bool fp_bytes_wanted(const fp_link *link, unsigned i);

#endif
