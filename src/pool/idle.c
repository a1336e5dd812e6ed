/* SPDX-License-Identifier: MIT */
/*
 * Idle slots: how they are found and taken, and how a slot becomes idle.
 *
 * Warm order. A take tries the slot that its thread had last; that is one CAS (take.c). Only if that slot is not idle
 * does it search the slots whose bits are set in the map `listed`, from the lowest index up. Takes and gives do not
 * touch the map: a bit means that a search should check the slot, not that it is idle. After a search has checked
 * FREE_LOOKS slots that were not idle, it strikes every further such slot from the map. So one idle slot among a
 * million held ones is found in a few steps by every search except the first. A thread that makes a struck slot idle
 * first puts it back. Slots of small pools are never struck, and gives to small pools never touch the map.
 *
 *     search:  word X|LISTED ▶ X (CAS) ▶ clear the bit ▶ word LISTED again? set the bit, tend
 *     publish: word X ▶ X|LISTED (CAS) ▶ set the bit ▶ X|LISTED ▶ IDLE|LISTED (CAS) ▶ ctl
 *
 * A giver changes the map only before it publishes: afterwards the pool, and the map with it, may be gone.
 *
 * Invariants
 *  I1 IDLE implies LISTED.
 *  I2 If the bit of a LISTED slot is clear, or cannot be found from the higher
 *     levels, then a searcher is between its CAS and its tend, or a publisher is
 *     before its CAS to IDLE. So a search that misses an idle slot is followed by a tend.
 *
 * The naive version of striking: clear the bit of a slot that is held.
 *     searcher: slot is held            giver: makes the slot idle
 *                                       giver: its bit is set: nothing to do
 *     searcher: clears the bit
 * and the idle slot is never found. Here LISTED is in the word itself, so one of the giver's two CAS fails, and the
 * searcher checks the word again [I2 I3].
 *
 * Exact orders keep idle slots in a list under the pool's lock. When the order is changed while the pool is in use,
 * takes and gives that began before may still use the other way: a slot in the list may not be idle, and an idle slot
 * may not be in the list. So a slot from the list is checked, and when the list is empty the map is searched, which
 * has every idle slot.
 *
 * A test does not count as a use. A slot that is TESTING stays in the list, where takes pass over it, and is idle
 * again in the same place. It leaves the list if it fails. So the queue of tests cannot use the slot's link
 * (queues.c).
 *
 * Order table
 * [I1] look      | load of a slot's word | seq_cst | I4, the give in take.c | whether it is idle | a waiter's second search misses an object published before it joined
 * [I2] strike    | cas of the word, without LISTED | seq_cst | I4 | that the bit will be cleared | a giver finds LISTED and the bit is cleared after
 * [I3] look back | load of the word | seq_cst | I4 | whether it was listed meanwhile | the same
 * [I4] publish   | cas of the word | seq_cst | I1 I2 I3, L1 in waiters.c | the object's bytes; that it is idle, before ctl is read | the next holder reads old bytes; a waiter sleeps although the object is idle
 * [I5] take      | cas of the word | seq_cst | I4 | the object's bytes, to the taker | it reads old bytes
 * [I7] hold      | add to shifts | seq_cst | V5 in stats.c | that a slot left the state and came back with the same word | two readings consider a slot idle all the time that was tested
 * [I6] offer     | load of ctl after I4 | seq_cst | L1 in waiters.c | whether there is a waiter | a waiter is missed
 */
#include "pool/internal.h"

#include "base/plant.h"
#include "port/port.h"

#ifdef CENI_WATCHED
enum { FREE_LOOKS = 1 };
#else
enum { FREE_LOOKS = 8 };
#endif

typedef struct search {
    bool take;     /* take the slot; otherwise only look for one */
    bool fresh;    /* only slots that need not be tested before */
    bool restored; /* another search may have missed a slot because of this one */
    unsigned wasted;
    ceni_grant found;
    /* fresh: the first slot that was passed over because it must be tested; only its generation and index */
    ceni_grant passed;
} search;

/* ---- Searching the map ------------------------------------------------------------- */

