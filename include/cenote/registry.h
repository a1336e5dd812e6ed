/* SPDX-License-Identifier: MIT */
/*
 * A registry: a concurrent map from keys to entries, each of which has a value and an owner. When an owner ends, its
 * entries are removed. libcenote-route.
 *
 *     cen_registry *registry;
 *     cen_registry_options options = CEN_REGISTRY_OPTIONS(.name = "connections", .kind = CEN_DUPLICATE);
 *     cen_registry_new(&options, &registry, &error);
 *
 *     cen_registry_register(registry, cen_key_text("db"), connection, NULL, NULL, &error);   // until this thread ends
 *
 *     const cen_entry *entry;
 *     cen_read_begin();                                        // see read.h
 *     if (cen_registry_pick(registry, cen_key_text("db"), &entry) == CEN_OK) use(cen_entry_value(entry));
 *     cen_read_end();
 *
 *     cen_registry_free(registry);
 *
 * A registry is either UNIQUE, with at most one entry under each key, or DUPLICATE, with any number of entries. Entries
 * under one key are kept in the order in which they were registered.
 *
 * Reading (lookup, pick, nth, count, each) takes no lock and never waits. An entry that was found stays in memory until
 * the read section ends, even if it is removed in the meantime. If the program frees values, it must keep each value
 * until then as well: `release` reports when a value may be freed. A call does not find an entry that was removed
 * before the call began.
 *
 * Changing (register, unregister, remove, update) takes a lock. The time that a change takes does not depend on the
 * number of entries under the key or in the registry. If many entries were removed in a short time, or many keys were
 * added, a change waits until the open read sections have ended. Therefore, a thread in a read section must not wait
 * for a thread that changes a registry. A change that is made within a read section does not wait for other read
 * sections.
 *
 * The number of an entry (cen_registry_register, cen_entry_number) identifies the entry outside of read sections.
 * Numbers are never reused: if the entry is gone, calls with its number return STALE and touch nothing.
 *
 * Threads: every function may be called from any thread. From the start of cen_registry_free, no other call on the
 * registry is allowed; owners may still end.
 * Fork: in the child, every call, including cen_registry_free, returns FORKED and touches nothing.
 */
#ifndef CENOTE_REGISTRY_H
#define CENOTE_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/allocator.h>
#include <cenote/key.h>
#include <cenote/owner.h>
#include <cenote/read.h>
#include <cenote/runtime.h>
#include <cenote/sized.h>
#include <cenote/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cen_registry cen_registry;

/* How many entries a key may have. */
typedef enum cen_registry_kind {
    CEN_UNIQUE = 0, /* at most one */
    CEN_DUPLICATE,  /* any number */
} cen_registry_kind;

/* ---- Changes, as listeners see them ------------------------------------------------------ */

/* What has changed. */
typedef enum cen_registry_change {
    CEN_REGISTERED = 1, /* an entry was registered, or existed when the listener was added (is_old) */
    CEN_UPDATED,        /* an entry has a new value */
    CEN_UNREGISTERED,   /* an entry was removed; `reason` says why */
    /* the last call of every listener: all entries are gone, and the listener's handle ends when the call returns */
    CEN_REGISTRY_ENDS,
} cen_registry_change;

/* Why an entry was removed. */
typedef enum cen_registry_reason {
    CEN_REASON_NONE = 0,    /* it was not removed */
    CEN_REASON_REMOVED,     /* by cen_registry_unregister or cen_registry_remove */
    CEN_REASON_OWNER_ENDED, /* its owner ended */
    CEN_REASON_FREED,       /* its registry is being freed */
} cen_registry_reason;

/* One change. Everything in it is valid until the listener returns, except for the values: each stays valid until
 * `release` is called for it. */
