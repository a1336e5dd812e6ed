/* SPDX-License-Identifier: MIT */
/*
 * Orphans: objects that were cut off from the pool while a thread may still be using them.
 *
 * A lease ends without its holder when its holder ends (holders.c), or when the housekeeper reclaims it (keeper.c).
 * Another thread may still use the object, and the pool cannot know. So the driver cuts the object off, the place
 * becomes free, and a record keeps the object until the late give, or until the pool is freed.
 *
 *     HELD ──▶ REVOKING ──interrupt, abandon──▶ EMPTY, and a record in `orphans` ──late give──▶ closed: REVOKED
 *                 │ give                              │                                  └──free──▶ closed
 *                 ▼                                   └─ the place is opened and lent again meanwhile
 *              RETURNED ──▶ CLOSING
 *
 * The naive version closes the object at once. The holder then reads freed memory.
 *
 * The place is kept instead, REVOKED until the give, in two cases: the driver has no abandon and the reason is the
 * end of the holder; there is no memory for the record. If the pool was freed meanwhile, the object is closed.
 *
 * Invariants
 *  F1 An object is kept by its slot or by one record. It moves to the record in one critical section of the pool's
 *     lock, in which the slot's word leaves REVOKING by compare-and-swap.
 *  F2 A late give finds REVOKING, REVOKED, or the record. It reads the word first. If the word has moved on, the
 *     count of records has been at least one since before that move, and stays so until the record is claimed [F1].
 *  F3 A record leaves the list once, under the lock, and the thread that removes it closes the object. So the object
 *     is closed once.
 *  F4 No record is added after `freed` is set. cen_pool_free sets it first and then closes all orphans.
 *  F5 While an object is being closed its record has a hand on the pool: fini is called after the last close.
 *
 *  F6 A record is shown from before its object leaves the slot until the object's close has returned. Records are
 *     kept on a shelf, are reused, and are freed with the pool. So a visit, which takes no lock, reads all slots and
 *     then the shelf, and finds every object that exists during the whole visit.
 *
 * A record's word is `seq << 2 | shown << 1 | taken`. Each change of the record changes seq, so a visit that reads
 * the same word before and after the fields has read the fields of one orphan.
 *
 * Order table
 * [F1] part  | add to orphan_count before the word moves | relaxed | F2, by the word's cas | that there may be a record; carried by the cas | a late give finds neither the slot nor the record, and returns STALE
 * [F3] take, show, hide | change of the word, stores of the fields | release; take: acq_rel | F4 | the fields | a visit shows the object of one orphan with the holder of another
 * [F4] shows | loads of the word and the fields | acquire | F3 | the same | the same
 * [F5] make  | cas of the shelf  | acq_rel | F6 | a new record's fields | a visit reads a record before it is zero
 * [F6] next  | load of the shelf | acquire | F5 | the same | the same
 * [F2] given | load of orphan_count after the word       | relaxed | F1, by the load of the word | the same | the same
 *
 * Tested by tests/unit/pool/orphans_test.c, tests/explore/pool_orphans_test.c,
 * tests/unit/pool/handover_test.c.
 */
#include "base/alloc.h"
#include "base/plant.h"
#include "base/statics.h"
#include "pool/internal.h"
#include "port/port.h"
#include "sync/future.h"

enum { TAKEN = 1, SHOWN = 2, ONE_CHANGE = 4 };

struct ceni_orphan {
    /* fixed before it is on the shelf */
    cen_pool *pool;
    ceni_orphan *below; /* on the shelf */
    /* any thread, atomically; written by the thread that has taken the record */
    _Atomic uint64_t word;
    _Atomic(void *) object;
    _Atomic uint64_t generation;
    _Atomic uint64_t note; /* of the lease */
    _Atomic(const char *) where;
    _Atomic uint32_t index;
    /* fixed before it is in a list */
    const ceni_slot *slot; /* the slot of the lease; only compared */
    int64_t since;         /* when the lease ended, on the pool's clock */
    ceni_loss loss;
    ceni_errand errand;
    /* under the pool's lock */
    ceni_list link;  /* in `orphans`, or in `parting` */
    uint64_t ticket; /* number of the ticket of a close that completes later */
};