/* Pass over a slot that must be tested, and note it, if the searching take cannot test. */
static bool pass_by(search *s, uint32_t index, uint64_t word)
{
    if (!s->fresh || !(word & CENI_MARKED)) return false;
    if (!s->passed.stale)
        s->passed = (ceni_grant){.generation = ceni_word_generation(word), .index = index, .stale = true};
    return true;
}

/* The keeper marks idle slots without a lock. A slot that was only marked meanwhile is still idle. If it were passed
 * over, a waiter could sleep although it is idle, or, in an exact order, it would be lost. */
static bool take_slot(ceni_slot *slot, uint32_t index, uint64_t word, search *s)
{
    uint64_t bare = ceni_word_bare(word), generation = ceni_word_generation(word) + 1;
    if (pass_by(s, index, word)) return false;
    while (!ceni_cas_seq_cst(&slot->word, &word, ceni_word(generation, CENI_SLOT_HELD | CENI_LISTED))) { /* [I5] */
        if (ceni_word_bare(word) != bare || ceni_planted(marked_is_passed_by)) return false;
        if (pass_by(s, index, word)) return false;
    }
    s->found = (ceni_grant){.slot = slot, .generation = generation, .index = index, .stale = word & CENI_MARKED};
    return true;
}

static void strike(ceni_chunk *chunk, uint32_t place, uint64_t word, search *s)
{
    ceni_slot *slot = &chunk->slots[place];
    if (!(word & CENI_LISTED) || !ceni_cas_seq_cst(&slot->word, &word, word & ~(uint64_t)CENI_LISTED))
        return; /* [I2] */
    s->restored |= ceni_map_clear(&chunk->listed, place);
    if (!(ceni_load_seq_cst(&slot->word) & CENI_LISTED)) return; /* [I3] */
    if (ceni_planted(strike_without_looking_back)) return;
    ceni_map_set(&chunk->listed, place);
    s->restored = true;
}

static bool search_chunk(ceni_chunk *chunk, search *s)
{
    for (uint32_t at = 0; (at = ceni_map_next(&chunk->listed, at, chunk->count)) < chunk->count; at++) {
        ceni_slot *slot = &chunk->slots[at];
        uint64_t word = ceni_load_seq_cst(&slot->word); /* [I1] */
        if (ceni_word_state(word) == CENI_SLOT_IDLE) {
            if (!s->take || take_slot(slot, chunk->first + at, word, s)) return true;
        } else if (++s->wasted > FREE_LOOKS) {
            strike(chunk, at, word, s);
        }
    }
    return false;
}

static bool search_all(cen_pool *pool, search *s)
{
    uint32_t chunks = ceni_chunk_count(pool);
    for (uint32_t i = 0; i < chunks; i++)
        if (search_chunk(pool->chunks[i], s)) return true;
    return false;
}

/* Under the lock: a thread that may have missed a slot is in the queue, or will take the lock. Searching again has
 * the effect of a tend. */
static bool search_locked(cen_pool *pool, search *s)
{
    do {
        s->restored = false;
        if (search_all(pool, s)) return true;
    } while (s->restored);
    return false;
}

static bool take_hinted(cen_pool *pool, uint32_t hint, search *s)
{
    ceni_slot *slot = hint == CENI_NO_INDEX ? NULL : ceni_slot_at(pool, hint);
    if (!slot) return false;
    uint64_t word = ceni_load_seq_cst(&slot->word); /* [I1] */
    return ceni_word_state(word) == CENI_SLOT_IDLE && take_slot(slot, hint, word, s);
}

/* ---- Exact orders ---------------------------------------------------------------------- */

static bool take_listed_locked(cen_pool *pool, search *s)
{
    for (ceni_list *link = pool->idle.next, *next; link != &pool->idle; link = next) {
        ceni_slot *slot = CENI_LIST_ENTRY(link, ceni_slot, link);
        next = link->next;
        uint64_t word = ceni_load_seq_cst(&slot->word); /* [I1] */
        bool taken = ceni_word_state(word) == CENI_SLOT_IDLE && take_slot(slot, ceni_slot_index(pool, slot), word, s);
        ceni_slot_state state = taken ? CENI_SLOT_HELD : ceni_word_state(ceni_load_seq_cst(&slot->word)); /* [I1] */
        bool stays = state == CENI_SLOT_TESTING || (state == CENI_SLOT_IDLE && s->passed.stale);
        if (!stays) ceni_list_remove(link);
        if (taken) return true;
    }
    return pool->reordered && search_locked(pool, s);
}

