/* SPDX-License-Identifier: MIT */
/*
 * Scopes: nested takes of one holder share one object of the pool.
 *
 * The slot counts the scopes of its holder. A holder finds the slot that it has entered by a note: the pool's mark
 * and an index. A note may be out of date, because the lease was given directly or a longjmp skipped the leave. That
 * does no harm: the slot's word, its holder and the generation of its scopes are checked before the note is used.
 *
 * A thread has several notes. A task has one, which moves with it from thread to thread and also has the number of
 * its scopes without a note:
 *
 *     current.scope = mark of the pool (32 bits) | scopes beyond the notes (12) | index (20)
 *
 * A task that runs while another waits below it on the same stack is another holder. It finds neither the notes nor
 * the slots of the other task, detached or not, and takes an object of its own.
 */
#include "base/error.h"
#include "pool/internal.h"
#include "port/port.h"

enum { BEYOND = 0 }; /* index in a scope's reserved: it took the object, and there was no room for a note */

enum { INDEX_BITS = 20, BEYOND_BITS = 12 };
#define ONE_BEYOND (UINT64_C(1) << INDEX_BITS)
#define ALL_BEYOND (((UINT64_C(1) << BEYOND_BITS) - 1) << INDEX_BITS) /* maximum: this many or more */

_Static_assert(CEN_POOL_MAX <= 1 << INDEX_BITS, "an index has room beside the count");

/* Returns true if the slot's lease belongs to the current holder, revoked or not. Then its scope fields may be read:
 * no other thread uses them. */
static bool is_mine(ceni_slot *slot, uint64_t *word)
{
    *word = ceni_load_relaxed(&slot->word); /* if mine, written by this holder or the closer; carries nothing */
    ceni_slot_state state = ceni_word_state(*word);
    bool lent = state == CENI_SLOT_HELD || state == CENI_SLOT_REVOKING || state == CENI_SLOT_REVOKED;
    uint64_t note = ceni_load_relaxed(&slot->note); /* if mine, written by this holder; carries nothing */
    uint64_t holder = ceni_slot_holder(note, ceni_word_generation(*word)) & ~CENI_HOLDER_DETACHED;
    return lent && holder && holder == ceni_holder_known();
}

static bool has_scope(ceni_slot *slot, uint64_t *word)
{
    return is_mine(slot, word) && slot->scopes > 0 && slot->scope_generation == ceni_word_generation(*word);
}

static uint32_t search_slots(cen_pool *pool)
{
    uint32_t places = ceni_place_reach(pool);
    uint64_t word;
    for (uint32_t index = 0; index < places; index++)
        if (has_scope(ceni_slot_at(pool, index), &word)) return index;
    return CENI_NO_INDEX;
}

/* The current holder's note number `i`, from 0; NULL: it has no more. */
static uint64_t *note_at(ceni_pool_own *own, int i)
{
    if (i == 0) return &own->current.scope;
    return i <= CENI_MORE_SCOPES && !ceni_own_is_task(&own->current) ? &own->scope[i - 1] : NULL;
}

static bool is_of(uint64_t note, const cen_pool *pool)
{
    return note >> 32 == pool->mark;
}

/* Erase a note; the count of scopes beyond the notes stays. */
static void erase(uint64_t *note)
{
    *note &= ALL_BEYOND;
}

static uint32_t entered_slot(cen_pool *pool)
{
    ceni_pool_own *own = ceni_pool_own_get();
    uint64_t word, *note;
    for (int i = 0; (note = note_at(own, i)); i++) {
        if (!is_of(*note, pool)) continue;
        uint32_t index = (uint32_t)(*note & (ONE_BEYOND - 1));
        ceni_slot *slot = ceni_slot_at(pool, index);
        if (slot && has_scope(slot, &word)) return index;
        erase(note);
    }
    return own->current.scope & ALL_BEYOND ? search_slots(pool) : CENI_NO_INDEX;
}

/* Returns false if there was no room. */
static bool write_note(const cen_pool *pool, uint32_t index)
{
    ceni_pool_own *own = ceni_pool_own_get();
    uint64_t *note;
    for (int i = 0; (note = note_at(own, i)); i++) {
        if (*note >> 32) continue;
        *note |= ceni_note(pool->mark, index);
        return true;
    }
    if ((own->current.scope & ALL_BEYOND) != ALL_BEYOND) own->current.scope += ONE_BEYOND;
    return false;
}

/* Returns false if there was no note: then the scope is one of those beyond. */
static bool forget(const cen_pool *pool, uint32_t index)
{
    ceni_pool_own *own = ceni_pool_own_get();
    uint64_t *note;
    for (int i = 0; (note = note_at(own, i)); i++) {
        if ((*note & ~ALL_BEYOND) != ceni_note(pool->mark, index)) continue;
        erase(note);
        return true;
    }
    return false;
}