static void run_close(ceni_errand *errand);

/* ---- The shelf -------------------------------------------------------------------------------- */

ceni_orphan *ceni_orphan_next(cen_pool *pool, const ceni_orphan *after)
{
    return after ? after->below : ceni_load_acquire(&pool->shelf); /* [F6] */
}

/* Take an unused record from the shelf; NULL if there is none. */
static ceni_orphan *take_record(cen_pool *pool)
{
    for (ceni_orphan *at = ceni_orphan_next(pool, NULL); at; at = at->below) {
        uint64_t word = ceni_load_relaxed(&at->word); /* a hint for the cas; carries nothing */
        if (!(word & TAKEN) && ceni_cas_acq_rel(&at->word, &word, word + ONE_CHANGE + TAKEN)) return at; /* [F3] */
    }
    return NULL;
}

static ceni_orphan *make_record(cen_pool *pool)
{
    ceni_orphan *made = ceni_alloc(pool->allocator, sizeof *made, _Alignof(ceni_orphan));
    if (!made) return NULL;
    made->pool = pool;
    ceni_store_relaxed(&made->word, TAKEN); /* no other thread has it; carries nothing */
    ceni_orphan *top = ceni_orphan_next(pool, NULL);
    do made->below = top;
    while (!ceni_cas_acq_rel(&pool->shelf, &top, made)); /* [F5] */
    return made;
}

static ceni_orphan *make(cen_pool *pool)
{
    ceni_orphan *made = take_record(pool);
    if (!made) made = make_record(pool);
    if (!made) return NULL;
    ceni_list_init(&made->link);
    ceni_errand_init_limited(&made->errand, run_close, CENI_ERRAND_CLOSING);
    return made;
}

static void show(ceni_orphan *orphan)
{
    uint64_t word = ceni_load_relaxed(&orphan->word);             /* the caller's; carries nothing */
    ceni_store_release(&orphan->word, word + ONE_CHANGE + SHOWN); /* [F3] */
}

/* The object is closed, or never left its slot: the record may be reused. */
static void discard(ceni_orphan *orphan)
{
    uint64_t word = ceni_load_relaxed(&orphan->word); /* the caller's; carries nothing */
    ceni_store_release(&orphan->word, (word | TAKEN | SHOWN) - TAKEN - SHOWN + ONE_CHANGE); /* [F3] */
}

/* The fields, for the thread that has taken the record, or under the lock. */
static void *object_of(ceni_orphan *orphan)
{
    return ceni_load_relaxed(&orphan->object); /* carries nothing */
}

static uint64_t generation_of(ceni_orphan *orphan)
{
    return ceni_load_relaxed(&orphan->generation); /* carries nothing */
}

static uint64_t note_of(ceni_orphan *orphan)
{
    return ceni_load_relaxed(&orphan->note); /* carries nothing */
}

static uint32_t index_of(ceni_orphan *orphan)
{
    return ceni_load_relaxed(&orphan->index); /* carries nothing */
}

/* Returns false if the record has no object, or changes meanwhile: then its object was added or removed during the
 * visit. */
bool ceni_orphan_shows(ceni_orphan *orphan, cen_object_view *out)
{
    uint64_t word = ceni_load_acquire(&orphan->word); /* [F4] */
    if (!(word & SHOWN) || ceni_planted(visit_misses_orphans)) return false;
    uint64_t note = ceni_load_acquire(&orphan->note); /* [F4] */
    *out = (cen_object_view){.size = sizeof *out, .state = CEN_OBJECT_ORPHANED};
    out->object = ceni_load_acquire(&orphan->object);         /* [F4] */
    out->generation = ceni_load_acquire(&orphan->generation); /* [F4] */
    out->where = ceni_load_acquire(&orphan->where);           /* [F4] */
    out->index = ceni_load_acquire(&orphan->index);           /* [F4] */
    out->holder = note >> CENI_NOTE_BITS & ~(CENI_HOLDER_DETACHED | CENI_HOLDER_ENDED);
    return ceni_load_acquire(&orphan->word) == word; /* [F4] */
}