void ceni_idle_reorder_locked(cen_pool *pool)
{
    pool->reordered = true;
    for (ceni_list *link; (link = ceni_list_first(&pool->idle));) ceni_list_remove(link);
    if (pool->options.order == CEN_ORDER_WARM) return;
    uint32_t places = ceni_place_reach(pool);
    for (uint32_t index = 0; index < places; index++) {
        ceni_slot *slot = ceni_slot_at(pool, index);
        if (ceni_word_state(ceni_slot_word(slot)) == CENI_SLOT_IDLE) ceni_list_push_back(&pool->idle, &slot->link);
    }
}

/* Insert the slot into the list; a tested slot is still in its place. */
static void list_locked(cen_pool *pool, ceni_slot *slot, ceni_slot_state from)
{
    bool last_first = (pool->options.order == CEN_ORDER_LIFO) != ceni_planted(lifo_is_fifo);
    if (from == CENI_SLOT_TESTING && ceni_list_linked(&slot->link)) return;
    ceni_idle_unlist_locked(slot);
    if (last_first) ceni_list_push_front(&pool->idle, &slot->link);
    else ceni_list_push_back(&pool->idle, &slot->link);
}

void ceni_idle_unlist_locked(ceni_slot *slot)
{
    if (ceni_list_linked(&slot->link)) ceni_list_remove(&slot->link);
}

/* The list may begin with slots that are being tested. */
static bool any_listed_locked(const cen_pool *pool)
{
    for (const ceni_list *link = pool->idle.next; link != &pool->idle; link = link->next)
        if (ceni_word_state(ceni_slot_word(CENI_LIST_ENTRY(link, ceni_slot, link))) == CENI_SLOT_IDLE) return true;
    return false;
}

/* ---- Taking ------------------------------------------------------------------------------ */

static bool take_locked(cen_pool *pool, uint32_t hint, search *s)
{
    if (ceni_pool_has(&pool->exact_order)) return take_listed_locked(pool, s);
    return take_hinted(pool, hint, s) || search_locked(pool, s);
}

bool ceni_idle_take_locked(cen_pool *pool, uint32_t hint, ceni_grant *out)
{
    search s = {.take = true};
    if (!take_locked(pool, hint, &s)) return false;
    *out = s.found;
    return true;
}

bool ceni_idle_take_hinted_locked(cen_pool *pool, uint32_t hint, ceni_grant *out)
{
    search s = {.take = true};
    if (ceni_pool_has(&pool->exact_order) || !take_hinted(pool, hint, &s)) return false;
    *out = s.found;
    return true;
}

bool ceni_idle_take_fresh_locked(cen_pool *pool, uint32_t hint, ceni_grant *out)
{
    search s = {.take = true, .fresh = true};
    bool taken = take_locked(pool, hint, &s);
    *out = taken ? s.found : s.passed;
    return taken;
}

bool ceni_idle_any_locked(cen_pool *pool)
{
    if (ceni_pool_has(&pool->exact_order) && !pool->reordered) return any_listed_locked(pool);
    search s = {.take = false};
    return search_locked(pool, &s);
}

/* Take under the lock: in an exact order, or if an object must be tested first and the take cannot do that. If the
 * driver does not block, the object is tested here, and the search is repeated. */
static bool take_with_lock(cen_pool *pool, uint32_t hint, bool fresh, uint32_t newcomers, ceni_grant *out)
{
    bool taken, tested;
    do {
        ceni_followup followup = {.never_opens = newcomers == 0};
        ceni_waiters_lock(pool->waiters);
        taken = fresh ? ceni_trust_take_locked(pool, hint, newcomers, out, &followup)
                      : ceni_idle_take_locked(pool, hint, out);
        ceni_waiters_unlock(pool->waiters);
        ceni_waiters_follow_up(pool->waiters, pool->id, pool, &followup);
        tested = followup.tests;
    } while (!taken && tested);
    return taken;
}

