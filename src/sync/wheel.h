/* SPDX-License-Identifier: MIT */
/*
 * A hierarchical timer wheel: any number of timers, inserted and cancelled in constant time.
 *
 * Timers are part of the caller's structs. Life of a timer: init, insert, then either cancel, or advance moves it to
 * the caller's list of expired timers, from which the caller takes it.
 *
 *     ceni_list expired;
 *     ceni_list_init(&expired);
 *     ceni_wheel_advance(&wheel, ceni_clock_now(), &expired);
 *     for (ceni_wheel_timer *t; (t = ceni_timer_take(&expired));) act(t);
 *
 * act may insert and cancel any timer, including those still in `expired`.
 *
 * Exactness: a timer expires in the first advance whose `now` has reached its moment, exact to the nanosecond. It is
 * never early, and late only if advance is called late. One advance delivers in the order of the moments, and equal
 * moments in the order of insertion.
 *
 * Threads: the wheel has no lock; the caller's lock protects it. It has no callbacks, allocates nothing and cannot
 * fail.
 */
#ifndef CENI_SYNC_WHEEL_H
#define CENI_SYNC_WHEEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/spi.h"

CENI_SPI_BEGIN

enum {
    CENI_WHEEL_TICK_BITS = 20, /* a tick is 2^20 ns, about a millisecond */
    CENI_WHEEL_SLOT_BITS = 6,  /* 64 slots in a level: one word shows which are taken */
    CENI_WHEEL_SLOTS = 1 << CENI_WHEEL_SLOT_BITS,
    CENI_WHEEL_LEVELS = 8, /* 48 bits of ticks; an int64_t of nanoseconds needs 43 */
};

typedef struct ceni_wheel_timer {
    ceni_list link; /* in a slot, or in the caller's list of expired timers */
    int64_t moment; /* may be read; written by insert only */
    uint32_t place; /* written by the wheel: its slot, or none */
    uint32_t kind;  /* for the caller's use; 0 at first */
} ceni_wheel_timer;

/* Points into itself: must not be moved after init. */
typedef struct ceni_wheel {
    int64_t now;                       /* the latest advance */
    size_t count;                      /* timers in slots, including those that never expire */
    uint64_t taken[CENI_WHEEL_LEVELS]; /* bit s: the slot s of the level is not empty */
    ceni_list slots[CENI_WHEEL_LEVELS][CENI_WHEEL_SLOTS];
    ceni_list never;                    /* timers for CENI_FOREVER */
    int64_t earliest[CENI_WHEEL_SLOTS]; /* for each slot of level 0: a lower bound of its moments */
    uint64_t loose;                     /* bit s: the bound of slot s may not be tight */
    uint64_t looks;                     /* timers examined by all searches for an earliest one */
    /* of an advance in pieces */
    uint32_t entering;      /* the slot above level 0 whose timers are being moved to the levels below, or none */
    ceni_list later;        /* timers of the current tick that were checked and not yet due */
    int64_t later_earliest; /* a lower bound of their moments */
} ceni_wheel;

/* Make an empty wheel. `now` is its first moment; not negative. */
void ceni_wheel_init(ceni_wheel *wheel, int64_t now);

/* Make a timer that is in no wheel. */
void ceni_wheel_timer_init(ceni_wheel_timer *timer);

/* Let the timer expire at `moment`: in the next advance if the moment has passed, never for CENI_FOREVER. A timer
 * that is in a slot, or in a list of expired timers, is removed first. */
void ceni_wheel_insert(ceni_wheel *wheel, ceni_wheel_timer *timer, int64_t moment);

/* Remove the timer from its slot or from the list of expired timers. Returns false if it was in neither: it has been
 * taken, or was never inserted. */
bool ceni_wheel_cancel(ceni_wheel *wheel, ceni_wheel_timer *timer);

/* Move every timer whose moment is `now` or earlier to the end of `expired`. Returns their number. A `now` before the
 * latest one counts as the latest. */
size_t ceni_wheel_advance(ceni_wheel *wheel, int64_t now, ceni_list *expired);

/* The same in pieces, for a wheel in which many timers expire at one moment. A call handles at most `most` timers:
 * each one expires, moves to a lower level, or is found not due. Until all are handled, ceni_wheel_next returns a
 * moment that has passed. One piece delivers in the order of the moments; a later piece may have earlier timers of
 * the same tick. Use only one of the two ways of advancing for a wheel. */
size_t ceni_wheel_advance_some(ceni_wheel *wheel, int64_t now, ceni_list *expired, size_t most);

/* Return when to advance next: no later than the earliest moment; CENI_FOREVER if there is none. The result is exact
 * within the current 64 ticks. For a timer further away it may be earlier; the advance then only moves that timer to
 * a lower level, at most CENI_WHEEL_LEVELS times per timer. The call examines the timers of one tick once after the
 * earliest of them was cancelled, and otherwise none. */
int64_t ceni_wheel_next(const ceni_wheel *wheel);

/* Remove and return the first timer of a list of expired timers; NULL if it is empty. */
ceni_wheel_timer *ceni_timer_take(ceni_list *expired);

CENI_SPI_END

#endif
