/* SPDX-License-Identifier: MIT */
/*
 * Addresses and sockets: the system calls of this room that do not go through libuv.
 *
 * Every socket is non-blocking and close-on-exec. A TCP socket sends at once (TCP_NODELAY). Sending never raises
 * SIGPIPE. No function is a cancellation point. All functions except ceni_address_resolve and ceni_socket_wait return
 * at once.
 */
#ifndef CENI_NET_SOCKET_H
#define CENI_NET_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <cenote/status.h>

enum {
    CENI_ADDRESS_TEXT = 280, /* "[host]:port"; a host has at most 253 letters */
    CENI_ADDRESS_HOST = 254,
    CENI_ENDPOINTS = 8, /* tried for one name */
};

/* An address as the program wrote it. */
typedef struct ceni_address {
    char text[CENI_ADDRESS_TEXT];
    bool is_path;                 /* a Unix socket */
    char host[CENI_ADDRESS_HOST]; /* a Unix socket: its path */
    char port[6];
} ceni_address;

/* An address as the system uses it. */
typedef struct ceni_endpoint {
    struct sockaddr_storage at;
    socklen_t size;
} ceni_endpoint;

typedef struct ceni_endpoints {
    unsigned count;
    ceni_endpoint each[CENI_ENDPOINTS];
} ceni_endpoints;

/* Parse "host:port", "[v6]:port" or "unix:/path". Port 0 is allowed if `listens` is true. Error: INVALID, with a text
 * that begins with `who`. */
cen_status ceni_address_parse(ceni_address *address, const char *text, bool listens, const char *who, cen_error *error);

/* Find the endpoints of an address. `numeric`: never ask a resolver and never wait; returns ABSENT for a name. Without
 * it the call may block for as long as the resolver takes. Errors: SYSTEM, with a text that contains the address. */
cen_status ceni_address_resolve(const ceni_address *address, bool numeric, ceni_endpoints *out, cen_error *error);

/* Format an endpoint as an address: "127.0.0.1:80", "[::1]:80", "unix:/path". */
void ceni_endpoint_show(const ceni_endpoint *endpoint, char text[CENI_ADDRESS_TEXT]);

/* ---- Sockets: on failure each returns -1 and sets errno ------------------------------ */

int ceni_socket_new(const ceni_endpoint *endpoint);
int ceni_socket_connect(int fd, const ceni_endpoint *endpoint); /* 0: connected; -1 with EINPROGRESS: under way */
int ceni_socket_error(int fd);                                  /* the result of a connect: 0 or an errno value */
/* Return true if the socket is connected to itself. If no server listens on a port of this machine, the system may
 * choose that very port as the source port of the connect. Then the socket receives what it sends. */
bool ceni_socket_is_itself(int fd);
int ceni_socket_listen(const ceni_endpoint *endpoint, int backlog);
int ceni_socket_accept(int fd);

/* Enable TCP keepalive: after a silence of `ns` the system sends probes. The connection is lost if 3 probes, or data
 * that was sent, are not acknowledged. 0, or a Unix socket: no probes. */
enum { CENI_KEEP_ALIVE_S = 30 };
void ceni_socket_keep_alive(int fd, int64_t ns);

/* Return the number of bytes sent or received. 0 from receive: the peer has closed its end. */
ssize_t ceni_socket_send(int fd, const void *bytes, size_t size);
ssize_t ceni_socket_send_parts(int fd, struct iovec *parts, size_t count);
ssize_t ceni_socket_receive(int fd, void *bytes, size_t room);

/* Wait until the socket is readable or broken (true) or `moment` has passed (false). May return true spuriously. */
bool ceni_socket_wait(int fd, int64_t moment);

/* Shut the socket down: no more bytes in either direction. Threads that wait for it are woken. The descriptor stays
 * open. */
void ceni_socket_shut(int fd);
void ceni_socket_close(int fd);

#endif
