/* SPDX-License-Identifier: MIT */
/* Slots, as places for objects: found, taken, claimed, made idle and vacated. */
#ifndef CENI_POOL_PLACES_H
#define CENI_POOL_PLACES_H

#include "pool/pool.h"

/* ---- slots.c: chunks, and which slot is which --------------------------------- */

/* Makes room for `count` slots beginning with index `first`; their leases begin after `generation`. NULL without memory. */
ceni_chunk *ceni_chunk_make(const cen_allocator *allocator, uint32_t first, uint32_t count, ceni_chunk_extras with,
                            uint64_t generation);
void ceni_chunk_free(ceni_chunk *chunk, const cen_allocator *allocator);
void ceni_chunk_publish_locked(cen_pool *pool, ceni_chunk *chunk);

/* How many there are, with all that is in them. */
uint32_t ceni_chunk_count(cen_pool *pool);
uint32_t ceni_place_count(cen_pool *pool);

/* Where the slots in use end: all from there on were EMPTY at a moment of the call. */
uint32_t ceni_place_reach(cen_pool *pool);

/* A slot is about to leave EMPTY, or has come back to it. */
void ceni_slot_begins_locked(cen_pool *pool, ceni_chunk *chunk, uint32_t at);
void ceni_slot_ended_locked(cen_pool *pool, ceni_chunk *chunk, uint32_t at);

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
    /* the caller's own; carries nothing */
    return ceni_word_generation(ceni_load_relaxed(&ceni_slot_at(pool, index)->word));
}

/* ---- shrink.c: memory of unused slots, given back -------------------------------- */

/* A slot has become EMPTY: its block is given back if max is smaller and nothing else is in it. The caller pumps. The second:
 * all that can be, by one who has no lock. */
void ceni_shrink_at_locked(cen_pool *pool, ceni_chunk *chunk, uint32_t at);
void ceni_shrink(cen_pool *pool);

/* ---- idle.c: idle slots, found, taken and made --------------------------------- */

/* Takes an idle slot; `hint` is looked at first. The second: for one who is not in line. The third: and is no thread
 * that could test it. */
bool ceni_idle_take(cen_pool *pool, uint32_t hint, ceni_grant *out);
bool ceni_idle_take_as_newcomer(cen_pool *pool, uint32_t hint, ceni_grant *out);
bool ceni_idle_take_as_asker(cen_pool *pool, uint32_t hint, ceni_grant *out);
bool ceni_idle_take_locked(cen_pool *pool, uint32_t hint, ceni_grant *out);

/* Only that very one; never in an exact order. */
bool ceni_idle_take_hinted_locked(cen_pool *pool, uint32_t hint, ceni_grant *out);

/* Takes one that need not be tested before. If there is none, but one that has to be, `out` has its index and
 * generation, and says that it is stale. */
bool ceni_idle_take_fresh_locked(cen_pool *pool, uint32_t hint, ceni_grant *out);

/* Whether there is one. */
bool ceni_idle_any_locked(cen_pool *pool);

/* Makes the slot idle that the caller owns in state `from`, and sees to those
 * in line. False if it is in another state by now, or marked. Otherwise the pool may be
 * gone when it returns. */
bool ceni_idle_offer(cen_pool *pool, uint32_t index, uint64_t generation, ceni_slot_state from);

/* Another order from now on: see idle.c. */
void ceni_idle_reorder_locked(cen_pool *pool);

/* What follows a publication: those in line are seen to, and a pool that is closed or too large takes the slot back. */
void ceni_idle_heed(ceni_waiters *line, uint64_t id, uint32_t index, uint64_t generation);

/* Only makes it idle: for one who pumps afterwards, and sees to CLOSED and SURPLUS. */
bool ceni_idle_publish_locked(cen_pool *pool, uint32_t index, uint64_t generation, ceni_slot_state from);
bool ceni_idle_publish(cen_pool *pool, uint32_t index, uint64_t generation, ceni_slot_state from);

/* Makes an idle slot the caller's, in another state; false if it is not idle, or lent again since. In an exact order one
 * that is TESTING keeps its place. */
bool ceni_idle_hold_locked(cen_pool *pool, uint32_t index, uint64_t generation, ceni_slot_state state);

/* A slot that will not be idle again leaves the list of an exact order, if it is there. */
void ceni_idle_unlist_locked(ceni_slot *slot);

/* Takes an idle slot out of use, to be closed; false if it is not idle, or lent again since. */
bool ceni_idle_withdraw_locked(cen_pool *pool, uint32_t index, uint64_t generation);

/* ---- places.c: EMPTY slots, opening and closing ---------------------------------- */

/* Claims an EMPTY slot, now OPENING, for an object to be made; false if none may be. */
bool ceni_place_claim(cen_pool *pool, uint32_t *index);
bool ceni_place_claim_locked(cen_pool *pool, uint32_t *index);