void ceni_orphans_forget(cen_pool *pool)
{
    for (ceni_orphan *at = ceni_orphan_next(pool, NULL), *below; at; at = below) {
        below = at->below;
        ceni_free(pool->allocator, at, sizeof *at, _Alignof(ceni_orphan));
    }
}

static void count_locked(cen_pool *pool, uint32_t more)
{
    ceni_add_relaxed(&pool->orphan_count, more); /* [F1] carried by the word's cas; carries nothing itself */
}

/* ---- Cutting off ------------------------------------------------------------------------------ */

static void call_abandon(cen_pool *pool, void *object)
{
    if (!pool->calls.abandon) return;
    ceni_callout callout;
    ceni_callout_begin(&callout, pool);
    pool->calls.abandon(pool->driver.argument, object);
    ceni_callout_end(&callout);
}

/* The slot is REVOKING and owned by the caller, so its fields may be read. */
static void describe(ceni_orphan *orphan, cen_pool *pool, uint32_t index, uint64_t generation, ceni_loss loss)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    void *object = ceni_load_relaxed(&slot->object);     /* came with the slot; carries nothing */
    const char *where = ceni_load_relaxed(&slot->where); /* likewise; carries nothing */
    uint64_t note = ceni_load_relaxed(&slot->note);      /* likewise; carries nothing */
    ceni_store_release(&orphan->object, object);         /* [F3] */
    ceni_store_release(&orphan->where, where);           /* [F3] */
    ceni_store_release(&orphan->note, note);             /* [F3] */
    ceni_store_release(&orphan->generation, generation); /* [F3] */
    ceni_store_release(&orphan->index, index);           /* [F3] */
    orphan->slot = slot;
    orphan->loss = loss;
    orphan->since = ceni_pool_now(pool);
}

/* Move the object from its slot to the record, and the slot to CLOSING. Returns false if the holder gave it
 * meanwhile, or the pool was freed. */
static bool move_locked(cen_pool *pool, ceni_orphan *orphan)
{
    ceni_slot *slot = ceni_slot_at(pool, index_of(orphan));
    bool early = !ceni_planted(orphan_counted_late);
    uint64_t generation = generation_of(orphan);
    if (pool->freed) return false;
    if (early) count_locked(pool, 1);
    if (!ceni_planted(orphan_shown_late)) show(orphan); /* F6 */
    bool moved = ceni_slot_move(slot, generation, CENI_SLOT_REVOKING, CENI_SLOT_CLOSING);
    if (moved != early) count_locked(pool, moved ? 1 : UINT32_MAX); /* UINT32_MAX: one less */
    if (!moved) return false;
    ceni_list_push_back(&pool->orphans, &orphan->link);
    ceni_use_ends(pool, slot, generation);
    pool->revoked--;
    ceni_place_leaves_locked(pool);
    pool->tally.orphaned += orphan->loss == CENI_LOST_BY_HOLDER;
    pool->tally.reclaimed += orphan->loss == CENI_LOST_BY_LIMIT;
    return true;
}

/* The holder has given the object, or the pool was freed: close it like any other. */
static void close_in_place(cen_pool *pool, uint32_t index, uint64_t generation, const char *why)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    while (!ceni_slot_move(slot, generation, CENI_SLOT_REVOKING, CENI_SLOT_CLOSING) &&
           !ceni_slot_move(slot, generation, CENI_SLOT_RETURNED, CENI_SLOT_CLOSING))
        continue; /* a give moves it at most once, from REVOKING to RETURNED */
    ceni_use_ends(pool, slot, generation);
    ceni_revoked_is_back(pool);
    ceni_place_end(pool, index, why);
}

