/* SPDX-License-Identifier: MIT */
/*
 * Restart intensity and back-off.
 *
 * The ring has the last `max` restarts. One more at `now` is too many if the ring is full and its oldest restart is
 * within the window. So nothing is searched or moved, and a window's end is exact to the nanosecond.
 *
 * Tested by tests/unit/supervisor/intensity_test.c.
 */
#include "supervisor/intensity.h"

#include "base/plant.h"

bool ceni_intensity_add(ceni_intensity *intensity, int64_t now)
{
    if (intensity->max == UINT32_MAX) return true;
    if (intensity->max == 0) return false;
    int64_t window = intensity->window_ns - (ceni_planted(supervisor_window_off_by_one) ? 1 : 0);
    if (intensity->count == intensity->max && now - intensity->moments[intensity->next] <= window) return false;
    intensity->moments[intensity->next] = now;
    if (++intensity->next == intensity->max) intensity->next = 0;
    if (intensity->count < intensity->max) intensity->count++;
    return true;
}

int64_t ceni_backoff_most(const ceni_backoff_rule *rule, uint32_t n)
{
    if (n < 2 || rule->first_ns == 0) return 0;
    int64_t most = rule->first_ns < rule->max_ns ? rule->first_ns : rule->max_ns;
    for (uint32_t i = 2; i < n && most < rule->max_ns; i++) most = most > rule->max_ns / 2 ? rule->max_ns : most * 2;
    return most;
}

int64_t ceni_backoff_draw(const ceni_backoff_rule *rule, uint32_t n, uint64_t random)
{
    int64_t most = ceni_backoff_most(rule, n);
    /* The remainder favours small numbers by less than most / 2^64, which is not noticeable. */
    return most == 0 ? 0 : (int64_t)(random % ((uint64_t)most + 1));
}
