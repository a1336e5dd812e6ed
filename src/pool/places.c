/* SPDX-License-Identifier: MIT */
/*
 * Places: EMPTY slots, and how objects are opened in them and closed.
 *
 * `live` counts the slots that are not EMPTY. It never exceeds max, except after max was lowered, until enough
 * objects were closed (L2). It is raised when a place is claimed, before the driver is called, and lowered after the
 * driver has closed the object. All of this is under the pool's lock. The driver is called with no lock held (L9),
 * while the slot is OPENING or CLOSING and the calling thread owns it.
 *
 * A place that becomes free can serve a waiter just as an object that is given back: vacating a place ends in the
 * same pump (L3).
 *
 * Order table
 * [O1] claim   | load of openable  | seq_cst | O2 | whether an object may be opened | an heir misses a place that was freed before its search
 * [O2] counted | store of openable | seq_cst | O1 | the same | the same
 * [O3] opened  | store of the object | release | the word's cas that follows; visitors' loads | the object's bytes | a visitor sees a half-made object
 * [O5] lend    | cas of the word   | seq_cst | every other change of it | that it is held | nothing alone: one order for all changes of a word is easier to argue
 * [O6] claim, vacate | add to shifts | seq_cst | V5 in stats.c | that a slot was emptied or filled, although its word may be the same again | two readings consider a changed slot unchanged
 * [O7] end    | load of ctl        | seq_cst | L1 in waiters.c | whether there is a waiter, after the surplus ended | a waiter that joined during the surplus sleeps although an object is idle, while another one is closed
 * [O4] turns   | add               | acq_rel | C2 in close.c | that no object is left | nothing: the lock follows; kept for the futex
 */
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/plant.h"
#include "base/probe.h"
#include "pool/internal.h"
#include "port/port.h"
#include "sync/future.h"

/* ---- Counting ------------------------------------------------------------------------- */

static bool closed_locked(const cen_pool *pool)
{
    return ceni_load_relaxed(&pool->waiters->ctl) & CENI_CTL_CLOSED; /* written under this lock; carries nothing */
}

