/* SPDX-License-Identifier: MIT */
/*
 * What the files of this room share: the registry, a shelf for each key, the
 * entries on it, and their owners.
 *
 *     registry ─▶ buckets ─▶ shelf (key) ─▶ shelf ...       keys.c
 *                              │ chain of entries, in order     shelf.c
 *                              │ slots: the same entries, by index
 *                            entry ◀── owner's chain            owner.c
 *
 * Locks: the registry's, rank REGISTRY, and then the owner's, rank OWNER. An entry
 * is put in and taken out with both held, so that whoever holds either finds
 * it in all places or in none of that lock's. Memory is asked for and given back with neither.
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

/* Every turn of a loop that depends on how much there is; tests compare the sums. */
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
    _Atomic uint32_t holds; /* of its memory: the handle, each entry in memory, whoever holds it */
    _Atomic size_t count;   /* entries; written under the mutex */
    ceni_mutex mutex;       /* rank OWNER */
    /* under the mutex; the chain is read by all */
    bool ended; /* nothing more is registered for it */
    ceni_chain entries;
};

/* NULL becomes the calling thread's; if that has none yet, one is made if `make`, else ABSENT. */
cen_status ceni_owner_resolve(cen_owner **owner, bool make, const char *what, cen_error *error);

/* ---- Changes that are to be told (tell.c) ----------------------------------------------------------- */

/* Part of what it tells of, whose memory stays until it was told. */
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
    bool ended;        /* it is told nothing more */
    bool ended_inside; /* by itself: whoever tells frees it */
    struct ceni_seen {
        cen_entry *entry;
        void *value;
    } * seen; /* what was there when it came, until it has been told */
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
    ceni_index_node by_owner; /* one of those that an owner has under a key leads the others */
    ceni_list fellows;        /* the others */
    bool leads;
    ceni_tale came, went;
    ceni_retired retired; /* once it was told that it went */
};

typedef _Atomic(cen_entry *) ceni_place;

enum { CENI_SHELF_NEAR = 4, CENI_SHELF_CHUNKS = 29 };

/* Slots beyond the first few: chunk c has those from CENI_SHELF_NEAR << c to twice as many; 2^31 in all, for which no
 * machine has the memory. */
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
    ceni_far *far; /* written before a count that reaches there, as are its chunks, and then left */
    /* any thread, atomically */
    _Atomic uint32_t kept; /* entries in memory: the last one that goes takes the shelf along */
    char bytes[];
} ceni_shelf;

/* What a register may turn out to need; allocated while no lock is held. */
typedef struct ceni_supply {
    cen_entry *entry;
    ceni_shelf *shelf;
    ceni_far *far;
    ceni_place *chunk;
    unsigned which;  /* the number of the chunk */
    unsigned wanted; /* and of the one that is needed */
    bool needs_shelf, needs_far, needs_chunk;
} ceni_supply;

/* Whether it has all that is needed to put an entry on the shelf (NULL: on a new one); else it notes what is lacking. */
bool ceni_supply_covers(ceni_supply *supply, const ceni_shelf *shelf);

/* Asks for what is lacking; false: there is no memory. No lock is held. */
bool ceni_supply_fill(cen_registry *registry, ceni_supply *supply, cen_key key);
void ceni_supply_free(cen_registry *registry, ceni_supply *supply);

/* As the last on the shelf; cannot fail with a supply that covers it. */
void ceni_shelf_put_locked(ceni_shelf *shelf, cen_entry *entry, ceni_supply *supply);
/* Whether it was the only one. */
bool ceni_shelf_take_locked(ceni_shelf *shelf, cen_entry *entry);

size_t ceni_shelf_count(const ceni_shelf *shelf);
/* In a read section: the entry at the index, or at one that `random` chooses; NULL if there are not so many. */
cen_entry *ceni_shelf_at(ceni_shelf *shelf, size_t index);
cen_entry *ceni_shelf_any(ceni_shelf *shelf, uint64_t random);

/* One entry of the shelf is in memory no more. */
void ceni_shelf_let_go(cen_registry *registry, ceni_shelf *shelf);

#define CENI_ENTRY_OF(link, field) ((cen_entry *)(void *)(((char *)(link)) - offsetof(cen_entry, field)))

/* ---- Keys (key.c) ----------------------------------------------------------------------------------- */

