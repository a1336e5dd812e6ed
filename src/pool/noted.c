/* SPDX-License-Identifier: MIT */
/*
 * Notes of a thread's leases, so that the end of the thread visits only its own leases and not all slots of all pools.
 *
 * A thread's next quick take from a pool begins with the slot that it had last: a hint (own.h). While the thread
 * holds that object the hint shows where it is. A hint is replaced by another slot of its pool, or of a pool that
 * shares its index. If the thread holds leases at that moment, the slot of the replaced hint is noted.
 *
 *     take ▶ the thread holds nothing: the notes are forgotten
 *          ▶ otherwise: the replaced hint is noted ▶ no room: notes of ended leases are forgotten ▶ still none: `lost`
 *     end  ▶ the slots of all hints and notes ▶ a hand on the pool, if it is still the same ▶ the policy
 *
 * The naive version has a list of leases for each thread, which every take and every give must update.
 *
 * Invariants
 *  N1 Unless `lost`, each attached lease of the thread is in the slot of one of its hints or notes. Such a lease
 *     begins in two ways: by a quick take of a slot that is a hint, or by a take that calls ceni_note_slot before the
 *     lease is counted.
 *  N2 Notes are forgotten only while the thread's count is zero, or if the slot is not the thread's.
 *  N3 A note keeps no memory alive. The struct and the wait queue of a freed pool stay mapped (heads.c,
 *     waiters_memory.c). The pool is read only with a hand on it, which is taken under the lock of its queue, if the
 *     queue still belongs to that pool.
 *
 * Leases of tasks are not noted, because a task ends on any thread. A task's take that replaces a hint of a thread
 * sets the thread's `lost`.
 *
 * Tested by tests/unit/pool/noted_test.c.
 */
#include "base/plant.h"
#include "pool/internal.h"
#include "port/port.h"

enum { NOTES = 8 };

/* A note of a slot, in the form of a hint. */
typedef struct noted {
    cen_pool *pool;
    uint64_t note;
} noted;

/* The calling thread's notes. */
typedef struct notes {
    cen_pool *hints[CENI_HINTS]; /* the pool of each hint */
    noted slots[NOTES];
    uint32_t count;
    bool lost; /* there was no room for a note */
} notes;

#ifdef CENI_WATCHED
_Static_assert(sizeof(notes) <= CENI_THREAD_ROOM_NOTED * sizeof(uint64_t), "the world has room for them");

static notes *own_notes(void)
{
    return (notes *)(void *)&ceni_thread_room()[(int)CENI_THREAD_ROOM + (int)CENI_THREAD_ROOM_BEYOND];
}
#else
/* Not among the words of port.h, which the quick paths read: their number is limited, because a library that is
 * loaded late must find room for them. For this variable the system allocates memory at its first use. */
static _Thread_local notes mine;

static notes *own_notes(void)
{
    return &mine;
}
#endif

/* Take a hand on the pool, if it is still the pool of that mark: another pool may use the struct now. */
static bool hold(const noted *one)
{
    cen_pool *pool = one->pool;
    if (!pool || !ceni_pool_is_ours(pool)) return false;
    ceni_waiters *waiters = pool->waiters;
    if (!waiters) return false;
    ceni_waiters_lock(waiters);
    bool same = waiters->pool == pool && (uint32_t)waiters->pool_id == one->note >> 32;
    if (same) pool->hands++;
    ceni_waiters_unlock(waiters);
    return same;
}

static void drop(cen_pool *pool)
{
    ceni_waiters_lock(pool->waiters);
    ceni_hand_drop_locked(pool);
}

static uint32_t index_of(const noted *one)
{
    return (uint32_t)one->note >> CENI_SLOT_SHIFT;
}

/* Call `meet` if the slot belongs to the holder. Returns true then. */
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

/* The slot is not the hint for its pool: it replaces the former hint, if there is one. */
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
