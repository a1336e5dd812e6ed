/* SPDX-License-Identifier: MIT */
/*
 * A loop: the thread that watches sockets for connections and servers. libcenote-net.
 *
 * Nobody needs to make one. Connections and servers that name none share the
 * process' own, which is there while one of them is. An explicit one keeps the
 * sockets of one part of a program apart:
 *
 *     cen_loop *loop;
 *     cen_loop_options options = CEN_LOOP_OPTIONS(.name = "orders");
 *     cen_loop_new(&options, &loop, &error);
 *     cen_mux_options mux = CEN_MUX_OPTIONS(.address = "127.0.0.1:7000", .loop = loop);
 *     // ...
 *     cen_loop_free(loop);                // after its connections and servers
 *
 * Threads: every function may be called from any thread. The loop's thread blocks
 * all signals. What a program lets run on it, a server's handler or an
 * inline `done`, holds up every socket of the loop while it runs: it must not block.
 * Fork: the child has no such thread. The process' own loop is made anew there; an
 * explicit one answers FORKED, and free gives its memory back.
 */
#ifndef CENOTE_LOOP_H
#define CENOTE_LOOP_H

#include <stddef.h>
#include <stdint.h>

#include <cenote/allocator.h>
#include <cenote/sized.h>
#include <cenote/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cen_loop cen_loop;

/* Zero means default in every field. Fields are only ever appended. */
typedef struct cen_loop_options {
    size_t size;                    /* sizeof(cen_loop_options), set by the macro */
    const char *name;               /* copied; the thread's name; default "cenote:loop" */
    const cen_allocator *allocator; /* default malloc; libuv has its own memory from malloc all the same */
} cen_loop_options;

#define CEN_LOOP_OPTIONS(...) CEN_OPTIONS_(cen_loop_options, __VA_ARGS__)

/* The thread has begun when it returns. Errors: INVALID (the text names the field), NO_MEMORY, SYSTEM. */
CEN_API cen_status cen_loop_new(const cen_loop_options *options, cen_loop **out, cen_error *error);

/* Ends the thread, waits for it and gives the memory back. NULL is allowed. Errors:
 * BUSY (a connection or a server that uses it has not been freed), MISUSE (from
 * its own thread): nothing changes. */
CEN_API cen_status cen_loop_free(cen_loop *loop);

/* How many connections and servers use it. NULL: the process' own, 0 if there is none now. */
CEN_API uint32_t cen_loop_users(cen_loop *loop);

#ifdef __cplusplus
}
#endif
#endif
