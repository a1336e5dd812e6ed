/* SPDX-License-Identifier: MIT */
/* Slots as places for objects: how they are found, taken, claimed, made idle and vacated. */
#ifndef CENI_POOL_PLACES_H
#define CENI_POOL_PLACES_H

#include "pool/pool.h"

/* ---- slots.c: chunks, and which slot is which --------------------------------- */

/* Make a chunk of `count` slots beginning with index `first`; the generations of their leases begin after
 * `generation`. NULL if there is no memory. */
ceni_chunk *ceni_chunk_make(const cen_allocator *allocator, uint32_t first, uint32_t count, ceni_chunk_extras with,
                            uint64_t generation);
void ceni_chunk_free(ceni_chunk *chunk, const cen_allocator *allocator);
void ceni_chunk_publish_locked(cen_pool *pool, ceni_chunk *chunk);

/* The number of chunks; of slots. */
uint32_t ceni_chunk_count(cen_pool *pool);
uint32_t ceni_place_count(cen_pool *pool);

/* The end of the slots in use: all slots from there on were EMPTY at some moment during the call. */
uint32_t ceni_place_reach(cen_pool *pool);

/* A slot is about to leave EMPTY, or has come back to it. */
void ceni_slot_begins_locked(cen_pool *pool, ceni_chunk *chunk, uint32_t at);
void ceni_slot_ended_locked(cen_pool *pool, ceni_chunk *chunk, uint32_t at);

/* The chunk that has a slot, or NULL if there is no such slot. */
ceni_chunk *ceni_chunk_of(cen_pool *pool, uint32_t index);
ceni_slot *ceni_slot_beyond_base(cen_pool *pool, uint32_t index);

/* The index of a slot; CENI_NO_INDEX if the address is not a slot of the pool. */
uint32_t ceni_slot_index(cen_pool *pool, const void *slot);

static inline ceni_slot *ceni_slot_at(cen_pool *pool, uint32_t index)
{
    return __builtin_expect(index < pool->base_count, 1) ? &pool->base[index] : ceni_slot_beyond_base(pool, index);
}

/* The word of a slot that another thread may own. */
static inline uint64_t ceni_word_at(cen_pool *pool, uint32_t index)
{
    return ceni_slot_word(ceni_slot_at(pool, index));
}

static inline uint64_t ceni_slot_generation(cen_pool *pool, uint32_t index)
{
    /* the caller owns it; carries nothing */
    return ceni_word_generation(ceni_load_relaxed(&ceni_slot_at(pool, index)->word));
}

/* ---- shrink.c: memory of unused slots, given back -------------------------------- */

/* A slot has become EMPTY: give back its block if it is beyond max and has no other slot in use. The caller pumps.
 * ceni_shrink gives back all such blocks; no lock is held. */
void ceni_shrink_at_locked(cen_pool *pool, ceni_chunk *chunk, uint32_t at);
void ceni_shrink(cen_pool *pool);

/* ---- idle.c: idle slots, found, taken and made --------------------------------- */

/* Take an idle slot; `hint` is tried first. As newcomer: for a take that is not in the queue. As asker: for an
 * asynchronous take, which cannot test the object itself. */
bool ceni_idle_take(cen_pool *pool, uint32_t hint, ceni_grant *out);
bool ceni_idle_take_as_newcomer(cen_pool *pool, uint32_t hint, ceni_grant *out);
bool ceni_idle_take_as_asker(cen_pool *pool, uint32_t hint, ceni_grant *out);
bool ceni_idle_take_locked(cen_pool *pool, uint32_t hint, ceni_grant *out);

/* Take only the slot of the hint; never in an exact order. */
bool ceni_idle_take_hinted_locked(cen_pool *pool, uint32_t hint, ceni_grant *out);

/* Take a slot that need not be tested before. If there is none, but one that must be tested, `out` has its index and
 * generation, and is stale. */
bool ceni_idle_take_fresh_locked(cen_pool *pool, uint32_t hint, ceni_grant *out);

/* Return true if there is an idle slot. */
bool ceni_idle_any_locked(cen_pool *pool);

/* Make idle a slot that the caller owns in state `from`, and serve the wait queue. Returns false if the slot is in
 * another state, or marked. Otherwise the pool may be gone when it returns. */
bool ceni_idle_offer(cen_pool *pool, uint32_t index, uint64_t generation, ceni_slot_state from);

/* The order was changed: see idle.c. */
void ceni_idle_reorder_locked(cen_pool *pool);

/* After a publication: serve the wait queue; in a pool that is closed or above max, retire the slot. */
void ceni_idle_heed(ceni_waiters *waiters, uint64_t id, uint32_t index, uint64_t generation);

/* Only make the slot idle, for a caller that pumps afterwards and handles CLOSED and SURPLUS. */
bool ceni_idle_publish_locked(cen_pool *pool, uint32_t index, uint64_t generation, ceni_slot_state from);
bool ceni_idle_publish(cen_pool *pool, uint32_t index, uint64_t generation, ceni_slot_state from);

/* Take ownership of an idle slot, in another state. Returns false if it is not idle, or was lent since. In an exact
 * order a slot that is TESTING keeps its place. */
bool ceni_idle_hold_locked(cen_pool *pool, uint32_t index, uint64_t generation, ceni_slot_state state);

/* Remove a slot that will not be idle again from the list of an exact order, if it is in it. */
void ceni_idle_unlist_locked(ceni_slot *slot);

