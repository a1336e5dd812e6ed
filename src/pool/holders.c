/* SPDX-License-Identifier: MIT */
/*
 * The end of a holder, a thread or a task: what happens to its leases (L13).
 *
 * The note of a slot names the lease's holder. There is no list per holder, because every take and give would have to
 * update it. A holder that ends, and may hold leases, searches all slots of all pools of the process.
 *
 *     a holder ends ▶ walks the directory, up to a pool in which it has a lease ▶ a hand on that pool
 *                   ▶ the walk ends ▶ each of its slots there, by the pool's policy ▶ the hand is dropped
 *                   ▶ walks on, behind that pool, until there is none
 *
 * Then the same with the directory of freed pools: their last object may be with this holder, and was revoked.
 *
 * The leases of a holder are counted (sync/holder.h), for one instruction per take and a few per give: a holder that
 * has given everything back does not search.
 *
 * A thread need not search all slots: it knows where its leases are, unless there are very many (noted.c).
 *
 * The naive version does the work inside the walk. A driver is then called while the directory waits for the visit to
 * end. A thread that frees the pool meanwhile waits for that driver, and two drivers that free each other's pools
 * wait forever. The hand also keeps the memory, and no thread waits for it.
 *
 * A lease can be ended in several ways, which agree as follows:
 *     give, discard, revoke   move the word from HELD, g
 *     the holder's end        moves the word from HELD, g, under the pool's lock, if the note is attached
 *     detach                  marks the note of g, under the pool's lock, if the word is HELD, g
 *
 * By default a lease outside a scope becomes an orphan (orphans.c), because another thread may be using it. The lease
 * of a scope cannot be used by another thread, and its object is closed. Whether it is one is read when the slot is
 * REVOKING, which excludes other threads. If a revoke runs at the same time, the holder's end only marks the note.
 * Both check under the lock: the revoke after its move to REVOKED, the holder's end before it reads the word. So at
 * least one of them sees the other, and the move from REVOKED back to REVOKING lets exactly one of them go on.
 *
 * Invariants
 *  W1 One lease ends once: all of them change one word by compare-and-swap.
 *  W2 A lease for which detach has returned OK is never ended by its holder's end:
 *     the holder's end decides and acts under the same lock.
 *  W3 detach never marks another lease. The note changes by compare-and-swap and
 *     contains the generation. If the lease is given in the middle, the mark is on
 *     the note of an ended lease, which is never read, or the swap fails. The
 *     detach then counts as having happened just before the give.
 *  W4 A holder never has more attached leases than its count. Its holder counts a lease, on the thread that has it as
 *     the current holder, before the lease is visible. The count goes down once, when the lease is ended or detached
 *     by its own holder.
 *
 * A note has 15 bits of the generation. An older note is mistaken for that of a lease only if 32768 leases in a row
 * wrote no note. Only leases write none whose object is found unfit or superfluous before it is lent.
 *
 * Order table
 * [W1] owned, detach | load of the note  | acquire | T5 in take.c, W2 W3 | the lease's holder, if the generations agree | nothing alone: the generation decides; kept so that the note is as new as the word
 * [W2] detach        | cas of the note   | acq_rel | W1, V2 in holding.c | that the lease has no holder | nothing alone: the lock lies between
 * [W3] seize         | store of the note | release | W1 | that the holder has ended | a helper finds an older note, and lends an object that should be tested
 * [W4] orphan        | cas of the note   | acq_rel | W1, under the lock on both sides | that the holder has ended | nothing alone: the lock lies between
 */
#include <string.h>

#include "base/plant.h"
#include "pool/internal.h"
#include "port/port.h"

/* ---- The holder of a lease ----------------------------------------------------------------- */

static uint64_t holder_of(ceni_slot *slot, uint64_t generation)
{
    uint64_t holder = ceni_slot_holder(ceni_load_acquire(&slot->note), generation); /* [W1] */
    return ceni_planted(detached_taken_back) ? holder & ~CENI_HOLDER_DETACHED : holder;
}