/* Count one scope beyond the notes less. After the count has reached its maximum, it stays there. */
static void one_beyond_less(void)
{
    uint64_t *note = &ceni_holder_current()->scope, beyond = *note & ALL_BEYOND;
    if (beyond && beyond != ALL_BEYOND) *note -= ONE_BEYOND;
}

static cen_status borrow(cen_pool *pool, uint32_t index, cen_scope *scope, cen_error *error)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    uint64_t word;
    is_mine(slot, &word);
    if (ceni_word_state(word) != CENI_SLOT_HELD)
        return ceni_error_because(
            error, CEN_CAUSE_REVOKED,
            ceni_error_set(error, CEN_REVOKED, 0, "pool \"%s\": the lease of the outer scope was revoked", pool->name));
    slot->scopes++;
    scope->lease = (cen_lease){.object = ceni_load_relaxed(&slot->object), /* the holder owns it; carries nothing */
                               .pool = pool,
                               .generation = ceni_word_generation(word),
                               .slot = slot};
    return CEN_OK;
}

/* `options` NULL: a plain take with that deadline and call site. */
static cen_status enter(cen_pool *pool, const cen_take_options *options, cen_deadline deadline, const char *where,
                        cen_scope *scope, cen_error *error)
{
    if (!scope) return ceni_error_set(error, CEN_INVALID, 0, "cen_pool_enter: scope is NULL");
    *scope = cen_scope_none_(); /* leaving one that was not entered is STALE */
    cen_scope entered = {.holder = ceni_holder_number()};
    cen_status status = ceni_pool_check(pool, "cen_pool_enter", error);
    if (status != CEN_OK) return status;
    uint32_t outer = entered_slot(pool);
    if (outer != CENI_NO_INDEX) {
        status = borrow(pool, outer, &entered, error);
    } else {
        status = options ? cen_pool_take_with(pool, options, &entered.lease, error)
                         : cen_pool_take_at(pool, deadline, &entered.lease, error, where);
        if (status == CEN_OK) {
            ceni_slot *slot = entered.lease.slot;
            slot->scope_generation = entered.lease.generation;
            slot->scopes = 1;
            entered.reserved[BEYOND] = !write_note(pool, ceni_slot_index(pool, slot));
        }
    }
    if (status == CEN_OK) *scope = entered;
    return status;
}

cen_status cen_pool_enter_at(cen_pool *pool, cen_deadline deadline, cen_scope *scope, cen_error *error,
                             const char *where)
{
    return enter(pool, NULL, deadline, where, scope, error);
}

cen_status cen_pool_enter_with(cen_pool *pool, const cen_take_options *options, cen_scope *scope, cen_error *error)
{
    cen_status status = cen_sized_check(options, sizeof *options, "cen_pool_enter_with: options", error);
    if (status != CEN_OK) return status;
    return enter(pool, options, (cen_deadline){0}, NULL, scope, error);
}

cen_status(cen_pool_leave)(cen_scope *scope)
{
    return cen_pool_leave_at(scope, NULL);
}

cen_status cen_pool_leave_at(cen_scope *scope, const char *where)
{
    if (!scope) return CEN_INVALID;
    cen_pool *pool = scope->lease.pool;
    if (!pool) return cen_pool_give_failed_(&scope->lease, CEN_STALE, where);
    if (!ceni_pool_is_ours(pool)) return CEN_FORKED;
    if (scope->holder != ceni_holder_known()) return CEN_MISUSE;
    if (ceni_pool_is_newer(pool, scope->lease.generation)) return CEN_STALE; /* the pool of the lease is gone */
    uint32_t index = ceni_slot_index(pool, scope->lease.slot);
    if (index == CENI_NO_INDEX) return ceni_renew_is_former(pool, scope->lease.slot) ? CEN_FORKED : CEN_FOREIGN;
    ceni_slot *slot = scope->lease.slot;
    uint64_t word;
    bool open = has_scope(slot, &word) && ceni_word_generation(word) == scope->lease.generation;
    if (open && --slot->scopes > 0) {
        scope->lease.pool = NULL;
        return CEN_OK;
    }
    /* If the lease was given directly, a note belongs to a newer scope, or is out of date. */
    bool beyond = open ? !forget(pool, index) : scope->reserved[BEYOND];
    if (beyond) one_beyond_less();
    scope->reserved[BEYOND] = 0;
    return cen_pool_give_at(&scope->lease, where);
}
