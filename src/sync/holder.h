/* SPDX-License-Identifier: MIT */
/*
 * Holders: the thread or task that a lease belongs to.
 *
 * Usually a lease belongs to the thread that takes it. While a thread runs a step of a task, leases belong to the
 * task: it may continue on another thread, and takes its leases along. Rooms that run tasks set the current holder
 * here, and the pool reads it here. They do not know one another.
 *
 *     ceni_holder_before before;
 *     ceni_holder_enter(&task->holder, &before);
 *     run_one_step(task);                        may enter other holders, and leave them
 *     ceni_holder_leave(&task->holder, &before);
 *     ...
 *     ceni_holder_end(&task->holder);              the task has ended
 *
 * Every enter is followed by a leave, on every way out of the step, also on pthread_exit. If a thread ends without
 * the leave, its innermost holder ends with it, and the outer holders keep their leases until they are ended.
 *
 * The current holder's leases are counted, as an upper bound:
 *
 *     held >= attached leases of the holder that have not ended
 *
 * The count goes up when a lease is noted as the holder's, or is requested by an asynchronous take; both happen on
 * the thread that runs the holder. It goes down when the holder itself ends a lease that is noted as its own. Leases
 * that another thread or holder gives are not counted off. So zero is certain; for any other number the pools are
 * asked.
 *
 * Threads: each thread touches only its own current holder. A holder's record belongs to the thread that runs its
 * task; passing the task to another thread must order the two.
 */
#ifndef CENI_SYNC_HOLDER_H
#define CENI_SYNC_HOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/spi.h"
#include "port/port.h"

CENI_SPI_BEGIN

/* This bit is set in the number of a task, and clear in that of a thread. The pool uses the bits above it for marks.
 * A number shifted left by CENI_HOLDER_SHIFT is a note; its low bits are for the lease. */
#define CENI_HOLDER_TASK (UINT64_C(1) << CENI_THREAD_ID_BITS)
enum { CENI_HOLDER_SHIFT = 16 };

/* In `note`: a task without a number yet. 0 is a thread without one. */
enum { CENI_HOLDER_NO_NUMBER = 1 };

/* Part of a task, zeroed at its start; written by the thread that runs it. */
typedef struct ceni_holder {
    uint64_t note;  /* its number, shifted; or the mark that it has none yet */
    uint64_t held;  /* upper bound of its attached leases */
    uint64_t scope; /* for the pool: a note of the slot of an entered scope */
} ceni_holder;

_Static_assert(sizeof(ceni_holder) <= 24, "a task pays for it, whether it takes anything or not");

/* The saved former holder; on the stack of the code that enters another one. */
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

/* ---- Published by the pool ------------------------------------------------------------ */

typedef enum ceni_holding {
    CENI_HOLDS_NOTHING,
    CENI_HOLDS_SOMETHING,
    CENI_HOLDS_ASKS, /* nothing, but it has a pending asynchronous take, which another thread may grant */
} ceni_holding;

typedef struct ceni_holder_calls {
    /* whether the holder of that number, the current one, has attached leases */
    ceni_holding (*holds)(uint64_t holder);
    void (*ended)(uint64_t holder); /* it has ended: each pool applies its policy to its leases */
} ceni_holder_calls;

/* Publish the functions. They must stay valid forever; publishing them again changes nothing. */
void ceni_holder_publish(const ceni_holder_calls *calls);

/* ---- Queries ------------------------------------------------------------------------- */

bool ceni_holder_looks(void);
void ceni_holder_ends(ceni_holder *holder);
uint64_t ceni_holder_assign(void);

/* Return true if the current holder has an attached lease. One test if it surely has none. */
static inline bool ceni_holder_holds(void)
{
    return ceni_holder_current()->held != 0 && ceni_holder_looks();
}

/* The holder has ended, and no thread has it as its current one: each pool applies its policy to the leases that are
 * still attached. Calls drivers, so no lock may be held. Zero the record before another task uses it. */
static inline void ceni_holder_end(ceni_holder *holder)
{
    if (holder->held != 0) ceni_holder_ends(holder);
}

/* Return the current holder's number. ceni_holder_known returns 0 if it has none yet; then it has no lease of any
 * pool. */
static inline uint64_t ceni_holder_number(void)
{
    uint64_t note = ceni_holder_current()->note;
    return note > CENI_HOLDER_NO_NUMBER ? note >> CENI_HOLDER_SHIFT : ceni_holder_assign();
}

static inline uint64_t ceni_holder_known(void)
{
    return ceni_holder_current()->note >> CENI_HOLDER_SHIFT;
}

/* Return true if the holder is a task. */
static inline bool ceni_own_is_task(const ceni_holder *holder)
{
    return holder->note == CENI_HOLDER_NO_NUMBER || holder->note >> CENI_HOLDER_SHIFT & CENI_HOLDER_TASK;
}

CENI_SPI_END

#endif
