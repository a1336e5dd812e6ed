/* SPDX-License-Identifier: MIT */
/*
 * Where the leases of a thread are, so that its end costs what it holds and not what all pools have.
 *
 * A thread's next quick take from a pool begins with the slot that it had last: a hint (own.h). While the thread has that object
 * the hint says where it is. A hint is replaced by another slot of its pool, or of a pool that shares its place. If the thread
 * holds something then, the slot that it was of is noted.
 *
 *     take ▶ the thread holds nothing: the notes are forgotten
 *          ▶ it does: the hint that is replaced is noted ▶ no room: notes of what others gave are forgotten ▶ still none: `lost`
 *     end  ▶ the slots of all hints and notes ▶ a hand on the pool, if it is the one ▶ what the policy says
 *
 * The naive version keeps a list of leases for each thread, which every take and every give must keep.
 *
 * Invariants
 *  N1 Unless `lost`, each lease that the thread has attached is in the slot of one of its hints or notes. Two ways lead to such a
 *     lease: a quick take, of a slot that is a hint, and what calls ceni_note_slot, before the lease is counted.
 *  N2 Notes are forgotten only while the thread's count says that it holds nothing, or if the slot is not the thread's.
 *  N3 A note keeps no memory. The struct and the line of a freed pool stay mapped (heads.c, waiters_memory.c), and the pool
 * is read only
 *     with a hand on it, which is taken under the lock of its line, if the line is still that pool's.
 *
 * What tasks hold is not noted: a task ends on any thread. A task's take that replaces a hint of a thread makes that `lost`.
 *
 * Tested by tests/unit/pool/noted_test.c.
 */
#include "base/plant.h"
#include "pool/internal.h"
#include "port/port.h"

enum { NOTES = 8 };

/* A slot, as a hint is. */
typedef struct noted {
    cen_pool *pool;
    uint64_t note;
} noted;

/* The calling thread's own. */
typedef struct notes {
    cen_pool *hints[CENI_HINTS]; /* whose each hint is */
    noted slots[NOTES];
    uint32_t count;
    bool lost; /* there was no room for one of them */
} notes;

#ifdef CENI_WATCHED
_Static_assert(sizeof(notes) <= CENI_THREAD_ROOM_NOTED * sizeof(uint64_t), "the world has room for them");

static notes *own_notes(void)
{
    return (notes *)(void *)&ceni_thread_room()[(int)CENI_THREAD_ROOM + (int)CENI_THREAD_ROOM_BEYOND];
}
#else
/* Not among the words of port.h, which the quick paths read: those are few, since a library that is loaded late must find room
 * for them. For this one the system finds memory when it is used first. */
static _Thread_local notes mine;

static notes *own_notes(void)
{
    return &mine;
}
#endif

/* A hand on the pool, if it is still the one of that mark: the struct may be another's by now. */
static bool hold(const noted *one)
{
    cen_pool *pool = one->pool;
    if (!pool || !ceni_pool_is_ours(pool)) return false;
    ceni_waiters *line = pool->line;
    if (!line) return false;
    ceni_waiters_lock(line);
    bool same = line->pool == pool && (uint32_t)line->pool_id == one->note >> 32;
    if (same) pool->hands++;
    ceni_waiters_unlock(line);
    return same;
}

static void drop(cen_pool *pool)
{
    ceni_waiters_lock(pool->line);
    ceni_hand_drop_locked(pool);
}

static uint32_t index_of(const noted *one)
{
    return (uint32_t)one->note >> CENI_SLOT_SHIFT;
}

/* Calls `meet`, if the slot is the holder's; true then. */
static bool meet_one(const noted *one, ceni_noted_meet meet, uint64_t holder)
{
    if (!hold(one)) return false;
    uint32_t index = index_of(one);
    bool owned = index < ceni_place_reach(one->pool) && ceni_holder_has(ceni_slot_at(one->pool, index), holder);
    if (owned && meet) meet(one->pool, index, holder);
    drop(one->pool);
    return owned;
}

static void tidy(notes *n)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n->count; i++)
        if (meet_one(&n->slots[i], NULL, ceni_thread_id())) n->slots[kept++] = n->slots[i];
    n->count = kept;
}

static void add(notes *n, const noted *one)
{
    for (uint32_t i = 0; i < n->count; i++)
        if (n->slots[i].pool == one->pool && n->slots[i].note == one->note) return;
    if (n->count == NOTES) tidy(n);
    if (n->count < NOTES) n->slots[n->count++] = *one;
    else n->lost = !ceni_planted(lost_lease_forgotten);
}

/* The slot is not the hint for its pool: another is replaced, if there is one. */
void ceni_note_new_slot(cen_pool *pool)
{
    ceni_pool_own *own = ceni_pool_own_get();
    notes *n = own_notes();
    uint32_t at = ceni_hint_at(pool->mark);
    noted before = {n->hints[at / 2], own->hints[at]};
    if (ceni_own_is_task(&own->current)) {
        n->lost |= before.pool != NULL;
    } else if (own->current.held == 0) {
        n->count = 0;
        n->lost = false;
    } else if (before.pool && !n->lost && !ceni_planted(displaced_hint_forgotten)) {
        add(n, &before);
    }
    n->hints[at / 2] = pool;
}

bool ceni_noted_end(const ceni_pool_own *own, ceni_noted_meet meet, uint64_t holder)
{
    notes was = *own_notes();
    *own_notes() = (notes){.count = 0};
    if (was.lost || !meet) return !was.lost;
    for (uint32_t i = 0; i < CENI_HINTS; i++) meet_one(&(noted){was.hints[i], own->hints[2 * i]}, meet, holder);
    for (uint32_t i = 0; i < was.count; i++) meet_one(&was.slots[i], meet, holder);
    return true;
}