/* Whether the holder has an attached lease of the slot: held, or revoked and not given back. */
static bool is_owned(ceni_slot *slot, uint64_t holder, uint64_t *generation)
{
    uint64_t word = ceni_slot_word(slot);
    ceni_slot_state state = ceni_word_state(word);
    *generation = ceni_word_generation(word);
    bool lent = state == CENI_SLOT_HELD || state == CENI_SLOT_REVOKING || state == CENI_SLOT_REVOKED;
    return lent && holder_of(slot, *generation) == holder;
}

bool ceni_holder_has(ceni_slot *slot, uint64_t holder)
{
    uint64_t generation;
    return is_owned(slot, holder, &generation);
}

bool ceni_holder_has_ended(ceni_slot *slot, uint64_t generation)
{
    return holder_of(slot, generation) & CENI_HOLDER_ENDED;
}

bool ceni_holder_has_all(cen_pool *pool, uint64_t holder)
{
    uint32_t mine = 0, places = ceni_place_reach(pool);
    for (uint32_t index = 0; index < places; index++) {
        uint64_t generation, word = ceni_word_at(pool, index);
        if (ceni_word_state(word) == CENI_SLOT_EMPTY) continue;
        if (ceni_word_state(word) != CENI_SLOT_HELD || !is_owned(ceni_slot_at(pool, index), holder, &generation))
            return false;
        mine++;
    }
    return mine >= ceni_load_relaxed(&pool->max); /* a setting; carries nothing */
}

cen_status ceni_holder_detach(cen_pool *pool, uint32_t index, uint64_t generation)
{
    const uint64_t mark = CENI_HOLDER_DETACHED << CENI_NOTE_BITS;
    ceni_slot *slot = ceni_slot_at(pool, index);
    ceni_waiters_lock(pool->waiters);
    uint64_t word = ceni_word_bare(ceni_slot_word(slot)), note = ceni_load_acquire(&slot->note); /* [W1] */
    bool done = word == ceni_word(generation, CENI_SLOT_HELD) && ceni_slot_holder(note, generation);
    if (ceni_planted(detach_marks_the_next)) note = ceni_load_acquire(&slot->note); /* [W1] */
    if (done) done = ceni_cas_acq_rel(&slot->note, &note, note | mark);             /* [W2] */
    ceni_waiters_unlock(pool->waiters);
    if (done && !ceni_planted(detached_taken_back))
        ceni_held_ends(ceni_pool_own_get(), note); /* not if it was detached before */
    return done ? CEN_OK : CEN_STALE;
}

/* ---- Ending a lease ------------------------------------------------------------------------ */

/* End the lease, if it is still the holder's. Then the slot is RESETTING and the policy decides, or it is CLOSING and
 * *policy is CLOSE. */
static bool seize(cen_pool *pool, ceni_slot *slot, uint64_t holder, uint64_t generation, cen_holder_end_policy *policy)
{
    ceni_waiters_lock(pool->waiters);
    *policy = pool->options.on_holder_end;
    bool owned = holder_of(slot, generation) == holder;
    bool kept = owned && *policy >= CEN_HOLDER_END_TEST &&
                ceni_slot_move_unmarked(slot, generation, CENI_SLOT_HELD, CENI_SLOT_RESETTING);
    bool ends = owned && !kept && ceni_slot_move(slot, generation, CENI_SLOT_HELD, CENI_SLOT_CLOSING);
    if (ends) ceni_place_leaves_locked(pool);
    if (ends) *policy = CEN_HOLDER_END_CLOSE;
    if (kept && *policy == CEN_HOLDER_END_TEST) {
        uint64_t timed = (ceni_setting(&slot->note) ^ generation) & CENI_NOTE_TIMED; /* stays unchanged */
        ceni_store_release(&slot->note, ceni_slot_note_of(holder | CENI_HOLDER_ENDED, generation) ^ timed); /* [W3] */
    }
    ceni_waiters_unlock(pool->waiters);
    return kept || ends;
}

/* ---- Orphans ------------------------------------------------------------------------------ */

static bool is_scoped(const ceni_slot *slot, uint64_t generation)
{
    return slot->scope_generation == generation && slot->scopes > 0;
}

