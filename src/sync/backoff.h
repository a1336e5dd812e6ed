/* SPDX-License-Identifier: MIT */
/*
 * Waiting for another thread that is a few instructions away from done.
 *
 * First pauses, doubling; then gives the processor away; then sleeps for
 * moments, because a thread of higher priority that yields for ever would
 * keep the very thread it waits for from running.
 */
#ifndef CENI_SYNC_BACKOFF_H
#define CENI_SYNC_BACKOFF_H

#include "base/atomic.h"
#include "port/port.h"

#ifdef CENI_WATCHED
enum { CENI_BACKOFF_PAUSES = 1, CENI_BACKOFF_YIELDS = 1 }; /* the shortest way through every step */
#else
enum { CENI_BACKOFF_PAUSES = 6, CENI_BACKOFF_YIELDS = 24 };
#endif
enum { CENI_BACKOFF_SLEEP_NS = 50000, CENI_CONTEND_DOUBLINGS = 4 };

typedef struct ceni_backoff {
    unsigned step;
} ceni_backoff;

static inline void ceni_backoff_wait(ceni_backoff *backoff)
{
    unsigned step = backoff->step++;
    if (step < CENI_BACKOFF_PAUSES)
        for (unsigned i = 0; i < 1u << step; i++) ceni_pause();
    else if (step < CENI_BACKOFF_PAUSES + CENI_BACKOFF_YIELDS) ceni_thread_yield();
    else ceni_sleep_until(ceni_clock_now() + CENI_BACKOFF_SLEEP_NS);
}

/* After a lost compare and swap: leaves the line to the winner for a while that
 * grows with every loss, so that one thread at a time works at full speed
 * instead of two passing the line to and fro. Nobody is waited for, so this is
 * not a point for the controlled scheduler, which must see the next try come at once. */
static inline void ceni_backoff_contend(unsigned *losses)
{
#ifndef CENI_WATCHED
    for (unsigned i = 0; i < 4u << *losses; i++) ceni_pause();
#endif
    if (*losses < CENI_CONTEND_DOUBLINGS) (*losses)++;
}

#endif