/* Take an idle slot out of use, to close its object. Returns false if it is not idle, or was lent since. */
bool ceni_idle_withdraw_locked(cen_pool *pool, uint32_t index, uint64_t generation);

/* ---- places.c: EMPTY slots, opening and closing ---------------------------------- */

/* Claim an EMPTY slot, which becomes OPENING, for a new object. Returns false if no object may be opened. */
bool ceni_place_claim(cen_pool *pool, uint32_t *index);
bool ceni_place_claim_locked(cen_pool *pool, uint32_t *index);

/* The same for an object that the caller has. Returns false if the pool is full or closed. */
bool ceni_place_claim_for_adopted_locked(cen_pool *pool, uint32_t *index);

/* The same for an opening by a helper. */
bool ceni_place_claim_for_helper_locked(cen_pool *pool, uint32_t *index);

/* Open an object in a claimed place, on this thread, and tell the gate the outcome. After a failure the place is
 * still claimed. */
cen_status ceni_place_open(cen_pool *pool, uint32_t index, cen_error *error);

/* Its two halves: the driver call, and (ceni_place_note_opened) noting its outcome. */
cen_status ceni_place_call_open(cen_pool *pool, uint32_t index, void **object, cen_error *error);
/* Note the object's identity, if the driver has identify. The caller owns the slot; no lock is held. */
void ceni_place_identify(cen_pool *pool, uint32_t index, void *object);

void ceni_place_note_opened(cen_pool *pool, uint32_t index, const ceni_call_outcome *how, cen_error *error);

/* The opening has succeeded: the gate may admit another now, so it ends in the pump. */
void ceni_place_opened_locked(cen_pool *pool, ceni_followup *followup);

/* Make an opened or adopted object idle, or close it if it was marked meanwhile. */
void ceni_place_publish_opened(cen_pool *pool, uint32_t index, uint64_t generation);

/* The number of openings that may begin now, on any thread. */
uint32_t ceni_place_room_locked(const cen_pool *pool);

/* A slot has become CLOSING; the first function: it was revoked before. */
void ceni_revoked_is_back(cen_pool *pool);
void ceni_place_leaves_locked(cen_pool *pool);

/* Make EMPTY a slot that the caller owns in state `from`, and drop the lock, without a pump: for a caller that pumps
 * afterwards. */
void ceni_place_vacate_quietly_locked(cen_pool *pool, uint32_t index, ceni_slot_state from);

/* The same, with a pump. Both free the memory of a freed pool that becomes empty: the pool may be gone afterwards. */
void ceni_place_vacate_locked(cen_pool *pool, uint32_t index, ceni_slot_state from);

/* Close the object of a slot that is CLOSING, and vacate the slot: on a helper if the driver blocks, otherwise on
 * this thread. `why` is for the event. */
void ceni_place_end(cen_pool *pool, uint32_t index, const char *why);

/* The same on this thread, with any driver. */
void ceni_place_end_here(cen_pool *pool, uint32_t index);

/* Only call the driver's close; ceni_place_ended must follow. */
void ceni_place_call_close(cen_pool *pool, uint32_t index);

/* Close an object whose slot is CLOSING, on this thread, without a pump: the caller pumps. */
void ceni_place_end_quietly(cen_pool *pool, uint32_t index, const char *why);

/* Continue after the driver has closed the object. The second: the caller holds the lock, which is dropped. */
void ceni_place_ended(cen_pool *pool, uint32_t index);
void ceni_place_ended_locked(cen_pool *pool, uint32_t index);

/* Close the object of a slot that the caller owns in state `from`, marked or not. Returns false if the slot is in
 * another state. */
bool ceni_place_end_from(cen_pool *pool, uint32_t index, uint64_t generation, ceni_slot_state from, const char *why);

/* The same because a driver call failed; `how` is its outcome, which an asynchronous give reports. NULL: no call
 * failed. */
bool ceni_place_end_failed(cen_pool *pool, uint32_t index, uint64_t generation, ceni_slot_state from, const char *why,
                           const ceni_call_outcome *how);

/* Make idle a slot that the caller owns in state `from`, or close its object if the slot is marked. Returns false if
 * it is in another state. The pool may be gone when it returns. */
bool ceni_place_return(cen_pool *pool, uint32_t index, uint64_t generation, ceni_slot_state from);

/* Update openable and SURPLUS after live or max changed, or the pool was closed. */
void ceni_places_counted_locked(cen_pool *pool);

/* Make a claimed place with its new object a lease. */
void ceni_place_lend(cen_pool *pool, uint32_t index, ceni_grant *out);

/* heads.c. ceni_head_lend returns the struct for a pool, zeroed except for the fields that outlive pools; NULL if
 * there is no memory. ceni_head_end: the pool ends; its slots still exist. ceni_head_return: another pool may use the
 * struct. */
cen_pool *ceni_head_lend(void);
void ceni_head_end(cen_pool *pool);
void ceni_head_return(cen_pool *pool);

/* The end of the pool: call the driver's fini, and free all memory. The second: only free memory, in a forked child. */
void ceni_pool_release(cen_pool *pool);
void ceni_pool_release_memory(cen_pool *pool);

/* A call of the driver, a visitor or a listener is made between begin and end. */
struct ceni_callout {
    uint64_t pool_id;
    const struct ceni_callout *outer; /* the enclosing callout */
    int cancel;
};
void ceni_callout_begin(ceni_callout *callout, const cen_pool *pool);
void ceni_callout_end(const ceni_callout *callout);
bool ceni_callout_inside(const cen_pool *pool);

#endif