static const char *why_ended(uint64_t holder)
{
    return holder & CENI_HOLDER_TASK ? "holder task ended" : "holder thread ended";
}

static void tell_orphan(cen_pool *pool, const cen_object_view *was, ceni_parted parted)
{
    char holder[CENI_HOLDER_ROOM];
    if (parted == CENI_PARTED_CLOSED) return; /* it was given at the same moment */
    const char *place = parted == CENI_PARTED_FREED ? "object abandoned, place free" : "place taken until the give";
    ceni_pool_event_tell(pool,
                         (ceni_occurrence){.kind = CEN_EVENT_ORPHANED,
                                           .value = was->index,
                                           .holder = was->holder,
                                           .where = was->where,
                                           .held_ns = was->held_ns},
                         "%s ended without giving object %u, taken at %s; %s", ceni_holder_say(was->holder, holder),
                         was->index, was->where ? was->where : "an unknown place", place);
}

static void tell(cen_pool *pool, const cen_object_view *was, cen_holder_end_policy policy);

/* The slot is REVOKING and owned by the caller, its holder has ended, and interrupt was called if that was due. */
static void part(cen_pool *pool, uint32_t index, uint64_t generation, bool scoped, const cen_object_view *was)
{
    if (scoped) {
        tell(pool, was, CEN_HOLDER_END_CLOSE);
        ceni_orphan_close_scope(pool, index, generation, why_ended(was->holder));
    } else {
        tell_orphan(pool, was, ceni_orphan_part(pool, index, generation, CENI_LOST_BY_HOLDER));
    }
}

/* Mark the note, if it is still of the holder's lease: the slot may be passing to the next one. */
static void mark_ended_locked(ceni_slot *slot, uint64_t holder, uint64_t generation)
{
    uint64_t note = ceni_load_acquire(&slot->note); /* [W1] */
    if (ceni_slot_holder(note, generation) != holder) return;
    ceni_cas_acq_rel(&slot->note, &note, note | CENI_HOLDER_ENDED << CENI_NOTE_BITS); /* [W4] */
}

static void orphan(cen_pool *pool, uint32_t index, uint64_t generation, const cen_object_view *was)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    ceni_waiters_lock(pool->waiters);
    bool owned = holder_of(slot, generation) == was->holder;
    if (owned) mark_ended_locked(slot, was->holder, generation);
    bool held = owned && ceni_slot_move(slot, generation, CENI_SLOT_HELD, CENI_SLOT_REVOKING);
    bool mine = held || (owned && ceni_slot_move(slot, generation, CENI_SLOT_REVOKED, CENI_SLOT_REVOKING));
    bool scoped = mine && (is_scoped(slot, generation) || ceni_planted(orphan_closed_at_once));
    if (scoped && ceni_planted(scope_orphaned)) scoped = false;
    if (held) pool->revoked++;
    ceni_waiters_unlock(pool->waiters);
    if (held && !scoped) ceni_slot_interrupt(pool, slot);
    if (mine) part(pool, index, generation, scoped, was);
}

void ceni_holder_settle(cen_pool *pool, uint32_t index, uint64_t generation)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    cen_object_view was = {.index = index};
    ceni_slot_holding(pool, index, &was);
    ceni_waiters_lock(pool->waiters);
    bool mine = ceni_holder_has_ended(slot, generation) && !ceni_planted(revoke_forgets_the_holder) &&
                ceni_slot_move(slot, generation, CENI_SLOT_REVOKED, CENI_SLOT_REVOKING);
    bool scoped = mine && is_scoped(slot, generation);
    ceni_waiters_unlock(pool->waiters);
    if (mine) part(pool, index, generation, scoped, &was);
}

/* ---- The other policies --------------------------------------------------------------------- */

