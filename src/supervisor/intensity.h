/* SPDX-License-Identifier: MIT */
/*
 * How many restarts there may be, and how long one waits: the arithmetic, without a supervisor.
 *
 * Threads: none of its business; all belongs to whoever holds the supervisor's lock.
 */
#ifndef CENI_SUPERVISOR_INTENSITY_H
#define CENI_SUPERVISOR_INTENSITY_H

#include <stdbool.h>
#include <stdint.h>

/* The moments of the last `max` restarts, in a ring. */
typedef struct ceni_intensity {
    int64_t *moments; /* room for max */
    uint32_t max;     /* UINT32_MAX: no limit, and no moments */
    uint32_t count, next;
    int64_t window_ns;
} ceni_intensity;

static inline void ceni_intensity_clear(ceni_intensity *intensity)
{
    intensity->count = intensity->next = 0;
}

/* Counts a restart at `now`, which never goes back. False: with it there are more than max within the
 * window, the two ends of which both count. */
bool ceni_intensity_add(ceni_intensity *intensity, int64_t now);

typedef struct ceni_backoff_rule {
    int64_t first_ns, max_ns, backoff_reset_ns; /* first_ns is 0: nobody ever waits */
} ceni_backoff_rule;

/* The longest wait before the `n`th restart in a row, counted from 1. */
int64_t ceni_backoff_most(const ceni_backoff_rule *rule, uint32_t n);

/* A wait from 0 to that, both included, by a random number. */
int64_t ceni_backoff_draw(const ceni_backoff_rule *rule, uint32_t n, uint64_t random);

#endif
