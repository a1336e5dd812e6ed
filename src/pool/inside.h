/* SPDX-License-Identifier: MIT */
/* A pool from inside. Only the room's own files include this. */
#ifndef CENI_POOL_INSIDE_H
#define CENI_POOL_INSIDE_H

#include <cenote/pool.h>

#include "pool/line.h"
#include "pool/map.h"
#include "pool/own.h"
#include "pool/slot.h"
#include "record/directory.h"
#include "record/spread.h"

/* Slots that were made together, in one piece of memory with this. They never move. */
typedef struct ceni_chunk {
    /* fixed before it is published */
    uint32_t first, count; /* indexes */
    ceni_slot *slots;
    ceni_map listed; /* any thread: slots worth a look */
    ceni_map vacant; /* under the lock: slots that are EMPTY */
    uint64_t *seen;  /* under the looking lock: words of the first of two readings */
    size_t bytes;
} ceni_chunk;

#define CENI_NO_INDEX UINT32_MAX

enum {
    CENI_CHUNKS = 32, /* each beyond the first at least half as large as all before it */
    CENI_POOL_NAME = 32,
};

/* Numbers that change only under the lock, and so agree with one another. */
typedef struct ceni_pool_tally {
    uint64_t opened, open_failed, adopted, closed, discarded;
    uint64_t waited, served, timed_out, sent_away, failed;
    uint64_t closed_before; /* of those closed: when the pool was */
} ceni_pool_tally;

struct cen_pool {
    /* fixed before start; the quick path reads these */
    uint64_t id;    /* never used again by another pool of this process */
    uint64_t epoch; /* of the process that made it */
    ceni_line *line;
    ceni_slot *base;     /* the slots of the first chunk */
    uint32_t quick_give; /* so many of them have the quick path: all, or none in an exact order; ... */
    uint32_t quick_take; /* ... none with exact times either */
    uint32_t mark;       /* the low half of id, never 0: names the pool where a guess will do */
    /* fixed before start */
    uint32_t base_count; /* slots of the first chunk: in a pool that never grew, all */
    bool exact_order;    /* LIFO or FIFO: idle slots are in `idle` */
    bool exact_times;
    bool strict; /* nobody is overtaken */
    cen_order order;
    int64_t overtake_ns;
    cen_deadline patience;
    cen_driver driver;
    const cen_allocator *allocator;
    char name[CENI_POOL_NAME];
    ceni_entry entry;
    /* any thread reads; written under the lock */
    _Alignas(CENI_LINE) _Atomic uint32_t chunk_count;
    ceni_chunk *chunks[CENI_CHUNKS];
    _Atomic uint32_t max;
    _Atomic uint32_t openable; /* objects that may be made now: max less live, if there is a driver to make them */
    _Atomic uint32_t places;   /* slots in all chunks */
    _Atomic uint64_t shifts;   /* places claimed and vacated, ever */
    /* under the lock */
    uint32_t live;    /* slots that are not EMPTY */
    uint32_t leaving; /* of these, on their way out: they make room, but not yet */
    uint32_t revoked; /* of these, taken away from their holders and not back */
    uint32_t opening_for_pending;
    bool freed;    /* the last that goes gives the memory back */
    ceni_list idle; /* exact orders: slots, the next to be lent first */
    ceni_pool_tally tally;
    ceni_spread waits; /* how long, of all that ended */
    /* any thread, atomically */
    ceni_mutex looking; /* one cen_pool_look at a time */
};

/* What a take has got hold of. */
typedef struct ceni_grant {
    ceni_slot *slot;
    uint64_t generation;
    uint32_t index;
} ceni_grant;

/* ---- slots.c: chunks, and which slot is which --------------------------------- */

/* Makes room for `count` slots beginning with index `first`. NULL without memory. */
ceni_chunk *ceni_chunk_make(const cen_allocator *allocator, uint32_t first, uint32_t count);
void ceni_chunk_free(ceni_chunk *chunk, const cen_allocator *allocator);
void ceni_chunk_publish_locked(cen_pool *pool, ceni_chunk *chunk);

/* How many there are, with all that is in them. */
uint32_t ceni_chunk_count(cen_pool *pool);
uint32_t ceni_place_count(cen_pool *pool);

/* The chunk that has a slot, or NULL if there is no such slot. */
ceni_chunk *ceni_chunk_of(cen_pool *pool, uint32_t index);
ceni_slot *ceni_slot_beyond_base(cen_pool *pool, uint32_t index);

/* The index of what may be a slot of the pool; CENI_NO_INDEX if it is none. */
uint32_t ceni_slot_index(cen_pool *pool, const void *slot);

static inline ceni_slot *ceni_slot_at(cen_pool *pool, uint32_t index)
{
    return __builtin_expect(index < pool->base_count, 1) ? &pool->base[index] : ceni_slot_beyond_base(pool, index);
}

/* What is with a slot that is not the caller's. */
static inline uint64_t ceni_word_at(cen_pool *pool, uint32_t index)
{
    return ceni_slot_word(ceni_slot_at(pool, index));
}

