/* SPDX-License-Identifier: MIT */
/*
 * Holders: what becomes of leases whose holder, a thread or a task, has ended (L13).
 *
 * A lease names its holder in the note of its slot, and that is all there is: no
 * list per holder, which every take and give would have to keep. A holder that
 * ends, and may hold something, looks at all slots of all pools of the process.
 *
 *     a holder ends ▶ walks the directory, up to a pool in which it holds something ▶ a hand on that pool
 *                   ▶ the walk is over ▶ each of its slots there, by the pool's policy ▶ the hand is dropped
 *                   ▶ walks on, behind that pool, until there is none
 *
 * Then the same with the directory of those that the program has freed: their
 * last object may be with this holder, and was revoked.
 *
 * Whether it may hold something is counted (sync/holder.h), at one instruction a
 * take and some a give: a holder that has given all that it took does not look.
 *
 * A thread need not look at all slots: it knows where its leases are, unless there are very many (noted.c).
 *
 * The naive version does the work inside the walk. A driver is then called while
 * the directory waits for the visit to end: whoever frees the pool meanwhile
 * waits for that driver, and two drivers that free each other's pools wait for
 * ever. The hand keeps the memory as well, and nobody waits for it.
 *
 * Who may end a lease, and how they agree:
 *     give, discard, revoke   move the word from HELD, g
 *     the holder's end         moves the word from HELD, g, under the pool's lock, in which it has seen the note attached
 *     detach                  marks the note of g, under the pool's lock, in which it has seen the word HELD, g
 *
 * By default a lease that was taken by hand becomes an orphan (orphans.c): another thread may have it. The lease of a scope
 * cannot be another's, and its object is closed. Whether it is one is read when the slot is REVOKING, which keeps others off.
 * If a revoke runs at the same time, the holder's end only marks the note; both look under the lock, the revoke after its move
 * to REVOKED and the holder's end before it looks at the word. So at least one of them sees the other, and the move from
 * REVOKED back to REVOKING lets one of them go on.
 *
 * Invariants
 *  W1 One lease ends once: all of them change one word by compare-and-swap.
 *  W2 What detach has answered OK for is never taken back: the holder's end
 *     decides and acts under the same lock.
 *  W3 detach never marks another lease. The note changes by compare-and-swap and
 *     carries the generation: if the lease was given in the middle, the mark is
 *     on the note of a lease that has ended, which nobody reads, or the swap fails.
 *     Its moment is then the instant before the give.
 *  W4 What a holder has attached is never more than its count says: a lease is counted by its holder, on the thread
 *     that has it as the current one, before anybody has the lease; and counted off once, by whoever ends or detaches
 *     it, if that is its holder.
 *
 * A note has 15 bits of the generation. An older one is taken for that of a lease
 * only if 32768 leases in a row wrote none, as only those do that are found
 * unfit or superfluous before they are lent.
 *
 * Order table
 * [W1] owned, detach | load of the note  | acquire | T5 in take.c, W2 W3 | whose lease it is, if the generations agree | nothing alone: the generation tells; kept so that the note is as new as the word
 * [W2] detach        | cas of the note   | acq_rel | W1, V2 in look.c | that the lease belongs to nobody | nothing alone: the lock lies between
 * [W3] seize         | store of the note | release | W1 | that the holder has ended | a helper finds an older note, and lends what was to be tested
 * [W4] orphan        | cas of the note   | acq_rel | W1, under the lock on both sides | that the holder has ended | nothing alone: the lock lies between
 */
#include <string.h>

#include "base/plant.h"
#include "pool/internal.h"
#include "port/port.h"

/* ---- Whose lease it is ----------------------------------------------------------------- */

static uint64_t holder_of(ceni_slot *slot, uint64_t generation)
{
    uint64_t holder = ceni_slot_holder(ceni_load_acquire(&slot->note), generation); /* [W1] */
    return ceni_planted(detached_taken_back) ? holder & ~CENI_HOLDER_DETACHED : holder;
}

/* Whether the holder has it, attached: lent to it, or taken away by close and not brought back. */
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
    ceni_waiters_lock(pool->line);
    uint64_t word = ceni_word_bare(ceni_slot_word(slot)), note = ceni_load_acquire(&slot->note); /* [W1] */
    bool done = word == ceni_word(generation, CENI_SLOT_HELD) && ceni_slot_holder(note, generation);
    if (ceni_planted(detach_marks_the_next)) note = ceni_load_acquire(&slot->note); /* [W1] */
    if (done) done = ceni_cas_acq_rel(&slot->note, &note, note | mark);             /* [W2] */
    ceni_waiters_unlock(pool->line);
    if (done && !ceni_planted(detached_taken_back))
        ceni_held_ends(ceni_pool_own_get(), note); /* not one detached before */
    return done ? CEN_OK : CEN_STALE;
}

