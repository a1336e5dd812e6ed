/* SPDX-License-Identifier: MIT */
/*
 * Owners: whose the entries of registries are. When an owner ends, its
 * entries go, in every registry. libcenote-route.
 *
 *     cen_owner *owner;
 *     cen_owner_options options = CEN_OWNER_OPTIONS(.name = "connection 7");
 *     cen_owner_new(&options, &owner, &error);
 *     cen_registry_register(registry, key, connection, owner, NULL, &error);
 *     // ...
 *     cen_owner_end(owner);                   // nobody finds the connection any more
 *
 * A thread is an owner, too: what is registered without naming one is the
 * calling thread's, and goes when the thread ends, by returning, by pthread_exit or
 * cancelled; whoever has joined it finds nothing of it. (The main thread's stays
 * when main returns: then the process ends.) A step of a crew's task must name an
 * owner, since the task may go on on another thread.
 *
 * Life: an owner made by new is its maker's until end, which takes the handle back. Who
 * uses it while another may end it holds it meanwhile: register then answers
 * CLOSED, or what was registered is removed by the end, and nothing in between.
 *
 * Threads: everything from any thread.
 * Fork: in the child an owner of the parent's answers FORKED and is not touched. The
 * thread that forked is a new owner there, without entries.
 */
#ifndef CENOTE_OWNER_H
#define CENOTE_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/allocator.h>
#include <cenote/sized.h>
#include <cenote/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cen_owner cen_owner;
typedef struct cen_entry cen_entry; /* see registry.h */

/* Zero means default in every field. Fields are only ever appended. */
typedef struct cen_owner_options {
    size_t size;                    /* sizeof(cen_owner_options), set by the macro */
    const char *name;               /* copied, cut after 47 bytes; for texts; default "owner N" with its number */
    const cen_allocator *allocator; /* default malloc */
} cen_owner_options;

#define CEN_OWNER_OPTIONS(...) CEN_OPTIONS_(cen_owner_options, __VA_ARGS__)

/* `options` may be NULL. Errors: INVALID, NO_MEMORY. */
CEN_API cen_status cen_owner_new(const cen_owner_options *options, cen_owner **out, cen_error *error);

/* Removes all its entries, in every registry, and lets go of the handle. Whoever looks
 * for one when this has returned finds none; listeners are told, with the reason
 * OWNER_ENDED. Cannot fail for want of memory, and needs none. May be called in a read
 * section and by listeners. NULL is allowed.
 * Errors: MISUSE (it is a thread's, or has ended before and is still held), FORKED: nothing changes. */
CEN_API cen_status cen_owner_end(cen_owner *owner);

/* The calling thread's own, made now if there is none; it ends with the thread, and is not held.
 * Errors: MISUSE (in a step of a crew's task), NO_MEMORY, SYSTEM, INVALID. */
CEN_API cen_status cen_owner_thread(cen_owner **out, cen_error *error);

/* Keeps the handle's memory, not the owner: for whoever uses it while another may end it. */
CEN_API void cen_owner_hold(cen_owner *owner);
CEN_API void cen_owner_drop(cen_owner *owner);

/* "connection 7", or "thread 3" with the number of cen_holder_number() there; as long as it is held, or an entry of its is
 * seen in a read section. */
CEN_API const char *cen_owner_name(const cen_owner *owner);

/* A number that no other owner of the process has or had. */
CEN_API uint64_t cen_owner_id(const cen_owner *owner);

/* How many entries it has, in all registries. Errors: INVALID, FORKED. */
CEN_API cen_status cen_owner_count(const cen_owner *owner, size_t *out);

/* Calls `visit` with each of its entries, in all registries, in the order in which they were registered, in a read
 * section, until it answers false. One that is there from the beginning to the end of the call is visited once, one that comes
 * or goes meanwhile once or not at all. Errors: INVALID, FORKED. */
CEN_API cen_status cen_owner_each(cen_owner *owner, bool (*visit)(void *argument, const cen_entry *entry),
                                  void *argument);

#ifdef __cplusplus
}
#endif
#endif