enum { CENI_KEY_TEXT = 80 };

bool ceni_key_is_valid(cen_key key);
uint64_t ceni_key_hash(uint64_t seed, cen_key key);
/* In quotes, or a number; what does not fit is cut. */
const char *ceni_key_print(cen_key key, char text[CENI_KEY_TEXT]);

/* How many bytes a copy needs, and the copy. */
size_t ceni_key_room(cen_key key);
cen_key ceni_key_copy(cen_key key, char *room);

/* ---- The table of keys (keys.c) ------------------------------------------------------------------- */

typedef struct ceni_buckets {
    /* fixed before they are published */
    cen_registry *registry;
    size_t mask;
    unsigned parity; /* which of a shelf's two links they use */
    uint64_t growth; /* how many were before them */
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
    _Atomic uint32_t holds; /* owners that end, and have something to do here */
    _Atomic uint32_t turns; /* a futex, changed under the mutex: somebody stopped telling */
    ceni_mutex mutex;       /* rank REGISTRY */
    /* under the mutex */
    bool closed;      /* it is being freed */
    uint64_t settled; /* buckets up to this growth are seen by nobody, nor are the links they use */
    uint64_t shelves; /* ever */
    cen_registry_stats stats;
    ceni_index by_number, by_owner;
    /* tell.c */
    ceni_list listenings;       /* those that have begun, in their order */
    ceni_tale *first, *last;    /* to be told */
    bool telling;               /* somebody is */
    uint64_t teller;            /* the thread's number */
    cen_listening *told, *next; /* who is being told this moment; who comes after */
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

/* Tales that nobody is to be told: what they are part of is let go of when the lock has been dropped. */
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
/* Whether some table wants more buckets and could have them; then give it some, with no lock held. */
bool ceni_keys_want_growth_locked(cen_registry *registry);
void ceni_keys_grow(cen_registry *registry);
/* In a read section: calls with every shelf until it answers false. */
void ceni_keys_each(cen_registry *registry, bool (*visit)(void *argument, ceni_shelf *shelf), void *argument);

/* change.c: takes the entry out of everything. */
void ceni_entry_remove_locked(cen_registry *registry, cen_entry *entry, cen_registry_reason reason, ceni_tales *untold);
/* Removes some of what the owner has here, if that is what comes first with it. The registry is held, no lock is. */
void ceni_registry_owner_ends(cen_registry *registry, cen_owner *owner);
/* It was told, or needs not be: what it is part of is let go of. No lock is held. */
void ceni_tale_let_go(cen_registry *registry, ceni_tale *tale);

/* owner.c: false: it has ended. */
bool ceni_owner_attach(cen_owner *owner, cen_entry *entry);
void ceni_owner_forget_entry(cen_owner *owner, cen_entry *entry);
/* The first of its entries, if that is in this registry, whose lock is held; else NULL. */
cen_entry *ceni_owner_first(cen_owner *owner, const cen_registry *registry);
void ceni_owner_let_go(cen_owner *owner);
/* For entries and owners: no other of the process has or had it. */
uint64_t ceni_registry_number(void);

/* tell.c: queues the tale; false: nobody is to be told, and nobody will let go of it. */
bool ceni_tell_locked(cen_registry *registry, ceni_tale *tale);
bool ceni_tell_is_wanted_locked(const cen_registry *registry);
/* Drops the lock; then lets go of what is untold, and tells what is queued if nobody else is at it. */
void ceni_tell_and_unlock(cen_registry *registry, ceni_tales *untold);
void ceni_tales_add(ceni_tales *tales, ceni_tale *tale);
/* Whether the calling thread is within a listener of the registry's. */
bool ceni_tell_is_inside_locked(const cen_registry *registry);
/* The listener of the options. Nobody knows the registry yet. */
cen_status ceni_listen_first(cen_registry *registry, cen_registry_listener listener, void *argument);
/* Waits until nobody tells, and tells the end. No lock is held. */
void ceni_tell_end(cen_registry *registry);
/* The end of a registry that could not be made. */
void ceni_listen_undo(cen_registry *registry);

/* describe.c: what whoever watches is told. */
size_t ceni_registry_snapshot(const void *object, cen_metric *metrics, size_t room);
extern const ceni_component_calls ceni_registry_calls;

#endif
