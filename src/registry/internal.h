/* SPDX-License-Identifier: MIT */
/*
 * Internal declarations of the registry, for the files of src/registry: the registry, a shelf for each key, entries and
 * owners.
 *
 *     registry ─▶ buckets ─▶ shelf (key) ─▶ shelf ...       keys.c
 *                              │ chain of entries, in order     shelf.c
 *                              │ slots: the same entries, by index
 *                            entry ◀── owner's chain            owner.c
 *
 * Locks: the registry's, rank REGISTRY, and then the owner's, rank OWNER. An entry is put in and taken out with both
 * held. So a thread that holds either lock finds the entry in all places of that lock or in none. Memory is allocated
 * and freed with neither held.
 */
#ifndef CENI_REGISTRY_INTERNAL_H
#define CENI_REGISTRY_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/registry.h>

#include "base/list.h"
#include "port/mutex.h"
#include "port/port.h"
#include "rcu/rcu.h"
#include "record/directory.h"
#include "registry/chain.h"
#include "registry/index.h"

enum { CENI_REGISTRY_NAME = 48 };

/* Called in every turn of a loop whose length depends on the content; tests compare the sums. */
#ifdef CENI_PLANTS
extern _Thread_local uint64_t ceni_registry_steps;
#define ceni_registry_step() ((void)ceni_registry_steps++)
#else
#define ceni_registry_step() ((void)0)
#endif

/* ---- Owners (owner.c) ------------------------------------------------------------------------ */

struct cen_owner {
    /* fixed */
    uint64_t epoch;
    uint64_t number;
    bool is_thread;
    const cen_allocator *allocator;
    char name[CENI_REGISTRY_NAME];
    /* any thread, atomically */
    _Atomic uint32_t holds; /* references to its memory: the handle, each entry in memory, cen_owner_hold */
    _Atomic size_t count;   /* entries; written under the mutex */
    ceni_mutex mutex;       /* rank OWNER */
    /* under the mutex; the chain is read by all */
    bool ended; /* nothing more can be registered for it */
    ceni_chain entries;
};

/* Replace NULL by the calling thread's owner. If the thread has none yet: make one if `make`, else ABSENT. */
cen_status ceni_owner_resolve(cen_owner **owner, bool make, const char *what, cen_error *error);

/* ---- Notifications (tell.c) ------------------------------------------------------------------------- */

/* A notification of a change. It is part of the object that it reports, whose memory stays until listeners were
 * called. */
typedef struct ceni_tale {
    struct ceni_tale *next;
    cen_entry *entry; /* NULL: a listening begins */
    cen_registry_change change;
    cen_registry_reason reason;
    void *value, *before;
} ceni_tale;

struct cen_listening {
    /* fixed */
    cen_registry *registry;
    cen_registry_listener listener;
    void *argument;
    bool to_all;
    uint64_t hash;
    size_t size; /* of this */
    /* under the registry's mutex */
    ceni_tale begins;
    ceni_list link;    /* in the registry's listenings, once it has begun */
    bool ended;        /* its listener is not called again */
    bool ended_inside; /* by its own listener: the notifying thread frees it */
    struct ceni_seen {
        cen_entry *entry;
        void *value;
    } * seen; /* the entries that existed when it was made, until they were reported */
    size_t seen_count, seen_room;
    cen_key key; /* its bytes follow */
    char bytes[];
};

/* ---- Entries, and the shelf of a key (shelf.c) -------------------------------------------------------- */

struct cen_entry {
    /* fixed before it is put in */
    cen_registry *registry;
    struct ceni_shelf *shelf;
    cen_owner *owner;
    uint64_t number;
    /* readers, atomically; written under the registry's mutex */
    _Atomic(void *) value;
    ceni_link in_shelf;
    ceni_link in_owner; /* written under the owner's */
    /* under the registry's mutex */
    size_t index; /* its slot */
    ceni_index_node by_number;
    ceni_index_node by_owner; /* one of an owner's entries under a key leads the others */
    ceni_list fellows;        /* those others */
    bool leads;
    ceni_tale came, went;
    ceni_retired retired; /* once its removal was reported */
};

typedef _Atomic(cen_entry *) ceni_place;

enum { CENI_SHELF_NEAR = 4, CENI_SHELF_CHUNKS = 29 };

/* Slots beyond the first few: chunk c has the slots from CENI_SHELF_NEAR << c to twice that number. 2^31 in all, for
 * which no machine has the memory. */
