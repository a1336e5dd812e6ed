/* SPDX-License-Identifier: MIT */
/*
 * The shared declarations of wait_server: wait_server.c has sockets, workers and HTTP/1.1, wait_http2.c has HTTP/2.
 * Everything belongs to the loop's thread, except where noted.
 */
#ifndef EXAMPLES_WAIT_SERVER_H
#define EXAMPLES_WAIT_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/cenote.h>

struct nghttp2_session;
struct connection;

/* One request and its reply. A worker has it while `working`. */
struct exchange {
    cen_task task;
    struct connection *connection;
    struct exchange *next; /* of the same connection */
    int32_t stream;        /* HTTP/2 */
    char uri[1024], authorization[512];
    bool is_head, is_options, keeps; /* keeps: the connection persists */
    double wait;
    bool working, stream_open;
    bool unwanted; /* under the server's mutex: the reply is not wanted any longer */
    int status;
    char body[2600];
    size_t size, sent;
};

struct connection {
    int fd;
    uint16_t port; /* the client's */
    bool is_http2, is_refused, is_ending, is_dead;
    int working;  /* exchanges that workers have: it is freed only when they are back */
    int64_t seen; /* the time of the last input */
    struct nghttp2_session *session;
    struct exchange *exchanges; /* HTTP/1.1: one at a time */
    size_t skip;                /* bytes of a body to be skipped */
    char in[8192];
    size_t in_size;
    char *out;
    size_t out_size, out_sent, out_room;
    struct connection *next;
};

/* Begin the exchange: its reply is ready at once, or comes from a worker. */
void exchange_begin(struct exchange *exchange);

/* The reply is not wanted any longer. The exchange is freed now, or when its worker has finished. */
void exchange_leave(struct exchange *exchange);

struct exchange *exchange_new(struct connection *connection);

/* Queue bytes. Returns false if there are too many, or no memory. */
bool connection_write(struct connection *connection, const void *bytes, size_t size);

/* The calls of the HTTP/2 half, which needs nghttp2. False: the connection must end. */
#ifdef WAIT_HTTP2
bool http2_begin(struct connection *connection);
bool http2_receive(struct connection *connection, const char *bytes, size_t size);
bool http2_reply(struct exchange *exchange); /* to be flushed */
bool http2_flush(struct connection *connection);
void http2_end(struct connection *connection);
#else
#define http2_begin(connection) ((void)(connection), false)
#define http2_receive(connection, bytes, size) ((void)(connection), (void)(bytes), (void)(size), false)
#define http2_reply(exchange) ((void)(exchange), false)
#define http2_flush(connection) ((void)(connection), false)
#define http2_end(connection) ((void)(connection))
#endif

#endif