typedef struct cen_registered {
    cen_registry_change change;
    cen_registry_reason reason; /* for UNREGISTERED */
    bool is_old;                /* for REGISTERED: the entry existed when the listener was added */
    cen_registry *registry;
    const cen_entry *entry; /* NULL for REGISTRY_ENDS, for which all fields below are zero */
    cen_key key;
    cen_owner *owner;
    uint64_t number; /* the entry's */
    void *value;     /* the value after this change; for UNREGISTERED, the last one */
    void *before;    /* for UPDATED: the previous value */
    bool more;       /* another change follows for the same listener, unless the listener is removed first */
} cen_registered;

/* A listener: called for changes in exactly the order in which they were made, with no lock held. Within one registry,
 * only one listener is called at a time. It runs on the thread that made the change, or on another thread that is
 * calling listeners at that moment. The call that makes a change may therefore return before the listener is called. If
 * the thread that runs the listener is in a read section, the listener runs in that section.
 *
 * A listener may call functions of the registry and change it; listeners are called for such a change afterwards. A
 * listener must return. */
typedef void (*cen_registry_listener)(void *argument, const cen_registered *change);

/* ---- Creating and freeing ------------------------------------------------------------------ */

/* Options of a registry. In every field, zero means the default. Fields are only ever appended. */
typedef struct cen_registry_options {
    size_t size;                    /* sizeof(cen_registry_options), set by the macro */
    const char *name;               /* copied, cut after 47 bytes; default "registry" */
    cen_registry_kind kind;         /* default CEN_UNIQUE */
    cen_registry_listener listener; /* called for every change; cen_registry_listen adds more; default none */
    /* Called exactly once for each value that was registered or set by an update, when its entry is gone or has another
     * value and no read section can still see the value. The program may then free the value. Runs on a helper of the
     * runtime, within a change, or in cen_registry_free, with no lock held and outside of read sections. It may call
     * functions of the registry, but must not free the registry. Default none. */
    void (*release)(void *argument, void *value);
    void *argument;                 /* passed to listener and release */
    cen_runtime *runtime;           /* releases removed entries; must outlive the registry; default the process's own */
    const cen_allocator *allocator; /* default malloc */
} cen_registry_options;

/* Options with the given fields: CEN_REGISTRY_OPTIONS(.name = "connections"). All others are zero. */
#define CEN_REGISTRY_OPTIONS(...) CEN_OPTIONS_(cen_registry_options, __VA_ARGS__)

/* Create a registry.
 * Returns:
 *   OK         *out is the registry
 *   INVALID    out is NULL, or an option is invalid; the text names it
 *   NO_MEMORY  out of memory
 *   FORKED     options.runtime belongs to the parent process
 */
CEN_API cen_status cen_registry_new(const cen_registry_options *options, cen_registry **out, cen_error *error);

/* Remove all entries of all owners, call the listeners, and free the registry. The owners continue to exist. NULL is
 * allowed. With any status other than OK, nothing changes.
 *
 * Blocking: waits for open read sections, for a listener that is running, and for the last release.
 * Returns:
 *   OK      the registry is freed, or was NULL
 *   MISUSE  called in a read section, or by one of its listeners
 *   FORKED  the registry belongs to the parent process
 */
CEN_API cen_status cen_registry_free(cen_registry *registry);

/* ---- Changing it ----------------------------------------------------------------------------- */

/* Register an entry under a key, after any existing entries. If `owner` is NULL, the calling thread is the owner.
 * *number, if not NULL, is the entry's number. `value` may be NULL. With any status other than OK, nothing is
 * registered.
 * Returns:
 *   OK         the entry is registered
 *   EXISTS     the registry is UNIQUE, and the key has an entry; error->text names the key and its owner
 *   CLOSED     the owner has ended, or the registry is being freed
 *   MISUSE     owner is NULL in a step of a crew's task
 *   INVALID    registry is NULL, or the key is NULL or too long
 *   NO_MEMORY  out of memory
 *   SYSTEM     owner is NULL, and there is no free thread-specific key, which is needed to notice the end of the thread
 *   FORKED     the registry or the owner belongs to the parent process
 */