static void tell(cen_pool *pool, const cen_object_view *was, cen_holder_end_policy policy)
{
    char holder[CENI_HOLDER_ROOM];
    const char *fate = policy == CEN_HOLDER_END_CLOSE ? "closed" : policy == CEN_HOLDER_END_TEST ? "tested" : "reused";
    ceni_pool_event_tell(pool,
                         (ceni_occurrence){.kind = CEN_EVENT_HOLDER_ENDED,
                                           .value = was->index,
                                           .holder = was->holder,
                                           .where = was->where,
                                           .held_ns = was->held_ns},
                         "%s ended while holding object %u, taken at %s; the object is %s",
                         ceni_holder_say(was->holder, holder), was->index, was->where ? was->where : "an unknown place",
                         fate);
}

/* Whether leases become orphans. In a freed pool the revoked objects are closed instead. */
static bool orphans(cen_pool *pool)
{
    ceni_waiters_lock(pool->waiters);
    bool orphans = pool->options.on_holder_end == CEN_HOLDER_END_ORPHAN && !pool->freed;
    ceni_waiters_unlock(pool->waiters);
    return orphans;
}

static void take_back(cen_pool *pool, uint32_t index, uint64_t holder)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    uint64_t generation;
    cen_holder_end_policy policy;
    if (!is_owned(slot, holder, &generation)) return;
    cen_object_view was = {.index = index};
    ceni_slot_holding(pool, index, &was);
    was.holder = holder;
    if (orphans(pool)) {
        orphan(pool, index, generation, &was);
        return;
    }
    if (!seize(pool, slot, holder, generation, &policy)) {
        /* Given or detached meanwhile; or revoked before, and then its holder cannot give it back. */
        if (is_owned(slot, holder, &generation)) ceni_slot_take_back(pool, index, generation);
        return;
    }
    ceni_use_ends(pool, slot, generation);
    tell(pool, &was, policy);
    if (policy == CEN_HOLDER_END_CLOSE) ceni_place_end(pool, index, why_ended(holder));
    else if (policy == CEN_HOLDER_END_TEST) ceni_chores_check(pool, index, generation);
    else ceni_place_return(pool, index, generation, CENI_SLOT_RESETTING);
}

/* ---- The end of a holder ------------------------------------------------------------------- */

typedef struct search {
    uint64_t holder;
    uint64_t after; /* entries of the directory up to this number have been searched */
    cen_pool *pool; /* found; has a hand */
    uint32_t index; /* of the first slot found */
    bool asks;      /* it has a pending take in a queue */
} search;

/* Searches for pending takes of a holder. `detaches`: detach them, so that a later grant has no holder. */
typedef struct asked {
    uint64_t holder;
    bool detaches, found;
} asked;

static void meet_waiter(void *argument, const ceni_pool_waiter *waiter)
{
    asked *a = argument;
    if (!waiter->pending || waiter->holder != a->holder) return;
    a->found = true;
    if (a->detaches) ((ceni_pool_waiter *)(uintptr_t)waiter)->holder |= CENI_HOLDER_DETACHED; /* read under the lock */
}

static bool has_asked(cen_pool *pool, uint64_t holder, bool detaches)
{
    asked a = {.holder = holder, .detaches = detaches};
    ceni_waiters_lock(pool->waiters);
    if (pool->waiters->pool_id == pool->id) ceni_turn_walk_locked(pool->waiters, SIZE_MAX, meet_waiter, &a);
    ceni_waiters_unlock(pool->waiters);
    return a.found;
}

static void detach_asks(void *argument, ceni_directory_entry *entry)
{
    const uint64_t *holder = argument;
    if (strcmp(entry->kind, "pool") == 0) has_asked((cen_pool *)(uintptr_t)entry->object, *holder, true);
}

static bool has_any(cen_pool *pool, uint64_t holder, uint32_t *index)
{
    uint32_t places = ceni_place_reach(pool);
    uint64_t generation;
    for (*index = 0; *index < places; ++*index)
        if (is_owned(ceni_slot_at(pool, *index), holder, &generation)) return true;
    return false;
}

/* The pool exists during the visit. But its last object may have come back, and the queue may belong to another pool.
 * */
