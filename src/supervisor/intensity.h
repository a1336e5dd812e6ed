/* SPDX-License-Identifier: MIT */
/*
 * The arithmetic of restart intensity and back-off, without a supervisor.
 *
 * Threads: the caller holds the supervisor's lock.
 */
#ifndef CENI_SUPERVISOR_INTENSITY_H
#define CENI_SUPERVISOR_INTENSITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The moments of the last `max` restarts, in a ring. */
typedef struct ceni_intensity {
    int64_t *moments; /* room for max */
    uint32_t max;     /* UINT32_MAX: no limit, and no moments */
    uint32_t count, next;
    int64_t window_ns;
} ceni_intensity;

/* The bytes of `moments` for that `max`. */
static inline size_t ceni_intensity_room(uint32_t max)
{
    return max == UINT32_MAX ? 0 : max * sizeof(int64_t);
}

static inline void ceni_intensity_clear(ceni_intensity *intensity)
{
    intensity->count = intensity->next = 0;
}

/* Count a restart at `now`, which never goes back. False: it would be more than max within the window. Both ends of the
 * window belong to it. */
bool ceni_intensity_add(ceni_intensity *intensity, int64_t now);

typedef struct ceni_backoff_rule {
    int64_t first_ns, max_ns, backoff_reset_ns; /* first_ns = 0: no back-off */
} ceni_backoff_rule;

/* The longest delay before the `n`th restart in a row, counted from 1. */
int64_t ceni_backoff_most(const ceni_backoff_rule *rule, uint32_t n);

/* A delay from 0 to that, both included, selected by a random number. */
int64_t ceni_backoff_draw(const ceni_backoff_rule *rule, uint32_t n, uint64_t random);

#endif
