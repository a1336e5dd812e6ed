/* SPDX-License-Identifier: MIT */
/*
 * Owners of registry entries. When an owner ends, its entries are removed from every registry. libcenote-route.
 *
 *     cen_owner *owner;
 *     cen_owner_options options = CEN_OWNER_OPTIONS(.name = "connection 7");
 *     cen_owner_new(&options, &owner, &error);
 *     cen_registry_register(registry, key, connection, owner, NULL, &error);
 *     // ...
 *     cen_owner_end(owner);                   // lookups no longer find the connection
 *
 * A thread is also an owner. An entry that is registered without an owner belongs to the calling thread. The entry is
 * removed when the thread ends, whether by returning, by pthread_exit or by cancellation. A thread that has joined the
 * ended thread finds none of its entries. (The entries of the main thread stay when main returns, because the process
 * then ends.) A step of a crew's task must name an owner, because the task may continue on another thread.
 *
 * Life: an owner created by cen_owner_new belongs to its creator until cen_owner_end is called, which takes the handle
 * back. A thread that uses an owner while another thread may end it must hold the handle during that time
 * (cen_owner_hold). A call that registers an entry then has exactly one of two outcomes: it returns CLOSED, or the
 * entry is removed when the owner ends.
 *
 * Threads: every function may be called from any thread.
 * Fork: in the child, calls for an owner of the parent return FORKED and do not touch it. In the child, the thread that
 * forked becomes a new owner that has no entries.
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

/* In every field, zero means the default. Fields are only ever appended. */
typedef struct cen_owner_options {
    size_t size;                    /* sizeof(cen_owner_options), set by the macro */
    const char *name;               /* copied, cut after 47 bytes; for error texts; default "owner N" (N: its id) */
    const cen_allocator *allocator; /* default malloc */
} cen_owner_options;

/* Options with the given fields: CEN_OWNER_OPTIONS(.name = "connection 7"). All others are zero. */
#define CEN_OWNER_OPTIONS(...) CEN_OPTIONS_(cen_owner_options, __VA_ARGS__)

/* Create an owner. `options` NULL: defaults.
 * Returns:
 *   OK
 *   INVALID    out is NULL, or an option is invalid; the text names it
 *   NO_MEMORY
 */
CEN_API cen_status cen_owner_new(const cen_owner_options *options, cen_owner **out, cen_error *error);

/* End an owner: remove all of its entries, in every registry, and drop the handle. Once the call has returned, no
 * lookup finds any of them. This needs no memory, so it cannot fail with NO_MEMORY. NULL is allowed. With any status
 * other than OK, nothing changes.
 *
 * Callbacks: listeners are called with the reason OWNER_ENDED. The call is allowed in a read section and in a listener.
 * Returns:
 *   OK
 *   MISUSE  it is the owner of a thread, or it has already ended and is still held
 *   FORKED  the owner belongs to the parent process
 */
CEN_API cen_status cen_owner_end(cen_owner *owner);

/* Get the owner that represents the calling thread; if there is none, create it. The owner ends with the thread, and
 * the caller does not hold it.
 * Returns:
 *   OK
 *   MISUSE     called in a step of a crew's task
 *   NO_MEMORY
 *   SYSTEM     no thread-specific key is left; one is needed to notice when the thread ends
 *   INVALID    out is NULL
 */
CEN_API cen_status cen_owner_thread(cen_owner **out, cen_error *error);

/* Hold an owner's handle, or drop it again. While the handle is held, the memory of the owner stays valid, even if the
 * owner ends. A thread needs these functions when it uses an owner that another thread may end. */
CEN_API void cen_owner_hold(cen_owner *owner);
CEN_API void cen_owner_drop(cen_owner *owner);

/* Return the owner's name, such as "connection 7". A thread is named "thread N", where N is the number that
 * cen_holder_number() returns in that thread. The name is valid while the owner is held, and in a read section in which
 * one of its entries was found. */
CEN_API const char *cen_owner_name(const cen_owner *owner);

/* Return a number that no other owner of the process has ever had. */
CEN_API uint64_t cen_owner_id(const cen_owner *owner);

/* Get the number of the owner's entries, in all registries.
 * Returns:
 *   OK
 *   INVALID  owner or out is NULL
 *   FORKED   the owner belongs to the parent process
 */
CEN_API cen_status cen_owner_count(const cen_owner *owner, size_t *out);

/* Call `visit` for each entry of the owner, in all registries, in the order of registration, until `visit` returns
 * false. An entry that exists during the whole call is visited exactly once. An entry that is registered or removed
 * during the call is visited once or not at all.
 *
 * Callbacks: visit is called in a read section.
 * Returns:
 *   OK
 *   INVALID  owner or visit is NULL
 *   FORKED   the owner belongs to the parent process
 */
CEN_API cen_status cen_owner_each(cen_owner *owner, bool (*visit)(void *argument, const cen_entry *entry),
                                  void *argument);

#ifdef __cplusplus
}
#endif
#endif
