/* SPDX-License-Identifier: MIT */
/* What the two files of the server share: server.c, which listens, and client.c, one connection of it. */
#ifndef CENI_NET_SERVER_H
#define CENI_NET_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include <cenote/mux_server.h>

#include "base/atomic.h"
#include "base/list.h"
#include "net/loop.h"
#include "net/socket.h"
#include "port/mutex.h"
#include "record/directory.h"
#include "wire/input.h"

enum {
    CENI_SERVER_NAME = 32,
    CENI_SERVED_ACCEPTED = 0,
    CENI_SERVED_REFUSED,
    CENI_SERVED_CALLS,
    CENI_SERVED_REPLIES,
    CENI_SERVED_BROKEN,
    CENI_SERVED_BYTES_IN,
    CENI_SERVED_BYTES_OUT,
    CENI_SERVED_COUNT
};

struct cen_mux_server {
    /* fixed before it listens */
    uint64_t epoch; /* of the process that made it */
    const cen_allocator *allocator;
    cen_loop *loop;
    cen_codec codec;
    void (*handle)(void *argument, cen_mux_call *call);
    void (*client)(void *argument, uint64_t client, const char *cause);
    void *argument;
    size_t max_clients, max_payload, max_output, max_calls;
    int64_t keepalive_ns; /* 0: none */
    ceni_endpoint endpoint;
    int fd;
    char name[CENI_SERVER_NAME];
    char address[CENI_ADDRESS_TEXT];
    ceni_directory_entry entry;

    /* any thread, atomically */
    _Atomic uint32_t hands; /* the program's, until stop has done with it, and each client's */
    _Atomic uint32_t over;  /* a futex: the loop has let go of it */
    _Atomic uint64_t counts[CENI_SERVED_COUNT];
    _Atomic uint64_t client_count;

    /* the loop's thread alone */
    uv_poll_t listener;
    uv_timer_t pause; /* until it tries to accept again, when there were no descriptors */
    unsigned handles; /* of libuv's that are open: these two, and each client's */
    uint64_t numbers; /* of clients, ever */
    ceni_list clients;
    int64_t refusal_told; /* when it was last told that clients are refused; 0: never */
    int uv_error;         /* why it could not begin */
    bool stopping;
    bool awaited; /* a thread waits for `over`, and does the rest */
};

/* ---- server.c ------------------------------------------------------------------------------- */

static inline void ceni_served(cen_mux_server *server, unsigned what, uint64_t how_many)
{
    ceni_add_relaxed(&server->counts[what], how_many); /* a number; carries nothing */
}

/* One of libuv's handles was closed. The last touch, if it was the last. */
void ceni_server_handle_closed(cen_mux_server *server);
void ceni_server_drop(cen_mux_server *server);

/* ---- client.c, all on the loop's thread ------------------------------------------------------- */

typedef struct ceni_client ceni_client;

/* A client has come. It owns the descriptor whatever it answers. */
void ceni_client_begin(cen_mux_server *server, int fd);
/* Ends a client, or, with number 0, all; how many. */
size_t ceni_clients_cut(cen_mux_server *server, uint64_t number, const char *cause);

#endif
