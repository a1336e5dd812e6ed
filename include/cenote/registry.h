/* SPDX-License-Identifier: MIT */
/*
 * Registry: from keys to entries, each with a value and an owner. When the
 * owner ends, its entries go. libcenote-route.
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
 * A registry is UNIQUE, with at most one entry under a key, or DUPLICATE, with any
 * number. Entries under one key are in the order in which they were registered.
 *
 * Reading (lookup, pick, nth, count, each) takes no lock and never waits. What it
 * finds stays in memory until the read section ends, though it may have been
 * removed meanwhile; a value that the program frees must stay as long, and
 * `release` says when that is. One that was removed before a call began is not found by it.
 * Changing (register, unregister, remove, update) takes a lock, and the time does not
 * depend on how many entries there are, under the key or at all. When much was removed in a short time, or
 * many keys were added, a change waits until read sections that are open have ended; so
 * nobody in a section may wait for one who changes a registry. A change within a
 * section does not wait for that.
 *
 * An entry's number, of register or cen_entry_number, names it from outside of a read section. It is
 * never used again: of an entry that is gone it is STALE, and nothing else is touched.
 *
 * Threads: everything from any thread, except free, meanwhile and after which nobody may
 * call; owners may end meanwhile.
 * Fork: in the child every call answers FORKED and touches nothing, free included.
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

typedef enum cen_registry_kind {
    CEN_UNIQUE = 0, /* at most one entry under a key */
    CEN_DUPLICATE,  /* any number */
} cen_registry_kind;

/* ---- What listeners are told ------------------------------------------------------------ */

typedef enum cen_registry_change {
    CEN_REGISTERED = 1, /* an entry came, or was there already when the listener came (is_old) */
    CEN_UPDATED,        /* it has another value */
    CEN_UNREGISTERED,   /* it is gone, and why is in `reason` */
    /* the last that is told: all entries are gone, and so is what listen gave when the call returns */
    CEN_REGISTRY_ENDS,
} cen_registry_change;

typedef enum cen_registry_reason {
    CEN_REASON_NONE = 0,
    CEN_REASON_REMOVED,     /* by unregister or remove */
    CEN_REASON_OWNER_ENDED, /* its owner ended */
    CEN_REASON_FREED,       /* its registry is being freed */
} cen_registry_reason;

/* All of it stays until the listener returns; the value as long as `release` says. */
typedef struct cen_registered {
    cen_registry_change change;
    cen_registry_reason reason;
    bool is_old; /* of REGISTERED */
    cen_registry *registry;
    const cen_entry *entry; /* NULL at the end of the registry, and then what follows is zero */
    cen_key key;
    cen_owner *owner;
    uint64_t number; /* the entry's */
    void *value;     /* as it was by this change; of UNREGISTERED, the last */
    void *before;    /* of UPDATED: the value that it replaced */
    bool more;       /* another change is told to the same listener next, unless that is ended before */
} cen_registered;

/* Is told of changes in exactly the order in which they were made, one call at a time in a registry, with
 * no lock held, on the thread of whoever changed something, or of another who is telling just then:
 * so a change may return before it was told. May call the registry, and change it: that is told after. Must return. It is
 * within a read section if the change was. */
typedef void (*cen_registry_listener)(void *argument, const cen_registered *change);

/* ---- Making and freeing -------------------------------------------------------------------- */

/* Zero means default in every field. Fields are only ever appended. */
typedef struct cen_registry_options {
    size_t size;      /* sizeof(cen_registry_options), set by the macro */
    const char *name; /* copied, cut after 47 bytes; default "registry" */
    cen_registry_kind kind;
    cen_registry_listener listener; /* is told of everything; more can be added by listen; default none */
    /* Called once for each value that was registered or put by an update, when its entry is gone or has another and
     * no read section can still see it: from then on the program may free it. On a helper of the runtime, or
     * within a change. No lock is held, no section is open; it may call the registry, but must not free it. Default none. */
    void (*release)(void *argument, void *value);
    void *argument;                 /* of these */
    cen_runtime *runtime;           /* lets go of what was removed; outlives the registry; default the process' own */
    const cen_allocator *allocator; /* default malloc */
} cen_registry_options;

#define CEN_REGISTRY_OPTIONS(...) CEN_OPTIONS_(cen_registry_options, __VA_ARGS__)

/* Errors: INVALID (the text names the field), NO_MEMORY, SYSTEM, FORKED (the runtime is a parent's). */
CEN_API cen_status cen_registry_new(const cen_registry_options *options, cen_registry **out, cen_error *error);

/* Removes what entries there are, whosever they are, tells the listeners, and frees all: the owners live on. Waits
 * for read sections that are open, for a listener that is being told, and for the last release. NULL is allowed.
 * Errors, after which nothing has changed: MISUSE (in a read section, or by one of its listeners), FORKED. */
CEN_API cen_status cen_registry_free(cen_registry *registry);

/* ---- Changing it ----------------------------------------------------------------------------- */

/* Puts an entry under the key, last in the order there. `owner` NULL: the calling thread. `number`, which
 * may be NULL, becomes the entry's. `value` may be NULL. A refused call leaves nothing behind.
 * Errors: EXISTS (in a UNIQUE registry; the text names the key and who holds it), CLOSED (the owner has ended),
 * MISUSE (no owner, in a step of a crew's task), INVALID, NO_MEMORY, SYSTEM, FORKED. */
