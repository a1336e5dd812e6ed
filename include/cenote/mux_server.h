/* SPDX-License-Identifier: MIT */
/*
 * The other end of multiplexed connections: a server for tests, examples and
 * services of one's own. libcenote-net.
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
 * A call is answered at once or later, in any order and from any thread, or
 * dropped: then its client waits until its deadline. It is the handler's from the
 * moment in which it is entered until it has been answered or dropped, also
 * after the client has gone, and after the server was stopped. A client has gone when it has ended
 * its side, too: what was not answered by then is not sent to one that only says that it has no more to ask.
 *
 * Threads: everything from any thread, and from within the handler unless it says otherwise.
 * Fork: in the child every function answers FORKED, and stop closes the child's copy of
 * the listening socket and leaves all else alone. The parent notices nothing.
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

/* One request of a client. Whoever has it may read the fields and set `user`. */
typedef struct cen_mux_call {
    const void *payload; /* a copy, as long as the call is there */
    size_t payload_size;
    uint64_t id;     /* the client's name for it */
    uint64_t client; /* the connection it came by: no two of a server have or had the same */
    void *user;      /* never touched */
} cen_mux_call;

/* Zero means default in every field, unless it says otherwise. Fields are only ever appended. */
typedef struct cen_mux_server_options {
    size_t size;         /* sizeof(cen_mux_server_options), set by the macro */
    const char *name;    /* copied; default "server" */
    const char *address; /* "host:port", "[v6]:port" or "unix:/path"; port 0: any that is free. Required. */
    cen_codec codec;     /* default cen_codec_binary(); what it points to must outlive the server and its calls */

    /* Called with each request, on the loop's thread, one at a time. Required. */
    void (*handle)(void *argument, cen_mux_call *call);
    /* Told when a client has come (cause is NULL) and when it is gone (a sentence), on the same thread; NULL: nobody is. */
    void (*client)(void *argument, uint64_t client, const char *cause);
    void *argument; /* of these */

    size_t max_clients; /* further ones are closed as soon as they come; default 1000 */
    size_t max_payload; /* a client that sends a larger one is cut off; default 1 MiB */
    /* bytes of answers a client has not fetched, above which none of its requests is read; default 1 MiB */
    size_t max_output;
    /* after so long a silence of a TCP client it is asked whether it is there, and is gone after as long again
     * without an answer; default 30 s, CEN_OFF: it is not */
    int64_t keepalive_ns;
    cen_loop *loop;                 /* default the process' own */
    const cen_allocator *allocator; /* default malloc */
    /* requests of one client that the handler has and has neither answered nor dropped: with so many none of its
     * requests is read; default 10000. A handler that answers the first only when it has more of the same client
     * than that waits for ever */
    size_t max_calls;
} cen_mux_server_options;

#define CEN_MUX_SERVER_OPTIONS(...) CEN_OPTIONS_(cen_mux_server_options, __VA_ARGS__)

/* Listens when it returns. A name is resolved on the calling thread, which may
 * block. A socket file that no server answers at is replaced.
 * Errors: INVALID (the text names the field), SYSTEM (the text names the address
 * and what the system said), NO_MEMORY, FORKED (the loop is a parent's). */
CEN_API cen_status cen_mux_server_start(const cen_mux_server_options *options, cen_mux_server **out, cen_error *error);

/* Where it listens, with the port that it got; as long as the server is there. In a child: as the parent's. */
CEN_API const char *cen_mux_server_address(const cen_mux_server *server);

/* Stops listening and closes every client's connection. When it returns no
 * handler is running, except the one that calls it, nor will be entered. The server
 * is gone then; its calls are there until they are answered or dropped. NULL is allowed. */
CEN_API void cen_mux_server_stop(cen_mux_server *server);

/* Closes the connection of one client, as if it had died: what it has not been
 * sent is lost. 0: of all. Errors: ABSENT (there is none, or no more), INVALID, FORKED. */
CEN_API cen_status cen_mux_server_kill(cen_mux_server *server, uint64_t client);

/* ---- Answering ------------------------------------------------------------------- */

/* Sends the answer; the call is over. The payload is copied. Whatever it
 * answers, the call is gone, except with INVALID (NULL, or the codec cannot carry
 * this payload) and NO_MEMORY: then it is still the caller's. LOST: the client is
 * gone. In a child: FORKED, and nothing is touched. */
CEN_API cen_status cen_mux_call_reply(cen_mux_call *call, const void *payload, size_t size);

/* The call is over and will never be answered. NULL is allowed. */
CEN_API void cen_mux_call_drop(cen_mux_call *call);

/* ---- A look at it --------------------------------------------------------------------- */

typedef struct cen_mux_server_stats {
    size_t size;       /* sizeof(cen_mux_server_stats), set by CEN_SIZED */
    uint64_t clients;  /* connected now */
    uint64_t accepted; /* ever, those refused included */
    uint64_t refused;  /* because of max_clients */
    uint64_t calls;    /* handed to the handler */
    uint64_t replies;  /* of these, answered */
    uint64_t broken;   /* clients cut off because of what they sent */
    uint64_t received_bytes, sent_bytes;
} cen_mux_server_stats;

/* Each number was true during the call. Errors: INVALID, FORKED. */
CEN_API cen_status cen_mux_server_stats_get(const cen_mux_server *server, cen_mux_server_stats *out);

#ifdef __cplusplus
}
#endif
#endif