/* The same for an object that the caller has; false if max are there. */
bool ceni_place_claim_for_adopted_locked(cen_pool *pool, uint32_t *index);

/* Claims one for an opening that somebody else than a take began. */
bool ceni_place_claim_for_helper_locked(cen_pool *pool, uint32_t *index);

/* Opens an object in a claimed place, on this thread, and tells the gate how it
 * went. On failure the place is still claimed. */
cen_status ceni_place_open(cen_pool *pool, uint32_t index, cen_error *error);

/* The two halves of it: the call, and what is noted of its outcome. */
cen_status ceni_place_call_open(cen_pool *pool, uint32_t index, void **object, cen_error *error);
/* Notes by what number people know the object, if the driver says. The slot is the caller's; no lock is held. */
void ceni_place_identify(cen_pool *pool, uint32_t index, void *object);

void ceni_place_note_opened(cen_pool *pool, uint32_t index, const ceni_call_outcome *how, cen_error *error);

/* The place is OPENING no more, but not EMPTY: the gate may admit another now, so it ends in the pump. */
void ceni_place_opened_locked(cen_pool *pool, ceni_followup *call);

/* Makes what was opened, or adopted, idle; or ends it, if it was marked meanwhile. */
void ceni_place_publish_opened(cen_pool *pool, uint32_t index, uint64_t generation);

/* How many more openings may begin now, whoever makes them. */
uint32_t ceni_place_room_locked(const cen_pool *pool);

/* A slot has become CLOSING; the second, one whose object was revoked. */
void ceni_revoked_is_back(cen_pool *pool);
void ceni_place_leaves_locked(cen_pool *pool);

/* Makes the slot that is the caller's in state `from` EMPTY, and drops the lock
 * without telling anybody in line: for one who pumps afterwards. */
void ceni_place_vacate_quietly_locked(cen_pool *pool, uint32_t index, ceni_slot_state from);

/* The same, and tells those in line. Both, at the end of a freed pool, give its
 * memory back: the pool may be gone afterwards. */
void ceni_place_vacate_locked(cen_pool *pool, uint32_t index, ceni_slot_state from);

/* Closes the object of a slot in state CLOSING that leaves, and vacates it: on a
 * helper if the driver blocks, otherwise on this thread. `why` is for the event stream. */
void ceni_place_end(cen_pool *pool, uint32_t index, const char *why);

/* The same on this thread, whatever the driver. */
void ceni_place_end_here(cen_pool *pool, uint32_t index);

/* Calls the driver's close and nothing else; ceni_place_ended is to follow. */
void ceni_place_call_close(cen_pool *pool, uint32_t index);

/* Ends an object whose slot is CLOSING, on this thread, and pumps nothing: its caller does. */
void ceni_place_end_quietly(cen_pool *pool, uint32_t index, const char *why);

/* What follows when the driver has closed the object. The second: the caller has the lock, which is dropped. */
void ceni_place_ended(cen_pool *pool, uint32_t index);
void ceni_place_ended_locked(cen_pool *pool, uint32_t index);

/* Ends the slot that is the caller's in state `from`, whatever its mark; false if it is in another by now. */
bool ceni_place_end_from(cen_pool *pool, uint32_t index, uint64_t generation, ceni_slot_state from, const char *why);

/* The same because a call of the driver failed, as `how` says: whoever is told of the give is told that, too. NULL: none did. */
bool ceni_place_end_failed(cen_pool *pool, uint32_t index, uint64_t generation, ceni_slot_state from, const char *why,
                           const ceni_call_outcome *how);

/* Makes the slot that is the caller's in state `from` idle, or ends it if it is
 * marked. False if it is in another state by now. The pool may be gone then. */
bool ceni_place_return(cen_pool *pool, uint32_t index, uint64_t generation, ceni_slot_state from);

/* Brings openable and SURPLUS up to date after live or max changed, or the pool was closed. */
void ceni_places_counted_locked(cen_pool *pool);

/* Turns a claimed place with its new object into a lease. */
void ceni_place_lend(cen_pool *pool, uint32_t index, ceni_grant *out);

/* heads.c: the struct of a pool, zero but for what outlives pools; NULL without memory. The second: the pool ends, and its slots
 * are still there. The third: another pool may have the struct. */
cen_pool *ceni_head_lend(void);
void ceni_head_end(cen_pool *pool);
void ceni_head_return(cen_pool *pool);

/* The end: the driver's fini, and all memory is given back. The second: only memory, in a forked child. */
void ceni_pool_release(cen_pool *pool);
void ceni_pool_release_memory(cen_pool *pool);

/* The driver's functions and visitors are called between these. */
struct ceni_callout {
    uint64_t pool_id;
    const struct ceni_callout *outer; /* in which it happens */
    int cancel;
};
void ceni_callout_begin(ceni_callout *callout, const cen_pool *pool);
void ceni_callout_end(const ceni_callout *callout);
bool ceni_callout_inside(const cen_pool *pool);

#endif