static uint32_t lesser(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

uint32_t ceni_place_room_locked(const cen_pool *pool)
{
    /* written under this lock; carries nothing */
    uint32_t max = ceni_load_relaxed(&((cen_pool *)(uintptr_t)pool)->max);
    if (!ceni_pool_opens(pool) || closed_locked(pool) || pool->paused || pool->live >= max) return 0;
    uint32_t counted = pool->opening - pool->overdue; /* overdue ones do not count against the gate's limit */
    uint32_t room = lesser(max - pool->live, pool->gate.admits > counted ? pool->gate.admits - counted : 0);
    if (!pool->helped) return room;
    return lesser(room, pool->options.max_concurrent_opens > pool->opening
                            ? pool->options.max_concurrent_opens - pool->opening
                            : 0);
}

void ceni_places_counted_locked(cen_pool *pool)
{
    uint32_t max = ceni_load_relaxed(&pool->max); /* written under this lock; carries nothing */
    ceni_store_seq_cst(&pool->openable, pool->helped ? 0 : ceni_place_room_locked(pool)); /* [O2] */
    uint64_t surplus = pool->live - pool->leaving > max ? CENI_CTL_SURPLUS : 0;
    ceni_waiters_mark_locked(pool->waiters, CENI_CTL_SURPLUS, surplus);
}

/* ---- Claiming --------------------------------------------------------------------------- */

static bool claim_lowest_locked(cen_pool *pool, uint32_t *index)
{
    uint32_t chunks = ceni_load_relaxed(&pool->chunk_count); /* written under this lock; carries nothing */
    for (uint32_t i = 0; i < chunks; i++) {
        ceni_chunk *chunk = pool->chunks[i];
        uint32_t at = ceni_map_next(&chunk->vacant, 0, chunk->count);
        if (at >= chunk->count) continue;
        ceni_map_clear(&chunk->vacant, at);
        /* before there is an object (visit.c) */
        if (!ceni_planted(filled_only_when_open)) ceni_map_set(&chunk->filled, at);
        *index = chunk->first + at;
        ceni_slot_begins_locked(pool, chunk, at);
        ceni_store_relaxed(&chunk->slots[at].opened_at, 0); /* no helper has begun; carries nothing */
        chunk->slots[at].notes = (ceni_slot_notes){.is_between = true};
        ceni_slot_move(&chunk->slots[at], ceni_slot_generation(pool, *index), CENI_SLOT_EMPTY, CENI_SLOT_OPENING);
        pool->live++;
        pool->opening++;
        ceni_add_seq_cst(&pool->shifts, 1); /* [O6] */
        ceni_places_counted_locked(pool);
        return true;
    }
    return false;
}

bool ceni_place_claim_locked(cen_pool *pool, uint32_t *index)
{
    /* under this lock; carries nothing */
    bool may = ceni_load_relaxed(&pool->openable) > 0 || ceni_planted(open_beyond_max);
    if (!may || !claim_lowest_locked(pool, index)) return false;
    ceni_opening_begins_locked(pool);
    return true;
}

bool ceni_place_claim_for_helper_locked(cen_pool *pool, uint32_t *index)
{
    if (ceni_place_room_locked(pool) == 0 || !claim_lowest_locked(pool, index)) return false;
    ceni_opening_begins_locked(pool);
    return true;
}

bool ceni_place_claim_for_adopted_locked(cen_pool *pool, uint32_t *index)
{
    bool room = pool->live < ceni_load_relaxed(&pool->max); /* written under this lock; carries nothing */
    return room && !closed_locked(pool) && claim_lowest_locked(pool, index);
}

bool ceni_place_claim(cen_pool *pool, uint32_t *index)
{
    if (ceni_load_seq_cst(&pool->openable) == 0) return false; /* [O1] */
    ceni_followup followup = {.more = false};
    ceni_waiters_lock(pool->waiters);
    bool claimed = ceni_place_claim_locked(pool, index);
    /* if it hangs, another must be tried beside it */
    if (claimed && pool->gate.failures > 0) ceni_keeper_plan_locked(pool, &followup);
    ceni_waiters_unlock(pool->waiters);
    if (followup.alarm) ceni_hand_alarm(pool);
    return claimed;
}

/* ---- Opening ------------------------------------------------------------------------------ */

/* The driver writes the object directly to the slot. So a visitor finds the object before open has returned, and at
 * no moment does only this thread's stack have it. In a world an atomic has a history of its own, and the store O3
 * counts. */
cen_status ceni_place_call_open(cen_pool *pool, uint32_t index, void **object, cen_error *error)
{
    void *apart = NULL, **out = (void **)(uintptr_t)&ceni_slot_at(pool, index)->object;
    if (ceni_planted(opened_on_the_stack)) out = &apart;
    *error = (cen_error){.status = CEN_OK};
    ceni_callout callout;
    ceni_callout_begin(&callout, pool);
    CENI_PROBE1(open_begin, pool->name);
    cen_status status = pool->calls.open(pool->driver.argument, out, error);
    CENI_PROBE2(open_end, pool->name, (int)status);
    ceni_callout_end(&callout);
    if (status != CEN_OK) *out = NULL;
    *object = *out;
    return status;
}

/* The error text: the pool's name, and the driver's text or that of the status. */
static cen_status open_failed(const cen_pool *pool, cen_status status, const cen_error *said, cen_error *error)
{
    const char *words = said->text[0] ? said->text : cen_status_text(status);
    ceni_error_set(error, status, said->code, "pool \"%s\": cannot open an object: %.400s", pool->name, words);
    bool login = said->cause == CEN_CAUSE_LOGIN_REFUSED; /* no other cause of a driver has a meaning here */
    return ceni_error_because(error, login ? said->cause : CEN_CAUSE_OPENING_FAILED, status);
}

void ceni_place_identify(cen_pool *pool, uint32_t index, void *object)
{
    if (!pool->calls.identify) return;
    ceni_chunk *chunk = ceni_chunk_of(pool, index);
    ceni_callout callout;
    ceni_callout_begin(&callout, pool);
    uint64_t identity = pool->calls.identify(pool->driver.argument, object);
    ceni_callout_end(&callout);
    ceni_store_relaxed(&chunk->identities[index - chunk->first], identity); /* only shown; carries nothing */
}

void ceni_place_note_opened(cen_pool *pool, uint32_t index, const ceni_call_outcome *how, cen_error *error)
{
    cen_error failure;
    ceni_slot *slot = ceni_slot_at(pool, index);
    /* read before opened_at is overwritten */
    int64_t began = how->began ? how->began : ceni_setting(&slot->opened_at);
    int64_t now = how->status == CEN_OK ? ceni_pool_now(pool) : began;
    if (how->status == CEN_OK) {
        if (ceni_planted(filled_only_when_open)) ceni_map_set(&ceni_chunk_of(pool, index)->filled, index);
        ceni_opening_done(pool, slot, now);
        ceni_place_identify(pool, index, how->object);
        ceni_store_release(&slot->object, how->object); /* [O3] */
    } else {
        open_failed(pool, how->status, how->said, &failure);
    }
    ceni_waiters_lock(pool->waiters);
    if (how->status == CEN_OK) ceni_opening_took_locked(pool, now - began);
    ceni_opening_events events = ceni_opening_ended_locked(pool, index, began, how, &failure);
    ceni_waiters_unlock(pool->waiters);
    ceni_times_tend(pool);
    if (how->status != CEN_OK && error) *error = failure;
    ceni_opening_tell(pool, index, how->status, events, &failure);
}

cen_status ceni_place_open(cen_pool *pool, uint32_t index, cen_error *error)
{
    cen_error said;
    ceni_call_outcome how = {.said = &said, .began = ceni_pool_now(pool)};
    how.status = ceni_place_call_open(pool, index, &how.object, &said);
    ceni_place_note_opened(pool, index, &how, error);
    return how.status;
}

void ceni_place_opened_locked(cen_pool *pool, ceni_followup *followup)
{
    pool->opening--;
    ceni_places_counted_locked(pool);
    if (!ceni_planted(opened_tells_nobody)) ceni_waiters_pump_locked(pool, CENI_NO_INDEX, followup);
}

void ceni_place_lend(cen_pool *pool, uint32_t index, ceni_grant *out)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    uint64_t word = ceni_load_relaxed(&slot->word); /* a hint for the cas; carries nothing */
    uint64_t lent;
    do {
        unsigned kept = (unsigned)word & (CENI_LISTED | (ceni_planted(mark_lost_when_lent) ? 0 : CENI_MARKED));
        lent = ceni_word(ceni_word_generation(word) + 1, CENI_SLOT_HELD | kept);
    } while (!ceni_cas_seq_cst(&slot->word, &word, lent)); /* [O5] a searcher may be striking it */
    *out = (ceni_grant){.slot = slot, .generation = ceni_word_generation(lent), .index = index};
}