CEN_API cen_status cen_registry_register(cen_registry *registry, cen_key key, void *value, cen_owner *owner,
                                         uint64_t *number, cen_error *error);

/* Remove all entries that the owner has under the key. If `owner` is NULL, the calling thread is the owner. Entries of
 * other owners stay.
 * Returns:
 *   OK       at least one entry was removed
 *   ABSENT   the owner has no entry under the key
 *   MISUSE   owner is NULL in a step of a crew's task
 *   INVALID  registry is NULL, or the key is NULL or too long
 *   FORKED   the registry or the owner belongs to the parent process
 */
CEN_API cen_status cen_registry_unregister(cen_registry *registry, cen_key key, cen_owner *owner, cen_error *error);

/* Remove the entry with the given number, regardless of its owner. error->text names the registry and the number.
 * Returns:
 *   OK       the entry was removed
 *   STALE    the entry is gone, or is in another registry
 *   INVALID  registry is NULL
 *   FORKED   the registry belongs to the parent process
 */
CEN_API cen_status cen_registry_remove(cen_registry *registry, uint64_t number, cen_error *error);

/* Set the value of the entry with the given number. *before, if not NULL, is set to the value that was replaced. A
 * reader sees either the old value or the new one. error->text names the registry and the number.
 * Returns:
 *   OK         the entry has the new value
 *   STALE      the entry is gone, or is in another registry
 *   INVALID    registry is NULL
 *   NO_MEMORY  out of memory; only if the registry has a listener or a release
 *   FORKED     the registry belongs to the parent process
 */
CEN_API cen_status cen_registry_update(cen_registry *registry, uint64_t number, void *value, void **before,
                                       cen_error *error);

/* ---- Reading it, in a read section ------------------------------------------------------------------ */

/* Look up the entry for a key. If there are several, the oldest one is found.
 * Returns:
 *   OK       *out is the entry, which is valid until the read section ends
 *   ABSENT   there is no entry under the key
 *   MISUSE   called outside of a read section
 *   INVALID  registry or out is NULL, or the key is NULL or too long
 *   FORKED   the registry belongs to the parent process
 */
CEN_API cen_status cen_registry_lookup(cen_registry *registry, cen_key key, const cen_entry **out);

/* Pick one of the entries under a key at random, each equally likely, in constant time.
 * Returns:
 *   OK      *out is the entry, which is valid until the read section ends
 *   others  as cen_registry_lookup
 */
CEN_API cen_status cen_registry_pick(cen_registry *registry, cen_key key, const cen_entry **out);

/* Get the entry at an index among those under a key, in constant time. Indexes begin at 0. They do not follow the order
 * of registration: when an entry is removed, the last entry takes over its index.
 * Returns:
 *   OK      *out is the entry, which is valid until the read section ends
 *   ABSENT  there is no entry at that index
 *   others  as cen_registry_lookup
 */
CEN_API cen_status cen_registry_nth(cen_registry *registry, cen_key key, size_t index, const cen_entry **out);

/* Return an entry's value, key, owner, number and registry. The bytes of the key belong to the entry. All are valid
 * until the end of the read section in which the entry was found. */
CEN_API void *cen_entry_value(const cen_entry *entry);
CEN_API cen_key cen_entry_key(const cen_entry *entry);
CEN_API cen_owner *cen_entry_owner(const cen_entry *entry);
CEN_API uint64_t cen_entry_number(const cen_entry *entry);
CEN_API cen_registry *cen_entry_registry(const cen_entry *entry);

/* ---- Reading it, anywhere --------------------------------------------------------------------------- */

/* Call `visit` for each entry under a key, in the order of registration, until `visit` returns false. An entry that
 * exists during the whole call is visited exactly once. An entry that is registered or removed during the call is
 * visited once or not at all.
 *
 * Callbacks: `visit` is called in a read section. It may change the registry.
 * Returns:
 *   OK       the visit is complete, even if there is no entry
 *   INVALID  registry or visit is NULL, or the key is NULL or too long
 *   FORKED   the registry belongs to the parent process
 */