/* Keep the place until the give. Returns false if that has happened, or the pool was freed. */
static bool keep(cen_pool *pool, uint32_t index, uint64_t generation, ceni_loss loss)
{
    ceni_waiters_lock(pool->waiters);
    bool kept =
        !pool->freed && ceni_slot_move(ceni_slot_at(pool, index), generation, CENI_SLOT_REVOKING, CENI_SLOT_REVOKED);
    pool->tally.orphaned += kept && loss == CENI_LOST_BY_HOLDER;
    ceni_waiters_unlock(pool->waiters);
    return kept;
}

ceni_parted ceni_orphan_part(cen_pool *pool, uint32_t index, uint64_t generation, ceni_loss loss)
{
    bool frees = pool->calls.abandon || loss == CENI_LOST_BY_LIMIT;
    ceni_orphan *orphan = frees ? make(pool) : NULL;
    if (!orphan && keep(pool, index, generation, loss)) return CENI_PARTED_KEPT;
    if (orphan) {
        describe(orphan, pool, index, generation, loss);
        call_abandon(pool, object_of(orphan));
        ceni_waiters_lock(pool->waiters);
        if (move_locked(pool, orphan)) {
            ceni_place_ended_locked(pool, index);
            if (ceni_planted(orphan_shown_late)) show(orphan);
            return CENI_PARTED_FREED;
        }
        ceni_waiters_unlock(pool->waiters);
        discard(orphan);
    }
    close_in_place(pool, index, generation, "given back while its lease was being ended, or pool freed");
    return CENI_PARTED_CLOSED;
}

void ceni_orphan_close_scope(cen_pool *pool, uint32_t index, uint64_t generation, const char *why)
{
    close_in_place(pool, index, generation, why);
}

/* ---- Closing an orphan ---------------------------------------------------------------------------- */

/* Drop the hand of a record whose object is closed. */
static void end(ceni_orphan *orphan)
{
    cen_pool *pool = orphan->pool;
    discard(orphan);
    ceni_waiters_lock(pool->waiters);
    ceni_hand_drop_locked(pool);
}

static void start_close(cen_pool *pool, ceni_orphan *orphan)
{
    void *object = object_of(orphan); /* before the ticket exists: afterwards the record may be reused */
    ceni_waiters_lock(pool->waiters);
    ceni_list_push_back(&pool->parting, &orphan->link);
    cen_ticket ticket = ceni_later_ticket_locked(pool, &orphan->ticket);
    ceni_waiters_unlock(pool->waiters);
    ceni_later_close_orphan(pool, object, ticket);
}

static void close_now(ceni_orphan *orphan)
{
    cen_pool *pool = orphan->pool;
    if (pool->calls.close_async) {
        start_close(pool, orphan); /* from here on another thread may own the record */
        return;
    }
    if (pool->calls.close) {
        ceni_callout callout;
        ceni_callout_begin(&callout, pool);
        pool->calls.close(pool->driver.argument, object_of(orphan));
        ceni_callout_end(&callout);
    }
    end(orphan);
}

static void run_close(ceni_errand *errand)
{
    CENI_INLINE_AT_END;
    close_now(CENI_LIST_ENTRY(errand, ceni_orphan, errand));
}

/* Close the object, on a helper if the driver blocks. The record has a hand. */
static void close_orphan(ceni_orphan *orphan)
{
    cen_pool *pool = orphan->pool;
    if (!pool->helped || ceni_errand_post(ceni_pool_runtime(pool), &orphan->errand) != CEN_OK) close_now(orphan);
}

static void claim_locked(cen_pool *pool, ceni_orphan *orphan)
{
    ceni_list_remove(&orphan->link);
    count_locked(pool, UINT32_MAX);
    pool->hands++;
}

static ceni_orphan *find_locked(cen_pool *pool, const ceni_slot *slot, uint64_t generation)
{
    for (ceni_list *at = pool->orphans.next; at != &pool->orphans; at = at->next) {
        ceni_orphan *orphan = CENI_LIST_ENTRY(at, ceni_orphan, link);
        bool same = generation_of(orphan) == generation;
        if (orphan->slot == slot && (same || ceni_planted(orphan_by_slot_alone))) return orphan;
    }
    return NULL;
}