typedef struct ceni_far {
    ceni_place *chunks[CENI_SHELF_CHUNKS];
} ceni_far;

typedef struct ceni_shelf {
    /* fixed before it is put in */
    uint64_t hash;
    uint64_t number; /* no other shelf of the registry has or had it */
    cen_key key;     /* with bytes: those below */
    /* readers, atomically; written under the registry's mutex */
    _Atomic(struct ceni_shelf *) next[2]; /* by the parity of the buckets */
    ceni_chain entries;
    _Atomic size_t count;
    ceni_place near[CENI_SHELF_NEAR];
    ceni_far *far; /* written, with its chunks, before a count that reaches there; then unchanged */
    /* any thread, atomically */
    _Atomic uint32_t kept; /* entries in memory: the shelf is freed with the last of them */
    char bytes[];
} ceni_shelf;

/* Memory that a register may need; allocated while no lock is held. */
typedef struct ceni_supply {
    cen_entry *entry;
    ceni_shelf *shelf;
    ceni_far *far;
    ceni_place *chunk;
    unsigned which;  /* the number of the chunk */
    unsigned wanted; /* and of the chunk that is needed */
    bool needs_shelf, needs_far, needs_chunk;
} ceni_supply;

/* True if the supply suffices to put an entry on the shelf (NULL: on a new one). Else note what is missing. */
bool ceni_supply_covers(ceni_supply *supply, const ceni_shelf *shelf);

/* Allocate what is missing. False: out of memory. No lock is held. */
bool ceni_supply_fill(cen_registry *registry, ceni_supply *supply, cen_key key);
void ceni_supply_free(cen_registry *registry, ceni_supply *supply);

/* Append the entry to the shelf. Cannot fail with a supply that covers it. */
void ceni_shelf_put_locked(ceni_shelf *shelf, cen_entry *entry, ceni_supply *supply);
/* Take the entry off the shelf. True: it was the only one. */
bool ceni_shelf_take_locked(ceni_shelf *shelf, cen_entry *entry);

size_t ceni_shelf_count(const ceni_shelf *shelf);
/* In a read section: the entry at the index, or at an index that `random` selects; NULL if there is none. */
cen_entry *ceni_shelf_at(ceni_shelf *shelf, size_t index);
cen_entry *ceni_shelf_any(ceni_shelf *shelf, uint64_t random);

/* An entry of the shelf was freed. */
void ceni_shelf_let_go(cen_registry *registry, ceni_shelf *shelf);

#define CENI_ENTRY_OF(link, field) ((cen_entry *)(void *)(((char *)(link)) - offsetof(cen_entry, field)))

/* ---- Keys (key.c) ----------------------------------------------------------------------------------- */

enum { CENI_KEY_TEXT = 80 };

bool ceni_key_is_valid(cen_key key);
uint64_t ceni_key_hash(uint64_t seed, cen_key key);
/* The key in quotes, or as a number; cut if it does not fit. */
const char *ceni_key_print(cen_key key, char text[CENI_KEY_TEXT]);

/* How many bytes a copy needs, and the copy. */
size_t ceni_key_room(cen_key key);
cen_key ceni_key_copy(cen_key key, char *room);

/* ---- The table of keys (keys.c) ------------------------------------------------------------------- */

typedef struct ceni_buckets {
    /* fixed before they are published */
    cen_registry *registry;
    size_t mask;
    unsigned parity; /* which of a shelf's two links these buckets use */
    uint64_t growth; /* how many arrays of buckets were before this one */
    ceni_retired retired;
    _Atomic(ceni_shelf *) first[];
} ceni_buckets;

/* ---- The registry ------------------------------------------------------------------------------------- */