/* ---- Taking one back --------------------------------------------------------------------- */

/* Ends the lease, if it is still the holder's: the slot is RESETTING then and to go
 * on by the policy, or CLOSING, and the policy says so. */
static bool seize(cen_pool *pool, ceni_slot *slot, uint64_t holder, uint64_t generation, cen_holder_end_policy *policy)
{
    ceni_waiters_lock(pool->line);
    *policy = pool->options.on_holder_end;
    bool owned = holder_of(slot, generation) == holder;
    bool kept = owned && *policy >= CEN_HOLDER_END_TEST &&
                ceni_slot_move_unmarked(slot, generation, CENI_SLOT_HELD, CENI_SLOT_RESETTING);
    bool ends = owned && !kept && ceni_slot_move(slot, generation, CENI_SLOT_HELD, CENI_SLOT_CLOSING);
    if (ends) ceni_place_leaves_locked(pool);
    if (ends) *policy = CEN_HOLDER_END_CLOSE;
    if (kept && *policy == CEN_HOLDER_END_TEST) {
        uint64_t timed = (ceni_setting(&slot->note) ^ generation) & CENI_NOTE_TIMED; /* stays as it is */
        ceni_store_release(&slot->note, ceni_slot_note_of(holder | CENI_HOLDER_ENDED, generation) ^ timed); /* [W3] */
    }
    ceni_waiters_unlock(pool->line);
    return kept || ends;
}

/* ---- Orphans ------------------------------------------------------------------------------ */

static bool is_scoped(const ceni_slot *slot, uint64_t generation)
{
    return slot->scope_generation == generation && slot->scopes > 0;
}

static const char *why_ended(uint64_t holder)
{
    return holder & CENI_HOLDER_TASK ? "the task that held it has ended" : "the thread that held it has ended";
}

static void tell_orphan(cen_pool *pool, const cen_object_view *was, ceni_parted parted)
{
    char holder[CENI_HOLDER_ROOM];
    if (parted == CENI_PARTED_CLOSED) return; /* its holder gave it at the same moment */
    const char *place = parted == CENI_PARTED_FREED ? "it is cut off, and its place is free"
                                                    : "its place is free when the lease is given";
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

/* The slot is REVOKING and the caller's, its holder has ended, and interrupt was called if that was due. */
static void part(cen_pool *pool, uint32_t index, uint64_t generation, bool scoped, const cen_object_view *was)
{
    if (scoped) {
        tell(pool, was, CEN_HOLDER_END_CLOSE);
        ceni_orphan_close_scope(pool, index, generation, why_ended(was->holder));
    } else {
        tell_orphan(pool, was, ceni_orphan_part(pool, index, generation, CENI_LOST_BY_HOLDER));
    }
}

/* Marks the note of a lease that is still the holder's: its slot may be going on to the next. */
static void mark_ended_locked(ceni_slot *slot, uint64_t holder, uint64_t generation)
{
    uint64_t note = ceni_load_acquire(&slot->note); /* [W1] */
    if (ceni_slot_holder(note, generation) != holder) return;
    ceni_cas_acq_rel(&slot->note, &note, note | CENI_HOLDER_ENDED << CENI_NOTE_BITS); /* [W4] */
}

static void orphan(cen_pool *pool, uint32_t index, uint64_t generation, const cen_object_view *was)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    ceni_waiters_lock(pool->line);
    bool owned = holder_of(slot, generation) == was->holder;
    if (owned) mark_ended_locked(slot, was->holder, generation);
    bool held = owned && ceni_slot_move(slot, generation, CENI_SLOT_HELD, CENI_SLOT_REVOKING);
    bool mine = held || (owned && ceni_slot_move(slot, generation, CENI_SLOT_REVOKED, CENI_SLOT_REVOKING));
    bool scoped = mine && (is_scoped(slot, generation) || ceni_planted(orphan_closed_at_once));
    if (scoped && ceni_planted(scope_orphaned)) scoped = false;
    if (held) pool->revoked++;
    ceni_waiters_unlock(pool->line);
    if (held && !scoped) ceni_slot_interrupt(pool, slot);
    if (mine) part(pool, index, generation, scoped, was);
}

void ceni_holder_settle(cen_pool *pool, uint32_t index, uint64_t generation)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    cen_object_view was = {.index = index};
    ceni_slot_holding(pool, index, &was);
    ceni_waiters_lock(pool->line);
    bool mine = ceni_holder_has_ended(slot, generation) && !ceni_planted(revoke_forgets_the_holder) &&
                ceni_slot_move(slot, generation, CENI_SLOT_REVOKED, CENI_SLOT_REVOKING);
    bool scoped = mine && is_scoped(slot, generation);
    ceni_waiters_unlock(pool->line);
    if (mine) part(pool, index, generation, scoped, &was);
}

