/* SPDX-License-Identifier: MIT */
/* The server's shared declarations: server.c listens, client.c handles one connection. */
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
    uint64_t epoch; /* of the process that created it */
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
    _Atomic uint32_t hands; /* references: the program's until stop has finished, and one per client */
    _Atomic uint32_t over;  /* a futex: the loop has finished with the server */
    _Atomic uint64_t counts[CENI_SERVED_COUNT];
    _Atomic uint64_t client_count;

    /* the loop's thread alone */
    uv_poll_t listener;
    uv_timer_t pause; /* until the next accept, after descriptors ran out */
    unsigned handles; /* open libuv handles: these two, and one per client */
    uint64_t numbers; /* the number of the newest client */
    ceni_list clients;
    int64_t refusal_told; /* the time of the last event about refused clients; 0: none yet */
    int uv_error;         /* why it could not start */
    bool stopping;
    bool awaited; /* a thread waits for `over` and does the rest */
};

/* ---- server.c ------------------------------------------------------------------------------- */

static inline void ceni_served(cen_mux_server *server, unsigned what, uint64_t how_many)
{
    ceni_add_relaxed(&server->counts[what], how_many); /* a number; carries nothing */
}

/* Count a closed libuv handle. The last one is the last access to the server on the loop. */
void ceni_server_handle_closed(cen_mux_server *server);
void ceni_server_drop(cen_mux_server *server);

/* ---- client.c, all on the loop's thread ------------------------------------------------------- */

typedef struct ceni_client ceni_client;

/* Start a client. Takes over the descriptor in every case. */
void ceni_client_begin(cen_mux_server *server, int fd);
/* Cut one client, or all if number is 0. Returns how many were cut. */
size_t ceni_clients_cut(cen_mux_server *server, uint64_t number, const char *cause);

#endif
