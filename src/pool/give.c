/* SPDX-License-Identifier: MIT */
/*
 * Give, discard and detach: the quick path of a give, and the slow paths behind it.
 *
 *     HELD,g ▶ IDLE,g by one CAS, then one load of the queue's word
 *
 * A give whose CAS fails finds out why: the slot was struck from the map, the lease has ended, or a close has revoked it.
 *
 * After the CAS another thread may own the slot, and the pool may be gone. From then on only the wait queue is read, which
 * always exists. The linearisation point of a give is its CAS.
 *
 * Order table
 * [T3] give  | cas of the word       | seq_cst | Q2 in quick.h, L1 in waiters.c | the object's bytes, to the next holder; that the slot is idle, before ctl is read | the next holder reads old bytes; a waiter sleeps beside an idle object
 * [T4] give  | load of ctl after T3  | seq_cst | L1 in waiters.c | whether there is a waiter | the same
 * [T7] give  | cas of the word, before a check | seq_cst | Q2 in quick.h | that this thread owns the object | two threads check it, or one checks a closed object
 */
#include "base/plant.h"
#include "pool/internal.h"
#include "pool/quick.h"
#include "port/port.h"
#include "sync/future.h"

static bool retire(ceni_waiters *waiters, uint64_t pool_id, uint32_t index, uint64_t generation,
                   void (*end)(cen_pool *, uint32_t, const char *))
{
    ceni_waiters_lock(waiters);
    cen_pool *pool = waiters->pool_id == pool_id ? waiters->pool : NULL; /* or it is gone, with its slots */
    uint64_t ctl = ceni_load_relaxed(&waiters->ctl);                     /* written under this lock; carries nothing */
    bool surplus = ctl & (CENI_CTL_CLOSED | CENI_CTL_SURPLUS);
    bool ours = pool && surplus && ceni_idle_withdraw_locked(pool, index, generation);
    ceni_waiters_unlock(waiters);
    if (ours) end(pool, index, "above max, or pool closed");
    return ours;
}

bool ceni_pool_retire(ceni_waiters *waiters, uint64_t pool_id, uint32_t index, uint64_t generation)
{
    return retire(waiters, pool_id, index, generation, ceni_place_end);
}

bool ceni_pool_retire_quietly(ceni_waiters *waiters, uint64_t pool_id, uint32_t index, uint64_t generation)
{
    return retire(waiters, pool_id, index, generation,
                  ceni_planted(retired_open_pumps) ? ceni_place_end : ceni_place_end_quietly);
}

/* Check that the lease's pool exists and that the slot is one of its slots. */
static cen_status check_lease(const cen_lease *lease, uint32_t *index)
{
    if (!lease) return CEN_INVALID;
    cen_pool *pool = lease->pool;
    if (!pool) return CEN_STALE;
    if (!ceni_pool_is_ours(pool)) return CEN_FORKED;
    if (ceni_pool_is_newer(pool, lease->generation)) return CEN_STALE; /* the pool of the lease is gone */
    *index = ceni_slot_index(pool, lease->slot);
    if (*index != CENI_NO_INDEX) return CEN_OK;
    return ceni_renew_is_former(pool, lease->slot) ? CEN_FORKED : CEN_FOREIGN;
}

/* The note of the lease, which names its holder; read before the lease ends. */
static inline uint64_t note_of(const cen_lease *lease)
{
    ceni_slot *slot = lease->slot;
    return ceni_load_relaxed(&slot->note); /* written before the lease was returned to its taker; carries nothing */
}

/* The slot is not HELD. If the lease was revoked, the object comes back here. */
bool ceni_slot_take_back(cen_pool *pool, uint32_t index, uint64_t generation)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    if (ceni_slot_move(slot, generation, CENI_SLOT_REVOKING, CENI_SLOT_RETURNED)) return true;
    if (!ceni_slot_move(slot, generation, CENI_SLOT_REVOKED, CENI_SLOT_CLOSING)) return false;
    ceni_use_ends(pool, slot, generation);
    ceni_revoked_is_back(pool);
    ceni_place_end(pool, index, "revoked, then given back");
    return true;
}

/* The lease variable is cleared before the lease ends: it may be part of the object, which another thread may own
 * afterwards. */
static cen_status give_revoked(cen_pool *pool, uint32_t index, cen_lease *lease, uint64_t *note)
{
    uint64_t generation = lease->generation;
    const ceni_slot *slot = lease->slot;
    lease->pool = NULL;
    if (ceni_slot_take_back(pool, index, generation)) return CEN_REVOKED;
    if (ceni_orphan_given(pool, slot, generation, note)) return CEN_REVOKED;
    lease->pool = pool;
    return CEN_STALE;
}

static bool is_used_up(cen_pool *pool, ceni_slot *slot, uint64_t generation)
{
    int64_t most = ceni_setting(&pool->max_uses);
    /* came with the word; any value for a stale lease; carries nothing */
    uint64_t first = ceni_load_relaxed(&slot->first_generation);
    return most != CEN_OFF && generation - first >= (uint64_t)most + (ceni_planted(one_use_too_many) ? 1 : 0);
}

