/* SPDX-License-Identifier: MIT */
/*
 * Orphans: objects that were cut off from the pool while somebody may still be using them.
 *
 * A lease ends without its holder when its owner ends (owners.c), or when the housekeeper reclaims it (keeper.c). Nobody
 * knows whether another thread still uses the object. So the driver cuts it off, the place becomes free, and a record keeps
 * the object until the late give, or until the pool is freed.
 *
 *     HELD ──▶ REVOKING ──interrupt, abandon──▶ EMPTY, and a record in `orphans` ──late give──▶ closed: REVOKED
 *                 │ give                              │                                  └──free──▶ closed
 *                 ▼                                   └─ the place is opened and lent again meanwhile
 *              RETURNED ──▶ CLOSING
 *
 * The naive version closes the object at once. The holder then reads freed memory.
 *
 * The place is kept instead, REVOKED until the give, in three cases: the driver has no abandon and only the owner has ended;
 * there is no memory for the record; the pool was freed meanwhile (then the object is closed).
 *
 * Invariants
 *  F1 An object has one keeper: its slot or one record. It moves to the record in one critical section of the pool's lock, in
 *     which the slot's word leaves REVOKING by compare-and-swap.
 *  F2 A late give finds either REVOKING, REVOKED, or the record. It looks at the word first. If the word has moved on, the
 *     count of records is at least one from before that move until the record is claimed [F1].
 *  F3 A record leaves the list once, under the lock, and whoever takes it out closes the object. So it is closed once.
 *  F4 No record is added after `freed` is set. Whoever frees the pool closes all there are after it has set it.
 *  F5 While an object is closed the record has a hand on the pool: fini comes after the last close.
 *
 * Order table
 * [F1] part  | add to orphan_count before the word moves | relaxed | F2, by the word's cas | that there may be a record; carried by the cas | a late give finds neither the slot nor the record, and answers STALE
 * [F2] given | load of orphan_count after the word       | relaxed | F1, by the load of the word | the same | the same
 *
 * Tested by tests/unit/pool/orphans_test.c, tests/explore/pool_orphans_test.c,
 * tests/unit/pool/handover_test.c.
 */
#include "base/alloc.h"
#include "base/plant.h"
#include "base/statics.h"
#include "pool/inside.h"
#include "port/port.h"
#include "sync/future.h"

struct ceni_orphan {
    /* fixed before it is in a list */
    cen_pool *pool;
    void *object;
    const ceni_slot *slot; /* where it was lent, with the generation; compared only */
    uint64_t generation;
    uint64_t note; /* of the lease */
    const char *where;
    int64_t since; /* when the lease ended, on the pool's clock */
    uint32_t index;
    ceni_loss loss;
    ceni_errand errand;
    /* under the pool's lock */
    ceni_list link;  /* of orphans, or of those that are being closed */
    uint64_t ticket; /* of a close that is done later */
};

static void run_close(ceni_errand *errand);

static ceni_orphan *make(cen_pool *pool)
{
    ceni_orphan *made = ceni_alloc(pool->allocator, sizeof *made, _Alignof(ceni_orphan));
    if (!made) return NULL;
    made->pool = pool;
    ceni_list_init(&made->link);
    ceni_errand_init(&made->errand, run_close);
    return made;
}

static void discard(cen_pool *pool, ceni_orphan *orphan)
{
    ceni_free(pool->allocator, orphan, sizeof *orphan, _Alignof(ceni_orphan));
}

static void count_locked(cen_pool *pool, uint32_t more)
{
    ceni_add_relaxed(&pool->orphan_count, more); /* [F1] carried by the word's cas; carries nothing itself */
}

/* ---- Parting ---------------------------------------------------------------------------------- */

static void call_abandon(cen_pool *pool, void *object)
{
    if (!pool->calls.abandon) return;
    ceni_callout callout;
    ceni_callout_begin(&callout, pool);
    pool->calls.abandon(pool->driver.argument, object);
    ceni_callout_end(&callout);
}

