/* SPDX-License-Identifier: MIT */
/*
 * The server's thread: it accepts connections, runs libmicrohttpd, and enforces each client's time limit.
 *
 * States of a client
 *     NONE -> IDLE         it was accepted; no input yet
 *     IDLE -> ASKED        its first line is complete
 *     ASKED -> TOLD        the rest has arrived, and its response is complete
 *     TOLD -> IDLE         its response is sent; it may send another request
 *     IDLE, ASKED, TOLD -> LEAVES   it took too long, or made room: shut down, so that libmicrohttpd closes it
 *     any -> NONE          libmicrohttpd has closed it
 *
 * Invariants
 *  I1 At most options.clients clients are neither refused nor in LEAVES. With the refused ones there are at most LOBBY
 *     more. When the lobby is full, too, connections wait in the kernel's queue.
 *  I2 No client is IDLE longer than the patience, nor in ASKED and TOLD together. libmicrohttpd's timeout counts
 *     silence only, so a client that sends or reads a byte now and then would escape it.
 *  I3 A connection that arrives when all places are taken evicts the client that has been IDLE longest: for at least 1
 *     s, or 50 ms if it had a response before, because browsers keep connections that they may never use again. So
 *     clients without requests keep no other client out. If none can be evicted, the new one gets 503.
 *  I4 A client that began a request and was too slow gets 408, and no other client does. In the middle of a response it
 *     would be part of that response, and a browser that keeps a connection ready would take it for the response to its
 *     next request.
 *  I5 A slot's socket is open as long as the slot has it: libmicrohttpd notifies before it closes. A forked child
 *     relies on this.
 *
 * Everything here except the sockets belongs to this thread, so no memory ordering is needed.
 */
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inspect/internal.h"

enum { ROOM_SILENT_MS = 1000, ROOM_ANSWERED_MS = 50, LOBBY_MS = 1000, DEAF_MS = 100, ACCEPT_AT_ONCE = 16 };

static size_t slots_of(const cen_inspect *inspect)
{
    return inspect->clients + CENI_INSPECT_LOBBY;
}

static bool is_there(const ceni_client *client)
{
    return client->phase == CENI_CLIENT_IDLE || client->phase == CENI_CLIENT_ASKED || client->phase == CENI_CLIENT_TOLD;
}

static void enter(ceni_client *client, ceni_client_phase phase)
{
    client->phase = phase;
    client->since_ms = ceni_inspect_now_ms();
}

static void keep_socket(ceni_client *client, int socket)
{
    atomic_store(&client->socket, socket); /* read by a forked child */
}

static void show_out(ceni_client *client)
{
    shutdown(atomic_load(&client->socket), SHUT_RDWR);
    enter(client, CENI_CLIENT_LEAVES);
}

/* Return true if the client has sent anything. On a Unix socket the system cannot tell; browsers do not use those. */
static bool has_begun(const cen_inspect *inspect, const ceni_client *client)
{
    struct tcp_info told = {0};
    socklen_t length = sizeof told;
    if (client->phase == CENI_CLIENT_ASKED) return true;
    if (client->phase != CENI_CLIENT_IDLE || client->was_answered) return false;
    if (inspect->at.is_local) return true;
    return getsockopt(atomic_load(&client->socket), IPPROTO_TCP, TCP_INFO, &told, &length) == 0 &&
           told.tcpi_bytes_received > 0;
}

/* I4. No response was sent on it yet, so these bytes fit the socket's buffer, or the peer is gone. */
static void tell_too_slow(const ceni_client *client)
{
#define SLOW "{\"error\":{\"status\":\"TIMEOUT\",\"text\":\"request not complete in time\"}}"
    char answer[256];
    int length = snprintf(answer, sizeof answer,
                          "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nCache-Control: no-store\r\n"
                          "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                          sizeof SLOW - 1, SLOW);
    (void)!send(atomic_load(&client->socket), answer, (size_t)length, MSG_DONTWAIT | MSG_NOSIGNAL);
#undef SLOW
}

/* ---- Callbacks of libmicrohttpd, on this thread ------------------------------------ */

void ceni_inspect_connection(void *argument, struct MHD_Connection *connection, void **client,
                             enum MHD_ConnectionNotificationCode what)
{
    cen_inspect *inspect = argument;
    (void)connection;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *client = inspect->coming;
        inspect->coming = NULL;
    } else {
        ceni_client *gone = *client;
        keep_socket(gone, -1); /* I5 */
        gone->phase = CENI_CLIENT_NONE;
    }
}

static ceni_client *client_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *told = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return told->socket_context;
}

void *ceni_inspect_asked(void *argument, const char *uri, struct MHD_Connection *connection)
{
    (void)argument;
    ceni_client *client = client_of(connection);
    client->has_zero = strstr(uri, "%00");
    if (client->phase == CENI_CLIENT_IDLE) enter(client, CENI_CLIENT_ASKED);
    return NULL;
}

void ceni_inspect_told(struct MHD_Connection *connection)
{
    ceni_client *client = client_of(connection);
    if (client->phase != CENI_CLIENT_LEAVES) client->phase = CENI_CLIENT_TOLD; /* its time limit goes on: I2 */
}

void ceni_inspect_answered(void *argument, struct MHD_Connection *connection, void **visit,
                           enum MHD_RequestTerminationCode how)
{
    cen_inspect *inspect = argument;
    (void)how;
    if (*visit) inspect->sending -= ((ceni_visit *)*visit)->sending;
    free(*visit);
    *visit = NULL;
    ceni_client *client = client_of(connection);
    client->was_answered = true;
    if (is_there(client)) enter(client, CENI_CLIENT_IDLE);
}

/* ---- Accepting ------------------------------------------------------------------------ */

