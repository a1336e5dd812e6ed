/* SPDX-License-Identifier: MIT */
/*
 * Owners: whose what is taken from a pool is.
 *
 * Usually it is the thread's. While a thread runs a step of a task, it is the
 * task's: the task may go on on another thread, and what it holds goes with it.
 * Rooms that run tasks say so here, and the pool reads it here; they do not
 * know one another.
 *
 *     ceni_owner_before before;
 *     ceni_owner_enter(&task->owner, &before);
 *     run_one_step(task);                        may enter others, and leave them
 *     ceni_owner_leave(&task->owner, &before);
 *     ...
 *     ceni_owner_end(&task->owner);              the task is over
 *
 * Whoever enters leaves, on every way out of the step, pthread_exit included. If
 * a thread ends without, its innermost owner has ended with it, and those further
 * out keep what they hold until they are ended.
 *
 * How many leases an owner holds is counted while it is the current one, as an
 * upper bound:
 *
 *     held >= attached leases of the owner that have not ended
 *
 * It goes up when one is noted as the owner's, or asked for, which happens on the owner's own
 * thread, and down when the owner itself ends one that is noted as its own. What
 * another thread or another owner gives is not counted: zero is certain, and
 * anything else is looked into by the pools, once.
 *
 * Threads: each touches its own current owner. A record belongs to whoever runs
 * its task; whoever passes the task on to another thread orders the two.
 */
#ifndef CENI_SYNC_OWNER_H
#define CENI_SYNC_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/spi.h"
#include "port/port.h"

CENI_SPI_BEGIN

/* An owner's number: a thread's, or a task's with this bit. Above it the pool has
 * marks of its own; shifted by so many bits it is a note, with room for those of the lease. */
#define CENI_OWNER_TASK (UINT64_C(1) << CENI_THREAD_ID_BITS)
enum { CENI_OWNER_SHIFT = 16 };

/* In `note`: no number yet, of a thread (0) or of a task. */
enum { CENI_OWNER_NO_NUMBER = 1 };

/* Part of a task, zero when it begins; written by whoever runs it. */
typedef struct ceni_owner {
    uint64_t note;  /* its number, shifted; or that it has none yet */
    uint64_t held;  /* at least as many leases as it holds, attached */
    uint64_t scope; /* the pool's: where it has entered one */
} ceni_owner;

_Static_assert(sizeof(ceni_owner) <= 24, "a task pays for it, whether it takes anything or not");

/* Who was the current owner before; on the stack of whoever enters another. */
typedef ceni_owner ceni_owner_before;

/* The current owner of this thread. */
static inline ceni_owner *ceni_owner_current(void)
{
    return (ceni_owner *)(void *)&ceni_thread_room()[CENI_ROOM_OWNER];
}

static inline void ceni_owner_enter(ceni_owner *owner, ceni_owner_before *before)
{
    ceni_owner *current = ceni_owner_current();
    *before = *current;
    *current = *owner;
    current->note += current->note == 0;
}

static inline void ceni_owner_leave(ceni_owner *owner, const ceni_owner_before *before)
{
    ceni_owner *current = ceni_owner_current();
    *owner = *current;
    *current = *before;
}

/* ---- What the pool says at this seam ------------------------------------------------ */

typedef enum ceni_holding {
    CENI_HOLDS_NOTHING,
    CENI_HOLDS_SOMETHING,
    CENI_HOLDS_ASKS, /* nothing, but it has asked and may be granted something by another thread */
} ceni_holding;

typedef struct ceni_owner_calls {
    /* whether the owner of that number holds anything, attached; it is the current one */
    ceni_holding (*holds)(uint64_t owner);
    void (*ended)(uint64_t owner); /* it has ended: what it holds goes the way of each pool's policy */
} ceni_owner_calls;

/* From now on these are called. They stay for ever; saying it again changes nothing. */
void ceni_owner_publish(const ceni_owner_calls *calls);

/* ---- Questions ---------------------------------------------------------------------- */

bool ceni_owner_looks(void);
void ceni_owner_ends(ceni_owner *owner);
uint64_t ceni_owner_assign(void);

/* Whether the current owner holds an attached lease. One test if it surely holds none. */
static inline bool ceni_owner_holds(void)
{
    return ceni_owner_current()->held != 0 && ceni_owner_looks();
}

/* The owner is over, and nowhere the current one: what it still holds, attached, is given to each pool's policy. Calls
 * drivers: no lock is held. The record is to be zero before it is another task's. */
static inline void ceni_owner_end(ceni_owner *owner)
{
    if (owner->held != 0) ceni_owner_ends(owner);
}

/* The current owner's number; the second: 0 if it has none yet, and then it has nothing of any pool's. */
static inline uint64_t ceni_owner_number(void)
{
    uint64_t note = ceni_owner_current()->note;
    return note > CENI_OWNER_NO_NUMBER ? note >> CENI_OWNER_SHIFT : ceni_owner_assign();
}

static inline uint64_t ceni_owner_known(void)
{
    return ceni_owner_current()->note >> CENI_OWNER_SHIFT;
}

/* Whether it is a task. */
static inline bool ceni_owner_is_task(const ceni_owner *owner)
{
    return owner->note == CENI_OWNER_NO_NUMBER || owner->note >> CENI_OWNER_SHIFT & CENI_OWNER_TASK;
}

CENI_SPI_END

#endif
