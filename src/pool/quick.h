/* SPDX-License-Identifier: MIT */
/*
 * The quick path of a take, blocking or asynchronous: one compare-and-swap on the slot that this thread had last.
 *
 * Order table
 * [Q1] take | load of ctl     | relaxed | - | nothing: whether the pool is closed, or takes must queue; carries nothing | -
 * [Q2] take | cas of the word | seq_cst | T3 in give.c, I4 in idle.c | the object's bytes, from the last holder | it reads old bytes
 * [Q3] note | stores of where, note | release | the loads in holding.c | that they belong to the generation | a list of holders shows the previous holder
 */
#ifndef CENI_POOL_QUICK_H
#define CENI_POOL_QUICK_H

#include "base/plant.h"
#include "pool/internal.h"
#include "port/port.h"

static inline void ceni_note_lease(ceni_slot *slot, uint64_t note, const char *where)
{
    ceni_store_release(&slot->where, where); /* [Q3] */
    ceni_store_release(&slot->note, note);   /* [Q3] */
}

static inline void ceni_lease_fill(cen_pool *pool, ceni_slot *slot, uint64_t generation, cen_lease *out)
{
    out->object = ceni_load_relaxed(&slot->object); /* came with the slot's word; carries nothing */
    out->pool = pool;
    out->generation = generation;
    out->slot = slot;
}

/* Take the slot that this thread had last, if it is idle. It calls nothing, so that it needs no stack frame. It
 * guesses the slot's word, so that it need not wait for a load: if no other thread has had the slot since, its
 * generation is that of the last lease. `detached`: 0, or CENI_HOLDER_DETACHED. `sampled`: take only timed leases,
 * otherwise only untimed ones; a constant, so that it costs nothing. */
__attribute__((always_inline)) static inline bool ceni_take_hinted(cen_pool *pool, uint64_t detached, bool sampled,
                                                                   cen_lease *out, const char *where)
{
    if (!ceni_fork_is(ceni_setting(&pool->epoch))) return false;
    ceni_pool_own *own = ceni_pool_own_get();
    size_t at = ceni_setting(&pool->hint_at);
    uint64_t offset = own->hints[at] - pool->first_note; /* huge if the hint is for another pool */
    uint64_t last = own->hints[at + 1];
    if (offset >= ceni_setting(&pool->quick_take)) return false;
    if (own->current.note <= CENI_HOLDER_NO_NUMBER) return false;
    if (__builtin_expect(ceni_word_next_is_sampled(last), 0) != sampled) return false;
    if (ceni_load_relaxed(&pool->waiters->ctl) & (CENI_CTL_CLOSED | CENI_CTL_FIRST))
        return false; /* [Q1] carries nothing */
    ceni_slot *slot = (ceni_slot *)(void *)((char *)pool->base + offset);
    uint64_t idle = last - (CENI_SLOT_HELD - CENI_SLOT_IDLE),
             held = last + ceni_word(!ceni_planted(generation_stays), 0);
    if (!ceni_cas_seq_cst(&slot->word, &idle, held)) return false; /* [Q2] */
    at = ceni_setting(&pool->hint_at);                             /* again: keeping it across the CAS costs more */
    own->hints[at + 1] = held;
    uint64_t begun = ceni_word_generation(held);
    if (!detached && !ceni_planted(balance_forgets_a_take)) ceni_held_counts(own);
    if (sampled) ceni_slot_note(pool, slot, begun, own->current.note >> CENI_NOTE_BITS | detached, where);
    else ceni_note_lease(slot, own->current.note | ceni_slot_note_of(detached, begun), where);
    ceni_lease_fill(pool, slot, begun, out);
    return true;
}

__attribute__((always_inline)) static inline bool ceni_take_quickly(cen_pool *pool, uint64_t detached, cen_lease *out,
                                                                    const char *where)
{
    return ceni_take_hinted(pool, detached, false, out, where);
}

/* The same for a timed lease, which the quick path does not take. */
static inline bool ceni_take_sampled(cen_pool *pool, uint64_t detached, cen_lease *out, const char *where)
{
    return ceni_take_hinted(pool, detached, true, out, where);
}

#endif