static bool counts(const ceni_client *client)
{
    return is_there(client) && !client->refused;
}

/* I3 */
static bool may_leave(const ceni_client *client, int64_t now)
{
    return counts(client) && client->phase == CENI_CLIENT_IDLE &&
           now - client->since_ms >= (client->was_answered ? ROOM_ANSWERED_MS : ROOM_SILENT_MS);
}

static bool make_room(cen_inspect *inspect)
{
    ceni_client *oldest = NULL;
    int64_t now = ceni_inspect_now_ms();
    for (size_t i = 0; i < slots_of(inspect); i++) {
        ceni_client *client = &inspect->client[i];
        if (may_leave(client, now) && (!oldest || client->since_ms < oldest->since_ms)) oldest = client;
    }
    if (oldest) show_out(oldest);
    return oldest;
}

/* On a Unix socket only this user and root are admitted, even if the file's mode was changed. */
static bool is_stranger(const cen_inspect *inspect, int socket)
{
    struct ucred who;
    socklen_t length = sizeof who;
    if (!inspect->at.is_local) return false;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &length) != 0) return true;
    return who.uid != geteuid() && who.uid != 0;
}

static void welcome(cen_inspect *inspect, ceni_client *place, int socket, const struct sockaddr *from, socklen_t length)
{
    uint32_t there = 0;
    for (size_t i = 0; i < slots_of(inspect); i++) there += counts(&inspect->client[i]);
    place->refused = is_stranger(inspect, socket)                     ? MHD_HTTP_FORBIDDEN
                     : there < inspect->clients || make_room(inspect) ? 0
                                                                      : MHD_HTTP_SERVICE_UNAVAILABLE;
    place->was_answered = false;
    keep_socket(place, socket);
    enter(place, CENI_CLIENT_IDLE);
    inspect->coming = place;
    MHD_add_connection(inspect->daemon, socket, from, length);
    if (inspect->coming) { /* libmicrohttpd refused and closed it */
        keep_socket(place, -1);
        place->phase = CENI_CLIENT_NONE;
        inspect->coming = NULL;
    }
}

/* NULL: there is none. */
static ceni_client *free_place(cen_inspect *inspect)
{
    for (size_t i = 0; i < slots_of(inspect); i++)
        if (inspect->client[i].phase == CENI_CLIENT_NONE) return &inspect->client[i];
    return NULL;
}

static void accept_some(cen_inspect *inspect)
{
    ceni_client *place;
    for (int i = 0; i < ACCEPT_AT_ONCE && (place = free_place(inspect)); i++) {
        struct sockaddr_storage from = {0};
        socklen_t length = sizeof from;
        int socket = accept4(inspect->listener, (struct sockaddr *)&from, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (socket >= 0) {
            welcome(inspect, place, socket, (struct sockaddr *)&from, length);
        } else if (errno != EINTR && errno != ECONNABORTED) {
            /* The lack of descriptors or memory lasts a while, so the listener pauses. */
            if (errno != EAGAIN && errno != EWOULDBLOCK) inspect->deaf_until_ms = ceni_inspect_now_ms() + DEAF_MS;
            return;
        }
    }
}

/* ---- Time limits -------------------------------------------------------------------------- */

/* I2. Returns when to check again, in milliseconds; -1: there is no client. */
static int64_t mind_patience(cen_inspect *inspect)
{
    int64_t now = ceni_inspect_now_ms(), next = -1;
    for (size_t i = 0; i < slots_of(inspect); i++) {
        ceni_client *client = &inspect->client[i];
        if (!is_there(client)) continue;
        int64_t patience = client->refused && inspect->patience_ms > LOBBY_MS ? LOBBY_MS : inspect->patience_ms;
        int64_t left = client->since_ms + patience - now;
        if (left > 0) {
            if (next < 0 || left < next) next = left;
            continue;
        }
        if (has_begun(inspect, client)) tell_too_slow(client);
        show_out(client);
    }
    return next;
}

static int wait_ms(cen_inspect *inspect, bool deaf)
{
    int64_t wait = mind_patience(inspect);
    MHD_UNSIGNED_LONG_LONG theirs;
    if (MHD_get_timeout(inspect->daemon, &theirs) == MHD_YES && (wait < 0 || theirs < (uint64_t)wait))
        wait = (int64_t)theirs;
    if (deaf && (wait < 0 || wait > DEAF_MS)) wait = DEAF_MS;
    int64_t sample = inspect->sample_at_ms - ceni_inspect_now_ms();
    if (wait < 0 || wait > sample) wait = sample > 0 ? sample : 0;
    return (int)wait;
}

/* Samples that were missed, because the machine was busy or asleep, are not taken later. */
static void sample_history(cen_inspect *inspect)
{
    int64_t now = ceni_inspect_now_ms();
    if (now < inspect->sample_at_ms) return;
    inspect->sample_at_ms = now + CENI_HISTORY_PERIOD_MS;
    ceni_history_sample(inspect->history, now);
}

void *ceni_inspect_serve(void *argument)
{
    cen_inspect *inspect = argument;
    for (;;) {
        bool deaf = inspect->deaf_until_ms > ceni_inspect_now_ms();
        struct pollfd wait[3] = {{.fd = inspect->waker, .events = POLLIN},
                                 {.fd = inspect->polled, .events = POLLIN},
                                 {.fd = deaf || !free_place(inspect) ? -1 : inspect->listener, .events = POLLIN}};
        if (poll(wait, 3, wait_ms(inspect, deaf)) < 0) continue; /* EINTR, or no memory at the moment */
        if (wait[0].revents) return NULL;
        sample_history(inspect);
        MHD_run(inspect->daemon); /* clients that left make room first */
        if (!wait[2].revents) continue;
        accept_some(inspect);
        MHD_run(inspect->daemon);
    }
}