/* ---- Ending --------------------------------------------------------------------------------- */

void ceni_place_leaves_locked(cen_pool *pool)
{
    pool->leaving++;
    ceni_places_counted_locked(pool);
}

void ceni_revoked_is_back(cen_pool *pool)
{
    ceni_waiters_lock(pool->waiters);
    pool->revoked--;
    ceni_place_leaves_locked(pool);
    ceni_waiters_unlock(pool->waiters);
}

static void empty_locked(cen_pool *pool, uint32_t index, ceni_slot_state from)
{
    ceni_chunk *chunk = ceni_chunk_of(pool, index);
    ceni_slot *slot = &chunk->slots[index - chunk->first];
    /* the move below carries it */
    if (!ceni_planted(vacated_keeps_its_object)) ceni_store_relaxed(&slot->object, NULL);
    ceni_slot_move(slot, ceni_slot_generation(pool, index), from, CENI_SLOT_EMPTY);
    ceni_map_set(&chunk->vacant, index - chunk->first);
    ceni_map_clear(&chunk->filled, index - chunk->first);
    ceni_slot_ended_locked(pool, chunk, index - chunk->first);
    pool->live--;
    ceni_add_seq_cst(&pool->shifts, 1); /* [O6] */
    pool->leaving -= from == CENI_SLOT_CLOSING;
    pool->opening -= from == CENI_SLOT_OPENING && !ceni_planted(failed_open_keeps_its_count);
    ceni_places_counted_locked(pool);
    ceni_shrink_at_locked(pool, chunk, index - chunk->first);
}

/* Drop the lock. The last object of a closed pool wakes the closer; the last one of a freed pool frees the memory. */
static void unlock_emptied(cen_pool *pool)
{
    ceni_waiters *waiters = pool->waiters;
    bool drained = pool->live == 0 && closed_locked(pool), last = drained && pool->freed && pool->hands == 0;
    cen_close_op *told = drained ? ceni_closing_claim_locked(pool) : NULL; /* has a hand */
    if (drained) ceni_add_acq_rel(&waiters->turns, 1);                     /* [O4] */
    if (last) ceni_waiters_return_locked(waiters);
    else ceni_waiters_unlock(waiters);
    if (drained) ceni_futex_wake(&waiters->turns, UINT32_MAX); /* the queue always exists */
    if (told) ceni_closing_tell(pool, told);
    if (last) ceni_pool_release(pool);
}

