/* SPDX-License-Identifier: MIT */
/*
 * A hierarchical timer wheel: any number of timers, inserted and cancelled in
 * constant time.
 *
 * Timers are the caller's, part of whatever has a deadline. Life of one: init,
 * insert, then either cancel, or advance moves it to the caller's list of
 * expired ones, from which the caller takes it and acts.
 *
 *     ceni_list expired;
 *     ceni_list_init(&expired);
 *     ceni_wheel_advance(&wheel, ceni_clock_now(), &expired);
 *     for (ceni_wheel_timer *t; (t = ceni_timer_take(&expired));) act(t);
 *
 * act may insert and cancel any timer, those still in `expired` included.
 *
 * Exactness: a timer expires in the first advance whose `now` has reached its
 * moment, to the nanosecond: never early, and late only as advance is called
 * late. One advance delivers in the order of the moments, and equal moments in
 * the order of insertion.
 *
 * Threads: the wheel belongs to whoever holds its lock. It calls nobody,
 * allocates nothing and cannot fail.
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
    CENI_WHEEL_SLOT_BITS = 6,  /* 64 slots in a level: one word tells which are taken */
    CENI_WHEEL_SLOTS = 1 << CENI_WHEEL_SLOT_BITS,
    CENI_WHEEL_LEVELS = 8, /* 48 bits of ticks; 43 are all there are in an int64_t of nanoseconds */
};

typedef struct ceni_wheel_timer {
    ceni_list link; /* in a slot, or in the caller's list of expired ones */
    int64_t moment; /* read it freely; written by insert only */
    uint32_t place; /* the wheel's: which slot, or none */
    uint32_t kind;  /* its user's; 0 at first */
} ceni_wheel_timer;

/* Points into itself: must not be moved after init. */
typedef struct ceni_wheel {
    int64_t now;                       /* the latest advance */
    size_t count;                      /* timers in slots, those that never expire included */
    uint64_t taken[CENI_WHEEL_LEVELS]; /* bit s: the slot s of the level is not empty */
    ceni_list slots[CENI_WHEEL_LEVELS][CENI_WHEEL_SLOTS];
    ceni_list never;                    /* timers for CENI_FOREVER */
    int64_t earliest[CENI_WHEEL_SLOTS]; /* of the slots of level 0: no timer there is earlier ... */
    uint64_t loose;                     /* ... bit s: and perhaps none is so early any more */
    uint64_t looks;                     /* timers that the search for an earliest one looked at, ever */
    /* of an advance in pieces */
    uint32_t entering;      /* the slot above level 0 whose timers are being put into the levels below, or none */
    ceni_list later;        /* of the current tick: passed by because they were not due ... */
    int64_t later_earliest; /* ... and none of them is earlier */
} ceni_wheel;

/* `now` is where the wheel's time begins; not negative. */
void ceni_wheel_init(ceni_wheel *wheel, int64_t now);

/* Makes a timer that is in no wheel. */
void ceni_wheel_timer_init(ceni_wheel_timer *timer);

/* Lets the timer expire at `moment`: in the next advance if that has passed,
 * never for CENI_FOREVER. A timer that is already in, or in a list of expired
 * ones, is taken out first. */
void ceni_wheel_insert(ceni_wheel *wheel, ceni_wheel_timer *timer, int64_t moment);

/* Takes the timer out of its slot or of the list of expired ones. False if
 * it was in neither: it has been taken, or never was inserted. */
bool ceni_wheel_cancel(ceni_wheel *wheel, ceni_wheel_timer *timer);

/* Moves every timer whose moment is `now` or earlier to the end of `expired`,
 * and tells how many. A `now` before the latest one counts as the latest. */
size_t ceni_wheel_advance(ceni_wheel *wheel, int64_t now, ceni_list *expired);

/* The same in pieces, for a wheel that many timers expire in at one moment: moves at most `most` timers, to `expired` or
 * nearer to it, and ceni_wheel_next says `at once` until all are moved. One piece delivers in the order of the moments; of
 * two pieces the later one may have timers of the same tick that are earlier. A wheel is advanced in one way only. */
size_t ceni_wheel_advance_some(ceni_wheel *wheel, int64_t now, ceni_list *expired, size_t most);

/* When to advance next: no later than the earliest moment, CENI_FOREVER when
 * there is none. It is exact within the current 64 ticks; for a timer further
 * away it may be earlier, and the advance then only brings that timer nearer.
 * At most CENI_WHEEL_LEVELS advances are so spent on one timer. Looks at the timers of one tick once after the earliest of
 * them was cancelled, and else at none. */
int64_t ceni_wheel_next(const ceni_wheel *wheel);

/* Takes the first out of a list of expired timers; NULL when it is empty. */
ceni_wheel_timer *ceni_timer_take(ceni_list *expired);

CENI_SPI_END

#endif