CEN_API cen_status cen_registry_each(cen_registry *registry, cen_key key,
                                     bool (*visit)(void *argument, const cen_entry *entry), void *argument);

/* Call `visit` for every entry of the registry, as cen_registry_each does: key by key, with the keys in no particular
 * order.
 * Returns:
 *   OK       the visit is complete
 *   INVALID  registry or visit is NULL
 *   FORKED   the registry belongs to the parent process
 */
CEN_API cen_status cen_registry_each_all(cen_registry *registry, bool (*visit)(void *argument, const cen_entry *entry),
                                         void *argument);

/* Get the number of entries under a key.
 * Returns:
 *   OK       *out is the number, which may be 0
 *   INVALID  registry or out is NULL, or the key is NULL or too long
 *   FORKED   the registry belongs to the parent process
 */
CEN_API cen_status cen_registry_count(cen_registry *registry, cen_key key, size_t *out);

/* ---- Listening ---------------------------------------------------------------------------------------- */

typedef struct cen_listening cen_listening;

/* Add a listener for one key or, if `key` is NULL, for all keys. The listener is called for each entry that already
 * exists, as REGISTERED with is_old set, and then for every later change. Every change calls all listeners, in the
 * order in which they were added, so the time that a change takes grows with the number of listeners.
 *
 * Callbacks: when this function returns, the new listener has been called for the existing entries, with two
 * exceptions: if another thread is calling listeners at that moment, or if this function is called by a listener, the
 * new listener is called for the existing entries soon afterwards.
 * Returns:
 *   OK         the listener is added
 *   CLOSED     the registry is being freed
 *   INVALID    registry, listener or out is NULL, or the key is too long
 *   NO_MEMORY  out of memory
 *   FORKED     the registry belongs to the parent process
 */
CEN_API cen_status cen_registry_listen(cen_registry *registry, const cen_key *key, cen_registry_listener listener,
                                       void *argument, cen_listening **out, cen_error *error);

/* Remove a listener. NULL is allowed. Call this only before cen_registry_free, which removes all listeners itself.
 *
 * Blocking: waits until a running call of the listener has returned. When this function returns, the listener is not
 * running and will not be called again. If the listener removes itself, the current call is its last one.
 * Returns:
 *   OK      the listener is removed
 *   MISUSE  called in a read section, except by a listener of the registry
 *   FORKED  the registry belongs to the parent process
 */
CEN_API cen_status cen_registry_unlisten(cen_listening *listening);

/* ---- Stats ---------------------------------------------------------------------------------------------- */

/* Stats of a registry. The numbers are a consistent snapshot, so entries = registered - removed - owner_ended. */
typedef struct cen_registry_stats {
    size_t size;                   /* sizeof(cen_registry_stats), set by CEN_SIZED */
    uint64_t keys, entries;        /* keys and entries that exist now */
    uint64_t registered;           /* entries registered so far */
    uint64_t removed, owner_ended; /* entries removed by a call, and because their owner ended */
    uint64_t updated;              /* updates so far */
    uint64_t refused;              /* register calls that failed with EXISTS */
    uint64_t listeners;            /* including those that are yet to be called for existing entries */
    uint64_t untold;               /* changes for which listeners are yet to be called */
    uint64_t buckets;              /* buckets of the key table, which grows by doubling and never shrinks */
} cen_registry_stats;

/* Read the stats.
 * Returns:
 *   OK       *out is filled in
 *   INVALID  registry or out is NULL, or out->size is not valid
 *   FORKED   the registry belongs to the parent process
 */
CEN_API cen_status cen_registry_stats_get(cen_registry *registry, cen_registry_stats *out);

#ifdef __cplusplus
}
#endif
#endif