void ceni_place_vacate_quietly_locked(cen_pool *pool, uint32_t index, ceni_slot_state from)
{
    empty_locked(pool, index, from);
    unlock_emptied(pool);
}

void ceni_place_vacate_locked(cen_pool *pool, uint32_t index, ceni_slot_state from)
{
    ceni_waiters *waiters = pool->waiters;
    uint64_t id = pool->id;
    ceni_followup followup = {.more = false};
    empty_locked(pool, index, from);
    ceni_waiters_hurry_locked(pool);
    if (!ceni_planted(vacate_tells_nobody)) ceni_waiters_pump_locked(pool, CENI_NO_INDEX, &followup);
    unlock_emptied(pool);
    ceni_waiters_follow_up(waiters, id, pool,
                           &followup); /* it has work only if there is a waiter: then the pool exists */
}

/* The end of a surplus: while there was one, no waiter was served. Serve them before the driver's close, which may
 * take long. */
static void serve_before_closing(cen_pool *pool)
{
    uint64_t ctl = ceni_load_seq_cst(&pool->waiters->ctl); /* [O7] */
    if (ctl >= CENI_CTL_ONE && !ceni_planted(surplus_ends_in_silence))
        ceni_waiters_tend(pool->waiters, pool->id, CENI_NO_INDEX);
}

/* The same for a caller that pumps afterwards. It opens nothing, so it does not recurse; the rest is left to the
 * caller. */
static void serve_without_opening(cen_pool *pool)
{
    ceni_followup followup = {.never_opens = true};
    if (ceni_load_seq_cst(&pool->waiters->ctl) < CENI_CTL_ONE) return; /* [O7] */
    ceni_waiters_lock(pool->waiters);
    ceni_waiters_pump_locked(pool, CENI_NO_INDEX, &followup);
    ceni_waiters_unlock(pool->waiters);
    followup.more = false;
    ceni_waiters_follow_up(pool->waiters, pool->id, pool, &followup);
}

static void call_close(cen_pool *pool, uint32_t index)
{
    if (!pool->calls.close) return;
    void *object = ceni_load_relaxed(&ceni_slot_at(pool, index)->object); /* the caller owns it; carries nothing */
    ceni_callout callout;
    ceni_callout_begin(&callout, pool);
    pool->calls.close(pool->driver.argument, object);
    ceni_callout_end(&callout);
}

static void count_ended_locked(cen_pool *pool, uint32_t index)
{
    pool->tally.closed++;
    pool->tally.closed_before += ceni_slot_at(pool, index)->notes.was_idle;
    bool fewer = pool->options.min_idle > 0; /* the keeper checks whether one is missing */
    if (fewer) pool->next_round = 0;
}

void ceni_place_ended_locked(cen_pool *pool, uint32_t index)
{
    count_ended_locked(pool, index);
    ceni_place_vacate_locked(pool, index, CENI_SLOT_CLOSING);
}

void ceni_place_call_close(cen_pool *pool, uint32_t index)
{
    call_close(pool, index);
}

void ceni_place_ended(cen_pool *pool, uint32_t index)
{
    ceni_waiters_lock(pool->waiters);
    ceni_place_ended_locked(pool, index);
}

void ceni_place_end_here(cen_pool *pool, uint32_t index)
{
    call_close(pool, index);
    ceni_place_ended(pool, index);
}

static void tell_closed(cen_pool *pool, uint32_t index, const char *why)
{
    ceni_pool_event_tell(pool, (ceni_occurrence){.kind = CEN_EVENT_CLOSED, .value = index}, "object %u closed: %s",
                         index, why);
}

void ceni_place_end_quietly(cen_pool *pool, uint32_t index, const char *why)
{
    tell_closed(pool, index, why);
    serve_without_opening(pool);
    call_close(pool, index);
    ceni_waiters_lock(pool->waiters);
    count_ended_locked(pool, index);
    ceni_place_vacate_quietly_locked(pool, index, CENI_SLOT_CLOSING);
}

