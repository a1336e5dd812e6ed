/* SPDX-License-Identifier: MIT */
/*
 * A server for multiplexed connections, for tests, examples and small services. Part of libcenote-net.
 *
 *     static void handle(void *argument, cen_mux_call *call)     // on the loop's thread
 *     {
 *         (void)argument;
 *         cen_mux_call_reply(call, call->payload, call->payload_size);
 *     }
 *
 *     cen_mux_server *server;
 *     cen_mux_server_options options = CEN_MUX_SERVER_OPTIONS(.address = "127.0.0.1:0", .codec = cen_codec_binary(),
 *                                                             .handle = handle);
 *     cen_mux_server_start(&options, &server, &error);
 *     printf("%s\n", cen_mux_server_address(server));            // "127.0.0.1:41873"
 *     // ...
 *     cen_mux_server_stop(server);
 *
 * The handler may reply to a call immediately or later, in any order and from any thread. It may also drop a call, in
 * which case the client waits until its deadline. A call belongs to the handler until it is replied to or dropped, even
 * after the client has disconnected or the server has been stopped. A client that shuts down its sending side counts as
 * disconnected: replies that have not been sent by then are lost.
 *
 * Threads: every function may be called from any thread, including from within the handler, unless noted otherwise.
 * Fork: in the child, every function returns FORKED. cen_mux_server_stop closes the child's copy of the listening
 * socket and touches nothing else. The parent is not affected.
 */
#ifndef CENOTE_MUX_SERVER_H
#define CENOTE_MUX_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/allocator.h>
#include <cenote/codec.h>
#include <cenote/deadline.h>
#include <cenote/loop.h>
#include <cenote/sized.h>
#include <cenote/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cen_mux_server cen_mux_server;

/* One request of a client. Its owner may read the fields and set `user`. */
typedef struct cen_mux_call {
    const void *payload; /* a copy, valid as long as the call */
    size_t payload_size;
    uint64_t id;     /* the id that the client gave the request */
    uint64_t client; /* number of the connection, unique for the server's lifetime */
    void *user;      /* the program's own; never touched */
} cen_mux_call;

/* In every field, zero means the default, unless noted otherwise. Fields are only ever appended. */
typedef struct cen_mux_server_options {
    size_t size;         /* sizeof(cen_mux_server_options), set by the macro */
    const char *name;    /* copied; default "server" */
    const char *address; /* "host:port", "[v6]:port" or "unix:/path"; port 0: any free port. Required. */
    cen_codec codec;     /* default cen_codec_binary(); everything it points to must outlive the server and its calls */

    /* Called with each request, on the loop's thread, one at a time. Required. */
    void (*handle)(void *argument, cen_mux_call *call);
    /* Called when a client has connected (cause is NULL) and when it has disconnected (cause states the reason), on the
     * loop's thread. Default none. */
    void (*client)(void *argument, uint64_t client, const char *cause);
    void *argument; /* passed to both functions */

    size_t max_clients; /* maximum number of clients; further connections are closed immediately; default 1000 */
    size_t max_payload; /* maximum size of a request in bytes; a client that exceeds it is cut off; default 1 MiB */
    /* maximum number of bytes of replies that wait to be sent to a client; above this limit, the server stops reading
     * from the client; default 1 MiB */
    size_t max_output;
    /* how long a TCP client may be silent before it is probed (TCP keep-alive). If another keepalive_ns passes without
     * an answer, the client counts as disconnected. Default 30 s, CEN_OFF: no probes. */
    int64_t keepalive_ns;
    cen_loop *loop;                 /* default the process's own */
    const cen_allocator *allocator; /* default malloc */
    /* maximum number of one client's calls that the handler has neither replied to nor dropped; at this limit, the
     * server stops reading from the client; default 10000. A handler that needs more calls from the same client before
     * it replies to any of them waits forever. */
    size_t max_calls;
} cen_mux_server_options;

/* Options with the given fields set and all others zero. */
#define CEN_MUX_SERVER_OPTIONS(...) CEN_OPTIONS_(cen_mux_server_options, __VA_ARGS__)

/* Start a server. The server is listening when the call returns. If a Unix socket file exists but no server is
 * listening on it, the file is replaced.
 *
 * Blocking: while a name in options.address is looked up, on the calling thread.
 * Returns:
 *   OK         *out is the server
 *   SYSTEM     the text names the address and the system's error; error->code is errno, or 0
 *   INVALID    out is NULL, or an option is not allowed; the text names it
 *   NO_MEMORY  out of memory
 *   FORKED     the loop belongs to the parent process
 */
CEN_API cen_status cen_mux_server_start(const cen_mux_server_options *options, cen_mux_server **out, cen_error *error);

/* Return the address on which the server listens, with its actual port. It is valid until the server is stopped. In a
 * forked child, it is the parent's address. Return "" for NULL. */
CEN_API const char *cen_mux_server_address(const cen_mux_server *server);

/* Stop listening, close the connections of all clients, and free the server. When this function returns, no handler is
 * running, except one that makes this call, and no handler will be called again. Calls stay valid until they are
 * replied to or dropped. NULL is allowed. */
CEN_API void cen_mux_server_stop(cen_mux_server *server);

/* Close the connection of one client, or of all clients if `client` is 0, as if the network had failed: unsent replies
 * are lost.
 *
 * Blocking: until the loop's thread has closed it.
 * Returns:
 *   OK       at least one connection was closed
 *   ABSENT   there is no such client
 *   INVALID  server is NULL
 *   FORKED   the server belongs to the parent process
 */
CEN_API cen_status cen_mux_server_kill(cen_mux_server *server, uint64_t client);

/* ---- Replies --------------------------------------------------------------------- */

/* Send the reply to a call, which ends the call. The payload is copied.
 *
 * Ownership: after OK and LOST, the call is freed. After INVALID and NO_MEMORY, it still belongs to the caller.
 * Returns:
 *   OK         the reply is sent, or will be
 *   LOST       the client has disconnected
 *   INVALID    call is NULL, payload is NULL and size is not 0, or the codec cannot carry the payload
 *   NO_MEMORY  out of memory
 *   FORKED     the call belongs to the parent process; nothing is touched
 */
CEN_API cen_status cen_mux_call_reply(cen_mux_call *call, const void *payload, size_t size);

/* End a call without a reply. NULL is allowed. */
CEN_API void cen_mux_call_drop(cen_mux_call *call);

/* ---- Statistics ------------------------------------------------------------------------ */

/* Stats of a server. */
typedef struct cen_mux_server_stats {
    size_t size;       /* sizeof(cen_mux_server_stats), set by CEN_SIZED */
    uint64_t clients;  /* clients connected now */
    uint64_t accepted; /* connections so far, including refused ones */
    uint64_t refused;  /* of these, refused because of max_clients */
    uint64_t calls;    /* calls handed to the handler */
    uint64_t replies;  /* of these, replied to */
    uint64_t broken;   /* clients disconnected because of invalid data */
    uint64_t received_bytes, sent_bytes;
} cen_mux_server_stats;

/* Read the stats of the server. Each number was correct at some moment during the call.
 *
 * Returns:
 *   OK       *out is filled in
 *   INVALID  server or out is NULL, or out->size is not valid
 *   FORKED   the server belongs to the parent process
 */
CEN_API cen_status cen_mux_server_stats_get(const cen_mux_server *server, cen_mux_server_stats *out);

#ifdef __cplusplus
}
#endif
#endif
