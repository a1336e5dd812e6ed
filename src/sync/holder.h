/* SPDX-License-Identifier: MIT */
/*
 * Holders: whose what is taken from a pool is.
 *
 * Usually it is the thread's. While a thread runs a step of a task, it is the
 * task's: the task may go on on another thread, and what it holds goes with it.
 * Rooms that run tasks say so here, and the pool reads it here; they do not
 * know one another.
 *
 *     ceni_holder_before before;
 *     ceni_holder_enter(&task->holder, &before);
 *     run_one_step(task);                        may enter others, and leave them
 *     ceni_holder_leave(&task->holder, &before);
 *     ...
 *     ceni_holder_end(&task->holder);              the task is over
 *
 * Whoever enters leaves, on every way out of the step, pthread_exit included. If
 * a thread ends without, its innermost holder has ended with it, and those further
 * out keep what they hold until they are ended.
 *
 * How many leases a holder holds is counted while it is the current one, as an
 * upper bound:
 *
 *     held >= attached leases of the holder that have not ended
 *
 * It goes up when one is noted as the holder's, or asked for, which happens on the holder's own
 * thread, and down when the holder itself ends one that is noted as its own. What
 * another thread or another holder gives is not counted: zero is certain, and
 * anything else is looked into by the pools, once.
 *
 * Threads: each touches its own current holder. A record belongs to whoever runs
 * its task; whoever passes the task on to another thread orders the two.
 */
#ifndef CENI_SYNC_HOLDER_H
#define CENI_SYNC_HOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/spi.h"
#include "port/port.h"

CENI_SPI_BEGIN

/* A holder's number: a thread's, or a task's with this bit. Above it the pool has
 * marks of its own; shifted by so many bits it is a note, with room for those of the lease. */
#define CENI_HOLDER_TASK (UINT64_C(1) << CENI_THREAD_ID_BITS)
enum { CENI_HOLDER_SHIFT = 16 };

/* In `note`: no number yet, of a thread (0) or of a task. */
enum { CENI_HOLDER_NO_NUMBER = 1 };

/* Part of a task, zero when it begins; written by whoever runs it. */
typedef struct ceni_holder {
    uint64_t note;  /* its number, shifted; or that it has none yet */
    uint64_t held;  /* at least as many leases as it holds, attached */
    uint64_t scope; /* the pool's: where it has entered one */
} ceni_holder;

_Static_assert(sizeof(ceni_holder) <= 24, "a task pays for it, whether it takes anything or not");

/* Who was the current holder before; on the stack of whoever enters another. */
typedef ceni_holder ceni_holder_before;

/* The current holder of this thread. */
static inline ceni_holder *ceni_holder_current(void)
{
    return (ceni_holder *)(void *)&ceni_thread_room()[CENI_ROOM_HOLDER];
}

static inline void ceni_holder_enter(ceni_holder *holder, ceni_holder_before *before)
{
    ceni_holder *current = ceni_holder_current();
    *before = *current;
    *current = *holder;
    current->note += current->note == 0;
}

static inline void ceni_holder_leave(ceni_holder *holder, const ceni_holder_before *before)
{
    ceni_holder *current = ceni_holder_current();
    *holder = *current;
    *current = *before;
}

/* ---- What the pool says at this seam ------------------------------------------------ */

typedef enum ceni_holding {
    CENI_HOLDS_NOTHING,
    CENI_HOLDS_SOMETHING,
    CENI_HOLDS_ASKS, /* nothing, but it has asked and may be granted something by another thread */
} ceni_holding;

typedef struct ceni_holder_calls {
    /* whether the holder of that number holds anything, attached; it is the current one */
    ceni_holding (*holds)(uint64_t holder);
    void (*ended)(uint64_t holder); /* it has ended: what it holds goes the way of each pool's policy */
} ceni_holder_calls;

/* From now on these are called. They stay for ever; saying it again changes nothing. */
void ceni_holder_publish(const ceni_holder_calls *calls);

/* ---- Questions ---------------------------------------------------------------------- */

bool ceni_holder_looks(void);
void ceni_holder_ends(ceni_holder *holder);
uint64_t ceni_holder_assign(void);

/* Whether the current holder holds an attached lease. One test if it surely holds none. */
static inline bool ceni_holder_holds(void)
{
    return ceni_holder_current()->held != 0 && ceni_holder_looks();
}

/* The holder is over, and nowhere the current one: what it still holds, attached, is given to each pool's policy. Calls
 * drivers: no lock is held. The record is to be zero before it is another task's. */
static inline void ceni_holder_end(ceni_holder *holder)
{
    if (holder->held != 0) ceni_holder_ends(holder);
}

/* The current holder's number; the second: 0 if it has none yet, and then it has nothing of any pool's. */
static inline uint64_t ceni_holder_number(void)
{
    uint64_t note = ceni_holder_current()->note;
    return note > CENI_HOLDER_NO_NUMBER ? note >> CENI_HOLDER_SHIFT : ceni_holder_assign();
}

static inline uint64_t ceni_holder_known(void)
{
    return ceni_holder_current()->note >> CENI_HOLDER_SHIFT;
}

/* Whether it is a task. */
static inline bool ceni_own_is_task(const ceni_holder *holder)
{
    return holder->note == CENI_HOLDER_NO_NUMBER || holder->note >> CENI_HOLDER_SHIFT & CENI_HOLDER_TASK;
}

CENI_SPI_END

#endif