struct cen_registry {
    /* fixed */
    uint64_t epoch;
    uint64_t seed;
    cen_registry_kind kind;
    cen_runtime *runtime;
    const cen_allocator *allocator;
    void (*release)(void *argument, void *value);
    void *argument;
    char name[CENI_REGISTRY_NAME];
    ceni_directory_entry entry; /* the directory's */
    /* readers, atomically; written under the mutex */
    _Atomic(ceni_buckets *) buckets;
    /* any thread, atomically */
    _Atomic uint32_t holds; /* ending owners that are working on this registry */
    _Atomic uint32_t turns; /* a futex, changed under the mutex when a thread stops calling listeners */
    ceni_mutex mutex;       /* rank REGISTRY */
    /* under the mutex */
    bool closed;      /* it is being freed */
    uint64_t settled; /* no reader uses the buckets up to this growth, nor their links */
    uint64_t shelves; /* made so far */
    cen_registry_stats stats;
    ceni_index by_number, by_owner;
    /* tell.c */
    ceni_list listenings;       /* listenings that have begun, in order */
    ceni_tale *first, *last;    /* the queue of tales */
    bool telling;               /* a thread is calling listeners */
    uint64_t teller;            /* that thread's number */
    cen_listening *told, *next; /* whose listener is being called; whose is the next */
    /* any thread */
    ceni_bin bin;
};

static inline void ceni_registry_lock(cen_registry *registry)
{
    ceni_mutex_lock(&registry->mutex, CENI_RANK_REGISTRY);
}

static inline void ceni_registry_unlock(cen_registry *registry)
{
    ceni_mutex_unlock(&registry->mutex, CENI_RANK_REGISTRY);
}

/* Tales without a listener: what they are part of is released after the lock is dropped. */
typedef struct ceni_tales {
    ceni_tale *first, *last;
} ceni_tales;

/* keys.c */
cen_status ceni_keys_start(cen_registry *registry);
void ceni_keys_fini(cen_registry *registry);
ceni_shelf *ceni_keys_find(cen_registry *registry, cen_key key, uint64_t hash);
void ceni_keys_put_locked(cen_registry *registry, ceni_shelf *shelf);
void ceni_keys_take_locked(cen_registry *registry, ceni_shelf *shelf);
size_t ceni_keys_buckets_locked(cen_registry *registry);
/* True if a table needs more buckets and can grow now: then call ceni_keys_grow, with no lock held. */
bool ceni_keys_want_growth_locked(cen_registry *registry);
void ceni_keys_grow(cen_registry *registry);
/* In a read section: call `visit` for every shelf until it returns false. */
void ceni_keys_each(cen_registry *registry, bool (*visit)(void *argument, ceni_shelf *shelf), void *argument);

/* change.c: take the entry out of all its places. */
void ceni_entry_remove_locked(cen_registry *registry, cen_entry *entry, cen_registry_reason reason, ceni_tales *untold);
/* Remove entries of the owner while the first of its entries is in this registry, a few at most. The registry is held;
 * no lock is. */
void ceni_registry_owner_ends(cen_registry *registry, cen_owner *owner);
/* Listeners were called for the tale, or there are none: release what it is part of. No lock is held. */
void ceni_tale_let_go(cen_registry *registry, ceni_tale *tale);

/* owner.c. ceni_owner_attach: false if the owner has ended. */
bool ceni_owner_attach(cen_owner *owner, cen_entry *entry);
void ceni_owner_forget_entry(cen_owner *owner, cen_entry *entry);
/* The owner's first entry, if it is in this registry, whose lock is held; else NULL. */
cen_entry *ceni_owner_first(cen_owner *owner, const cen_registry *registry);
void ceni_owner_let_go(cen_owner *owner);
/* A number for an entry or an owner, unique in the process. */
uint64_t ceni_registry_number(void);

/* tell.c: queue the tale. False: there is no listener, and the caller must release it. */
bool ceni_tell_locked(cen_registry *registry, ceni_tale *tale);
bool ceni_tell_is_wanted_locked(const cen_registry *registry);
/* Call listeners for the queue, unless another thread does. Then drop the lock, and release `untold`. */
void ceni_tell_and_unlock(cen_registry *registry, ceni_tales *untold);
void ceni_tales_add(ceni_tales *tales, ceni_tale *tale);
/* True if the calling thread is in a listener of this registry. */
bool ceni_tell_is_inside_locked(const cen_registry *registry);
/* Add the listener of the options. No other thread knows the registry yet. */
cen_status ceni_listen_first(cen_registry *registry, cen_registry_listener listener, void *argument);
/* Wait until no thread calls listeners, then call them with the registry's end. No lock is held. */
void ceni_tell_end(cen_registry *registry);
/* Free the listening of a registry that could not be made. */
void ceni_listen_undo(cen_registry *registry);

/* describe.c: the registry as a component. */
size_t ceni_registry_snapshot(const void *object, cen_metric *metrics, size_t room);
extern const ceni_component_calls ceni_registry_calls;

#endif