/* The slot is REVOKING and the caller's, so its fields may be read. */
static void describe(ceni_orphan *orphan, cen_pool *pool, uint32_t index, uint64_t generation, ceni_loss loss)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    orphan->object = ceni_load_relaxed(&slot->object); /* came with the slot; carries nothing */
    orphan->where = ceni_load_relaxed(&slot->where);   /* likewise; carries nothing */
    orphan->note = ceni_load_relaxed(&slot->note);     /* likewise; carries nothing */
    orphan->slot = slot;
    orphan->generation = generation;
    orphan->index = index;
    orphan->loss = loss;
    orphan->since = ceni_pool_now(pool);
}

/* Moves the object from its slot to the record, and the slot to CLOSING; false if its holder came back, or the pool was freed. */
static bool move_locked(cen_pool *pool, ceni_orphan *orphan)
{
    ceni_slot *slot = ceni_slot_at(pool, orphan->index);
    bool early = !ceni_planted(orphan_counted_late);
    if (pool->freed) return false;
    if (early) count_locked(pool, 1);
    bool moved = ceni_slot_move(slot, orphan->generation, CENI_REVOKING, CENI_CLOSING);
    if (moved != early) count_locked(pool, moved ? 1 : UINT32_MAX); /* UINT32_MAX: one less */
    if (!moved) return false;
    ceni_list_push_back(&pool->orphans, &orphan->link);
    ceni_use_ends(pool, slot, orphan->generation);
    pool->revoked--;
    ceni_place_leaves_locked(pool);
    pool->tally.orphaned += orphan->loss == CENI_LOST_BY_OWNER;
    pool->tally.reclaimed += orphan->loss == CENI_LOST_BY_LIMIT;
    return true;
}

/* The holder has come back, or the pool is gone for the program: the object is closed as any other. */
static void close_in_place(cen_pool *pool, uint32_t index, uint64_t generation, const char *why)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    while (!ceni_slot_move(slot, generation, CENI_REVOKING, CENI_CLOSING) &&
           !ceni_slot_move(slot, generation, CENI_RETURNED, CENI_CLOSING))
        continue; /* a give moves it once: from the first to the second */
    ceni_use_ends(pool, slot, generation);
    ceni_revoked_is_back(pool);
    ceni_place_end(pool, index, why);
}

/* Keeps the place until the give; false if that has come, or the pool was freed. */
static bool keep(cen_pool *pool, uint32_t index, uint64_t generation, ceni_loss loss)
{
    ceni_line_lock(pool->line);
    bool kept = !pool->freed && ceni_slot_move(ceni_slot_at(pool, index), generation, CENI_REVOKING, CENI_REVOKED);
    pool->tally.orphaned += kept && loss == CENI_LOST_BY_OWNER;
    ceni_line_unlock(pool->line);
    return kept;
}

ceni_parted ceni_orphan_part(cen_pool *pool, uint32_t index, uint64_t generation, ceni_loss loss)
{
    bool frees = pool->calls.abandon || loss == CENI_LOST_BY_LIMIT;
    ceni_orphan *orphan = frees ? make(pool) : NULL;
    if (!orphan && keep(pool, index, generation, loss)) return CENI_PARTED_KEPT;
    if (orphan) {
        describe(orphan, pool, index, generation, loss);
        call_abandon(pool, orphan->object);
        ceni_line_lock(pool->line);
        if (move_locked(pool, orphan)) {
            ceni_place_ended_locked(pool, index);
            return CENI_PARTED_FREED;
        }
        ceni_line_unlock(pool->line);
        discard(pool, orphan);
    }
    close_in_place(pool, index, generation, "its holder gave it back while it was taken away, or the pool was freed");
    return CENI_PARTED_CLOSED;
}

void ceni_orphan_close_scope(cen_pool *pool, uint32_t index, uint64_t generation, const char *why)
{
    close_in_place(pool, index, generation, why);
}

/* ---- Closing an orphan ---------------------------------------------------------------------------- */

/* Drops the hand of a record whose object is closed. */
static void end(ceni_orphan *orphan)
{
    cen_pool *pool = orphan->pool;
    discard(pool, orphan);
    ceni_line_lock(pool->line);
    ceni_hand_drop_locked(pool);
}