/* End a lease in a pool whose driver has check, or a timed lease. The slot becomes RESETTING first, so that one lease
 * is checked only once, and is timed while the pool cannot be gone. */
static bool give_checked(cen_pool *pool, uint32_t index, uint64_t generation, cen_future *giving, bool *kept)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    if (is_used_up(pool, slot, generation))
        return ceni_place_end_from(pool, index, generation, CENI_SLOT_HELD, "max uses reached (max_uses)");
    bool timed = ceni_use_is_timed(pool, generation);
    if (!pool->calls.check && !timed) return ceni_place_return(pool, index, generation, CENI_SLOT_HELD);
    if (!ceni_slot_move_unmarked(slot, generation, CENI_SLOT_HELD, CENI_SLOT_RESETTING))
        return ceni_place_return(pool, index, generation, CENI_SLOT_HELD); /* marked, or not held */
    if (timed) ceni_use_ends(pool, slot, generation);
    if (!pool->calls.check) return ceni_place_return(pool, index, generation, CENI_SLOT_RESETTING);
    if (giving) {
        slot->scope_generation = ~generation;
        slot->giving = giving;
        *kept = true;
    }
    ceni_chores_check(pool, index, generation);
    return true;
}

cen_status ceni_give_noting(cen_lease *lease, cen_future *giving, bool *kept)
{
    uint32_t index;
    cen_status status = check_lease(lease, &index);
    if (status != CEN_OK) return status;
    cen_pool *pool = lease->pool;
    if (pool->calls.check && ceni_callout_inside(pool)) return CEN_MISUSE;
    uint64_t note = note_of(lease);
    lease->pool = NULL;
    status =
        give_checked(pool, index, lease->generation, giving, kept) ? CEN_OK : give_revoked(pool, index, lease, &note);
    if (status != CEN_STALE) ceni_held_ends(ceni_pool_own_get(), note);
    return status;
}

__attribute__((noinline)) static cen_status give_slowly(cen_lease *lease)
{
    return ceni_give_noting(lease, NULL, NULL);
}

/* The slot is idle, so another thread may own it, and the pool may be gone. */
static inline cen_status given(ceni_waiters *waiters, uint64_t id, uint64_t index, uint64_t word, uint64_t note)
{
    ceni_held_ends(ceni_pool_own_get(), note);
    uint64_t ctl = ceni_load_seq_cst(&waiters->ctl); /* [T4] */
    if (__builtin_expect(ctl == 0, 1) || ceni_planted(give_tells_nobody)) return CEN_OK;
    /* The most frequent case while there are waiters: the first one will search, and the clock need not be read yet. */
    bool left_to_heir = (ctl & (CENI_CTL_ONE - 1)) == CENI_CTL_HEIR;
    if (left_to_heir && ceni_give_counted(ceni_pool_own_get(), (uint32_t)id)) return CEN_OK;
    return ceni_waiters_heed(waiters, id, ctl, (uint32_t)index, ceni_word_generation(word));
}

/* The driver has checked the object, and it cannot simply become idle. */
__attribute__((noinline)) static cen_status give_checked_slowly(cen_pool *pool, ceni_slot *slot, uint64_t word,
                                                                cen_condition condition)
{
    uint64_t note = ceni_load_relaxed(&slot->note); /* as note_of; carries nothing */
    ceni_chores_checked(pool, ceni_slot_index(pool, slot), ceni_word_generation(word), condition);
    ceni_held_ends(ceni_pool_own_get(), note);
    return CEN_OK;
}

/* Give an object that the driver checks, or whose lease is timed, or both. The slot is RESETTING meanwhile, as with
 * any other driver: one lease is checked only once, no other thread closes the object during the check, and the pool
 * cannot be gone. `sampled` and `looks` are constants, except that `looks` may vary if `sampled` is true, where it
 * matters less. */
__attribute__((always_inline)) static inline cen_status give_by_reset(cen_lease *lease, uint64_t held, bool sampled,
                                                                      bool looks)
{
    cen_pool *pool = lease->pool;
    ceni_slot *slot = lease->slot;
    uint64_t resetting = held + (CENI_SLOT_RESETTING - CENI_SLOT_HELD);
    if (looks && ceni_planted(look_before_it_is_alone)) pool->calls.check(pool->driver.argument, lease->object);
    lease->pool = NULL;
    if (!ceni_cas_seq_cst(&slot->word, &held, resetting)) { /* [T7] */
        lease->pool = pool;
        return give_slowly(lease);
    }
    if (sampled) ceni_timed_use_ends(pool, slot, ceni_word_generation(resetting));
    void *object = ceni_load_relaxed(&slot->object); /* the caller owns it; carries nothing */
    cen_condition condition = looks ? pool->calls.check(pool->driver.argument, object) : CEN_CLEAN;
    if (__builtin_expect(condition != CEN_CLEAN, 0)) return give_checked_slowly(pool, slot, resetting, condition);
    /* Read only now, so that less is kept across the driver's call. */
    uint64_t id = pool->id, word = resetting, note = ceni_load_relaxed(&slot->note); /* as note_of; carries nothing */
    ceni_waiters *waiters = pool->waiters;
    uint64_t at = (uint64_t)((char *)slot - (char *)pool->base) >> CENI_SLOT_SHIFT;
    if (!ceni_cas_seq_cst(&slot->word, &word, resetting - (CENI_SLOT_RESETTING - CENI_SLOT_IDLE))) /* [T3] */
        return give_checked_slowly(pool, slot, resetting, CEN_CLEAN);
    if (sampled && ceni_planted(sampled_give_forgets_the_line)) return CEN_OK;
    return given(waiters, id, at, resetting, note);
}

