/* SPDX-License-Identifier: MIT */
/*
 * Back-off: waits for another thread that is a few instructions away from its next step.
 *
 * It first pauses, twice as long each time; then it yields; then it sleeps for short times. It sleeps because a
 * thread of higher priority that only yields could keep the other thread from running forever.
 */
#ifndef CENI_SYNC_BACKOFF_H
#define CENI_SYNC_BACKOFF_H

#include "base/atomic.h"
#include "port/port.h"

#ifdef CENI_WATCHED
enum { CENI_BACKOFF_PAUSES = 1, CENI_BACKOFF_YIELDS = 1 }; /* every step once */
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

/* Pause after a lost compare and swap. The pause grows with every loss and leaves the cache line to the winner. So
 * one thread at a time works at full speed, instead of two threads passing the line to and fro. No thread is waited
 * for, so this is not a scheduling point of the controlled scheduler; there the next try must follow at once. */
static inline void ceni_backoff_contend(unsigned *losses)
{
#ifndef CENI_WATCHED
    for (unsigned i = 0; i < 4u << *losses; i++) ceni_pause();
#endif
    if (*losses < CENI_CONTEND_DOUBLINGS) (*losses)++;
}

#endif