static void visit(void *argument, ceni_directory_entry *entry)
{
    search *s = argument;
    uint64_t number = ceni_load_relaxed(&entry->number); /* carries nothing */
    if (s->pool || number <= s->after) return;
    s->after = number;
    cen_pool *pool = (cen_pool *)(uintptr_t)entry->object;
    if (strcmp(entry->kind, "pool") != 0 || !has_any(pool, s->holder, &s->index)) return;
    ceni_waiters_lock(pool->waiters);
    if (pool->waiters->pool_id == pool->id) {
        pool->hands++;
        s->pool = pool;
    }
    ceni_waiters_unlock(pool->waiters);
}

static bool find(search *s, ceni_directory *directory)
{
    s->pool = NULL;
    ceni_directory_each(directory, visit, s);
    return s->pool != NULL;
}

static void take_back_in(uint64_t holder, ceni_directory *directory)
{
    search s = {.holder = holder};
    while (find(&s, directory)) {
        uint32_t places = ceni_place_reach(s.pool);
        for (uint32_t index = s.index; index < places; index++) take_back(s.pool, index, holder);
        ceni_waiters_lock(s.pool->waiters);
        ceni_hand_drop_locked(s.pool);
        if (ceni_planted(holder_end_forgets_a_pool)) return;
    }
}

/* Pending takes first: a take that is granted meanwhile is found in its slot. */
static void take_back_all(uint64_t holder)
{
    bool asks = holder & CENI_HOLDER_TASK && !ceni_planted(pending_ask_outlives_its_task);
    if (asks) ceni_directory_each(ceni_directory_process(), detach_asks, &holder);
    take_back_in(holder, ceni_directory_process());
    take_back_in(holder, ceni_directory_freed()); /* second: a pool is in this one before it leaves the other */
}

/* Clear the thread's words first: if a destructor of the program takes again after this, it begins from zero and arms
 * the hook again. Scopes end with their leases. A thread that ends in the middle of a task also ends the task as a
 * holder; then its own count is not current, so its leases are searched. */
static void thread_ends(void)
{
    ceni_pool_own was = *ceni_pool_own_get();
    uint64_t holder = was.current.note >> CENI_HOLDER_SHIFT;
    bool is_task = ceni_own_is_task(&was.current);
    *ceni_pool_own_get() = (ceni_pool_own){.clock = 0};
    bool found = ceni_noted_end(&was, was.current.held > 0 && !is_task ? take_back : NULL, holder);
    if (was.current.held > 0 && (is_task || !found)) take_back_all(holder);
    if (is_task) take_back_all(ceni_thread_id());
}

/* Whether the holder has any lease. A result that is soon out of date is enough, because the holder itself calls
 * this, and only it takes for itself. Pending takes are searched first: a take leaves the queue in the critical
 * section in which its lease is noted. */
static void look_for_any(void *argument, ceni_directory_entry *entry)
{
    search *s = argument;
    cen_pool *pool = (cen_pool *)(uintptr_t)entry->object;
    if (s->pool || strcmp(entry->kind, "pool") != 0) return;
    if (s->holder & CENI_HOLDER_TASK) s->asks |= has_asked(pool, s->holder, false);
    if (has_any(pool, s->holder, &s->index)) s->pool = pool; /* not used afterwards: there is no hand */
}

static ceni_holding holds(uint64_t holder)
{
    search s = {.holder = holder};
    ceni_directory_each(ceni_directory_process(), look_for_any, &s);
    if (!s.pool) ceni_directory_each(ceni_directory_freed(), look_for_any, &s);
    if (s.pool) return CENI_HOLDS_SOMETHING;
    return s.asks && !ceni_planted(ask_forgotten_in_a_look) ? CENI_HOLDS_ASKS : CENI_HOLDS_NOTHING;
}

const ceni_holder_calls ceni_holder_of_pools = {.holds = holds, .ended = take_back_all};

/* If the system's limit of keys is reached, the next slow take tries again. */
void ceni_holder_arm(void)
{
    bool armed = ceni_thread_at_exit(CENI_EXIT_LEASES, thread_ends) == CEN_OK;
    if (ceni_thread_exit_is_late() && !ceni_planted(holder_trusts_the_last_round)) armed = ceni_holder_watch_thread();
    ceni_pool_own_get()->armed = armed;
}