CEN_API cen_status cen_registry_register(cen_registry *registry, cen_key key, void *value, cen_owner *owner,
                                         uint64_t *number, cen_error *error);

/* Removes all that the owner (NULL: the calling thread) has under the key, and no other's.
 * Errors: ABSENT (it has nothing there), MISUSE (as register), INVALID, FORKED. */
CEN_API cen_status cen_registry_unregister(cen_registry *registry, cen_key key, cen_owner *owner);

/* Removes the one entry of that number, whosever it is. Errors: STALE (it is gone, or another registry's), INVALID, FORKED. */
CEN_API cen_status cen_registry_remove(cen_registry *registry, uint64_t number);

/* Gives the entry of that number another value; `before`, which may be NULL, becomes the one that it had. A reader sees
 * one or the other. Errors: STALE, INVALID, NO_MEMORY (only if there is a listener or release), FORKED. */
CEN_API cen_status cen_registry_update(cen_registry *registry, uint64_t number, void *value, void **before);

/* ---- Reading it: in a read section ---------------------------------------------------------------- */

/* All of these: Errors: ABSENT (nothing is under the key), MISUSE (not in a read section), INVALID, FORKED. */

/* The entry under the key; of several, the oldest. */
CEN_API cen_status cen_registry_lookup(cen_registry *registry, cen_key key, const cen_entry **out);

/* One of those under the key, each as likely as any other. In constant time. */
CEN_API cen_status cen_registry_pick(cen_registry *registry, cen_key key, const cen_entry **out);

/* The one at `index` of those under the key, from 0; ABSENT if there are not so many. In constant time. The
 * indices are not the order of registration: when one is removed, the last one gets its index. */
CEN_API cen_status cen_registry_nth(cen_registry *registry, cen_key key, size_t index, const cen_entry **out);

/* What an entry has; as long as the section lasts in which it was found. */
CEN_API void *cen_entry_value(const cen_entry *entry);
CEN_API cen_key cen_entry_key(const cen_entry *entry); /* its bytes are the entry's */
CEN_API cen_owner *cen_entry_owner(const cen_entry *entry);
CEN_API uint64_t cen_entry_number(const cen_entry *entry);
CEN_API cen_registry *cen_entry_registry(const cen_entry *entry);

/* ---- Reading it: anywhere ------------------------------------------------------------------------- */

/* Calls `visit` with each entry under the key, in the order of registration, until it answers false, in a read section of
 * this call's own, or within the caller's. One that is there from the beginning to the end of the call is visited exactly
 * once; one that comes or goes meanwhile once or not at all. `visit` may change the registry. Errors: INVALID, FORKED. */
CEN_API cen_status cen_registry_each(cen_registry *registry, cen_key key,
                                     bool (*visit)(void *argument, const cen_entry *entry), void *argument);

/* The same for every entry there is: key after key, in no particular order of these. */
CEN_API cen_status cen_registry_each_all(cen_registry *registry, bool (*visit)(void *argument, const cen_entry *entry),
                                         void *argument);

/* How many there are under the key: 0 is OK, too. Errors: INVALID, FORKED. */
CEN_API cen_status cen_registry_count(cen_registry *registry, cen_key key, size_t *out);

/* ---- Listening to it ------------------------------------------------------------------------------- */

typedef struct cen_listening cen_listening;

/* Lets `listener` be told of the key, or, if `key` is NULL, of all: first of each entry that is there now, as REGISTERED with
 * is_old, and then of every change that is made from now on. By the time this returns it has been told of those that are there,
 * unless somebody is telling just then, or this is called by a listener: then soon. Changes are told to all
 * listeners in the order in which they came; the time for each change grows with their number.
 * Errors: CLOSED (it is being freed), INVALID, NO_MEMORY, FORKED. */
CEN_API cen_status cen_registry_listen(cen_registry *registry, const cen_key *key, cen_registry_listener listener,
                                       void *argument, cen_listening **out, cen_error *error);

/* Ends it: when this returns the listener is not being told and never will be, unless it is the listener itself that
 * calls: then this is the last time. Waits for a call that goes on. Before the registry is freed: that ends
 * it, too. NULL is allowed. Errors: MISUSE (in a read section, except by a listener of the registry), FORKED. */
CEN_API cen_status cen_registry_unlisten(cen_listening *listening);

/* ---- A look at it ------------------------------------------------------------------------------------ */

typedef struct cen_registry_stats {
    size_t size;                   /* sizeof(cen_registry_stats), set by CEN_SIZED */
    uint64_t keys, entries;        /* there are now */
    uint64_t registered;           /* ever */
    uint64_t removed, owner_ended; /* entries that went, by why */
    uint64_t updated;
    uint64_t refused;   /* by EXISTS */
    uint64_t listeners; /* those that are about to be told of what is there included */
    uint64_t untold;    /* changes that listeners have yet to be told of */
    uint64_t buckets;   /* of the table of keys; it grows by doubling, and never shrinks */
} cen_registry_stats;

/* All were true at one moment, and entries = registered - removed - owner_ended. Errors: INVALID, FORKED. */
CEN_API cen_status cen_registry_stats_get(cen_registry *registry, cen_registry_stats *out);

#ifdef __cplusplus
}
#endif
#endif