/* The quick path of a pool whose driver's check only reads (check_only_reads). */
__attribute__((noinline)) static cen_status give_with_a_look(cen_lease *lease, uint64_t index, uint64_t held)
{
    if (__builtin_expect(index >= ceni_setting(&lease->pool->quick_check), 0)) return give_slowly(lease);
    return give_by_reset(lease, held, false, true);
}

/* One lease in CENI_SAMPLED_ONE_IN (times.c). */
__attribute__((noinline)) static cen_status give_sampled(cen_lease *lease, uint64_t index, uint64_t held)
{
    bool looks = index < ceni_setting(&lease->pool->quick_check);
    if (!looks && index >= ceni_setting(&lease->pool->quick_give)) return give_slowly(lease);
    return give_by_reset(lease, held, true, looks);
}

cen_status cen_pool_give_untold_(cen_lease *lease)
{
    if (__builtin_expect(!lease || !lease->pool, 0)) return give_slowly(lease);
    cen_pool *pool = lease->pool;
    if (__builtin_expect(!ceni_fork_is(ceni_setting(&pool->epoch)), 0)) return give_slowly(lease);
    ceni_slot *slot = lease->slot;
    uintptr_t offset = (uintptr_t)slot - (uintptr_t)pool->base;
    /* The bits below a slot's size are rotated to the top: one comparison detects a misaligned address and a slot
     * outside the first chunk. */
    uint64_t index = (uint64_t)offset / sizeof *slot | (uint64_t)offset << (64 - CENI_SLOT_SHIFT);
    uint64_t id = pool->id;
    uint32_t quick = ceni_setting(&pool->quick_give);
    uint64_t held = ceni_word(lease->generation, CENI_SLOT_HELD | CENI_LISTED);
    if (__builtin_expect(ceni_word_is_sampled(held), 0)) return give_sampled(lease, index, held);
    if (__builtin_expect(index >= quick, 0)) return give_with_a_look(lease, index, held);
    ceni_waiters *waiters = pool->waiters;
    uint64_t note = ceni_load_relaxed(&slot->note); /* as note_of; carries nothing */
    lease->pool = NULL;                             /* before: it may be part of the object */
    if (!ceni_cas_seq_cst(&slot->word, &held, held - (CENI_SLOT_HELD - CENI_SLOT_IDLE))) { /* [T3] */
        lease->pool = pool;
        return give_slowly(lease);
    }
    return given(waiters, id, index, held, note);
}

/* The functions behind the macros, for callers that need an address or use another language: the call site is not
 * known. */
cen_status(cen_pool_give)(cen_lease *lease)
{
    return cen_pool_give_at(lease, NULL);
}

cen_status(cen_pool_discard)(cen_lease *lease)
{
    return cen_pool_discard_at(lease, NULL);
}

cen_status cen_pool_discard_at(cen_lease *lease, const char *where)
{
    CENI_INLINE_AT_END;
    uint32_t index;
    cen_status status = check_lease(lease, &index);
    if (status != CEN_OK) return cen_pool_give_failed_(lease, status, where);
    cen_pool *pool = lease->pool;
    if (ceni_callout_inside(pool)) return CEN_MISUSE;
    uint64_t note = note_of(lease);
    lease->pool = NULL;
    bool ours = ceni_slot_move(lease->slot, lease->generation, CENI_SLOT_HELD, CENI_SLOT_CLOSING);
    if (!ours) status = give_revoked(pool, index, lease, &note);
    if (status == CEN_STALE) return cen_pool_give_failed_(lease, status, where);
    ceni_held_ends(ceni_pool_own_get(), note);
    if (!ours) return status;
    if (!ceni_planted(use_counted_by_nobody)) ceni_use_ends(pool, ceni_slot_at(pool, index), lease->generation);
    ceni_waiters_lock(pool->waiters);
    pool->tally.discarded++;
    ceni_place_leaves_locked(pool);
    ceni_waiters_unlock(pool->waiters);
    ceni_place_end(pool, index, "discarded by its holder");
    return CEN_OK;
}

cen_status cen_pool_detach(const cen_lease *lease)
{
    uint32_t index;
    cen_status status = check_lease(lease, &index);
    return status == CEN_OK ? ceni_holder_detach(lease->pool, index, lease->generation) : status;
}
