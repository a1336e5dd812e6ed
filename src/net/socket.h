/* SPDX-License-Identifier: MIT */
/*
 * Addresses and sockets: what the room asks of the system, beside libuv.
 *
 * Every socket is non-blocking and close-on-exec; a TCP one sends at once
 * (TCP_NODELAY). Sending never raises SIGPIPE. No function is a cancellation
 * point, and all but ceni_address_resolve and ceni_socket_wait return at once.
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
    CENI_ADDRESS_TEXT = 280, /* "[host]:port", a host having at most 253 letters */
    CENI_ADDRESS_HOST = 254,
    CENI_ENDPOINTS = 8, /* of one name that are tried */
};

/* What the program wrote. */
typedef struct ceni_address {
    char text[CENI_ADDRESS_TEXT];
    bool is_path;                 /* a Unix socket */
    char host[CENI_ADDRESS_HOST]; /* of a Unix socket: its path */
    char port[6];
} ceni_address;

/* Where that is. */
typedef struct ceni_endpoint {
    struct sockaddr_storage at;
    socklen_t size;
} ceni_endpoint;

typedef struct ceni_endpoints {
    unsigned count;
    ceni_endpoint each[CENI_ENDPOINTS];
} ceni_endpoints;

/* "host:port", "[v6]:port" or "unix:/path". Error: INVALID, with a sentence that
 * begins with `who`. Port 0 is allowed to one who listens. */
cen_status ceni_address_parse(ceni_address *address, const char *text, bool listens, const char *who, cen_error *error);

/* Finds the endpoints. `numeric`: only if that needs nobody to be asked, and never
 * waits; ABSENT if it does. Otherwise it may block for as long as the resolver
 * likes. Errors: SYSTEM, with a sentence that names the address. */
cen_status ceni_address_resolve(const ceni_address *address, bool numeric, ceni_endpoints *out, cen_error *error);

/* The endpoint as an address: "127.0.0.1:80", "[::1]:80", "unix:/path". */
void ceni_endpoint_show(const ceni_endpoint *endpoint, char text[CENI_ADDRESS_TEXT]);

/* ---- Sockets: each answers -1, and errno says why ------------------------------------ */

int ceni_socket_new(const ceni_endpoint *endpoint);
int ceni_socket_connect(int fd, const ceni_endpoint *endpoint); /* 0: connected; -1 and EINPROGRESS: it will be */
int ceni_socket_error(int fd);                                  /* what became of a connect: 0, or errno's value */
/* Whether it is connected to itself: where nobody listens at a port of this machine, the system may give that very port
 * to the one who connects, and what it sends comes back. */
bool ceni_socket_is_itself(int fd);
int ceni_socket_listen(const ceni_endpoint *endpoint, int backlog);
int ceni_socket_accept(int fd);

/* After so long a silence the other side is asked whether it is there, and is lost if three questions, or what was
 * sent, find no answer. 0, and a Unix socket: never. */
enum { CENI_KEEP_ALIVE_S = 30 };
void ceni_socket_keep_alive(int fd, int64_t ns);

/* How many bytes went or came; 0 from receive: the other side has ended. */
ssize_t ceni_socket_send(int fd, const void *bytes, size_t size);
ssize_t ceni_socket_send_parts(int fd, struct iovec *parts, size_t count);
ssize_t ceni_socket_receive(int fd, void *bytes, size_t room);

/* Waits until it is readable or broken (true), or `moment` has passed (false). May answer true for no reason. */
bool ceni_socket_wait(int fd, int64_t moment);

/* Nothing goes or comes any more, and whoever waits for it is woken; the number stays taken. */
void ceni_socket_shut(int fd);
void ceni_socket_close(int fd);

#endif