/* ---- The other policies --------------------------------------------------------------------- */

static void tell(cen_pool *pool, const cen_object_view *was, cen_holder_end_policy policy)
{
    char holder[CENI_HOLDER_ROOM];
    const char *fate = policy == CEN_HOLDER_END_CLOSE  ? "closed"
                       : policy == CEN_HOLDER_END_TEST ? "tested"
                                                       : "used again";
    ceni_pool_event_tell(pool,
                         (ceni_occurrence){.kind = CEN_EVENT_HOLDER_ENDED,
                                           .value = was->index,
                                           .holder = was->holder,
                                           .where = was->where,
                                           .held_ns = was->held_ns},
                         "%s has ended and held object %u, which it took at %s; it is %s",
                         ceni_holder_say(was->holder, holder), was->index, was->where ? was->where : "an unknown place",
                         fate);
}

/* In a pool that the program has freed nobody can give late: what was revoked is closed. */
static bool orphans(cen_pool *pool)
{
    ceni_waiters_lock(pool->line);
    bool orphans = pool->options.on_holder_end == CEN_HOLDER_END_ORPHAN && !pool->freed;
    ceni_waiters_unlock(pool->line);
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
        /* Given or detached meanwhile, or taken away before: who has lost that cannot bring it back any more. */
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
    uint64_t after; /* entries of the directory up to this number have been looked at */
    cen_pool *pool; /* found; has a hand */
    uint32_t index; /* of the first slot */
    bool asks;      /* it waits in a line, pending */
} search;

/* Whether the holder has asked and waits; `detaches`: what it is granted later belongs to nobody. */
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
    ceni_waiters_lock(pool->line);
    if (pool->line->pool_id == pool->id) ceni_turn_walk_locked(pool->line, SIZE_MAX, meet_waiter, &a);
    ceni_waiters_unlock(pool->line);
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

/* The pool cannot vanish during the visit; but its last object may have come back, and its line be another's. */
static void visit(void *argument, ceni_directory_entry *entry)
{
    search *s = argument;
    uint64_t number = ceni_load_relaxed(&entry->number); /* carries nothing */
    if (s->pool || number <= s->after) return;
    s->after = number;
    cen_pool *pool = (cen_pool *)(uintptr_t)entry->object;
    if (strcmp(entry->kind, "pool") != 0 || !has_any(pool, s->holder, &s->index)) return;
    ceni_waiters_lock(pool->line);
    if (pool->line->pool_id == pool->id) {
        pool->hands++;
        s->pool = pool;
    }
    ceni_waiters_unlock(pool->line);
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
        ceni_waiters_lock(s.pool->line);
        ceni_hand_drop_locked(s.pool);
        if (ceni_planted(holder_end_forgets_a_pool)) return;
    }
}

/* Asks first: what one of them is granted meanwhile is found in its slot. */
static void take_back_all(uint64_t holder)
{
    bool asks = holder & CENI_HOLDER_TASK && !ceni_planted(pending_ask_outlives_its_task);
    if (asks) ceni_directory_each(ceni_directory_process(), detach_asks, &holder);
    take_back_in(holder, ceni_directory_process());
    take_back_in(holder, ceni_directory_freed()); /* second: a pool is in this one before it leaves the other */
}

/* The thread's notes go first: what it does from here on, in a destructor of the program's, begins anew and arms
 * anew. Its scopes end with the leases they are of. One that ends in the middle of a task ends the task as a holder,
 * and what it has itself nobody has counted to the end: it looks. */
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

/* Whether it has any: an early answer, because it is asked by its holder, who alone takes for itself. Its asks are looked for
 * first: one leaves the line under the lock in which its lease is noted. */
static void look_for_any(void *argument, ceni_directory_entry *entry)
{
    search *s = argument;
    cen_pool *pool = (cen_pool *)(uintptr_t)entry->object;
    if (s->pool || strcmp(entry->kind, "pool") != 0) return;
    if (s->holder & CENI_HOLDER_TASK) s->asks |= has_asked(pool, s->holder, false);
    if (has_any(pool, s->holder, &s->index)) s->pool = pool; /* not touched afterwards: it has no hand */
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

/* Without the system's help, which may come to its limit, it is tried again with the next slow take. */
void ceni_holder_arm(void)
{
    bool armed = ceni_thread_at_exit(CENI_EXIT_LEASES, thread_ends) == CEN_OK;
    if (ceni_thread_exit_is_late() && !ceni_planted(holder_trusts_the_last_round)) armed = ceni_holder_watch_thread();
    ceni_pool_own_get()->armed = armed;
}
