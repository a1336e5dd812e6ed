/* SPDX-License-Identifier: MIT */
/*
 * Numbers of holders, and the functions by which the pool tells what they hold.
 *
 * A thread's number comes from the port. A task has no number until its first take, which assigns one from a batch
 * that the thread has reserved. So tasks that use a pool do not contend for one counter, and tasks that use no pool
 * pay nothing.
 *
 * Order table
 * [O1] publish | store of the calls | release | O2 | the pool's functions, which are constant | nothing; kept because every publication is a release
 * [O2] looks, ends | load of the calls | acquire | O1 | the same | the same
 */
#include "sync/holder.h"

#include "base/atomic.h"
#include "base/plant.h"
#include "base/statics.h"

enum { STORE = 64 }; /* numbers that a thread reserves at a time; a power of two */

static CENI_STATIC _Atomic(const ceni_holder_calls *) published;
static CENI_STATIC _Atomic uint64_t last_store;

void ceni_holder_publish(const ceni_holder_calls *calls)
{
    ceni_store_release(&published, calls); /* [O1] */
}

/* The next number of the thread's batch; a multiple of STORE is the last one of a batch. */
static uint64_t next_number(void)
{
    uint64_t *next = &ceni_thread_room()[CENI_ROOM_NUMBERS];
    if (*next % STORE == 0) *next = ceni_add_relaxed(&last_store, STORE); /* numbers only; carries nothing */
    return ++*next;
}

uint64_t ceni_holder_assign(void)
{
    ceni_holder *current = ceni_holder_current();
    uint64_t number = current->note == CENI_HOLDER_NO_NUMBER ? next_number() | CENI_HOLDER_TASK : ceni_thread_id();
    current->note = number << CENI_HOLDER_SHIFT;
    return number;
}

/* Only the current holder itself adds leases to itself, unless it has an asynchronous take pending. So if it holds
 * nothing now, it holds nothing until its next take. */
bool ceni_holder_looks(void)
{
    ceni_holder *current = ceni_holder_current();
    const ceni_holder_calls *calls = ceni_load_acquire(&published); /* [O2] */
    ceni_holding holding = calls ? calls->holds(current->note >> CENI_HOLDER_SHIFT) : CENI_HOLDS_NOTHING;
    if (holding == CENI_HOLDS_NOTHING) current->held = 0;
    return holding == CENI_HOLDS_SOMETHING;
}

void ceni_holder_ends(ceni_holder *holder)
{
    const ceni_holder_calls *calls = ceni_load_acquire(&published); /* [O2] */
    uint64_t number = holder->note >> CENI_HOLDER_SHIFT;
    *holder = (ceni_holder){.note = 0};
    if (calls && !ceni_planted(task_end_keeps_leases)) calls->ended(number);
}
