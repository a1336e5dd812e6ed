/* SPDX-License-Identifier: MIT */
/*
 * Numbers of owners, and the pool's word on what they hold.
 *
 * A thread's number is the port's. A task has none until it takes something:
 * its first take finds that there is none and has one assigned, from a few that
 * the thread has in store, so that tasks that use a pool do not meet at one
 * counter, and tasks that use none pay nothing.
 *
 * Order table
 * [O1] publish | store of the calls | release | O2 | the pool's functions, which are constant | nothing: kept as every publication is
 * [O2] looks, ends | load of the calls | acquire | O1 | the same | the same
 */
#include "sync/owner.h"

#include "base/atomic.h"
#include "base/plant.h"
#include "base/statics.h"

enum { STORE = 64 }; /* numbers that a thread takes at a time; a power of two */

static CENI_STATIC _Atomic(const ceni_owner_calls *) published;
static CENI_STATIC _Atomic uint64_t last_store;

void ceni_owner_publish(const ceni_owner_calls *calls)
{
    ceni_store_release(&published, calls); /* [O1] */
}

/* The next number of the thread's store; one that is a multiple of its size ends it. */
static uint64_t next_number(void)
{
    uint64_t *next = &ceni_thread_room()[CENI_ROOM_NUMBERS];
    if (*next % STORE == 0) *next = ceni_add_relaxed(&last_store, STORE); /* numbers only; carries nothing */
    return ++*next;
}

uint64_t ceni_owner_assign(void)
{
    ceni_owner *current = ceni_owner_current();
    uint64_t number = current->note == CENI_OWNER_NO_NUMBER ? next_number() | CENI_OWNER_TASK : ceni_thread_id();
    current->note = number << CENI_OWNER_SHIFT;
    return number;
}

/* Nobody else makes leases of the current owner, unless it has asked: what is not there now is not there until it takes again. */
bool ceni_owner_looks(void)
{
    ceni_owner *current = ceni_owner_current();
    const ceni_owner_calls *calls = ceni_load_acquire(&published); /* [O2] */
    ceni_holding holding = calls ? calls->holds(current->note >> CENI_OWNER_SHIFT) : CENI_HOLDS_NOTHING;
    if (holding == CENI_HOLDS_NOTHING) current->held = 0;
    return holding == CENI_HOLDS_SOMETHING;
}

void ceni_owner_ends(ceni_owner *owner)
{
    const ceni_owner_calls *calls = ceni_load_acquire(&published); /* [O2] */
    uint64_t number = owner->note >> CENI_OWNER_SHIFT;
    *owner = (ceni_owner){.note = 0};
    if (calls && !ceni_planted(task_end_keeps_leases)) calls->ended(number);
}