static bool take(cen_pool *pool, uint32_t hint, bool fresh, uint32_t newcomers, ceni_grant *out)
{
    if (ceni_pool_has(&pool->exact_order)) return take_with_lock(pool, hint, fresh, newcomers, out);
    search s = {.take = true, .fresh = fresh};
    bool found = take_hinted(pool, hint, &s) || search_all(pool, &s);
    if (found) *out = s.found;
    if (s.restored) ceni_waiters_tend(pool->waiters, pool->id, CENI_NO_INDEX);
    return found || (s.passed.stale && take_with_lock(pool, hint, fresh, newcomers, out));
}

bool ceni_idle_take(cen_pool *pool, uint32_t hint, ceni_grant *out)
{
    return take(pool, hint, pool->calls.test_async, 0, out);
}

bool ceni_idle_take_as_newcomer(cen_pool *pool, uint32_t hint, ceni_grant *out)
{
    return take(pool, hint, pool->calls.test_async, 1, out);
}

bool ceni_idle_take_as_asker(cen_pool *pool, uint32_t hint, ceni_grant *out)
{
    return take(pool, hint, ceni_pool_tests(pool), 1, out);
}

bool ceni_idle_hold_locked(cen_pool *pool, uint32_t index, uint64_t generation, ceni_slot_state state)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    if (!ceni_slot_move(slot, generation, CENI_SLOT_IDLE, state)) return false;
    bool stays = state == CENI_SLOT_TESTING;       /* it will be idle again in the same generation */
    if (stays) ceni_add_seq_cst(&pool->shifts, 1); /* [I7] */
    if (!stays || ceni_planted(test_loses_the_place)) ceni_idle_unlist_locked(slot);
    return true;
}

bool ceni_idle_withdraw_locked(cen_pool *pool, uint32_t index, uint64_t generation)
{
    if (!ceni_idle_hold_locked(pool, index, generation, CENI_SLOT_CLOSING)) return false;
    ceni_place_leaves_locked(pool);
    return true;
}

/* ---- Publishing ---------------------------------------------------------------------------- */

static bool publish(cen_pool *pool, ceni_slot *slot, uint32_t index, uint64_t generation, ceni_slot_state from)
{
    uint64_t word = ceni_load_seq_cst(&slot->word); /* [I1] */
    while (ceni_word_generation(word) == generation && ceni_word_state(word) == from && !(word & CENI_MARKED)) {
        if (word & CENI_LISTED) {
            if (ceni_cas_seq_cst(&slot->word, &word, ceni_word(generation, CENI_SLOT_IDLE | CENI_LISTED)))
                return true;                                                   /* [I4] */
        } else if (ceni_cas_seq_cst(&slot->word, &word, word | CENI_LISTED)) { /* [I4] */
            ceni_chunk *chunk = ceni_chunk_of(pool, index);
            ceni_map_set(&chunk->listed, index - chunk->first);
            word |= CENI_LISTED;
        }
    }
    return false;
}

bool ceni_idle_publish_locked(cen_pool *pool, uint32_t index, uint64_t generation, ceni_slot_state from)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    bool published = publish(pool, slot, index, generation, from);
    if (published && ceni_pool_has(&pool->exact_order)) list_locked(pool, slot, from);
    return published;
}

bool ceni_idle_publish(cen_pool *pool, uint32_t index, uint64_t generation, ceni_slot_state from)
{
    if (!ceni_pool_has(&pool->exact_order)) return publish(pool, ceni_slot_at(pool, index), index, generation, from);
    ceni_waiters *waiters = pool->waiters;
    ceni_waiters_lock(waiters);
    bool published = ceni_idle_publish_locked(pool, index, generation, from);
    ceni_waiters_unlock(waiters);
    return published;
}

void ceni_idle_heed(ceni_waiters *waiters, uint64_t id, uint32_t index, uint64_t generation)
{
    uint64_t ctl = ceni_load_seq_cst(&waiters->ctl); /* [I6] */
    if (ctl) ceni_waiters_heed(waiters, id, ctl, index, generation);
}

bool ceni_idle_offer(cen_pool *pool, uint32_t index, uint64_t generation, ceni_slot_state from)
{
    ceni_waiters *waiters = pool->waiters;
    uint64_t id = pool->id;
    if (!ceni_idle_publish(pool, index, generation, from)) return false;
    ceni_idle_heed(waiters, id, index, generation);
    return true;
}