bool ceni_orphan_given(cen_pool *pool, const ceni_slot *slot, uint64_t generation, uint64_t *note)
{
    /* [F2] the word was read before; carries nothing itself */
    if (ceni_load_relaxed(&pool->orphan_count) == 0) return false;
    ceni_waiters_lock(pool->waiters);
    ceni_orphan *orphan = find_locked(pool, slot, generation);
    if (orphan) claim_locked(pool, orphan);
    if (orphan && ceni_planted(orphan_given_twice)) {
        ceni_list_push_back(&pool->orphans, &orphan->link);
        count_locked(pool, 1);
    }
    ceni_waiters_unlock(pool->waiters);
    if (!orphan) return false;
    *note = note_of(orphan);
    uint32_t index = index_of(orphan);
    ceni_pool_event_tell(pool, (ceni_occurrence){.kind = CEN_EVENT_CLOSED, .value = index},
                         "object %u closed: given back after its lease had ended", index);
    close_orphan(orphan);
    return true;
}

bool ceni_orphan_redeem_locked(cen_pool *pool, uint64_t ticket, ceni_orphan **out)
{
    for (ceni_list *at = pool->parting.next; at != &pool->parting; at = at->next) {
        *out = CENI_LIST_ENTRY(at, ceni_orphan, link);
        if ((*out)->ticket != ticket) continue;
        ceni_list_remove(at);
        return true;
    }
    return false;
}

void ceni_orphan_closed(ceni_orphan *orphan)
{
    end(orphan);
}

/* ---- The end of the pool ------------------------------------------------------------------------------ */

static ceni_orphan *claim_first(cen_pool *pool)
{
    ceni_waiters_lock(pool->waiters);
    ceni_list *first = ceni_list_first(&pool->orphans);
    ceni_orphan *orphan = first ? CENI_LIST_ENTRY(first, ceni_orphan, link) : NULL;
    if (orphan) claim_locked(pool, orphan);
    ceni_waiters_unlock(pool->waiters);
    return orphan;
}

void ceni_orphans_end(cen_pool *pool)
{
    ceni_orphan *orphan;
    if (ceni_planted(free_forgets_orphans)) return;
    while ((orphan = claim_first(pool))) close_orphan(orphan);
    uint32_t places = ceni_place_reach(pool);
    for (uint32_t index = 0; index < places; index++) {
        uint64_t word = ceni_word_at(pool, index), generation = ceni_word_generation(word);
        if (ceni_word_state(word) == CENI_SLOT_REVOKED && ceni_holder_has_ended(ceni_slot_at(pool, index), generation))
            ceni_slot_take_back(pool, index, generation);
    }
}

/* ---- Listing ---------------------------------------------------------------------------------------------- */

size_t ceni_orphans_list(cen_pool *pool, size_t skip, ceni_orphan_seen *seen, size_t room)
{
    size_t count = 0;
    int64_t now = ceni_pool_now(pool);
    ceni_waiters_lock(pool->waiters);
    for (ceni_list *at = pool->orphans.next; at != &pool->orphans && count < room; at = at->next) {
        if (skip > 0) {
            skip--;
            continue;
        }
        ceni_orphan *orphan = CENI_LIST_ENTRY(at, ceni_orphan, link);
        uint64_t holder = note_of(orphan) >> CENI_NOTE_BITS & ~(CENI_HOLDER_DETACHED | CENI_HOLDER_ENDED);
        const char *where = ceni_load_relaxed(&orphan->where); /* carries nothing */
        seen[count++] = (ceni_orphan_seen){.index = index_of(orphan),
                                           .holder = holder,
                                           .where = where,
                                           .loss = orphan->loss,
                                           .ago_ns = now - orphan->since};
    }
    ceni_waiters_unlock(pool->waiters);
    return count;
}