static void start_close(cen_pool *pool, ceni_orphan *orphan)
{
    ceni_line_lock(pool->line);
    ceni_list_push_back(&pool->parting, &orphan->link);
    cen_ticket ticket = ceni_later_ticket_locked(pool, &orphan->ticket);
    ceni_line_unlock(pool->line);
    ceni_later_close_orphan(pool, orphan->object, ticket);
}

static void close_now(ceni_orphan *orphan)
{
    cen_pool *pool = orphan->pool;
    if (pool->calls.close_start) {
        start_close(pool, orphan); /* the record is not ours any more */
        return;
    }
    if (pool->calls.close) {
        ceni_callout callout;
        ceni_callout_begin(&callout, pool);
        pool->calls.close(pool->driver.argument, orphan->object);
        ceni_callout_end(&callout);
    }
    end(orphan);
}

static void run_close(ceni_errand *errand)
{
    CENI_INLINE_AT_END;
    close_now(CENI_LIST_ENTRY(errand, ceni_orphan, errand));
}

/* On a helper, if the driver blocks. The record has a hand. */
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
        if (orphan->slot == slot && (orphan->generation == generation || ceni_planted(orphan_by_slot_alone))) return orphan;
    }
    return NULL;
}

bool ceni_orphan_given(cen_pool *pool, const ceni_slot *slot, uint64_t generation, uint64_t *note)
{
    if (ceni_load_relaxed(&pool->orphan_count) == 0) return false; /* [F2] the word was read before; carries nothing itself */
    ceni_line_lock(pool->line);
    ceni_orphan *orphan = find_locked(pool, slot, generation);
    if (orphan) claim_locked(pool, orphan);
    if (orphan && ceni_planted(orphan_given_twice)) ceni_list_push_back(&pool->orphans, &orphan->link);
    ceni_line_unlock(pool->line);
    if (!orphan) return false;
    *note = orphan->note;
    ceni_event_tell(pool, (cen_event){.kind = CEN_EVENT_CLOSED, .index = orphan->index},
                    "object %u is closed: its lease had ended, and its holder gave it back late", orphan->index);
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
    ceni_line_lock(pool->line);
    ceni_list *first = ceni_list_first(&pool->orphans);
    ceni_orphan *orphan = first ? CENI_LIST_ENTRY(first, ceni_orphan, link) : NULL;
    if (orphan) claim_locked(pool, orphan);
    ceni_line_unlock(pool->line);
    return orphan;
}

void ceni_orphans_end(cen_pool *pool)
{
    ceni_orphan *orphan;
    if (ceni_planted(free_forgets_orphans)) return;
    while ((orphan = claim_first(pool))) close_orphan(orphan);
    uint32_t places = ceni_place_count(pool);
    for (uint32_t index = 0; index < places; index++) {
        uint64_t word = ceni_word_at(pool, index), generation = ceni_word_generation(word);
        if (ceni_word_state(word) == CENI_REVOKED && ceni_owner_has_ended(ceni_slot_at(pool, index), generation))
            ceni_slot_take_back(pool, index, generation);
    }
}

/* ---- Listing ---------------------------------------------------------------------------------------------- */

size_t ceni_orphans_list(cen_pool *pool, size_t skip, ceni_orphan_seen *seen, size_t room)
{
    size_t count = 0;
    int64_t now = ceni_pool_now(pool);
    ceni_line_lock(pool->line);
    for (ceni_list *at = pool->orphans.next; at != &pool->orphans && count < room; at = at->next) {
        if (skip > 0) {
            skip--;
            continue;
        }
        const ceni_orphan *orphan = CENI_LIST_ENTRY(at, ceni_orphan, link);
        uint64_t owner = orphan->note >> CENI_NOTE_BITS & ~(CENI_OWNER_DETACHED | CENI_OWNER_ENDED);
        seen[count++] = (ceni_orphan_seen){.index = orphan->index, .owner = owner, .where = orphan->where, .loss = orphan->loss,
                                           .ago_ns = now - orphan->since};
    }
    ceni_line_unlock(pool->line);
    return count;
}