static inline uint64_t ceni_slot_generation(cen_pool *pool, uint32_t index)
{
    return ceni_word_generation(ceni_load_relaxed(&ceni_slot_at(pool, index)->word)); /* the caller's own; carries nothing */
}

/* ---- idle.c: idle slots, found, taken and made --------------------------------- */

/* Takes an idle slot; `hint` is looked at first. */
bool ceni_idle_take(cen_pool *pool, uint32_t hint, ceni_grant *out);
bool ceni_idle_take_locked(cen_pool *pool, uint32_t hint, ceni_grant *out);

/* Whether there is one. */
bool ceni_idle_any_locked(cen_pool *pool);

/* Makes the slot idle that the caller owns in state `from`, and sees to those
 * in line. False if it is in another state by now. Otherwise the pool may be
 * gone when it returns. */
bool ceni_idle_offer(cen_pool *pool, uint32_t index, uint64_t generation, ceni_slot_state from);

/* Only makes it idle: for one who pumps afterwards, and sees to CLOSED and SURPLUS. */
bool ceni_idle_publish(cen_pool *pool, uint32_t index, uint64_t generation, ceni_slot_state from);

/* Takes an idle slot out of use, to be closed; false if it is not idle, or lent again since. */
bool ceni_idle_withdraw_locked(cen_pool *pool, uint32_t index, uint64_t generation);

/* ---- places.c: EMPTY slots, opening and closing ---------------------------------- */

/* Claims an EMPTY slot, now OPENING, for an object to be made; false if none may be. */
bool ceni_place_claim(cen_pool *pool, uint32_t *index);
bool ceni_place_claim_locked(cen_pool *pool, uint32_t *index);

/* The same for an object that the caller has; false if max are there. */
bool ceni_place_claim_for_adopted_locked(cen_pool *pool, uint32_t *index);

/* Opens an object in a claimed place, on this thread. On failure the place is still claimed. */
cen_status ceni_place_open(cen_pool *pool, uint32_t index, cen_error *error);

/* A slot has become CLOSING; the second, one whose object was revoked. */
void ceni_revoked_is_back(cen_pool *pool);
void ceni_place_leaves_locked(cen_pool *pool);

/* Makes the slot that is the caller's in state `from` EMPTY, and drops the lock
 * without telling anybody in line: for one who pumps afterwards. */
void ceni_place_vacate_quietly_locked(cen_pool *pool, uint32_t index, ceni_slot_state from);

/* The same, and tells those in line. Both, at the end of a freed pool, give its
 * memory back: the pool may be gone afterwards. */
void ceni_place_vacate_locked(cen_pool *pool, uint32_t index, ceni_slot_state from);

/* Closes the object of a slot in state CLOSING that leaves, on this thread, and vacates it. */
void ceni_place_end(cen_pool *pool, uint32_t index);

/* Brings openable and SURPLUS up to date after live or max changed, or the pool was closed. */
void ceni_places_counted_locked(cen_pool *pool);

/* Turns a claimed place with its new object into a lease. */
void ceni_place_lend(cen_pool *pool, uint32_t index, ceni_grant *out);

/* Gives all memory back. */
void ceni_pool_release(cen_pool *pool);

/* The driver's functions and visitors are called between these. */
struct ceni_callout {
    uint64_t pool_id;
    const struct ceni_callout *outer; /* in which it happens */
    int cancel;
};
void ceni_callout_begin(ceni_callout *callout, const cen_pool *pool);
void ceni_callout_end(const ceni_callout *callout);
bool ceni_callout_inside(const cen_pool *pool);

/* ---- pending.c -------------------------------------------------------------------- */

/* Opens an object, in the claimed place, for whoever is first in line. */
void ceni_pending_open(cen_pool *pool, uint32_t index);

/* ---- take.c ----------------------------------------------------------------------- */

/* Writes down who holds a slot, for those who list holders. */
void ceni_slot_note(const cen_pool *pool, ceni_slot *slot, uint64_t generation, uint64_t owner, const char *where);

/* An object that close had taken away comes back; false if it had not. The pool may be gone then. */
bool ceni_slot_take_back(cen_pool *pool, uint32_t index, uint64_t generation);

/* Retires a slot that was just made idle in a pool that is closed or has too
 * many; false if it is not to be retired, or not idle any more. */
bool ceni_pool_retire(ceni_line *line, uint64_t pool_id, uint32_t index, uint64_t generation);

/* Errors that several calls have. Check: INVALID, FORKED, or OK. */
cen_status ceni_pool_check(const cen_pool *pool, const char *call, cen_error *error);
cen_status ceni_pool_is_closed(const char *name, cen_error *error);
cen_status ceni_pool_misuse(const cen_pool *pool, const char *what, cen_error *error);

/* ---- wait.c ------------------------------------------------------------------------- */

/* One look: an idle slot, or a claimed place for a new object (out->slot is NULL then). */
bool ceni_pool_find(cen_pool *pool, uint32_t hint, ceni_grant *out);

/* Waits in line until `moment`. OK: something was found or granted. Errors:
 * TIMEOUT, CLOSED; after CLOSED the pool may be gone. */
cen_status ceni_pool_wait(cen_pool *pool, int64_t moment, const char *where, ceni_grant *out);

#endif
