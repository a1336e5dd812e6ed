/* SPDX-License-Identifier: MIT */
/*
 * A loop: the thread that watches the sockets of connections and servers. libcenote-net.
 *
 * A program need not create one. Connections and servers that do not name a loop share the process's own loop, which
 * exists as long as one of them does. An explicit loop keeps the sockets of one part of a program separate:
 *
 *     cen_loop *loop;
 *     cen_loop_options options = CEN_LOOP_OPTIONS(.name = "orders");
 *     cen_loop_new(&options, &loop, &error);
 *     cen_mux_options mux = CEN_MUX_OPTIONS(.address = "127.0.0.1:7000", .loop = loop);
 *     // ...
 *     cen_loop_free(loop);                // after its connections and servers
 *
 * Threads: every function may be called from any thread. The loop's thread blocks all signals. A server's handler or an
 * inline `done` that runs on this thread delays every socket of the loop, so it must not block.
 * Fork: the child does not have the thread. The process's own loop is created again there. Connections and servers that
 * name an explicit loop of the parent fail with FORKED, and cen_loop_free frees the loop's memory.
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

/* In every field, zero means the default. Fields are only ever appended. */
typedef struct cen_loop_options {
    size_t size;                    /* sizeof(cen_loop_options), set by the macro */
    const char *name;               /* copied; the thread's name; default "cenote:loop" */
    const cen_allocator *allocator; /* default malloc; libuv always allocates its own memory with malloc */
} cen_loop_options;

/* Options with the given fields: CEN_LOOP_OPTIONS(.name = "orders"). All others are zero. */
#define CEN_LOOP_OPTIONS(...) CEN_OPTIONS_(cen_loop_options, __VA_ARGS__)

/* Create a loop, and start its thread. `options` NULL: defaults.
 * Returns:
 *   OK
 *   INVALID    out is NULL, or an option is invalid; the text names it
 *   NO_MEMORY
 *   SYSTEM     no descriptor or thread could be created for it
 */
CEN_API cen_status cen_loop_new(const cen_loop_options *options, cen_loop **out, cen_error *error);

/* End the thread, wait for it and free the memory. NULL is allowed. With any status other than OK, nothing changes.
 * Returns:
 *   OK
 *   BUSY    a connection or a server that uses the loop has not been freed
 *   MISUSE  called on the loop's own thread
 */
CEN_API cen_status cen_loop_free(cen_loop *loop);

/* Return the number of connections and servers that use the loop. NULL: the process's own; 0 if it does not exist. */
CEN_API uint32_t cen_loop_users(cen_loop *loop);

#ifdef __cplusplus
}
#endif
#endif
