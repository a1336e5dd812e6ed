/* SPDX-License-Identifier: MIT */
/* What the tests of the room share: a server of their own making, and a client without any of our code. */
#ifndef TESTS_UNIT_NET_SERVERS_H
#define TESTS_UNIT_NET_SERVERS_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cenote/mux_server.h>

#include "port/port.h"
#include "support/test.h"

static const int64_t ms __attribute__((unused)) = 1000000;

/* ---- A server of ours ------------------------------------------------------------------------ */

__attribute__((unused)) static void echo(void *argument, cen_mux_call *call)
{
    (void)argument;
    cen_status status = cen_mux_call_reply(call, call->payload, call->payload_size);
    expect(status == CEN_OK || status == CEN_LOST);
}

/* Echoes at a free port, unless the options say otherwise. */
__attribute__((unused)) static cen_mux_server *serve_with(cen_mux_server_options *options)
{
    if (!options->address) options->address = "127.0.0.1:0";
    if (!options->handle) options->handle = echo;
    cen_mux_server *server = NULL;
    cen_error error = {.text = ""};
    if (cen_mux_server_start(options, &server, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
    return server;
}

#define SERVE(...) serve_with(&CEN_MUX_SERVER_OPTIONS(__VA_ARGS__))

/* ---- A client without ours -------------------------------------------------------------------- */

__attribute__((unused)) static unsigned port_of(const char *address)
{
    return (unsigned)strtoul(strrchr(address, ':') + 1, NULL, 10);
}

/* A blocking socket, connected to "127.0.0.1:port" or "unix:/path". */
__attribute__((unused)) static int raw_connect(const char *address)
{
    struct sockaddr_in host = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port_of(address))};
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    bool is_path = strncmp(address, "unix:", 5) == 0;
    host.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (is_path) snprintf(path.sun_path, sizeof path.sun_path, "%s", address + 5);
    int fd = socket(is_path ? AF_UNIX : AF_INET, SOCK_STREAM, 0);
    expect(fd >= 0);
    expect(connect(fd, is_path ? (void *)&path : (void *)&host, is_path ? sizeof path : sizeof host) == 0);
    return fd;
}

/* A frame of the binary codec, written here once more so that the two must agree. Returns its length. */
__attribute__((unused)) static size_t frame_to(unsigned char *out, uint64_t id, const void *payload, size_t size)
{
    uint64_t length = size + 8;
    for (unsigned i = 0; i < 4; i++) out[i] = (unsigned char)(length >> (24 - 8 * i));
    for (unsigned i = 0; i < 8; i++) out[4 + i] = (unsigned char)(id >> (56 - 8 * i));
    if (size) memcpy(out + 12, payload, size);
    return size + 12;
}

__attribute__((unused)) static void send_all(int fd, const void *bytes, size_t size)
{
    for (size_t sent = 0; sent < size;) {
        ssize_t count = send(fd, (const char *)bytes + sent, size - sent, MSG_NOSIGNAL);
        expect(count > 0);
        sent += (size_t)count;
    }
}

/* False: the other side has ended. */
__attribute__((unused)) static bool receive_all(int fd, void *into, size_t size)
{
    for (size_t got = 0; got < size;) {
        ssize_t count = recv(fd, (char *)into + got, size - got, 0);
        if (count == 0 || (count < 0 && errno == ECONNRESET)) return false;
        expect(count > 0);
        got += (size_t)count;
    }
    return true;
}

/* One frame; its size, or -1 if the other side has ended. */
__attribute__((unused)) static long receive_frame(int fd, uint64_t *id, void *payload, size_t room)
{
    unsigned char head[12];
    uint64_t length = 0;
    if (!receive_all(fd, head, sizeof head)) return -1;
    for (unsigned i = 0; i < 4; i++) length = length << 8 | head[i];
    *id = 0;
    for (unsigned i = 4; i < 12; i++) *id = *id << 8 | head[i];
    expect(length >= 8 && length - 8 <= room);
    return receive_all(fd, payload, (size_t)length - 8) ? (long)length - 8 : -1;
}

/* ---- Waiting for what another thread does ----------------------------------------------------- */

#define AWAIT(condition) \
    do { \
        for (int64_t until_ = ceni_clock_now() + 60000 * ms; !(condition);) { \
            if (ceni_clock_now() > until_) test_fail(__FILE__, __LINE__, "never %s", #condition); \
            ceni_sleep_until(ceni_clock_now() + ms / 5); \
        } \
    } while (0)

__attribute__((unused)) static const char *socket_path(void)
{
    static char text[64];
    snprintf(text, sizeof text, "unix:/tmp/cenote-%ld.sock", (long)getpid());
    return text;
}

#endif