void ceni_place_end(cen_pool *pool, uint32_t index, const char *why)
{
    tell_closed(pool, index, why);
    serve_before_closing(pool);
    if (!pool->helped) {
        ceni_place_end_here(pool, index);
        return;
    }
    ceni_followup followup = {.more = false};
    ceni_waiters *waiters = pool->waiters;
    uint64_t id = pool->id;
    ceni_waiters_lock(waiters);
    ceni_queues_add_locked(pool, CENI_CHORE_CLOSE, ceni_slot_at(pool, index));
    if (!ceni_planted(chore_queued_in_silence)) ceni_chores_plan_locked(pool, &followup);
    ceni_waiters_unlock(waiters);
    ceni_waiters_follow_up(waiters, id, pool, &followup);
}

bool ceni_place_end_from(cen_pool *pool, uint32_t index, uint64_t generation, ceni_slot_state from, const char *why)
{
    return ceni_place_end_failed(pool, index, generation, from, why, NULL);
}

bool ceni_place_end_failed(cen_pool *pool, uint32_t index, uint64_t generation, ceni_slot_state from, const char *why,
                           const ceni_call_outcome *how)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    if (!ceni_slot_move(slot, generation, from, CENI_SLOT_CLOSING)) return false;
    if (from == CENI_SLOT_HELD) ceni_use_ends(pool, slot, generation);
    cen_future *giving = ceni_giving_claim(slot, generation);
    if (giving) ceni_giving_fail(giving, pool->name, why, how);
    ceni_waiters_lock(pool->waiters);
    if (from == CENI_SLOT_OPENING) pool->opening--;
    ceni_idle_unlist_locked(slot);
    ceni_place_leaves_locked(pool);
    ceni_waiters_unlock(pool->waiters);
    ceni_place_end(pool, index, why);
    /* last: an inline job may take the place */
    if (giving && !ceni_planted(failed_give_is_not_told)) ceni_future_complete(giving);
    return true;
}

/* The slot becomes idle and the count of openings goes down in one step. If the count went down later, a thread that
 * closes the object could count the place as left before that; if earlier, another object would be opened for the
 * same waiter. The caller keeps the pool alive: it is a call of the program other than a give, or it has a hand. */
void ceni_place_publish_opened(cen_pool *pool, uint32_t index, uint64_t generation)
{
    ceni_followup followup = {.more = false};
    ceni_waiters_lock(pool->waiters);
    bool published = ceni_idle_publish_locked(pool, index, generation, CENI_SLOT_OPENING);
    if (published) ceni_place_opened_locked(pool, &followup);
    ceni_waiters_unlock(pool->waiters);
    ceni_waiters_follow_up(pool->waiters, pool->id, pool, &followup);
    if (published) ceni_idle_heed(pool->waiters, pool->id, index, generation);
    else ceni_place_end_from(pool, index, generation, CENI_SLOT_OPENING, "pool reloaded during the opening");
}

bool ceni_place_return(cen_pool *pool, uint32_t index, uint64_t generation, ceni_slot_state from)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    bool told = from == CENI_SLOT_RESETTING || from == CENI_SLOT_TESTING; /* owned until it is idle */
    cen_future *giving = told ? ceni_giving_claim(slot, generation) : NULL;
    bool over = ceni_idle_offer(pool, index, generation, from) ||
                ceni_place_end_from(pool, index, generation, from,
                                    "due for replacement (max lifetime, reload or late health check)");
    if (giving) ceni_giving_succeed(giving);
    return over;
}

void ceni_pool_release_memory(cen_pool *pool)
{
    ceni_head_end(pool); /* first: a late give from now on touches no slot */
    ceni_pool_events_end(pool);
    ceni_pending_deadline_end(pool);
    ceni_orphans_forget(pool);
    ceni_times_free(pool->times, pool->allocator);
    ceni_renew_forget(pool);
    for (uint32_t i = ceni_chunk_count(pool); i > 0; i--) ceni_chunk_free(pool->chunks[i - 1], pool->allocator);
    ceni_head_return(pool);
}

void ceni_pool_release(cen_pool *pool)
{
    ceni_directory_leave(ceni_directory_freed(), &pool->freed_entry);
    if (pool->calls.fini) {
        ceni_callout callout;
        ceni_callout_begin(&callout, pool);
        pool->calls.fini(pool->driver.argument);
        ceni_callout_end(&callout);
    }
    cen_runtime *runtime = ceni_pool_runtime(pool);
    if (pool->rests) ceni_runtime_rest_no_more(runtime);
    ceni_pool_release_memory(pool);
    if (runtime) ceni_runtime_leave(runtime);
}
