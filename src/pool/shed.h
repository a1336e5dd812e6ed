/* SPDX-License-Identifier: MIT */
/*
 * Shedding: whether somebody who waits is to be sent away, because those who
 * wait have waited for too long for too long a time.
 *
 *              waited target or more, for a whole interval
 *     CALM ───────────────────────────────────────────────▶ SHEDDING: one at once, the next after
 *      ▲                                                     │ interval, interval/√2, interval/√3 ...
 *      └──── the next to be served waited less than target, ─┘
 *            or is the only one
 *
 * The control law of CoDel. A line that is long for a moment is no harm: it is
 * what a line is for. One in which even the next to be served has waited for
 * long, all the time, serves everybody late and nobody more; the same number are
 * served if some are sent away, and sooner. The more it sheds the more often it
 * does, until the waits come down.
 *
 * It is asked whenever somebody is about to be served, reads no clock and is
 * under the pool's lock. Each class of priority has one of its own: otherwise
 * the short waits of the high ones would be taken for those of all.
 */
#ifndef CENI_POOL_SHED_H
#define CENI_POOL_SHED_H

#include <stdbool.h>
#include <stdint.h>

/* All zero at first. */
typedef struct ceni_shed {
    bool above;     /* the last that was served had waited for target or more ... */
    int64_t since;  /* ... and all before it, from then on */
    bool active;    /* an episode: it sheds */
    uint32_t step;  /* how often it sheds by now */
    int64_t next;   /* when the next is due */
    uint64_t count; /* in this episode */
} ceni_shed;

/* One is about to be served that has waited so long: true if it is to be sent away instead. `alone`: no other of its
 * class waits. */
bool ceni_shed_judge(ceni_shed *shed, int64_t target, int64_t interval, int64_t waited, bool alone, int64_t now);

/* One was served without being asked about. */
void ceni_shed_note(ceni_shed *shed, int64_t target, int64_t waited, bool alone, int64_t now);

/* Nobody of its class waits any more. */
void ceni_shed_calm(ceni_shed *shed);

#endif
